"""Read-only arrays for immutable values."""

from __future__ import annotations

import numpy as np

from hinge.errors import ModelError
from hinge.spatial import Array, Inertia, Transform


def numbers(given: object, what: str) -> Array:
    """Return a read-only float copy, or raise a ModelError."""
    try:
        return frozen(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected an array of real numbers, got {given!r}") from None


def frozen(a: Array) -> Array:
    """Return the array itself if it is read-only and owns its memory, else a read-only copy."""
    if a.flags.writeable or not a.flags.owndata:
        a = a.copy()
        a.setflags(write=False)
    return a


def frozen_transform(x: Transform, what: str) -> Transform:
    """Return a transform with read-only arrays; the same object if it has them already."""
    if not isinstance(x, Transform):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"{what}: expected a Transform, got {x!r}; make one with Transform.place")
    e, r = _one(x.E, (3, 3), f"{what}: rotation"), _one(x.r, (3,), f"{what}: position")
    return x if e is x.E and r is x.r else Transform(e, r)


def frozen_inertia(i: Inertia, what: str) -> Inertia:
    """Return an inertia with read-only arrays."""
    if not isinstance(i, Inertia):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"{what}: expected an Inertia, got {i!r}; make one with Inertia.from_com")
    parts = ((i.m, (), "mass"), (i.h, (3,), "first moment"), (i.I, (3, 3), "second moment"))
    return Inertia(*(_one(a, shape, f"{what}: {name}") for a, shape, name in parts))


def _one(a: Array, shape: tuple[int, ...], what: str) -> Array:
    own = numbers(a, what)
    if own.shape != shape:
        raise ModelError(f"{what}: expected shape {shape}, got {own.shape}; a robot holds no batches")
    return own
