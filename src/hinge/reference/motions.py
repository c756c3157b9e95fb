"""Body velocities and accelerations: Featherstone (4.11), (4.12) with (7.2), (7.16)."""

from __future__ import annotations

from hinge.model import Robot, as_vector
from hinge.reference.arguments import state
from hinge.reference.joint_motion import subspaces, velocity_products
from hinge.reference.kinematics import link_transforms
from hinge.spatial import Array, ArrayLike, matvec


def velocities(robot: Robot, q: ArrayLike, qd: ArrayLike) -> list[Array]:
    """Return the velocity (…, 6) of each body in its own coordinates: vᵢ = ᵢX_λ v_λ + Sᵢ q̇ᵢ."""
    q, qd = state(robot, q, qd=qd)
    v: list[Array] = []
    s = subspaces(robot, q)
    for i, (j, x, p) in enumerate(
        zip(robot.joints, link_transforms(robot, q), robot.tree.parents, strict=True)
    ):
        across = matvec(s[i], qd[..., j.qd_slice])
        v.append(across if p < 0 else x.motion(v[p]) + across)
    return v


def accelerations(
    robot: Robot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, base: ArrayLike = (0.0,) * 6
) -> list[Array]:
    """Return the spatial acceleration (…, 6) of each body in its own coordinates.

    aᵢ = ᵢX_λ a_λ + Sᵢ q̈ᵢ + Ṡᵢ q̇ᵢ + vᵢ ×̂ Sᵢ q̇ᵢ, (7.16). `base` is the acceleration of the world
    frame; −gravity there stands for gravity on all bodies (section 4.4).
    """
    q, qd, qdd = state(robot, q, qd=qd, qdd=qdd)
    s, start = subspaces(robot, q), as_vector(base, "base", 6, "it is a spatial acceleration")
    c = velocity_products(robot, q, qd, velocities(robot, q, qd))
    a: list[Array] = []
    for i, (j, x, p) in enumerate(
        zip(robot.joints, link_transforms(robot, q), robot.tree.parents, strict=True)
    ):
        own = matvec(s[i], qdd[..., j.qd_slice]) + c[i]
        a.append(x.motion(start if p < 0 else a[p]) + own)
    return a
