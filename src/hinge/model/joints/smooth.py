"""The logarithm of a rotation, and the screw of a displacement, by formulas without branches.

With the quaternion (w, v) of the turn, w ≥ 0 and u = 1 − w,

    log = 2 g(u) v,     g = arccos w / √(1 − w²) = Σ aₙ uⁿ,     a₀ = 1, aₙ = n aₙ₋₁ / (2n + 1)

is a polynomial to the last digits, and so is (1 − w g) (1 + w) / (1 − w²), which the screw needs.

The way back, the exponential, needs the entire functions of u = θ²

    cos θ,   sin θ / θ,   (1 − cos θ) / θ²,   (θ − sin θ) / θ³        Sₖ(u) = Σ (−u)ⁿ / (2n + k)!

which are their series up to u = 1 and these quotients beyond, with min and max by √:

    Sₖ(u) = series(min(u, 1)) + quotient(max(u, 1)) − quotient(1)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np

from hinge.spatial import Array, cross, quaternion

#: Taylor's coefficients that are looked at, and the degree that is kept: both leave 1e-16.
TERMS, DEGREE = 64, 20
#: Terms of the series of entire functions up to one.
POWERS = 10
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


def exponential(phi: Array) -> Array:
    """Return the quaternion of the rotation vector phi (…, 3), for any scalar type."""
    u = 0.25 * (phi * phi).sum(axis=-1)
    share = 0.5 * np.expand_dims(sine_share(u), -1)
    return np.concatenate([np.expand_dims(_entire(0, np.cos, u), -1), share * phi], axis=-1)


def follow(omega: Array, x: Array) -> Array:
    """Return V(ω) x, where the screw [ω; x] leads in unit time, for any scalar type."""
    u = (omega * omega).sum(axis=-1)
    once = cross(omega, x)
    a, b = cosine_share(u), _entire(3, lambda t: (t - np.sin(t)) / (t * t * t), u)
    return x + np.expand_dims(a, -1) * once + np.expand_dims(b, -1) * cross(omega, once)


def sine_share(u: Any) -> Any:
    """Return sin θ / θ for u = θ²."""
    return _entire(1, lambda t: np.sin(t) / t, u)


def cosine_share(u: Any) -> Any:
    """Return (1 − cos θ) / θ² for u = θ²."""
    return _entire(2, lambda t: (1.0 - np.cos(t)) / (t * t), u)


def _entire(k: int, quotient: Callable[[Any], Any], u: Any) -> Any:
    """Return Sₖ(u), by its series up to one and by a quotient of θ = √u beyond."""
    d = u - 1.0
    apart = np.sqrt(d * d + TINY)
    low, high = 0.5 * (u + 1.0 - apart), 0.5 * (u + 1.0 + apart)
    total: Any = 0.0
    for n in reversed(range(POWERS)):
        total = total * -low + 1.0 / factorial(2 * n + k)
    return total + quotient(np.sqrt(high)) - quotient(1.0)


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
