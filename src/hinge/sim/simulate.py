"""The main job: a robot's motion from a state, under a control law."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, inf, prod
from numbers import Real
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from hinge.dynamics import External
from hinge.errors import ArgumentError
from hinge.model import (
    Robot,
    as_configuration,
    as_tangent,
    as_vector,
    checked_robot,
    common_batch,
    neutral,
)
from hinge.sim.integrators import Integrator, integrator_of
from hinge.sim.laws import Law, Torque
from hinge.sim.plant import Plant, Stage, sampled
from hinge.sim.run import Ending, Run
from hinge.sim.signals import Signal
from hinge.spatial import Array, ArrayLike
from hinge.targets import Stretch, Tape, player

#: A law, forces that stay, or any function of (t, q, qd), which is asked once a step for all states.
Control: TypeAlias = Law | ArrayLike | Callable[[float, Array, Array], ArrayLike] | None
#: Is told the steps that are done, and how many there are.
Progress: TypeAlias = Callable[[int, int], None]

#: A stretch of steps without a look at the clock takes about so many seconds, and its tables so many bytes.
STRETCH_SECONDS, TABLE_BYTES = 0.5, 64_000_000


class Interrupted(KeyboardInterrupt):
    """The user broke off; `run` has what was computed until then."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"interrupted at t = {run.t[-1]:g} s")
        self.run = run


def simulate(
    robot: Robot,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    *,
    t: float,
    dt: float = 1e-3,
    control: Control = None,
    integrator: str | Integrator = "rk4",
    external: External = None,
    gravity: ArrayLike | None = None,
    record: int = 1,
    start: float = 0.0,
    progress: Progress | None = None,
) -> Run:
    """Return the motion from a state q0, qd0 or a batch of them, over `t` seconds in steps of `dt`.

    Without q0 the robot begins in its neutral configuration, without qd0 at rest. `control` is None for no
    forces, an array (…, nv) of forces that stay, a law such as `PD` or `ComputedTorque`, which is compiled
    into the loop over steps, or a function of (t, q, qd) that returns forces (…, nv); it is called once a
    step with all states, and its forces stay for the step. `integrator` is "rk4", "semi-implicit" or
    "midpoint". `external` are forces {frame: [n; f]} that stay, `gravity` (…, 3) replaces the robot's.

    Every `record`-th state is kept, the first always, with 0 only the first and the last. A state that is not
    finite any more ends its own run and no other: the run's `endings` say which and when.
    """
    job = _Job(checked_robot(robot), q0, qd0, t, dt, start, record)
    law, ask = _law(control)
    rule = integrator_of(integrator)
    plant = Plant(robot, external=external, gravity=gravity)
    numbers = {**law.numbers(robot), **plant.numbers}
    signals = frozenset(n for n, x in numbers.items() if isinstance(x, Signal))
    tape = Tape(tuple(rule.ops(plant, law, signals)), {"q": "q'", "qd": "qd'"}, "qd'")
    settings = {"integrator": rule.name, "dt": job.dt, "gravity": gravity, "record": record}
    loop = _Loop(job, tape, {n: job.rows(x, n) for n, x in numbers.items()}, rule.nodes, ask)
    try:
        loop.run(progress)
    except KeyboardInterrupt:
        raise Interrupted(loop.result(law, plant, settings)) from None
    return loop.result(law, plant, settings)


def _law(control: Control) -> tuple[Law, Callable[[float, Array, Array], ArrayLike] | None]:
    """Return the law, and the function that gives its forces if it is none of ours."""
    if isinstance(control, Law):
        return control, None
    if callable(control):
        return Torque(0.0), control
    return Torque(0.0 if control is None else control), None


