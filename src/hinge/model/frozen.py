"""Arrays that nobody can write to, for values that never change."""

from __future__ import annotations

import numpy as np

from hinge.errors import ModelError
from hinge.spatial import Array, Inertia, Transform


def numbers(given: object, what: str) -> Array:
    """Return a float array of one's own that is read-only, or say what is not numbers."""
    try:
        return frozen(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ModelError(f"{what}: {given!r} is not an array of real numbers") from None


def frozen(a: Array) -> Array:
    """Return the array itself if it is read-only and owns its memory, else a read-only copy."""
    if a.flags.writeable or not a.flags.owndata:
        a = a.copy()
        a.setflags(write=False)
    return a


def frozen_transform(x: Transform) -> Transform:
    """Return the transform with read-only arrays; itself where it has them already."""
    e, r = frozen(x.E), frozen(x.r)
    return x if e is x.E and r is x.r else Transform(e, r)


def frozen_inertia(i: Inertia) -> Inertia:
    """Return the inertia with read-only arrays."""
    return Inertia(frozen(np.asarray(i.m)), frozen(i.h), frozen(i.I))
