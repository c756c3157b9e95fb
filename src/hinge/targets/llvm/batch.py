"""Batches of arrays: one stride for each array, without copies of broadcast arrays.

Batch dimensions that are contiguous with each other in all arrays are merged; the native code runs over the
longest of the rest, the others are loops around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Anything = NDArray[Any]


def as_rows(x: Anything, dtype: np.dtype[Any], inner: int) -> Anything:
    """Return an array in a precision, whose last `inner` dimensions are contiguous; a copy only if needed."""
    x = x.astype(dtype, copy=False)
    return x if _even(x, inner) else np.array(x, order="C")


def aligned(count: int, dtype: str) -> Anything:
    """Return an array that is aligned to a cache line."""
    size = np.dtype(dtype).itemsize
    room = np.empty(count * size + 64, dtype=np.uint8)
    skip = -room.ctypes.data % 64
    return room[skip : skip + count * size].view(dtype)


def writable_rows(x: Anything, inner: int) -> Anything:
    """Return an array for results as it is, or a new one where its last dimensions are not contiguous."""
    return x if _even(x, inner) else np.empty(x.shape, x.dtype)


def apart(x: Anything, others: Iterable[Anything]) -> Anything:
    """Return the array, or a copy if it shares memory with others."""
    return x.copy() if any(np.may_share_memory(x, y) for y in others) else x


def _even(x: Anything, inner: int) -> bool:
    """Tell whether an array is aligned, contiguous in the last dimensions, with strides of whole numbers."""
    flags = x.flags
    if not flags.aligned or flags.c_contiguous:
        return flags.aligned
    expected = x.itemsize
    for size, stride in zip(x.shape[x.ndim - inner :][::-1], x.strides[x.ndim - inner :][::-1], strict=True):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return not any(s % x.itemsize for s in x.strides[: x.ndim - inner])


@dataclass(frozen=True)
class Axis:
    """A batch dimension: its length, and the distance from state to state in each array, in numbers."""

    size: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """The loops over a batch: the axis of the native loop, and the starts of the loops around it."""

    axis: Axis
    outer: tuple[Axis, ...]

    def starts(self) -> Iterator[tuple[int, ...]]:
        """Yield for each iteration the offset in each array, in numbers."""
        count = len(self.axis.strides)
        for index in product(*(range(a.size) for a in self.outer)):
            yield tuple(
                sum(i * a.strides[k] for i, a in zip(index, self.outer, strict=True)) for k in range(count)
            )


def layout(batch: tuple[int, ...], arrays: Sequence[tuple[Anything, int]]) -> Layout:
    """Return the layout of arrays (each with the number of its inner dimensions) over a common batch."""
    plain = _plain_strides(batch, arrays)
    if plain is not None:
        return Layout(Axis(prod(batch), plain), ())
    strides = zip(*(_strides(batch, x, inner) for x, inner in arrays), strict=True)
    axes = _merged([Axis(n, s) for n, s in zip(batch, strides, strict=True) if n != 1])
    if not axes:
        return Layout(Axis(1, (0,) * len(arrays)), ())
    longest = max(axes, key=lambda a: a.size)
    return Layout(longest, tuple(a for a in axes if a is not longest))


def _plain_strides(batch: tuple[int, ...], arrays: Sequence[tuple[Anything, int]]) -> tuple[int, ...] | None:
    """Return the strides where each array is contiguous over the whole batch, or the same for all of it."""
    found: list[int] = []
    for x, inner in arrays:
        outer = x.ndim - inner
        if x.shape[:outer] == batch and x.flags.c_contiguous:
            found.append(prod(x.shape[outer:]))
        elif outer == 0:
            found.append(0)
        else:
            return None
    return tuple(found)


def _strides(batch: tuple[int, ...], x: Anything, inner: int) -> tuple[int, ...]:
    shape, strides = x.shape[: x.ndim - inner], x.strides[: x.ndim - inner]
    own = [0 if n == 1 else s // x.itemsize for n, s in zip(shape, strides, strict=True)]
    return (*(0 for _ in range(len(batch) - len(own))), *own)


def _merged(axes: Sequence[Axis]) -> list[Axis]:
    found: list[Axis] = []
    for a in axes:
        if found and all(o == a.size * i for o, i in zip(found[-1].strides, a.strides, strict=True)):
            found[-1] = Axis(found[-1].size * a.size, a.strides)
        else:
            found.append(a)
    return found
