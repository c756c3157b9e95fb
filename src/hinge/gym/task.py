"""`Task`: what robots are asked to do, as functions of many states at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.model import Robot
from hinge.sim import Law
from hinge.spatial import Array


@dataclass
class States:
    """The states of n robots: q (n, nq), qd (n, nv), and what their tasks remember of them.

    `own` are arrays with a row for each robot, such as the goals that `Task.begin` has drawn. `forces`
    (n, contacts, 3) are those of contacts in the last step, of tasks whose robots step over these.
    """

    q: Array
    qd: Array
    own: dict[str, Array] = field(default_factory=dict[str, Array])
    forces: Array | None = None


class Task(ABC):
    """What robots are asked to do. All functions are of many states, with a row for each.

    `robot` moves under `control` (None for forces) in steps of `dt`, of which an action takes `steps`; an
    episode is truncated after `horizon` actions. `settings` are further arguments of `hinge.Stepper`, such as
    the integrator. Actions are numbers from −1 to 1, as many as `actions` says.
    """

    robot: Robot
    actions: int
    control: Law | None = None
    dt: float = 1e-3
    steps: int = 10
    horizon: int = 500
    settings: Mapping[str, Any] = {}

    @abstractmethod
    def begin(self, rng: np.random.Generator, count: int) -> States:
        """Return states to begin from, with the arrays in `own` that the task needs."""

    @abstractmethod
    def commands(self, states: States, actions: Array) -> Mapping[str, Array]:
        """Return what actions (n, actions) tell the control: tau, or target, velocity … of its law."""

    @abstractmethod
    def observe(self, states: States) -> Array:
        """Return what is observed (n, observations)."""

    @abstractmethod
    def reward(self, states: States, actions: Array) -> Array:
        """Return the rewards (n,) of actions that led to states."""

    def fails(self, states: States) -> NDArray[np.bool_]:
        """Return which episodes end here (n,): by default none but those that are not finite any more."""
        return np.zeros(len(states.q), dtype=bool)
