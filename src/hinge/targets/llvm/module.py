"""A program as the text of an LLVM module with one function, `run`, over a batch of states.

    void run(const T **inputs, const int64 *strides, T **outputs, T *scratch, int64 start, int64 stop)

Inputs and outputs are in the user's layout; `strides` are those of the inputs, then of the outputs. States
start … stop − 1 are worked on in blocks of W; where W does not divide their number the last block overlaps
the one before it, so there must be W of them at least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hinge.kernels import count, fused
from hinge.sweeps import Call, Code, DenseCall
from hinge.targets.llvm.lanes import Rows
from hinge.targets.llvm.loops import Hybrid
from hinge.targets.llvm.memory import InMemory
from hinge.targets.llvm.plan import Run, segments, written
from hinge.targets.llvm.rolled import Rolled
from hinge.targets.llvm.solve import is_written_out, operations_of
from hinge.targets.llvm.tabled import Common, Tabled
from hinge.targets.llvm.text import Lanes, Writer, whole_text
from hinge.targets.llvm.unrolled import Unrolled

Shape: TypeAlias = Literal["U", "H", "R", "T"]

#: The shapes of final code; T is that of quick code.
SHAPES: tuple[Shape, ...] = ("U", "H", "R")
#: Limits by number of operations: always unrolled; unrolled unless loops save much; with loops (above it only
#: the time to compile matters).
FEW, MOST_UNROLLED, MOST_HYBRID = 500, 4000, 16000
#: About how many lines the answer to a law takes, and a solve with loops.
LINES_OF_LAW, LINES_OF_LOOPS = 8000, 200
#: Loops save much if the code with loops has at most this share of all operations: it then stays in the
#: processor's caches.
WORTH_LOOPS = 0.6

#: Where the stack grows at run time, by these few bytes, LLVM addresses spilled values from another register
#: than the stack pointer, by instructions that are a byte shorter. Code that does not fit the instruction
#: cache, some 30 KB, from this many lines of text on, waits for the decoder: it takes up to a fifth less.
#: Shape R needs its registers for addresses.
LONG_TEXT = 3700
ROOM = """\
  %few = and i64 %stop, 15
  %some = add i64 %few, 1
  %room = alloca i8, i64 %some
  store volatile i8 0, ptr %room
"""
SIGNATURE = "ptr %inputs, ptr %strides, ptr %outputs, ptr noalias %scratch, i64 %start, i64 %stop"


@dataclass(frozen=True)
class Module:
    """The text of a module, the size of its scratch (in values), its shape, and what it calls."""

    text: str
    scratch: int
    shape: Shape
    common: Common | None = None


def choose_shape(code: Code) -> Shape:
    """Return the shape that is best for the size of the code."""
    if sum(count(k).total for k in {c.kernel for c in code.calls if isinstance(c, Call)}) > MOST_HYBRID:
        return "R"  # whatever the loops: every kernel is written once at least
    total, with_loops = code.operations().total, written(segments(code))
    if total <= (FEW if with_loops <= WORTH_LOOPS * total else MOST_UNROLLED):
        return "U"
    return "H" if with_loops <= MOST_HYBRID else "R"


def lines_of(code: Code, shape: Shape) -> int:
    """Return about how many lines a module has: steps, loads and stores, and solves."""
    calls = [c for c in code.calls if isinstance(c, Call)]
    solves = sum(_lines_of_solve(c) for c in code.calls if isinstance(c, DenseCall))
    if shape == "U":
        ends = sum(map(len, code.inputs.values())) + sum(r.values.size for r in code.results)
        return solves + 2 * ends + sum(len(fused(c.kernel)) for c in calls)
    if shape == "H":
        runs = [part for part in segments(code) if isinstance(part, Run)]
        kernels = [c.kernel for run in runs for c in (run.first if run.is_loop else run.calls)]
    else:
        kernels = list({id(c.kernel): c.kernel for c in calls}.values())
    return solves + sum(len(fused(k)) + 2 * (len(k.inputs) + len(k.outputs)) for k in kernels)


def _lines_of_solve(c: DenseCall) -> int:
    if c.law is not None:
        return LINES_OF_LAW
    return operations_of(c) if is_written_out(c) else LINES_OF_LOOPS


def write_module(code: Code, lanes: Lanes, shape: Shape) -> Module:
    """Return the text of the module."""
    w = Writer(lanes)
    inputs = [_array(w, "inputs", k, k) for k in range(len(code.inputs))]
    outputs = [_array(w, "outputs", k, len(inputs) + k) for k in range(len(code.results))]
    last = w.let(f"sub i64 %stop, {lanes.width}")
    blocks = w.let("sub i64 %stop, %start")
    blocks = w.let(f"add i64 {blocks}, {lanes.width - 1}")
    blocks = w.let(f"sdiv i64 {blocks}, {lanes.width}")
    with w.loop(0, blocks) as block:
        state = _state(w, block, last)
        rows = [
            Rows.at(w, *array, state, len(slots))
            for array, slots in zip(inputs, code.inputs.values(), strict=True)
        ]
        states = shaped(w, code, shape)
        states.load(rows)
        states.run()
        for array, result in zip(outputs, code.results, strict=True):
            values = result.values.ravel().tolist()
            states.store(Rows.at(w, *array, state, len(values)), values)
    w.do("ret void")
    grows = shape in ("U", "H") and len(w.lines) >= LONG_TEXT
    common = states.common if isinstance(states, Tabled) else None
    text = whole_text(w, f"define void @run({SIGNATURE})", ROOM if grows else "")
    return Module(text, states.places.size, shape, common)


def shaped(w: Writer, code: Code, shape: Shape) -> InMemory:
    """Return a block of states in a shape."""
    if shape == "U":
        return Unrolled(w, code)
    if shape == "T":
        return Tabled(w, code)
    return Hybrid(w, code, segments(code)) if shape == "H" else Rolled(w, code, segments(code, 1))


def _array(w: Writer, what: str, k: int, stride: int) -> tuple[str, str]:
    """Write the loads of an array's address and stride."""
    pointer = w.let(f"load ptr, ptr {w.at(f'%{what}', k, 'ptr')}")
    return pointer, w.let(f"load i64, ptr {w.at('%strides', stride, 'i64')}")


def _state(w: Writer, block: str, last: str) -> str:
    """Write the first state of a block; the last block may overlap the one before."""
    first = w.let(f"add i64 %start, {w.let(f'mul i64 {block}, {w.lanes.width}')}")
    early = w.let(f"icmp slt i64 {first}, {last}")
    return w.let(f"select i1 {early}, i64 {first}, i64 {last}")
