"""Model parameters as arrays, for calls that take them: placements, rotors, friction, inertias.

| name | shape | one row |
|---|---|---|
| inertias | (…, bodies, 10) | m, m c, upper triangle of I; see `inertial_parameters` |
| placements | (…, bodies, 7) | qw, qx, qy, qz, x, y, z of the joint's inner frame on the parent body |
| rotors | (…, nv) | reflected inertia of the rotor, gear_ratio² rotor_inertia |
| friction | (…, nv, 3) | damping, friction, stiffness |

All other fields (limits, rest, friction_speed, outer frames) are the robot's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hinge.errors import ArgumentError
from hinge.model.checks import TOLERANCE
from hinge.model.inertial import check_inertial_parameters, with_inertial_parameters
from hinge.model.joints import Free, JointType
from hinge.model.parts import Joint
from hinge.model.robot import Robot
from hinge.model.vectors import as_vector, checked_robot
from hinge.spatial import Array, ArrayLike, Transform, quaternion, rotation

#: The joint type whose coordinates the row of a placement is.
PLACEMENT: JointType = Free()
FRICTION_NAMES = ("damping", "friction", "stiffness")


def placement_parameters(robot: Robot) -> Array:
    """Return the joint placements on the parents (bodies, 7): qw, qx, qy, qz, x, y, z as in a free joint."""
    inner = [j.inner for j in checked_robot(robot).joints]
    rows = [np.concatenate([quaternion.from_matrix(x.rotation), x.position]) for x in inner]
    return np.array(rows).reshape(-1, 7)


def friction_parameters(robot: Robot) -> Array:
    """Return damping, friction and stiffness of each degree of freedom (nv, 3)."""
    _refuse_loops(checked_robot(robot), "friction")
    rows = [np.stack([j.damping, j.friction, j.stiffness], axis=-1) for j in robot.joints]
    return np.concatenate([np.zeros((0, 3)), *rows])


def with_parameters(
    robot: Robot,
    *,
    inertias: ArrayLike | None = None,
    placements: ArrayLike | None = None,
    rotors: ArrayLike | None = None,
    friction: ArrayLike | None = None,
) -> Robot:
    """Return the robot with these parameters replaced; with `rotors` the gear ratios become 1.

    The layouts are those of `compile(…, parameters=…)`: `inertial_parameters`, `placement_parameters`,
    `robot.reflected_inertia` and `friction_parameters`.
    """
    found = robot if inertias is None else with_inertial_parameters(robot, inertias)
    joints = list(checked_robot(found).joints)
    if placements is not None:
        x = _one_set("placements", _placements(robot, placements), 2)
        joints = [replace(j, inner=_placed(row)) for j, row in zip(joints, x, strict=True)]
    if rotors is not None:
        _refuse_loops(robot, "rotors")
        x = _one_set("rotors", _rotors(robot, rotors), 1)
        joints = [replace(j, rotor_inertia=x[j.qd_slice], gear_ratio=1.0) for j in joints]
    if friction is not None:
        _refuse_loops(robot, "friction")
        x = _one_set("friction", _friction(robot, friction), 2)
        joints = [replace(j, **_columns(x[j.qd_slice])) for j in joints]
    return replace(found, joints=tuple(joints))


def _refuse_loops(robot: Robot, what: str) -> None:
    if robot.loops:
        raise NotImplementedError(
            f"{what}: not supported for robots with embedded loops, such as {robot.name!r}, whose dependent "
            "joints have none in qd; use release_loops(robot)"
        )


def check_parameters(
    robot: Robot,
    *,
    inertias: ArrayLike | None = None,
    placements: ArrayLike | None = None,
    rotors: ArrayLike | None = None,
    friction: ArrayLike | None = None,
) -> list[str]:
    """Return the physically impossible parameters, by joint or body and batch index.

    Quaternions that are not unit (they are used as given), rotors, damping, friction or stiffness below
    zero, numbers that are not finite, and what `check_inertial_parameters` says; none of it stops a call.
    """
    found = [] if inertias is None else check_inertial_parameters(robot, inertias)
    joints = checked_robot(robot).joints
    if placements is not None:
        found += _bad_placements([f"joint {j.name!r}" for j in joints], _placements(robot, placements))
    if rotors is not None:
        found += _below_zero(_coordinates(joints), "rotors", _rotors(robot, rotors))
    if friction is not None:
        x = _friction(robot, friction)
        for k, name in enumerate(FRICTION_NAMES):
            found += _below_zero(_coordinates(joints), name, x[..., k])
    return found


def _bad_placements(names: list[str], x: Array) -> Iterator[str]:
    finite = np.asarray(np.isfinite(x).all(axis=-1))
    norm = np.linalg.norm(np.where(finite[..., None], x, 0.0)[..., :4], axis=-1)
    for at in np.argwhere(~finite | (np.abs(norm - 1.0) > TOLERANCE)):
        where, place = _where(names, at), tuple(at)
        if finite[place]:
            yield f"{where}: expected a unit quaternion in its placement, got norm {norm[place]:.6g}"
        else:
            yield f"{where}: its placement is not finite"


def _below_zero(names: list[str], what: str, x: Array) -> Iterator[str]:
    for at in np.argwhere(~(np.isfinite(x) & (x >= 0))):
        yield f"{_where(names, at)}: expected {what} finite and ≥ 0, got {x[tuple(at)]:g}"


def _where(names: list[str], at: Array) -> str:
    *batch, k = (int(n) for n in at)
    return names[k] + (f" of set {batch}" if batch else "")


def _coordinates(joints: tuple[Joint, ...]) -> list[str]:
    return [
        f"joint {j.name!r}" + (f", {label}" if j.nv > 1 else "") for j in joints for label in j.type.qd_names
    ]


def _placed(row: Array) -> Transform:
    return Transform.place(rotation.from_quaternion(row[:4]), row[4:])


def _columns(rows: Array) -> dict[str, Array]:
    return {name: rows[:, k] for k, name in enumerate(FRICTION_NAMES)}


def _placements(robot: Robot, x: ArrayLike) -> Array:
    return _rows("placements", x, len(robot.bodies), 7, "a row for each body: a quaternion and a position")


def _friction(robot: Robot, x: ArrayLike) -> Array:
    return _rows("friction", x, robot.nv, 3, "a row for each degree of freedom: damping, friction, stiffness")


def _rotors(robot: Robot, x: ArrayLike) -> Array:
    return as_vector(x, "rotors", robot.nv, f"nv = {robot.nv} of robot {robot.name!r}")


def _rows(name: str, given: ArrayLike, count: int, width: int, why: str) -> Array:
    x = as_vector(given, name, width, why)
    if x.ndim < 2 or x.shape[-2] != count:
        raise ArgumentError(f"{name}: expected shape (…, {count}, {width}), got {x.shape}; {why}")
    return x


def _one_set(name: str, x: Array, ndim: int) -> Array:
    if x.ndim != ndim:
        raise ArgumentError(f"{name}: expected one set of shape {x.shape[-ndim:]}, got {x.shape}")
    return x
