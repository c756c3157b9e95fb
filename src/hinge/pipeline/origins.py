"""Dependence of expressions on the origins of the bodies' frames.

The bias accelerations a and the bias forces b are different for other origins; b + M φᵀ a, the forces that
bodies take along their motion at q̈ = 0, is not, and neither is aₙ + Bᵀ φᵀ a, the acceleration of nodes.
"""

from __future__ import annotations

from functools import lru_cache

from hinge.algebra import (
    Expr,
    Leaf,
    Letter,
    Polynomial,
    Role,
    inverted,
    leaf_of,
    leaves,
    no_inverse,
    outer_polynomial,
    polynomial,
    substituted,
)
from hinge.rules import APPENDIX, has_appendix_letters, split_determinants, theory_of


def depends_on_origins(e: Expr) -> bool:
    """Tell whether an expression depends on the origins of bodies: whether a is left in the terms above."""
    return any(map(_depends, dict.fromkeys((e, *inverted(e)))))


def _depends(e: Expr) -> bool:
    if not any(_is_bias(x) for x in leaves(e)):
        return False
    rest = split_determinants(e)[1]
    if not _shows_acceleration(substituted(outer_polynomial(rest), _at_rest)):
        return False
    p, theory = theory_of(e).multiplied_out(rest)
    if has_appendix_letters(leaves(e)):
        p = APPENDIX.normal(p)
    return _shows_acceleration(theory.root.normal(substituted(p, _at_rest)))


def _is_bias(x: Leaf) -> bool:
    return x.card.role is Role.MOVES or x.card.at_rest is not None


def _shows_acceleration(p: Polynomial) -> bool:
    return any(leaf_of(x).card.role is Role.MOVES for word in p.terms for x in word)


@lru_cache(maxsize=256)
def _at_rest(letter: Letter) -> Polynomial | None:
    meaning = leaf_of(letter).card.at_rest
    if meaning is None:
        return None
    found = polynomial(meaning, no_inverse)
    return found if isinstance(letter, Leaf) else found.T
