"""Cylindrical: rotation about an axis and, apart from it, translation along it. Table 8-1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.model.joints.contract import Axis, VectorJoint, Z, constant, opposite, unit
from hinge.spatial import Array, Transform, rotation


@dataclass(frozen=True)
class Cylindrical(VectorJoint):
    """Turn about `axis` by q[0] rad and slide along it by q[1] m."""

    axis: Axis = Z

    kind: ClassVar[str] = "cylindrical"
    q_names: ClassVar[tuple[str, ...]] = ("angle", "displacement")
    qd_names: ClassVar[tuple[str, ...]] = ("angle", "displacement")
    lengths: ClassVar[tuple[bool, ...]] = (False, True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    def placement(self, q: Array) -> Transform:
        """Return the rotation by q[0] and the shift by q[1]."""
        n = np.array(self.axis)
        return Transform.place(rotation.about(n, q[..., 0]), q[..., 1:] * n)

    def subspace(self, q: Array) -> Array:
        """Return [n 0; 0 n]."""
        s = np.zeros((6, 2))
        s[:3, 0] = s[3:, 1] = self.axis
        return constant(s, q)

    def reversed(self) -> Cylindrical:
        """Return the same motion along the opposite axis."""
        return Cylindrical(opposite(self.axis))
