"""Motion subspaces and velocity products of joints at a state."""

from __future__ import annotations

from hinge.model import Robot
from hinge.spatial import Array, matvec, motion_cross


def subspaces(robot: Robot, q: Array) -> list[Array]:
    """Return the motion subspace Sᵢ (…, 6, nᵢ) of each joint in body coordinates, (7.10)."""
    return [j.subspace(q[..., j.q_slice]) for j in robot.joints]


def velocity_products(robot: Robot, q: Array, qd: Array, v: list[Array]) -> list[Array]:
    """Return cᵢ = Ṡᵢ q̇ᵢ + vᵢ ×̂ Sᵢ q̇ᵢ (…, 6) of each joint: (6.56) with the term of (7.16)."""
    found: list[Array] = []
    for j, vi in zip(robot.joints, v, strict=True):
        qi, qdi = q[..., j.q_slice], qd[..., j.qd_slice]
        found.append(j.bias(qi, qdi) + motion_cross(vi, matvec(j.subspace(qi), qdi)))
    return found
