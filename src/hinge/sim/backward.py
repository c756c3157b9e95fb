"""Gradients of a job with fixed steps: stretches run again and reversed, from the last one to the first.

The states of every k-th step are kept. Each stretch of k steps runs again from its first state, with its
states and the results of its verbs kept in tables, and then its adjoint runs over the tables from their end.
Both are schedules for the same native loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from hinge.sim.adjoint import STATE, Reversal, given_weight, weight
from hinge.sim.fixed import FixedLoop
from hinge.spatial import Array
from hinge.targets import Stretch, runner

#: From (t, q, qd) and the weights of forces (…, nv) to gradients by q and qd (…, nv).
ControlPull: TypeAlias = Callable[[Any, Array, Array, Array], tuple[Array, Array]]


class Backward:
    """The reverse run of a loop that records every k-th state, k = `loop.job.every`.

    `weights` are those of q and qd, (states, nv) at the end, or (states, T, nv) at the times `recorded`.
    `pull` is what reverses a control function.
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
        job = loop.job
        self.length, self.bad = min(job.every, job.steps), np.full(job.states, -1)
        self.weights = weights
        self.sums = {n: self._room(back.schedule.lengths[weight(n)]) for n in (*STATE, *back.sums)}
        if recorded is None:
            for name in STATE:
                self.sums[name][...] = weights[name]
        lengths = {**loop.schedule.lengths, **back.schedule.lengths}
        self.tables = {
            n: np.empty((job.states, self.length + 1, lengths[n]), job.dtype) for n in (*STATE, *back.kept)
        }
        self.each = {n: np.zeros((job.states, job.steps, job.robot.nv), job.dtype) for n in back.each}
        self.given = (
            {}
            if recorded is None
            else {n: self._room(self.length, job.robot.nv) for n in map(given_weight, STATE)}
        )
        self._prepare()

    def _room(self, *shape: int) -> Array:
        """Return zeros for all states; in tables, rows come first."""
        *rows, length = shape
        return np.zeros((*rows, self.loop.job.states, length), self.loop.job.dtype)

    def _prepare(self) -> None:
        """Prepare both loops over steps."""
        loop, job, back = self.loop, self.loop.job, self.back
        after = {n: x[:, 1:] for n, x in self.tables.items()}
        stretch = Stretch(job.states, self.bad, loop.arrays, loop.tables, after)
        self.forth = loop.runner.prepared(stretch, self.length)
        arrays = {n: x for n, x in loop.arrays.items() if n not in STATE}
        arrays |= {weight(n): x for n, x in self.sums.items()}
        before = {n: x[:, :-1] if n in STATE else x[:, 1:] for n, x in self.tables.items()}
        tables = {n: np.swapaxes(x, 0, 1)[::-1] for n, x in before.items()}
        tables |= {n: x[: self.length][::-1] for n, x in loop.tables.items()} | self.given
        used = back.schedule.lengths
        records = {b: self.each[n][:, ::-1] for n, b in back.each.items() if b}
        reverse = Stretch(
            job.states,
            self.bad.copy(),
            {n: x for n, x in arrays.items() if n in used},
            {n: x for n, x in tables.items() if n in used},
            records,
        )
        self.reverse = runner(back.schedule).prepared(reverse, self.length)

    def run(self) -> None:
        """Run forth and back; `sums` and `each` are the gradients."""
        loop, job = self.loop, self.loop.job
        last = (job.steps - 1) // job.every * job.every
        loop.run(None, last)
        for first in range(last, -1, -job.every):
            stop = min(first + job.every, job.steps)
            self._forth(first, stop)
            self._weigh(first, stop)
            self._back(first, stop)
        if self.recorded is not None:
            for name in STATE:
                self.sums[name] += self.weights[name][:, 0]
        gone = ~job.alive | (self.bad >= 0)
        for x in (*self.sums.values(), *self.each.values()):
            x[gone] = np.nan

    def _forth(self, first: int, stop: int) -> None:
        """Run a stretch again, into the tables."""
        loop, job = self.loop, self.loop.job
        for name, kept, now in (("q", job.kept_q, job.q), ("qd", job.kept_qd, job.qd)):
            now[...] = kept[:, first // job.every]
            self.tables[name][:, 0] = now
        loop.sampled = range(0)
        if loop.tables:
            loop.sample(first, stop)
        if job.moving.ask is None:
            self.forth(first, stop, 0, 0)
            return
        for k in range(stop - first):
            now = job.start + job.dt * (first + k)
            job.arrays["tau"][...] = job.asked(job.moving.ask, now, job.q, job.qd)
            self.forth(first + k, first + k + 1, k, k)

    def _weigh(self, first: int, stop: int) -> None:
        """Put the weights of recorded states into the tables of the adjoint, the last step first."""
        if self.recorded is None:
            return
        for name in STATE:
            table = self.given[given_weight(name)]
            table[...] = 0.0
            for k in np.flatnonzero((self.recorded > first) & (self.recorded <= stop)):
                table[self.length - (int(self.recorded[k]) - first)] = self.weights[name][:, k]

    def _back(self, first: int, stop: int) -> None:
        """Reverse a stretch."""
        job, row = self.loop.job, self.length - (stop - first)
        begin, end = job.steps - stop, job.steps - first
        if self.pull is None:
            self.reverse(begin, end, begin, row)
            return
        for n, k in enumerate(reversed(range(stop - first))):
            self.reverse(begin + n, begin + n + 1, begin + n, row + n)
            self._pull_control(self.pull, first + k, k)

    def _pull_control(self, pull: ControlPull, step: int, k: int) -> None:
        """Add what a control function passes on to the weights of the state that it was called with."""
        job = self.loop.job
        q, qd = (self.tables[n][:, k].copy() for n in STATE)
        c = self.each["tau"][:, step].copy()
        shapes = *job.shapes, job.shapes[1]
        given = (x.reshape(s) for x, s in zip((q, qd, c), shapes, strict=True))
        for name, x in zip(STATE, pull(job.start + job.dt * step, *given), strict=True):
            self.sums[name] += np.broadcast_to(np.asarray(x, job.dtype), job.shapes[1]).reshape(c.shape)
