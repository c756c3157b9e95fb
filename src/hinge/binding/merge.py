"""Bodies on fixed joints as parts of the bodies that carry them.

In the frames that the compiler chooses, a fixed body has its parent's frame, so that inertias just add up.
With T from the bodies that are left to all bodies, H φ = H φ′ Tᵀ, M′ = Tᵀ M T, b′ = Tᵀ b, B′ = Tᵀ B and
φᵀ a = T φ′ᵀ a′: an expression in which φ gathers all that bodies have before anything sees it, as in
H φ M φᵀ Hᵀ, is the same with fewer bodies. H M Hᵀ and H E M Eᵀ Hᵀ are not. A fixed hinge has no gain, so that
H φ K and H ψ K, of which the first is a factor of that operator, are the same too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product

from hinge.algebra import (
    E0,
    A,
    B,
    Body,
    Expr,
    H,
    Ha,
    Hp,
    Inverse,
    K,
    LogDet,
    M,
    Polynomial,
    Product,
    Sum,
    a,
    a_m,
    b,
    b_m,
    leaf,
    phi,
    polynomial,
    psi,
)
from hinge.binding.frames import Place
from hinge.model.joints import Fixed
from hinge.tree import WORLD, Tree

#: What may stand side by side in the Body space: what sees only bodies that move, φ, what bodies have.
BESIDE = {
    *product((H, Hp, Ha, E0), (phi,)),
    *product((phi,), (M, B, b, b_m, A)),
    *product((M, B.T), (phi.T,)),
    *product((phi.T,), (H.T, Hp.T, Ha.T, E0.T, a, a_m)),
    *((H, psi), (phi, K), (psi, K), (psi.T, H.T), (K.T, phi.T), (K.T, psi.T)),
}


def merged(tree: Tree, places: Sequence[Place]) -> tuple[Tree, tuple[Place, ...], tuple[int, ...]]:
    """Return the tree without bodies fixed on others, its places, and for each body which carries it there.

    A body that is fixed on the world stays.
    """
    kept: list[Place] = []
    parents: list[int] = []
    carrier: list[int] = []
    for place, parent in zip(places, tree.parents, strict=True):
        if isinstance(place.type, Fixed) and parent != WORLD:
            at = carrier[parent]
            kept[at] = replace(kept[at], inertia=kept[at].inertia + place.inertia)
        else:
            at = len(kept)
            kept.append(place)
            parents.append(WORLD if parent == WORLD else carrier[parent])
        carrier.append(at)
    return Tree(tuple(parents)), tuple(kept), tuple(carrier)


def hides_fixed_bodies(*expressions: Expr) -> bool:
    """Tell whether expressions are the same when bodies on fixed joints are parts of others."""
    return all(_hides(part) for e in expressions for part in (e, *_arguments(e)))


def _hides(e: Expr) -> bool:
    if Body in (e.range, e.domain):
        return False
    words = polynomial(e, _letter).terms
    return all(
        left.domain is not Body or (left, right) in BESIDE for word in words for left, right in pairwise(word)
    )


def _letter(argument: Expr, _: Polynomial) -> Polynomial:
    """Return a letter for an inverse; what is inverted is judged apart."""
    found = leaf("inverse", argument.domain, argument.range)
    return Polynomial(found.range, found.domain, {(found,): 1})


def _arguments(e: Expr) -> Iterator[Expr]:
    """Yield what inverses and determinants are taken of, those inside others too."""
    match e:
        case Sum():
            parts = [t for _, t in e.terms]
        case Product():
            parts = list(e.factors)
        case Inverse() | LogDet():
            yield e.argument
            parts = [e.argument]
        case _:
            parts = []
    for part in parts:
        yield from _arguments(part)
