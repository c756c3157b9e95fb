"""`hinge info`: the bodies, joints and limits of a robot."""

from __future__ import annotations

import argparse
from importlib import import_module
from math import inf, isfinite
from typing import Any

from hinge.cli.output import table, write, write_json
from hinge.cli.robot_argument import add_robot, robot_of
from hinge.model import Joint, Robot, check, describe

DESCRIPTION = """\
Show a robot: its bodies as a tree, their joints with types and limits, masses, and the number of coordinates
(nq for the configuration, nv for the velocity); of closed loops the closures, the degrees of freedom that
they leave, and the rows that are dropped.

  hinge info panda                  a built-in robot
  hinge info arm.urdf               the robot in a file
  hinge info arm.urdf --json        as JSON
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge info`."""
    add_robot(parser)
    parser.add_argument("--json", action="store_true", help="write JSON")


def run(arguments: argparse.Namespace) -> None:
    """Show a robot."""
    robot = robot_of(arguments.robot, floating=arguments.floating)
    if arguments.json:
        write_json(facts(robot))
        return
    parts = [describe(robot)]
    limits = [line for j in robot.joints if not (j.flexes and j.follows) for line in _limits(j)]
    if limits:
        parts.append(table(("joint", "lower", "upper", "speed", "force"), limits, right=(1, 2, 3, 4)))
        parts.append("limits in rad or m, rad/s or m/s, N m or N; – is none")
    if robot.frames:
        parts.append("frames: " + ", ".join(f"{f.name} on {f.body}" for f in robot.frames))
    if robot.is_flexible:
        parts.append(table(("flexible", "modes", "frequencies [rad/s], held at the frame"), _flexible(robot)))
    for c in robot.couplings:
        parts.append(f"coupled: {c.joint} = {c.ratio:g} · {c.master} + {c.offset:g}")
    if robot.closures:
        parts.append(_closed().told(robot))
    count = len(check(robot))
    if count:
        parts.append(f"{count} {'thing is' if count == 1 else 'things are'} doubtful: see hinge check")
    write("\n\n".join(parts))


def facts(robot: Robot) -> dict[str, Any]:
    """Return the shown facts as data."""
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "floating": robot.is_floating,
        "mass": float(robot.mass),
        "gravity": robot.gravity.tolist(),
        "bodies": [{"name": b.name, "mass": b.mass, "com": b.inertia.com.tolist()} for b in robot.bodies],
        "flexible": _flexible_facts(robot),
        "joints": [
            {
                "name": j.name,
                "type": j.type.kind,
                "parent": j.parent,
                "child": j.child,
                "q": [j.q_slice.start, j.q_slice.stop],
                "qd": [j.qd_slice.start, j.qd_slice.stop],
                **{n: getattr(j, n).tolist() for n in ("lower", "upper", "velocity", "effort")},
            }
            for j in robot.joints
        ],
        "frames": [{"name": f.name, "body": f.body} for f in robot.frames],
        "couplings": [
            {"joint": c.joint, "master": c.master, "ratio": c.ratio, "offset": c.offset}
            for c in robot.couplings
        ],
        "closures": [
            {
                "name": c.name,
                "type": c.joint.kind,
                "inner": c.inner,
                "outer": c.outer,
                "rows": list(c.constraints.names),
            }
            for c in robot.closures
        ],
        "contacts": [
            {
                "name": c.name,
                "shape": c.shape,
                "frame": c.frame,
                "surface": type(c.surface).__name__,
                "on": c.on,
                "friction": c.friction,
                "restitution": c.restitution,
            }
            for c in robot.contacts
        ],
        **({"mobility": _closed().mobility_facts(robot)} if robot.closures else {}),
        "problems": len(check(robot)),
    }


def _flexible(robot: Robot) -> list[tuple[str, ...]]:
    """Return a line for each flexible body: its modes and frequencies."""
    found = [(b.name, b.flexible) for b in robot.bodies if b.flexible is not None]
    return [(name, str(f.modes), " ".join(f"{w:.4g}" for w in f.frequencies())) for name, f in found]


def _flexible_facts(robot: Robot) -> list[dict[str, Any]]:
    """Return the facts of each flexible body."""
    return [
        {
            "name": b.name,
            "modes": b.flexible.modes,
            "frequencies": b.flexible.frequencies().tolist(),
            "attachments": [f.name for f in b.flexible.frames],
        }
        for b in robot.bodies
        if b.flexible is not None
    ]


def _closed() -> Any:
    """Return what robots with closures need, which loads the compiler."""
    return import_module("hinge.cli.closed")


def _limits(joint: Joint) -> list[tuple[str, ...]]:
    """Return a line for each limited coordinate of a joint, quaternions left out."""
    found: list[tuple[str, ...]] = []
    for k in range(joint.nv):
        name = joint.name if joint.nv == 1 else f"{joint.name}.{joint.type.qd_names[k]}"
        place = (joint.lower[k], joint.upper[k]) if joint.nq == joint.nv else (-inf, inf)
        bounds = (*place, joint.velocity[k], joint.effort[k])
        if any(isfinite(x) for x in bounds):
            found.append((name, *(f"{x:.4g}" if isfinite(x) else "–" for x in bounds)))
    return found
