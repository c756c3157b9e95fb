"""Numbers of models as exact ones: a float that is a short fraction, or the root of one, is taken for it."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any

from hinge.formulas.extras import sympy

#: Fractions have at most this denominator, roots that of a fraction of at most the second.
DENOMINATOR, UNDER_ROOT = 100_000, 144
#: A number is taken for an exact one if it is this near, relative to its size: what some roundings leave.
NEAR = 1e-14


@lru_cache(maxsize=4096)
def exact(x: float) -> Any:
    """Return a float as a number of SymPy."""
    sp = sympy()
    if not isfinite(x):
        return sp.Float(x)
    short = Fraction(x).limit_denominator(DENOMINATOR)
    if abs(float(short) - x) <= NEAR * abs(x):
        return sp.Rational(short.numerator, short.denominator)
    square = Fraction(x * x).limit_denominator(UNDER_ROOT)
    if abs(float(square) ** 0.5 - abs(x)) <= NEAR * abs(x):
        root = sp.sqrt(sp.Rational(square.numerator, square.denominator))
        return root if x > 0 else -root
    return sp.Float(x)
