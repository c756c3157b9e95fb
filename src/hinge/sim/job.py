"""A simulation job: states as rows, recorded times, endings."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, inf, prod
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hinge.dynamics import at_joints_of, closure_rows, contact_rows
from hinge.errors import ArgumentError
from hinge.model import (
    LoopMotion,
    Robot,
    as_configuration,
    as_tangent,
    as_vector,
    common_batch,
    neutral,
    units,
    warn_near_lock,
)
from hinge.sim.events import Between, Event, Hit, locate
from hinge.sim.laws import Law
from hinge.sim.plant import Plant, Stage
from hinge.sim.run import Ending, Run, Touched
from hinge.sim.signals import Signal
from hinge.spatial import Array, ArrayLike
from hinge.targets import StepCall

#: A function of (t, q, qd) that returns forces.
Function: TypeAlias = Callable[[Any, Array, Array], ArrayLike]

#: Times, one for all or (states,), and q and q̇ of all states.
Ends: TypeAlias = tuple[Array | float, Array, Array]

#: The largest error of closures in a state to start from, relative to speeds above one; for single precision
#: too.
OPEN, OPEN_SINGLE = 1e-6, 1e-4
#: So many steps take years.
MOST_STEPS = 1e15
APART = "closures came apart; a shorter dt or integrator='rk4' or 'adaptive' may help"
NOT_FINITE = "the state is not finite any more; a shorter dt or integrator='adaptive' may help"


@dataclass(frozen=True, eq=False)
class Moving:
    """The source of motion: a law, or a function that returns its forces, and the plant.

    With `project` states are taken back to where closures hold after each step.
    """

    law: Law
    ask: Function | None
    plant: Plant
    project: bool = False

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.plant.robot


class Job:
    """States as rows, steps, and recorded data."""

    def __init__(
        self,
        moving: Moving,
        q0: ArrayLike | None,
        qd0: ArrayLike | None,
        times: tuple[float, float, float],
        record: int,
        dtype: DTypeLike = np.float64,
    ) -> None:
        robot = moving.robot
        t, dt, self.start = checked_times(*times)
        if isinstance(record, bool) or not isinstance(record, int) or record < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"record: expected 1 for every step, n for every n-th, or 0, got {record!r}")
        q = as_configuration(robot, neutral(robot) if q0 is None else q0, "q0")
        qd = as_tangent(robot, np.zeros(robot.nv) if qd0 is None else qd0, "qd0")
        self.batch, self.dtype = common_batch({"q0": q, "qd0": qd}), np.dtype(dtype)
        self.moving, self.robot, self.states = moving, robot, prod(self.batch)
        self.shapes = (*self.batch, robot.nq), (*self.batch, robot.nv)
        self.steps = max(1, ceil(t / dt - 1e-9)) if t > 0 else 0
        self.dt = t / self.steps if self.steps else dt
        self.every = record or max(1, self.steps)
        with self._memory():
            self._make_room(q, qd)
        self.check_configurations(self.q)
        numbers = {**moving.law.numbers(robot), **moving.plant.numbers}
        rows = {name: self._rows(x, name) for name, x in numbers.items()}
        self.signals = {n: x for n, x in rows.items() if isinstance(x, Signal)}
        self.arrays = {n: x for n, x in rows.items() if not isinstance(x, Signal)}
        if moving.ask is not None:
            self.arrays["tau"] = np.zeros((self.states, robot.nv), self.dtype)
        self.ends = np.full(self.states, inf)
        self.left = self.states  # how many have not ended
        self.reasons: dict[int, str] = {}
        self.hits: list[tuple[Hit, int]] = []
        finite = np.isfinite(self.q).all(-1) & np.isfinite(self.qd).all(-1)
        self.end(np.flatnonzero(~finite), self.start, NOT_FINITE)
        self.check_closures(self.q, self.qd)

    def _make_room(self, q: Array, qd: Array) -> None:
        """Make the arrays of states and of records."""
        self.recorded = np.append(np.arange(0, self.steps, self.every), self.steps)
        self.q, self.qd = self.wide(q), self.wide(qd)
        shape, nv = (self.states, len(self.recorded)), self.robot.nv
        self.kept_q, self.kept_qd = (np.empty((*shape, x.shape[1]), self.dtype) for x in (self.q, self.qd))
        self.kept_tau = None if self.moving.ask is None else np.zeros((*shape, nv), self.dtype)
        self.kept_q[:, 0], self.kept_qd[:, 0] = self.q, self.qd
        self.kept_forces = np.zeros((*shape, contact_rows_of(self.moving.plant)), self.dtype)
        self.kept_residual = np.zeros((*shape, 1), self.dtype)

    @contextmanager
    def _memory(self) -> Generator[None, None, None]:
        """Name `record` where the recorded states do not fit into memory."""
        times = -(-self.steps // self.every) + 1
        row = self.robot.nq + 2 * self.robot.nv + contact_rows_of(self.moving.plant) + 1
        size = self.dtype.itemsize * max(1, self.states) * times * max(1, row)
        problem = ArgumentError(
            f"record: expected recorded states that fit into memory, got {self.states} states at {times} "
            f"times, {size / 1e9:.3g} GB; record=n records every n-th step, record=0 the last only; or "
            "simulate fewer states at a time"
        )
        if size > physical_memory():
            raise problem
        try:
            yield
        except MemoryError:
            raise problem from None

    def check_configurations(self, states: Array) -> None:
        """Refuse quaternions that are not normalised, open loops, and warn of joints near their lock."""
        for joint in units(self.robot):
            q = joint.q_of(states)
            with np.errstate(all="ignore"):
                if isinstance(joint.type, LoopMotion):
                    off = joint.type.open_by(q)
                else:
                    off = np.abs(joint.type.normalized(q) - q).max(-1, initial=0.0)
                wrong = np.isfinite(q).all(-1) & ~(off <= OPEN)
            if wrong.any() and isinstance(joint.type, LoopMotion):
                raise ArgumentError(
                    f"q0: expected a configuration that closes {joint.type.loop}, got {q[wrong][0]}; take "
                    "one of hinge.neutral(robot), or hinge.assemble(release_loops(robot), q)"
                )
            if wrong.any():
                raise ArgumentError(
                    f"q0: expected a unit quaternion for joint {joint.name!r}, got {q[wrong][0, :4]}; "
                    "normalise its four numbers, x / numpy.linalg.norm(x); hinge.neutral(robot) is a "
                    "configuration without rotation"
                )
        warn_near_lock(self.robot, states, "q0")

    def check_closures(self, q: Array, qd: Array) -> None:
        """Refuse rows of states, one for each state of the job, in which a closure is open, or moves."""
        if not self.robot.closures:
            return
        stage, most = Stage(0, 0.0, "q", "qd"), OPEN if self.dtype == np.float64 else OPEN_SINGLE
        plant, rows = self.moving.plant, {**self.arrays, "q": q, "qd": qd}
        rows = {n: x.astype(np.float64) for n, x in rows.items()}
        quick = np.maximum(1.0, np.abs(rows["qd"]).max(-1, initial=0.0))[:, None]
        for verb, name, scale, wanted, remedy in (
            (
                "closure_error",
                "q0",
                1.0,
                "a configuration that closes",
                "hinge.assemble(robot, q0).q is one near it",
            ),
            (
                "closure_velocity",
                "qd0",
                quick,
                "velocities that fit",
                "hinge.settle(robot, q0, qd0) are the nearest",
            ),
        ):
            op = plant.closing(verb, stage)
            size = np.abs(np.atleast_2d(op.run(rows)[stage.own(verb)])) / scale
            wrong = np.argwhere((size > most) & np.isfinite(size))
            if len(wrong):
                state, row = map(int, wrong[0])
                closure = closure_rows(self.robot)[row][0]
                where = f" in state {self.place(state)}" if self.batch else ""
                raise ArgumentError(
                    f"{name}: expected {wanted} {closure!r}{where}, got an error of "
                    f"{size[state].max():.3g}; {remedy}"
                )

    @property
    def stop(self) -> float:
        """The last time."""
        return self.start + self.dt * self.steps

    @property
    def times(self) -> Array:
        """The recorded times (T,)."""
        return self.start + self.dt * self.recorded

    @property
    def alive(self) -> NDArray[np.bool_]:
        """The states that have not ended."""
        return self.ends == inf

    def end(self, states: ArrayLike, t: ArrayLike, reason: str) -> None:
        """Record the ending of states that have not ended before."""
        for k, when in zip(np.atleast_1d(states), np.broadcast_to(t, np.size(states)), strict=True):
            if int(k) not in self.reasons:
                self.ends[k], self.reasons[int(k)] = when, reason
                self.left -= 1

    def revive(self, states: NDArray[np.bool_]) -> None:
        """Forget the endings of states that have been put anew; those that are not finite end again."""
        for k in np.flatnonzero(states & ~self.alive).tolist():
            del self.reasons[k]
            self.left += 1
        self.ends[states] = inf

    def wide(self, x: Array) -> Array:
        """Return numbers (…, n) that broadcast to the batch as rows (states, n)."""
        wide = np.broadcast_to(x, (*self.batch, x.shape[-1]))
        return np.array(wide.reshape(self.states, x.shape[-1]), self.dtype, order="C")

    def _rows(self, x: Array | Signal, name: str) -> Array | Signal:
        """Return numbers (n,) unchanged, and a batch of them as rows (states, n)."""
        if isinstance(x, Signal):
            if x.values.ndim == 3 and len(x.values) != self.states:
                raise ArgumentError(f"{name}: expected samples for {self.states} states, got {len(x.values)}")
            return x
        if x.ndim == 1:
            return np.ascontiguousarray(x, self.dtype)
        if common_batch({"q0": np.empty((*self.batch, 0)), name: x}) != self.batch:
            raise ArgumentError(
                f"{name}: expected the batch {self.batch} of q0 and qd0, got the batch {x.shape[:-1]}; "
                f"give q0 that batch: np.broadcast_to(q0, {(*x.shape[:-1], self.robot.nq)})"
            )
        return self.wide(x)

    def in_batch(self, x: Array) -> Array:
        """Reshape rows (states, …) to the batch."""
        return x.reshape((*self.batch, *x.shape[1:]))

    def place(self, state: int) -> tuple[int, ...]:
        """Return the batch index of a state."""
        return tuple(map(int, np.unravel_index(state, self.batch))) if self.batch else ()

    def asked(self, f: Function, t: Any, q: Array, qd: Array) -> Array:
        """Evaluate the control function on copies; return its forces (states, nv)."""
        found = f(t, q.copy().reshape(self.shapes[0]), qd.copy().reshape(self.shapes[1]))
        expected = self.shapes[1]
        if type(found) is np.ndarray and found.shape == expected and found.dtype == self.dtype:
            return found.reshape(self.states, self.robot.nv)
        tau = as_vector(found, "control", self.robot.nv, "it returns forces", dtype=self.dtype)
        try:
            return np.broadcast_to(tau, expected).reshape(self.states, self.robot.nv)
        except ValueError:
            raise ArgumentError(f"control: expected a result of shape {expected}, got {tau.shape}") from None

    # Events.

    def look(
        self,
        events: Sequence[Event],
        start: Ends,
        end: Ends,
        among: NDArray[np.bool_],
        between: Between,
        earlier: Sequence[Array] | None = None,
    ) -> list[Array]:
        """Locate the events of a step of these states, and end the runs of terminal ones.

        `start` and `end` are the times of the step, scalar or (states,), with all states there; `earlier` the
        values at the start, if they are known. Return the values at the end.
        """
        later = self.values(events, end)
        for event, before, after in zip(events, earlier or self.values(events, start), later, strict=True):
            crossed = event.crossed(before, after) & among
            if not crossed.any():
                continue
            states = np.flatnonzero(crossed)
            t, stop = (np.broadcast_to(x[0], self.states)[states] for x in (start, end))
            ends = before[states], after[states]
            found = locate(event, states, t, stop - t, ends, between, alone=not self.batch)
            for state, when, q, qd in zip(states.tolist(), *found, strict=True):
                self.hits.append((Hit(event.name, self.place(state), float(when), q, qd), state))
            if event.terminal:
                self.end(states, found[0], f"event {event.name!r}")
        return later

    def values(self, events: Iterable[Event], at: Ends) -> list[Array]:
        """Return the values (states,) of events, which stay as they are when the states move on."""
        t, q, qd = at
        now = self.in_batch(t)[()] if isinstance(t, np.ndarray) else t
        q, qd = q.reshape(self.shapes[0]), qd.reshape(self.shapes[1])
        return [event.values(now, q, qd).flatten() for event in events]

    # Results.

    def result(self, count: int, settings: Mapping[str, Any]) -> Run:
        """Return the run with the first recorded times."""
        if self.moving.project:
            self._end_open(count)
        if self.states and not self.alive.any():
            count = max(1, int((self.times[:count] <= self.ends.max()).sum()))
        times, q, qd = self.times[:count], self.kept_q[:, :count], self.kept_qd[:, :count]
        for k in self.reasons:
            late = times > self.ends[k]
            q[k, late] = qd[k, late] = np.nan
            self.kept_forces[k, :count][late] = self.kept_residual[k, :count][late] = np.nan
        tau = self._forces(times, q, qd) if self.kept_tau is None else self.kept_tau[:, :count]
        endings = [Ending(self.place(k), float(self.ends[k]), self.reasons[k]) for k in sorted(self.reasons)]
        hits = sorted((hit for hit, k in self.hits if hit.t <= self.ends[k]), key=lambda hit: hit.t)
        q, qd, tau = map(self.in_batch, (q, qd, tau))
        return Run(self.robot, times, q, qd, tau, tuple(endings), tuple(hits), settings, self._touched(count))

    def _touched(self, count: int) -> Touched | None:
        """Return the recorded forces of contacts and how far they are from their law."""
        if not self.moving.plant.stepping:
            return None
        rows, contacts = self.kept_forces[:, :count], len(self.robot.contacts)
        forces = rows[..., rows.shape[-1] - 3 * contacts :]
        forces = self.in_batch(forces.reshape(*forces.shape[:-1], contacts, 3))
        joints = np.zeros((*rows.shape[:-1], self.robot.nv), self.dtype)
        if self.moving.plant.limits:
            joints = at_joints_of(self.robot, self.kept_q[:, :count], rows)
        return Touched(forces, self.in_batch(self.kept_residual[:, :count, 0]), self.in_batch(joints))

    def _end_open(self, count: int) -> None:
        """End states whose closures came apart all the same, at the first recorded time that shows it."""
        stage = Stage(0, 0.0, "q", "qd")
        rows: dict[str, Array] = {n: x if x.ndim == 1 else x[:, None] for n, x in self.arrays.items()}
        rows |= {"q": self.kept_q[:, :count], "qd": self.kept_qd[:, :count]}
        with np.errstate(all="ignore"):
            size = np.abs(
                self.moving.plant.closing("closure_error", stage).run(rows)[stage.own("closure_error")]
            )
            apart = size.max(-1, initial=0.0) > (OPEN if self.dtype == np.float64 else 10 * OPEN_SINGLE)
        for k in np.flatnonzero(apart.any(-1)):
            when = self.times[apart[k].argmax()]
            if when < self.ends[k]:  # also where it was not finite in the end
                self.left += self.reasons.pop(int(k), None) is not None
                self.end(k, when, APART)

    def _forces(self, times: Array, q: Array, qd: Array) -> Array:
        """Return the forces (states, T, nv) of the law at states (states, T, …)."""
        stage = Stage(0, 0.0, "q", "qd", frozenset(self.signals))
        ops, name = self.moving.law.forces(self.moving.plant, stage)
        found: dict[str, Array] = {n: x if x.ndim == 1 else x[:, None] for n, x in self.arrays.items()}
        found |= {"q": q, "qd": qd}
        for n, x in self.signals.items():
            found[stage.number(n)] = x.at(times).astype(self.dtype)
        return np.array(np.broadcast_to(after(ops, found)[name], qd.shape), order="C")


def contact_rows_of(plant: Plant) -> int:
    """Return how many forces of contacts, closures and limits a step has."""
    return contact_rows(plant.robot, plant.limits) if plant.stepping else 0


def after(ops: list[StepCall] | tuple[StepCall, ...], buffers: Mapping[str, Array]) -> dict[str, Array]:
    """Run programs on buffers, and return the buffers."""
    found = dict(buffers)
    for op in ops:
        found |= op.run(found)
    return found


def physical_memory() -> float:
    """Return the bytes of memory of this machine, infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return inf


