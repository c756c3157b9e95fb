"""The forces of joints' own springs, dampers and friction, as formulas that can be traced.

A spring pulls along `difference(rest, q)` of the joint type. Kernels have no branches, so where that has the
logarithm of a rotation it is written without: with the quaternion (w, v) of the turn, w ≥ 0 and u = 1 − w,

    log = 2 g(u) v,     g = arccos w / √(1 − w²) = Σ aₙ uⁿ,     a₀ = 1, aₙ = n aₙ₋₁ / (2n + 1)

is a polynomial to the last digits, and so is (1 − w g) (1 + w) / (1 − w²), which a free joint's screw needs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from hinge.model.joints import Free, JointType, Planar, Spherical, VectorJoint
from hinge.spatial import Array, cross, quaternion
from hinge.sweeps import Block, zeros

#: Taylor's coefficients that are looked at, and the degree that is kept: both leave 1e-16.
TERMS, DEGREE = 64, 20
#: Added to squares of numbers below which a sign is not told: at half a turn, where a log jumps.
TINY = 1e-30


def passive_force(kind: JointType, numbers: PassiveNumbers, q: Block, qd: Block) -> Block:
    """Return −damping q̇ − friction q̇/√(q̇² + s²) − stiffness difference(rest, q); zeros cost nothing."""
    found = zeros(len(qd))
    for k, speed in enumerate(qd):
        if _is_there(numbers.damping[k]):
            found[k] = found[k] - numbers.damping[k] * speed
        if _is_there(numbers.friction[k]):
            size = np.sqrt(speed * speed + numbers.speed[k] * numbers.speed[k])
            found[k] = found[k] - numbers.friction[k] * (speed / size)
    if any(map(_is_there, numbers.stiffness)):
        found = found - numbers.stiffness * stretch(kind, numbers.rest, q)
    return found


class PassiveNumbers:
    """The numbers of a joint's own forces: damping, friction, its speed, stiffness (nv,), and rest (nq,)."""

    def __init__(self, numbers: Block, nv: int) -> None:
        self.damping, self.friction, self.speed, self.stiffness = (
            numbers[k * nv : k * nv + nv] for k in range(4)
        )
        self.rest = numbers[4 * nv :]

    def with_given(self, given: Block) -> PassiveNumbers:
        """Return the same with other damping, friction and stiffness, three numbers for each coordinate."""
        damping, friction, stiffness = given.reshape(-1, 3).T
        whole = np.concatenate([damping, friction, self.speed, stiffness, self.rest])
        return PassiveNumbers(whole, len(damping))


def stretch(kind: JointType, rest: Block, q: Block) -> Block:
    """Return difference(rest, q) of a joint type, for numbers that may be traced."""
    match kind:
        case VectorJoint():
            return q - rest
        case Planar():
            return _plane_screw(rest, q)
        case Spherical():
            return _turn(rest, q)[0]
        case Free():
            return _screw(rest, q)
        case _:
            raise NotImplementedError(
                f"stiffness of {kind.kind} joints: there is no formula of difference(rest, q) that compiles; "
                "set their stiffness to zero and add the force to tau"
            )


def _plane_screw(rest: Block, q: Block) -> Block:
    """Return the screw in the plane: the angle θ, and the step turned back by half of it, h cot h times."""
    half = 0.5 * (q[0] - rest[0])
    step = _turned_back(rest[0], q[1:] - rest[1:])
    size = np.sqrt(half * half + TINY)
    even = size * np.cos(size) / np.sin(size)
    found = zeros(3)
    found[:] = [2.0 * half, even * step[0] + half * step[1], even * step[1] - half * step[0]]
    return found


def _turned_back(angle: Any, x: Block) -> Block:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * x[0] + s * x[1], c * x[1] - s * x[0]], dtype=object)


def _turn(rest: Block, q: Block) -> tuple[Block, Block, Any]:
    """Return log(rest⁻¹ q), v of that quaternion with w ≥ 0, and that w."""
    whole = quaternion.multiply(quaternion.conjugate(rest), q)
    size = np.sqrt(whole[0] * whole[0] + TINY)
    v = (whole[0] / size) * whole[1:]
    return 2.0 * _polynomial(_log_coefficients()[0], size) * v, v, size


def _screw(rest: Block, q: Block) -> Block:
    """Return the screw: ω = log, and x − ½ ω × x + k v × (v × x) for the step x, k = (1 − w g) / |v|²."""
    omega, v, w = _turn(rest[:4], q[:4])
    step = quaternion.rotate(quaternion.conjugate(rest[:4]), q[4:] - rest[4:])
    k = _polynomial(_log_coefficients()[1], w) / (1.0 + w)
    linear = step - 0.5 * cross(omega, step) + k * cross(v, cross(v, step))
    return np.concatenate([omega, linear])


def _polynomial(coefficients: tuple[float, ...], w: Any) -> Any:
    """Return a polynomial in 2w − 1, the last coefficient that of its highest power."""
    t = 2.0 * w - 1.0
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * t + c
    return total


@lru_cache(maxsize=1)
def _log_coefficients() -> tuple[tuple[float, ...], tuple[float, ...]]:
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


def _is_there(x: Any) -> bool:
    """Tell whether a number is not known to be zero."""
    return not isinstance(x, float) or x != 0.0
