"""Spherical: any rotation, by a unit quaternion. Featherstone section 8.2.3, (8.1) and (8.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.model.joints import smooth
from hinge.model.joints.contract import JointType, constant
from hinge.spatial import Array, Transform, quaternion, rotation


@dataclass(frozen=True)
class Spherical(JointType):
    """Turn any way; q = (qw, qx, qy, qz), qd = ω of the outer frame, in the outer frame."""

    kind: ClassVar[str] = "spherical"
    q_names: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz")
    qd_names: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz")
    isotropic: ClassVar[bool] = True

    def placement(self, q: Array) -> Transform:
        """Return the rotation of the quaternion, used as given."""
        return Transform.place(rotation.from_quaternion(q))

    def subspace(self, q: Array) -> Array:
        """Return [1; 0]."""
        return constant(np.eye(6)[:, :3], q)

    @property
    def reactions(self) -> Array:
        """The rows vx, vy, vz."""
        return np.eye(6)[3:]

    def rate(self, q: Array, qd: Array) -> Array:
        """Return ½ q ω, (8.1)."""
        return quaternion.rate(q, qd)

    def unrate(self, q: Array, dq: Array) -> Array:
        """Return the vector part of 2 q⁻¹ dq."""
        return quaternion.unrate(q, dq)

    def normalized(self, q: Array) -> Array:
        """Return q with a quaternion of length one."""
        return quaternion.normalize(q)

    def neutral(self) -> Array:
        """Return the quaternion of no rotation."""
        return quaternion.identity()

    def integrate(self, q: Array, v: Array) -> Array:
        """Return q exp(v), normalised."""
        return quaternion.normalize(quaternion.multiply(q, quaternion.exp(v)))

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return log(q0⁻¹ q1), of length at most π."""
        return quaternion.log(quaternion.multiply(quaternion.conjugate(q0), q1))

    def smooth_difference(self, q0: Array, q1: Array) -> Array:
        """Return log(q0⁻¹ q1)."""
        return smooth.turn(q0, q1)

    def smooth_integrate(self, q: Array, v: Array) -> Array:
        """Return q exp(v), normalised."""
        return quaternion.normalize(quaternion.multiply(q, smooth.exponential(v)))

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return rotations spread evenly over all; a quaternion has no limits of its own."""
        return quaternion.random(rng, shape)

    def limits(self) -> tuple[Array, Array]:
        """Return the range of a unit quaternion's components."""
        return np.full(4, -1.0), np.full(4, 1.0)

    def reversed(self) -> Spherical:
        """Return the same type."""
        return self

    def reverse_state(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the inverse rotation and −R ω."""
        return quaternion.conjugate(q), -quaternion.rotate(q, qd)
