"""Gradients of a job with fixed steps: stretches run again and reversed, from the last one to the first.

The states of every k-th step are kept. Each stretch of k steps runs again from its first state, with its
states and the results of its verbs kept in tables, and then its adjoint runs over the tables from their end.
Both are schedules for the same native loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, TypeAlias

import numpy as np

from hinge.sim.adjoint import STATE, Reversal, given_weight, weight
from hinge.sim.fixed import FixedLoop, Samples
from hinge.spatial import Array
from hinge.targets import Stretch, runner, threads

#: From (t, q, qd) and the weights of forces (…, nv) to gradients by q and qd (…, nv).
ControlPull: TypeAlias = Callable[[Any, Array, Array, Array], tuple[Array, Array]]

#: The bytes of the tables of states that go back together, in each thread, and the fewest of these states, so
#: that tables stay in a cache between the two runs.
NEAR, FEWEST = 4_000_000, 64
#: The bytes of tables that are not worth a run more: where those of the fewest states take less, all is kept.
ROOM = 64_000_000


class Backward:
    """The reverse run of a loop that records every k-th state, k = `loop.job.every`.

    `weights` are those of q and qd, (states, nv) at the end, or (states, T, nv) at the times `recorded`.
    `pull` is what reverses a control function. After `run`, `sums` and `each` are the gradients: by what all
    steps share, and by what each step has.
    """

    def __init__(
        self,
        loop: FixedLoop,
        back: Reversal,
        weights: Mapping[str, Array],
        recorded: Array | None = None,
        pull: ControlPull | None = None,
    ) -> None:
        self.loop, self.back, self.recorded, self.pull = loop, back, recorded, pull
        job, lengths = loop.job, back.schedule.lengths
        self.weights, self.bad = weights, np.full(job.states, -1)
        self.length = min(job.every, job.steps)
        self.runner = runner(back.schedule)
        self.sums = {n: np.zeros((job.states, lengths[weight(n)]), job.dtype) for n in (*STATE, *back.sums)}
        self.each = {n: np.zeros((job.states, job.steps, job.robot.nv), job.dtype) for n in back.each}
        if recorded is None:
            for name in STATE:
                self.sums[name][...] = weights[name]

    @property
    def size(self) -> int:
        """How many states go back together; a control function sees all."""
        job = self.loop.job
        row = self.back.row(job.robot) * job.dtype.itemsize
        return max(1, job.states) if self.pull is not None else part_of(job.states, row * (self.length + 1))

    def _tables(self) -> dict[str, Array]:
        """Return room for what is kept of a stretch."""
        job, lengths = self.loop.job, {**self.loop.schedule.lengths, **self.back.schedule.lengths}
        shape = (min(self.size, job.states), self.length + 1)
        return {n: np.empty((*shape, lengths[n]), job.dtype) for n in (*STATE, *self.back.kept)}

    @property
    def last(self) -> int:
        """The first step of the last stretch."""
        job = self.loop.job
        return (job.steps - 1) // job.every * job.every

    def run(self) -> None:
        """Run forth and back."""
        job = self.loop.job
        self.loop.run(None, self.last)
        parts = self._parts()
        tables = self._tables() if parts else {}
        for states in parts:
            _Part(self, states, tables).run()
        if self.recorded is not None:
            for name in STATE:
                self.sums[name] += self.weights[name][:, 0]
        gone = ~job.alive | (self.bad >= 0)
        for x in (*self.sums.values(), *self.each.values()):
            x[gone] = np.nan

    def _parts(self) -> list[slice]:
        """Return the states that go back together."""
        states, size = self.loop.job.states, self.size
        return [slice(k, min(k + size, states)) for k in range(0, states, size)]


def part_of(states: int, table: int) -> int:
    """Return how many of so many states go back together, where one has a table of so many bytes."""
    most = max(FEWEST, NEAR * threads() // max(1, table))
    return max(1, FEWEST * ceil(states / ceil(states / most) / FEWEST) if states else 1)


class _Part:
    """The reverse run of some of the states, with room for what is kept of a stretch."""

    def __init__(self, whole: Backward, states: slice, tables: Mapping[str, Array]) -> None:
        self.whole, self.loop, self.job, self.states = whole, whole.loop, whole.loop.job, states
        job, self.length = self.job, whole.length
        self.count = len(range(*states.indices(job.states)))
        self.samples = Samples(job, self.loop.nodes, self.loop.held, self.length, states)
        self.tables = {n: x[: self.count] for n, x in tables.items()}
        self.given: dict[str, Array] = {}
        if whole.recorded is not None:
            shape = (self.length, self.count, job.robot.nv)
            self.given = {given_weight(n): np.zeros(shape, job.dtype) for n in STATE}
        self._prepare()

    def _prepare(self) -> None:
        """Prepare both loops over steps."""
        whole, states, used = self.whole, self.states, self.whole.back.schedule.lengths
        arrays = {n: x if x.ndim == 1 else x[states] for n, x in self.loop.arrays.items()}
        after = {n: x[:, 1:] for n, x in self.tables.items()}
        forth = Stretch(self.count, whole.bad[states], arrays, self.samples.tables, after)
        self.forth = self.loop.runner.prepared(forth, self.length)
        before = {n: x[:, :-1] if n in STATE else x[:, 1:] for n, x in self.tables.items()}
        tables = {n: np.swapaxes(x, 0, 1)[::-1] for n, x in before.items()}
        tables |= {n: x[::-1] for n, x in self.samples.tables.items()} | self.given
        weights = {weight(n): x[states] for n, x in whole.sums.items()}
        back = Stretch(
            self.count,
            np.full(self.count, -1),
            {n: x for n, x in (arrays | weights).items() if n in used and n not in tables},
            {n: x for n, x in tables.items() if n in used},
            {b: whole.each[n][states, ::-1] for n, b in whole.back.each.items() if b},
        )
        self.back = whole.runner.prepared(back, self.length)

    def run(self) -> None:
        """Go through all stretches, from the last one to the first."""
        job = self.job
        for first in range(self.whole.last, -1, -job.every):
            stop = min(first + job.every, job.steps)
            self._forth(first, stop)
            self._weigh(first, stop)
            self._back(first, stop)

    def _forth(self, first: int, stop: int) -> None:
        """Run a stretch again, into the tables."""
        job, states = self.job, self.states
        for name, kept, now in (("q", job.kept_q, job.q), ("qd", job.kept_qd, job.qd)):
            now[states] = kept[states, first // job.every]
            self.tables[name][:, 0] = now[states]
        self.samples.of = range(0)
        self.samples.fill(first, stop)
        if job.moving.ask is None:
            self.forth(first, stop, 0, 0)
            return
        for k in range(stop - first):
            now = job.start + job.dt * (first + k)
            job.arrays["tau"][...] = job.asked(job.moving.ask, now, job.q, job.qd)
            self.forth(first + k, first + k + 1, k, k)

    def _weigh(self, first: int, stop: int) -> None:
        """Put the weights of recorded states into the tables of the adjoint, the last step first."""
        recorded = self.whole.recorded
        if recorded is None:
            return
        for name in STATE:
            table = self.given[given_weight(name)]
            table[...] = 0.0
            for k in np.flatnonzero((recorded > first) & (recorded <= stop)):
                table[self.length - (int(recorded[k]) - first)] = self.whole.weights[name][self.states, k]

    def _back(self, first: int, stop: int) -> None:
        """Reverse a stretch."""
        steps, row = self.job.steps, self.length - (stop - first)
        begin, end = steps - stop, steps - first
        if self.whole.pull is None:
            self.back(begin, end, begin, row)
            return
        for n, k in enumerate(reversed(range(stop - first))):
            self.back(begin + n, begin + n + 1, begin + n, row + n)
            self._pull_control(self.whole.pull, first + k, k)

    def _pull_control(self, pull: ControlPull, step: int, k: int) -> None:
        """Add what a control function passes on to the weights of the state that it was called with."""
        job = self.job
        q, qd = (self.tables[n][:, k].copy() for n in STATE)
        c = self.whole.each["tau"][:, step].copy()
        given = (x.reshape(s) for x, s in zip((q, qd, c), (*job.shapes, job.shapes[1]), strict=True))
        for name, x in zip(STATE, pull(job.start + job.dt * step, *given), strict=True):
            part: Array = np.broadcast_to(np.asarray(x, job.dtype), job.shapes[1]).reshape(c.shape)
            self.whole.sums[name][...] += part
