"""Expressions that hide bodies on fixed joints: merging these into their parents leaves values unchanged.

An expression in which φ gathers all that bodies have before anything sees it, as in H φ M φᵀ Hᵀ, is the same
with fewer bodies; H M Hᵀ and H E M Eᵀ Hᵀ are not. See `binding.merge`.
"""

from __future__ import annotations

from itertools import pairwise

from hinge.algebra.card import Role
from hinge.algebra.expression import Adjoint, Expr, Leaf
from hinge.algebra.letters import E
from hinge.algebra.polynomials import Word, inverted, leaf_of, outer_polynomial
from hinge.algebra.space import Body

#: What may meet in the Body space, each with whether it is an adjoint: what sees bodies that move, φ or ψ,
#: what bodies have; and the adjoints of both, the other way round.
_BESIDE = {
    ((Role.SEES, False), (Role.GATHERS, False)),
    ((Role.GATHERS, False), (Role.HAS, False)),
    ((Role.GATHERS, False), (Role.GAIN, False)),
    ((Role.GATHERS, True), (Role.MOVES, False)),
}


def hides_fixed_bodies(*expressions: Expr) -> bool:
    """Tell whether merging bodies on fixed joints leaves the values of expressions unchanged."""
    return all(map(_hides, dict.fromkeys(part for e in expressions for part in (e, *inverted(e)))))


def _hides(e: Expr) -> bool:
    if Body in (e.range, e.domain):
        return False
    return all(map(_hides_in, outer_polynomial(e).terms))


def _hides_in(word: Word) -> bool:
    """Tell it of a word. What varies with the motion of the parent, as a does, sees that by one step."""
    for k, (left, right) in enumerate(pairwise(word)):
        stepped = (k > 0 and left is E.T and _varies(word[k - 1])) or (
            right is E and k + 2 < len(word) and _varies(word[k + 2])
        )
        if left.domain is Body and not stepped and not stand_beside(left, right):
            return False
    return True


def _varies(letter: Expr) -> bool:
    return _mark(letter)[0] is Role.VARIES


def stand_beside(left: Expr, right: Expr) -> bool:
    """Tell whether two letters may meet in the Body space without showing bodies on fixed joints."""
    marks = _mark(left), _mark(right)
    if any(role is Role.VARIES for role, _ in marks):
        return True
    return marks in _BESIDE or (_mark(right.T), _mark(left.T)) in _BESIDE


def _mark(letter: Expr) -> tuple[Role, bool]:
    assert isinstance(letter, Leaf | Adjoint)
    return leaf_of(letter).card.role, isinstance(letter, Adjoint)
