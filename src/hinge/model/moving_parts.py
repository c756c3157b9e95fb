"""The parts of a configuration that move on their own: single joints, and loops as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from hinge.model.closing import with_closures
from hinge.model.closures import Closure
from hinge.model.joints import Free, JointType
from hinge.model.loop_motion import LoopMotion
from hinge.model.loop_ways import loop_geometry
from hinge.model.loops import Loop
from hinge.model.robot import Robot
from hinge.model.vectors import checked_robot, stacked
from hinge.spatial import Array

_UNITS: WeakKeyDictionary[Robot, tuple[Unit, ...]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Unit:
    """A joint, or a loop as one joint: its type, and the indices of its coordinates and rates in q and qd."""

    name: str
    type: JointType
    q: tuple[int, ...]
    qd: tuple[int, ...]

    def q_of(self, x: Array) -> Array:
        """Return its part of q (…, nq)."""
        return x[..., _taken(self.q)]

    def qd_of(self, x: Array) -> Array:
        """Return its part of qd (…, nv)."""
        return x[..., _taken(self.qd)]


def _taken(at: tuple[int, ...]) -> slice | list[int]:
    """Return indices as a slice if they follow each other, which copies nothing."""
    if not at or at == tuple(range(at[0], at[0] + len(at))):
        return slice(at[0], at[0] + len(at)) if at else slice(0, 0)
    return list(at)


def units(robot: Robot) -> tuple[Unit, ...]:
    """Return the joints with coordinates of their own, those of an embedded loop together as one."""
    found = _UNITS.get(robot)
    if found is None:
        _UNITS[robot] = found = _found(robot)
    return found


def placement_units(robot: Robot) -> tuple[Unit, ...]:
    """Return the placements of joints on their parents (bodies, 7), flat, as if each were a free joint."""
    free, count = Free(), range(len(robot.bodies))
    rows = [(tuple(range(7 * k, 7 * k + 7)), tuple(range(6 * k, 6 * k + 6))) for k in count]
    return tuple(Unit(b.name, free, *row) for b, row in zip(robot.bodies, rows, strict=True))


def _found(robot: Robot) -> tuple[Unit, ...]:
    in_loops = {name for loop in robot.loops for name in loop.joints}
    found = [
        Unit(j.name, j.type, _indices(j.q_slice), _indices(j.qd_slice))
        for j in robot.independent
        if j.name not in in_loops
    ]
    for loop in robot.loops:
        motion = LoopMotion(loop, loop_geometry(robot, loop.closures))
        joints = motion.geometry.joints
        q = tuple(k for j in joints for k in _indices(j.q_slice))
        found.append(Unit(loop.name, motion, q, tuple(k for j in joints for k in _indices(j.qd_slice))))
    return tuple(sorted(found, key=lambda u: u.q[:1] or (-1,))) if robot.loops else tuple(found)


def _indices(s: slice) -> tuple[int, ...]:
    return tuple(range(s.start, s.stop))


def put_together(
    robot: Robot, parts: Sequence[Array], batch: tuple[int, ...] = (), *, rates: bool = False
) -> Array:
    """Return q (…, nq), or qd (…, nv) if these are `rates`, from the parts of all units."""
    if not robot.loops:
        return stacked(parts, batch)
    order = np.argsort([k for u in units(robot) for k in (u.qd if rates else u.q)])
    return stacked(parts, batch)[..., order]


def all_rates(robot: Robot, q: Array, qd: Array) -> dict[str, Array]:
    """Return the rates (…, nv of the joint) of the joints with coordinates of their own, by name."""
    found = {j.name: qd[..., j.qd_slice] for j in robot.independent}
    for u in units(robot):
        if isinstance(u.type, LoopMotion):
            with np.errstate(all="ignore"):
                rates = u.type.all_rates(u.q_of(q), u.qd_of(qd))
            g = u.type.geometry
            found |= {j.name: rates[..., s] for j, s in zip(g.joints, g.v_at, strict=True)}
    return found


def release_loops(robot: Robot) -> Robot:
    """Return the robot with all rates and with its embedded loops as closures, which `embed_loops` undoes."""
    if not checked_robot(robot).loops:
        return robot
    back = sorted(
        ((k, c) for x in robot.loops for k, c in zip(x.places, x.closures, strict=True)),
        key=lambda found: found[0],
    )
    closures = list(robot.closures)
    for k, c in back:
        closures.insert(k, c)
    return with_loops(robot, (), closures)


def without_loops(robot: Robot) -> Robot:
    """Return the tree of a robot with embedded loops, which are open; its other closures stay."""
    return with_loops(robot, (), robot.closures) if robot.loops else robot


def with_loops(robot: Robot, loops: Sequence[Loop], closures: Sequence[Closure] = ()) -> Robot:
    """Return the robot with these loops and closures in place of its own."""
    return with_closures(robot, closures, loops)
