"""Small blocks over any scalar: the inverse, the pivots and the square root of D at a hinge."""

from __future__ import annotations

from typing import Any

from hinge.kernels import Scalar, apply
from hinge.sweeps.contract import Block, zeros


def symmetric_inverse(x: Block) -> Block:
    """Return the inverse of a symmetric positive definite block by L D Lᵀ, without pivoting."""
    n = len(x)
    low, pivots = pivots_of(x)
    inverse = zeros(n, n)
    for j in range(n):
        inverse[j, j] = 1.0
        for i in range(j + 1, n):
            inverse[i, j] = -sum((low[i, k] * inverse[k, j] for k in range(j, i)), start=0.0)
    scaled = zeros(n, n)
    for k in range(n):
        reciprocal = 1.0 / pivots[k]
        for j in range(k + 1):
            scaled[k, j] = reciprocal * inverse[k, j]
    found = zeros(n, n)
    for i in range(n):
        for j in range(i, n):
            found[i, j] = found[j, i] = sum((inverse[k, i] * scaled[k, j] for k in range(j, n)), start=0.0)
    return found


def pivots_of(x: Block) -> tuple[Block, list[Any]]:
    """Return L (unit lower triangular) and the pivots D of x = L D Lᵀ."""
    n = len(x)
    low, pivots = zeros(n, n), list[Any]()
    for j in range(n):
        pivot = x[j, j]
        for k in range(j):
            pivot = pivot - low[j, k] * low[j, k] * pivots[k]
        pivots.append(pivot)
        for i in range(j + 1, n):
            rest = x[i, j]
            for k in range(j):
                rest = rest - low[i, k] * low[j, k] * pivots[k]
            low[i, j] = rest / pivot
    return low, pivots


def triangular_root(x: Block) -> Block:
    """Return the lower triangular L of x = L Lᵀ for a symmetric positive definite block."""
    low, pivots = pivots_of(x)
    found = zeros(len(x), len(x))
    for k, pivot in enumerate(pivots):
        found[k, k] = scale = _root(pivot)
        for i in range(k + 1, len(x)):
            found[i, k] = low[i, k] * scale
    return found


def triangular_inverse(x: Block) -> Block:
    """Return the inverse of a lower triangular block, lower triangular too."""
    n = len(x)
    found = zeros(n, n)
    for j in range(n):
        found[j, j] = 1.0 / x[j, j]
        for i in range(j + 1, n):
            found[i, j] = -sum((x[i, k] * found[k, j] for k in range(j, i)), start=0.0) / x[i, i]
    return found


def _root(pivot: Any) -> Any:
    if not isinstance(pivot, Scalar) and pivot <= 0:
        raise ZeroDivisionError("a pivot that is not positive")
    return apply("sqrt", pivot)
