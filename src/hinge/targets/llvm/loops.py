"""Shape H: a loop for each run of calls of one kernel, other calls written out.

Values from the previous call stay in registers (a phi); values that all calls read are loaded before the
loop; everything else is read from scratch by counting, or by a table where places are not evenly spaced.
Parameters that differ from call to call come from a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge.sweeps import Code, DenseCall, ForceLaw
from hinge.targets.llvm.law_places import LawPlaces
from hinge.targets.llvm.memory import InMemory
from hinge.targets.llvm.plan import Places, Run, Segment, is_loop, slots_read, slots_shown
from hinge.targets.llvm.solve import is_written_out
from hinge.targets.llvm.straight import write_kernel
from hinge.targets.llvm.text import Writer


class Hybrid(InMemory):
    """A block of states: loops over runs."""

    def __init__(self, w: Writer, code: Code, parts: Sequence[Segment]) -> None:
        self.laws: dict[int, LawPlaces] = {}
        super().__init__(w, code, placed(code, parts, self.laws))
        self.parts = parts

    def law_places(self, c: DenseCall, law: ForceLaw) -> LawPlaces:
        """Return where the numbers of a law stand, some of which are there."""
        return self.laws.get(id(c)) or super().law_places(c, law)

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


def placed(code: Code, parts: Sequence[Segment], laws: dict[int, LawPlaces]) -> Places:
    """Return places for inputs, results of solves, and the stored values that must be in scratch.

    These are the values that results and streams read, and the outputs of a loop for later calls, except
    those of its last turn, which are in registers after the loop. Places of laws are added by their solves.
    """
    places = Places()
    for slots in code.inputs.values():
        places.put(slots)
    streams, others = set(slots_shown(code)), set[int]()
    runs = [x for x in parts if isinstance(x, Run)]
    once, repeated = (
        {s for x in runs if is_loop(x) == y for c in x.calls for s in c.stores} for y in (False, True)
    )
    for part in parts:
        filled = set[int]()
        if isinstance(part, DenseCall) and part.law is not None:
            laws[id(part)] = LawPlaces.of(part, part.law, places)
            filled = laws[id(part)].fill(places, once, repeated)
        _add_reads(part, streams, others, filled)
    for part in parts:
        if isinstance(part, DenseCall):
            places.put([x.index for x in part.result.flat])
        elif is_loop(part):
            last = {s for c in part.calls[-part.period :] for s in c.stores}
            places.put_run(part, streams | (others - last))
        else:
            places.put_run(part, streams)
    return places


def _add_reads(part: Segment, streams: set[int], others: set[int], filled: AbstractSet[int]) -> None:
    """Add the slots that a part reads as streams, and those that it reads as values, but for filled ones."""
    if isinstance(part, DenseCall):
        small = is_written_out(part)
        (others if small else streams).update(x for x in slots_read(part) if x not in filled)
    elif not is_loop(part):
        others.update(s for c in part.calls for s in c.loads)
    else:
        ways = Ways.of(part)
        streams.update(c.loads[n] for k, n in ways.streamed for c in part.turns(k))
        others.update(part.first[k].loads[n] for k, n in (*ways.carried, *ways.fixed))


#: A value within a turn: which call of it, and which of its loads or stores.
At = tuple[int, int]


@dataclass(frozen=True)
class Ways:
    """The sources of a turn's loads: the same turn, the turn before, an invariant, or memory."""

    within: dict[At, At]
    carried: dict[At, At]
    fixed: list[At]
    streamed: list[At]

    @classmethod
    def of(cls, run: Run) -> Ways:
        """Return the ways of a run."""
        loads = [(k, n) for k, c in enumerate(run.first) for n in range(len(c.loads))]
        within = {at: s for at in loads if (s := run.within(*at)) is not None}
        # Values from before the loop: the run itself must not store them.
        own = {s for c in run.calls for s in c.stores}
        before = [(k, n) for k, n in loads if (k, n) not in within and run.first[k].loads[n] not in own]
        carried = {at: s for at in before if (s := run.carried(*at)) is not None}
        fixed = [(k, n) for k, n in before if len({c.loads[n] for c in run.turns(k)}) == 1]
        known = {*within, *carried, *fixed}
        return cls(within, carried, fixed, [at for at in loads if at not in known])


class _Loop:
    """A run as a loop over its turns."""

    def __init__(self, block: Hybrid, run: Run) -> None:
        self.block, self.run, self.w, self.ways = block, run, block.w, Ways.of(run)
        stores = [(k, s) for k, c in enumerate(run.first) for s in range(len(c.stores))]
        self.stored = [(k, s) for k, s in stores if run.first[k].stores[s] in block.places.of]

    def write(self) -> None:
        """Write the loop, with phis for values carried from turn to turn."""
        run, w, slot, ways = self.run, self.w, self.block.slot, self.ways
        found = {(k, n): slot(run.first[k].loads[n]) for k, n in ways.fixed}
        # Loads that begin alike and go on alike share a phi.
        ends = {at: (run.first[at[0]].loads[at[1]], source) for at, source in ways.carried.items()}
        first = {end: slot(end[0]) for end in ends.values()}
        before = w.label
        with w.repeat(run.repeats) as turn:
            spot = w.loop_start
            phis = {end: w.name("c") for end in first}
            found |= {at: phis[end] for at, end in ends.items()}
            made = self._turn(turn, found)
            for end, name in phis.items():
                edges = f"[ {first[end]}, %{before} ], [ {made[end[1]]}, %{w.label} ]"
                w.lines.insert(spot, f"  {name} = phi {w.lanes.type} {edges}")
        for (k, s), x in made.items():
            self.block.values[run.turns(k)[-1].stores[s]] = x

    def _turn(self, turn: str, found: dict[At, str]) -> dict[At, str]:
        """Write the calls of a turn, and return their outputs."""
        run, w, ways = self.run, self.w, self.ways
        addresses = self.block.addresses(self._places(), turn)
        loads = dict(zip(ways.streamed, addresses, strict=False))
        stores = dict(zip(self.stored, addresses[len(ways.streamed) :], strict=True))
        made: dict[At, str] = {}
        for k, call in enumerate(run.first):
            found |= {at: w.load(*loads[at]) for at in ways.streamed if at[0] == k}
            found |= {at: made[s] for at, s in ways.within.items() if at[0] == k}
            inputs = [found[k, n] for n in range(len(call.loads))]
            inputs += self.block.params(run.turns(k), turn)
            for s, x in enumerate(write_kernel(w, call.kernel, inputs)):
                made[k, s] = x
                if (k, s) in stores:
                    w.store(x, *stores[k, s])
        return made

    def _places(self) -> NDArray[np.int64]:
        """Return the places of streamed and stored values, turn by turn."""
        of, run = self.block.places.of, self.run
        columns = [[of[c.loads[n]] for c in run.turns(k)] for k, n in self.ways.streamed]
        columns += [[of[c.stores[s]] for c in run.turns(k)] for k, s in self.stored]
        return np.array(columns, dtype=np.int64).reshape(-1, run.repeats).T
