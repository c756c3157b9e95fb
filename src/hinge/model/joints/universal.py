"""Universal (Hooke): two rotations about axes that cross. Table 8-1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.errors import ModelError
from hinge.model.joints import successive
from hinge.model.joints.contract import Axis, VectorJoint, X, Y, opposite, unit
from hinge.spatial import Array, Transform


@dataclass(frozen=True)
class Universal(VectorJoint):
    """Turn by q[0] about `first`, then by q[1] about `second`, which the first turn carries."""

    first: Axis = X
    second: Axis = Y

    kind: ClassVar[str] = "universal"
    q_names: ClassVar[tuple[str, ...]] = ("first", "second")
    qd_names: ClassVar[tuple[str, ...]] = ("first", "second")
    lengths: ClassVar[tuple[bool, ...]] = (False, False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", unit(self.first, "first"))
        object.__setattr__(self, "second", unit(self.second, "second"))
        if np.linalg.norm(np.cross(self.first, self.second)) < 1e-6:
            raise ModelError(
                f"first, second: {self.first} and {self.second} are parallel; a universal joint "
                "needs two axes that cross"
            )

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """The two axes in their order."""
        return self.first, self.second

    def placement(self, q: Array) -> Transform:
        """Return the two rotations, one after the other."""
        return successive.placement(self.axes, q)

    def subspace(self, q: Array) -> Array:
        """Return the axes seen from the outer frame; the first depends on q[1]."""
        return successive.subspace(self.axes, q)

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Ṡ qd."""
        return successive.bias(self.axes, q, qd)

    def reversed(self) -> Universal:
        """Return the joint with the axes in the opposite order and direction."""
        return Universal(opposite(self.second), opposite(self.first))

    def reverse_state(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the coordinates in the opposite order."""
        return q[..., ::-1], qd[..., ::-1]
