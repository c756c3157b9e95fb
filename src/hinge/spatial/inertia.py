"""Spatial inertia of rigid and articulated bodies: Featherstone chapter 3 and Table 8-2.

In the dual coordinates used here (see `force`) an inertia is the symmetric 6 × 6 matrix

    rigid       [ I     h× ]        articulated   [ I    H ]
                [ h×ᵀ   m1 ]                      [ Hᵀ   M ]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.spatial.forces import force
from hinge.spatial.vector3 import (
    Array,
    ArrayLike,
    cross,
    matvec,
    outer,
    shaped,
    skew,
    transpose,
)

#: The upper triangle of I among its nine numbers, and the nine among the ten parameters.
_UPPER = [0, 1, 2, 4, 5, 8]
_WHOLE = [4, 5, 6, 5, 7, 8, 6, 8, 9]


@dataclass(frozen=True, eq=False)
class Inertia:
    """The inertia of a rigid body: ten numbers (m, h, I) about a frame's origin.

    m (…) mass in kg; h (…, 3) first moment m c in kg m; I (…, 3, 3) second moment about the origin
    (not the centre of mass) in kg m².
    """

    m: Array
    h: Array
    I: Array  # noqa: E741 - the book's letter

    @staticmethod
    def zero() -> Inertia:
        """Return the inertia of a massless body."""
        return Inertia(np.zeros(()), np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def from_com(mass: ArrayLike, com: ArrayLike, central: ArrayLike) -> Inertia:
        """Return the inertia of a body with this mass, centre of mass and central inertia.

        Parallel axes, (3.3): I = I* + m (c·c 1 − c cᵀ).
        """
        m, c, i = shaped("mass", mass), shaped("com", com, 3), shaped("central", central, 3, 3)
        return Inertia(m, m[..., None] * c, i + _steiner(m, c))

    @staticmethod
    def from_parameters(x: Array) -> Inertia:
        """Return the inertia of ten numbers (…, 10): m, h, and the upper triangle of I row by row."""
        return Inertia(x[..., 0], x[..., 1:4], x[..., _WHOLE].reshape(*x.shape[:-1], 3, 3))

    def parameters(self) -> Array:
        """Return the ten numbers (…, 10), in which momentum and forces are linear."""
        upper = self.I.reshape(*self.I.shape[:-2], 9)[..., _UPPER]
        return np.concatenate([self.m[..., None], self.h, upper], axis=-1)

    @property
    def com(self) -> Array:
        """The centre of mass h / m; the origin for a massless body."""
        m = self.m[..., None]
        massless = m == 0
        return np.where(massless, 0.0, self.h / np.where(massless, 1.0, m))

    @property
    def central(self) -> Array:
        """The second moment about the centre of mass."""
        return self.I - _steiner(self.m, self.com)

    def __add__(self, other: Inertia) -> Inertia:
        """Return the inertia of two bodies fixed together, (3.8)."""
        return Inertia(self.m + other.m, self.h + other.h, self.I + other.I)

    def apply(self, v: Array) -> Array:
        """Return the momentum [I ω + h × v; m v − h × ω] for a motion vector, (3.2)."""
        w, u = v[..., :3], v[..., 3:]
        linear = self.m[..., None] * u - cross(self.h, w)
        return force(matvec(self.I, w) + cross(self.h, u), linear)

    def matrix(self) -> Array:
        """Return the 6 × 6 matrix."""
        return self.articulated().matrix()

    def articulated(self) -> ArticulatedInertia:
        """Return the same inertia in articulated form: abi(m1, h×, I)."""
        return ArticulatedInertia(self.m[..., None, None] * np.eye(3), skew(self.h), self.I)


@dataclass(frozen=True, eq=False)
class ArticulatedInertia:
    """The inertia that an articulated body shows at its handle, (3.15): abi(M, H, I)."""

    M: Array
    H: Array
    I: Array  # noqa: E741 - the book's letter

    @staticmethod
    def from_matrix(m: Array) -> ArticulatedInertia:
        """Return the inertia of a symmetric 6 × 6 matrix."""
        return ArticulatedInertia(m[..., 3:, 3:], m[..., :3, 3:], m[..., :3, :3])

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        """Return the inertia of two bodies whose handles are fixed together, (3.8)."""
        return ArticulatedInertia(self.M + other.M, self.H + other.H, self.I + other.I)

    def __sub__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        """Return the difference, as in the joint correction of (6.37)."""
        return ArticulatedInertia(self.M - other.M, self.H - other.H, self.I - other.I)

    def apply(self, a: Array) -> Array:
        """Return the force [I α + H a; Hᵀ α + M a] for a motion vector."""
        w, u = a[..., :3], a[..., 3:]
        return force(matvec(self.I, w) + matvec(self.H, u), matvec(transpose(self.H), w) + matvec(self.M, u))

    def matrix(self) -> Array:
        """Return the 6 × 6 matrix."""
        i, h, ht, m = np.broadcast_arrays(self.I, self.H, transpose(self.H), self.M)
        top = np.concatenate([i, h], axis=-1)
        return np.concatenate([top, np.concatenate([ht, m], axis=-1)], axis=-2)


def _steiner(m: Array, c: Array) -> Array:
    """Return m (c·c 1 − c cᵀ), the second moment of a point mass."""
    square = (c * c).sum(axis=-1, keepdims=True)[..., None] * np.eye(3)
    return m[..., None, None] * (square - outer(c, c))
