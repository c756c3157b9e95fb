"""Hybrid dynamics: some joints' accelerations given, the other joints' forces. Section 7.5.2."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hinge.model import Robot, as_configuration, as_tangent
from hinge.reference.external import base_acceleration, body_forces
from hinge.reference.hinge_inverse import hinge_inverse
from hinge.reference.kinematics import link_transforms
from hinge.reference.stacking import stacked
from hinge.reference.velocities import velocities
from hinge.spatial import (
    Array,
    ArrayLike,
    ArticulatedInertia,
    force_cross,
    matvec,
    motion_cross,
    transpose,
)


def hybrid_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    qdd: ArrayLike,
    *,
    prescribed: Collection[str],
    external: Mapping[str, ArrayLike] | None = None,
    gravity: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Return qdd and tau (…, nv), each completed by what the other was given for.

    Joints named in `prescribed` take their part of `qdd`, the others theirs of `tau`. With c = Ṡq̇ +
    v ×̂ Sq̇: a forced joint uses (6.57)–(6.65) in the form of (7.19), a prescribed one passes its
    child's inertia on as if it were rigid, (7.36), (7.37), and its force is (7.38).
    """
    q, qd = as_configuration(robot, q), as_tangent(robot, qd, "qd")
    tau, qdd = as_tangent(robot, tau, "tau"), as_tangent(robot, qdd, "qdd")
    held = {robot.joint(name).name for name in prescribed}
    v, x, fx = velocities(robot, q, qd), link_transforms(robot, q), body_forces(robot, external)
    parents, n = robot.tree.parents, len(robot.bodies)

    s = [j.subspace(q[..., j.q_slice]) for j in robot.joints]
    c: list[Array] = []
    for i, j in enumerate(robot.joints):
        qdi = qd[..., j.qd_slice]
        c.append(j.bias(q[..., j.q_slice], qdi) + motion_cross(v[i], matvec(s[i], qdi)))
    inertia = [b.inertia.articulated() for b in robot.bodies]
    p = [force_cross(v[i], b.inertia.apply(v[i])) - fx[i] for i, b in enumerate(robot.bodies)]  # (6.61)
    solve: list[tuple[Array, Array, Array] | None] = [None] * n

    for i in reversed(range(n)):
        j = robot.joints[i]
        if j.name in held:
            known = c[i] + matvec(s[i], qdd[..., j.qd_slice])
            handle, force = inertia[i], p[i] + inertia[i].apply(known)  # (7.36), (7.37)
        else:
            h = inertia[i].matrix() @ s[i]  # (6.57)
            d = hinge_inverse(j, s[i], h)  # (6.58)
            u = tau[..., j.qd_slice] - matvec(transpose(h), c[i]) - matvec(transpose(s[i]), p[i])  # (6.59)
            solve[i] = h, d, u
            handle = inertia[i] - ArticulatedInertia.from_matrix(h @ d @ transpose(h))
            force = p[i] + inertia[i].apply(c[i]) + matvec(h @ d, u)  # (6.63)
        if parents[i] >= 0:
            back = x[i].inv()
            inertia[parents[i]] = inertia[parents[i]] + back.articulated(handle)  # (6.62)
            p[parents[i]] = p[parents[i]] + back.force(force)

    a: list[Array] = []
    found_qdd: list[Array] = []
    found_tau: list[Array] = []
    start = base_acceleration(robot, gravity)
    for i, j in enumerate(robot.joints):
        carried = x[i].motion(start if parents[i] < 0 else a[parents[i]])
        part = solve[i]
        if part is None:
            qddi = qdd[..., j.qd_slice]
        else:
            h, d, u = part
            qddi = matvec(d, u - matvec(transpose(h), carried))  # (6.65)
        a.append(carried + c[i] + matvec(s[i], qddi))  # (6.64)
        found_qdd.append(qddi)
        if part is None:
            f = inertia[i].apply(a[i]) + p[i]
            found_tau.append(matvec(transpose(s[i]), f) + j.rotor_inertia * qddi)  # (7.38)
        else:
            found_tau.append(tau[..., j.qd_slice])
    return stacked(found_qdd), stacked(found_tau)
