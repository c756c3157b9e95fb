"""Iterations over arrays, written once for every target.

What loops until each state is done, such as the laws of contact, is a function of an `Arithmetic`: it makes
arrays, numbers in them are read and written by `array[i]`, and `for i in arithmetic.loop(n)` runs over
indices. With NumPy the function computes, each number an array over the batch; a target that generates code
runs the function once, and each loop and each round in it is written once.

Nothing branches on a number: `where` chooses, and a state that is done keeps its numbers by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: A number of each state: supports + − * / with its kind and with floats, and < <= > >=.
Value: TypeAlias = Any
#: An index, or one that a loop counts: supports + and * with integers.
Index: TypeAlias = Any


class Numbers(Protocol):
    """An array of numbers, one for each state and index."""

    def __getitem__(self, i: Index) -> Value: ...
    def __setitem__(self, i: Index, x: Value) -> None: ...


class Listed(Protocol):
    """Indices that were chosen, in order."""

    @property
    def count(self) -> Index:
        """How many there are."""
        ...

    def __getitem__(self, k: Index) -> Index: ...


class Arithmetic(Protocol):
    """What iterations are written with."""

    #: The precision: "float64" or "float32".
    dtype: str

    def array(self, size: int) -> Numbers:
        """Return a new array; its numbers are not set."""
        ...

    def shared(self, name: str, body: Callable[..., None], *arrays: Any) -> None:
        """Run a body with arrays; bodies of one name are the same, and are written once."""
        ...

    def loop(self, start: Index, stop: Index) -> Iterator[Index]:
        """Run what follows for each index from start to stop − 1."""
        ...

    def fold(
        self,
        start: Index,
        stop: Index,
        initial: list[Value],
        body: Callable[[Index, list[Value]], list[Value]],
    ) -> list[Value]:
        """Return the numbers that a body makes of those before, for each index from start to stop − 1."""
        ...

    def chosen(self, size: int, test: Callable[[Index], Any]) -> Listed:
        """Return those of the first indices for which a test holds in some state."""
        ...

    def rounds(self, most: int, live: Numbers) -> Iterator[None]:
        """Run what follows while `live[0]` is above zero in some state, at most this often."""
        ...

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """Return x y + z, rounded once where the target can."""
        ...

    def where(self, truth: Any, x: Value, y: Value) -> Value:
        """Return x where it is true, else y."""
        ...

    def sqrt(self, x: Value) -> Value:
        """Return the square root, NaN below zero."""
        ...

    def abs(self, x: Value) -> Value:
        """Return the absolute value."""
        ...


class Rows:
    """Numbers over a batch."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values

    def __getitem__(self, i: int) -> NDArray[np.float64]:
        return self.values[i].copy()

    def __setitem__(self, i: int, x: Any) -> None:
        self.values[i] = x


class Indices:
    """Indices that were chosen."""

    def __init__(self, chosen: Iterable[int]) -> None:
        self._chosen = list(chosen)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._chosen)

    def __getitem__(self, k: int) -> int:
        return self._chosen[k]


class NumpyArithmetic:
    """The arithmetic of NumPy: each number is an array over the states of a batch."""

    dtype = "float64"

    def __init__(self, states: int) -> None:
        self.states = states

    def array(self, size: int) -> Rows:
        """Return a new array."""
        return Rows(np.zeros((size, self.states)))

    def shared(self, name: str, body: Callable[..., None], *arrays: Any) -> None:
        """Run a body."""
        del name
        body(self, *arrays)

    def loop(self, start: int, stop: int) -> Iterator[int]:
        """Return the indices."""
        return iter(range(start, stop))

    def fold(
        self,
        start: int,
        stop: int,
        initial: list[Value],
        body: Callable[[int, list[Value]], list[Value]],
    ) -> list[Value]:
        """Return what the body makes of numbers, index by index."""
        found = initial
        for k in range(start, stop):
            found = body(k, found)
        return found

    def chosen(self, size: int, test: Callable[[int], Any]) -> Indices:
        """Return the indices for which a test holds in some state."""
        return Indices(k for k in range(size) if np.any(test(k)))

    def rounds(self, most: int, live: Numbers) -> Iterator[None]:
        """Run while some state is live."""
        for _ in range(most):
            if not (live[0] > 0).any():
                return
            yield

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """Return x y + z."""
        return x * y + z

    def where(self, truth: Any, x: Value, y: Value) -> Value:
        """Return x where it is true, else y."""
        return np.where(truth, x, y)

    def sqrt(self, x: Value) -> Value:
        """Return the square root."""
        return np.sqrt(x)

    def abs(self, x: Value) -> Value:
        """Return the absolute value."""
        return np.abs(x)


def larger(m: Arithmetic, x: Value, y: Value) -> Value:
    """Return the larger of two numbers; y where either is NaN."""
    return m.where(x > y, x, y)


def smaller(m: Arithmetic, x: Value, y: Value) -> Value:
    """Return the smaller of two numbers; y where either is NaN."""
    return m.where(x < y, x, y)
