"""Translational: free shift in space without rotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.model.joints.contract import VectorJoint, constant
from hinge.spatial import Array, Transform


@dataclass(frozen=True)
class Translational(VectorJoint):
    """Shift by q = (x, y, z) m along the axes of the inner frame."""

    kind: ClassVar[str] = "translational"
    q_names: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    qd_names: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    lengths: ClassVar[tuple[bool, ...]] = (True, True, True)

    def placement(self, q: Array) -> Transform:
        """Return the shift by q."""
        return Transform.place(position=q)

    def subspace(self, q: Array) -> Array:
        """Return [0; 1]."""
        return constant(np.eye(6)[:, 3:], q)

    @property
    def reactions(self) -> Array:
        """The rows ωx, ωy, ωz."""
        return np.eye(6)[:3]

    def reversed(self) -> Translational:
        """Return the same type; the coordinates change sign."""
        return self

    def reverse_state(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return −q, −qd."""
        return -q, -qd
