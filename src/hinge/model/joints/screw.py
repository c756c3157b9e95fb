"""Screw: rotation about an axis with a proportional translation along it. Table 8-1, section 7.3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.errors import ModelError
from hinge.model.joints.contract import Axis, VectorJoint, Z, constant, opposite, unit
from hinge.spatial import Array, Transform, rotation, screw


@dataclass(frozen=True)
class Screw(VectorJoint):
    """Turn about `axis` by q rad while advancing `pitch` m for each rad (not for each turn)."""

    axis: Axis = Z
    pitch: float = 0.01

    kind: ClassVar[str] = "screw"
    q_names: ClassVar[tuple[str, ...]] = ("angle",)
    qd_names: ClassVar[tuple[str, ...]] = ("angle",)
    lengths: ClassVar[tuple[bool, ...]] = (False,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))
        if not (np.isreal(self.pitch) and np.ndim(self.pitch) == 0 and np.isfinite(self.pitch)):
            raise ModelError(
                f"pitch: expected a finite number, got {self.pitch!r}; use Prismatic for no rotation"
            )

    def placement(self, q: Array) -> Transform:
        """Return the rotation by q and the shift by pitch q along the same axis."""
        n = np.array(self.axis)
        return Transform.place(rotation.about(n, q[..., 0]), self.pitch * q * n)

    def subspace(self, q: Array) -> Array:
        """Return the unit screw [n; h n]."""
        return constant(screw(self.axis, pitch=self.pitch)[:, None], q)

    def reversed(self) -> Screw:
        """Return the same screw along the opposite axis."""
        return Screw(opposite(self.axis), self.pitch)
