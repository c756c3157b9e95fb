"""Cylindrical: rotation about an axis and, apart from it, translation along it. Table 8-1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hinge.model.joints.axial import AxialJoint
from hinge.model.joints.contract import Axial


@dataclass(frozen=True)
class Cylindrical(AxialJoint):
    """Turn about `axis` by q[0] rad and slide along it by q[1] m."""

    kind: ClassVar[str] = "cylindrical"
    q_names: ClassVar[tuple[str, ...]] = ("angle", "displacement")
    qd_names: ClassVar[tuple[str, ...]] = ("angle", "displacement")
    lengths: ClassVar[tuple[bool, ...]] = (False, True)

    @property
    def axial(self) -> Axial:
        """A turn by q[0] and a shift by q[1]."""
        return Axial(self.axis, turn=0, slide=1)
