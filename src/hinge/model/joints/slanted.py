"""Slanted: a slide along the diagonal of the xy plane."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.model.joints.contract import VectorJoint
from hinge.spatial import Transform


@dataclass(frozen=True)
class Slanted(VectorJoint):
    """q the displacement in m along (1, 1, 0)."""

    kind: ClassVar[str] = "slanted"
    q_names: ClassVar[tuple[str, ...]] = ("s",)
    qd_names: ClassVar[tuple[str, ...]] = ("s",)
    lengths: ClassVar[tuple[bool, ...]] = (True,)

    def placement(self, q):
        return Transform.place(position=q * np.array([1.0, 1.0, 0.0]))

    def subspace(self, q):
        found = np.zeros((*np.shape(q)[:-1], 6, 1), dtype=np.asarray(q).dtype)
        found[..., 3:5, 0] = 1.0
        return found

    def reversed(self):
        return self
