"""Close loops of a robot and open them; where the two frames of a closure are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from hinge.errors import UnknownNameError, did_you_mean
from hinge.model.closures import Closure, SoftFinger
from hinge.model.contacts import Contact
from hinge.model.joints import Fixed, JointType
from hinge.model.loops import Loop
from hinge.model.robot import Robot, remade
from hinge.model.vectors import checked_robot
from hinge.spatial import Array, ArrayLike, Transform
from hinge.tree import WORLD

#: A closure or a contact.
Link = TypeVar("Link", Closure, Contact)


def close(
    robot: Robot,
    inner: str | None,
    outer: str,
    *,
    joint: JointType | SoftFinger | None = None,
    name: str | None = None,
    rotation: ArrayLike | None = None,
    position: ArrayLike | None = None,
    rows: Iterable[str] | None = None,
) -> Robot:
    """Return the robot with a loop closed: a joint (fixed by default) leads from `inner` to `outer`.

    Both are names of frames or bodies; `inner` None is the world. `rotation` and `position` place the
    closure's inner frame in `inner`. Of the joints of a loop, cut the one that locks the fewest motions. The
    name is "<inner>_<outer>" unless given. `rows` names the constraints that the dynamics keeps, where they
    are not to be found by numbers.
    """
    kept: Any = rows
    place = Transform.place(rotation, position)
    label = name or _free_name(checked_robot(robot), f"{inner or 'world'}_{outer}")
    closure = Closure(label, inner, outer, Fixed() if joint is None else joint, place, kept)
    return with_closures(robot, (*robot.closures, closure))


def opened(robot: Robot, names: Iterable[str] | str | None = None) -> Robot:
    """Return the robot without the closures of these names, or without any."""
    left = without(robot, "closure", checked_robot(robot).closures, names)
    return robot if len(left) == len(robot.closures) else with_closures(robot, left)


def without(robot: Robot, kind: str, items: Sequence[Link], names: Iterable[str] | str | None) -> list[Link]:
    """Return closures or contacts without those of these names, or none."""
    known = [c.name for c in items]
    gone = known if names is None else [names] if isinstance(names, str) else list(names)
    for name in gone:
        if name not in known:
            hint = did_you_mean(name, known) or f"it has {', '.join(known[:12]) or 'none'}"
            raise UnknownNameError(f"names: robot {robot.name!r} has no {kind} {name!r}; {hint}")
    return [c for c in items if c.name not in gone]


def every_closure(robot: Robot) -> tuple[Closure, ...]:
    """Return the closures of a robot and those of its embedded loops."""
    return *robot.closures, *(c for loop in robot.loops for c in loop.closures)


def with_closures(robot: Robot, closures: Iterable[Closure], loops: Sequence[Loop] | None = None) -> Robot:
    """Return the robot with these closures, and if given these embedded loops, in place of its own."""
    return remade(robot, closures=closures, loops=robot.loops if loops is None else loops)


def closure_ends(robot: Robot, closure: Closure) -> tuple[tuple[int, Transform], tuple[int, Transform]]:
    """Return the body and the transform from it to the aligned frame, of the inner and of the outer side.

    The body is its number, WORLD (−1) for the world.
    """
    turn, frame = closure.alignment, robot.frame(closure.outer)
    outer = robot.body_index(frame.body), turn @ frame.placement
    if closure.inner is None:
        return (WORLD, turn @ closure.placement), outer
    frame = robot.frame(closure.inner)
    return (robot.body_index(frame.body), turn @ closure.placement @ frame.placement), outer


def closure_transform(robot: Robot, closure: Closure, q: Array) -> Transform:
    """Return the transform from the closure's aligned inner frame to its aligned outer frame at q (…, nq)."""
    (i, inner), (j, outer) = closure_ends(robot, closure)
    return outer @ _pose(robot, j, q) @ (inner @ _pose(robot, i, q)).inv()


def _pose(robot: Robot, body: int, q: Array) -> Transform:
    """Return the transform from the world to a body, or to the world itself."""
    x = Transform.identity()
    for i in () if body == WORLD else robot.tree.support(body):
        joint = robot.joints[i]
        x = joint.transform(q[..., joint.q_slice]) @ x
    return x


def closure_of(robot: Robot, name: str) -> Closure:
    """Return the closure of this name."""
    for c in checked_robot(robot).closures:
        if c.name == name:
            return c
    hint = did_you_mean(name, [c.name for c in robot.closures])
    raise UnknownNameError(f"robot {robot.name!r} has no closure {name!r}" + (hint and f"; {hint}"))


def _free_name(robot: Robot, name: str) -> str:
    """Return the name, or the first of name_2, name_3, … that is not taken."""
    taken, k, found = {*robot.joint_names, *(c.name for c in robot.closures)}, 1, name
    while found in taken:
        k += 1
        found = f"{name}_{k}"
    return found
