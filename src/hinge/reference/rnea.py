"""Inverse dynamics by the recursive Newton–Euler algorithm: Featherstone chapter 4 with 7.2, 7.4."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hinge.model import Robot
from hinge.reference.arguments import base_acceleration, bias_forces, state
from hinge.reference.flexible import flexible_force
from hinge.reference.joint_motion import subspaces
from hinge.reference.kinematics import link_transforms
from hinge.reference.motions import accelerations, velocities
from hinge.spatial import Array, ArrayLike, matvec, transpose


def inverse_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    external: Mapping[str, ArrayLike] | None = None,
    gravity: ArrayLike | None = None,
) -> Array:
    """Return tau (…, nv) for the accelerations qdd.

    In link coordinates: f*ᵢ = Iᵢ aᵢ + vᵢ ×̂* Iᵢ vᵢ (4.13), fᵢ = f*ᵢ − fˣᵢ + Σ_μ ᵢXⱼ fⱼ (4.14, 7.4; the
    external force as after (4.9)), Qᵢ = Sᵢᵀ fᵢ (4.15), and the rotor inertia's share of Qᵢ. Joints
    that follow others add to the forces of these; flexible bodies as in `flexible`.

    `external` maps names of frames or bodies to forces [n; f] (…, 6) in that frame's axes, n about its
    origin; `gravity` (3,) replaces the robot's own.
    """
    q, qd, qdd = state(robot, q, qd=qd, qdd=qdd)
    v = velocities(robot, q, qd)
    a = accelerations(robot, q, qd, qdd, base=base_acceleration(robot, gravity))
    x, s, bias = link_transforms(robot, q), subspaces(robot, q), bias_forces(robot, v, external)
    f = [b.inertia.apply(ai) + p for b, ai, p in zip(robot.bodies, a, bias, strict=True)]
    tau = np.zeros((*np.broadcast_shapes(*(x.shape[:-1] for x in (qdd, *f))), robot.nv))
    tau += robot.reflected_inertia * qdd
    for i in reversed(range(len(f))):
        j, parent = robot.joints[i], robot.tree.parents[i]
        tau[..., j.qd_slice] += matvec(transpose(s[i]), f[i])
        if parent >= 0:
            f[parent] = f[parent] + x[i].inv().force(f[i])
    return tau + flexible_force(robot, q, qd, qdd, gravity) if robot.is_flexible else tau
