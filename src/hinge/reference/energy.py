"""Kinetic and potential energy: Featherstone (5.17)."""

from __future__ import annotations

import numpy as np

from hinge.model import Robot, as_configuration, as_tangent, as_vector
from hinge.reference.kinematics import forward_kinematics
from hinge.reference.velocities import velocities
from hinge.spatial import Array, ArrayLike, dot, matvec


def kinetic_energy(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return Σ ½ vᵢᵀ Iᵢ vᵢ, and ½ Σ rotor inertia q̇², (…) in J."""
    qd = as_tangent(robot, qd, "qd")
    rotors = np.concatenate([np.zeros(0), *(j.rotor_inertia for j in robot.joints)])
    energy = 0.5 * dot(rotors * qd, qd)
    for b, v in zip(robot.bodies, velocities(robot, q, qd), strict=True):
        energy = energy + 0.5 * dot(v, b.inertia.apply(v))
    return energy


def potential_energy(robot: Robot, q: ArrayLike, *, gravity: ArrayLike | None = None) -> Array:
    """Return −Σ g · (mᵢ cᵢ), (…) in J, zero at the world's origin."""
    q = as_configuration(robot, q)
    g = robot.gravity if gravity is None else as_vector(gravity, "gravity", 3, "it is an acceleration")
    energy = np.zeros(q.shape[:-1])
    for b, x in zip(robot.bodies, forward_kinematics(robot, q), strict=True):
        moment = b.inertia.m * x.position + matvec(x.rotation, b.inertia.h)
        energy = energy - dot(g, moment)
    return energy
