"""Wheeled: motion in a plane on wheels that do not slip sideways. Featherstone section 7.4.4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hinge.model.joints.contract import SPAN_ANGLE, SPAN_LENGTH, Axis, Z, constant, random_axes, uniform, unit
from hinge.model.joints.nonholonomic import Nonholonomic
from hinge.model.joints.planar import Planar, arc, turn_in_plane
from hinge.spatial import Array, Transform, dot, matvec, transpose


@dataclass(frozen=True)
class Wheeled(Nonholonomic):
    """Drive on the plane across `axis`; q = (angle, x, y), qd = (turning rate, forward speed).

    The joint is `Planar` without the velocity across its outer frame's first direction of `plane`, which is
    where its wheels roll: the axle goes through the outer frame's origin along the second. The wheels
    themselves have no inertia here.
    """

    axis: Axis = Z

    kind: ClassVar[str] = "wheeled"
    q_names: ClassVar[tuple[str, ...]] = ("angle", "x", "y")
    qd_names: ClassVar[tuple[str, ...]] = ("angle", "forward")

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    @property
    def qd_units(self) -> tuple[str, ...]:
        """A turn and a length."""
        return "rad", "m"

    @property
    def plane(self) -> Array:
        """The two directions (3, 2) in the plane: x and y turned with z onto the axis."""
        return Planar(self.axis).plane

    def forth(self, q: Array) -> Transform:
        """Return the rotation by q[0] and the shift by (q[1], q[2]) in the inner frame."""
        return Planar(self.axis).placement(q)

    def motions(self, q: Array) -> Array:
        """Return the turn about the axis and the shift forward."""
        s = np.zeros((6, 2))
        s[:3, 0], s[3:, 1] = self.axis, self.plane[:, 0]
        return constant(s, q)

    def motions_rate(self, q: Array, qd: Array) -> Array:
        """Return zero: in the outer frame forward is forward."""
        return np.zeros((*np.broadcast_shapes(q.shape[:-1], qd.shape[:-1]), 6))

    def rate(self, q: Array, qd: Array) -> Array:
        """Return ω and the turned velocity."""
        return Planar(self.axis).rate(q, _plane_velocity(qd))

    def neutral(self) -> Array:
        """Return zero."""
        return np.zeros(3)

    def integrate(self, q: Array, v: Array) -> Array:
        """Follow an arc of a circle for unit time."""
        return Planar(self.axis).integrate(q, _plane_velocity(v))

    def step(self, q0: Array, q1: Array) -> Array:
        """Return the arc by the difference of angles that ends nearest to q1; whole turns are on the spot."""
        w = q1[..., 0] - q0[..., 0]
        way = matvec(transpose(turn_in_plane(q0[..., 0])), q1[..., 1:] - q0[..., 1:])
        chord = arc(w)[..., :, 0]
        length = dot(chord, chord)
        forward = np.where(length > 1e-20, dot(chord, way) / np.where(length > 1e-20, length, 1.0), 0.0)
        return np.stack(np.broadcast_arrays(w, forward), axis=-1)

    @classmethod
    def random_type(cls, rng: np.random.Generator) -> Self:
        """Return the type across a random axis."""
        return cls(random_axes(rng)[0])

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return q uniform within the limits; without limits within ±π rad and ±1 m."""
        return uniform(rng, shape, lower, upper, np.array([SPAN_ANGLE, SPAN_LENGTH, SPAN_LENGTH]))

    def limits(self) -> tuple[Array, Array]:
        """Return no limits."""
        return np.full(3, -np.inf), np.full(3, np.inf)


def _plane_velocity(v: Array) -> Array:
    """Return (ω, vx, 0)."""
    return np.concatenate([v, 0.0 * v[..., :1]], axis=-1)
