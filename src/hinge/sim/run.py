"""The result of a simulation: times, states, and derived quantities on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np

from hinge.dynamics import (
    LawAnswer,
    compiled,
    elastic_energy,
    expression,
    external_forces,
    forward_kinematics,
    kinetic_energy,
    potential_energy,
    rows_that_hold,
)
from hinge.errors import ArgumentError
from hinge.model import Robot, carry_state, gravity_of, release_loops
from hinge.sim.events import Hit
from hinge.sim.notebook import coordinate_names, page
from hinge.spatial import Array, dot, unskew

#: A progress callback of (done, total).
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class Ending:
    """An early ending of one state: its batch index, the time, and the reason."""

    state: tuple[int, ...]
    t: float
    reason: str


@dataclass(frozen=True)
class ChartChange:
    """A change of the independent rates of a state: its batch index, the time, and the joints."""

    state: tuple[int, ...]
    t: float
    independent: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Touched(LawAnswer):
    """Contacts along a run: forces (…, T, contacts, 3) along normals and tangents, on the shapes' bodies.

    They are means of the step that leads to each time. `residual` (…, T) is how far they are from the law of
    contact, relative to the largest approach of the step, and `met` (…, T) says whether that is small.
    `joints` (…, T, nv) are the forces of limits and of dry friction in runs with `limits`.
    """

    forces: Array
    residual: Array
    joints: Array


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A robot's motion: t (T,), q (…, T, nq), qd (…, T, nv), tau (…, T, nv), for one state or a batch (…).

    After an ending the recorded state is NaN. `events` are ordered by time. `settings` record the arguments
    of the simulation. `contacts` are the forces of contacts, of runs that step over these.

    `changes` tell where states of a robot with embedded loops went on with other independent rates. q, qd and
    tau are those of `robot` all the same: qd has the rates of its independent joints, which at a dead centre
    do not tell those of the others. `rates` (…, T, n) has the rates of all joints, as the robot of `released`
    has them, of runs with changes.
    """

    robot: Robot
    t: Array
    q: Array
    qd: Array
    tau: Array
    endings: tuple[Ending, ...] = ()
    events: tuple[Hit, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    contacts: Touched | None = None
    rates: Array | None = None
    changes: tuple[ChartChange, ...] = ()

    def __repr__(self) -> str:
        batch = "×".join(map(str, self.batch)) or "one"
        ended = f", {len(self.endings)} ended early" if self.endings else ""
        return (
            f"<Run of {self.robot.name!r}: {batch} state{'s' if self.batch else ''}, {len(self.t)} times, "
            f"t = {self.t[0]:g} … {self.t[-1]:g} s{ended}>"
        )

    def _repr_html_(self) -> str:
        """Return a table and a plot of q, for notebooks."""
        states = prod(self.batch)
        facts: dict[str, object] = {
            "robot": self.robot.name,
            "states": "×".join(map(str, self.batch)) or "one",
            "time": f"{self.t[0]:g} … {self.t[-1]:g} s, {len(self.t)} times" if len(self.t) else "none",
            **{n: self.settings[n] for n in ("integrator", "control") if n in self.settings},
        }
        if self.endings:
            facts["ended early"] = f"{len(self.endings)}; the first at {min(e.t for e in self.endings):g} s"
        if self.changes:
            facts["changes of independent rates"] = len(self.changes)
        if self.events:
            facts["events"] = len(self.events)
        first = self.q.reshape(states, *self.q.shape[-2:])[:1].reshape(-1, self.q.shape[-1])
        title = "q" + (" of the first state" if self.batch else "")
        return page(facts, self.t, first, coordinate_names(self.robot)[0] if states else [], title)

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch, () for one state."""
        return self.q.shape[:-2]

    @cached_property
    def kinetic_energy(self) -> Array:
        """The kinetic energy (…, T) in J."""
        if self.rates is not None:
            return self.released().kinetic_energy
        if not self._parameters:
            return kinetic_energy(self.robot, self.q, self.qd)
        return self._verb("kinetic_energy", qd=self.qd)

    def released(self) -> Run:
        """Return the run as one of `release_loops(robot)`, with rates of all joints and no charts.

        Forces are at the joints that are independent in `robot`. Its `closure_forces` are those of the loops.
        """
        if not self.robot.loops:
            raise ArgumentError(
                f"run: expected a robot with embedded loops, got {self.robot.name!r}, which has none"
            )
        cut = release_loops(self.robot)
        rates = carry_state(self.robot, cut, self.q, self.qd)[1] if self.rates is None else self.rates
        tau = np.zeros((*self.tau.shape[:-1], cut.nv), self.tau.dtype)
        for j in self.robot.rated:
            tau[..., cut.joint(j.name).qd_slice] = self.tau[..., j.qd_slice]
        hits = tuple(replace(h, qd=carry_state(self.robot, cut, h.q, h.qd)[1]) for h in self.events)
        return replace(self, robot=cut, qd=rates, tau=tau, events=hits, rates=None, changes=())

    @property
    def _parameters(self) -> dict[str, Array]:
        """The parameters of the run that act through masses and lengths, the same at all times."""
        given = self.settings.get("parameters") or {}
        last = {"inertias": 2, "placements": 2, "rotors": 1}
        return {
            n: np.expand_dims(x, -1 - k) if np.ndim(x) > k else np.asarray(x)
            for n, k in last.items()
            if (x := given.get(n)) is not None
        }

    def _verb(self, verb: str, **vectors: Array) -> Array:
        """Return a verb for the parameters of the run."""
        f = compiled(self.robot, verb, parameters=tuple(self._parameters))
        return f(self.q, **vectors, **self._parameters)

    @cached_property
    def potential_energy(self) -> Array:
        """The potential energy (…, T) in J, under the gravity of the run."""
        down = self.settings.get("gravity")
        if down is not None and np.ndim(down) > 1:
            down = np.asarray(down)[..., None, :]  # the same at all times
        if not self._parameters:
            return potential_energy(self.robot, self.q, gravity=down)
        with np.errstate(all="ignore"):  # non-finite states of a batch must not warn
            return -dot(gravity_of(self.robot, down), unskew(self._verb("composite_inertia")[..., :3, 3:]))

    @cached_property
    def elastic_energy(self) -> Array:
        """The energy (…, T) in J of flexible bodies, and of the joints' springs if the run had passive
        forces.
        """
        if not self.settings.get("passive"):
            return elastic_energy(self.robot, self.q, passive=False)
        given = (self.settings.get("parameters") or {}).get("friction")
        if given is not None:
            springs = self._elastic_energy(np.asarray(given)[..., None, :, 2])
            return springs + elastic_energy(self.robot, self.q, passive=False)
        return elastic_energy(self.robot, self.q)

    def _elastic_energy(self, stiffness: Array) -> Array:
        """Return the energy of springs of this stiffness (…, 1, nv)."""
        total = np.zeros(self.q.shape[:-1])
        for j in self.robot.joints:
            k = stiffness[..., j.qd_slice]
            if k.any():
                stretch = j.type.difference(j.rest, self.q[..., j.q_slice])
                total = total + 0.5 * (k * stretch**2).sum(axis=-1)
        return total

    @property
    def energy(self) -> Array:
        """Kinetic, potential and elastic energy together (…, T) in J."""
        return self.kinetic_energy + self.potential_energy + self.elastic_energy

    def closure_forces(self) -> Array:
        """Return the forces (…, T, m) of the closures at the recorded states, see `closed_dynamics`."""
        if not self.robot.closures:
            raise ArgumentError(
                f"run: expected a robot with closures, got {self.robot.name!r}, which has none"
            )
        given, own = self._parameters, self.settings.get("parameters") or {}
        passive = bool(self.settings.get("passive"))
        if passive and "friction" in own:
            x = np.asarray(own["friction"])
            given["friction"] = x[..., None, :, :] if x.ndim > 2 else x
        if (mask := self.settings.get("fastened")) is not None:
            rows = rows_that_hold(self.robot, mask)
            given["closed"] = rows[..., None, :] if rows.ndim > 1 else rows
        nodes, forces = external_forces(self.settings.get("external"))
        forces = {n: np.asarray(x)[..., None, :, :] if np.ndim(x) > 2 else x for n, x in forces.items()}
        f = compiled(
            self.robot, expression("closed_dynamics", passive=passive), nodes, parameters=tuple(given)
        )
        down = self.settings.get("gravity")
        if down is not None:
            given["gravity"] = np.asarray(down)[..., None, :] if np.ndim(down) > 1 else down
        return f.evaluate(self.q, {"qd": self.qd, "tau": self.tau, **forces, **given})["forces"]

    def poses(self, frame: str) -> Any:
        """Return the poses of a frame or body at all times, as `forward_kinematics` does."""
        return forward_kinematics(self.robot, self.q, frame)
