"""Conversion between rows of W states in the user's layout and values with a lane for each state.

An input is a pointer and a stride from state to state, counted in numbers; stride 0 is one state for all.
Where W neighbouring numbers of each state are read, W rows are loaded whole and transposed in registers;
the last square of a row may overlap the one before. What is narrower is loaded number by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hinge.targets.llvm.text import Writer


@dataclass
class Rows:
    """An array at the W states of one block: the address of each lane's row."""

    w: Writer
    rows: list[str]
    size: int

    @classmethod
    def at(cls, w: Writer, base: str, stride: str, state: str, size: int) -> Rows:
        """Write the addresses of the rows from a state on."""
        first = w.at(base, w.let(f"mul i64 {state}, {stride}"), w.lanes.scalar)
        rows = [first]
        for _ in range(1, w.lanes.width):
            rows.append(w.at(rows[-1], stride, w.lanes.scalar))
        return cls(w, rows, size)

    def load(self, wanted: Sequence[int]) -> dict[int, str]:
        """Write the loads of some numbers of each row, and return the values by their number."""
        w, found = self.w, dict[int, str]()
        needed = set(wanted)
        for square in _squares(self.size, w.lanes.width, needed):
            loaded = [w.load(self._row(lane, square.start)) for lane in range(w.lanes.width)]
            found.update(zip(square, w.transposed(loaded), strict=True))
        for k in sorted(needed - found.keys()):
            found[k] = w.gather([self._row(lane, k) for lane in range(w.lanes.width)])
        return found

    def store(self, values: Callable[[int], str]) -> None:
        """Write the stores of all numbers of each row."""
        w, done = self.w, set[int]()
        everything = set(range(self.size))
        for square in _squares(self.size, w.lanes.width, everything):
            turned = w.transposed([values(k) for k in square])
            for lane, x in enumerate(turned):
                w.store(x, self._row(lane, square.start))
            done.update(square)
        for k in sorted(everything - done):
            w.scatter(values(k), [self._row(lane, k) for lane in range(w.lanes.width)])

    def shifted(self, k: str) -> list[str]:
        """Write the addresses of number k of each row."""
        return [self.w.at(row, k, self.w.lanes.scalar) for row in self.rows]

    def _row(self, lane: int, k: int) -> str:
        return self.w.at(self.rows[lane], k, self.w.lanes.scalar)


def _squares(size: int, width: int, needed: set[int]) -> Iterator[range]:
    """Yield the squares of a row with enough needed numbers to be loaded as a whole."""
    if width == 1 or size < width:
        return
    starts = [*range(0, size - width + 1, width), *([size - width] if size % width else [])]
    for s in starts:
        square = range(s, s + width)
        if 2 * len(needed.intersection(square)) > width:
            yield square
