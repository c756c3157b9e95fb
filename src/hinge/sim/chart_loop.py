"""The loop over fixed steps of robots with embedded loops, whose states change their independent rates.

States in the chart of the robot given go through a stretch as in any other loop. A state whose chart ends
stays as it was before that step, takes other rates, and goes through the rest of the stretch with those that
have the same, which wait until the step at which they begin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge.binding import FLOOR
from hinge.sim.charts import Charts
from hinge.sim.events import Event, Indices
from hinge.sim.fixed import FixedLoop, Pair, Samples
from hinge.sim.integrators import CLOSED, NEXT, Integrator
from hinge.sim.job import NOT_FINITE, Job
from hinge.spatial import Array
from hinge.targets import StepCall, Steps, StepSchedule, Stretch, runner


@dataclass(frozen=True, eq=False)
class Program:
    """A step in a chart: its programs, and the schedule that ends by watching the chart."""

    ops: tuple[StepCall, ...]
    schedule: StepSchedule


class ChartLoop(FixedLoop):
    """A job with fixed steps in as many charts as it takes; `rates` are those of all joints at the start."""

    def __init__(
        self, job: Job, rule: Integrator, events: tuple[Event, ...], rates: Array | None = None
    ) -> None:
        super().__init__(job, rule, events)
        self.charts = self.atlas = Charts(job.moving, job.states, job.dtype)
        self.programs: dict[int, Program] = {}
        self.crews: dict[int, Crew] = {}
        own = {"floor": self.atlas.floor}
        own |= {n: np.zeros((job.states, 1), job.dtype) for n in ("alive", "wait")}
        own["alive"][job.alive] = 1.0
        self.arrays |= own
        self.moving = ["q", "qd", "floor", *(n for n in ("lam_0", "residual") if n in self.arrays)]
        self.schedule = self.program(0).schedule
        self.runner = runner(self.schedule)
        self.before = job.qd
        self._begin(rates)

    def program(self, number: int) -> Program:
        """Return the step in a chart."""
        if number not in self.programs:
            job, chart = self.job, self.atlas.known[number]
            ops, last = self.rule.ops(chart.plant, chart.law, frozenset(job.signals)), NEXT
            if job.moving.project:
                ops, last = [*ops, *chart.plant.projection(NEXT, CLOSED)], CLOSED
            given = {"q0": "q", "qd0": "qd", "q": last[0], "qd": last[1]}
            given |= {n: n for n in ("floor", "alive", "wait")}
            copies = {n: f"{n}^" for n in ("q", "qd", "floor", "alive", "wait")}
            watch = StepCall(chart.watched, given, {**copies, "mark": "mark"})
            if "lam_0" in self.moving:
                copies["lam_0"] = "forces"
            self.programs[number] = Program(tuple(ops), StepSchedule((*ops, watch), copies, "mark"))
        return self.programs[number]

    def _begin(self, rates: Array | None) -> None:
        """Take states to better charts by the rates of all joints, where those of the robot do not do."""
        job = self.job
        if rates is None or not job.states:
            return
        quality = self.atlas.home.quality({"q": job.q})["quality"]
        poor = np.flatnonzero(~(quality > self.atlas.floor).all(-1) & job.alive)
        rows = job.wide(rates)
        for k in poor.tolist():
            if self._changed(k, 0, rows[k]):
                self.atlas.kept_rates(job)[k, 0] = rows[k]

    def revive(self, states: NDArray[np.bool_]) -> None:
        """Let states go on that have been put anew, in the rates of the robot given."""
        super().revive(states)
        self.atlas.of[states], self.atlas.floor[states], self.arrays["alive"][states] = 0, FLOOR, 1.0

    # What is seen from outside is in the rates of the robot given.

    def seen(self) -> list[Array]:
        """Return what is recorded of the states as they are now."""
        q, qd, *more = super().seen()
        return [q, self.shown(np.arange(self.job.states), q, qd), *more]

    def shown(self, states: Indices, q: Array, qd: Array) -> Array:
        """Return velocities of states in the rates of the robot given."""
        of = self.atlas.of[states]
        if not of.any():
            return qd
        found = qd.copy()
        for number in np.unique(of[of > 0]).tolist():
            found[of == number] = self.atlas.known[number].in_home(q[of == number], qd[of == number])
        return found

    # Steps.

    def advance(self, stop: int) -> None:
        """Run over steps until this one, in all charts."""
        job, first = self.job, self.done
        if self.events:
            self.before = job.qd.copy()
        going = [
            (n, np.flatnonzero((self.atlas.of == n) & job.alive)) for n in range(1, len(self.atlas.known))
        ]
        pending = [(n, states, np.full(len(states), first)) for n, states in going if len(states)]
        if (self.atlas.of == 0).any() or not job.states:
            pending += self._at_home(first, stop)
        while pending:
            number, states, since = pending.pop(0)
            crew = self._crew(number, states, stop - int(since.min()))
            pending += self._rechosen(*crew.run(since, stop))
        self.done = stop
        if stop == job.steps:
            for (kept, _), now in zip(self.kept, self.seen(), strict=True):
                kept[:, -1] = now
            self._keep_rates(np.flatnonzero(self.atlas.of), -1)

    def _at_home(self, first: int, stop: int) -> list[tuple[int, Indices, Indices]]:
        """Run the states in the chart of the robot given, and return those that must go on in another one."""
        row = self.samples.fill(first, stop)
        if not self.steps(first, stop, first // self.job.every + 1, row):
            return []
        gone = np.flatnonzero((self.bad >= 0) & (self.atlas.of == 0) & self.job.alive)
        return self._rechosen(gone, self.bad[gone])

    def _crew(self, number: int, states: Indices, steps: int) -> Crew:
        """Return states of a chart in rows of their own, with room for so many steps."""
        found = self.crews.get(number)
        if found is None or found.room < steps or not np.array_equal(found.states, states):
            self.crews[number] = found = Crew(self, number, states, steps)
        return found

    def _rechosen(self, states: Indices, steps: Indices) -> list[tuple[int, Indices, Indices]]:
        """Take states to better charts after so many steps; return charts, states, and their steps."""
        job, found = self.job, dict[int, list[tuple[int, int]]]()
        for k, step in zip(states.tolist(), steps.tolist(), strict=True):
            old = self.atlas.known[int(self.atlas.of[k])]
            rates = old.all_rates(job.q[k : k + 1], job.qd[k : k + 1])[0]
            if self._changed(k, step, rates):
                found.setdefault(int(self.atlas.of[k]), []).append((k, step))
        pairs = ((n, np.array(rows).T) for n, rows in found.items())
        return [(n, rows[0], rows[1]) for n, rows in pairs]

    def _changed(self, state: int, step: int, rates: Array) -> bool:
        """Take a state to a better chart, and tell whether it goes on."""
        job, charts, here = self.job, self.atlas, int(self.atlas.of[state])
        when = job.start + job.dt * step
        why = charts.change(state, job.q[state], when, rates)
        there = int(charts.of[state])
        if why is not None:
            job.end(state, when, why or NOT_FINITE)
        elif there != here:
            job.qd[state] = rates[charts.known[there].own]
            if "lam_0" in self.moving:
                self.arrays["lam_0"][state] = 0.0
            if self.events:
                self.before[state] = job.qd[state]
        goes_home = why is None and there == 0
        self.arrays["alive"][state], self.bad[state] = goes_home, -1 if goes_home else step
        return why is None

    def record(self, number: int, states: Indices, at: Indices, rows: dict[str, Array]) -> None:
        """Keep recorded rows of states at times, in a chart."""
        for name, x in rows.items():
            self.records[name][states, at] = x
        if number:
            chart = self.atlas.known[number]
            rates = self.atlas.kept_rates(self.job)
            rates[states, at] = chart.all_rates(rows["q"], rows["qd"])
            self.records["qd"][states, at] = rates[states, at][:, chart.home_places]
        elif self.atlas.rates is not None:
            self.atlas.rates[states, at] = np.nan

    def _keep_rates(self, states: Indices, at: int) -> None:
        """Keep the rates of all joints of states as they are now."""
        job = self.job
        for k in states.tolist():
            chart = self.atlas.known[int(self.atlas.of[k])]
            rates = chart.all_rates(job.q[k : k + 1], job.qd[k : k + 1])[0]
            self.atlas.kept_rates(job)[k, at] = rates

    def _step(self, states: Indices, q: Array, qd: Array, t: float, h: Array) -> Pair:
        """Return the states after a step of length h (m,), each in the chart that it has."""
        own, of = self.before[states], self.atlas.of[states]
        found = q.copy(), qd.copy()
        for number in np.unique(of).tolist():
            among = of == number
            ops, parts = self.program(number).ops, (states[among], q[among], own[among], t, h[among])
            for whole, part in zip(found, self.stepped(ops, *parts), strict=True):
                whole[among] = part
        return found[0], self.shown(states, *found)


def fixed_loop(
    job: Job, rule: Integrator, events: tuple[Event, ...] = (), rates: Array | None = None
) -> FixedLoop:
    """Return the loop over fixed steps of a job, in charts where its robot has embedded loops."""
    return ChartLoop(job, rule, events, rates) if job.robot.loops else FixedLoop(job, rule, events)


class Crew:
    """States in one chart that go through steps together, in rows of their own."""

    def __init__(self, loop: ChartLoop, number: int, states: Indices, steps: int) -> None:
        job, program = loop.job, loop.program(number)
        self.loop, self.number, self.states, self.room = loop, number, states, steps
        self.arrays = {n: x if x.ndim == 1 else x[states] for n, x in loop.arrays.items()}
        self.samples = Samples(job, loop.nodes, loop.held, steps, states)
        times = steps // job.every + 1
        self.records = {
            n: np.empty((len(states), times, x.shape[-1]), job.dtype) for n, x in loop.records.items()
        }
        self.bad = np.full(len(states), -1)
        stretch = Stretch(
            len(states), self.bad, self.arrays, self.samples.tables, self.records, every=job.every
        )
        self.steps: Steps = runner(program.schedule).prepared(stretch, steps)

    def run(self, since: Indices, stop: int) -> tuple[Indices, Indices]:
        """Run each state from its step on to a last one; return those that left, and their steps."""
        loop, begin, every = self.loop, int(since.min()), self.loop.job.every
        for name, x in self.arrays.items():
            if x.ndim > 1:
                x[...] = loop.arrays[name][self.states]
        self.arrays["wait"][:, 0], self.arrays["alive"][...], self.bad[:] = since - begin, 1.0, -1
        self.steps(begin, stop, 0, self.samples.fill(begin, stop))
        for name in loop.moving:
            loop.arrays[name][self.states] = self.arrays[name]
        count, earlier = stop // every - begin // every, begin // every + 1
        rows, at = np.nonzero((earlier + np.arange(count)) * every > since[:, None])
        if len(rows):
            shown = {n: x[rows, at] for n, x in self.records.items()}
            loop.record(self.number, self.states[rows], earlier + at, shown)
        gone = np.flatnonzero(self.bad >= 0)
        return self.states[gone], self.bad[gone]