class _Job:
    """What is simulated: states as rows, steps, and which of them are recorded."""

    def __init__(
        self,
        robot: Robot,
        q0: ArrayLike | None,
        qd0: ArrayLike | None,
        t: float,
        dt: float,
        start: float,
        record: int,
    ) -> None:
        _check_times(t, dt, start)
        if isinstance(record, bool) or not isinstance(record, int) or record < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"record: {record!r} came; wanted 1 for every step, n for every n-th, or 0")
        q = as_configuration(robot, neutral(robot) if q0 is None else q0, "q0")
        qd = as_tangent(robot, np.zeros(robot.nv) if qd0 is None else qd0, "qd0")
        self.batch = common_batch({"q0": q, "qd0": qd})
        self.robot, self.states, self.start = robot, prod(self.batch), start
        self.q, self.qd = self._own(q), self._own(qd)
        self.steps = max(1, ceil(t / dt - 1e-9)) if t > 0 else 0
        self.dt = t / self.steps if self.steps else dt
        self.every = record or max(1, self.steps)
        times = [*range(0, self.steps, self.every), self.steps] if self.steps else [0]
        self.recorded = np.array(times)

    @property
    def times(self) -> Array:
        """The times (T,) that are recorded."""
        return self.start + self.dt * self.recorded

    def _own(self, x: Array) -> Array:
        wide = np.broadcast_to(x, (*self.batch, x.shape[-1]))
        return np.array(wide.reshape(self.states, x.shape[-1]), order="C")

    def rows(self, x: Array | Signal, name: str) -> Array | Signal:
        """Return numbers (n,) as they are, and those of each state as rows (states, n)."""
        if isinstance(x, Signal):
            if x.values.ndim == 3 and x.values.shape[1] != self.states:
                raise ArgumentError(
                    f"{name}: its samples are for {x.values.shape[1]} states; wanted {self.states}"
                )
            return x
        if x.ndim == 1:
            return np.ascontiguousarray(x)
        if common_batch({"q0": np.empty((*self.batch, 0)), name: x}) != self.batch:
            raise ArgumentError(
                f"{name}: has shape {x.shape}, but there are {self.batch or 'no'} states; give q0 that batch"
            )
        return self._own(x)


def _check_times(t: float, dt: float, start: float) -> None:
    for name, value, least in (("t", t, 0.0), ("dt", dt, 0.0), ("start", start, -inf)):
        if isinstance(value, bool) or not isinstance(value, Real) or not least <= value < inf:  # pyright: ignore[reportUnnecessaryIsInstance]
            more = ", not negative" if least == 0 else ""
            raise ArgumentError(f"{name}: {value!r} came; wanted a number of seconds{more}")
    if dt <= 0:
        raise ArgumentError(f"dt: {dt!r} came; wanted a step longer than zero, such as 1e-3")


