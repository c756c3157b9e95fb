"""Slots in scratch memory: the common part of shapes H and R.

All inputs are copied to scratch first, all results are read from it at the end, by loops over squares
of W states and W numbers, so that the size of the code does not grow with the size of the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np
from numpy.typing import NDArray

from hinge.sweeps import Call, Code, DenseCall, ForceLaw, Slot
from hinge.targets.cone_problem import Given
from hinge.targets.force_laws import answer
from hinge.targets.llvm.arithmetic import Counter, LlvmArithmetic, Scratch
from hinge.targets.llvm.lanes import Rows
from hinge.targets.llvm.law_places import COPIED_ONE_BY_ONE, LawPlaces
from hinge.targets.llvm.plan import Places
from hinge.targets.llvm.solve import (
    is_written_out,
    write_floored_solve,
    write_rolled_floored_solve,
    write_rolled_solve,
    write_solve,
)
from hinge.targets.llvm.straight import write_kernel
from hinge.targets.llvm.text import Writer

#: Numbers of one state that are worked on at once, in lanes of their own.
TOGETHER = 8
#: Values of which at most one in so many is read with the other sign have these stored once more.
FEW = 8
DTYPES = {"float64": np.float64, "float32": np.float32}


class InMemory:
    """A block of states whose slots are in scratch, unless they are in registers."""

    def __init__(self, w: Writer, code: Code, places: Places) -> None:
        self.w, self.code, self.places = w, code, places
        self.values: dict[int, str] = {}
        self._constants: dict[float, int] = {}

    def run(self) -> None:
        """Write all calls."""
        raise NotImplementedError

    # Tables.

    def integers(self, numbers: Sequence[int] | NDArray[np.int64]) -> str:
        """Return the address of constant integers."""
        if not len(numbers):
            return "null"
        return self.w.constant_bytes(np.asarray(numbers, dtype=np.int32).tobytes(), 4)

    def numbers(self, numbers: Sequence[float] | NDArray[np.float64]) -> str:
        """Return the address of constant numbers in the precision of the lanes."""
        data = np.asarray(numbers, dtype=DTYPES[self.w.lanes.dtype]).tobytes()
        return self.w.constant_bytes(data, self.w.lanes.bits // 8) if data else "null"

    def integer_at(self, table: str, index: str | int) -> str:
        """Write the load of an integer of a table."""
        narrow = self.w.let(f"load i32, ptr {self.w.at(table, index, 'i32')}")
        return self.w.let(f"sext i32 {narrow} to i64")

    def number_at(self, table: str, index: str | int) -> str:
        """Write the load of a number of a table into all lanes."""
        w = self.w
        return w.spread(w.let(f"load {w.lanes.scalar}, ptr {w.at(table, index, w.lanes.scalar)}"))

    # Loops over calls.

    def addresses(self, places: NDArray[np.int64], n: str) -> list[tuple[str, int]]:
        """Write the addresses of the slots of call n, a base and an offset each, given their places by call.

        Slots whose distance is the same in all calls share a base; bases come from counting where they are
        evenly spaced, else from a table.
        """
        w = self.w
        leaders, group, offsets = grouped(places)
        uneven = [k for k in leaders if len({*np.diff(places[:, k]).tolist()}) > 1]
        row = self.row(self.integers(places[:, uneven].ravel().tolist()), n, len(uneven), "i32")
        bases: dict[int, tuple[str, int]] = {}
        for k in leaders:
            if k in uneven:
                bases[k] = w.at("%scratch", self.integer_at(row, uneven.index(k))), 0
            else:
                step = int(places[1, k] - places[0, k]) if len(places) > 1 else 0
                bases[k] = w.at("%scratch", w.let(f"mul i64 {n}, {step}") if step else 0), int(places[0, k])
        return [(bases[leaders[g]][0], bases[leaders[g]][1] + o) for g, o in zip(group, offsets, strict=True)]

    def params(self, calls: Sequence[Call], n: str) -> list[str]:
        """Write the parameters of call n: constants where they are all the same, else from a table."""
        rows = np.array([c.params for c in calls], dtype=np.float64).reshape(len(calls), -1)
        varying: list[int] = np.flatnonzero(np.ptp(rows, axis=0)).tolist()
        row = self.row(self.numbers(rows[:, varying]), n, len(varying), self.w.lanes.scalar)
        return [
            self.number_at(row, varying.index(k)) if k in varying else self.w.lanes.constant(x)
            for k, x in enumerate(rows[0].tolist())
        ]

    def row(self, table: str, n: str, across: int, unit: str) -> str:
        """Write the address of row n of a table."""
        return self.w.at(table, self.w.let(f"mul i64 {n}, {across}"), unit) if across else table

    # Values.

    def value(self, x: Slot | float) -> str:
        """Write a slot with its sign, or a constant, as a value."""
        if not isinstance(x, Slot):
            return self.w.lanes.constant(x)
        found = self.slot(x.index)
        return self.w.negative(found) if x.negative else found

    def slot(self, slot: int) -> str:
        """Return the value of a slot, from scratch if it is not in a register."""
        found = self.values.get(slot)
        return self.w.load("%scratch", self.places.of[slot]) if found is None else found

    def keep(self, slot: int, x: str) -> None:
        """Keep a new value, in scratch if it has a place there."""
        self.values[slot] = x
        if slot in self.places.of:
            self.w.store(x, "%scratch", self.places.of[slot])
        for place, negative in self.places.copies.get(slot, ()):
            self.w.store(self.w.negative(x) if negative else x, "%scratch", place)

    def call(self, call: Call) -> None:
        """Write a call out."""
        inputs = [self.slot(s) for s in call.loads]
        inputs += [self.w.lanes.constant(p) for p in call.params]
        for slot, x in zip(call.stores, write_kernel(self.w, call.kernel, inputs), strict=True):
            self.keep(slot, x)

    # In and out.

    def load(self, arrays: Sequence[Rows]) -> None:
        """Write the copy of all inputs to scratch."""
        for rows, slots in zip(arrays, self.code.inputs.values(), strict=True):
            if slots:
                self._load(rows, self.places.of[slots[0]])

    def _load(self, rows: Rows, first: int) -> None:
        w = self.w
        if rows.size < w.lanes.width:
            for k, x in rows.load(range(rows.size)).items():
                w.store(x, "%scratch", first + k)
            return
        with w.squares(rows.size) as k:
            place = w.at("%scratch", w.let(f"add i64 {k}, {first}"))
            for n, x in enumerate(w.transposed([w.load(row) for row in rows.shifted(k)])):
                w.store(x, place, n)

    def store(self, rows: Rows, values: Sequence[Slot | float]) -> None:
        """Write the copy of a result from scratch to the user's array."""
        w = self.w
        if rows.size < w.lanes.width:
            rows.store(lambda k: self.value(values[k]))
            return
        if w.lanes.width == 1 and rows.size >= TOGETHER:
            self._store_one(rows, values)
            return
        read = self._reader(values)
        with w.squares(rows.size) as k:
            turned = w.transposed([read(w.let(f"add i64 {k}, {n}")) for n in range(w.lanes.width)])
            for row, x in zip(rows.shifted(k), turned, strict=True):
                w.store(x, row)

    def _store_one(self, rows: Rows, values: Sequence[Slot | float]) -> None:
        """Write the copy of a result of one state, several numbers at once."""
        w = self.w
        where, signs = self._tables(values)
        with w.squares(rows.size, TOGETHER) as k:
            there = [self.integer_at(where, w.let(f"add i64 {k}, {n}")) for n in range(TOGETHER)]
            places = [w.at("%scratch", place) for place in there]
            (row,) = rows.shifted(k)
            with w.packed(TOGETHER):
                x = w.gather(places)
                if signs is not None:
                    x = w.binary("fmul", x, w.load(w.at(signs, k, w.lanes.scalar)))
                w.store(x, row)

    def _tables(self, values: Sequence[Slot | float]) -> tuple[str, str | None]:
        """Return the addresses of the places of values and of their signs, None if they need none.

        Where few are read with the other sign, these are stored once more, so that all are read as they are.
        """
        of, turned = self.places.of, dict[int, int]()
        other = dict.fromkeys(x.index for x in values if isinstance(x, Slot) and x.negative)
        if FEW * len(other) <= len(values):
            for s in other:
                turned[s] = self.places.more(1)
                self.w.store(self.w.negative(self.slot(s)), "%scratch", turned[s])

        def place(x: Slot | float) -> int:
            if not isinstance(x, Slot):
                return self._constant(x)
            return turned[x.index] if x.negative and turned else of[x.index]

        signs = [-1.0 if isinstance(x, Slot) and x.negative and not turned else 1.0 for x in values]
        return self.integers(list(map(place, values))), self.numbers(signs) if -1.0 in signs else None

    def _reader(self, values: Sequence[Slot | float]) -> Callable[[str], str]:
        """Return a function that writes the load of the n-th of some values, n known at run time."""
        w = self.w
        where, negative = self._tables(values)

        def read(n: str) -> str:
            x = w.load("%scratch", self.integer_at(where, n))
            return x if negative is None else w.binary("fmul", x, self.number_at(negative, n))

        return read

    def _constant(self, x: float) -> int:
        """Return the place of a constant, which is stored first."""
        if x not in self._constants:
            self._constants[x] = self.places.more(1)
            self.w.store(self.w.lanes.constant(x), "%scratch", self._constants[x])
        return self._constants[x]

    # Solves.

    def solve(self, c: DenseCall) -> None:
        """Write a dense solve, unrolled if small, else in scratch; or the answer to a law."""
        if c.law is not None:
            self._answer(c, c.law)
            return
        if not is_written_out(c):
            self._rolled_solve(c)
            return
        matrix, right = ([[self.value(x) for x in row] for row in part] for part in (c.matrix, c.right))
        if c.floored:
            found = write_floored_solve(self.w, matrix, right)
        else:
            found = write_solve(self.w, matrix, right, positive=c.positive)
        for slots, row in zip(c.result, found, strict=True):
            for slot, x in zip(slots, row, strict=True):
                self.keep(slot.index, x)

    def _answer(self, c: DenseCall, law: ForceLaw) -> None:
        """Write the answer to a law: its rows in triples, and the rows of W in shares."""
        w, at = self.w, self.law_places(c, law)
        order = at.order
        factors, columns = ([self._copied(*x, at.there) for x in part] for part in (at.factors, at.columns))
        m = LlvmArithmetic(w, lambda size: w.at("%scratch", self.places.more(size)))
        found = answer(m, Given(law, order, factors, *columns))
        back = self.integers([order.places.index(i) for i in range(law.rows)])
        result = w.at("%scratch", self.places.of[c.result.flat[0].index])
        with w.loop(0, law.rows) as i:
            place, to = self.integer_at(back, i), w.let(f"mul i64 {i}, 3")
            for k, part in enumerate((found.forces, found.residual, found.rounds)):
                x = part[0 if k == 2 else Counter(w, place)]
                w.store(x.text, result, w.let(f"add i64 {to}, {k}"))

    def law_places(self, c: DenseCall, law: ForceLaw) -> LawPlaces:
        """Return where the numbers of a law stand."""
        return LawPlaces.of(c, law, self.places)

    def _copied(self, values: Sequence[Slot | float], first: int, there: Container[int]) -> Scratch:
        """Write the copy of values to an array that begins at a place, but for those that are there.

        They are copied one by one if they are few.
        """
        to = Scratch(self.w, self.w.at("%scratch", first))
        if len(values) <= COPIED_ONE_BY_ONE:
            for k, x in enumerate(values):
                if first + k not in there:
                    self.w.store(self.value(x), to.address, k)
            return to
        read = self._reader(values)
        with self.w.loop(0, len(values)) as k:
            self.w.store(read(k), to.address, k)
        return to

    def _rolled_solve(self, c: DenseCall) -> None:
        w, (n, k) = self.w, c.right.shape
        rows = zip(c.matrix, c.right, strict=True)
        read = self._reader([x for row in rows for part in row for x in part])
        system = w.at("%scratch", self.places.more(n * (n + k)))
        with w.loop(0, n * (n + k)) as at:
            w.store(read(at), system, at)
        if c.floored:
            copy, largest = (w.at("%scratch", self.places.more(size)) for size in (n * (n + k), 1))
            write_rolled_floored_solve(w, system, copy, largest, n, k)
        else:
            write_rolled_solve(w, system, n, k, positive=c.positive)
        result = w.at("%scratch", self.places.of[c.result.flat[0].index])
        with w.loop(0, n) as i:
            row, to = w.let(f"mul i64 {i}, {n + k}"), w.let(f"mul i64 {i}, {k}")
            with w.loop(0, k) as j:
                x = w.load(system, w.let(f"add i64 {row}, {w.let(f'add i64 {j}, {n}')}"))
                w.store(x, result, w.let(f"add i64 {to}, {j}"))


def grouped(places: NDArray[np.int64]) -> tuple[list[int], list[int], list[int]]:
    """Return which columns of a table of places lead a group, the group of each column, and its offset there.

    Two columns are of one group if their distance is the same in all rows.
    """
    leaders: dict[bytes, int] = {}
    found = [leaders.setdefault(column.tobytes(), len(leaders)) for column in (places - places[:1]).T]
    first = [found.index(k) for k in range(len(leaders))]
    offset = places[0] - places[0, [first[k] for k in found]]
    return first, found, offset.tolist()
