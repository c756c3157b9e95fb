"""Schedules as native code: a few states at a time go through all steps, within the L1 cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.targets.llvm.batch import aligned
from hinge.targets.llvm.native_program import LEAST_WORK, NativeProgram, Piece
from hinge.targets.llvm.steps_text import COPY, HEAD, MOVE, OP, RECORD, roll
from hinge.targets.llvm.threads import run_parts, split
from hinge.targets.step_schedule import StepSchedule, Stretch

Array = NDArray[Any]
Words = NDArray[np.int64]

#: The bytes of all rows of the states that go through the steps together, and the fewest blocks of states.
NEAR, LEAST_BLOCKS = 24_000, 4


class NativeRunner:
    """A schedule whose programs are all native, run without Python from step to step."""

    def __init__(self, schedule: StepSchedule) -> None:
        self.schedule = schedule
        self.programs = [_native(op.program) for op in schedule.ops]

    def prepared(self, stretch: Stretch) -> Callable[[], None]:
        """Return a function that runs over a stretch repeatedly; the plan of few states is made once."""
        n = stretch.states
        width = self.programs[0].width("float64")
        if not 0 < n < LEAST_BLOCKS * width:
            return partial(self.run, stretch)
        pieces = [program.piece("float64", width if n >= width else 1) for program in self.programs]
        spaces = [piece.work_space() for piece in pieces]
        plan, function = _Plan(self.schedule, stretch, pieces, spaces, n), roll()

        def run() -> None:
            function(plan.of(0, n))

        return run

    def run(self, stretch: Stretch) -> None:
        """Run over a stretch of steps, in threads where there is enough to do."""
        n, steps = stretch.states, stretch.stop - stretch.first
        if n == 0 or steps == 0:
            return
        width = self.programs[0].width("float64")
        width = width if n >= width else 1
        pieces = [program.piece("float64", width) for program in self.programs]
        row = 8 * sum(self.schedule.lengths.values())
        size = width * max(LEAST_BLOCKS, NEAR // max(1, row) // width)
        function = roll()

        def work(start: int, stop: int) -> None:
            spaces = [piece.work_space() for piece in pieces]
            plan = _Plan(self.schedule, stretch, pieces, spaces, min(size + width, stop - start))
            for at, end in _chunks(start, stop, size, width):
                function(plan.of(at, end - at))
            for piece, space in zip(pieces, spaces, strict=True):
                piece.spare.append(space)

        run_parts(work, list(split(n, width, LEAST_WORK // max(1, self.schedule.operations * steps))))


class _Place(NamedTuple):
    """The address of the row of state 0, and the stride between rows in bytes."""

    address: int
    stride: int

    def at(self, state: int) -> int:
        return self.address + state * self.stride


class _Plan:
    """The words that the native loop reads, for some of the states at a time.

    All addresses are linear in the number of the first state, so that they are worked out for two of them.
    """

    def __init__(
        self,
        schedule: StepSchedule,
        stretch: Stretch,
        pieces: Sequence[Piece],
        spaces: Sequence[Array],
        most: int,
    ) -> None:
        self.schedule, self.stretch, self.kept_alive = schedule, stretch, (pieces, spaces)
        self.codes = [(p.code.address, s.ctypes.data) for p, s in zip(pieces, spaces, strict=True)]
        given = {n: _place(x) for n, x in stretch.arrays.items()}
        given |= {n: _place(x[0]) for n, x in stretch.tables.items()}
        own = {n: k for n, k in schedule.lengths.items() if n not in given}
        self.rooms = {n: aligned(most * k, "float64").reshape(most, k) for n, k in own.items()}
        self.given: Mapping[str, _Place] = given
        self.own = {n: _place(x) for n, x in self.rooms.items()}
        self.kept = [(n, _place(x[:, stretch.begin :]), x.strides[1]) for n, x in stretch.records.items()]
        self.bad = stretch.bad.ctypes.data
        uses = [(k, n, name) for k, op in enumerate(schedule.ops) for n, name in enumerate(op.inputs)]
        self.moves = [
            (k, n, stretch.tables[name].strides[0]) for k, n, name in uses if name in stretch.tables
        ]
        counts = (len(self.codes), len(self.moves), len(schedule.copies), len(self.kept))
        sizes = [len(HEAD), *(n * len(r) for n, r in zip(counts, (OP, MOVE, COPY, RECORD), strict=True))]
        sizes += [2 * (len(op.inputs) + len(op.outputs)) for op in schedule.ops]
        self.starts: list[int] = np.cumsum([0, *sizes]).tolist()
        self.words: Words = np.zeros(self.starts[-1], np.int64)
        self.address = self.words.ctypes.data
        self.states = 0
        self.first = self.slope = self.words

    def of(self, start: int, states: int) -> int:
        """Return the address of the words for states from this one on, valid for one run."""
        if states != self.states:
            self.states = states
            self.first = self._words(0)
            self.slope = self._words(1) - self.first
        np.multiply(self.slope, start, out=self.words)
        self.words += self.first
        return self.address

    def _words(self, start: int) -> Words:
        found = [*self._head(start), *self._ops(), *self._moves(), *self._copies(start)]
        return np.array([*found, *self._records(start), *self._tables(start)], np.int64)

    def _where(self, word: int) -> int:
        return self.address + 8 * word

    def _row(self, name: str, start: int) -> _Place:
        """Return the address of a state's row in a buffer, and the stride between rows in bytes."""
        if name in self.own:
            return self.own[name]
        return _Place(self.given[name].at(start), self.given[name].stride)

    def _head(self, start: int) -> list[int]:
        schedule, stretch = self.schedule, self.stretch
        first = dict(
            zip(("ops", "moves", "copies", "records"), map(self._where, self.starts[1:]), strict=False)
        )
        found = {
            **first,
            "op_count": len(self.codes),
            "move_count": len(self.moves),
            "copy_count": len(schedule.copies),
            "record_count": len(self.kept),
            "states": self.states,
            "first": stretch.first,
            "stop": stretch.stop,
            "every": stretch.every,
            "watched": self._row(schedule.watched, start).address,
            "watched_length": schedule.lengths[schedule.watched],
            "bad": self.bad + 8 * start,
        }
        return [found[name] for name in HEAD]

    def _ops(self) -> Iterator[int]:
        for op, (code, space), at in zip(self.schedule.ops, self.codes, self.starts[5:], strict=False):
            used = len(op.inputs) + len(op.outputs)
            yield from (
                code,
                self._where(at),
                self._where(at + used),
                self._where(at + len(op.inputs)),
                space,
            )

    def _moves(self) -> Iterator[int]:
        for k, n, skip in self.moves:
            yield from (self._where(self.starts[5 + k] + n), skip)

    def _copies(self, start: int) -> Iterator[int]:
        for target, source in self.schedule.copies.items():
            places = self._row(source, start).address, self._row(target, start).address
            yield from (*places, 8 * self.states * self.schedule.lengths[source])

    def _records(self, start: int) -> Iterator[int]:
        for name, place, skip in self.kept:
            length = 8 * self.schedule.lengths[name]
            yield from (self._row(name, start).address, place.at(start), length, place.stride, skip)

    def _tables(self, start: int) -> Iterator[int]:
        """Yield for each program the addresses of its arrays, then the numbers between their rows."""
        for op in self.schedule.ops:
            used = [self._row(name, start) for name in (*op.inputs, *op.outputs)]
            yield from (place.address for place in used)
            yield from (place.stride // 8 for place in used)


def _native(program: Any) -> NativeProgram:
    assert isinstance(program, NativeProgram)
    return program


def _place(x: Array) -> _Place:
    """Return the address and stride of rows; (n,) is one row for all states."""
    return _Place(x.ctypes.data, 0 if x.ndim == 1 else x.strides[0])


def _chunks(start: int, stop: int, size: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield parts of `size` states; a last part of less than W joins the one before."""
    while start < stop:
        end = stop if stop - start < size + width else start + size
        yield start, end
        start = end
