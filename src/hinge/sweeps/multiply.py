"""Products of operators as matrices, at the world: by tiles, with known zeros left out.

A tile is a few rows of the left factor and a few columns of the right one. What the two share of the inner
index is copied to where it lies in the order in which tiles read it: nested sets, as the ancestors of bodies
along a limb, are beginnings of one copy. Tiles of one size share a kernel, so that all are a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Instruction, Kernel, Output
from hinge.sweeps.code import Call, KnownBlock, Slot
from hinge.sweeps.contract import zeros
from hinge.sweeps.signs import negate
from hinge.sweeps.slots import Memory
from hinge.sweeps.wide import Constant
from hinge.tree import WORLD

#: Rows and columns of a tile: its sums and one column of each factor fit into sixteen registers.
ROWS, COLUMNS = 2, 4
#: A row or column joins a group of others if at most this share of the group's entries are zeros.
MOST_ZEROS = 0.25
#: No slot: an entry that is known to be zero.
NOTHING = -1

Group = tuple[int, ...]


class Copy(NamedTuple):
    """A call that copies slots to where they lie side by side."""

    slots: tuple[int, ...]
    start: int
    stage: int

    def close(self, live: bytearray, kernels: dict[Kernel, Kernel]) -> Call | None:
        """Return the call that stores the live slots, or None; its loads become live."""
        kept = [k for k in range(len(self.slots)) if live[self.start + k]]
        if not kept:
            return None
        loads = tuple(self.slots[k] for k in kept)
        for s in loads:
            live[s] = 1
        kernel = _copies(len(kept))
        stores = tuple(self.start + k for k in kept)
        return Call(kernels.setdefault(kernel, kernel), loads, (), stores, self.stage, WORLD)


class Tile(NamedTuple):
    """A call that multiplies rows and columns: `left` and `right` by the inner index, then by row or column."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    rows: int
    columns: int
    start: int
    stage: int
    negative: bool

    def close(self, live: bytearray, kernels: dict[Kernel, Kernel]) -> Call | None:
        """Return the call that stores the live slots, or None; its loads become live."""
        size = self.rows * self.columns
        mask = tuple(bool(live[self.start + k]) for k in range(size))
        if not any(mask):
            return None
        inner = len(self.left) // self.rows
        kernel, loads = _tile(inner, self.rows, self.columns, mask, self.negative)
        given = (*self.left, *self.right)
        reads = tuple(given[k] for k in loads)
        for s in reads:
            live[s] = 1
        stores = tuple(self.start + k for k in range(size) if mask[k])
        return Call(kernels.setdefault(kernel, kernel), reads, (), stores, self.stage, WORLD)


@lru_cache(maxsize=256)
def _copies(count: int) -> Kernel:
    return Kernel(tuple(range(count)), (), tuple(Output(k, k, False, None) for k in range(count)))


@lru_cache(maxsize=1024)
def _tile(
    inner: int, rows: int, columns: int, mask: tuple[bool, ...], negative: bool
) -> tuple[Kernel, tuple[int, ...]]:
    """Return the kernel of a tile, and which of its factors' entries it loads."""
    wanted = [(r, c) for (r, c), live in zip(product(range(rows), range(columns)), mask, strict=True) if live]
    left = [k * rows + r for k in range(inner) for r in sorted({r for r, _ in wanted})]
    right = [inner * rows + k * columns + c for k in range(inner) for c in sorted({c for _, c in wanted})]
    loads = (*left, *right)
    place = {entry: n for n, entry in enumerate(loads)}
    instructions: list[Instruction] = []
    sums: dict[tuple[int, int], int] = {}
    for k in range(inner):
        for r, c in wanted:
            instructions.append(
                Instruction("mul", (place[k * rows + r], place[inner * rows + k * columns + c]))
            )
            last = len(loads) + len(instructions) - 1
            if k:
                instructions.append(Instruction("add", (sums[r, c], last)))
                last += 1
            sums[r, c] = last
    outputs = tuple(Output(n, sums[at], negative, None) for n, at in enumerate(wanted))
    return Kernel(tuple(range(len(loads))), tuple(instructions), outputs), loads


Inner = tuple[int, ...]


