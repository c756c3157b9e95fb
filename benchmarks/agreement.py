"""Do two libraries compute the same? No time is shown for a wrong result."""

from __future__ import annotations

import numpy as np

from benchmarks.subjects import States
from hinge.spatial import Array

#: How far Hinge may be from Pinocchio, relative to the size of the result.
BOUND = 1e-9

#: How far single precision may be from double precision.
BOUND_SINGLE = 1e-3

#: States compared: the first ones and the last ones of a batch.
ENDS = 64


def sample(count: int) -> Array:
    """Return the indices of the states that are compared."""
    return np.unique(np.concatenate([np.arange(min(ENDS, count)), np.arange(max(0, count - ENDS), count)]))


def difference(quantity: str, ours: Array, theirs: Array) -> float:
    """Return the largest |ours − theirs| of a state, relative to its largest entry.

    An operational-space inertia near a singular pose is divided by what its condition lets float64 keep.
    """
    if ours.shape != theirs.shape or not np.isfinite(ours).all():
        return float("inf")
    axes = tuple(range(1, theirs.ndim))
    found = np.abs(ours - theirs).max(axis=axes) / np.maximum(np.abs(theirs).max(axis=axes), 1e-12)
    if quantity == "operational_inertia":
        bound = BOUND if ours.dtype == np.float64 else BOUND_SINGLE
        reach = 100 * float(np.finfo(ours.dtype).eps) * np.linalg.cond(theirs)
        found = found / np.maximum(1.0, reach / bound)
    return float(found.max())


def wrong(quantity: str, ours: Array, theirs: Array, bound: float = BOUND) -> str:
    """Return an empty text, or that the results differ and by how much."""
    off = difference(quantity, ours, theirs)
    return "" if off <= bound else f"wrong: {off:.0e}"


def few(s: States) -> States:
    """Return the states that are compared."""
    return s[sample(len(s))]
