"""Shape H: a loop for each run of calls of one kernel, other calls written out.

What a call takes from the one before it stays in registers (a phi); what all calls take is loaded before the
loop; everything else is found in work space by counting, or by a table where places are not evenly spaced.
Parameters that differ from call to call come from a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

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
    """One run as a loop, a turn at a time; a value is known by its call within the turn and its number."""

    def __init__(self, block: Hybrid, run: Run) -> None:
        self.block, self.run, self.w = block, run, block.w
        loads = [(k, n) for k, c in enumerate(run.first) for n in range(len(c.loads))]
        self.within = {at: s for at in loads if (s := run.within(*at)) is not None}
        self.carried = {
            at: s for at in loads if at not in self.within and (s := run.carried(*at)) is not None
        }
        others = [at for at in loads if at not in self.within and at not in self.carried]
        self.fixed = [at for at in others if len({c.loads[at[1]] for c in run.turns(at[0])}) == 1]
        self.streamed = [at for at in others if at not in self.fixed]
        stores = [(k, s) for k, c in enumerate(run.first) for s in range(len(c.stores))]
        self.stored = [(k, s) for k, s in stores if run.first[k].stores[s] in block.places.of]

    def write(self) -> None:
        """Write the loop, with phis for what is carried from turn to turn."""
        run, w, slot = self.run, self.w, self.block.slot
        fixed = {(k, n): slot(run.first[k].loads[n]) for k, n in self.fixed}
        first = {source: slot(run.first[k].loads[n]) for (k, n), source in self.carried.items()}
        before = w.label
        with w.loop(0, run.repeats) as turn:
            spot = w.loop_start
            phis = {source: w.name("c") for source in first}
            addresses = self.block.addresses(self._places(), turn)
            loads = dict(zip(self.streamed, addresses, strict=False))
            stores = dict(zip(self.stored, addresses[len(self.streamed) :], strict=True))
            found = {**fixed, **{at: phis[s] for at, s in self.carried.items()}}
            made: dict[tuple[int, int], str] = {}
            for k, call in enumerate(run.first):
                found |= {at: w.load(*loads[at]) for at in self.streamed if at[0] == k}
                found |= {at: made[s] for at, s in self.within.items() if at[0] == k}
                inputs = [found[k, n] for n in range(len(call.loads))]
                inputs += self.block.params(run.turns(k), turn)
                for s, x in enumerate(write_kernel(w, call.kernel, inputs)):
                    made[k, s] = x
                    if (k, s) in stores:
                        w.store(x, *stores[k, s])
            for source, name in phis.items():
                edges = f"[ {first[source]}, %{before} ], [ {made[source]}, %{w.label} ]"
                w.lines.insert(spot, f"  {name} = phi {w.lanes.type} {edges}")

    def _places(self) -> NDArray[np.int64]:
        """Return where streamed and stored values are, turn by turn."""
        of, run = self.block.places.of, self.run
        columns = [[of[c.loads[n]] for c in run.turns(k)] for k, n in self.streamed]
        columns += [[of[c.stores[s]] for c in run.turns(k)] for k, s in self.stored]
        return np.array(columns, dtype=np.int64).reshape(-1, run.repeats).T
