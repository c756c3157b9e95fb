"""Shape R: every kernel written once; which one is called when, and with what, is read from tables.

The fastest to compile, and the smallest: the code does not grow with the number of calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hinge.sweeps import Call, Code, DenseCall
from hinge.targets.llvm.alike import Alike
from hinge.targets.llvm.memory import InMemory
from hinge.targets.llvm.plan import Places, Run, Segment, kernel_of, slots_read, slots_shown
from hinge.targets.llvm.straight import write_kernel
from hinge.targets.llvm.text import Writer


def placed(code: Code, parts: Sequence[Segment]) -> Places:
    """Return places for inputs and for the stores of each part, those of dead slots used again.

    A part's stores lie together, and their places are free when no later part and no result reads any.
    """
    places = Places()
    for slots in code.inputs.values():
        places.put(slots)
    last: dict[int, int] = {}
    for number, part in enumerate(parts):
        reads = (part,) if isinstance(part, DenseCall) else part.calls
        last |= {s: number for c in reads for s in slots_read(c)}
    last |= dict.fromkeys(slots_shown(code), len(parts))
    ends: dict[int, list[tuple[int, int]]] = {}
    for number, part in enumerate(parts):
        for block in ends.pop(number - 1, ()):
            places.give_back(*block)
        if isinstance(part, DenseCall):
            stores = [x.index for x in part.result.flat]
        else:
            stores = [s for c in part.calls for s in c.stores]
        start = places.put(stores, again=True)
        end = max((last.get(s, number) for s in stores), default=number)
        ends.setdefault(end, []).append((start, len(stores)))
    return places


class Rolled(InMemory):
    """A block of states: one loop over the runs between two solves, with a switch on the kernel."""

    def __init__(self, w: Writer, code: Code, parts: Sequence[Segment]) -> None:
        super().__init__(w, code, placed(code, parts))
        self.parts = parts

    def run(self) -> None:
        """Write the loops and the solves between them."""
        runs: list[Run] = []
        for part in self.parts:
            if isinstance(part, DenseCall):
                self._dispatch(runs)
                runs = []
                self.solve(part)
                self.values.clear()
            else:
                runs.append(part)
        self._dispatch(runs)

    def _dispatch(self, runs: Sequence[Run]) -> None:
        """Write the loop over some runs."""
        if not runs:
            return
        w = self.w
        calls: dict[tuple[int, int], list[Call]] = {}
        rows: list[tuple[int, int, int]] = []
        order: dict[tuple[int, int], int] = {}
        for run in runs:
            kernel = kernel_of(run.calls[0])
            members = calls.setdefault(kernel, [])
            end = len(members) + len(run.calls)
            rows.append((order.setdefault(kernel, len(order)), len(members), end))
            members += run.calls
        table = self.integers(np.ravel(rows).tolist())
        with w.loop(0, len(rows)) as r:
            row = w.at(table, w.let(f"mul i64 {r}, 3"), "i32")
            which, first, end = (self.integer_at(row, k) for k in range(3))
            labels, done = [w.block("kernel") for _ in calls], w.block("done")
            cases = " ".join(f"i64 {n}, label %{label}" for n, label in enumerate(labels))
            w.do(f"switch i64 {which}, label %{done} [ {cases} ]")
            for label, members in zip(labels, calls.values(), strict=True):
                w.start(label)
                with w.loop(first, end) as n:
                    self._call(members, n)
                w.do(f"br label %{done}")
            w.start(done)

    def _call(self, calls: Sequence[Call], n: str) -> None:
        """Write call n of one kernel."""
        w, of = self.w, self.places.of
        places = np.array([[of[s] for s in (*c.loads, *c.stores)] for c in calls], dtype=np.int64)
        addresses = self.addresses(places, n)
        loads = len(calls[0].loads)
        alike = None
        if w.lanes.width == 1:
            alike = Alike.of(calls[0].kernel, addresses[:loads], addresses[loads:])
        if alike is not None:
            alike.write(w)
            return
        inputs = [w.load(*at) for at in addresses[:loads]]
        outputs = write_kernel(w, calls[0].kernel, inputs + self.params(calls, n))
        for x, at in zip(outputs, addresses[loads:], strict=True):
            w.store(x, *at)
