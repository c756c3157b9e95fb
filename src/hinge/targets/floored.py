"""The floored solve: symmetric systems that may be singular in some states, without branches.

The matrix is scaled to a unit diagonal and factored as L D Lᵀ without exchanges. A pivot below the floor
belongs to an unknown that depends on those before it: its inverse is taken for zero, and so is the unknown.
So is one whose diagonal entry is below the square of the floor, of the largest one: scaled, it would be
rounding. One step of refinement follows.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
#: Pivots of a matrix with unit diagonal that count as zero, by precision.
FLOORS = {"float64": 1e-10, "float32": 1e-5}


def floored_solve(matrix: Array, right: Array) -> Array:
    """Return matrix⁻¹ right for matrices (…, n, n) and right sides (…, n, k); the upper triangle is read."""
    n = matrix.shape[-1]
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    none = diagonal <= FLOORS["float64"] ** 2 * diagonal.max(axis=-1, keepdims=True, initial=0.0)
    scale = np.where(none, 0.0, 1.0 / np.sqrt(np.where(none, 1.0, diagonal)))
    upper = np.triu(matrix * scale[..., :, None] * scale[..., None, :])
    whole = upper + np.swapaxes(np.triu(upper, 1), -1, -2)
    pivots = np.zeros(diagonal.shape)
    for j in range(n):
        d = upper[..., j, j]
        pivots[..., j] = np.where(d <= FLOORS["float64"], 0.0, 1.0 / np.where(d <= FLOORS["float64"], 1.0, d))
        for i in range(j + 1, n):
            factor = upper[..., j, i] * pivots[..., j]
            upper[..., i, i:] -= factor[..., None] * upper[..., j, i:]
    scaled = right * scale[..., None]
    found = _substituted(upper, pivots, scaled)
    found = found + _substituted(upper, pivots, scaled - whole @ found)
    return found * scale[..., None]


def _substituted(upper: Array, pivots: Array, right: Array) -> Array:
    """Return (Uᵀ D⁻¹ U)⁻¹ right for the rows U of an elimination with these inverse pivots."""
    found, n = right.copy(), upper.shape[-1]
    for j in range(n):
        y = found[..., j, :] * pivots[..., j, None]
        for i in range(j + 1, n):
            found[..., i, :] -= upper[..., j, i, None] * y
    for j in reversed(range(n)):
        for k in range(j + 1, n):
            found[..., j, :] -= upper[..., j, k, None] * found[..., k, :]
        found[..., j, :] *= pivots[..., j, None]
    return found