class _Loop:
    """The loop over steps: stretches of native code, or one step after each question to a function."""

    def __init__(
        self,
        job: _Job,
        tape: Tape,
        numbers: Mapping[str, Array | Signal],
        nodes: Sequence[float],
        ask: Callable[[float, Array, Array], ArrayLike] | None,
    ) -> None:
        self.job, self.nodes, self.ask = job, sorted(set(nodes)), ask
        self.player = player(tape)
        self.signals = {n: x for n, x in numbers.items() if isinstance(x, Signal)}
        self.arrays = {n: x for n, x in numbers.items() if not isinstance(x, Signal)}
        if ask is not None:
            self.arrays["tau"] = np.zeros((job.states, job.robot.nv))
        self.arrays |= {"q": job.q, "qd": job.qd, "h": np.array([job.dt])}
        shape = job.states, len(job.recorded)
        self.q, self.qd = (np.empty((*shape, x.shape[1])) for x in (job.q, job.qd))
        self.tau = None if ask is None else np.zeros((*shape, job.robot.nv))
        self.q[:, 0], self.qd[:, 0] = job.q, job.qd
        self.bad = np.where(np.isfinite(job.q).all(-1) & np.isfinite(job.qd).all(-1), -1, 0)
        self.done = 0

    def run(self, progress: Progress | None) -> None:
        """Run all steps, and tell how far it is between stretches."""
        job, length = self.job, 1
        while self.done < job.steps:
            began = perf_counter()
            if self.ask is not None:
                self._ask(self.ask)
            stop = min(job.steps, self.done + (1 if self.ask else min(length, self._most())))
            self._stretch(stop)
            taken = perf_counter() - began
            length = max(1, min(4 * length, int(length * STRETCH_SECONDS / max(taken, 1e-9))))
            if progress is not None:
                progress(self.done, job.steps)
        if self.ask is not None:
            self._ask(self.ask)

    def _most(self) -> int:
        """Return how many steps have tables of bearable size."""
        row = sum(x.values[0].size for x in self.signals.values()) * len(self.nodes)
        return max(1, TABLE_BYTES // (8 * row)) if row else 1 << 40

    def _ask(self, f: Callable[[float, Array, Array], ArrayLike]) -> None:
        """Have the forces of the next step from a function."""
        job = self.job
        q, qd = (x.reshape(*job.batch, x.shape[-1]).copy() for x in (job.q, job.qd))
        tau = as_vector(
            f(job.start + job.dt * self.done, q, qd), "control", job.robot.nv, "it returns forces"
        )
        wanted = (*job.batch, job.robot.nv)
        try:
            self.arrays["tau"][...] = np.broadcast_to(tau, wanted).reshape(job.states, -1)
        except ValueError:
            raise ArgumentError(f"control: returned shape {tau.shape}; wanted {wanted}") from None
        at = np.searchsorted(job.recorded, self.done)
        if self.tau is not None and job.recorded[at] == self.done:
            self.tau[:, at] = self.arrays["tau"]

    def _stretch(self, stop: int) -> None:
        job, first = self.job, self.done
        times = job.start + job.dt * np.arange(first, stop)
        tables = {
            sampled(name, node): np.ascontiguousarray(x.at(times + node * job.dt))
            for name, x in self.signals.items()
            for node in self.nodes
        }
        begin = int(np.searchsorted(job.recorded, first, side="right"))
        records = {"q": self.q, "qd": self.qd}
        self.player.run(
            Stretch(
                job.states, first, stop, self.bad, self.arrays, tables, records, every=job.every, begin=begin
            )
        )
        self.done = stop
        if stop == job.steps:
            self.q[:, -1], self.qd[:, -1] = job.q, job.qd

    def result(self, law: Law, plant: Plant, settings: Mapping[str, Any]) -> Run:
        """Return what is there so far."""
        job = self.job
        count = int(np.searchsorted(job.recorded, self.done, side="right"))
        times, q, qd = job.times[:count], self.q[:, :count], self.qd[:, :count]
        for k in np.flatnonzero(self.bad >= 0):
            late = job.recorded[:count] > self.bad[k]
            q[k, late] = qd[k, late] = np.nan
        tau = self._forces(law, plant, times, q, qd) if self.tau is None else self.tau[:, :count]
        q, qd, tau = (x.reshape(*job.batch, count, x.shape[-1]) for x in (q, qd, tau))
        return Run(job.robot, times, q, qd, tau, self._endings(), settings)

    def _forces(self, law: Law, plant: Plant, times: Array, q: Array, qd: Array) -> Array:
        """Return the forces (states, T, nv) of the law at states (states, T, …)."""
        stage = Stage(0, 0.0, "q", "qd", frozenset(self.signals))
        ops, name = law.forces(plant, stage)
        found: dict[str, Array] = {n: x if x.ndim == 1 else x[:, None] for n, x in self.arrays.items()}
        found |= {"q": q, "qd": qd}
        for n, x in self.signals.items():
            values = x.at(times)
            found[stage.number(n)] = values if values.ndim == 2 else np.swapaxes(values, 0, 1)
        for op in ops:
            found |= op.run(found)
        return np.array(np.broadcast_to(found[name], qd.shape))

    def _endings(self) -> tuple[Ending, ...]:
        job = self.job
        return tuple(
            Ending(
                tuple(map(int, np.unravel_index(k, job.batch))) if job.batch else (),
                float(job.start + job.dt * self.bad[k]),
                "the state is not finite any more",
            )
            for k in np.flatnonzero(self.bad >= 0)
        )