class Multiplication:
    """The product of two matrices of slots and numbers, each with its zeros."""

    def __init__(self, memory: Memory, left: KnownBlock, right: KnownBlock, stage: int) -> None:
        self.memory, self.stage = memory, stage
        self._numbers: dict[float, int] = {}
        self.left, self.right = self._plain(left), self._plain(right)

    def run(self, *, negative: bool = False, mirror: bool = False) -> KnownBlock:
        """Trace the product, or less it; with `mirror` it is symmetric, and one half is computed."""
        filled = self.left != NOTHING, self.right != NOTHING
        tiles = {
            (i, j): inner
            for i, j in product(grouped(filled[0], ROWS), grouped(filled[1].T, COLUMNS))
            if not (mirror and i[-1] < j[0])
            and len(inner := np.flatnonzero(filled[0][list(i)].any(0) & filled[1][:, list(j)].any(1)))
        }
        ways = [{at: tuple(k[::step].tolist()) for at, k in tiles.items()} for step in (1, -1)]
        chosen = min(ways, key=copies)
        left = self._packed(self.left.T, _inner_by(chosen, 0))
        right = self._packed(self.right, _inner_by(chosen, 1))
        found = zeros(self.left.shape[0], self.right.shape[1])
        nonzero = filled[0].astype(int) @ filled[1].astype(int) > 0
        for (i, j), inner in sorted(chosen.items(), key=_size):
            slots = self.memory.new_slots(len(i) * len(j))
            tile = Tile(left[i, inner], right[j, inner], len(i), len(j), slots[0], self.stage, negative)
            self.memory.calls.append(tile)
            for (r, c), slot in zip(product(i, j), slots, strict=True):
                if nonzero[r, c] and not (mirror and r < c):
                    found[r, c] = Slot(slot)
                    if mirror:
                        found[c, r] = Slot(slot)
        return found

    def _plain(self, x: KnownBlock) -> NDArray[np.int64]:
        """Return slots without signs; numbers and negated slots are stored first."""
        other = {e.index for e in x.flat if isinstance(e, Slot) and e.negative}
        known = negate(self.memory, sorted(other), other, self.stage, WORLD, None)
        negated = dict(zip(sorted(other), known, strict=True))
        found = [self._number(e) if not isinstance(e, Slot) else negated[e.index] if e.negative else e.index
                 for e in x.flat]  # fmt: skip
        return np.array(found, dtype=np.int64).reshape(x.shape)

    def _number(self, x: float, *, stored: bool = False) -> int:
        """Return the slot of a number, or NOTHING for zero unless it is to be stored."""
        if x == 0.0 and not stored:
            return NOTHING
        if x not in self._numbers:
            (self._numbers[x],) = self.memory.new_slots(1)
            self.memory.calls.append(Constant(x, self._numbers[x], self.stage, WORLD))
        return self._numbers[x]

    def _packed(
        self, x: NDArray[np.int64], wanted: dict[Group, list[Inner]]
    ) -> dict[tuple[Group, Inner], tuple[int, ...]]:
        """Copy the entries of each group and inner indices to where they lie side by side."""
        found: dict[tuple[Group, Inner], tuple[int, ...]] = {}
        for group, inners in wanted.items():
            for inner, whole in beginnings(inners).items():
                if (group, whole) not in found:
                    rows = [self._copied(x[k, list(group)].tolist()) for k in whole]
                    found[group, whole] = tuple(s for row in rows for s in row)
                found[group, inner] = found[group, whole][: len(group) * len(inner)]
        return found

    def _copied(self, entries: Sequence[int]) -> range:
        slots = tuple(self._number(0.0, stored=True) if e == NOTHING else e for e in entries)
        new = self.memory.new_slots(len(slots))
        self.memory.calls.append(Copy(slots, new[0], self.stage))
        return new


def grouped(filled: NDArray[np.bool_], most: int) -> list[Group]:
    """Return rows in groups of neighbours whose entries are alike; rows without any are left out."""
    found: list[list[int]] = []
    for k, row in enumerate(filled):
        if not row.any():
            continue
        last = found[-1] if found else []
        together = filled[[*last, k]]
        waste = len(together) * together.any(0).sum() - together.sum()
        if last and len(last) < most and waste <= MOST_ZEROS * together.sum():
            last.append(k)
        else:
            found.append([k])
    return [tuple(group) for group in found]


def beginnings(inners: Iterable[Inner]) -> dict[Inner, Inner]:
    """Return for each sequence the longest that begins with it, the longest ones first."""
    found: dict[Inner, Inner] = {}
    for inner in sorted(set(inners), key=len, reverse=True):
        wholes = (x for x in found if x[: len(inner)] == inner)
        found[inner] = next(wholes, inner)
    return found


def _inner_by(tiles: dict[tuple[Group, Group], Inner], side: int) -> dict[Group, list[Inner]]:
    found: dict[Group, list[Inner]] = {}
    for at, inner in tiles.items():
        found.setdefault(at[side], []).append(inner)
    return found


def copies(tiles: dict[tuple[Group, Group], Inner]) -> int:
    """Return how many entries are copied for tiles with inner indices in these orders."""
    wholes = (
        len(group) * len(whole)
        for side in (0, 1)
        for group, inners in _inner_by(tiles, side).items()
        for whole in {*beginnings(inners).values()}
    )
    return sum(wholes)


def _size(tile: tuple[tuple[Group, Group], Inner]) -> tuple[int, ...]:
    (i, j), inner = tile
    return len(i), len(j), len(inner), i[0], j[0]
