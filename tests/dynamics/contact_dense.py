"""Robots with contacts by dense matrices and the slow oracles of `hinge.reference`, one state at a time."""

from __future__ import annotations

import numpy as np

from hinge import reference
from hinge.model import integrate

#: Contacts with a gap below this touch.
TOUCHING = 1e-9
#: Weights of central differences at 1, 2 and 3 steps, of the sixth order, and the step.
STENCIL, STEP = (45 / 60, -9 / 60, 1 / 60), 2e-3


def touching(robot, q):
    """Return the numbers of the contacts that touch."""
    return np.flatnonzero(reference.gap(robot, q) < TOUCHING)


def contact_rows(robot, q, which):
    """Return J (3 k, nv) of these contacts, Ω = J M⁻¹ Jᵀ, and M⁻¹ Jᵀ."""
    j = reference.contact_jacobian(robot, q)[which].reshape(-1, robot.nv)
    moved = np.linalg.solve(reference.mass_matrix(robot, q), j.T)
    return j, j @ moved, moved


def friction_of(robot, which):
    return [robot.contacts[k].friction for k in which]


def stepped(robot, q, qd, dt, law=reference.coulomb, tau=None):
    """Return velocities (nv,) after a step, the impulses (k, 3) of all contacts, and the residual.

    `law` is `reference.cones` or `reference.coulomb`; contacts that touch at q take part.
    """
    tau = np.zeros(robot.nv) if tau is None else tau
    qd = qd + dt * reference.forward_dynamics(robot, q, qd, tau)
    which, impulses = touching(robot, q), np.zeros((len(robot.contacts), 3))
    j, omega, moved = contact_rows(robot, q, which)
    found, residual = law(omega, j @ qd, friction_of(robot, which))
    impulses[which] = found.reshape(-1, 3)
    return qd + moved @ found, impulses, residual


def collided(robot, q, qd):
    """Return velocities (nv,) after an impact of all contacts that touch, and its `reference.TwoPhases`."""
    which = touching(robot, q)
    j, omega, moved = contact_rows(robot, q, which)
    e = [robot.contacts[k].restitution for k in which]
    hit = reference.poisson(omega, j @ qd, e, friction_of(robot, which))
    return qd + moved @ hit.impulses, hit


def normal_bias(robot, q, qd):
    """Return the second derivatives (k,) of all gaps at q̈ = 0, by differences."""
    found = np.zeros(len(robot.contacts))
    for k, weight in enumerate(STENCIL, start=1):
        ends = (integrate(robot, q, s * k * STEP * qd) for s in (1, -1))
        ahead, back = (reference.contact_velocity(robot, end, qd)[:, 0] for end in ends)
        found += weight * (ahead - back) / STEP
    return found


def frictionless_motion(robot, q, qd, tau=None):
    """Return accelerations (nv,) and normal forces (k,) of all contacts: Featherstone section 9.8.

    Contacts that touch must neither approach nor leave each other. Of several solutions forces are the least.
    """
    tau, forces = np.zeros(robot.nv) if tau is None else tau, np.zeros(len(robot.contacts))
    which = touching(robot, q)
    j, omega, moved = contact_rows(robot, q, which)
    free = reference.forward_dynamics(robot, q, qd, tau)
    b = j[::3] @ free + normal_bias(robot, q, qd)[which]
    forces[which] = reference.frictionless(omega[::3, ::3], b)[0]
    return free + moved[:, ::3] @ forces[which], forces
