"""Linear equations of a few unknowns by elimination, for any scalar type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hinge.spatial.vector3 import Array


def eliminated(matrix: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return a square matrix as L U in one, without exchanges, the inverses of pivots on the diagonal."""
    a = [list(row) for row in matrix]
    for k, pivots in enumerate(a):
        pivots[k] = 1.0 / pivots[k]
        for row in a[k + 1 :]:
            row[k] = row[k] * pivots[k]
            for c in range(k + 1, len(a)):
                row[c] = row[c] - row[k] * pivots[c]
    return a


def back_substituted(factors: Sequence[Sequence[Any]], x: Sequence[Any]) -> list[Any]:
    """Return the solution for one right side, given the factors of `eliminated`."""
    y = list(x)
    for k, row in enumerate(factors):
        for c in range(k):
            y[k] = y[k] - row[c] * y[c]
    for k in reversed(range(len(y))):
        for c in range(k + 1, len(y)):
            y[k] = y[k] - factors[k][c] * y[c]
        y[k] = y[k] * factors[k][k]
    return y


def solved(matrix: Array, x: Array) -> Array:
    """Return matrix⁻¹ x (…, d) by elimination without exchanges."""
    d = matrix.shape[-1]
    factors = eliminated([[matrix[..., r, c][()] for c in range(d)] for r in range(d)])
    return np.stack(back_substituted(factors, [x[..., r][()] for r in range(d)]), axis=-1)
