"""The sets that constraint and contact forces are in, and the nearest point of such a set."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hinge.errors import ArgumentError
from hinge.spatial import Array, ArrayLike


@dataclass(frozen=True, eq=False)
class ForceSet:
    """A product of free rows, half-lines, boxes and friction cones; rows are in this order.

    Attributes
    ----------
    friction : array_like (k,)
        Coefficients μ of the cones |λt| ≤ μ λn, whose three rows are [n, t1, t2].
    free : int
        Number of rows without bounds: those of closures.
    half : int
        Number of rows with λ ≥ 0: contacts without friction, limits of joints.
    boxes : array_like
        Bounds c of rows with |λ| ≤ c: dry friction of joints.
    """

    friction: ArrayLike = ()
    free: int = 0
    half: int = 0
    boxes: ArrayLike = ()

    def __post_init__(self) -> None:
        for name in ("friction", "boxes"):
            given = np.asarray(getattr(self, name), dtype=np.float64)
            if given.ndim != 1 or not np.all((given >= 0) & np.isfinite(given)):
                raise ArgumentError(f"{name}: expected a list of numbers, zero or more, got {given.tolist()}")
            object.__setattr__(self, name, given)

    @property
    def mu(self) -> Array:
        """Friction coefficients (k,)."""
        return np.asarray(self.friction)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.free + self.half + np.size(self.boxes) + 3 * self.mu.size

    @property
    def normals(self) -> Array:
        """Rows (k,) of the cones' normals."""
        return self.rows + 3 * np.arange(-self.mu.size, 0)

    def scaled(self, d: Array) -> ForceSet:
        """Return the set of all λ / d, for d (m,) that is the same for both tangents of a cone."""
        boxes = np.asarray(self.boxes) / d[self._box]
        return replace(self, friction=self.mu * d[self.normals] / d[self.normals + 1], boxes=boxes)

    def project(self, x: Array) -> Array:
        """Return the point of the set that is nearest to x (m,)."""
        y = x.copy()
        y[self._half] = np.maximum(x[self._half], 0.0)
        y[self._box] = np.clip(x[self._box], -np.asarray(self.boxes), np.asarray(self.boxes))
        for mu, i in zip(self.mu, self.normals, strict=True):
            n, t = x[i], x[i + 1 : i + 3]
            slip = np.hypot(*t)
            if n <= -mu * slip:
                y[i : i + 3] = 0.0
            elif slip > mu * n:
                y[i] = (n + mu * slip) / (1 + mu**2)
                y[i + 1 : i + 3] = mu * y[i] * t / slip
        return y

    def derivative(self, x: Array) -> Array:
        """Return a derivative (m, m) of the projection at x, one of them where it has a kink."""
        found = np.eye(self.rows)
        kept = np.ones(self.rows)
        kept[self._half] = x[self._half] > 0
        kept[self._box] = np.abs(x[self._box]) < np.asarray(self.boxes)
        np.fill_diagonal(found, kept)
        for mu, i in zip(self.mu, self.normals, strict=True):
            n, t = x[i], x[i + 1 : i + 3]
            slip = np.hypot(*t)
            own = slice(i, i + 3)
            if n <= -mu * slip:
                found[own, own] = 0.0
            elif slip > mu * n:
                way = np.array([1.0, *(mu * t / slip)])
                across = np.array([0.0, -t[1], t[0]]) / slip
                found[own, own] = np.outer(way, way) / (1 + mu**2)
                found[own, own] += mu * (n + mu * slip) / (1 + mu**2) / slip * np.outer(across, across)
        return found

    @property
    def _half(self) -> slice:
        return slice(self.free, self.free + self.half)

    @property
    def _box(self) -> slice:
        return slice(self.free + self.half, self.free + self.half + np.size(self.boxes))
