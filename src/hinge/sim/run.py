"""The result of a simulation: times, states, and derived quantities on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from hinge.dynamics import elastic_energy, forward_kinematics, kinetic_energy, potential_energy
from hinge.model import Robot
from hinge.sim.events import Hit
from hinge.spatial import Array

#: A progress callback of (done, total).
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class Ending:
    """An early ending of one state: its batch index, the time, and the reason."""

    state: tuple[int, ...]
    t: float
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A robot's motion: t (T,), q (…, T, nq), qd (…, T, nv), tau (…, T, nv), for one state or a batch (…).

    After an ending the recorded state is NaN. `events` are ordered by time. `settings` record the arguments
    of the simulation.
    """

    robot: Robot
    t: Array
    q: Array
    qd: Array
    tau: Array
    endings: tuple[Ending, ...] = ()
    events: tuple[Hit, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __repr__(self) -> str:
        batch = "×".join(map(str, self.batch)) or "one"
        ended = f", {len(self.endings)} ended early" if self.endings else ""
        return (
            f"<Run of {self.robot.name!r}: {batch} state{'s' if self.batch else ''}, {len(self.t)} times, "
            f"t = {self.t[0]:g} … {self.t[-1]:g} s{ended}>"
        )

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch, () for one state."""
        return self.q.shape[:-2]

    @cached_property
    def kinetic_energy(self) -> Array:
        """The kinetic energy (…, T) in J."""
        return kinetic_energy(self.robot, self.q, self.qd)

    @cached_property
    def potential_energy(self) -> Array:
        """The potential energy (…, T) in J, under the gravity of the run."""
        down = self.settings.get("gravity")
        if down is not None and np.ndim(down) > 1:
            down = np.asarray(down)[..., None, :]  # the same at all times
        return potential_energy(self.robot, self.q, gravity=down)

    @cached_property
    def elastic_energy(self) -> Array:
        """The energy (…, T) in J of the joints' springs; zero if the run had no passive forces."""
        if not self.settings.get("passive") or not any(j.stiffness.any() for j in self.robot.joints):
            return np.zeros(self.q.shape[:-1])
        return elastic_energy(self.robot, self.q)

    @property
    def energy(self) -> Array:
        """Kinetic, potential and elastic energy together (…, T) in J."""
        return self.kinetic_energy + self.potential_energy + self.elastic_energy

    def poses(self, frame: str) -> Any:
        """Return the poses of a frame or body at all times, as `forward_kinematics` does."""
        return forward_kinematics(self.robot, self.q, frame)
