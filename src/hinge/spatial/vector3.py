"""Three-dimensional linear algebra on the last axes of an array.

Every formula is written with `+`, `-`, `*` and NumPy's element-wise functions, so that it holds for
float arrays with any leading batch dimensions and for arrays of `dtype=object` whose elements are
traced scalars: NumPy then calls the elements' own `__mul__`, `sin()`, `cos()`, `sqrt()`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hinge.errors import ArgumentError

Array: TypeAlias = npt.NDArray[Any]
ArrayLike: TypeAlias = npt.ArrayLike


def as_array(x: ArrayLike) -> Array:
    """Return x as an array of floats, complex numbers or traced scalars; integers become floats."""
    a = np.asarray(x)
    return a if a.dtype.kind in "fcO" else a.astype(np.float64)


def shaped(name: str, given: ArrayLike, *last: int) -> Array:
    """Return x as an array with these last dimensions, or raise an ArgumentError."""
    try:
        a = as_array(given)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}: expected an array of numbers, got {given!r}") from None
    if a.shape[len(a.shape) - len(last) :] != last:
        expected = ", ".join(map(str, last))
        raise ArgumentError(f"{name}: expected shape (…, {expected}), got {a.shape}")
    return a


def stack(*components: ArrayLike) -> Array:
    """Stack scalars (each of batch shape) into a vector on a new last axis."""
    parts = [np.asarray(c) for c in components]
    shape = parts[0].shape
    if any(p.shape != shape for p in parts):
        shape = np.broadcast_shapes(*(p.shape for p in parts))
    out = np.empty((*shape, len(parts)), dtype=np.result_type(*parts))
    for k, part in enumerate(parts):
        out[..., k] = part
    return out


def cross(a: Array, b: Array) -> Array:
    """Return the vector product a × b. Shapes (…, 3)."""
    a1, a2, a3 = a[..., 0], a[..., 1], a[..., 2]
    b1, b2, b3 = b[..., 0], b[..., 1], b[..., 2]
    return stack(a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1)


def skew(a: Array) -> Array:
    """Return the matrix a× with (a×) b = a × b. Featherstone (2.8). (…, 3) → (…, 3, 3)."""
    out = np.zeros((*a.shape, 3), dtype=a.dtype)
    out[..., 0, 1], out[..., 0, 2] = -a[..., 2], a[..., 1]
    out[..., 1, 0], out[..., 1, 2] = a[..., 2], -a[..., 0]
    out[..., 2, 0], out[..., 2, 1] = -a[..., 1], a[..., 0]
    return out


def unskew(m: Array) -> Array:
    """Return the vector of the antisymmetric part of a matrix. (…, 3, 3) → (…, 3)."""
    return 0.5 * stack(m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1])


def transpose(m: Array) -> Array:
    """Transpose the last two axes."""
    return np.swapaxes(m, -1, -2)


def matvec(m: Array, x: Array) -> Array:
    """Return m x for matrices (…, r, c) and vectors (…, c)."""
    return (m @ x[..., None])[..., 0]


def dot(a: Array, b: Array) -> Array:
    """Return the scalar product over the last axis."""
    return (a * b).sum(axis=-1)


def outer(a: Array, b: Array) -> Array:
    """Return the matrix a bᵀ."""
    return a[..., :, None] * b[..., None, :]
