"""Body velocities and accelerations: Featherstone (4.11), (4.12) with (7.2), (7.16)."""

from __future__ import annotations

import numpy as np

from hinge.model import Robot, as_configuration, as_tangent
from hinge.reference.kinematics import link_transforms
from hinge.spatial import Array, ArrayLike, matvec, motion_cross


def velocities(robot: Robot, q: ArrayLike, qd: ArrayLike) -> list[Array]:
    """Return the velocity (…, 6) of each body in its own coordinates: vᵢ = ᵢX_λ v_λ + Sᵢ q̇ᵢ."""
    q, qd = as_configuration(robot, q), as_tangent(robot, qd, "qd")
    v: list[Array] = []
    for j, x, p in zip(robot.joints, link_transforms(robot, q), robot.tree.parents, strict=True):
        across = matvec(j.subspace(q[..., j.q_slice]), qd[..., j.qd_slice])
        v.append(across if p < 0 else x.motion(v[p]) + across)
    return v


def accelerations(
    robot: Robot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, base: ArrayLike = (0.0,) * 6
) -> list[Array]:
    """Return the spatial acceleration (…, 6) of each body in its own coordinates.

    aᵢ = ᵢX_λ a_λ + Sᵢ q̈ᵢ + Ṡᵢ q̇ᵢ + vᵢ ×̂ Sᵢ q̇ᵢ, (7.16). `base` is the acceleration of the world
    frame; −gravity there stands for gravity on all bodies (section 4.4).
    """
    q, qd = as_configuration(robot, q), as_tangent(robot, qd, "qd")
    qdd = as_tangent(robot, qdd, "qdd")
    v, start = velocities(robot, q, qd), np.asarray(base, dtype=np.float64)
    a: list[Array] = []
    for i, (j, x, p) in enumerate(
        zip(robot.joints, link_transforms(robot, q), robot.tree.parents, strict=True)
    ):
        qi, qdi = q[..., j.q_slice], qd[..., j.qd_slice]
        s = j.subspace(qi)
        own = matvec(s, qdd[..., j.qd_slice]) + j.bias(qi, qdi) + motion_cross(v[i], matvec(s, qdi))
        a.append(x.motion(start if p < 0 else a[p]) + own)
    return a
