"""Screw: rotation about an axis with a proportional translation along it. Table 8-1, section 7.3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hinge.errors import ModelError
from hinge.model.joints.axial import AxialJoint
from hinge.model.joints.contract import Axial, random_axes


@dataclass(frozen=True)
class Screw(AxialJoint):
    """Turn about `axis` by q rad while advancing `pitch` m for each rad (not for each turn)."""

    pitch: float = 0.01

    kind: ClassVar[str] = "screw"
    q_names: ClassVar[tuple[str, ...]] = ("angle",)
    qd_names: ClassVar[tuple[str, ...]] = ("angle",)
    lengths: ClassVar[tuple[bool, ...]] = (False,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isreal(self.pitch) and np.ndim(self.pitch) == 0 and np.isfinite(self.pitch)):
            raise ModelError(
                f"pitch: expected a finite number, got {self.pitch!r}; use Prismatic for no rotation"
            )

    @property
    def axial(self) -> Axial:
        """A turn by q and a shift by pitch q."""
        return Axial(self.axis, turn=0, slide=0, pitch=self.pitch)

    @classmethod
    def random_type(cls, rng: np.random.Generator) -> Self:
        """Return a screw about a random axis, left or right, that advances by up to 0.3 m for each rad."""
        return cls(random_axes(rng)[0], float(rng.uniform(-0.3, 0.3)))
