"""Hybrid dynamics: some joints' accelerations given, the other joints' forces. Section 7.5.2."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hinge.errors import ArgumentError
from hinge.model import Robot, stacked
from hinge.reference.arguments import base_acceleration, bias_forces, refuse_followers, state
from hinge.reference.hinge_inverse import hinge_inverse
from hinge.reference.joint_motion import subspaces, velocity_products
from hinge.reference.kinematics import link_transforms
from hinge.reference.motions import velocities
from hinge.spatial import Array, ArrayLike, ArticulatedInertia, matvec, transpose


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
    """Return qdd and tau (…, nv), each completed by the computed entries.

    Joints named in `prescribed` take their part of `qdd`, the others theirs of `tau`. A forced joint
    goes as in the articulated-body algorithm, (6.57)–(6.65); a prescribed one passes its child's
    inertia on as if it were rigid, (7.36), (7.37), and its force is (7.38).

    `external` maps names of frames or bodies to forces [n; f] (…, 6) in that frame's axes, n about its
    origin; `gravity` (3,) replaces the robot's own.
    """
    refuse_followers(robot, "hybrid_dynamics")
    q, qd, tau, qdd = state(robot, q, qd=qd, tau=tau, qdd=qdd)
    if isinstance(prescribed, str):
        raise ArgumentError(
            f"prescribed: expected a list of joint names, got the string {prescribed!r}; "
            f"did you mean [{prescribed!r}]?"
        )
    held = {robot.joint(name).name for name in prescribed}
    parents, x, s = robot.tree.parents, link_transforms(robot, q), subspaces(robot, q)
    v = velocities(robot, q, qd)
    c, p = velocity_products(robot, q, qd, v), bias_forces(robot, v, external)
    inertia = [b.inertia.articulated() for b in robot.bodies]

    steps: dict[int, tuple[Array, Array, Array]] = {}
    for i in reversed(range(len(robot.bodies))):
        j, parent = robot.joints[i], parents[i]
        if j.name in held:
            known = c[i] + matvec(s[i], qdd[..., j.qd_slice])
            handle, force = inertia[i], p[i] + inertia[i].apply(known)  # (7.36), (7.37)
        else:
            h = inertia[i].matrix() @ s[i]
            d = hinge_inverse(j, s[i], h)
            u = tau[..., j.qd_slice] - matvec(transpose(h), c[i]) - matvec(transpose(s[i]), p[i])
            steps[i] = h, d, u
            handle = inertia[i] - ArticulatedInertia.from_matrix(h @ d @ transpose(h))
            force = p[i] + inertia[i].apply(c[i]) + matvec(h @ d, u)
        if parent >= 0:
            inertia[parent] = inertia[parent] + x[i].inv().articulated(handle)
            p[parent] = p[parent] + x[i].inv().force(force)

    a: list[Array] = []
    both: list[tuple[Array, Array]] = []
    start = base_acceleration(robot, gravity)
    for i, j in enumerate(robot.joints):
        carried = x[i].motion(start if parents[i] < 0 else a[parents[i]])
        taui, qddi = tau[..., j.qd_slice], qdd[..., j.qd_slice]
        if i in steps:
            h, d, u = steps[i]
            qddi = matvec(d, u - matvec(transpose(h), carried))
        a.append(carried + c[i] + matvec(s[i], qddi))
        if i not in steps:
            f = inertia[i].apply(a[i]) + p[i]
            taui = matvec(transpose(s[i]), f) + j.reflected_inertia * qddi  # (7.38)
        both.append((qddi, taui))
    return stacked([accelerated for accelerated, _ in both]), stacked([forced for _, forced in both])
