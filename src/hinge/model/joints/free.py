"""Free: six degrees of freedom, the joint of a floating base; q as in JPL 88-11 part I, appendix B."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.model.joints import smooth
from hinge.model.joints.contract import SPAN_LENGTH, JointType, constant, uniform
from hinge.spatial import Array, Transform, cross, matvec, motion, quaternion, rotation


@dataclass(frozen=True)
class Free(JointType):
    """Move any way; q = (qw, qx, qy, qz, x, y, z), qd = (ω, v) in the outer frame.

    Quaternion and position place the outer frame in the inner one; ω and v are the velocity of the
    outer frame, in its own coordinates, so that S is the identity.
    """

    kind: ClassVar[str] = "free"
    q_names: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz", "x", "y", "z")
    qd_names: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz", "vx", "vy", "vz")

    def placement(self, q: Array) -> Transform:
        """Return the rotation of the quaternion, used as given, and the position."""
        return Transform.place(rotation.from_quaternion(q[..., :4]), q[..., 4:])

    def subspace(self, q: Array) -> Array:
        """Return the identity."""
        return constant(np.eye(6), q)

    def rate(self, q: Array, qd: Array) -> Array:
        """Return ½ p ω and R v."""
        p = q[..., :4]
        turning, moving = quaternion.rate(p, qd[..., :3]), quaternion.rotate(p, qd[..., 3:])
        return np.concatenate([turning, moving], axis=-1)

    def unrate(self, q: Array, dq: Array) -> Array:
        """Return the vector part of 2 p⁻¹ dp, and Rᵀ dx."""
        p = q[..., :4]
        moving = quaternion.rotate(quaternion.conjugate(p), dq[..., 4:])
        return np.concatenate([quaternion.unrate(p, dq[..., :4]), moving], axis=-1)

    def normalized(self, q: Array) -> Array:
        """Return q with a quaternion of length one."""
        return np.concatenate([quaternion.normalize(q[..., :4]), q[..., 4:]], axis=-1)

    def turning(self, qd: Array) -> Array:
        """Return ω × v."""
        w, v = qd[..., :3], qd[..., 3:]
        return np.concatenate([0.0 * w, cross(w, v)], axis=-1)

    def turned_velocity(self, qd: Array, angle: Array) -> Array:
        """Return v turned back by the rotation that a step of the quaternion makes, tan ½θ = ½ |angle|."""
        half, v = 0.5 * angle[..., :3], qd[..., 3:]
        once = cross(half, v)
        share = 2.0 / (1.0 + (half * half).sum(axis=-1, keepdims=True))
        back = v - share * (once - cross(half, once))
        return np.concatenate([qd[..., :3], back], axis=-1)

    def neutral(self) -> Array:
        """Return no rotation at the origin."""
        return np.concatenate([quaternion.identity(), np.zeros(3)])

    def integrate(self, q: Array, v: Array) -> Array:
        """Follow the screw v for unit time: p exp(ω), x + R V(ω) v."""
        p, x = q[..., :4], q[..., 4:]
        step = matvec(rotation.left_jacobian(v[..., :3]), v[..., 3:])
        turned = quaternion.normalize(quaternion.multiply(p, quaternion.exp(v[..., :3])))
        return np.concatenate([turned, x + quaternion.rotate(p, step)], axis=-1)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the screw that leads from q0 to q1 in unit time."""
        back = quaternion.conjugate(q0[..., :4])
        w = quaternion.log(quaternion.multiply(back, q1[..., :4]))
        step = quaternion.rotate(back, q1[..., 4:] - q0[..., 4:])
        return motion(w, np.linalg.solve(rotation.left_jacobian(w), step[..., None])[..., 0])

    def smooth_difference(self, q0: Array, q1: Array) -> Array:
        """Return the screw that leads from q0 to q1 in unit time."""
        return smooth.screw(q0[..., :4], q0[..., 4:], q1[..., :4], q1[..., 4:])

    def smooth_integrate(self, q: Array, v: Array) -> Array:
        """Follow the screw v for unit time."""
        p, x = q[..., :4], q[..., 4:]
        turned = quaternion.normalize(quaternion.multiply(p, smooth.exponential(v[..., :3])))
        step = smooth.follow(v[..., :3], v[..., 3:])
        return np.concatenate([turned, x + quaternion.rotate(p, step)], axis=-1)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return rotations spread evenly and positions within the limits, or within ±1 m."""
        x = uniform(rng, shape, lower[4:], upper[4:], np.full(3, SPAN_LENGTH))
        return np.concatenate([quaternion.random(rng, shape), x], axis=-1)

    def limits(self) -> tuple[Array, Array]:
        """Return the range of the quaternion's components, and none for the position."""
        upper = np.array([1.0, 1.0, 1.0, 1.0, np.inf, np.inf, np.inf])
        return -upper, upper

    def reversed(self) -> Free:
        """Return the same type."""
        return self

    def reverse_state(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the inverse placement and the opposite velocity, seen from the other side."""
        back = self.placement(q).inv()
        turned = np.concatenate([quaternion.conjugate(q[..., :4]), back.position], axis=-1)
        return turned, -back.motion(qd)
