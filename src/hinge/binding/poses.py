"""Transforms in plain floats, which are faster than small arrays.

A rotation is nine numbers, row by row; a pose is E and r of `hinge.spatial.Transform`.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

from hinge.spatial import Transform

Rotation: TypeAlias = tuple[float, ...]
Vector: TypeAlias = tuple[float, float, float]

UNTURNED: Rotation = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


class Pose(NamedTuple):
    """A transform between frames: E turns the axes, r is the new origin."""

    e: Rotation = UNTURNED
    r: Vector = (0.0, 0.0, 0.0)

    def __matmul__(self, other: Pose) -> Pose:
        """Return this transform after the other: E₁E₂, r₂ + E₂ᵀ r₁."""
        x, y, z = turned_back(other.e, self.r)
        return Pose(turned(self.e, other.e), (other.r[0] + x, other.r[1] + y, other.r[2] + z))

    def inv(self) -> Pose:
        """Return the inverse."""
        (a, b, c, d, e, f, g, h, i), (x, y, z) = self
        back = (a, d, g, b, e, h, c, f, i)
        return Pose(back, (-(a * x + b * y + c * z), -(d * x + e * y + f * z), -(g * x + h * y + i * z)))


def pose_of(x: Transform) -> Pose:
    """Return a transform in floats."""
    return Pose(tuple(x.E.ravel().tolist()), tuple(x.r.tolist()))


def turned(one: Rotation, other: Rotation) -> Rotation:
    """Return the product of two rotations."""
    a, b, c, d, e, f, g, h, i = other
    p, q, r, s, t, u, v, w, x = one
    return (
        p * a + q * d + r * g, p * b + q * e + r * h, p * c + q * f + r * i,
        s * a + t * d + u * g, s * b + t * e + u * h, s * c + t * f + u * i,
        v * a + w * d + x * g, v * b + w * e + x * h, v * c + w * f + x * i,
    )  # fmt: skip


def turned_back(rotation: Rotation, v: Vector) -> Vector:
    """Return Eᵀ v."""
    (a, b, c, d, e, f, g, h, i), (x, y, z) = rotation, v
    return a * x + d * y + g * z, b * x + e * y + h * z, c * x + f * y + i * z


def about_z(c: float, s: float) -> Pose:
    """Return the turn about z by its cosine and sine."""
    return Pose((c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0))


def euler(e: Rotation) -> tuple[tuple[float, float], ...]:
    """Return (cos, sin) of θ, α, γ with E = Ez(γ) Ex(α) Ez(θ)."""
    sine = math.hypot(e[6], e[7])
    alpha = _circle(e[8], sine)
    theta = _circle(-e[7], e[6]) if sine > 1e-14 else (1.0, 0.0)
    (c, s), (ca, sa) = theta, alpha
    # The first row of E Ez(θ)ᵀ is [cos γ, sin γ cos α, sin γ sin α].
    x, y, z = c * e[0] + s * e[1], -s * e[0] + c * e[1], e[2]
    return theta, alpha, _circle(x, ca * y + sa * z)


def _circle(c: float, s: float) -> tuple[float, float]:
    """Return (c, s) scaled to the unit circle, with exact zeros."""
    size = math.hypot(c, s)
    c, s = c / size, s / size
    if abs(c) < 1e-15:
        return 0.0, math.copysign(1.0, s)
    if abs(s) < 1e-15:
        return math.copysign(1.0, c), 0.0
    return c, s
