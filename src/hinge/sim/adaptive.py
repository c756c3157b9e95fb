"""Adaptive step size: the Dormand–Prince pair of orders 5 and 4, with dense output.

Each state has its own step size; the states of a batch go through the stages together. The difference of the
two orders estimates the error of a step, which is kept below a tenth of atol + rtol |y|, in the mean over q
and q̇. Recorded states are interpolated by Shampine's fourth-order polynomial for the pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hinge.binding import Row
from hinge.errors import ArgumentError
from hinge.model.joints import JointType
from hinge.sim.charts import Charts
from hinge.sim.events import Event, Indices
from hinge.sim.integrators import (
    CLOSED,
    DORMAND_PRINCE,
    NEXT,
    RungeKutta,
    combination,
    stage_buffers,
    stage_rows,
)
from hinge.sim.job import NOT_FINITE, Job, after
from hinge.sim.plant import Plant, Stage, sampled
from hinge.sim.run import Progress
from hinge.spatial import Array
from hinge.sweeps import Block
from hinge.targets import StepCall, Steps, StepSchedule, Stretch, runner

Truths = NDArray[np.bool_]

#: Weights of order 5 minus those of order 4.
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
#: Weights of the dense output at the fraction θ of a step, by θ, θ², θ³, θ⁴; Shampine (1986).
BETWEEN = np.array(
    [
        [1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
        [0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
        [0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
        [0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
        [0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
    ]
)
STAGES = len(DORMAND_PRINCE) + 1
#: Bounds on the change of step size, and a safety factor.
SHORTEST, LONGEST, CAUTION = 0.2, 5.0, 0.9
#: The share of the tolerance allowed for one step, so that many steps meet it together.
SHARE = 0.1
#: The shortest step, relative to the time, and the reason of an ending where it is reached.
NO_STEP, TOO_SHORT = 1e-14, "no step is short enough for the tolerance"


@dataclass(frozen=True)
class Adaptive:
    """Adaptive steps with an error below atol + rtol |y|; `dt` is the time between recorded states."""

    rtol: float = 1e-8
    atol: float = 1e-10
    name: str = "adaptive"

    def __post_init__(self) -> None:
        for what, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not 0 <= value < 1:
                raise ArgumentError(f"{what}: expected a number from 0 to 1, such as 1e-8, got {value!r}")
        if self.rtol < 1e-14 and self.atol == 0:
            raise ArgumentError(
                f"rtol: expected at least 1e-13 with atol=0, got {self.rtol!r}; rounding is larger"
            )

    def for_single(self) -> Adaptive:
        """Return it for states of single precision, or raise an ArgumentError."""
        if self.rtol < 1e-6:
            raise ArgumentError(
                f"integrator: expected rtol of 1e-6 at least for float32 states, got {self.rtol!r}; give "
                "float64 states for more digits"
            )
        return self


class AdaptiveLoop:
    """A job with adaptive steps."""

    charts: Charts | None = None

    def __init__(self, job: Job, rule: Adaptive, events: tuple[Event, ...]) -> None:
        self.job, self.rule, self.events = job, rule, events
        plant, law = job.moving.plant, job.moving.law
        nodes = RungeKutta("", 5, DORMAND_PRINCE, ()).nodes
        signals = frozenset(job.signals)
        self.stages = [Stage(k, c, *stage_buffers(k), signals) for k, c in enumerate(nodes)]
        self.forces = [law.accelerations(plant, stage)[0] for stage in self.stages]
        self.moves = [
            combination(
                plant,
                f"Dormand–Prince: stage {k + 2}",
                row,
                stage_buffers(k + 1),
            )
            for k, row in enumerate(DORMAND_PRINCE)
        ]
        self.error, self.between = _difference(plant), _polynomial(plant)
        self.closing = plant.projection(NEXT, CLOSED) if job.moving.project else []
        self.rows, self.tables = self._buffers(), self._signals()
        self.step = None if job.moving.ask is not None else self._native_step()
        self.t = np.full(job.states, job.start)
        self.at = np.ones(job.states, np.int64)  # the next time to record
        self.h = np.zeros(job.states)
        self.left = np.zeros(job.states, bool)  # states that go on elsewhere
        self.done = 0

    def run(self, progress: Progress | None) -> None:
        """Run until every state has reached the end or has ended early."""
        self.go(progress)
        self.done = self.job.steps
        self._ask_at_records()

    def go(self, progress: Progress | None) -> None:
        """Run until every state has reached the end, has ended early, or has left."""
        job = self.job
        first = self._accelerations(0, {"q": job.q, "qd": job.qd}, self.t, self.h)
        self.h = np.where(self.h > 0, self.h, self._first_step(first))
        while (going := job.alive & ~self.left & (self.t < job.stop)).any():
            h = np.where(going, np.minimum(self.h, job.stop - self.t), 0.0)
            tiny = going & (h <= NO_STEP * np.maximum(1.0, np.abs(self.t))) & (h < job.stop - self.t)
            self._stuck(np.flatnonzero(tiny))
            found = self._stages(first, h)
            size = self._size(found)
            with np.errstate(all="ignore"):
                factor = np.clip(CAUTION * size ** (-1 / 5), SHORTEST, LONGEST)
            self.h = np.where(going, h * np.where(np.isfinite(factor), factor, SHORTEST), self.h)
            good = going & ~tiny & (size <= 1.0)
            first = self._accept(good, h, found, first)
            if progress is not None:
                progress(self._share(), 1000)

    def _stuck(self, states: Indices) -> None:
        """End states that no step is short enough for."""
        self.job.end(states, self.t[states], TOO_SHORT)

    def _ask_at_records(self) -> None:
        """Evaluate the control function at the recorded states, if there is one."""
        job = self.job
        if job.moving.ask is not None and job.kept_tau is not None:
            times = np.broadcast_to(job.times, (job.states, len(job.times)))
            for k in range(len(job.times)):
                job.kept_tau[:, k] = self._asked(times[:, k], job.kept_q[:, k], job.kept_qd[:, k])

    def broken_off(self) -> None:
        """Keep the recorded times that all states have reached."""

    def _share(self) -> int:
        """Return the progress of the slowest state in thousandths."""
        job = self.job
        late = np.where(job.alive, self.t, job.stop).min(initial=job.stop)
        self.done = int((late - job.start) / job.dt + 1e-9)
        return int(1000 * (late - job.start) / (job.stop - job.start))

    # A step.

    def _asked(self, t: Array, q: Array, qd: Array) -> Array:
        f = self.job.moving.ask
        assert f is not None
        return self.job.asked(f, self.job.in_batch(t)[()], q, qd)

    def _accelerations(self, k: int, found: Mapping[str, Array], t: Array, h: Array) -> dict[str, Array]:
        """Return the buffers with the accelerations of a stage, for steps from t."""
        job, stage = self.job, self.stages[k]
        now = t + stage.node * h
        rows = {**job.arrays, **found, **self._samples(stage, now)}
        if job.moving.ask is not None:
            rows["tau"] = self._asked(now, found[stage.q], found[stage.qd])
        return {**found, stage.own("qdd"): after(self.forces[k], rows)[stage.own("qdd")]}

    def _samples(self, stage: Stage, t: Array) -> dict[str, Array]:
        """Return the signals of a stage at the time of each state."""
        job, every = self.job, np.arange(self.job.states)
        return {
            sampled(name, stage.node): x.of(every, t).astype(job.dtype) for name, x in job.signals.items()
        }

    def _buffers(self) -> dict[str, Array]:
        """Return the buffers of all stages, for all states."""
        job = self.job
        lengths = {"q": job.robot.nq, "qd": job.robot.nv, "qdd": job.robot.nv}
        lengths |= {"h": 1, "eq": job.robot.nq, "eqd": job.robot.nv}
        room = {n: partial(np.empty, (job.states, k), job.dtype) for n, k in lengths.items()}
        found = {stage.own(n): room[n]() for stage in self.stages for n in ("q", "qd", "qdd")}
        return found | {n: room[n]() for n in ("h", "eq", "eqd")} | {"q": job.q, "qd": job.qd}

    def _signals(self) -> dict[str, Array]:
        """Return one-row tables for the signals at all stages."""
        job, nodes = self.job, {stage.node for stage in self.stages}
        return {
            sampled(name, node): np.empty((1, job.states, x.values.shape[-1]), job.dtype)
            for name, x in job.signals.items()
            for node in nodes
        }

    def _native_step(self) -> Steps:
        """Return a function that runs all stages and the error estimate on the buffers."""
        job = self.job
        ops = [op for k, move in enumerate(self.moves) for op in (move, *self.forces[k + 1])]
        schedule = StepSchedule((*ops, self.error), {}, "eqd")
        bad = np.zeros(job.states, np.int64)  # non-finite values show in the error
        return runner(schedule).prepared(Stretch(job.states, bad, {**job.arrays, **self.rows}, self.tables))

    def _stages(self, first: Mapping[str, Array], h: Array) -> Mapping[str, Array]:
        """Return the buffers of all stages and of the error estimate."""
        if self.step is not None:
            self.rows["qdd#0"][...], self.rows["h"][:, 0] = first["qdd#0"], h
            for stage in self.stages[1:]:
                for name, rows in self._samples(stage, self.t + stage.node * h).items():
                    self.tables[name][0] = rows
            self.step(0, 1)
            return self.rows
        found = {**first, "h": h[:, None].astype(self.job.dtype)}
        for k, move in enumerate(self.moves):
            found |= move.run(found)
            found = self._accelerations(k + 1, found, self.t, h)
        return {**found, **self.error.run(found)}

    def _size(self, found: Mapping[str, Array]) -> Array:
        """Return the error norm of a step relative to the tolerance, for each state."""
        rule, job = self.rule, self.job
        end_q, end_qd = stage_buffers(STAGES - 1)
        with np.errstate(all="ignore"):
            squares = [
                (e / SHARE / (rule.atol + rule.rtol * np.maximum(np.abs(y), np.abs(end)))) ** 2
                for e, y, end in ((found["eq"], job.q, found[end_q]), (found["eqd"], job.qd, found[end_qd]))
            ]
            return np.sqrt(np.concatenate(squares, axis=-1).mean(axis=-1)) if job.robot.nv else np.zeros(1)

    def _first_step(self, first: Mapping[str, Array]) -> Array:
        """Return steps over which q and q̇ change by about one percent; longer ones would be rejected."""
        job = self.job
        with np.errstate(all="ignore"):
            quick = np.abs(job.qd).max(-1, initial=0.0)
            pushed = np.sqrt(np.abs(first["qdd#0"]).max(-1, initial=0.0))
            found = 0.01 / np.maximum(1e-3, np.maximum(quick, pushed))
        return np.where(np.isfinite(found), found, 1e-6)

    def _accept(
        self, good: Truths, h: Array, found: Mapping[str, Array], first: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Advance the states whose step was accepted, and return the buffers of the first stage."""
        job, stop = self.job, np.where(good, self.t + h, self.t)
        stop = np.where(good & (h >= job.stop - self.t), job.stop, stop)
        end_q, end_qd = stage_buffers(STAGES - 1)
        end = self._closed(np.arange(job.states), found[end_q], found[end_qd])
        self._record(good, h, stop, found)
        self._look(good, h, found, end)
        for rows, new in zip((job.q, job.qd), end, strict=True):
            rows[good] = new[good]
        self.t = stop
        wrong = ~(np.isfinite(job.q).all(-1) & np.isfinite(job.qd).all(-1))
        job.end(np.flatnonzero(good & wrong), self.t[good & wrong], NOT_FINITE)
        if self.closing:
            return self._accelerations(0, {"q": job.q, "qd": job.qd}, self.t, h)
        qdd = np.where(good[:, None], found[f"qdd#{STAGES - 1}"], first["qdd#0"])
        return {"q": job.q, "qd": job.qd, "qdd#0": qdd}

    def _closed(self, states: Indices, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return states taken back to where closures hold, if they are to be."""
        if not self.closing:
            return q, qd
        rows: dict[str, Array] = {n: x if x.ndim == 1 else x[states] for n, x in self.job.arrays.items()}
        with np.errstate(all="ignore"):  # rejected steps may not be finite
            found = after(self.closing, {**rows, NEXT[0]: q, NEXT[1]: qd})
        return found[CLOSED[0]], found[CLOSED[1]]

    def _inside(self, states: Indices, share: Array, found: Mapping[str, Array]) -> tuple[Array, Array]:
        """Return the interpolated states at fractions (m,) of their steps."""
        powers = share[:, None] ** np.arange(1, 5)
        rows = {name: x[states] for name, x in found.items() if x.ndim > 1 and len(x) == self.job.states}
        weights = (powers @ BETWEEN.T).astype(self.job.dtype)
        moved = self.between.run({**rows, "weights": weights})
        return self._closed(states, moved["q'"], moved["qd'"])

    def _record(self, good: Truths, h: Array, stop: Array, found: Mapping[str, Array]) -> None:
        """Record the output times within the steps."""
        job = self.job
        times = np.append(job.times, np.inf)
        slack = 1e-12 * max(1.0, abs(job.stop))
        while len(due := np.flatnonzero(good & (times[self.at] <= stop + slack))):
            share = np.minimum((times[self.at[due]] - self.t[due]) / h[due], 1.0)
            q, qd = self._inside(due, share, found)
            job.kept_q[due, self.at[due]], job.kept_qd[due, self.at[due]] = q, qd
            self.at[due] += 1

    def _look(
        self, good: Truths, h: Array, found: Mapping[str, Array], after_it: tuple[Array, Array]
    ) -> None:
        """Find the events of steps, which lead to states `after_it`."""
        job = self.job

        def between(states: Indices, share: Array) -> tuple[Array, Array]:
            return self._inside(states, share, found)

        start, end = (self.t, job.q, job.qd), (self.t + h, *after_it)
        job.look(self.events, start, end, good & job.alive, between)


def _difference(plant: Plant) -> StepCall:
    """Return the program of h Σ e k, the error estimate."""
    inputs, given = stage_rows(range(STAGES))

    def formula(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
        h = x["h"][0]
        return {
            "eq": h * sum(e * kind.rate(x[f"q{k}"], x[f"v{k}"]) for k, e in enumerate(ERROR) if e),
            "eqd": h * sum(e * x[f"a{k}"] for k, e in enumerate(ERROR) if e),
        }

    results: dict[str, Row] = {"eq": "q", "eqd": "qd"}
    name, found = "Dormand–Prince: error", {"eq": "eq", "eqd": "eqd"}
    return plant.at_joints(name, {"h": 1, **inputs}, results, formula, {"h": "h", **given}, found)


def _polynomial(plant: Plant) -> StepCall:
    """Return the program of y + h Σ w k, with the weights as inputs."""
    inputs, given = stage_rows(range(STAGES))

    def formula(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
        h, w = x["h"][0], x["weights"]
        q = x["q0"] + h * sum(w[k] * kind.rate(x[f"q{k}"], x[f"v{k}"]) for k in range(STAGES) if k != 1)
        v = x["v0"] + h * sum(w[k] * x[f"a{k}"] for k in range(STAGES) if k != 1)
        return {"q": kind.normalized(q), "qd": v}

    rows: dict[str, Row] = {"q": "q", "qd": "qd"}
    return plant.at_joints(
        "Dormand–Prince: between",
        {"h": 1, "weights": STAGES, **inputs},
        rows,
        formula,
        {"h": "h", "weights": "weights", **given},
        {"q": "q'", "qd": "qd'"},
    )
