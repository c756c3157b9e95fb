"""Follower: a one-dof joint at ratio · q + offset, where q is the coordinate of another joint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hinge.errors import ModelError
from hinge.model.joints.contract import JointType, VectorJoint
from hinge.model.joints.revolute import Revolute
from hinge.spatial import Array, Transform


@dataclass(frozen=True)
class Follower(VectorJoint):
    """The motion of `type` at x = ratio q + offset, where q is the leader's coordinate.

    All methods take the leader's q and qd; `own` returns x. Made by `embed_couplings`.
    """

    type: JointType = field(default_factory=Revolute)
    ratio: float = 1.0
    offset: float = 0.0

    kind: ClassVar[str] = "follower"
    q_names: ClassVar[tuple[str, ...]] = ("leader",)
    qd_names: ClassVar[tuple[str, ...]] = ("leader",)
    lengths: ClassVar[tuple[bool, ...]] = (False,)

    def __post_init__(self) -> None:
        if self.type.nv != 1 or not isinstance(self.type, VectorJoint) or isinstance(self.type, Follower):
            raise ModelError(f"type: expected a joint type with one coordinate, got {self.type!r}")
        if not (np.isfinite(self.ratio) and np.isfinite(self.offset)):
            raise ModelError(f"ratio, offset: expected finite numbers, got {self.ratio} and {self.offset}")

    def own(self, q: Array) -> Array:
        """Return ratio q + offset."""
        return self.ratio * q + self.offset

    def placement(self, q: Array) -> Transform:
        """Return the placement of the type at its own coordinate."""
        return self.type.placement(self.own(q))

    def subspace(self, q: Array) -> Array:
        """Return ratio S, as the velocity across the joint is S ratio qd."""
        return self.ratio * self.type.subspace(self.own(q))

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Ṡ of the type times its own velocity."""
        return self.type.bias(self.own(q), self.ratio * qd)

    def reversed(self) -> Follower:
        """Return the follower of the reversed type, which has the same coordinate."""
        return Follower(self.type.reversed(), self.ratio, self.offset)


def released(kind: JointType) -> JointType:
    """Return the type of a joint with a coordinate of its own."""
    return kind.type if isinstance(kind, Follower) else kind
