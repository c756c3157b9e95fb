"""Small blocks over any scalar: the inverse, the pivots and the square root of D at a hinge."""

from __future__ import annotations

from typing import Any

from hinge.kernels import Scalar, apply
from hinge.sweeps.contract import Block, zeros


def symmetric_inverse(x: Block) -> Block:
    """Return the inverse of a symmetric positive definite block by L D Lᵀ, without pivoting."""
    n = len(x)
    factor = inverse_factor(x)
    inverse, scaled = zeros(n, n), zeros(n, n)
    for j in range(n):
        inverse[j, j] = 1.0
        for i in range(j + 1, n):
            inverse[i, j] = -sum((factor[i, k] * inverse[k, j] for k in range(j, i)), start=0.0)
    for k in range(n):
        for j in range(k + 1):
            scaled[k, j] = factor[k, k] * inverse[k, j]
    found = zeros(n, n)
    for i in range(n):
        for j in range(i, n):
            found[i, j] = found[j, i] = sum((inverse[k, i] * scaled[k, j] for k in range(j, n)), start=0.0)
    return found


def inverse_factor(x: Block) -> Block:
    """Return L of x = L D Lᵀ below the diagonal and the inverse of D on it, for products with x⁻¹."""
    found, pivots = pivots_of(x)
    for k, pivot in enumerate(pivots):
        found[k, k] = 1.0 / pivot
    return found


def half_solved(factor: Block, y: Block) -> Block:
    """Return L⁻¹ y for a vector or columns, given `inverse_factor`."""
    found = y.copy()
    for i in range(len(found)):
        for k in range(i):
            found[i] = found[i] - factor[i, k] * found[k]
    return found


def solved(factor: Block, y: Block) -> Block:
    """Return x⁻¹ y for a vector or columns, given `inverse_factor` of x."""
    found = scaled_by_pivots(factor, half_solved(factor, y))
    for i in reversed(range(len(found))):
        for k in range(i + 1, len(found)):
            found[i] = found[i] - factor[k, i] * found[k]
    return found


def scaled_by_pivots(factor: Block, y: Block) -> Block:
    """Return D⁻¹ y for a vector or columns, given `inverse_factor`."""
    found = y.copy()
    for i in range(len(found)):
        found[i] = factor[i, i] * found[i]
    return found


def scaled_by_roots(factor: Block, y: Block) -> Block:
    """Return D^(−½) y for a vector or columns, given `inverse_factor`."""
    found = y.copy()
    for i in range(len(found)):
        found[i] = _root(factor[i, i]) * found[i]
    return found


def pivots_of(x: Block) -> tuple[Block, list[Any]]:
    """Return L (unit lower triangular, without its diagonal) and the pivots D of x = L D Lᵀ."""
    n = len(x)
    low, rest, pivots = zeros(n, n), zeros(n, n), list[Any]()  # rest = L D
    for j in range(n):
        for i in range(j, n):
            rest[i, j] = x[i, j]
            for k in range(j):
                rest[i, j] = rest[i, j] - low[i, k] * rest[j, k]
        pivots.append(rest[j, j])
        for i in range(j + 1, n):
            low[i, j] = rest[i, j] * (1.0 / rest[j, j])
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
