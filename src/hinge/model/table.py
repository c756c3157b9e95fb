"""The bodies and joints of a robot in rows of text, for `describe` and for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hinge.model.parts import Body, Joint

#: Bodies further from the world than this are not indented more.
DEEPEST = 20
#: A notebook shows no more bodies than this.
MOST_ROWS = 100
HEAD = ("body", "joint", "type", "q", "qd", "mass [kg]")


def rows_of(bodies: Sequence[Body], joints: Sequence[Joint], depth: Sequence[int]) -> list[tuple[str, ...]]:
    """Return a row for each body: tree, joint, coordinates, mass."""
    return [
        (
            "  " * min(level - 1, DEEPEST) + body.name,
            joint.name,
            joint.type.kind,
            _span(joint.q_slice),
            _span(joint.qd_slice),
            f"{float(body.inertia.m):.4g}",
        )
        for body, joint, level in zip(bodies, joints, depth, strict=True)
    ]


def in_html(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table of HTML; all text is escaped, as names come from files."""
    shown = [*rows[:MOST_ROWS]]
    more = f"<p>… and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    lines = [_line("th", HEAD), *(_line("td", row) for row in shown)]
    return f"<div><p>{escape(title)}</p><table>{''.join(lines)}</table>{more}</div>"


def _line(tag: str, cells: Sequence[str]) -> str:
    style = ' style="text-align:left;white-space:pre"'
    return f"<tr>{''.join(f'<{tag}{style}>{escape(c)}</{tag}>' for c in cells)}</tr>"


def _span(s: slice) -> str:
    if s.stop == s.start:
        return "–"
    return str(s.start) if s.stop - s.start == 1 else f"{s.start}…{s.stop - 1}"
