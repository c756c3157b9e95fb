"""The matrices of a weighted tree that a call gives, as one flat vector for its program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.algebra import M, Weight
from hinge.binding import MATRICES, WeightedBinding
from hinge.dynamics.arguments import precision
from hinge.errors import ArgumentError
from hinge.model import ROUNDING, as_vector, common_batch
from hinge.spatial import Array


class Alike(NamedTuple):
    """Nodes whose matrices of one name have one shape and the same zeros.

    `places` (nodes, k) are those of their numbers, which are where `pattern` says, in the flat vector.
    """

    nodes: list[int]
    pattern: NDArray[np.bool_]
    places: NDArray[np.intp]


@dataclass(frozen=True)
class GivenMatrices:
    """The matrices of a tree that calls give, by name."""

    binding: WeightedBinding

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, among E, H and M."""
        return tuple(x.name for x in self.binding.given)

    def flat(self, matrices: Mapping[str, Any]) -> Array:
        """Return the numbers of all matrices as one flat vector (…, n), checked."""
        missing = [n for n in self.names if n not in matrices]
        if missing:
            raise ArgumentError(
                f"{missing[0]}: expected a matrix for each node, got none; the tree was compiled with "
                f"given={self.names!r}: call with {missing[0]}=…"
            )
        parts = [(a, self._numbers(n, a, matrices[n])) for n in self.names for a in self._alike[n]]
        dtype = precision(*(x for _, x in parts)) if parts else np.float64
        names = [n for n in self.names for _ in self._alike[n]]
        batch = common_batch(
            {f"{n}[{self._title(a)}]": x[..., 0, :] for n, (a, x) in zip(names, parts, strict=True)}
        )
        found = np.empty((*batch, self.binding.length(Weight)), dtype)
        for a, x in parts:
            found[..., a.places] = x
        return found

    def _title(self, alike: Alike) -> str:
        return repr(self.binding.model.names[alike.nodes[0]])

    @cached_property
    def _alike(self) -> dict[str, list[Alike]]:
        """For each name the nodes that are alike, those without numbers left out."""
        start, found = 0, dict[str, dict[Any, tuple[list[int], Any, list[Any]]]]()
        for i in range(len(self.binding.model)):
            for x in self.binding.given:
                pattern = self.binding.pattern(i, x)
                count = int(pattern.sum())
                if pattern.size:
                    key = pattern.shape, pattern.tobytes()
                    group = found.setdefault(x.name, {}).setdefault(key, ([], pattern, []))
                    group[0].append(i)
                    group[2].append(range(start, start + count))
                start += count
        return {
            n: [Alike(nodes, p, np.array(at, int).reshape(len(nodes), -1)) for nodes, p, at in g.values()]
            for n, g in ((n, found.get(n, {})) for n in self.names)
        }

    def _numbers(self, name: str, alike: Alike, value: Any) -> Array:
        """Return the numbers (…, nodes, k) of matrices that are alike."""
        letter, shape, what = MATRICES[name], alike.pattern.shape, f"{name}[{self._title(alike)}]"
        if isinstance(value, np.ndarray) and value.dtype != object:
            x, nodes = self._of_one_shape(name, value, shape, what), alike.nodes
        else:
            x, nodes = self._stacked(name, alike, value), range(len(alike.nodes))
        cells = _Cells(x, nodes)
        if letter is M:
            _refuse_asymmetric(cells, alike.pattern, what)
        zero = ~(alike.pattern | alike.pattern.T if letter is M else alike.pattern)
        if cells.at(zero).any():
            row, column = next(c for c in np.argwhere(zero).tolist() if x[..., nodes, c[0], c[1]].any())
            raise ArgumentError(
                f"{what}: expected zeros where the tree has them, got another number at [{row}, {column}]; "
                "make the WeightedTree with a number other than zero there"
            )
        return cells.at(alike.pattern)

    def _of_one_shape(self, name: str, value: Array, shape: tuple[int, ...], what: str) -> Array:
        """Return an array (…, nodes, n, m) of the matrices of all nodes."""
        count = len(self.binding.model)
        if value.ndim < 3 or value.shape[-3] != count:
            raise ArgumentError(
                f"{name}: expected a list with a matrix for each node, or an array (…, {count}, n, m), got "
                f"an array of shape {value.shape}"
            )
        return _checked(value, shape, what)

    def _stacked(self, name: str, alike: Alike, value: Any) -> Array:
        """Return matrices of a list as one array (…, nodes, n, m)."""
        model = self.binding.model
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != len(model):
            got = len(value) if isinstance(value, Sequence) else type(value).__name__
            raise ArgumentError(f"{name}: expected a list of {len(model)} matrices, one a node, got {got}")
        each = {
            f"{name}[{model.names[i]!r}]": _checked(
                value[i], alike.pattern.shape, f"{name}[{model.names[i]!r}]"
            )
            for i in alike.nodes
        }
        batch = common_batch({n: x[..., 0] for n, x in each.items()})
        return np.stack([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in each.values()], axis=-3)


class _Cells:
    """Entries of the matrices of some nodes, out of an array (…, all nodes, n, m)."""

    def __init__(self, x: Array, nodes: Sequence[int]) -> None:
        self._flat = x.reshape(*x.shape[:-3], -1)
        self._starts = np.asarray(nodes, int)[:, None] * (x.shape[-2] * x.shape[-1])

    def at(self, where: NDArray[np.bool_]) -> Array:
        """Return the entries (…, nodes, k) where a mask (n, m) says so, row by row."""
        return self._flat[..., self._starts + np.flatnonzero(where)]

    def beyond(self, where: NDArray[np.bool_]) -> Array:
        """Return the entries that mirror these."""
        rows, columns = np.nonzero(where)
        return self._flat[..., self._starts + columns * len(where) + rows]


def _refuse_asymmetric(cells: _Cells, upper: NDArray[np.bool_], what: str) -> None:
    """Refuse matrices that are not symmetric but for rounding; `upper` are the entries that are looked at."""
    above = np.triu(upper, 1)
    one, other = cells.at(above), cells.beyond(above)
    if np.array_equal(one, other, equal_nan=True):
        return
    size = np.abs(cells.at(upper)).max(initial=0.0)
    if np.abs(one - other).max(initial=0.0) > ROUNDING[one.dtype.type] * size:
        raise ArgumentError(f"{what}: expected a symmetric matrix, got one that is not symmetric")


def _checked(given: Any, shape: tuple[int, ...], what: str) -> Array:
    """Return matrices (…, n, m) of this shape."""
    if given is None:
        raise ArgumentError(f"{what}: expected a matrix (…, {shape[0]}, {shape[1]}), got None")
    wide = f"a matrix of this node is {shape}"
    x = as_vector(given, what, shape[1], wide, dtype=precision(given))
    if x.ndim < 2 or x.shape[-2] != shape[0]:
        raise ArgumentError(f"{what}: expected shape (…, {shape[0]}, {shape[1]}), got {x.shape}")
    return x
