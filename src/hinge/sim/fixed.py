"""The loop over fixed steps: stretches in native code, or single steps where a Python function is called."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from hinge.sim.events import Event, Indices
from hinge.sim.integrators import Integrator
from hinge.sim.job import NOT_FINITE, Job, after
from hinge.sim.plant import sampled
from hinge.sim.run import Progress
from hinge.spatial import Array
from hinge.targets import PlainRunner, StepSchedule, Stretch, runner

#: Target duration of a stretch in seconds, and bound on its tables in bytes.
STRETCH_SECONDS, TABLE_BYTES = 0.5, 64_000_000


class FixedLoop:
    """A job with fixed steps."""

    def __init__(self, job: Job, rule: Integrator, events: tuple[Event, ...]) -> None:
        self.job, self.events = job, events
        self.nodes = sorted(set(rule.nodes))
        moving = job.moving
        ops = rule.ops(moving.plant, moving.law, frozenset(job.signals))
        self.schedule = StepSchedule(tuple(ops), {"q": "q'", "qd": "qd'"}, "qd'")
        self.runner = runner(self.schedule)
        self.arrays = {**job.arrays, "q": job.q, "qd": job.qd, "h": np.array([job.dt])}
        self.bad = np.where(job.alive, -1, 0)
        self.done = 0

    def run(self, progress: Progress | None) -> None:
        """Run all steps, and report progress between stretches."""
        job, length = self.job, self._guess()
        step_by_step = bool(self.events) or job.moving.ask is not None
        self.safe = job.q.copy(), job.qd.copy()
        while self.done < job.steps and (job.alive.any() or not job.states):
            began = perf_counter()
            self._ask()
            stop = min(job.steps, self.done + (1 if step_by_step else min(length, self._most())))
            self._stretch(stop)
            if self.events:
                self._look(*self.safe)
            self.safe = job.q.copy(), job.qd.copy()
            taken = perf_counter() - began
            length = max(1, min(4 * length, job.steps, int(length * STRETCH_SECONDS / max(taken, 1e-9))))
            if progress is not None:
                progress(self.done, job.steps)
        self._ask()

    def broken_off(self) -> None:
        """Record the last common state, if it is not recorded already."""
        job, count = self.job, int((self.job.recorded <= self.done).sum())
        if job.recorded[count - 1] < self.done:
            job.kept_q[:, count], job.kept_qd[:, count] = self.safe
            if job.kept_tau is not None:
                job.kept_tau[:, count] = job.arrays["tau"]
            job.recorded = np.append(job.recorded[:count], self.done)

    def _guess(self) -> int:
        """Return the number of steps of a stretch, at 0.5 ns for an operation in native code."""
        if isinstance(self.runner, PlainRunner):
            return 1
        work = 0.5e-9 * self.schedule.operations * max(1, self.job.states)
        return max(1, int(STRETCH_SECONDS / 4 / max(work, 1e-9)))

    def _most(self) -> int:
        """Return the number of steps whose tables stay within the bound."""
        row = sum(x.values[0].size for x in self.job.signals.values()) * len(self.nodes)
        return max(1, TABLE_BYTES // (8 * row)) if row else 1 << 40

    def _ask(self) -> None:
        """Evaluate the control function for the next step, if there is one."""
        job, f = self.job, self.job.moving.ask
        if f is None:
            return
        tau = job.arrays["tau"]
        tau[...] = job.asked(f, job.start + job.dt * self.done, job.q, job.qd)
        at = int(np.searchsorted(job.recorded, self.done))
        if job.kept_tau is not None and job.recorded[at] == self.done:
            job.kept_tau[:, at] = tau

    def _tables(self, times: Array, h: Any) -> dict[str, Array]:
        return {
            sampled(name, node): np.ascontiguousarray(x.at(times + node * h))
            for name, x in self.job.signals.items()
            for node in self.nodes
        }

    def _stretch(self, stop: int) -> None:
        job, first = self.job, self.done
        tables = self._tables(job.start + job.dt * np.arange(first, stop), job.dt)
        begin = int(np.searchsorted(job.recorded, first, side="right"))
        records = {"q": job.kept_q, "qd": job.kept_qd}
        self.runner.run(
            Stretch(
                job.states, first, stop, self.bad, self.arrays, tables, records, every=job.every, begin=begin
            )
        )
        self.done = stop
        if stop == job.steps:
            job.kept_q[:, -1], job.kept_qd[:, -1] = job.q, job.qd
        gone = np.flatnonzero((self.bad >= 0) & job.alive)
        job.end(gone, job.start + job.dt * self.bad[gone], NOT_FINITE)

    # Events.

    def _look(self, q: Array, qd: Array) -> None:
        """Locate the events of the last step, which started from these states."""
        job = self.job
        t = job.start + job.dt * (self.done - 1)

        def between(states: Indices, share: Array) -> tuple[Array, Array]:
            return self._step(states, q[states], qd[states], t, share * job.dt)

        start, end = (t, q, qd), (t + job.dt, job.q, job.qd)
        job.look(self.events, start, end, job.alive, between)

    def _step(self, states: Indices, q: Array, qd: Array, t: float, h: Array) -> tuple[Array, Array]:
        """Return the states after a step of length h (m,)."""
        rows: Mapping[str, Array] = {n: x if x.ndim == 1 else x[states] for n, x in self.job.arrays.items()}
        tables = {
            n: x if x.ndim == 2 else x[np.arange(len(states)), states]
            for n, x in self._tables(np.full(len(states), t), h).items()
        }
        found = after(self.schedule.ops, {**rows, **tables, "q": q, "qd": qd, "h": h[:, None]})
        return found["q'"], found["qd'"]
