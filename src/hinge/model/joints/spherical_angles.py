"""Spherical by three angles: successive rotations. Table 8-1, last row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hinge.errors import ModelError
from hinge.model.joints.contract import Axis, X, Y, Z, opposite, random_axes
from hinge.model.joints.successive import SuccessiveRotations, crossing


@dataclass(frozen=True)
class SphericalAngles(SuccessiveRotations):
    """Turn by q[0], q[1], q[2] about three axes in succession (x, y, z unless said otherwise).

    Where the first and the third axis line up (q[1] = ±π/2 for x, y, z) the columns of S are
    dependent and forward dynamics is singular; `Spherical` has no such place. The joint's inertia is solved
    in one piece: at d rad from that place accelerations have a relative error of about 1e-16 / d²
    (5e-9 at 1e-4 rad), where three `Revolute` joints on massless bodies have 1e-16. `check(robot, q)` and
    `simulate`, for its start, warn below 1e-3 rad.
    """

    axes: tuple[Axis, Axis, Axis] = (X, Y, Z)

    kind: ClassVar[str] = "spherical_angles"
    q_names: ClassVar[tuple[str, ...]] = ("first", "second", "third")
    qd_names: ClassVar[tuple[str, ...]] = ("first", "second", "third")
    lengths: ClassVar[tuple[bool, ...]] = (False, False, False)

    def __post_init__(self) -> None:
        try:
            first, second, third = self.axes
        except (TypeError, ValueError):
            raise ModelError(f"axes: expected three axes, got {self.axes!r}") from None
        names = ("axes[0]", "axes[1]", "axes[2]")
        object.__setattr__(self, "axes", crossing((first, second, third), names))

    def turns(self) -> tuple[Axis, ...]:
        """Return the three axes."""
        return self.axes

    @classmethod
    def random_type(cls, rng: np.random.Generator) -> Self:
        """Return the type about three random axes at right angles."""
        return cls(random_axes(rng))

    def reversed(self) -> SphericalAngles:
        """Return the joint with the axes in the opposite order and direction."""
        first, second, third = self.axes
        return SphericalAngles((opposite(third), opposite(second), opposite(first)))
