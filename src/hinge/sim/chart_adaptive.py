"""Adaptive steps of robots with embedded loops, whose states change their independent rates.

A state whose chart has come to its end leaves the loop after the step that shows it. Those that go on with
the same rates are a job of their own, with their own times, whose records become those of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from hinge.binding import FLOOR, RISE
from hinge.sim.adaptive import TOO_SHORT, Adaptive, AdaptiveLoop, Truths
from hinge.sim.charts import Chart, Charts
from hinge.sim.events import Event, Indices
from hinge.sim.job import Job
from hinge.sim.run import Progress
from hinge.spatial import Array

Shown: TypeAlias = Callable[[Array, Array], Array]


class Part(AdaptiveLoop):
    """Adaptive steps of some of the states of a whole, all in one chart."""

    def __init__(self, job: Job, rule: Adaptive, events: tuple[Event, ...], charts: Charts, states: Indices):
        super().__init__(job, rule, events)
        self.charts = self.atlas = charts
        self.states = states

    def poor(self) -> Truths:
        """Tell which states have too little quality of their chart; floors that were lowered rise with it."""
        chart = self.atlas.known[int(self.atlas.of[self.states[0]])]
        with np.errstate(all="ignore"):
            quality = chart.quality({"q": self.job.q})["quality"]
        floor = self.atlas.floor[self.states]
        risen = np.minimum(FLOOR, np.maximum(floor, RISE * np.nan_to_num(quality)))
        self.atlas.floor[self.states] = risen
        return np.asarray(~(quality > floor).all(-1))

    def _accept(
        self, good: Truths, h: Array, found: Mapping[str, Array], first: Mapping[str, Array]
    ) -> dict[str, Array]:
        going = super()._accept(good, h, found, first)
        self.left |= good & self.job.alive & self.poor()
        return going

    def _stuck(self, states: Indices) -> None:
        self.left[states] = True


class Whole(Part):
    """A job with adaptive steps in all charts that it takes; `rates` are those of all joints at the start."""

    def __init__(
        self, job: Job, rule: Adaptive, events: tuple[Event, ...], rates: Array | None = None
    ) -> None:
        charts = Charts(job.moving, job.states, job.dtype)
        super().__init__(job, rule, events, charts, np.arange(job.states))
        self.first = None if rates is None else job.wide(rates)
        self.seen = job.qd.copy()  # in the rates of the robot given, for a control function

    def run(self, progress: Progress | None) -> None:
        """Run until every state has reached the end or has ended early."""
        job = self.job
        if job.states and self.first is not None:
            self.left |= self.poor() & job.alive
        pending = self._leavers(self, self.first if self.left.any() else None)
        self.go(progress)
        pending += self._leavers(self)
        while pending:
            part = _Guest(self, *pending.pop(0))
            part.go(None)
            part.give_back()
            pending += self._leavers(part)
        self.done = job.steps
        self._ask_at_records()

    def _leavers(self, part: Part, rates: Array | None = None) -> list[tuple[int, Indices]]:
        """Take the states that left a part to other charts; return these, with their states."""
        job, charts, found = self.job, self.atlas, dict[int, list[int]]()
        for row in np.flatnonzero(part.left & part.job.alive).tolist():
            k, q, qd, t = (int(part.states[row]), part.job.q[row], part.job.qd[row], float(part.t[row]))
            known = charts.known[int(charts.of[k])].all_rates(q[None], qd[None])[0]
            if rates is not None:
                known = charts.kept_rates(job)[k, 0] = rates[k]
            why = charts.change(k, q, t, known)
            if why is not None:
                job.end(k, t, why or TOO_SHORT)
                continue
            there = int(charts.of[k])
            job.q[k], job.qd[k] = q, known[charts.known[there].own]
            self.t[k], self.at[k], self.h[k] = t, part.at[row], part.h[row]
            found.setdefault(there, []).append(k)
        return [(n, np.array(states)) for n, states in found.items()]


class _Guest(Part):
    """States of a whole that go on in another chart, or again in the first one."""

    def __init__(self, whole: Whole, number: int, states: Indices) -> None:
        self.whole, self.number, self.chart = whole, number, whole.atlas.known[number]
        events = tuple(replace(e, function=_in_home(e.function, self.chart)) for e in whole.events)
        super().__init__(_job_of(whole.job, self.chart, states), whole.rule, events, whole.atlas, states)
        self.t, self.at, self.h = (x[states] for x in (whole.t, whole.at, whole.h))
        self.began = self.at.copy()

    def _asked(self, t: Array, q: Array, qd: Array) -> Array:
        """Return the forces of a control function, which sees the states of the whole."""
        whole, job = self.whole, self.whole.job
        times, at, seen = whole.t.copy(), job.q.copy(), whole.seen
        times[self.states], at[self.states] = t, q
        seen[self.states] = self.chart.in_home(q, qd)
        assert job.moving.ask is not None
        return job.asked(job.moving.ask, job.in_batch(times)[()], at, seen)[self.states]

    def give_back(self) -> None:
        """Give records, endings and events to the whole."""
        job, charts, whole = self.job, self.atlas, self.whole.job
        for row, k in enumerate(self.states.tolist()):
            part = slice(int(self.began[row]), int(self.at[row]))
            q, qd = job.kept_q[row, part], job.kept_qd[row, part]
            whole.kept_q[k, part], whole.kept_qd[k, part] = q, qd
            if self.number and len(q):
                rates = charts.kept_rates(whole)
                rates[k, part] = self.chart.all_rates(q, qd)
                whole.kept_qd[k, part] = rates[k, part][:, self.chart.home_places]
            if row in job.reasons:
                whole.end(k, job.ends[row], job.reasons[row])
        for hit, row in job.hits:
            k, qd = int(self.states[row]), self.chart.in_home(hit.q[None], hit.qd[None])[0]
            whole.hits.append((replace(hit, state=whole.place(k), qd=qd), k))


def _in_home(
    function: Callable[[Any, Array, Array], Any], chart: Chart
) -> Callable[[Any, Array, Array], Any]:
    """Return a function of the user's for states in a chart."""

    def shown(t: Any, q: Array, qd: Array) -> Any:
        rates = chart.in_home(q.reshape(-1, q.shape[-1]), qd.reshape(-1, qd.shape[-1]))
        return function(t, q, rates.reshape(qd.shape))

    return shown


def _job_of(job: Job, chart: Chart, states: Indices) -> Job:
    """Return a job of some of the states, in a chart."""
    found, count = copy(job), len(states)
    found.moving = replace(job.moving, law=chart.law, plant=chart.plant)
    found.robot, found.states, found.left = chart.robot, count, count
    found.batch = (count,) if job.batch else ()
    found.shapes = (*found.batch, job.q.shape[1]), (*found.batch, job.qd.shape[1])
    found.q, found.qd = job.q[states], job.qd[states]
    found.arrays = {n: x if x.ndim == 1 else x[states] for n, x in job.arrays.items()}
    found.signals = {
        n: replace(x, values=x.values[states]) if x.values.ndim == 3 else x for n, x in job.signals.items()
    }
    found.kept_q, found.kept_qd = (
        np.empty((count, *x.shape[1:]), job.dtype) for x in (job.kept_q, job.kept_qd)
    )
    found.ends, found.reasons, found.hits = np.full(count, np.inf), {}, []
    return found
