"""Payloads: rigid bodies that are held by a body of a robot, and so are part of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Body
from hinge.spatial import Array, Inertia, Transform

__all__ = ["Payload"]


@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body that `body` of the robot holds.

    `inertia` is about the payload's own frame; `placement` takes coordinates of the holding body to those of
    the payload. Both may be batches, one for each state.
    """

    name: str
    body: str
    inertia: Inertia
    placement: Transform

    @cached_property
    def parameters(self) -> Array:
        """The ten numbers (…, 10) that it adds to those of the body that holds it."""
        x = self.placement.inv().inertia(self.inertia)
        return Inertia(np.broadcast_to(x.m, x.h.shape[:-1]), x.h, x.I).parameters()


def checked_inertia(given: Inertia | Body) -> Inertia:
    """Return the inertia of a payload, or raise an ArgumentError."""
    x = given.inertia if isinstance(given, Body) else given
    if not isinstance(x, Inertia):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"payload: expected an Inertia or a Body, such as Inertia.from_com(mass, com, central), got "
            f"{type(given).__name__}"
        )
    x = Inertia(*(np.asarray(part, np.float64) for part in (x.m, x.h, x.I)))
    if not np.isfinite(x.parameters()).all():
        raise ArgumentError("payload: expected a finite mass and inertia, got nan or inf")
    if (x.m < 0).any():
        raise ArgumentError(f"payload: expected a mass ≥ 0, got {x.m.min():g} kg")
    return x


def checked_placement(given: Transform | None) -> Transform:
    """Return the placement of a payload, or raise an ArgumentError."""
    if given is None:
        return Transform.identity()
    if not isinstance(given, Transform):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"placement: expected a Transform, such as Transform.place(rotation, position), got "
            f"{type(given).__name__}"
        )
    off = given.E @ np.swapaxes(given.E, -1, -2) - np.eye(3)
    if not (np.isfinite(given.r).all() and np.abs(off).max(initial=0.0) < 1e-6):
        raise ArgumentError("placement: expected a Transform with a proper rotation and a finite position")
    return given
