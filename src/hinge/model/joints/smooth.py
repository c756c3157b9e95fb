"""The logarithm of a rotation, and the screw of a displacement, by formulas without branches.

With the quaternion (w, v) of the turn, w ≥ 0 and u = 1 − w,

    log = 2 g(u) v,     g = arccos w / √(1 − w²) = Σ aₙ uⁿ,     a₀ = 1, aₙ = n aₙ₋₁ / (2n + 1)

is a polynomial to the last digits, and so is (1 − w g) (1 + w) / (1 − w²), which the screw needs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from hinge.spatial import Array, cross, quaternion

#: Taylor's coefficients that are looked at, and the degree that is kept: both leave 1e-16.
TERMS, DEGREE = 64, 20
#: Added to squares of numbers below which a sign is not told: at half a turn, where a log jumps.
TINY = 1e-30


def turn(p0: Array, p1: Array) -> Array:
    """Return log(p0⁻¹ p1) (…, 3) of unit quaternions, for any scalar type."""
    return _turn(p0, p1)[0]


def screw(p0: Array, x0: Array, p1: Array, x1: Array) -> Array:
    """Return the screw [ω; v] (…, 6) from a pose to another in unit time, for any scalar type.

    ω = log, and v = x − ½ ω × x + k v × (v × x) for the step x, k = (1 − w g) / |v|².
    """
    omega, v, w = _turn(p0, p1)
    step = quaternion.rotate(quaternion.conjugate(p0), x1 - x0)
    k = _polynomial(_coefficients()[1], w) / (1.0 + w)
    linear = step - 0.5 * cross(omega, step) + np.expand_dims(k, -1) * cross(v, cross(v, step))
    return np.concatenate([omega, linear], axis=-1)


def angle(c: Any, s: Any) -> Any:
    """Return the angle (…), between −π and π, whose cosine and sine are proportional to c and s."""
    size = np.sqrt(c * c + s * s + TINY)
    w = 0.5 + 0.5 * c / size
    half = np.sqrt(np.sqrt(w * w + TINY))
    return _polynomial(_coefficients()[0], half) * (s / size) / half


def _turn(p0: Array, p1: Array) -> tuple[Array, Array, Any]:
    """Return log(p0⁻¹ p1), v of that quaternion with w ≥ 0, and that w (…).

    Without a batch w is a number, of which there is a root also where an array of objects holds floats.
    """
    whole = quaternion.multiply(quaternion.conjugate(p0), p1)
    w = whole[..., 0]
    size = np.sqrt(w * w + TINY)
    v = np.expand_dims(w / size, -1) * whole[..., 1:]
    return 2.0 * np.expand_dims(_polynomial(_coefficients()[0], size), -1) * v, v, size


def _polynomial(coefficients: tuple[float, ...], w: Any) -> Any:
    """Return a polynomial in 2w − 1, the last coefficient that of its highest power."""
    t = 2.0 * w - 1.0
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * t + c
    return total


@lru_cache(maxsize=1)
def _coefficients() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the polynomials for g, and for (1 − w g)(1 + w)/(1 − w²) = Σ aₙ (n + 2)/(2n + 3) uⁿ."""
    a = np.cumprod([1.0, *(n / (2 * n + 1) for n in range(1, TERMS))])
    n = np.arange(TERMS)
    return _economical(a), _economical(a * (n + 2) / (2 * n + 3))


def _economical(taylor: Array) -> tuple[float, ...]:
    """Return a polynomial of u in [0, 1] as one of t = 1 − 2u, by Chebyshev's terms up to a degree."""
    t = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    values = np.polynomial.polynomial.polyval((1.0 - t) / 2.0, taylor)
    terms = np.polynomial.chebyshev.chebfit(t, values, DEGREE)
    return tuple(np.polynomial.chebyshev.cheb2poly(terms).tolist())
