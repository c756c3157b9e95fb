"""Which blocks are symmetric when an edge shifts them from both sides: half of them need not be computed."""

from __future__ import annotations

from functools import cache

from hinge.algebra import (
    DEFINITIONS,
    Leaf,
    Letter,
    Polynomial,
    Product,
    leaf_of,
    no_inverse,
    polynomial,
    substituted,
)
from hinge.sweeps.program import is_congruence, operand


@cache
def is_mirrored(edge: Product) -> bool:
    """Tell whether an edge shifts a symmetric block from both sides, such as P − G H P with G = P Hᵀ D⁻¹."""
    if not is_congruence(edge):
        return False
    p = substituted(polynomial(operand(edge), no_inverse), _meaning)
    return p.T.key == p.key


@cache
def _meaning(x: Letter) -> Polynomial | None:
    """Return the definition of a letter that stands for a product of letters, as gains do, or None."""
    e = DEFINITIONS.get(leaf_of(x))
    if not isinstance(e, Product) or not all(isinstance(f, Letter) for f in e.factors):
        return None
    found = polynomial(e, no_inverse)
    return found if isinstance(x, Leaf) else found.T
