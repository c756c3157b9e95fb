"""Exact coefficients of expressions: integers and fractions."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational, Real
from typing import Any, TypeAlias

from hinge.errors import ArgumentError

Number: TypeAlias = int | float | Fraction
Coefficient: TypeAlias = int | Fraction


def exact(factor: Any) -> Coefficient:
    """Return a number as an integer or a fraction, or raise an error."""
    if isinstance(factor, bool) or not isinstance(factor, Real):
        raise TypeError(f"*: expected a number, got {type(factor).__name__}; operators compose with @")
    try:
        found = Fraction(factor) if isinstance(factor, Rational) else Fraction(float(factor))
    except (ValueError, OverflowError):
        raise ArgumentError(f"factor: expected a finite number, got {factor}") from None
    return simplest(found)


def simplest(q: Fraction) -> Coefficient:
    """Return a rational number as an int where it is one."""
    return q.numerator if q.denominator == 1 else q
