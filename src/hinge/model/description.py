"""A robot's tree as a table of text."""

from __future__ import annotations

from hinge.model.robot import Robot
from hinge.model.vectors import checked_robot

#: Bodies further from the world than this are not indented more.
DEEPEST = 20


def describe(robot: Robot) -> str:
    """Return the robot's bodies as a table: tree, joint, coordinates, mass."""
    checked_robot(robot)
    head = ("body", "joint", "type", "q", "qd", "mass [kg]")
    rows: list[tuple[str, ...]] = [head]
    for body, joint, depth in zip(robot.bodies, robot.joints, robot.tree.depth, strict=True):
        rows.append(
            (
                "  " * min(depth - 1, DEEPEST) + body.name,
                joint.name,
                joint.type.kind,
                _span(joint.q_slice),
                _span(joint.qd_slice),
                f"{float(body.inertia.m):.4g}",
            )
        )
    widths = [max(len(r[k]) for r in rows) for k in range(len(head))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    lines.insert(1, "  ".join("─" * w for w in widths))
    base = "floating" if robot.is_floating else "fixed"
    total = f"{robot.mass:.4g} kg, gravity {tuple(float(g) for g in robot.gravity)} m/s²"
    title = (
        f"{robot.name}: {len(robot.bodies)} bodies, nq = {robot.nq}, nv = {robot.nv}, {base} base, {total}"
    )
    return "\n".join([title, "", *lines])


def _span(s: slice) -> str:
    if s.stop == s.start:
        return "–"
    return str(s.start) if s.stop - s.start == 1 else f"{s.start}…{s.stop - 1}"
