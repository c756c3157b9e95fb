"""Bias letters in terms of what they are at rest: what does not depend on the origins of the bodies' frames.

The bias accelerations a and the bias forces b are different for other origins; b + M φᵀ a, the forces that
bodies take along their motion at q̈ = 0, is not, and neither is aₙ + Bᵀ φᵀ a, the acceleration of nodes.
"""

from __future__ import annotations

from functools import lru_cache

from hinge.algebra.card import Role
from hinge.algebra.expression import Expr, Leaf
from hinge.algebra.polynomials import (
    Letter,
    Polynomial,
    inverted,
    leaf_of,
    leaves,
    no_inverse,
    outer_polynomial,
    polynomial,
    substituted,
)


def is_bias(x: Leaf) -> bool:
    """Tell whether a letter is a bias term."""
    return x.card.role is Role.MOVES or x.card.at_rest is not None


def shows_acceleration(p: Polynomial) -> bool:
    """Tell whether bias accelerations are left where all else is in terms of what is there at rest."""
    return any(leaf_of(x).card.role is Role.MOVES for word in p.terms for x in word)


def at_rest(p: Polynomial) -> Polynomial:
    """Return a polynomial with bias letters in terms of what they are at rest."""
    return substituted(p, _at_rest)


def bias_cancels(e: Expr) -> bool:
    """Tell whether the bias letters of an expression cancel where it is multiplied out, origins apart."""
    parts = dict.fromkeys((e, *inverted(e)))
    return not any(
        any(map(is_bias, leaves(part))) and shows_acceleration(at_rest(outer_polynomial(part)))
        for part in parts
    )


@lru_cache(maxsize=256)
def _at_rest(letter: Letter) -> Polynomial | None:
    meaning = leaf_of(letter).card.at_rest
    if meaning is None:
        return None
    found = polynomial(meaning, no_inverse)
    return found if isinstance(letter, Leaf) else found.T