def events_of(events: Any) -> tuple[Event, ...]:
    """Return the events; a bare function is an event that is not terminal."""
    if events is None:
        return ()
    given: list[Any] = [events] if isinstance(events, Event) or callable(events) else list(events)
    for e in given:
        if not isinstance(e, Event) and not callable(e):
            raise ArgumentError(f"events: expected Event values or functions of (t, q, qd), got {e!r}")
    return tuple(e if isinstance(e, Event) else Event(e) for e in given)


def checked_times(t: float, dt: float, start: float) -> tuple[float, float, float]:
    """Return times as floats, or refuse them."""
    """Return times as floats, or refuse them."""
    for name, value, least in (("t", t, 0.0), ("dt", dt, 0.0), ("start", start, -inf)):
        if isinstance(value, bool) or not isinstance(value, Real) or not least <= value < inf:  # pyright: ignore[reportUnnecessaryIsInstance]
            more = ", not negative" if least == 0 else ""
            raise ArgumentError(f"{name}: expected a number of seconds{more}, got {value!r}")
    if dt <= 0:
        raise ArgumentError(f"dt: expected a step above zero, such as 1e-3, got {dt!r}")
    with np.errstate(over="ignore"):
        if np.float64(t) / np.float64(dt) > MOST_STEPS:
            raise ArgumentError(
                f"t: expected at most {MOST_STEPS:g} steps of dt = {dt!r}, got {t!r} seconds; give a "
                "shorter t or a longer dt"
            )
    return float(t), float(dt), float(start)
