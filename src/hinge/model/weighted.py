"""A tree with matrices of one's own: the model of the algebra alone, without mechanics.

All identities are about φ = (I − E)⁻¹ for an E that leads from nodes to their parents, a hinge map H and a
symmetric M, block by block. A robot is one place where such matrices come from. Others are filters and
smoothers on trees, networks of resistors, least squares with the structure of a tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from hinge.errors import ModelError, UnknownNameError, did_you_mean
from hinge.model.readonly import frozen, numbers
from hinge.spatial import Array, ArrayLike
from hinge.tree import WORLD, Tree, base_first_order

#: How far from symmetric a matrix may be, relative to its largest entry: rounding.
ROUNDING = {np.float64: 1e-12, np.float32: 1e-5}
#: Parents of nodes: numbers, −1 or None for none, or names.
Parents: TypeAlias = Sequence[int | str | None]
Blocks: TypeAlias = Sequence[ArrayLike | None]


@dataclass(frozen=True, eq=False, init=False)
class WeightedTree:
    """A tree of nodes, each with a block of a size of its own, and the matrices E, H and M of each.

    Node i has a block of nᵢ numbers and a hinge of mᵢ. `E[i]` (n of the parent, nᵢ) carries a block to the
    parent, None at a root; `H[i]` (mᵢ, nᵢ); `M[i]` (nᵢ, nᵢ) symmetric. In the algebra E is the block-weighted
    adjacency matrix (BWA) of the tree, and φ = (I − E)⁻¹ = I + E + E² + … gathers over all that is beyond.

    `parents` are numbers of nodes, −1 or None where there is none; parents come before their children. With
    `names` nodes may come in any order, and parents may be names; they are sorted, parents first, and
    `names` is then their order: that of all vectors and blocks. Vectors of the Joint space are the hinges'
    numbers one after the other, `joint_slice(name)`, those of the Body space the blocks, `body_slice(name)`.
    """

    parents: tuple[int, ...]
    E: tuple[Array, ...]
    H: tuple[Array, ...]
    M: tuple[Array, ...]
    names: tuple[str, ...]

    def __init__(
        self, parents: Parents, E: Blocks, H: Blocks, M: Blocks, *, names: Iterable[str] | None = None
    ) -> None:
        given = None if names is None else _names(names)
        order, above = _sorted(parents, given)
        for name, blocks in (("E", E), ("H", H), ("M", M)):
            _refuse_count(name, blocks, len(above))
        shown = given or tuple(f"node{k}" for k in range(len(above)))
        titles = tuple(shown[k] for k in order)
        m = [_square(M[k], f"M[{t!r}]") for k, t in zip(order, titles, strict=True)]
        sizes = [len(x) for x in m]
        h = [_wide(H[k], n, f"H[{t!r}]") for k, n, t in zip(order, sizes, titles, strict=True)]
        ups = [0 if p == WORLD else sizes[p] for p in above]
        e = [_step(E[k], (up, n), f"E[{t!r}]") for k, up, n, t in zip(order, ups, sizes, titles, strict=True)]
        for name, value in (("parents", above), ("E", e), ("H", h), ("M", m), ("names", titles)):
            object.__setattr__(self, name, tuple(value))

    @cached_property
    def tree(self) -> Tree:
        """The tree of nodes."""
        return Tree(self.parents)

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def nv(self) -> int:
        """The length of vectors of the Joint space: all mᵢ together."""
        return sum(len(h) for h in self.H)

    @property
    def size(self) -> int:
        """The length of vectors of the Body space: all nᵢ together."""
        return sum(len(m) for m in self.M)

    def index(self, node: str) -> int:
        """Return the number of a node."""
        try:
            return self.names.index(node)
        except ValueError:
            raise UnknownNameError(
                f"node: expected the name of a node, got {node!r}{did_you_mean(str(node), self.names)}"
            ) from None

    def joint_slice(self, node: str | int) -> slice:
        """Return where the numbers of a node's hinge are in vectors of the Joint space."""
        return self._slice([len(h) for h in self.H], node)

    def body_slice(self, node: str | int) -> slice:
        """Return where the block of a node is in vectors of the Body space."""
        return self._slice([len(m) for m in self.M], node)

    def _slice(self, sizes: Sequence[int], node: str | int) -> slice:
        i = self.index(node) if isinstance(node, str) else range(len(self))[node]
        start = sum(sizes[:i])
        return slice(start, start + sizes[i])

    def __repr__(self) -> str:
        return f"<WeightedTree: {len(self)} nodes, {self.size} numbers in blocks, {self.nv} at hinges>"


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ModelError(f"names: expected a list of names, got the string {names!r}")
    found = tuple(names)
    for k, name in enumerate(found):
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"names[{k}]: expected a text that is not empty, got {name!r}")
        if name in found[:k]:
            raise ModelError(f"names[{k}]: expected names that differ, got {name!r} twice")
    return found


