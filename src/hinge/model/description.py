"""A robot's tree as a table of text."""

from __future__ import annotations

from collections.abc import Sequence

from hinge.model.robot import Robot
from hinge.model.table import (
    CLOSURE_HEAD,
    CONTACT_HEAD,
    HEAD,
    LOOP_HEAD,
    closure_rows,
    contact_rows,
    loop_rows,
    rows_of,
)
from hinge.model.vectors import checked_robot


def describe(robot: Robot) -> str:
    """Return the robot's bodies as a table: tree, joint, coordinates, mass; closures, loops, contacts."""
    lines = _table(HEAD, rows_of(checked_robot(robot).bodies, robot.joints, robot.tree.depth))
    for head, rows in (
        (CLOSURE_HEAD, closure_rows(robot.closures)),
        (LOOP_HEAD, loop_rows(robot.loops)),
        (CONTACT_HEAD, contact_rows(robot.contacts)),
    ):
        lines += ["", *_table(head, rows)] if rows else []
    total = f"{robot.mass:.4g} kg, gravity {tuple(float(g) for g in robot.gravity)} m/s²"
    return "\n".join([f"{robot.summary}, {total}", "", *lines])


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    rows = [head, *body]
    widths = [max(len(r[k]) for r in rows) for k in range(len(head))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    lines.insert(1, "  ".join("─" * w for w in widths))
    return lines
