"""Robots on a base that moves in a given way: a ship, a train, a larger robot.

The constraint of such a base is rheonomic, Featherstone section 7.4.4: its motion is a function of time that
nothing on it changes, and enters the dynamics where the velocities and accelerations of the bodies begin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from hinge.dynamics.arguments import precision
from hinge.errors import ArgumentError
from hinge.model import Robot, as_vector, common_batch, gravity_of
from hinge.spatial import Array, ArrayLike, matvec, transpose

__all__ = ["BaseMotion"]

_ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class BaseMotion:
    """How the base that a robot stands on moves, in the base's own axes and at its origin.

    The base is what the model calls the world: all that its joints to the world hang on. `angular_velocity`
    (…, 3) and `angular_acceleration` (…, 3) are those of the base, `acceleration` (…, 3) is that of its
    origin as a point, without gravity; a velocity of the origin changes nothing. Gravity, the robot's own or
    `gravity=…` of a call, is in the base's axes too, unless `rotation` (…, 3, 3) says how these stand in the
    world: then gravity is in the axes of the world, and the rotation takes it to those of the base.
    """

    angular_velocity: ArrayLike = _ZERO
    angular_acceleration: ArrayLike = _ZERO
    acceleration: ArrayLike = _ZERO
    rotation: ArrayLike | None = None


def base_inputs(
    base: BaseMotion, robot: Robot, gravity: ArrayLike | None, arrays: Mapping[str, ArrayLike]
) -> dict[str, ArrayLike]:
    """Return V₀ and α₀ (…, 6), of the precision of all arrays that come with them."""
    if not isinstance(base, BaseMotion):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"base: expected a BaseMotion(angular_velocity=…, …), got {type(base).__name__}")
    given = [getattr(base, x.name) for x in fields(base)]
    dtype = precision(*arrays.values(), *(x for x in (*given, gravity) if isinstance(x, np.ndarray)))
    w, dw, a = (_vector(base, name, dtype) for name in _VECTORS)
    down = gravity_of(robot, gravity, dtype=dtype)
    parts = {"base.angular_velocity": w, "base.angular_acceleration": dw, "base.acceleration": a}
    parts["gravity"] = down
    if base.rotation is not None:
        turn = _rotation(base.rotation, dtype)
        common_batch({**parts, "base.rotation": turn[..., 0]})
        down = matvec(transpose(turn), down)
        parts["gravity"] = down
    batch = common_batch(parts)
    v0, a0 = np.zeros((*batch, 6), dtype), np.empty((*batch, 6), dtype)
    with np.errstate(all="ignore"):  # non-finite states of a batch must not warn
        v0[..., :3], a0[..., :3], a0[..., 3:] = w, dw, a - down
    return {"V0": v0, "A0": a0}


_VECTORS = ("angular_velocity", "angular_acceleration", "acceleration")
#: The caller's names of inputs.
CALLED = {"V0": "base", "A0": "base"}


def _vector(base: BaseMotion, name: str, dtype: type) -> Array:
    return as_vector(getattr(base, name), f"base.{name}", 3, "it is a vector in space", dtype=dtype)


def _rotation(value: ArrayLike, dtype: type) -> Array:
    """Return rotation matrices (…, 3, 3), or raise an ArgumentError."""
    turn = as_vector(value, "base.rotation", 3, "a rotation is a 3 × 3 matrix", dtype=dtype)
    if turn.ndim < 2 or turn.shape[-2] != 3:
        raise ArgumentError(f"base.rotation: expected shape (…, 3, 3), got {turn.shape}")
    off = np.abs(turn @ transpose(turn) - np.eye(3)).max(axis=(-1, -2))
    if (off > 1e-4).any() or (np.linalg.det(turn) < 0).any():
        raise ArgumentError(
            "base.rotation: expected a rotation matrix from base to world coordinates, got one that is not "
            "orthogonal and right-handed"
        )
    return turn
