"""Centre of mass and momentum: Featherstone (3.1), (3.8)."""

from __future__ import annotations

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration
from hinge.reference.arguments import state
from hinge.reference.flexible import flexible_moment, flexible_momentum
from hinge.reference.kinematics import forward_kinematics
from hinge.reference.motions import velocities
from hinge.spatial import Array, ArrayLike, matvec


def first_moment(robot: Robot, q: ArrayLike) -> Array:
    """Return Σ mᵢ cᵢ in world coordinates, (…, 3)."""
    q = as_configuration(robot, q)
    moment = np.zeros((*q.shape[:-1], 3))
    for b, x in zip(robot.bodies, forward_kinematics(robot, q), strict=True):
        moment = moment + b.inertia.m * x.position + matvec(x.rotation, b.inertia.h)
    return moment + flexible_moment(robot, q) if robot.is_flexible else moment


def center_of_mass(robot: Robot, q: ArrayLike) -> Array:
    """Return Σ mᵢ cᵢ / Σ mᵢ in world coordinates, (…, 3)."""
    if robot.mass == 0:
        raise ArgumentError(
            f"robot: expected a mass above zero, got 0 for {robot.name!r}; it has no centre of mass"
        )
    return first_moment(robot, q) / robot.mass


def momentum(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the momentum [angular about the world's origin; linear] (…, 6) in world axes."""
    total: Array = np.zeros(6)
    v = velocities(robot, q, qd)
    for b, x, vi in zip(robot.bodies, forward_kinematics(robot, q), v, strict=True):
        total = total + x.inv().force(b.inertia.apply(vi))
    return total + flexible_momentum(robot, *state(robot, q, qd=qd)) if robot.is_flexible else total
