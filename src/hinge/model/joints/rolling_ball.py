"""Rolling ball: a sphere that rolls on a plane and does not slip. Featherstone section 7.4.4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hinge.errors import ModelError
from hinge.model.joints.contract import SPAN_LENGTH, Axis, Z, random_axes, uniform, unit
from hinge.model.joints.nonholonomic import Nonholonomic
from hinge.spatial import Array, Transform, cross, dot, matvec, quaternion, rotation, skew, transpose


@dataclass(frozen=True)
class RollingBall(Nonholonomic):
    """Roll on the plane across `axis`; q = (qw, qx, qy, qz, x, y), qd = ω in the outer frame.

    The outer frame sits in the middle of a ball of `radius` and turns with it; x and y are its position along
    the two directions of `plane`, fixed in the inner frame. The ball touches the plane that lies `radius`
    below the inner frame's origin, and spins about `axis` as it likes: five coordinates, three velocities.
    """

    radius: float = 1.0
    axis: Axis = Z

    kind: ClassVar[str] = "rolling_ball"
    q_names: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz", "x", "y")
    qd_names: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz")

    def __post_init__(self) -> None:
        try:
            radius = float(self.radius)
        except (TypeError, ValueError):
            radius = np.nan
        if not (np.isfinite(radius) and radius > 0):
            raise ModelError(f"radius: expected a length in m above zero, got {self.radius!r}")
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "axis", unit(self.axis))

    @property
    def plane(self) -> Array:
        """The two directions (3, 2) in the plane: x and y turned with z onto the axis."""
        return rotation.aligning(Z, self.axis)[:, :2]

    def forth(self, q: Array) -> Transform:
        """Return the rotation of the quaternion, used as given, and the shift in the plane."""
        return Transform.place(rotation.from_quaternion(q[..., :4]), matvec(self.plane, q[..., 4:]))

    def _normal(self, q: Array) -> Array:
        """Return the plane's normal in the outer frame."""
        return matvec(transpose(rotation.from_quaternion(q[..., :4])), np.array(self.axis))

    def motions(self, q: Array) -> Array:
        """Return [1; −r n×]: the point that touches the plane, at −r n, does not move."""
        n = self._normal(q)
        one = np.broadcast_to(np.eye(3), (*n.shape[:-1], 3, 3))
        return np.concatenate([one, -self.radius * skew(n)], axis=-2)

    def motions_rate(self, q: Array, qd: Array) -> Array:
        """Return [0; r ω × (n × ω)]: the normal turns by n × ω in the outer frame."""
        moving = self.radius * cross(qd, cross(self._normal(q), qd))
        return np.concatenate([0.0 * moving, moving], axis=-1)

    def rate(self, q: Array, qd: Array) -> Array:
        """Return ½ p ω and the middle's velocity in the plane."""
        p = q[..., :4]
        turning, moving = quaternion.rate(p, qd), self._moving(p, qd)
        shape = (*np.broadcast_shapes(turning.shape[:-1], moving.shape[:-1]), 2)
        return np.concatenate([turning, np.broadcast_to(moving, shape)], axis=-1)

    def _moving(self, p: Array, w: Array) -> Array:
        """Return the middle's velocity along the plane's directions: r R ω × axis."""
        across = cross(quaternion.rotate(p, w), np.array(self.axis))
        return self.radius * matvec(transpose(self.plane), across)

    def normalized(self, q: Array) -> Array:
        """Return q with a quaternion of length one."""
        return np.concatenate([quaternion.normalize(q[..., :4]), q[..., 4:]], axis=-1)

    def neutral(self) -> Array:
        """Return no rotation at the origin."""
        return np.concatenate([quaternion.identity(), np.zeros(2)])

    def integrate(self, q: Array, v: Array) -> Array:
        """Roll by v: p exp(v), and straight on, since a turn about R ω leaves R ω as it is."""
        p = q[..., :4]
        turned = quaternion.normalize(quaternion.multiply(p, quaternion.exp(v)))
        there = q[..., 4:] + self._moving(p, v)
        return np.concatenate([turned, there], axis=-1)

    def step(self, q0: Array, q1: Array) -> Array:
        """Return log(q0⁻¹ q1), plus the whole turns that fit the distance."""
        p = q0[..., :4]
        w = quaternion.log(quaternion.multiply(quaternion.conjugate(p), q1[..., :4]))
        way = q1[..., 4:] - q0[..., 4:]
        angle = np.sqrt(dot(w, w))
        back = cross(np.array(self.axis), matvec(self.plane, way)) / self.radius
        rolled = (angle < 1e-9) & (np.abs(way).max(axis=-1) > 1e-6 * self.radius)
        w = np.where(rolled[..., None], quaternion.rotate(quaternion.conjugate(p), back), w)
        short = self._moving(p, w)
        length, angle = dot(short, short), np.sqrt(dot(w, w))
        ratio = dot(way, short) / np.where(length > 0, length, 1.0) - 1.0
        turns = np.where(length > 1e-12 * self.radius**2, np.round(ratio * angle / (2 * np.pi)), 0.0)
        return w * (1.0 + 2 * np.pi * turns / np.where(angle > 0, angle, 1.0))[..., None]

    @classmethod
    def random_type(cls, rng: np.random.Generator) -> Self:
        """Return a ball of 0.1 m to 0.5 m across a random axis."""
        axis, _, _ = random_axes(rng)
        return cls(float(rng.uniform(0.1, 0.5)), axis)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return rotations spread evenly and positions within the limits, or within ±1 m."""
        x = uniform(rng, shape, lower[4:], upper[4:], np.full(2, SPAN_LENGTH))
        return np.concatenate([quaternion.random(rng, shape), x], axis=-1)

    def limits(self) -> tuple[Array, Array]:
        """Return the range of the quaternion's components, and none for the position."""
        upper = np.array([1.0, 1.0, 1.0, 1.0, np.inf, np.inf])
        return -upper, upper
