"""Planar: motion in a plane. Table 8-1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hinge.model.joints import smooth
from hinge.model.joints.contract import (
    SPAN_ANGLE,
    SPAN_LENGTH,
    Axis,
    JointType,
    Z,
    constant,
    opposite,
    random_axes,
    uniform,
    unit,
)
from hinge.spatial import Array, Transform, matvec, rotation, stack, transpose


@dataclass(frozen=True)
class Planar(JointType):
    """Turn about `axis` and shift in the plane across it; q = (angle, x, y), qd = (ω, vx, vy).

    x and y are the outer frame's position along the two directions of `plane`, fixed in the inner
    frame; vx and vy are its velocity along the same two directions carried by the outer frame.
    That keeps S constant as in Table 8-1. (Section 8.2.3 says that q₂ and q₃ are displacements along
    the outer axes, but the table's r is in inner ones by (2.18), and neither has that constant S as a
    derivative.) The joint is the plane's share of `Free`.
    """

    axis: Axis = Z

    kind: ClassVar[str] = "planar"
    q_names: ClassVar[tuple[str, ...]] = ("angle", "x", "y")
    qd_names: ClassVar[tuple[str, ...]] = ("angle", "vx", "vy")

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    @property
    def plane(self) -> Array:
        """The two directions (3, 2) in the plane: x and y turned with z onto the axis."""
        return rotation.aligning(Z, self.axis)[:, :2]

    def placement(self, q: Array) -> Transform:
        """Return the rotation by q[0] and the shift by (q[1], q[2]) in the inner frame."""
        turn = rotation.about(self.axis, q[..., 0])
        return Transform.place(turn, matvec(self.plane, q[..., 1:]))

    def turning(self, qd: Array) -> Array:
        """Return ω × v in the plane."""
        w, x, y = qd[..., 0], qd[..., 1], qd[..., 2]
        return stack(0.0 * w, -(w * y), w * x)

    def turned_velocity(self, qd: Array, angle: Array) -> Array:
        """Return the velocity in the plane, turned back by the angle."""
        c, s = np.cos(angle[..., 0]), np.sin(angle[..., 0])
        w, x, y = qd[..., 0], qd[..., 1], qd[..., 2]
        return stack(w, c * x + s * y, c * y - s * x)

    def subspace(self, q: Array) -> Array:
        """Return the turn about the axis and the shifts along the plane."""
        s = np.zeros((6, 3))
        s[:3, 0] = self.axis
        s[3:, 1:] = self.plane
        return constant(s, q)

    @property
    def reactions(self) -> Array:
        """The rows ωx, ωy, vz of the upright type."""
        return np.eye(6)[[0, 1, 5]]

    def rate(self, q: Array, qd: Array) -> Array:
        """Return ω and the turned velocity."""
        moving = matvec(turn_in_plane(q[..., 0]), qd[..., 1:])
        return np.concatenate([np.broadcast_to(qd[..., :1], (*moving.shape[:-1], 1)), moving], axis=-1)

    def unrate(self, q: Array, dq: Array) -> Array:
        """Return ω and the velocity turned back."""
        moving = matvec(turn_in_plane(-q[..., 0]), dq[..., 1:])
        return np.concatenate([np.broadcast_to(dq[..., :1], (*moving.shape[:-1], 1)), moving], axis=-1)

    def neutral(self) -> Array:
        """Return zero."""
        return np.zeros(3)

    def integrate(self, q: Array, v: Array) -> Array:
        """Follow the plane screw v for unit time."""
        step = matvec(turn_in_plane(q[..., 0]) @ arc(v[..., 0]), v[..., 1:])
        return np.concatenate([q[..., :1] + v[..., :1], q[..., 1:] + step], axis=-1)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the plane screw that leads from q0 to q1 in unit time.

        The angle does not wrap, so a difference of a whole turn is not taken for none.
        """
        return self.smooth_difference(q0, q1)

    def smooth_difference(self, q0: Array, q1: Array) -> Array:
        """Return the angle 2h, and the step turned back by h, h / sin h times as long as its chord."""
        half = 0.5 * (q1[..., 0] - q0[..., 0])
        x, y = q1[..., 1] - q0[..., 1], q1[..., 2] - q0[..., 2]
        angle = q0[..., 0][()]  # a number where there is no batch
        c, s = np.cos(angle), np.sin(angle)
        x, y = c * x + s * y, c * y - s * x
        size = np.sqrt(half * half + smooth.TINY)
        even = size * np.cos(size) / np.sin(size)
        return stack(2.0 * half, even * x + half * y, even * y - half * x)

    @classmethod
    def random_type(cls, rng: np.random.Generator) -> Self:
        """Return the type across a random axis."""
        return cls(random_axes(rng)[0])

    def smooth_integrate(self, q: Array, v: Array) -> Array:
        """Follow the plane screw v for unit time."""
        a, x, y = v[..., 0], v[..., 1], v[..., 2]
        along, across = smooth.sine_share(a * a), a * smooth.cosine_share(a * a)
        step = stack(along * x - across * y, across * x + along * y)
        moved = q[..., 1:] + matvec(turn_in_plane(q[..., 0]), step)
        return np.concatenate([q[..., :1] + v[..., :1], moved], axis=-1)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return q uniform within the limits; without limits within ±π rad and ±1 m."""
        return uniform(rng, shape, lower, upper, np.array([SPAN_ANGLE, SPAN_LENGTH, SPAN_LENGTH]))

    def limits(self) -> tuple[Array, Array]:
        """Return no limits."""
        return np.full(3, -np.inf), np.full(3, np.inf)

    def reversed(self) -> Planar:
        """Return the joint about the opposite axis, so that the angle keeps its sign."""
        return Planar(opposite(self.axis))

    def reverse_state(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the inverse placement and the opposite velocity in the reversed plane."""
        back = self.placement(q).inv()
        other = self.reversed()
        velocity = -back.motion(matvec(self.subspace(q), qd))
        xy = matvec(transpose(other.plane), back.position)
        vxy = matvec(transpose(other.plane), velocity[..., 3:])
        w = np.broadcast_to(qd[..., :1], (*vxy.shape[:-1], 1))
        return np.concatenate([q[..., :1], xy], axis=-1), np.concatenate([w, vxy], axis=-1)


def turn_in_plane(angle: Array) -> Array:
    """Return the plane rotation by `angle`."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([stack(c, -s), stack(s, c)], axis=-2)


def arc(angle: Array) -> Array:
    """Return ∫₀¹ turn_in_plane(s · angle) ds: the chord of an arc of unit speed."""
    a = np.sinc(angle / np.pi)
    half = np.sinc(angle / (2 * np.pi))
    b = 0.5 * angle * half * half  # (1 − cos θ) / θ
    return np.stack([stack(a, -b), stack(b, a)], axis=-2)
