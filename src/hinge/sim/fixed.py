"""The loop over fixed steps: stretches in native code, or single steps where a Python function is called."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import numpy as np

from hinge.sim.events import Event, Indices
from hinge.sim.integrators import CLOSED, NEXT, Integrator
from hinge.sim.job import NOT_FINITE, Job, after
from hinge.sim.plant import sampled
from hinge.sim.run import Progress
from hinge.sim.stepping import start_of
from hinge.spatial import Array
from hinge.targets import PlainRunner, Steps, StepSchedule, Stretch, runner

#: Target duration of a stretch in seconds, and bounds on its tables in bytes and in steps.
STRETCH_SECONDS, TABLE_BYTES, TABLE_STEPS = 0.5, 64_000_000, 4096


class FixedLoop:
    """A job with fixed steps.

    `held` are arrays with a row for each step, (steps, n) or (states, steps, n), by buffer. So many
    `rows` of signals and of these are sampled at a time, if given.
    """

    def __init__(
        self,
        job: Job,
        rule: Integrator,
        events: tuple[Event, ...],
        held: Mapping[str, Array] | None = None,
        rows: int | None = None,
    ) -> None:
        self.job, self.events = job, events
        self.held, self.rows = held or {}, rows
        self.nodes = sorted(set(rule.nodes))
        moving = job.moving
        ops, self.last = rule.ops(moving.plant, moving.law, frozenset(job.signals)), NEXT
        if moving.project:
            ops, self.last = [*ops, *moving.plant.projection(NEXT, CLOSED)], CLOSED
        copies: dict[str, str] = {"q": self.last[0], "qd": self.last[1]}
        self.records = {"q": job.kept_q, "qd": job.kept_qd}
        self.kept = [(job.kept_q, job.q), (job.kept_qd, job.qd)]
        if moving.plant.stepping:
            job.arrays |= start_of(job)
            copies["lam_0"] = "forces"
            self.records |= {"forces": job.kept_forces, "residual": job.kept_residual}
            self.kept += [
                (job.kept_forces, job.arrays["lam_0"]),
                (job.kept_residual, job.arrays["residual"]),
            ]
        self.schedule = StepSchedule(tuple(ops), copies, self.last[1])
        self.runner = runner(self.schedule)
        self.arrays = {**job.arrays, "q": job.q, "qd": job.qd, "h": np.array([job.dt], job.dtype)}
        self.tables = self._rooms()
        self.sampled = range(0)  # the steps that the tables are of
        self.bad = np.where(job.alive, -1, 0)
        self.done = 0
        self.safe = 0, [now.copy() for _, now in self.kept]

    def run(self, progress: Progress | None, until: int | None = None) -> None:
        """Run all steps, or those before one, and report progress between stretches."""
        job, length = self.job, self._guess()
        self.until = job.steps if until is None else until
        one_by_one = bool(self.events) or job.moving.ask is not None
        self.steps = self._prepared(1 if one_by_one else length)
        values = job.values(self.events, (job.start, job.q, job.qd)) if job.steps else []
        while self.done < self.until and (job.left or not job.states):
            if one_by_one:
                self._ask()
                self._advance(self.done + 1)
                values = self._look(values)
            else:
                length = self._timed(length)
            self.safe = self.done, [now.copy() for _, now in self.kept]
            if progress is not None:
                progress(self.done, job.steps)
        self._ask()

    def broken_off(self) -> None:
        """Record the last common state, if it is not recorded already."""
        job = self.job
        self.done, last = self.safe
        count = int((job.recorded <= self.done).sum())
        if job.recorded[count - 1] < self.done:
            for (kept, _), x in zip(self.kept, last, strict=True):
                kept[:, count] = x
            if job.kept_tau is not None:
                job.kept_tau[:, count] = job.arrays["tau"]
            job.recorded = np.append(job.recorded[:count], self.done)

    def _guess(self) -> int:
        """Return the number of steps of a stretch, at 0.5 ns for an operation in native code."""
        if isinstance(self.runner, PlainRunner):
            return 1
        work = 0.5e-9 * self.schedule.operations * max(1, self.job.states)
        return max(1, min(self.job.steps, int(STRETCH_SECONDS / 4 / max(work, 1e-9))))

    def _prepared(self, steps: int) -> Steps:
        """Return the function that runs over steps."""
        job = self.job
        stretch = Stretch(job.states, self.bad, self.arrays, self.tables, self.records, every=job.every)
        return self.runner.prepared(stretch, steps)

    def _timed(self, length: int) -> int:
        """Run a stretch, and return how long the next one should be."""
        began, job = perf_counter(), self.job
        self._advance(min(self.until, self.done + min(length, self._rows)))
        taken = perf_counter() - began
        return max(1, min(4 * length, job.steps, int(length * STRETCH_SECONDS / max(taken, 1e-9))))

    def _advance(self, stop: int) -> None:
        """Run over steps until this one."""
        job, first = self.job, self.done
        row = self.sample(first, stop) if self.tables else 0
        ended = self.steps(first, stop, first // job.every + 1, row)
        self.done = stop
        if stop == job.steps:
            for kept, now in self.kept:
                kept[:, -1] = now
        if ended:
            gone = np.flatnonzero((self.bad >= 0) & job.alive)
            job.end(gone, job.start + job.dt * self.bad[gone], NOT_FINITE)

    def _ask(self) -> None:
        """Evaluate the control function for the next step, if there is one."""
        job, f, done = self.job, self.job.moving.ask, self.done
        if f is None or job.kept_tau is None:
            return
        tau = job.arrays["tau"]
        tau[...] = job.asked(f, job.start + job.dt * done, job.q, job.qd)
        if done % job.every == 0:
            job.kept_tau[:, done // job.every] = tau
        elif done == job.steps:
            job.kept_tau[:, -1] = tau

    # Signals.

    @property
    def _rows(self) -> int:
        """The number of steps for which tables have rows; as many as there are without signals."""
        if self.rows is not None:
            return min(self.job.steps, self.rows)
        row = sum(x.values.size // len(x.times) for x in self.job.signals.values()) * len(self.nodes)
        row += sum(x.size // max(1, self.job.steps) for x in self.held.values())
        if not row:
            return self.job.steps
        return max(1, min(self.job.steps, TABLE_STEPS, TABLE_BYTES // (8 * row)))

    def _rooms(self) -> dict[str, Array]:
        """Return tables for the signals, filled later."""
        job, found = self.job, dict[str, Array]()
        for name, x in job.signals.items():
            states = () if x.values.ndim == 2 else (job.states,)
            for node in self.nodes:
                shape = (self._rows, *states, x.values.shape[-1])
                found[sampled(name, node)] = np.empty(shape, job.dtype)
        for name, x in self.held.items():
            found[name] = np.empty((self._rows, *x.shape[:-2], x.shape[-1]), job.dtype)
        return found

    def sample(self, first: int, stop: int) -> int:
        """Fill the tables where they lack these steps; return the row of the first."""
        job = self.job
        if first < self.sampled.start or stop > self.sampled.stop:
            self.sampled = range(first, min(job.steps, first + self._rows))
            times = job.start + job.dt * np.arange(first, self.sampled.stop)
            for name, x in job.signals.items():
                for node in self.nodes:
                    values = x.at(times + node * job.dt)
                    rows = values if values.ndim == 2 else np.swapaxes(values, 0, 1)
                    self.tables[sampled(name, node)][: len(times)] = rows
            for name, x in self.held.items():
                rows = x[..., self.sampled.start : self.sampled.stop, :]
                self.tables[name][: len(times)] = rows if rows.ndim == 2 else np.swapaxes(rows, 0, 1)
        return first - self.sampled.start

    # Events.

    def _look(self, earlier: list[Array]) -> list[Array]:
        """Locate the events of the last step, whose values before it are given; return those after it."""
        if not self.events:
            return earlier
        job, (q, qd, *_) = self.job, self.safe[1]
        t = job.start + job.dt * (self.done - 1)

        def between(states: Indices, share: Array) -> tuple[Array, Array]:
            return self._step(states, q[states], qd[states], t, share * job.dt)

        start, end = (t, q, qd), (t + job.dt, job.q, job.qd)
        return job.look(self.events, start, end, job.alive, between, earlier)

    def _step(self, states: Indices, q: Array, qd: Array, t: float, h: Array) -> tuple[Array, Array]:
        """Return the states after a step of length h (m,)."""
        job = self.job
        rows: dict[str, Array] = {n: x if x.ndim == 1 else x[states] for n, x in job.arrays.items()}
        for name, x in job.signals.items():
            for node in self.nodes:
                rows[sampled(name, node)] = x.of(states, t + node * h).astype(job.dtype)
        rows |= {"q": q, "qd": qd, "h": h[:, None].astype(job.dtype)}
        if job.moving.plant.stepping:
            rows["pace"] = np.repeat(1.0 / rows["h"], len(job.arrays["pace"]), axis=1)
        found = after(self.schedule.ops, rows)
        return found[self.last[0]], found[self.last[1]]
