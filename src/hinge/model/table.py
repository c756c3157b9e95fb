"""The bodies and joints of a robot in rows of text, for `describe` and for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hinge.model.closures import Closure
from hinge.model.contacts import Contact
from hinge.model.loops import Loop
from hinge.model.parts import Body, Joint
from hinge.model.surfaces import words

#: Bodies further from the world than this are not indented more.
DEEPEST = 20
#: A notebook shows no more bodies than this.
MOST_ROWS = 100
HEAD = ("body", "joint", "type", "q", "qd", "mass [kg]")
CLOSURE_HEAD = ("closure", "type", "from", "to", "locks")
LOOP_HEAD = ("embedded loop", "closed by", "independent", "dependent")
CONTACT_HEAD = ("contact", "shape", "of", "surface", "of", "friction", "restitution")


def rows_of(bodies: Sequence[Body], joints: Sequence[Joint], depth: Sequence[int]) -> list[tuple[str, ...]]:
    """Return a row for each body: tree, joint, coordinates, mass."""
    return [
        (
            "  " * min(level - 1, DEEPEST) + body.name,
            joint.name,
            joint.type.kind,
            _span(joint.q_slice),
            _span(joint.qd_slice),
            f"{body.mass:.4g}",
        )
        for body, joint, level in zip(bodies, joints, depth, strict=True)
    ]


def closure_rows(closures: Sequence[Closure]) -> list[tuple[str, ...]]:
    """Return a row for each closure: its joint, its two sides and the motions that it locks."""
    return [
        (c.name, c.joint.kind, c.inner or "the world", c.outer, " ".join(c.constraints.names))
        for c in closures
    ]


def loop_rows(loops: Sequence[Loop]) -> list[tuple[str, ...]]:
    """Return a row for each embedded loop: its closures, independent and dependent joints."""
    return [
        (x.name, ", ".join(c.joint.kind for c in x.closures), " ".join(x.independent), " ".join(x.dependent))
        for x in loops
    ]


def contact_rows(contacts: Sequence[Contact]) -> list[tuple[str, ...]]:
    """Return a row for each contact: its two sides, friction and restitution."""
    return [
        (
            c.name,
            c.shape,
            c.frame,
            words(c.surface),
            c.on or "the world",
            f"{c.friction:g}",
            f"{c.restitution:g}",
        )
        for c in contacts
    ]


def in_html(title: str, *tables: tuple[Sequence[str], Sequence[Sequence[str]]]) -> str:
    """Return tables, each a head and rows, as HTML; all text is escaped, as names come from files."""
    return f"<div><p>{escape(title)}</p>{''.join(_table(head, rows) for head, rows in tables if rows)}</div>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    more = f"<p>… and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    lines = [_line("th", head), *(_line("td", row) for row in rows[:MOST_ROWS])]
    return f"<table>{''.join(lines)}</table>{more}"


def _line(tag: str, cells: Sequence[str]) -> str:
    style = ' style="text-align:left;white-space:pre"'
    return f"<tr>{''.join(f'<{tag}{style}>{escape(c)}</{tag}>' for c in cells)}</tr>"


def _span(s: slice) -> str:
    if s.stop == s.start:
        return "–"
    return str(s.start) if s.stop - s.start == 1 else f"{s.start}…{s.stop - 1}"
