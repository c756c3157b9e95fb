"""Random robots and states for tests, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hinge.model import Robot, random_configuration
from hinge.robots import random_tree
from hinge.spatial import Array


@dataclass(frozen=True)
class State:
    """A robot's configuration, velocity, acceleration and forces, all of one batch shape."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array


def random_state(
    robot: Robot, seed: int | np.random.Generator = 0, size: int | tuple[int, ...] = ()
) -> State:
    """Return a random state: q within the limits, the rest normal with unit variance."""
    rng = np.random.default_rng(seed)
    shape = (size,) if isinstance(size, int) else size
    q = random_configuration(robot, rng, shape)
    qd, qdd, tau = (rng.standard_normal((*shape, robot.nv)) for _ in range(3))
    return State(q, qd, qdd, tau)


def random_robots(count: int, *, bodies: int = 12, first_seed: int = 0) -> Iterator[Robot]:
    """Yield random trees with every joint type among them, half on a free base."""
    for seed in range(first_seed, first_seed + count):
        yield random_tree(bodies, seed)
