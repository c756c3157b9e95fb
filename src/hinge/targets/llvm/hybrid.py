"""Shape H: a loop for each run of calls of one kernel, other calls written out.

What a call takes from the one before it stays in registers (a phi); what all calls take is loaded before the
loop; everything else is found in work space by counting, or by a table where places are not evenly spaced.
Parameters that differ from call to call come from a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeGuard

import numpy as np

from hinge.sweeps import Code, DenseCall
from hinge.targets.llvm.memory import InMemory
from hinge.targets.llvm.plan import Places, Run, Segment, slots_read, slots_shown
from hinge.targets.llvm.straight import write_kernel
from hinge.targets.llvm.text import Writer

#: Turns of at least this many are loops.
LOOP = 3


def is_loop(part: Segment) -> TypeGuard[Run]:
    """Tell whether a part is written as a loop."""
    return isinstance(part, Run) and part.repeats >= LOOP


class Hybrid(InMemory):
    """A block of states: loops over runs."""

    def __init__(self, w: Writer, code: Code, parts: Sequence[Segment]) -> None:
        super().__init__(w, code, placed(code, parts))
        self.parts = parts

    def run(self) -> None:
        """Write all calls."""
        for part in self.parts:
            if isinstance(part, DenseCall):
                self.solve(part)
            elif is_loop(part):
                _Loop(self, part).write()
            else:
                for call in part.calls:
                    self.call(call)


def placed(code: Code, parts: Sequence[Segment]) -> Places:
    """Return places for inputs, results of solves, what loops and results read, and what loops hand on."""
    places = Places()
    for slots in code.inputs.values():
        places.put(slots)
    wanted = {*slots_shown(code), *_wanted(parts)}
    for part in parts:
        if isinstance(part, DenseCall):
            places.put([x.index for x in part.result.flat])
        else:
            places.put_run(part, wanted)
    return places


def _wanted(parts: Sequence[Segment]) -> Iterator[int]:
    """Yield the slots that are read in loops, and those from loops that are read outside."""
    looped = {s for run in parts if is_loop(run) for c in run.calls for s in c.stores}
    for part in parts:
        if isinstance(part, DenseCall):
            yield from slots_read(part)
        elif is_loop(part):
            for k, c in enumerate(part.first):
                for load, slot in enumerate(c.loads):
                    if part.within(k, load):
                        continue
                    if part.carried(k, load) is None:
                        yield from (t.loads[load] for t in part.turns(k))
                    elif slot in looped:
                        yield slot
        else:
            yield from (s for c in part.calls for s in c.loads if s in looped)


class _Loop:
    """One run as a loop, a turn at a time."""

    def __init__(self, block: Hybrid, run: Run) -> None:
        self.block, self.run, self.w = block, run, block.w
        self.bases: dict[int, str] = {}

    def write(self) -> None:
        """Write the loop, with phis for what is carried from turn to turn."""
        run, w, block = self.run, self.w, self.block
        loads = [(k, n) for k, c in enumerate(run.first) for n in range(len(c.loads))]
        carried = {at: s for at in loads if not run.within(*at) and (s := run.carried(*at)) is not None}
        fixed = {(k, n): block.slot(run.first[k].loads[n]) for k, n in loads if self._is_fixed(k, n)}
        before = w.label
        first = {source: block.slot(run.first[k].loads[n]) for (k, n), source in carried.items()}
        params = [self._params(k) for k in range(run.period)]
        with w.loop(0, run.repeats) as turn:
            spot = w.loop_start
            phis = {source: w.name("c") for source in first}
            made: dict[tuple[int, int], str] = {}
            for k, call in enumerate(run.first):
                inputs = [
                    fixed.get((k, n)) or self._load(k, n, turn, made, phis, carried)
                    for n in range(len(call.loads))
                ]
                inputs += [p(turn) for p in params[k]]
                for s, x in enumerate(write_kernel(w, call.kernel, inputs)):
                    made[k, s] = x
                    self._store(k, s, x, turn)
            for source, name in phis.items():
                edges = f"[ {first[source]}, %{before} ], [ {made[source]}, %{w.label} ]"
                w.lines.insert(spot, f"  {name} = phi {w.lanes.type} {edges}")

    def _is_fixed(self, k: int, n: int) -> bool:
        return len({c.loads[n] for c in self.run.turns(k)}) == 1

    def _load(
        self,
        k: int,
        n: int,
        turn: str,
        made: Mapping[tuple[int, int], str],
        phis: Mapping[tuple[int, int], str],
        carried: Mapping[tuple[int, int], tuple[int, int]],
    ) -> str:
        source = self.run.within(k, n)
        if source is not None:
            return made[source]
        if (k, n) in carried:
            return phis[carried[k, n]]
        return self.w.load(*self._address([c.loads[n] for c in self.run.turns(k)], turn))

    def _store(self, k: int, s: int, x: str, turn: str) -> None:
        slots = [c.stores[s] for c in self.run.turns(k)]
        if slots[0] in self.block.places.of:
            self.w.store(x, *self._address(slots, turn))

    def _address(self, slots: Sequence[int], turn: str) -> tuple[str, str | int]:
        """Return the place of a slot in a turn: base and index."""
        places = [self.block.places.of[s] for s in slots]
        steps = set(np.diff(places).tolist())
        if len(steps) > 1:
            return "%scratch", self.block.integer_at(self.block.integers(places), turn)
        (step,) = steps
        if step not in self.bases:
            self.bases[step] = self.w.at("%scratch", self.w.let(f"mul i64 {turn}, {step}"))
        return self.bases[step], places[0]

    def _params(self, k: int) -> list[Callable[[str], str]]:
        """Return what writes each parameter in a turn: a constant, or the load of an entry of a table."""
        calls = self.run.turns(k)
        rows = np.array([c.params for c in calls], dtype=np.float64).reshape(len(calls), -1)
        varying: list[int] = np.flatnonzero(np.ptp(rows, axis=0)).tolist()
        table = self.block.numbers(rows[:, varying]) if varying else ""
        return [
            self._from_table(table, varying.index(n), len(varying)) if n in varying else self._constant(x)
            for n, x in enumerate(rows[0].tolist())
        ]

    def _constant(self, x: float) -> Callable[[str], str]:
        return lambda _: self.w.lanes.constant(x)

    def _from_table(self, table: str, k: int, across: int) -> Callable[[str], str]:
        def load(turn: str) -> str:
            row = self.w.at(table, self.w.let(f"mul i64 {turn}, {across}"), self.w.lanes.scalar)
            return self.block.number_at(row, k)

        return load
