"""Prismatic: a translation along one axis. Table 8-1, second row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.model.joints.contract import Axis, VectorJoint, Z, constant, opposite, unit
from hinge.spatial import Array, Transform


@dataclass(frozen=True)
class Prismatic(VectorJoint):
    """Slide along `axis`; q the displacement in m."""

    axis: Axis = Z

    kind: ClassVar[str] = "prismatic"
    q_names: ClassVar[tuple[str, ...]] = ("displacement",)
    qd_names: ClassVar[tuple[str, ...]] = ("displacement",)
    lengths: ClassVar[tuple[bool, ...]] = (True,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    def placement(self, q: Array) -> Transform:
        """Return the shift by q along the axis."""
        return Transform.place(position=q * np.array(self.axis))

    def subspace(self, q: Array) -> Array:
        """Return [0; n]."""
        return constant(np.array([0.0, 0.0, 0.0, *self.axis])[:, None], q)

    def reversed(self) -> Prismatic:
        """Return the same displacement along the opposite axis."""
        return Prismatic(opposite(self.axis))
