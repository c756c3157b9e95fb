"""Values of letters as flat vectors, and arrays for results."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any, Protocol

import numpy as np

from hinge.algebra import Body, Expr, Leaf, Node, One, Space, Structure, g
from hinge.dynamics.arguments import ROWS, dense_blocks, flattened
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.model import Robot, as_vector, checked_out, gravity_of
from hinge.spatial import Array, ArrayLike


class Layout(Protocol):
    """The lengths of vectors, and the blocks in them."""

    @property
    def title(self) -> str:
        """What the vectors belong to, in a text."""
        ...

    def length(self, space: Space) -> int:
        """Return the length of the user's vector of a space."""
        ...

    def blocks(self, space: Space) -> Sequence[Sequence[int]]:
        """Return the indices of each block of a space in the user's vector."""
        ...


@dataclass(frozen=True, eq=False)
class Inputs:
    """The letters that are inputs of a call, by name, and their conversion to flat vectors.

    Those of a robot come in rows where its bodies have several numbers each.
    """

    binding: Layout
    letters: Mapping[str, Leaf]
    robot: Robot | None = None

    def _width(self, x: Leaf) -> int | None:
        """Return the length of the rows in which a letter comes, or None if it comes as a vector."""
        return ROWS.get(x.range) if self.robot is not None else None

    def take(self, name: str, given: dict[str, ArrayLike], dtype: Any) -> Array:
        """Take the value of a letter out of `given`, as a flat vector (…, n)."""
        x = self.letters[name]
        if x is g and self.robot is not None:
            down = gravity_of(self.robot, given.pop("gravity", None), dtype=dtype)
            return np.concatenate([np.zeros_like(down), -down], axis=-1)
        if name not in given:
            if x.range is Node and not self.binding.length(Node):
                return np.zeros(0, dtype)
            raise UnboundLeafError(
                f"{name}: expected a value for {x}, {x.meaning or 'a letter of the expression'}, got none; "
                f"call with {name}=…"
            )
        if x.domain is not One:
            return self._operator(name, x, given.pop(name), dtype)
        value, size = given.pop(name), self.binding.length(x.range)
        width = self._width(x)
        if width is not None:
            return flattened(value, name, size // width, width, dtype)
        why = f"{self.binding.title} has {size} in the space {x.range}"
        return as_vector(value, name, size, why, dtype=dtype)

    def is_empty(self, name: str) -> bool:
        """Tell whether an input is of an empty space, such as Node without nodes."""
        spaces = (self.letters[name].range, self.letters[name].domain) if name in self.letters else ()
        return any(s is not One and self.binding.length(s) == 0 for s in spaces)

    def in_rows(self, name: str, x: ArrayLike) -> ArrayLike:
        """Return a flat vector in the rows that a call takes, such as ten numbers for each body."""
        width = self._width(self.letters[name]) if name in self.letters else None
        if width is None:
            return x
        flat = np.asarray(x)
        return flat.reshape(*flat.shape[:-1], flat.shape[-1] // width, width)

    def _operator(self, name: str, x: Leaf, value: ArrayLike, dtype: Any) -> Array:
        """Return a matrix (…, n, m) row by row; a block-diagonal one must have zeros beside its blocks."""
        rows, columns = self.binding.length(x.range), self.binding.length(x.domain)
        why = f"{x} is {x.range} ← {x.domain}"
        sixes = x.range in (Body, Node) and x.domain in (Body, Node)
        if self.robot is not None and sixes and np.shape(value)[-2:] != (rows, columns):
            value = dense_blocks(value)
        matrix = as_vector(value, name, columns, why, dtype=dtype)
        if matrix.ndim < 2 or matrix.shape[-2] != rows:
            raise ArgumentError(f"{name}: expected shape (…, {rows}, {columns}), got {matrix.shape}")
        if x.self_adjoint and not np.array_equal(matrix, np.swapaxes(matrix, -1, -2), equal_nan=True):
            raise ArgumentError(
                f"{name}: expected a symmetric matrix, as {x} was defined, got one that is not symmetric"
            )
        if x.structure is Structure.DIAGONAL and np.any(matrix[..., self._beside(x)]):
            raise ArgumentError(
                f"{name}: expected a block-diagonal matrix, as {x} was defined, got entries beside blocks "
                "of joints, bodies or nodes"
            )
        return matrix.reshape(*matrix.shape[:-2], rows * columns)

    def _beside(self, x: Leaf) -> Array:
        """Return the mask of entries outside the blocks."""
        found = np.ones((self.binding.length(x.range), self.binding.length(x.domain)), dtype=bool)
        for down, across in zip(self.binding.blocks(x.range), self.binding.blocks(x.domain), strict=True):
            found[np.ix_([p for p in down if p >= 0], [p for p in across if p >= 0])] = False
        return found


def refuse_endless(batch: tuple[int, ...], shapes: Mapping[str, tuple[int, ...]], dtype: Any) -> None:
    """Refuse a batch, such as one that was broadcast from one state, of which no memory holds the results."""
    count = sum(map(prod, shapes.values())) * np.dtype(dtype).itemsize
    if prod(batch) * count > sys.maxsize:
        raise ArgumentError(f"q: expected a batch whose results fit into memory, got one of shape {batch}")


def checked_results(
    out: Mapping[str, Any] | None, shapes: Mapping[str, tuple[int, ...]], batch: tuple[int, ...], dtype: Any
) -> dict[str, Array] | None:
    """Return the checked `out` arrays, or None."""
    if out is not None and not isinstance(out, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"out: expected a dict of arrays by name of the result, got {type(out).__name__}")
    given = {name: x for name, x in (out or {}).items() if x is not None}
    if not given:
        return None
    if given.keys() != shapes.keys():
        raise ArgumentError(
            f"out: expected an array for each of {', '.join(shapes)}, got arrays for {', '.join(given)}"
        )
    found = {n: checked_out(given[n], (*batch, *shape), dtype) for n, shape in shapes.items()}
    for one, other in combinations(found, 2):
        if np.may_share_memory(found[one], found[other]):
            raise ArgumentError(f"out: expected arrays of their own, got {one} and {other} that share memory")
    return found


def written_into(out: object, found: Array) -> Array:
    """Return a result, in the caller's array if there is one."""
    if out is None:
        return found
    to = checked_out(out, found.shape, found.dtype)
    to[...] = found
    return to


def is_of_nodes(x: Expr) -> bool:
    """Tell whether a value is a vector of the nodes."""
    return x.range is Node and x.domain is One


def is_vector(x: Leaf) -> bool:
    """Tell whether the value of a letter is a vector (…, n) that needs no check of its entries."""
    return x.domain is One and x.range not in ROWS
