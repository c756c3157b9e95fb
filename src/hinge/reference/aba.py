"""Forward dynamics by the articulated-body algorithm: Featherstone chapter 6 with 7.2, 7.4."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hinge.model import Robot, stacked
from hinge.reference.arguments import base_acceleration, bias_forces, refuse_followers, state
from hinge.reference.crba import mass_matrix
from hinge.reference.hinge_inverse import hinge_inverse
from hinge.reference.joint_motion import subspaces, velocity_products
from hinge.reference.kinematics import link_transforms
from hinge.reference.motions import velocities
from hinge.reference.rnea import inverse_dynamics
from hinge.spatial import Array, ArrayLike, ArticulatedInertia, matvec, transpose


def forward_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    external: Mapping[str, ArrayLike] | None = None,
    gravity: ArrayLike | None = None,
) -> Array:
    """Return qdd (…, nv) for the forces tau: equations (6.56)–(6.65), matrices as in (7.19).

    `external` maps names of frames or bodies to forces [n; f] (…, 6) in that frame's axes, n about its
    origin; `gravity` (3,) replaces the robot's own. With flexible bodies 𝓜 q̈ = τ − C is solved.
    """
    if robot.is_flexible:
        zero = np.zeros(robot.nv)
        bias = inverse_dynamics(robot, q, qd, zero, external=external, gravity=gravity)
        return np.linalg.solve(mass_matrix(robot, q), (tau - bias)[..., None])[..., 0]
    refuse_followers(robot, "forward_dynamics")
    q, qd, tau = state(robot, q, qd=qd, tau=tau)
    parents, x, s = robot.tree.parents, link_transforms(robot, q), subspaces(robot, q)
    v = velocities(robot, q, qd)  # (6.60)
    c = velocity_products(robot, q, qd, v)  # (6.56)
    p = bias_forces(robot, v, external)  # (6.61)
    inertia = [b.inertia.articulated() for b in robot.bodies]

    steps: list[tuple[Array, Array, Array]] = []
    for i in reversed(range(len(robot.bodies))):
        j, parent = robot.joints[i], parents[i]
        h = inertia[i].matrix() @ s[i]  # (6.57)
        d = hinge_inverse(j, s[i], h)  # (6.58)
        u = tau[..., j.qd_slice] - matvec(transpose(h), c[i]) - matvec(transpose(s[i]), p[i])  # (6.59)
        steps.insert(0, (h, d, u))
        if parent >= 0:
            back = x[i].inv()
            handle = inertia[i] - ArticulatedInertia.from_matrix(h @ d @ transpose(h))
            force = p[i] + inertia[i].apply(c[i]) + matvec(h @ d, u)
            inertia[parent] = inertia[parent] + back.articulated(handle)  # (6.62)
            p[parent] = p[parent] + back.force(force)  # (6.63)

    a: list[Array] = []
    qdd: list[Array] = []
    start = base_acceleration(robot, gravity)
    for i, (h, d, u) in enumerate(steps):
        carried = x[i].motion(start if parents[i] < 0 else a[parents[i]])
        qdd.append(matvec(d, u - matvec(transpose(h), carried)))  # (6.65)
        a.append(carried + c[i] + matvec(s[i], qdd[i]))  # (6.64)
    return stacked(qdd)
