"""Tapes as native code: a few states at a time go through all steps and stay in the nearest cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.targets.llvm.batch import aligned
from hinge.targets.llvm.program import LEAST_WORK, NativeProgram, Piece
from hinge.targets.llvm.tape_text import COPY, HEAD, MOVE, OP, RECORD, roll
from hinge.targets.llvm.threads import run_parts, split
from hinge.targets.tape import Stretch, Tape

Array = NDArray[Any]

#: The bytes of all rows of the states that go through the steps together, and the fewest blocks of states.
NEAR, LEAST_BLOCKS = 24_000, 4


class NativePlayer:
    """A tape whose programs are all native, run without Python from step to step."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.programs = [_native(op.program) for op in tape.ops]

    def run(self, stretch: Stretch) -> None:
        """Run over a stretch of steps, in threads where there is enough to do."""
        n, steps = stretch.states, stretch.stop - stretch.first
        if n == 0 or steps == 0:
            return
        width = self.programs[0].width("float64")
        width = width if n >= width else 1
        pieces = [program.piece("float64", width) for program in self.programs]
        row = 8 * sum(self.tape.lengths.values())
        size = width * max(LEAST_BLOCKS, NEAR // max(1, row) // width)
        function = roll()

        def work(start: int, stop: int) -> None:
            spaces = [piece.work_space() for piece in pieces]
            buffers = self._buffers(stretch, min(size + width, stop - start))
            for at, end in _chunks(start, stop, size, width):
                plan = self._plan(stretch, pieces, spaces, buffers, at, end)
                function(plan.ctypes.data)
            for piece, space in zip(pieces, spaces, strict=True):
                piece.spare.append(space)

        run_parts(work, list(split(n, width, LEAST_WORK // max(1, self.tape.operations * steps))))

    def _buffers(self, stretch: Stretch, states: int) -> dict[str, Array]:
        """Return work space for so many states."""
        given = (*stretch.arrays, *stretch.tables)
        lengths = {name: k for name, k in self.tape.lengths.items() if name not in given}
        return {name: aligned(states * k, "float64").reshape(states, k) for name, k in lengths.items()}

    def _plan(
        self,
        stretch: Stretch,
        pieces: list[Piece],
        spaces: list[Array],
        buffers: Mapping[str, Array],
        start: int,
        stop: int,
    ) -> NDArray[np.int64]:
        """Return the words of a plan for the states start … stop − 1."""
        tape, states = self.tape, stop - start
        places = {name: _place(x, 0) for name, x in buffers.items()}
        places |= {name: _place(x, start) for name, x in stretch.arrays.items()}
        places |= {name: _row(x, start) for name, x in stretch.tables.items()}
        moves = [
            (k, n, stretch.tables[name].strides[0])
            for k, op in enumerate(tape.ops)
            for n, name in enumerate(op.inputs)
            if name in stretch.tables
        ]
        sizes = (len(HEAD), len(OP) * len(pieces), len(MOVE) * len(moves))
        sizes = (*sizes, len(COPY) * len(tape.copies), len(RECORD) * len(stretch.records))
        starts = np.cumsum((0, *sizes)).tolist()
        total = starts[-1] + sum(2 * (len(op.inputs) + len(op.outputs)) for op in tape.ops)
        words = np.zeros(total, np.int64)
        base, at, inputs = words.ctypes.data, starts[-1], list[int]()
        for k, (op, piece, space) in enumerate(zip(tape.ops, pieces, spaces, strict=True)):
            used = [places[name] for name in (*op.inputs, *op.outputs)]
            inputs.append(at)
            words[at : at + len(used)] = [address for address, _ in used]
            words[at + len(used) : at + 2 * len(used)] = [stride for _, stride in used]
            record = (piece.code.address, base + 8 * at, base + 8 * (at + len(used)))
            record = (*record, base + 8 * (at + len(op.inputs)), space.ctypes.data)
            words[starts[1] + len(OP) * k : starts[1] + len(OP) * (k + 1)] = record
            at += 2 * len(used)
        words[starts[2] : starts[3]] = [x for k, n, skip in moves for x in (base + 8 * (inputs[k] + n), skip)]
        words[starts[3] : starts[4]] = [
            x
            for target, source in tape.copies.items()
            for x in (places[source][0], places[target][0], 8 * states * tape.lengths[source])
        ]
        words[starts[4] : starts[5]] = [
            x
            for name, kept in stretch.records.items()
            for x in (
                places[name][0],
                kept.ctypes.data + start * kept.strides[0] + stretch.begin * kept.strides[1],
                8 * tape.lengths[name],
                kept.strides[0],
                kept.strides[1],
            )
        ]
        head = {
            "ops": base + 8 * starts[1],
            "op_count": len(pieces),
            "moves": base + 8 * starts[2],
            "move_count": len(moves),
            "copies": base + 8 * starts[3],
            "copy_count": len(tape.copies),
            "records": base + 8 * starts[4],
            "record_count": len(stretch.records),
            "states": states,
            "first": stretch.first,
            "stop": stretch.stop,
            "every": stretch.every,
            "watched": places[tape.watched][0],
            "watched_length": tape.lengths[tape.watched],
            "bad": stretch.bad.ctypes.data + 8 * start,
        }
        words[: len(HEAD)] = [head[name] for name in HEAD]
        return words


def _native(program: Any) -> NativeProgram:
    assert isinstance(program, NativeProgram)
    return program


def _place(x: Array, start: int) -> tuple[int, int]:
    """Return the address of the row of a state, and how many numbers lie between rows."""
    if x.ndim == 1:
        return x.ctypes.data, 0
    return x.ctypes.data + start * x.strides[0], x.strides[0] // 8


def _row(x: Array, start: int) -> tuple[int, int]:
    """Return the same of the first row of a table."""
    return _place(x[0], start)


def _chunks(start: int, stop: int, size: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield parts of `size` states; one that would have less than W is part of the one before."""
    while start < stop:
        end = stop if stop - start < size + width else start + size
        yield start, end
        start = end
