"""Programs of joint-wise formulas, for integrators and controllers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FunctionType
from typing import cast

from hinge.binding import Formula, Row, jointwise, of_this_package, of_vectors, summed
from hinge.dynamics.cached import JOINT_PROGRAMS
from hinge.model import Robot, units
from hinge.pipeline import build, in_order
from hinge.sweeps import Block, Code
from hinge.targets import Executable, Source, Traced, best_target

__all__ = ["code_program", "joint_program", "kept_program", "sum_program", "vector_program"]


def joint_program(
    robot: Robot,
    name: str,
    inputs: Mapping[str, Row],
    results: Mapping[str, Row],
    formula: Formula,
    *,
    target: str | None = None,
    lean: bool = False,
) -> Executable:
    """Return the program of a formula at every joint; if `lean`, without inputs that the formula ignores.

    The formula is traced, and its code tells the program from others, in memory and on disk; `name` is only
    what the cache calls it. Inputs are taken in the order in which `build` puts them: q, qd, qdd, tau, then
    as given.
    """
    target = target or best_target()
    known = None if lean else _known_by(robot, inputs, results, formula)
    found = JOINT_PROGRAMS.get((known, target)) if known is not None else None
    if found is None:
        code = in_order(jointwise(robot, inputs, results, formula, lean=lean))
        found = _built(code, f"{name} at the joints of {robot.name}", target)
        if known is not None:
            JOINT_PROGRAMS.put((known, target), found)
    return found


def sum_program(rows: int, length: int, *, target: str | None = None) -> Executable:
    """Return the program of the sum of so many rows of numbers: inputs x0, x1 …, result sum."""
    return _built(summed(rows, length), f"the sum of {rows} rows", target or best_target())


def vector_program(
    inputs: Mapping[str, int],
    formula: Callable[[Mapping[str, Block]], Mapping[str, Block]],
    title: str,
    *,
    key: Hashable,
    target: str | None = None,
) -> Executable:
    """Return the program of a formula of whole vectors of these lengths; `key` tells formulas apart."""
    target = target or best_target()
    found = JOINT_PROGRAMS.get((key, target))
    if found is None:
        found = _built(in_order(of_vectors(inputs, formula)), title, target)
        JOINT_PROGRAMS.put((key, target), found)
    return found


def code_program(code: Code, title: str, *, target: str | None = None) -> Executable:
    """Return the program of code that is there; inputs are taken in the order of `joint_program`."""
    return _built(in_order(code), title, target or best_target())


def kept_program(key: Hashable, source: Callable[[], Source], *, target: str | None = None) -> Executable:
    """Return the program of a source, which is made once for a key."""
    target = target or best_target()
    found = JOINT_PROGRAMS.get((key, target))
    return found or JOINT_PROGRAMS.put((key, target), build(source(), target=target))


def _built(code: Code, title: str, target: str) -> Executable:
    identity = code.identity()
    found = JOINT_PROGRAMS.get((identity, target))
    if found is not None:
        return found
    return JOINT_PROGRAMS.put((identity, target), build(Traced(code, identity, title), target=target))


def _known_by(
    robot: Robot, inputs: Mapping[str, Row], results: Mapping[str, Row], formula: Formula
) -> Hashable:
    """Return a key of the code without tracing, or None if there is none.

    It can where formula and joint types are of this package, whose text does not change while it runs, and
    the formula closes over plain numbers only.
    """
    moving = [(i, u) for i, u in enumerate(units(robot)) if u.type.nv]
    if not isinstance(formula, FunctionType) or formula.__module__.split(".")[0] != __name__.split(".")[0]:
        return None
    values = _plain([formula.__defaults__ or (), *(c.cell_contents for c in formula.__closure__ or ())])
    if values is None or not of_this_package(u.type for _, u in moving):
        return None
    joints = tuple((i, u.type, u.q, u.qd) for i, u in moving)
    rows = tuple(inputs.items()), tuple(results.items())
    return formula.__code__, values, rows, joints, robot.nq, robot.nv


def _plain(x: object) -> Hashable:
    """Return numbers, strings and sequences of them with their types; None for anything else."""
    if isinstance(x, list | tuple):
        parts = tuple(_plain(y) for y in cast("Sequence[object]", x))
        return None if None in parts else parts
    return (type(x), repr(x)) if type(x) in (bool, int, float, str) else None
