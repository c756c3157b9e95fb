"""Axial joints: turns about and shifts along one axis, which four types are. Table 8-1, section 7.3."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from hinge.model.joints.contract import (
    Axial,
    Axis,
    JointType,
    VectorJoint,
    Z,
    constant,
    opposite,
    random_axes,
    unit,
)
from hinge.spatial import Array, Transform, rotation


@dataclass(frozen=True)
class AxialJoint(VectorJoint):
    """Turn about `axis`, or slide along it, as `axial` says; q are angles and lengths with derivative qd."""

    axis: Axis = Z

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    @property
    @abstractmethod
    def axial(self) -> Axial:
        """Which coordinates turn and slide."""

    def upright(self) -> JointType:
        """Return the type with its axis along z."""
        return replace(self, axis=Z)

    def placement(self, q: Array) -> Transform:
        """Return the turn by the angle and the shift along the axis."""
        a = self.axial
        turn = None if a.turn is None else rotation.about(self.axis, q[..., a.turn])
        shift = None if a.slide is None else a.pitch * q[..., a.slide, None] * np.array(self.axis)
        return Transform.place(turn, shift)

    def subspace(self, q: Array) -> Array:
        """Return n above where a coordinate turns, and pitch times n below where it slides."""
        a = self.axial
        s = np.zeros((6, self.nv))
        if a.turn is not None:
            s[:3, a.turn] = self.axis
        if a.slide is not None:
            s[3:, a.slide] = a.pitch * np.array(self.axis)
        return constant(s, q)

    @classmethod
    def random_type(cls, rng: np.random.Generator) -> Self:
        """Return the type about a random axis."""
        return cls(random_axes(rng)[0])

    def reversed(self) -> Self:
        """Return the same motion along the opposite axis, with the same coordinates."""
        return replace(self, axis=opposite(self.axis))
