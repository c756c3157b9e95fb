"""Products of operators as matrices, at the world: by tiles, with known zeros left out.

A tile is a few rows of the left factor and a few columns of the right one. Columns are copied once to where
their rows lie side by side; what a tile needs of them, as the ancestors of a body or its descendants, is then
a stretch of rows. Tiles of one size share a kernel.
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
from hinge.sweeps.slots import Room
from hinge.sweeps.wide import Constant
from hinge.tree import WORLD

#: Rows and columns of a tile: its sums and one column of each factor fit into sixteen registers.
ROWS, COLUMNS = 2, 4
#: A row or column joins a group of others if at most this share of the group's entries are zeros.
MOST_ZEROS = 0.34
#: Rows that lie between those that a tile needs are read too if they are not more than this share.
MOST_WIDE = 1.25
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
    """A call that multiplies rows and columns: `left` and `right` by inner index, then by row or column."""

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
#: For groups of columns the rows that lie one after the other, and their slots.
Lying = dict[Group, tuple[Inner, tuple[int, ...]]]
#: Entries that one call copies.
CHUNK = 16


class Packs:
    """Matrices as tiles read them: slots that lie side by side, by groups and inner indices.

    Copies are made once for all products of a trace. The result of a product lies as its columns are grouped,
    so that it is not copied where it is the right factor of the next one.
    """

    def __init__(self, memory: Room, stage: int) -> None:
        self.memory, self.stage = memory, stage
        self._numbers: dict[float, int] = {}
        self._copied: dict[tuple[int, ...], tuple[int, ...]] = {}

    def plain(self, x: KnownBlock) -> NDArray[np.int64]:
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

    def columns(self, x: NDArray[np.int64], groups: Iterable[Group], lying: Lying) -> Lying:
        """Return for groups of columns how their rows lie, copied side by side where they do not yet."""
        found: Lying = {}
        for group in groups:
            rows = tuple(np.flatnonzero((x[:, list(group)] != NOTHING).any(1)).tolist())
            there = lying.get(group)
            if there is None or not set(rows) <= set(there[0]):
                there = rows, self.copy(x[np.ix_(rows, group)])
            found[group] = there
        return found

    def copy(self, entries: NDArray[np.int64]) -> tuple[int, ...]:
        """Return the slots of entries, row by row, copied side by side.

        What begins like something that was copied before is not copied again.
        """
        slots = tuple(self._number(0.0, stored=True) if e == NOTHING else e for e in entries.ravel().tolist())
        if slots not in self._copied:
            new = self.memory.new_slots(len(slots))
            for k in range(0, len(slots), CHUNK):
                self.memory.calls.append(Copy(slots[k : k + CHUNK], new[k], self.stage))
            for end in range(entries.shape[1], len(slots) + 1, entries.shape[1]):
                self._copied.setdefault(slots[:end], tuple(new[:end]))
        return self._copied[slots]

    def copy_longest_first(self, packs: Iterable[NDArray[np.int64]]) -> None:
        """Copy packs of entries in an order in which most begin like others: `copy` finds them."""
        for entries in sorted(packs, key=len, reverse=True):
            self.copy(entries)


class Multiplication:
    """Products of matrices of slots and numbers, each with its zeros, from the right."""

    def __init__(self, memory: Room, stage: int) -> None:
        self.memory, self.stage, self.packs = memory, stage, Packs(memory, stage)

    def run(self, factors: Sequence[KnownBlock], *, negative: bool, mirror: bool) -> KnownBlock:
        """Trace a product, or less it; with `mirror` it is symmetric, and one half is computed."""
        *lefts, found = factors
        lying: Lying = {}
        for k, left in reversed(list(enumerate(lefts))):
            last = k == 0
            found, lying = self._two(
                left, found, lying, negative=negative and last, mirror=mirror and last, last=last
            )
        return found

    def _two(
        self, left: KnownBlock, right: KnownBlock, lying: Lying, *, negative: bool, mirror: bool, last: bool
    ) -> tuple[KnownBlock, Lying]:
        """Return the product of two matrices, and how its slots lie."""
        a, b = self.packs.plain(left), self.packs.plain(right)
        filled = a != NOTHING, b != NOTHING
        rows, groups = grouped(filled[0], ROWS), grouped(filled[1].T, COLUMNS)
        columns = self.packs.columns(b, groups, lying)
        found = zeros(len(a), b.shape[1])
        # Of a factor of the next product, zeros within tiles are computed, so that tiles are alike.
        nonzero = filled[0].astype(int) @ filled[1].astype(int) >= (1 if last else 0)
        made: Lying = {}
        wanted: list[tuple[Group, Group, Sequence[int], Sequence[int] | None]] = []
        for j, i in product(groups, rows):
            shared = filled[0][list(i)].any(0) & filled[1][:, list(j)].any(1)
            if shared.any() and not (mirror and i[-1] < j[0]):
                wanted.append((i, j, *_window(np.flatnonzero(shared).tolist(), j, columns[j])))
        packs = [a[np.ix_(i, inner)].T for i, _, inner, _ in wanted]
        packs += [b[np.ix_(inner, j)] for _, j, inner, across in wanted if across is None]
        self.packs.copy_longest_first(packs)
        tiles: list[Tile] = []  # after all copies, so that what they store lies side by side
        for i, j, inner, there in wanted:
            slots = self.memory.new_slots(len(i) * len(j))
            down = self.packs.copy(a[np.ix_(i, inner)].T)
            across = self.packs.copy(b[np.ix_(inner, j)]) if there is None else tuple(there)
            tiles.append(Tile(down, across, len(i), len(j), slots[0], self.stage, negative))
            before, known = made.get(j, ((), ()))
            made[j] = (*before, *i), (*known, *slots)
            for (r, c), slot in zip(product(i, j), slots, strict=True):
                if nonzero[r, c]:
                    found[r, c] = Slot(slot)
                    if mirror and r > c and found[c, r] == 0.0:
                        found[c, r] = Slot(slot)
        self.memory.calls += tiles
        return found, made


def _window(
    inner: Sequence[int], j: Group, there: tuple[Inner, tuple[int, ...]]
) -> tuple[Sequence[int], Sequence[int] | None]:
    """Return the rows from the first to the last that is wanted as they lie, or these alone to be copied."""
    rows, slots = there
    start, end = rows.index(inner[0]), rows.index(inner[-1]) + 1
    if end - start > MOST_WIDE * len(inner) + 1:
        return inner, None
    return rows[start:end], slots[start * len(j) : end * len(j)]


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
