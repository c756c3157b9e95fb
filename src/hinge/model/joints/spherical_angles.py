"""Spherical by three angles: successive rotations. Table 8-1, last row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.errors import ModelError
from hinge.model.joints import successive
from hinge.model.joints.contract import Axis, VectorJoint, X, Y, Z, opposite, unit
from hinge.spatial import Array, Transform


@dataclass(frozen=True)
class SphericalAngles(VectorJoint):
    """Turn by q[0], q[1], q[2] about three axes in succession (x, y, z unless said otherwise).

    qd holds the rates of the angles. Where the first and the third axis line up (q[1] = ±π/2 for
    x, y, z) the columns of S are dependent and forward dynamics is singular; `Spherical` has no
    such place.
    """

    axes: tuple[Axis, Axis, Axis] = (X, Y, Z)

    kind: ClassVar[str] = "spherical_angles"
    q_names: ClassVar[tuple[str, ...]] = ("first", "second", "third")
    qd_names: ClassVar[tuple[str, ...]] = ("first", "second", "third")
    lengths: ClassVar[tuple[bool, ...]] = (False, False, False)

    def __post_init__(self) -> None:
        if np.shape(self.axes) != (3, 3):
            raise ModelError(f"axes: {self.axes!r} was given; three angles need three axes of three numbers")
        axes = tuple(unit(n, f"axes[{k}]") for k, n in enumerate(self.axes))
        object.__setattr__(self, "axes", axes)
        for k in (0, 1):
            if np.linalg.norm(np.cross(axes[k], axes[k + 1])) < 1e-6:
                raise ModelError(f"axes[{k}], axes[{k + 1}]: {axes[k]} and {axes[k + 1]} are parallel")

    def placement(self, q: Array) -> Transform:
        """Return the three rotations, one after the other."""
        return successive.placement(self.axes, q)

    def subspace(self, q: Array) -> Array:
        """Return the axes seen from the outer frame."""
        return successive.subspace(self.axes, q)

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Ṡ qd."""
        return successive.bias(self.axes, q, qd)

    def reversed(self) -> SphericalAngles:
        """Return the joint with the axes in the opposite order and direction."""
        first, second, third = self.axes
        return SphericalAngles((opposite(third), opposite(second), opposite(first)))

    def reverse_state(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the coordinates in the opposite order."""
        return q[..., ::-1], qd[..., ::-1]
