"""Shape R: every kernel written once; which one is called when, and with what, is read from tables.

The quickest to compile, and the smallest: the code does not grow with the number of calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hinge.sweeps import Call, Code, DenseCall
from hinge.targets.llvm.memory import InMemory
from hinge.targets.llvm.plan import Places, Run, Segment
from hinge.targets.llvm.straight import write_kernel
from hinge.targets.llvm.text import Writer


class Rolled(InMemory):
    """A block of states: one loop over the runs between two solves, with a switch on the kernel."""

    def __init__(self, w: Writer, code: Code, parts: Sequence[Segment]) -> None:
        places = Places()
        for slots in code.inputs.values():
            places.put(slots)
        for part in parts:
            if isinstance(part, DenseCall):
                places.put([x.index for x in part.result.flat])
            else:
                places.put([s for c in part.calls for s in c.stores])
        super().__init__(w, code, places)
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
        calls: dict[int, list[Call]] = {}
        rows: list[tuple[int, int, int]] = []
        order: dict[int, int] = {}
        for run in runs:
            kernel = id(run.calls[0].kernel)
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
        """Write call n of one kernel: where its slots are is read from a table, one number for each group."""
        w, loads = self.w, len(calls[0].loads)
        of = self.places.of
        places = np.array([[of[s] for s in (*c.loads, *c.stores)] for c in calls], dtype=np.int64)
        leaders, group, offset = grouped(places)
        table = self.integers(places[:, leaders].ravel().tolist())
        row = w.at(table, w.let(f"mul i64 {n}, {len(leaders)}"), "i32")
        bases = [w.at("%scratch", self.integer_at(row, k)) for k in range(len(leaders))]
        inputs = [w.load(bases[group[k]], offset[k]) for k in range(loads)]
        inputs += self._params(calls, n)
        for k, x in enumerate(write_kernel(w, calls[0].kernel, inputs), loads):
            w.store(x, bases[group[k]], offset[k])

    def _params(self, calls: Sequence[Call], n: str) -> list[str]:
        w, params = self.w, np.array([c.params for c in calls], dtype=np.float64).reshape(len(calls), -1)
        if not params.shape[1]:
            return []
        table = w.at(self.numbers(params), w.let(f"mul i64 {n}, {params.shape[1]}"), w.lanes.scalar)
        return [self.number_at(table, k) for k in range(params.shape[1])]


def grouped(places: NDArray[np.int64]) -> tuple[list[int], list[int], list[int]]:
    """Return which columns of a table of places lead a group, the group of each column, and its offset there.

    Two columns are of one group if their distance is the same in all rows.
    """
    leaders: dict[bytes, int] = {}
    found: list[int] = []
    for column in (places - places[:1]).T:
        found.append(leaders.setdefault(column.tobytes(), len(leaders)))
    first = [found.index(k) for k in range(len(leaders))]
    offset = places[0] - places[0, [first[k] for k in found]]
    return first, found, offset.tolist()
