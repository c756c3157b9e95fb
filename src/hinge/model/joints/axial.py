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
    opposite,
    random_axes,
    unit,
)
from hinge.spatial import Array, Transform


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
        return self.axial.placement(q)

    def subspace(self, q: Array) -> Array:
        """Return the axis above where a coordinate turns, pitch times it below where one slides."""
        return self.axial.subspace(q)

    @property
    def reactions(self) -> Array:
        """The rows ωx, ωy, vx, vy of the upright type, and of ωz, vz, vz − pitch ωz what is not free."""
        turn, slide, pitch = self.axial.turn, self.axial.slide, self.axial.pitch
        rows = list(np.eye(6)[[0, 1, 2, 3, 4] if turn is None else [0, 1, 3, 4]])
        if slide is None:
            rows.append(np.eye(6)[5])
        elif slide == turn:
            rows.append(np.array([0.0, 0.0, -pitch, 0.0, 0.0, 1.0]))
        return np.stack(rows)

    @classmethod
    def random_type(cls, rng: np.random.Generator) -> Self:
        """Return the type about a random axis."""
        return cls(random_axes(rng)[0])

    def reversed(self) -> Self:
        """Return the same motion along the opposite axis, with the same coordinates."""
        return replace(self, axis=opposite(self.axis))
