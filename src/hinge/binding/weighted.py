"""The letters bound to a weighted tree: E, H and M of every node are matrices, and nothing moves."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.algebra import Body, E, H, Joint, Leaf, M, One, Space, Structure, Weight, leaf
from hinge.errors import UnboundLeafError
from hinge.model import WeightedTree, digest
from hinge.sweeps import Block, ForceLaw, has_blocks_at_bodies, zeros
from hinge.tree import WORLD, Tree

#: The numbers of the matrices that each call gives, node by node.
weights = leaf("weights", Weight, One, Structure.VECTOR, meaning="the matrices that a call gives")
#: The letters of the matrices, by name.
MATRICES: Mapping[str, Leaf] = {"E": E, "H": H, "M": M}


@dataclass(frozen=True, eq=False)
class MatrixStep:
    """E at one node, a matrix."""

    matrix: Block

    @property
    def factorwise(self) -> bool:
        """Whether factors of a product are shifted at less cost than their product: seldom."""
        return False

    def to_parent(self, x: Block) -> Block:
        """Return E x."""
        return self.matrix @ x

    def to_child(self, x: Block) -> Block:
        """Return Eᵀ x."""
        return self.matrix.T @ x

    def inertia_to_parent(self, x: Block) -> Block:
        """Return E X Eᵀ."""
        return self.matrix @ x @ self.matrix.T

    def block_to_parent(self, x: Block) -> Block:
        """Return E X Eᵀ."""
        return self.matrix @ x @ self.matrix.T

    def compliance_to_child(self, x: Block) -> Block:
        """Return Eᵀ X E."""
        return self.matrix.T @ x @ self.matrix


@dataclass(frozen=True, eq=False)
class WeightedSite:
    """E, H and M at one node: those of the tree, and those that a call gives once they are known."""

    binding: WeightedBinding
    body: int
    blocks: Mapping[Leaf, Block]

    def hinge(self, q: Block) -> Block:
        """Return what depends on q alone: nothing."""
        return zeros(0)

    def derived(self, parameters: Block) -> Block:
        """Return the numbers of a call as they are."""
        return parameters

    def with_derived(self, derived: Block) -> WeightedSite:
        """Return the site with the matrices of a call."""
        found = self.binding.filled(self.body, self.binding.given, iter(derived))
        return WeightedSite(self.binding, self.body, {**self.blocks, **found})

    def step(self, hinge: Block) -> MatrixStep:
        """Return the step to the parent."""
        return MatrixStep(self.blocks[E])

    def value(self, leaf: Leaf, hinge: Block) -> Block | None:
        """Return the block of H or M."""
        return self.blocks.get(leaf)

    def formula(self, leaf: Leaf, hinge: Block, needs: Sequence[Block]) -> Block:
        """Refuse functions of the motion."""
        raise self.binding.unknown(leaf)


@dataclass(frozen=True, eq=False)
class WeightedBinding:
    """The letters bound to a weighted tree.

    `given` are the matrices, among E, H and M, that each call gives; where the tree has zeros in them, they
    are zero in every call, and no code is made for them. `sizes` as in `RobotBinding`.
    """

    model: WeightedTree
    given: tuple[Leaf, ...] = ()
    sizes: tuple[tuple[str, str, int], ...] = ()

    @property
    def identity(self) -> str:
        """The cache key of the binding: a digest of every field; of given matrices their zeros alone."""
        x = self.model
        kept = tuple(b for m in (E, H, M) if m not in self.given for b in self._matrices(m))
        zero = tuple(self.pattern(i, m) for m in self.given for i in range(len(x)))
        shapes = tuple(b.shape for m in (E, H, M) for b in self._matrices(m))
        names = tuple(m.name for m in self.given)
        return digest(("weighted tree", x.tree, x.names, shapes, names, kept, zero, self.sizes))

    @property
    def title(self) -> str:
        """What the letters are bound to, in a text."""
        return f"a tree of {len(self.model)} nodes"

    @property
    def parameters(self) -> tuple[Leaf, ...]:
        """The numbers of the matrices that each call gives."""
        return (weights,) if self.given else ()

    @property
    def tree(self) -> Tree:
        """The tree of nodes."""
        return self.model.tree

    def name(self, body: int) -> str:
        """Return the name of a node for messages."""
        return f"node {self.model.names[body]!r}"

    def undetermined(self, body: int) -> str:
        """Return what to say of a node at which D has no inverse, and what to do."""
        return (
            f"{self.name(body)}: expected D = H P Hᵀ with an inverse, got a singular one; give H of this "
            "node independent rows, and positive definite blocks M to it and the nodes beyond it"
        )

    @property
    def remedy(self) -> str:
        """What to do about a block of M that has no inverse."""
        return "give it a positive definite block M"

    # Matrices.

    def _matrices(self, letter: Leaf) -> Sequence[NDArray[np.float64]]:
        return {E: self.model.E, H: self.model.H, M: self.model.M}[letter]

    def pattern(self, body: int, letter: Leaf) -> NDArray[np.bool_]:
        """Return where a matrix of the tree is not zero; of M the upper triangle."""
        found = self._matrices(letter)[body] != 0
        return np.triu(found) if letter is M else found

    def filled(self, body: int, letters: Sequence[Leaf], numbers: Iterator[Any]) -> dict[Leaf, Block]:
        """Return matrices of a node; their entries where the pattern says so are the next numbers."""
        found: dict[Leaf, Block] = {}
        for x in letters:
            pattern = self.pattern(body, x)
            found[x] = block = zeros(*pattern.shape)
            for i, j in np.argwhere(pattern).tolist():
                block[i, j] = next(numbers)
                if x is M:
                    block[j, i] = block[i, j]
        return found

    @property
    def _own(self) -> tuple[Leaf, ...]:
        return tuple(x for x in (E, H, M) if x not in self.given)

    def _numbers(self, body: int) -> int:
        """Return how many numbers a call gives for a node."""
        return sum(int(self.pattern(body, x).sum()) for x in self.given)

    def constants(self, body: int) -> Sequence[float]:
        """Return the numbers of the tree at a node, those of `given` left out."""
        if body == WORLD:
            return ()
        return [v for x in self._own for v in self._matrices(x)[body][self.pattern(body, x)].tolist()]

    def kind(self, body: int) -> Hashable:
        """Return the patterns of the matrices, which say their sizes too."""
        return tuple((p.shape, p.tobytes()) for p in (self.pattern(body, x) for x in (E, H, M)))

    def site(self, body: int, numbers: Sequence[Any]) -> WeightedSite:
        """Return the values of letters at nodes of this kind."""
        return WeightedSite(self, body, self.filled(body, self._own, iter(numbers)))

    def world(self, numbers: Sequence[Any]) -> WorldOfTree:
        """Return the values of letters at the world: none."""
        return WorldOfTree(self)

    def unknown(self, x: Leaf) -> UnboundLeafError:
        """Return the error for a letter that a tree gives no value to."""
        what = f" ({x.meaning})" if x.meaning else ""
        return UnboundLeafError(
            f"{x}: expected letters of a weighted tree, got one of robots{what}; there are E, H and M of "
            "each node, what they define, such as φ, ψ, P, D, G and K, vectors such as tau and x, and your "
            "own letters"
        )

    # Spaces.

    @cached_property
    def _bounds(self) -> dict[Space, list[int]]:
        """Where the blocks of a space begin in the user's vector, and where the last ends."""
        x = self.model
        sizes = {
            Body: [len(m) for m in x.M],
            Joint: [len(h) for h in x.H],
            Weight: [self._numbers(i) for i in range(len(x))],
        }
        return {space: [0, *accumulate(each)] for space, each in sizes.items()}

    @cached_property
    def _lengths(self) -> dict[Space, int]:
        found = {space: at[-1] for space, at in self._bounds.items()}
        return found | {Space(name, meaning): n for name, meaning, n in self.sizes}

    def size(self, space: Space, body: int) -> int:
        """Return the block size of a space at a node."""
        return len(self.positions(space, body))

    def positions(self, space: Space, body: int) -> Sequence[int]:
        """Return the indices of a block in the user's vector."""
        if has_blocks_at_bodies(space):
            at = self._bounds.get(space)
            if at is None:
                raise self._unbound(space)
            return () if body == WORLD else range(at[body], at[body + 1])
        return range(self.length(space)) if body == WORLD else ()

    def blocks(self, space: Space) -> list[Sequence[int]]:
        """Return the indices of each block of a space in the user's vector."""
        places = range(len(self.tree)) if has_blocks_at_bodies(space) else (WORLD,)
        return [self.positions(space, i) for i in places]

    def length(self, space: Space) -> int:
        """Return the length of the user's vector of a space."""
        if space not in self._lengths:
            raise self._unbound(space)
        return self._lengths[space]

    def _unbound(self, space: Space) -> UnboundLeafError:
        return UnboundLeafError(
            f"space {space}: a weighted tree gives no meaning to it; if it is a space of your own, say how "
            f"many numbers it has, sizes={{{space}: n}}"
        )

    @property
    def width(self) -> int:
        """The number of entries of a node's block, the largest of all nodes."""
        return max((len(m) for m in self.model.M), default=0)

    @property
    def law(self) -> ForceLaw:
        """The sets of forces at the world: none."""
        return ForceLaw()

    def known(self, leaf: Leaf) -> Sequence[float] | None:
        """Return the value of an input that the model provides: none."""
        return None

    def coordinates(self, body: int) -> Sequence[int]:
        """Return the indices of coordinates: there are none."""
        return ()


@dataclass(frozen=True, eq=False)
class WorldOfTree:
    """The letters at the world of a tree, where nothing is."""

    binding: WeightedBinding

    def formula(self, leaf: Leaf, needs: Sequence[Block]) -> Block:
        """Refuse functions of values at all nodes."""
        raise self.binding.unknown(leaf)
