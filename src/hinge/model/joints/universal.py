"""Universal (Hooke): two rotations about axes that cross. Table 8-1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hinge.model.joints.contract import Axis, X, Y, opposite, random_axes
from hinge.model.joints.successive import SuccessiveRotations, crossing


@dataclass(frozen=True)
class Universal(SuccessiveRotations):
    """Turn by q[0] about `first`, then by q[1] about `second`, which the first turn carries."""

    first: Axis = X
    second: Axis = Y

    kind: ClassVar[str] = "universal"
    q_names: ClassVar[tuple[str, ...]] = ("first", "second")
    qd_names: ClassVar[tuple[str, ...]] = ("first", "second")
    lengths: ClassVar[tuple[bool, ...]] = (False, False)

    def __post_init__(self) -> None:
        first, second = crossing((self.first, self.second), ("first", "second"))
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "second", second)

    def turns(self) -> tuple[Axis, ...]:
        """Return the two axes."""
        return self.first, self.second

    @classmethod
    def random_type(cls, rng: np.random.Generator) -> Self:
        """Return the type about two random axes at right angles."""
        first, second, _ = random_axes(rng)
        return cls(first, second)

    def reversed(self) -> Universal:
        """Return the joint with the axes in the opposite order and direction."""
        return Universal(opposite(self.second), opposite(self.first))
