"""Robots whose joints have forces of their own, and these forces by NumPy."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from hinge.model import Robot
from hinge.model.joints import JOINT_TYPES
from hinge.spatial import Array
from tests.trees import tree_of_all

#: Joints whose configurations are not all reached along one velocity: springs have no formula there.
ROLLING = ("rolling_ball", "wheeled")
#: All others but a free joint.
SPRUNG = [kind for kind in JOINT_TYPES if kind not in (*ROLLING, "free")]


@cache
def sprung() -> Robot:
    """Return a random tree with all joint types that can have springs, but a free one."""
    return with_physics(tree_of_all(16, SPRUNG, start=78))  # no earlier seed gives one


def with_physics(robot: Robot, seed: int = 0, *, sparse: bool = False) -> Robot:
    """Return the robot with springs, dampers, friction, rotors and gears, on some coordinates if `sparse`."""
    rng = np.random.default_rng(seed)

    def numbers(n: int) -> Array:
        return rng.random(n) * (rng.random(n) < 0.4 if sparse else 1.0)

    changed = [
        j
        if j.type.kind == "flexure"  # a deformation, whose forces are those of the body
        else replace(
            j,
            damping=numbers(j.nv),
            friction=numbers(j.nv),
            friction_speed=0.01 + rng.random(j.nv),
            stiffness=numbers(j.nv) * (j.type.kind not in ROLLING),
            rest=j.type.random(rng, (), j.lower, j.upper),
            gear_ratio=rng.uniform(-3.0, 3.0, j.nv),
        )
        for j in robot.joints
    ]
    return replace(robot, joints=tuple(changed))


def passive_force(robot: Robot, q: Array, qd: Array) -> Array:
    """Return −damping q̇ − friction q̇/√(q̇² + s²) − stiffness difference(rest, q)."""
    parts: list[Array] = [np.zeros((*qd.shape[:-1], 0))]
    for j in robot.independent:
        v = qd[..., j.qd_slice]
        x = j.type.difference(j.rest, q[..., j.q_slice]) if j.stiffness.any() else 0.0
        rubbing = j.friction * v / np.sqrt(v**2 + j.friction_speed**2)
        parts.append(-j.damping * v - rubbing - j.stiffness * x)
    return np.concatenate(parts, axis=-1)
