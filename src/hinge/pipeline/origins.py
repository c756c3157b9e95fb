"""Whether an expression depends on where the origins of the bodies' frames are.

The bias accelerations a and the bias forces b are different for other origins; b + M φᵀ a, the forces that
bodies take along their motion at q̈ = 0, is not, and neither is aₙ + Bᵀ φᵀ a, the acceleration of nodes.
"""

from __future__ import annotations

from hinge.algebra import (
    B,
    Body,
    Expr,
    Leaf,
    Letter,
    M,
    Node,
    One,
    Polynomial,
    a,
    a_m,
    a_n,
    b,
    b_m,
    leaf,
    leaf_of,
    leaves,
    no_inverse,
    phi,
    polynomial,
    substituted,
)
from hinge.rules import APPENDIX, has_appendix_letters, split_determinants, theory_of

#: What does not depend on the origins, in whose terms the bias letters are.
_FORCE = leaf("force_at_rest", Body, One)
_ACCELERATION = leaf("acceleration_at_rest", Node, One)
_BIAS: dict[Leaf, Expr] = {
    b: _FORCE - M @ phi.T @ a,
    b_m: _FORCE - M @ phi.T @ a_m,
    a_n: _ACCELERATION - B.T @ phi.T @ a,
}


def depends_on_origins(e: Expr) -> bool:
    """Tell whether an expression depends on the origins of bodies: whether a is left in the terms above."""
    used = leaves(e)
    if not used & {a, a_m, *_BIAS}:
        return False
    p, theory = theory_of(e).multiplied_out(split_determinants(e)[1])
    if has_appendix_letters(used):
        p = APPENDIX.normal(p)
    found = theory.root.normal(substituted(p, _meaning))
    return any(leaf_of(x) in (a, a_m) for word in found.terms for x in word)


def _meaning(letter: Letter) -> Polynomial | None:
    meaning = _BIAS.get(leaf_of(letter))
    if meaning is None:
        return None
    found = polynomial(meaning, no_inverse)
    return found if isinstance(letter, Leaf) else found.T
