"""Coordinate transforms between frames, stored as (E, r): Featherstone (2.18) and Table 8-2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.spatial.forces import force
from hinge.spatial.inertia import ArticulatedInertia, Inertia
from hinge.spatial.motions import motion
from hinge.spatial.vector3 import Array, ArrayLike, cross, matvec, shaped, skew, transpose


@dataclass(frozen=True, eq=False)
class Transform:
    """Take coordinates in frame A to coordinates in frame B: X_BA.

    E (…, 3, 3) turns A's axes into B's; r (…, 3) is B's origin seen from A. The same pair is B's
    placement in A: `rotation` Eᵀ and `position` r. X_CA = X_CB @ X_BA.
    """

    E: Array
    r: Array

    @staticmethod
    def identity() -> Transform:
        """Return the transform of a frame to itself."""
        return Transform(np.eye(3), np.zeros(3))

    @staticmethod
    def place(rotation: ArrayLike | None = None, position: ArrayLike | None = None) -> Transform:
        """Return X_BA for the frame B placed in A with this rotation matrix and position."""
        e = np.eye(3) if rotation is None else transpose(shaped("rotation", rotation, 3, 3))
        r = np.zeros(3) if position is None else shaped("position", position, 3)
        return Transform(e, r)

    @property
    def rotation(self) -> Array:
        """The orientation of B in A, R = Eᵀ."""
        return transpose(self.E)

    @property
    def position(self) -> Array:
        """The origin of B in A's coordinates."""
        return self.r

    def __matmul__(self, other: Transform) -> Transform:
        """Compose: spx(E₁, r₁) spx(E₂, r₂) = spx(E₁E₂, r₂ + E₂ᵀ r₁), Table 8-3."""
        return Transform(self.E @ other.E, other.r + matvec(transpose(other.E), self.r))

    def inv(self) -> Transform:
        """Return X_AB."""
        return Transform(transpose(self.E), -matvec(self.E, self.r))

    def motion(self, v: Array) -> Array:
        """Take a motion vector from A to B: [Eω; E(v − r × ω)], Table 8-3."""
        w, u = v[..., :3], v[..., 3:]
        return motion(matvec(self.E, w), matvec(self.E, u - cross(self.r, w)))

    def motions(self, s: Array) -> Array:
        """Take the columns of a matrix of motion vectors (…, 6, n) from A to B."""
        return self.matrix() @ s

    def force(self, f: Array) -> Array:
        """Take a force vector from A to B: [E(n − r × f); E f]."""
        n, g = f[..., :3], f[..., 3:]
        return force(matvec(self.E, n - cross(self.r, g)), matvec(self.E, g))

    def forces(self, s: Array) -> Array:
        """Take the columns of a matrix of force vectors (…, 6, n) from A to B."""
        return self.force_matrix() @ s

    def inertia(self, body: Inertia) -> Inertia:
        """Take a rigid-body inertia from A to B, Table 8-3.

        m, E(h − m r), E(I + r× h× + (h − m r)× r×)Eᵀ: the parallel-axis shift in both steps.
        """
        m, h, r = body.m, body.h, self.r
        shifted = h - m[..., None] * r
        k = body.I + skew(r) @ skew(h) + skew(shifted) @ skew(r)
        return Inertia(m, matvec(self.E, shifted), self.E @ k @ transpose(self.E))

    def articulated(self, body: ArticulatedInertia) -> ArticulatedInertia:
        """Take an articulated-body inertia from A to B, Table 8-3."""
        e, et, rx = self.E, transpose(self.E), skew(self.r)
        h = body.H - rx @ body.M
        k = body.I - rx @ transpose(body.H) + h @ rx
        return ArticulatedInertia(e @ body.M @ et, e @ h @ et, e @ k @ et)

    def is_identity(self) -> bool:
        """Tell whether A and B are the same frame, to the last bit."""
        return not self.r.any() and np.array_equal(self.E, np.eye(3))

    def point(self, p: Array) -> Array:
        """Take the coordinates of a point from A to B: E(p − r)."""
        return matvec(self.E, p - self.r)

    def matrix(self) -> Array:
        """Return the 6 × 6 matrix that takes motion vectors from A to B: (2.18)."""
        zero = np.zeros_like(self.E)
        low = -self.E @ skew(self.r)
        zero, e, low = np.broadcast_arrays(zero, self.E, low)
        top = np.concatenate([e, zero], axis=-1)
        return np.concatenate([top, np.concatenate([low, e], axis=-1)], axis=-2)

    def force_matrix(self) -> Array:
        """Return the 6 × 6 matrix that takes force vectors from A to B: X⁻ᵀ."""
        return transpose(self.inv().matrix())

    def homogeneous(self) -> Array:
        """Return the 4 × 4 matrix that takes points from B to A: B's pose in A."""
        batch = np.broadcast_shapes(self.E.shape[:-2], self.r.shape[:-1])
        out = np.zeros((*batch, 4, 4), dtype=np.result_type(self.E, self.r))
        out[..., :3, :3], out[..., :3, 3], out[..., 3, 3] = self.rotation, self.r, 1.0
        return out
