"""Revolute: a rotation about one axis. Table 8-1, first row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hinge.model.joints.axial import AxialJoint
from hinge.model.joints.contract import Axial


@dataclass(frozen=True)
class Revolute(AxialJoint):
    """Turn about `axis`; q the angle in rad."""

    kind: ClassVar[str] = "revolute"
    q_names: ClassVar[tuple[str, ...]] = ("angle",)
    qd_names: ClassVar[tuple[str, ...]] = ("angle",)
    lengths: ClassVar[tuple[bool, ...]] = (False,)

    @property
    def axial(self) -> Axial:
        """A turn by q."""
        return Axial(self.axis, turn=0)
