"""Prismatic: a translation along one axis. Table 8-1, second row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hinge.model.joints.axial import AxialJoint
from hinge.model.joints.contract import Axial


@dataclass(frozen=True)
class Prismatic(AxialJoint):
    """Slide along `axis`; q the displacement in m."""

    kind: ClassVar[str] = "prismatic"
    q_names: ClassVar[tuple[str, ...]] = ("displacement",)
    qd_names: ClassVar[tuple[str, ...]] = ("displacement",)
    lengths: ClassVar[tuple[bool, ...]] = (True,)

    @property
    def axial(self) -> Axial:
        """A shift by q."""
        return Axial(self.axis, slide=0)
