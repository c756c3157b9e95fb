"""The contract of a binding: the queries that a model answers so that expressions can be evaluated on it.

Everything is said at one body, in the coordinates that the binding chose for it. Arrays hold floats or
traced scalars. Body −1 is the world.

Bodies that are alike share their code. What shapes the code at a body is its kind; the numbers of the model
are apart from it, in a fixed order, and a site is a kind with numbers, which may be traced scalars.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hinge.algebra import (
    Active,
    Body,
    Joint,
    Leaf,
    Link,
    Mount,
    Node,
    Parameter,
    Passive,
    Placement,
    Resistance,
    Space,
    Structure,
    Weight,
)
from hinge.sweeps.law import ForceLaw
from hinge.tree import Tree

Block = NDArray[Any]


class Step(Protocol):
    """E at one body: the step between a body and its parent (or the world).

    Sizes of blocks are the binding's, and may differ from body to body. For a robot a block of the Body space
    is a 6-vector and one number for each rotor of that hinge; a rotor is seen by its own hinge only, so its
    rows do not travel. The block of an aggregate is the stack of its members' blocks.
    """

    @property
    def factorwise(self) -> bool:
        """Whether factors of a product are shifted at less cost than their product."""
        ...

    def to_parent(self, x: Block) -> Block:
        """Return φ(parent, body) x for forces x (n,) or columns (n, k)."""
        ...

    def to_child(self, x: Block) -> Block:
        """Return φ(parent, body)ᵀ x for motions of the parent, (n,) or columns (n, k)."""
        ...

    def inertia_to_parent(self, x: Block) -> Block:
        """Return φ(parent, body) X φ(parent, body)ᵀ for a symmetric X."""
        ...

    def block_to_parent(self, x: Block) -> Block:
        """Return φ(parent, body) X φ(parent, body)ᵀ for any X."""
        ...

    def compliance_to_child(self, x: Block) -> Block:
        """Return φ(parent, body)ᵀ X φ(parent, body) for a symmetric X of the parent."""
        ...


class Site(Protocol):
    """The values of letters at a body of one kind, for given numbers."""

    def hinge(self, q: Block) -> Block:
        """Return the numbers that depend on q alone and that all passes use, such as sin and cos."""
        ...

    def derived(self, parameters: Block) -> Block:
        """Return the values that all passes use and that are derived from the parameters of a body."""
        ...

    def with_derived(self, derived: Block) -> Site:
        """Return the site with the values of `derived`."""
        ...

    def step(self, hinge: Block) -> Step:
        """Return the step to the parent, given the numbers of `hinge`."""
        ...

    def value(self, leaf: Leaf, hinge: Block) -> Block | None:
        """Return the block of an operator that the model gives (H, M, B, …), or None if it gives none."""
        ...

    def formula(self, leaf: Leaf, hinge: Block, needs: Sequence[Block]) -> Block:
        """Return a leaf that is a function of the motion at the body (a, b, …)."""
        ...


class WorldSite(Protocol):
    """The values of letters at the world, for given numbers."""

    def formula(self, leaf: Leaf, needs: Sequence[Block]) -> Block:
        """Return a leaf that is a function of vectors at all bodies, each as one stack."""
        ...


class Binding(Protocol):
    """The values of letters at each body of a model."""

    @property
    def identity(self) -> str | None:
        """The cache key of the binding; None if its code may not be cached."""
        ...

    @property
    def parameters(self) -> tuple[Leaf, ...]:
        """The parameters of the model that are inputs of each call, besides the letters of expressions."""
        ...

    @property
    def tree(self) -> Tree:
        """The tree of bodies."""
        ...

    def name(self, body: int) -> str:
        """Return the name of a body's hinge for messages."""
        ...

    def undetermined(self, body: int) -> str:
        """Return what to say of a hinge at which D has no inverse, and what to do."""
        ...

    @property
    def remedy(self) -> str:
        """What to do about a block of M that has no inverse."""
        ...

    def size(self, space: Space, body: int) -> int:
        """Return the block size of a space at a body."""
        ...

    def positions(self, space: Space, body: int) -> Sequence[int]:
        """Return the indices of the block in the user's flat vector; −1 for hidden entries."""
        ...

    def length(self, space: Space) -> int:
        """Return the length of the user's flat vector of a space."""
        ...

    @property
    def width(self) -> int:
        """The number of visible entries of a body's block, the largest of all bodies."""
        ...

    @property
    def law(self) -> ForceLaw:
        """The sets in which the forces of closures and contacts lie."""
        ...

    def known(self, leaf: Leaf) -> Sequence[float] | None:
        """Return the value of an input that the model provides, or None if the caller does."""
        ...

    def coordinates(self, body: int) -> Sequence[int]:
        """Return the indices of the joint's coordinates in q."""
        ...

    def kind(self, body: int) -> Hashable:
        """Return everything except numbers that determines the code at a body, block sizes included."""
        ...

    def constants(self, body: int) -> Sequence[float]:
        """Return the numbers of a body, or of the world; zeros and ones up to rounding are exact."""
        ...

    def world(self, numbers: Sequence[Any]) -> WorldSite:
        """Return the values of letters at the world, for numbers in the order of `constants`."""
        ...

    def site(self, body: int, numbers: Sequence[Any]) -> Site:
        """Return the values of letters at bodies of this kind, for numbers in the order of `constants`."""
        ...


#: The spaces that have a block at each body. World and those of the user's own have one, at the world.
_AT_BODIES = frozenset(
    {Body, Joint, Node, Link, Passive, Active, Parameter, Placement, Mount, Resistance, Weight}
)


def has_blocks_at_bodies(space: Space) -> bool:
    """Tell whether a space has a block at each body; else it has one, at the world."""
    return space in _AT_BODIES


def is_met_at_world(x: Leaf) -> bool:
    """Tell whether a letter that is a function of others is so of their values at all bodies together."""
    return x.structure is Structure.DENSE or not has_blocks_at_bodies(x.range)


def unit_block(size: int) -> Block:
    """Return an identity matrix that can hold traced scalars."""
    found = zeros(size, size)
    for k in range(size):
        found[k, k] = 1.0
    return found


def block_of(entries: Sequence[Any], *shape: int) -> Block:
    """Return the array of these entries, row by row; NumPy does not look for sequences among them."""
    return np.fromiter(entries, dtype=object, count=len(entries)).reshape(shape)


def zeros(*shape: int) -> Block:
    """Return an array of zeros that can hold traced scalars."""
    found = np.empty(shape, dtype=object)
    found.fill(0.0)
    return found
