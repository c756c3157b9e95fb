"""Merging of bodies on fixed joints into the bodies that carry them.

In the frames that the compiler chooses, a fixed body has its parent's frame, so that inertias just add up.
With T from the bodies that are left to all bodies, H φ = H φ′ Tᵀ, M′ = Tᵀ M T, b′ = Tᵀ b, B′ = Tᵀ B and
φᵀ a = T φ′ᵀ a′: an expression in which φ gathers all that bodies have before anything sees it, as in
H φ M φᵀ Hᵀ, is the same with fewer bodies. H M Hᵀ and H E M Eᵀ Hᵀ are not. A fixed hinge has no gain, so that
H φ K and H ψ K, of which the first is a factor of that operator, are the same too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hinge.algebra import (
    Adjoint,
    Body,
    Expr,
    Leaf,
    Role,
    inverted,
    leaf_of,
    outer_polynomial,
)
from hinge.binding.frames import Place
from hinge.tree import WORLD, Tree

#: What may meet in the Body space, each with whether it is an adjoint: what sees bodies that move, φ or ψ,
#: what bodies have; and the adjoints of both, the other way round.
_BESIDE = {
    ((Role.SEES, False), (Role.GATHERS, False)),
    ((Role.GATHERS, False), (Role.HAS, False)),
    ((Role.GATHERS, False), (Role.GAIN, False)),
    ((Role.GATHERS, True), (Role.MOVES, False)),
}


def merged(tree: Tree, places: Sequence[Place]) -> tuple[Tree, tuple[Place, ...], tuple[int, ...]]:
    """Return the tree without fixed bodies, its places, and the index of each body's carrier.

    A body that is fixed on the world stays.
    """
    kept: list[Place] = []
    parents: list[int] = []
    carrier: list[int] = []
    for place, parent in zip(places, tree.parents, strict=True):
        if place.joint.nv == 0 and parent != WORLD:
            at = carrier[parent]
            kept[at] = replace(kept[at], inertia=kept[at].inertia + place.inertia)
        else:
            at = len(kept)
            kept.append(place)
            parents.append(WORLD if parent == WORLD else carrier[parent])
        carrier.append(at)
    return Tree(tuple(parents)), tuple(kept), tuple(carrier)


def hides_fixed_bodies(*expressions: Expr) -> bool:
    """Tell whether merging bodies on fixed joints leaves the values of expressions unchanged."""
    return all(map(_hides, dict.fromkeys(part for e in expressions for part in (e, *inverted(e)))))


def _hides(e: Expr) -> bool:
    if Body in (e.range, e.domain):
        return False
    words = outer_polynomial(e).terms
    return all(
        left.domain is not Body or stand_beside(left, right)
        for word in words
        for left, right in pairwise(word)
    )


def stand_beside(left: Expr, right: Expr) -> bool:
    """Tell whether two letters may meet in the Body space without showing bodies on fixed joints."""
    return (_mark(left), _mark(right)) in _BESIDE or (_mark(right.T), _mark(left.T)) in _BESIDE


def _mark(letter: Expr) -> tuple[Role, bool]:
    assert isinstance(letter, Leaf | Adjoint)
    return leaf_of(letter).card.role, isinstance(letter, Adjoint)
