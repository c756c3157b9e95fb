"""Short runs of several robots, made once."""

from __future__ import annotations

from functools import cache

import numpy as np

import hinge

NAMES = ["double_pendulum", "puma560", "spacecraft", "quadruped"]


@cache
def short_run(name: str, batch: tuple[int, ...] = (), control: float | None = None) -> hinge.Run:
    robot = getattr(hinge.robots, name)()
    rng = np.random.default_rng(1)
    q0 = np.broadcast_to(hinge.neutral(robot), (*batch, robot.nq))
    qd0 = 0.3 * rng.standard_normal((*batch, robot.nv))
    force = None if control is None else np.full(robot.nv, control)
    return hinge.simulate(robot, q0, qd0, t=0.2, dt=0.02, control=force)
