"""The loop over fixed steps: stretches in native code, or single steps where a Python function is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hinge.sim.charts import Charts
from hinge.sim.events import Event, Indices
from hinge.sim.integrators import CLOSED, NEXT, Integrator
from hinge.sim.job import NOT_FINITE, Job, after
from hinge.sim.plant import sampled
from hinge.sim.run import Progress
from hinge.sim.stepping import start_of
from hinge.spatial import Array
from hinge.targets import PlainRunner, StepCall, Steps, StepSchedule, Stretch, runner

#: Target duration of a stretch in seconds, and bounds on its tables in bytes and in steps.
STRETCH_SECONDS, TABLE_BYTES, TABLE_STEPS = 0.5, 64_000_000, 4096
#: The programs of a step, and q and q̇ after it.
Ops: TypeAlias = Sequence[StepCall]
Pair: TypeAlias = tuple[Array, Array]
#: All states.
ALL = slice(None)


class Samples:
    """The tables of signals at fractions of steps, and of arrays with a row for each step, for some states.

    They have `rows` for so many steps, as many as there are without signals, and are filled when they are
    asked for.
    """

    def __init__(
        self,
        job: Job,
        nodes: Sequence[float],
        held: Mapping[str, Array],
        rows: int | None = None,
        states: slice | Indices = ALL,
    ) -> None:
        self.job, self.nodes = job, nodes
        self.signals = {
            n: replace(x, values=x.values[states]) if x.values.ndim == 3 else x
            for n, x in job.signals.items()
        }
        self.held = {n: x[states] if x.ndim == 3 else x for n, x in held.items()}
        self.rows = self._rows() if rows is None else min(job.steps, rows)
        self.tables = self._rooms()
        self.of = range(0)  # the steps that the tables are of

    def _rows(self) -> int:
        steps = self.job.steps
        row = sum(x.values.size // len(x.times) for x in self.signals.values()) * len(self.nodes)
        row += sum(x.size // max(1, steps) for x in self.held.values())
        return max(1, min(steps, TABLE_STEPS, TABLE_BYTES // (8 * row))) if row else steps

    def _rooms(self) -> dict[str, Array]:
        found, dtype = dict[str, Array](), self.job.dtype
        for name, x in self.signals.items():
            for node in self.nodes:
                shape = (self.rows, *x.values.shape[:-2], x.values.shape[-1])
                found[sampled(name, node)] = np.empty(shape, dtype)
        for name, x in self.held.items():
            found[name] = np.empty((self.rows, *x.shape[:-2], x.shape[-1]), dtype)
        return found

    def fill(self, first: int, stop: int) -> int:
        """Fill the tables where they lack these steps; return the row of the first."""
        job = self.job
        if self.tables and (first < self.of.start or stop > self.of.stop):
            self.of = range(first, min(job.steps, first + self.rows))
            times = job.start + job.dt * np.arange(first, self.of.stop)
            for name, x in self.signals.items():
                for node in self.nodes:
                    self._put(sampled(name, node), x.at(times + node * job.dt))
            for name, x in self.held.items():
                self._put(name, x[..., self.of.start : self.of.stop, :])
        return first - self.of.start if self.tables else 0

    def _put(self, name: str, values: Array) -> None:
        rows = values if values.ndim == 2 else np.swapaxes(values, 0, 1)
        self.tables[name][: len(rows)] = rows


class FixedLoop:
    """A job with fixed steps.

    `held` are arrays with a row for each step, (steps, n) or (states, steps, n), by buffer. Only a loop of a
    robot with embedded loops has `charts`.
    """

    charts: Charts | None = None

    def __init__(
        self,
        job: Job,
        rule: Integrator,
        events: tuple[Event, ...],
        held: Mapping[str, Array] | None = None,
    ) -> None:
        self.job, self.rule, self.events = job, rule, events
        self.nodes, self.held = sorted(set(rule.nodes)), held or {}
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
        self.arrays: dict[str, Array] = {
            **job.arrays,
            "q": job.q,
            "qd": job.qd,
            "h": np.array([job.dt], job.dtype),
        }
        self.samples = Samples(job, self.nodes, self.held)
        self.bad = np.where(job.alive, -1, 0)
        self.done = 0
        self.safe = 0, [now.copy() for _, now in self.kept]

    def seen(self) -> list[Array]:
        """Return what is recorded of the states as they are now: q, qd, and more."""
        return [now for _, now in self.kept]

    def run(self, progress: Progress | None, until: int | None = None) -> None:
        """Run all steps, or those before one, and report progress between stretches."""
        job, length = self.job, self._guess()
        self.until = job.steps if until is None else until
        one_by_one = bool(self.events) or job.moving.ask is not None
        self.prepare(1 if one_by_one else length)
        q, qd, *_ = self.seen()
        values = job.values(self.events, (job.start, q, qd)) if job.steps else []
        while self.done < self.until and (job.left or not job.states):
            if one_by_one:
                self._ask()
                self.advance(self.done + 1)
                values = self._look(values)
            else:
                length = self._timed(length)
            self.safe = self.done, [now.copy() for now in self.seen()]
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

    def revive(self, states: NDArray[np.bool_]) -> None:
        """Let states go on that have ended, and have been put anew."""
        self.job.revive(states)
        self.bad[states] = -1

    def _guess(self) -> int:
        """Return the number of steps of a stretch, at 0.5 ns for an operation in native code."""
        if isinstance(self.runner, PlainRunner):
            return 1
        work = 0.5e-9 * self.schedule.operations * max(1, self.job.states)
        return max(1, min(self.job.steps, int(STRETCH_SECONDS / 4 / max(work, 1e-9))))

    def prepare(self, steps: int) -> None:
        """Make the function that runs over steps, about so many at a time."""
        job = self.job
        stretch = Stretch(
            job.states, self.bad, self.arrays, self.samples.tables, self.records, every=job.every
        )
        self.steps: Steps = self.runner.prepared(stretch, steps)

    def _timed(self, length: int) -> int:
        """Run a stretch, and return how long the next one should be."""
        began, job = perf_counter(), self.job
        self.advance(min(self.until, self.done + min(length, self.samples.rows)))
        taken = perf_counter() - began
        return max(1, min(4 * length, job.steps, int(length * STRETCH_SECONDS / max(taken, 1e-9))))

    def advance(self, stop: int) -> None:
        """Run over steps until this one."""
        job, first = self.job, self.done
        row = self.samples.fill(first, stop)
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
        q, qd, *_ = self.seen()
        tau[...] = job.asked(f, job.start + job.dt * done, q, qd)
        if done % job.every == 0:
            job.kept_tau[:, done // job.every] = tau
        elif done == job.steps:
            job.kept_tau[:, -1] = tau

    # Events.

    def _look(self, earlier: list[Array]) -> list[Array]:
        """Locate the events of the last step, whose values before it are given; return those after it."""
        if not self.events:
            return earlier
        job, (q, qd, *_) = self.job, self.safe[1]
        t = job.start + job.dt * (self.done - 1)

        def between(states: Indices, share: Array) -> tuple[Array, Array]:
            return self._step(states, q[states], qd[states], t, share * job.dt)

        now, moving, *_ = self.seen()
        start, end = (t, q, qd), (t + job.dt, now, moving)
        return job.look(self.events, start, end, job.alive, between, earlier)

    def _step(self, states: Indices, q: Array, qd: Array, t: float, h: Array) -> Pair:
        """Return the states after a step of length h (m,)."""
        return self.stepped(self.schedule.ops, states, q, qd, t, h)

    def stepped(self, ops: Ops, states: Indices, q: Array, qd: Array, t: float, h: Array) -> Pair:
        """Return the states after a step of length h (m,) by these programs."""
        job = self.job
        rows: dict[str, Array] = {n: x if x.ndim == 1 else x[states] for n, x in job.arrays.items()}
        for name, x in job.signals.items():
            for node in self.nodes:
                rows[sampled(name, node)] = x.of(states, t + node * h).astype(job.dtype)
        rows |= {"q": q, "qd": qd, "h": h[:, None].astype(job.dtype)}
        if job.moving.plant.stepping:
            rows["pace"] = np.repeat(1.0 / rows["h"], len(job.arrays["pace"]), axis=1)
        found = after(list(ops), rows)
        return found[self.last[0]], found[self.last[1]]
