"""Programs of formulas at each joint by itself, for those who integrate or control."""

from __future__ import annotations

from collections.abc import Mapping

from hinge.binding import Formula, Row, jointwise
from hinge.dynamics.kept import JOINT_PROGRAMS, make_room
from hinge.model import Robot
from hinge.pipeline import build
from hinge.targets import Executable, best_target


def joint_program(
    robot: Robot,
    name: str,
    inputs: Mapping[str, Row],
    results: Mapping[str, Row],
    formula: Formula,
    *,
    target: str | None = None,
) -> Executable:
    """Return the program of a formula at every joint.

    The formula is traced at each call, and its code tells the program from others, in memory and on disk;
    `name` is only what the cache calls it. Inputs are taken in the order in which `build` puts them: q, qd,
    qdd, tau, then as given.
    """
    code = jointwise(robot, inputs, results, formula)
    identity = code.identity()
    key = identity, target or best_target()
    if key not in JOINT_PROGRAMS:
        make_room(JOINT_PROGRAMS)
        JOINT_PROGRAMS[key] = build(
            lambda: code,
            target=target,
            identity=lambda: identity,
            label=f"{name} at the joints of {robot.name}",
        )
    return JOINT_PROGRAMS[key]