def _sorted(parents: Parents, names: tuple[str, ...] | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the order of the given nodes, parents first, and the parents in that order."""
    if isinstance(parents, str) or not isinstance(parents, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"parents: expected a list, got {parents!r}")
    above = tuple(_parent(p, f"parents[{k}]", names) for k, p in enumerate(parents))
    if names is None:
        if any(not WORLD <= p < k for k, p in enumerate(above)):
            k = next(k for k, p in enumerate(above) if not WORLD <= p < k)
            raise ModelError(
                f"parents[{k}]: expected -1 or the number of a node before node {k}, got {above[k]}; put "
                "parents before children, or give names=…, by which nodes are found when they are sorted"
            )
        return tuple(range(len(above))), above
    _refuse_count("names", names, len(above))
    if all(WORLD <= p < k for k, p in enumerate(above)):
        return tuple(range(len(above))), above
    order = base_first_order(above)
    place = {WORLD: WORLD, **{k: at for at, k in enumerate(order)}}
    return order, tuple(place[above[k]] for k in order)


def _parent(parent: Any, what: str, names: tuple[str, ...] | None) -> int:
    """Return the number of a parent."""
    if parent is None:
        return WORLD
    if isinstance(parent, str):
        if names is None or parent not in names:
            there = (
                "names=… were not given" if names is None else did_you_mean(parent, names) or "no such node"
            )
            raise ModelError(f"{what}: expected the name of a node or None, got {parent!r}; {there}")
        return names.index(parent)
    if isinstance(parent, bool | np.bool_) or not isinstance(parent, int | np.integer):
        raise ModelError(f"{what}: expected the number of a node, its name or None, got {parent!r}")
    return int(parent)


def _refuse_count(name: str, given: Any, count: int) -> None:
    """Refuse what is no sequence with one item for each node."""
    if isinstance(given, str) or not hasattr(given, "__len__") or not hasattr(given, "__getitem__"):
        raise ModelError(f"{name}: expected a list with one item for each node, got {type(given).__name__}")
    if len(given) != count:
        raise ModelError(f"{name}: expected {count} items, one for each node of parents, got {len(given)}")


def _matrix(given: Any, what: str) -> Array:
    if given is None:
        raise ModelError(f"{what}: expected a matrix, got None")
    found = numbers(given, what)
    if found.ndim != 2:
        raise ModelError(f"{what}: expected a matrix, got an array of shape {found.shape}")
    if not np.isfinite(found).all():
        raise ModelError(f"{what}: expected finite numbers, got {found[~np.isfinite(found)][0]}")
    return found


def _square(given: Any, what: str) -> Array:
    """Return a symmetric matrix; what rounding has left beside is dropped."""
    m = _matrix(given, what)
    if len(m) != m.shape[1] or not len(m):
        raise ModelError(f"{what}: expected a square matrix (n, n), n ≥ 1, got {m.shape}")
    off = float(np.abs(m - m.T).max())
    if off > ROUNDING[np.float64] * float(np.abs(m).max()):
        raise ModelError(f"{what}: expected a symmetric matrix, got one that differs by {off:.1e}")
    return m if not off else frozen((m + m.T) / 2)


def _wide(given: Any, size: int, what: str) -> Array:
    h = _matrix(given, what)
    if h.shape[1] != size or len(h) > size:
        raise ModelError(
            f"{what}: expected shape (m, {size}), m ≤ {size}, since M of this node has {size} rows, got "
            f"{h.shape}"
        )
    return h


def _step(given: Any, shape: tuple[int, int], what: str) -> Array:
    if not shape[0]:
        if given is not None and np.size(given):
            raise ModelError(f"{what}: expected None at a root, got an array of shape {np.shape(given)}")
        return frozen(np.zeros(shape))
    e = _matrix(given, what)
    if e.shape != shape:
        raise ModelError(
            f"{what}: expected shape {shape}, from this node's block to its parent's, got {e.shape}"
        )
    return e
