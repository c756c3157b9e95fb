"""Kinetic and potential energy: Featherstone (5.17)."""

from __future__ import annotations

from hinge.model import Robot, gravity_of
from hinge.reference.arguments import state
from hinge.reference.flexible import flexible_energy
from hinge.reference.momenta import first_moment
from hinge.reference.motions import velocities
from hinge.spatial import Array, ArrayLike, dot


def kinetic_energy(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return Σ ½ vᵢᵀ Iᵢ vᵢ, and ½ Σ rotor inertia q̇², (…) in J."""
    q, qd = state(robot, q, qd=qd)
    energy = 0.5 * dot(robot.reflected_inertia * qd, qd)
    for b, v in zip(robot.bodies, velocities(robot, q, qd), strict=True):
        energy = energy + 0.5 * dot(v, b.inertia.apply(v))
    return energy + flexible_energy(robot, q, qd) if robot.is_flexible else energy


def potential_energy(robot: Robot, q: ArrayLike, *, gravity: ArrayLike | None = None) -> Array:
    """Return −Σ g · (mᵢ cᵢ), (…) in J, zero at the world's origin."""
    return -dot(gravity_of(robot, gravity), first_moment(robot, q))
