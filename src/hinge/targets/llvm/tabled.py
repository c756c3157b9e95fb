"""Shape T: no kernel is written out; a loop reads from tables what to do with which numbers.

Each step of each call is a row: where its result goes, and where its operands are. A sum, a product and both
fused are all x y + z, with 1 for a factor or −0 for the summand and perhaps other signs, which changes no bit
of them; so nearly all rows are run by one loop without branches. The function that runs rows is a module of
its own, the same for all programs with the same kinds of operations, so that it is compiled once. What is
left is little text, and it runs some three times as long as the other shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import OPS, Kernel, fused
from hinge.sweeps import Call, Code, DenseCall
from hinge.targets.llvm.memory import InMemory
from hinge.targets.llvm.plan import Run, kernel_of
from hinge.targets.llvm.rolled import placed
from hinge.targets.llvm.straight import write_operation
from hinge.targets.llvm.text import Lanes, Writer, whole_text

Integers = NDArray[np.int64]

#: The numbers of a row. An operation with more operands than fit takes several rows.
ROW = 4
#: x y + z, what most rows are; a row for another operation has its name.
SUM = "fma"
#: What a row of x y + z negates: the first factor, the summand. The bits are added to places in bytes.
FACTOR, SUMMAND = 1, 2
#: The summand of a product without one.
NOTHING = -0.0


class Common(NamedTuple):
    """A function that many modules call, and the text of its own module."""

    name: str
    text: str


class Steps:
    """The steps of a kernel as rows.

    Rows hold numbers of values: first the inputs, then the other values, the outputs of the kernel from
    `outputs` on, and `constants` from `after` on. Values that are outputs as they stand are `direct`, with
    the numbers of these outputs.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.inputs = len(kernel.inputs)
        self.outputs = self.inputs + len(kernel.instructions)
        self.after = self.outputs + len(kernel.outputs)
        self.constants = [1.0, NOTHING]
        self.kinds: list[str] = []
        self.direct: dict[int, int] = {}
        rows: list[tuple[int, ...]] = []
        constant = self._instructions(kernel, rows)
        self._outputs(kernel, rows, constant)
        table = np.array(rows, np.int64).reshape(-1, ROW + 1)
        self.table, self.signs = table[:, :ROW], table[:, ROW]

    @property
    def size(self) -> int:
        """The number of values."""
        return self.after + len(self.constants)

    def _constant(self, c: float) -> int:
        self.constants.append(c)
        return self.size - 1

    def _instructions(self, kernel: Kernel, rows: list[tuple[int, ...]]) -> dict[int, int]:
        """Add the rows of instructions, and return the numbers of those that are constants."""
        one, nothing, known = self.after, self.after + 1, dict[int, int]()
        kinds = self.kinds
        for value, op, operands, constant in fused(kernel):
            if constant is not None:
                known[value] = self._constant(constant)
                continue
            if known:
                operands = [known.get(k, k) for k in operands]  # noqa: PLW2901
            if op == "mul":
                row: tuple[int, ...] = (value, *operands, nothing, 0)
            elif op in SIGNS:
                row = (value, *operands, SIGNS[op])
            elif op == "add":
                row = (value, operands[0], one, operands[1], 0)
            elif op == "sub":
                row = (value, operands[1], one, operands[0], FACTOR)
            else:
                numbers = [value, *operands, *[0] * (ROW * _rows_of(op) - 1 - len(operands))]
                rows += [(*numbers[k : k + ROW], 0) for k in range(0, len(numbers), ROW)]
                kinds += [op] * _rows_of(op)
                continue
            rows.append(row)
            kinds.append(SUM)
        return known

    def _outputs(self, kernel: Kernel, rows: list[tuple[int, ...]], known: dict[int, int]) -> None:
        """Add a row for each output that is not a value of its own as it stands."""
        for k, o in enumerate(kernel.outputs, self.outputs):
            if o.value is None:
                assert o.constant is not None
                source = self._constant(o.constant)
            else:
                source = known.get(o.value, o.value)
            if self.inputs <= source < self.outputs and source not in self.direct and not o.negative:
                self.direct[source] = k
            else:
                rows.append((k, source, self.after, self.after + 1, FACTOR * o.negative))
                self.kinds.append(SUM)


