"""The floored solve: symmetric systems that may be singular in some states, without branches.

The matrix is factored as L D Lᵀ without exchanges. A pivot below the floor, a part of its entry on the
diagonal, belongs to an unknown that depends on those before it: its inverse is taken for zero, and so is the
unknown. So is one whose diagonal entry is below the square of the floor, of the largest one: it would be
rounding. One step of refinement follows. To scale the matrix to a unit diagonal first would give the same.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
#: Pivots that count as zero, as parts of their entries on the diagonal, by precision.
FLOORS = {"float64": 1e-10, "float32": 1e-5}


def floored_solve(matrix: Array, right: Array) -> Array:
    """Return matrix⁻¹ right for matrices (…, n, n) and right sides (…, n, k); the upper triangle is read."""
    n = matrix.shape[-1]
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    none = diagonal <= FLOORS["float64"] ** 2 * diagonal.max(axis=-1, keepdims=True, initial=0.0)
    floors = np.where(none, diagonal, FLOORS["float64"] * diagonal)  # no pivot is above its diagonal
    upper = np.triu(matrix)
    whole = upper + np.swapaxes(np.triu(upper, 1), -1, -2)
    low, pivots = np.zeros_like(upper), np.zeros(diagonal.shape)
    for j in range(n):
        d = upper[..., j, j]
        dependent = d <= floors[..., j]
        pivots[..., j] = np.where(dependent, 0.0, 1.0 / np.where(dependent, 1.0, d))
        for i in range(j + 1, n):
            low[..., i, j] = upper[..., j, i] * pivots[..., j]
            upper[..., i, i:] -= low[..., i, j, None] * upper[..., j, i:]
    found = _substituted(low, pivots, right)
    return found + _substituted(low, pivots, right - whole @ found)


def _substituted(low: Array, pivots: Array, right: Array) -> Array:
    """Return (L D Lᵀ)⁻¹ right, given L below its unit diagonal and the inverse of D."""
    found, n = right.copy(), low.shape[-1]
    for j in range(n):
        found[..., j + 1 :, :] -= low[..., j + 1 :, j, None] * found[..., j, None, :]
    found *= pivots[..., None]
    for j in reversed(range(n)):
        found[..., :j, :] -= low[..., j, :j, None] * found[..., j, None, :]
    return found
