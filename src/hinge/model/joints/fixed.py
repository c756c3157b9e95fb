"""Fixed: no motion at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.model.joints.contract import VectorJoint, constant
from hinge.spatial import Array, Transform


@dataclass(frozen=True)
class Fixed(VectorJoint):
    """Hold the two bodies together; no coordinates."""

    kind: ClassVar[str] = "fixed"
    q_names: ClassVar[tuple[str, ...]] = ()
    qd_names: ClassVar[tuple[str, ...]] = ()
    lengths: ClassVar[tuple[bool, ...]] = ()

    def placement(self, q: Array) -> Transform:
        """Return the identity."""
        return Transform.identity()

    def subspace(self, q: Array) -> Array:
        """Return a matrix without columns."""
        return constant(np.zeros((6, 0)), q)

    @property
    def reactions(self) -> Array:
        """All six rows."""
        return np.eye(6)

    def reversed(self) -> Fixed:
        """Return the same type."""
        return self
