"""Aggregates: disjoint sets of bodies such that the quotient of the tree by them is a tree.

Joints that share a coordinate must be hinges of one aggregate. With the bodies of such joints go those on the
paths between them, up to their nearest common ancestor, which stays outside unless it is one of them: then
all that leads inwards from the aggregate leads to one body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hinge.tree.tree import WORLD, Tree, base_first_order


def grouped(tree: Tree, together: Iterable[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the smallest aggregates that contain these sets, base first."""
    group = list(range(len(tree)))
    for bodies in together:
        number = {group[i] for i in _spanned(tree, bodies)}
        group = [min(number) if g in number else g for g in group]
    members = {g: tuple(i for i, other in enumerate(group) if other == g) for g in dict.fromkeys(group)}
    listed = list(members.values())
    at = {g: k for k, g in enumerate(members)}
    parents = [tree.parents[m[0]] for m in listed]
    order = base_first_order([WORLD if p == WORLD else at[group[p]] for p in parents])
    return tuple(listed[k] for k in order)


def _spanned(tree: Tree, bodies: Sequence[int]) -> set[int]:
    """Return the bodies and all bodies on the paths between them."""
    top = bodies[0]
    for i in bodies[1:]:
        top = WORLD if top == WORLD else tree.common_ancestor(top, i)
    stop = tree.parents[top] if top in bodies else top
    found: set[int] = set()
    for body in bodies:
        i = body
        while i != stop:
            found.add(i)
            i = tree.parents[i]
    return found
