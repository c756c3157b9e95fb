"""Revolute: a rotation about one axis. Table 8-1, first row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.model.joints.contract import Axis, VectorJoint, Z, constant, opposite, unit
from hinge.spatial import Array, Transform, rotation


@dataclass(frozen=True)
class Revolute(VectorJoint):
    """Turn about `axis`; q the angle in rad."""

    axis: Axis = Z

    kind: ClassVar[str] = "revolute"
    q_names: ClassVar[tuple[str, ...]] = ("angle",)
    qd_names: ClassVar[tuple[str, ...]] = ("angle",)
    lengths: ClassVar[tuple[bool, ...]] = (False,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    def placement(self, q: Array) -> Transform:
        """Return the rotation by q about the axis."""
        return Transform.place(rotation.about(self.axis, q[..., 0]))

    def subspace(self, q: Array) -> Array:
        """Return [n; 0]."""
        return constant(np.array([*self.axis, 0.0, 0.0, 0.0])[:, None], q)

    def reversed(self) -> Revolute:
        """Return the same angle about the opposite axis."""
        return type(self)(opposite(self.axis))
