"""Schedules as native code: a few states at a time go through all steps, within the L1 cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.targets.llvm.batch import aligned
from hinge.targets.llvm.native_program import LEAST_WORK, NativeProgram
from hinge.targets.llvm.pieces import Piece
from hinge.targets.llvm.steps_text import COPY, HEAD, MOVE, OP, PARTS, RECORD, SIZES, roll
from hinge.targets.llvm.text import Dtype
from hinge.targets.llvm.threads import run_parts, split, threads
from hinge.targets.step_schedule import Steps, StepSchedule, Stretch

Array = NDArray[Any]
Words = NDArray[np.int64]

#: The bytes of all rows of the states that go through the steps together, and the fewest blocks of states.
NEAR, LEAST_BLOCKS = 24_000, 4


class NativeRunner:
    """A schedule whose programs are all native, run without Python from step to step."""

    def __init__(self, schedule: StepSchedule) -> None:
        self.schedule = schedule
        self.programs = [_native(op.program) for op in schedule.ops]

    def prepared(self, stretch: Stretch, steps: int = 1) -> Steps:
        """Return a function that runs over steps of a stretch, in threads where there is enough to do.

        Plans are made here, once; a call hands them to the native loop.
        """
        n, dtype = stretch.states, stretch.dtype
        width = self.programs[0].width(dtype)
        width = width if n >= width else 1
        return _Steps(self, stretch, width, LEAST_WORK // max(1, self.schedule.operations * steps))

    def pieces(self, dtype: Dtype, width: int, states: int) -> list[Piece]:
        """Return the machine code of all programs, about to run over so many states."""
        return [program.piece(dtype, width, states) for program in self.programs]

    def plan(self, stretch: Stretch, pieces: Sequence[Piece], width: int, states: int) -> _Plan:
        """Return what the native loop reads for so many of the states."""
        row = np.dtype(stretch.dtype).itemsize * sum(self.schedule.lengths.values())
        size = width * max(LEAST_BLOCKS, NEAR // max(1, row) // width)
        return _Plan(self.schedule, stretch, pieces, (size, width, states))


class _Steps:
    """The steps of parts of the states, each in a thread, or of all states in this one.

    Plans are made once, and again when better machine code has come or the number of threads is another.
    A part has `least` states or more.
    """

    def __init__(self, runner: NativeRunner, stretch: Stretch, width: int, least: int) -> None:
        self.runner, self.stretch, self.width, self.least = runner, stretch, width, least
        self.function = roll(stretch.dtype)
        self.plan_with(runner.pieces(stretch.dtype, width, stretch.states))

    def plan_with(self, pieces: Sequence[Piece]) -> None:
        """Make the plans of all parts."""
        n, self.threads = self.stretch.states, threads()
        self.parts = list(split(n, self.width, self.least)) if n else []
        self.pieces, self.is_quick = pieces, any(piece.facts.quick for piece in pieces)
        self.plans = {
            (start, stop): self.runner.plan(self.stretch, pieces, self.width, stop - start)
            for start, stop in self.parts
        }
        self.address = self.plans[self.parts[0]].address if self.parts else 0

    def __call__(self, first: int, stop: int, begin: int = 0, row: int = 0) -> int:
        if self.is_quick:
            states = self.stretch.states * (stop - first)
            pieces = self.runner.pieces(self.stretch.dtype, self.width, states)
            if any(new is not old for new, old in zip(pieces, self.pieces, strict=True)):
                self.plan_with(pieces)
        if threads() != self.threads:
            self.plan_with(self.pieces)
        if len(self.parts) == 1:
            return self.function(self.address, 0, self.stretch.states, first, stop, begin, row)
        return self._share(first, stop, begin, row)

    def _share(self, first: int, stop: int, begin: int, row: int) -> int:
        found: list[int] = []

        def work(start: int, end: int) -> None:
            plan = self.plans[start, end]
            found.append(self.function(plan.address, start, end, first, stop, begin, row))

        if self.plans:
            run_parts(work, list(self.plans))
        return sum(found)


class _Place(NamedTuple):
    """The address of the row of state 0, and the bytes between the rows of states and of steps."""

    address: int
    stride: int
    along: int = 0

    def at(self, state: int) -> int:
        return self.address + state * self.stride


class _At(NamedTuple):
    """The first of the states that go together, their count, and the row of the tables for the first step."""

    state: int
    states: int
    row: int


class _Plan:
    """What the native loop reads, for some of the states at a time.

    All words are linear in the number of the first state, the count of states and the row of the tables, so
    that they are worked out for two of each.
    """

    def __init__(
        self,
        schedule: StepSchedule,
        stretch: Stretch,
        pieces: Sequence[Piece],
        sizes: tuple[int, int, int],
    ) -> None:
        size, width, all_states = sizes
        spaces = [piece.work_space() for piece in pieces]
        self.schedule, self.stretch, self.kept_alive = schedule, stretch, (pieces, spaces)
        self.itemsize = np.dtype(stretch.dtype).itemsize
        self.codes = [(p.code.address, s.ctypes.data) for p, s in zip(pieces, spaces, strict=True)]
        given = {n: _place(x) for n, x in stretch.arrays.items()}
        given |= {n: _place(x[0], x.strides[0]) for n, x in stretch.tables.items()}
        own = {n: k for n, k in schedule.lengths.items() if n not in given}
        most = min(size + width, all_states)
        self.rooms = {n: aligned(most * k, stretch.dtype).reshape(most, k) for n, k in own.items()}
        self.given: Mapping[str, _Place] = given
        self.own = {n: _place(x) for n, x in self.rooms.items()}
        self.kept = [(n, _place(x), x.strides[1]) for n, x in stretch.records.items()]
        self.bad = stretch.bad.ctypes.data
        uses = [(k, n, name) for k, op in enumerate(schedule.ops) for n, name in enumerate(op.inputs)]
        self.moves = [(k, n, given[name].along) for k, n, name in uses if name in stretch.tables]
        counts = (len(self.codes), len(self.moves), len(schedule.copies), len(self.kept))
        lengths = [len(HEAD), *(n * len(r) for n, r in zip(counts, (OP, MOVE, COPY, RECORD), strict=True))]
        lengths += [2 * (len(op.inputs) + len(op.outputs)) for op in schedule.ops]
        self.starts: list[int] = np.cumsum([0, *lengths]).tolist()
        length = self.starts[-1]
        self.plan: Words = np.zeros(len(SIZES) + len(PARTS) * length, np.int64)
        self.address = self.plan.ctypes.data
        self.plan[: len(SIZES)] = length, size, size + width
        _, fixed, *slopes = self.plan[len(SIZES) :].reshape(len(PARTS), length)
        fixed[:] = self._words(_At(0, 0, 0))
        for k, slope in enumerate(slopes):
            slope[:] = self._words(_At(*(int(k == n) for n in range(len(slopes))))) - fixed

    def _words(self, at: _At) -> Words:
        found = [*self._head(at), *self._ops(), *self._moves(), *self._copies(at)]
        return np.array([*found, *self._records(at), *self._tables(at)], np.int64)

    def _where(self, word: int) -> int:
        return self.address + 8 * (len(SIZES) + word)

    def _row(self, name: str, at: _At) -> _Place:
        """Return the address of a state's row in a buffer, and the stride between rows in bytes."""
        if name in self.own:
            return self.own[name]
        found = self.given[name]
        return _Place(found.at(at.state) + found.along * at.row, found.stride)

    def _head(self, at: _At) -> list[int]:
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
            "states": at.states,
            "every": stretch.every,
            "watched": self._row(schedule.watched, at).address,
            "watched_length": schedule.lengths[schedule.watched],
            "bad": self.bad + 8 * at.state,
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

    def _copies(self, at: _At) -> Iterator[int]:
        for target, source in self.schedule.copies.items():
            places = self._row(source, at).address, self._row(target, at).address
            yield from (*places, self.itemsize * at.states * self.schedule.lengths[source])

    def _records(self, at: _At) -> Iterator[int]:
        for name, place, skip in self.kept:
            length = self.itemsize * self.schedule.lengths[name]
            yield from (self._row(name, at).address, place.at(at.state), length, place.stride, skip)

    def _tables(self, at: _At) -> Iterator[int]:
        """Yield for each program the addresses of its arrays, then the numbers between their rows."""
        for op in self.schedule.ops:
            used = [self._row(name, at) for name in (*op.inputs, *op.outputs)]
            yield from (place.address for place in used)
            yield from (place.stride // self.itemsize for place in used)


def _native(program: Any) -> NativeProgram:
    assert isinstance(program, NativeProgram)
    return program


def _place(x: Array, along: int = 0) -> _Place:
    """Return the address and stride of rows; (n,) is one row for all states."""
    return _Place(x.ctypes.data, 0 if x.ndim == 1 else x.strides[0], along)
