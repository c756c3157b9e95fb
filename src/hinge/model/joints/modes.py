"""Modes: the coordinates of a flexible body's shapes, which move its points and not its frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from hinge.errors import ModelError
from hinge.model.joints.contract import VectorJoint, constant
from hinge.spatial import Array, Transform


@dataclass(frozen=True)
class Modes(VectorJoint):
    """n modal coordinates η: the placement is the identity, and no velocity of the frame goes with them.

    Made by `Builder.body(…, flexible=…)`; the body that it carries is a `hinge.Flexible` one.
    """

    n: int = 1

    kind = "modes"

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"n: expected a number of modes ≥ 1, got {self.n!r}")
        names = tuple(f"mode{k + 1}" for k in range(self.n))
        # Classes have these, and here each value has its own.
        vars(self).update(q_names=names, qd_names=names, lengths=(True,) * self.n)

    def placement(self, q: Array) -> Transform:
        """Return the identity."""
        return Transform.identity()

    def subspace(self, q: Array) -> Array:
        """Return zeros (6, n): the frame floats with the body, and stays where it is."""
        return constant(np.zeros((6, self.n)), q)

    def reversed(self) -> NoReturn:
        """Raise a ModelError: modes have no other side."""
        raise ModelError("joint: modes of a flexible body cannot be reversed; lock them, or keep the base")
