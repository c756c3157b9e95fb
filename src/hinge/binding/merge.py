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

from hinge.binding.frames import Place
from hinge.tree import WORLD, Tree


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