#: The signs of fused products: x y + z, x y − z, z − x y.
SIGNS = {"fma": 0, "fms": SUMMAND, "fnma": FACTOR}


class Tabled(InMemory):
    """A block of states: for each stretch of calls between solves, one loop over rows of the same kind."""

    def __init__(self, w: Writer, code: Code) -> None:
        super().__init__(w, code, placed(code, [_alone(c) for c in code.calls]))
        self.steps: dict[int, Steps] = {}
        for c in code.calls:
            if isinstance(c, Call) and id(c.kernel) not in self.steps:
                self.steps[id(c.kernel)] = Steps(c.kernel)
        self.temporary = self.places.more(max((s.outputs for s in self.steps.values()), default=0))
        self._pool = self._known()
        self._first = self.places.more(len(self._pool))
        self._of = np.zeros(code.slots, np.int64)
        self._of[list(self.places.of)] = list(self.places.of.values())

    def _known(self) -> Integers:
        """Return all constants and parameters, each once, as bits in order."""
        numbers = [x for s in self.steps.values() for x in s.constants]
        numbers += [x for c in self.code.calls if isinstance(c, Call) for x in c.params]
        return np.unique(_bits(numbers))

    def _places_of(self, numbers: NDArray[np.float64] | Sequence[float]) -> Integers:
        return self._first + np.searchsorted(self._pool, _bits(numbers))

    def run(self) -> None:
        """Write the loops and the solves between them."""
        self._copy_known()
        calls: list[Call] = []
        for c in self.code.calls:
            if isinstance(c, DenseCall):
                self._stretch(calls)
                calls = []
                self.solve(c)
                self.values.clear()
            else:
                calls.append(c)
        self._stretch(calls)

    def _copy_known(self) -> None:
        """Write the copy of constants and parameters to scratch."""
        if len(self._pool):
            w, table = self.w, self.numbers(self._pool.view(np.float64))
            place = w.at("%scratch", self._first)
            with w.loop(0, len(self._pool)) as k:
                w.store(self.number_at(table, k), place, k)

    # Tables.

    def _rows(self, calls: Sequence[Call]) -> tuple[Integers, list[str]]:
        """Return the rows of calls, with places in bytes, and their kinds."""
        groups: dict[tuple[int, int], list[int]] = {}
        for n, c in enumerate(calls):
            groups.setdefault(kernel_of(c), []).append(n)
        found: list[Integers] = [np.empty((0, ROW), np.int64)] * len(calls)
        for (key, _), members in groups.items():
            rows = self._group([calls[n] for n in members], self.steps[key])
            for n, own in zip(members, rows, strict=True):
                found[n] = own
        kinds = [kind for c in calls for kind in self.steps[id(c.kernel)].kinds]
        return np.concatenate(found), kinds

    def _group(self, calls: Sequence[Call], steps: Steps) -> Integers:
        """Return the rows of each of some calls of one kernel, which take as many loads and parameters."""
        places = np.empty((len(calls), steps.size), np.int64)
        loads, inputs, outputs, after = len(calls[0].loads), steps.inputs, steps.outputs, steps.after
        places[:, :loads] = self._of[_table([c.loads for c in calls])]
        places[:, loads:inputs] = self._places_of(_table([c.params for c in calls], np.float64))
        places[:, inputs:outputs] = self.temporary + np.arange(outputs - inputs)
        places[:, outputs:after] = self._of[_table([c.stores for c in calls])]
        places[:, after:] = self._places_of(steps.constants)
        places[:, list(steps.direct)] = places[:, list(steps.direct.values())]
        rows = places[:, steps.table] * (self.w.lanes.width * self.w.lanes.bits // 8)
        rows[:, :, 1] += steps.signs & FACTOR
        rows[:, :, 3] += steps.signs >> 1
        return rows

    def _stretch(self, calls: Sequence[Call]) -> None:
        """Write the run over the rows of some calls."""
        if not calls:
            return
        rows, kinds = self._rows(calls)
        order = {kind: n for n, kind in enumerate(self.kinds)}
        numbers = np.array([order[k] for k in kinds], np.int64)
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        lengths = np.diff(starts, append=len(numbers))
        per = np.array([_rows_of(kind) for kind in order])[numbers[starts]]
        segments = self.integers(np.column_stack([numbers[starts], starts, lengths // per]).ravel())
        name = self.common.name
        self.w.declared[f"declare void @{name}(ptr, ptr, ptr, i64)"] = None
        table = self.integers(rows.ravel())
        self.w.do(f"call void @{name}(ptr %scratch, ptr {table}, ptr {segments}, i64 {len(starts)})")

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of rows, in the order of their numbers."""
        return sorted({kind for s in self.steps.values() for kind in s.kinds})

    @cached_property
    def common(self) -> Common:
        """The function that runs rows."""
        return write_steps(self.w.lanes, self.kinds)


def write_steps(lanes: Lanes, kinds: Sequence[str]) -> Common:
    """Return the module of the function that runs rows of these kinds, whose name tells what it does.

    Segments are runs of rows of a kind: its number, the first row, and how many operations they are.
    """
    w = Writer(lanes)
    with w.loop(0, "%count") as s:
        segment = w.at("%segments", w.let(f"mul i64 {s}, 3"), "i32")
        which, first, count = (_integer_at(w, segment, k) for k in range(3))
        start = w.at("%table", w.let(f"mul i64 {first}, {ROW}"), "i32")
        labels, done = [w.block("kind") for _ in kinds], w.block("done")
        cases = " ".join(f"i64 {n}, label %{label}" for n, label in enumerate(labels))
        w.do(f"switch i64 {which}, label %{done} [ {cases} ]")
        for label, kind in zip(labels, kinds, strict=True):
            w.start(label)
            with w.loop(0, count) as n, w.own_circles():
                _write_step(w, kind, w.at(start, w.let(f"mul i64 {n}, {ROW * _rows_of(kind)}"), "i32"))
            w.do(f"br label %{done}")
        w.start(done)
    w.do("ret void")
    text = whole_text(w, "define void @{name}(ptr noalias %scratch, ptr %table, ptr %segments, i64 %count)")
    name = f"hinge_steps_{sha256(text.encode()).hexdigest()[:32]}"
    return Common(name, text.replace("{name}", name, 1))


def _write_step(w: Writer, kind: str, row: str) -> None:
    """Write the operation of a row."""
    numbers = [w.let(f"load i32, ptr {w.at(row, k, 'i32')}") for k in range(1 + _operands(kind))]
    if kind == SUM:
        found = w.fma(_signed(w, numbers[1]), w.load(_at(w, numbers[2])), _signed(w, numbers[3]))
    else:
        found = write_operation(w, OPS[kind], [w.load(_at(w, n)) for n in numbers[1:]])
    w.store(found, _at(w, numbers[0]))


def _at(w: Writer, place: str) -> str:
    return w.let(f"getelementptr i8, ptr %scratch, i32 {place}")


def _integer_at(w: Writer, table: str, k: int) -> str:
    narrow = w.let(f"load i32, ptr {w.at(table, k, 'i32')}")
    return w.let(f"sext i32 {narrow} to i64")


def _signed(w: Writer, place: str) -> str:
    """Write the value of a place, negated if its last bit is set."""
    whole = f"i{w.lanes.bits}"
    value = w.load(_at(w, w.let(f"and i32 {place}, -2")))
    sign = w.let(f"and i32 {place}, 1")
    wide = sign if w.lanes.bits == 32 else w.let(f"zext i32 {sign} to {whole}")
    sign = w.let(f"shl {whole} {wide}, {w.lanes.bits - 1}")
    signs = w.as_integer(w.spread(w.let(f"bitcast {whole} {sign} to {w.lanes.scalar}")))
    return w.as_value(w.integer("xor", w.as_integer(value), signs))


def _alone(c: Call | DenseCall) -> Run | DenseCall:
    return Run((c,)) if isinstance(c, Call) else c


def _bits(numbers: NDArray[np.float64] | Sequence[float]) -> Integers:
    return np.asarray(numbers, np.float64).view(np.int64)


def _table(rows: Sequence[Sequence[float]], kind: type[np.number[Any]] = np.int64) -> NDArray[Any]:
    return np.array(rows, kind).reshape(len(rows), -1)


def _operands(kind: str) -> int:
    return 3 if kind == SUM else OPS[kind].arity


def _rows_of(kind: str) -> int:
    """Return the number of rows of an operation of a kind."""
    return -(-(1 + _operands(kind)) // ROW)
