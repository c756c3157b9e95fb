"""Dependence of expressions on the origins of the bodies' frames, by identities; see `algebra.rest`."""

from __future__ import annotations

from hinge.algebra import (
    Expr,
    at_rest,
    inverted,
    is_bias,
    leaves,
    outer_polynomial,
    shows_acceleration,
)
from hinge.rules import APPENDIX, has_appendix_letters, split_determinants, theory_of


def depends_on_origins(e: Expr) -> bool:
    """Tell whether an expression depends on the origins of bodies: whether a is left at rest."""
    return any(map(_depends, dict.fromkeys((e, *inverted(e)))))


def _depends(e: Expr) -> bool:
    if not any(map(is_bias, leaves(e))):
        return False
    rest = split_determinants(e)[1]
    if not shows_acceleration(at_rest(outer_polynomial(rest))):
        return False
    p, theory = theory_of(e).multiplied_out(rest)
    if has_appendix_letters(leaves(e)):
        p = APPENDIX.normal(p)
    return shows_acceleration(theory.root.normal(at_rest(p)))
