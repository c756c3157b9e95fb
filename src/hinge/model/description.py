"""A robot's tree as a table of text."""

from __future__ import annotations

from collections.abc import Sequence

from hinge.model.robot import Robot
from hinge.model.table import CLOSURE_HEAD, HEAD, LOOP_HEAD, closure_rows, loop_rows, rows_of
from hinge.model.vectors import checked_robot


def describe(robot: Robot) -> str:
    """Return the robot's bodies as a table: tree, joint, coordinates, mass; closures and loops as others."""
    lines = _table(HEAD, rows_of(checked_robot(robot).bodies, robot.joints, robot.tree.depth))
    if robot.closures:
        lines += ["", *_table(CLOSURE_HEAD, closure_rows(robot.closures))]
    if robot.loops:
        lines += ["", *_table(LOOP_HEAD, loop_rows(robot.loops))]
    total = f"{robot.mass:.4g} kg, gravity {tuple(float(g) for g in robot.gravity)} m/s²"
    return "\n".join([f"{robot.summary}, {total}", "", *lines])


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    rows = [head, *body]
    widths = [max(len(r[k]) for r in rows) for k in range(len(head))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    lines.insert(1, "  ".join("─" * w for w in widths))
    return lines
