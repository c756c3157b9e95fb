"""Programs of formulas at each joint by itself, for those who integrate or control."""

from __future__ import annotations

from collections.abc import Mapping

from hinge.binding import Formula, Row, jointwise, of_this_package
from hinge.dynamics.kept import JOINT_PROGRAMS, make_room
from hinge.model import Robot
from hinge.pipeline import build, in_order
from hinge.targets import Executable, Traced, best_target


def joint_program(
    robot: Robot,
    name: str,
    inputs: Mapping[str, Row],
    results: Mapping[str, Row],
    formula: Formula,
    *,
    target: str | None = None,
) -> Executable:
    """Return the program of a formula at every joint; its name and the joints' types tell it from others.

    Inputs are taken in the order in which `build` puts them: q, qd, qdd, tau, then as given.
    """
    types = [(j.type, j.q_slice, j.qd_slice) for j in robot.independent if j.nv]
    ours = of_this_package(t for t, *_ in types)
    identity = repr((name, dict(inputs), dict(results), types))
    key = identity, target or best_target()
    if key not in JOINT_PROGRAMS:
        make_room(JOINT_PROGRAMS)
        code = in_order(jointwise(robot, inputs, results, formula))
        label = f"{name} at the joints of {robot.name}"
        JOINT_PROGRAMS[key] = build(Traced(code, identity if ours else None, label), target=target)
    return JOINT_PROGRAMS[key]
