"""Flexible bodies, point by point: kinematics of each, and d'Alembert's sum.

With J_p the Jacobian of a point in the axes of its body and c_p its classical acceleration,

    𝓜 = Σ m J_pᵀ J_p,    τ = Σ m J_pᵀ (c_p − g) + [K η + D η̇ at the modes].

`fields` gives bodies other points than their own, by name: those of a model before it was condensed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from hinge.model import Body, Joint, Robot, as_configuration, as_vector
from hinge.reference.arguments import base_acceleration, state
from hinge.reference.jacobians import jacobian
from hinge.reference.kinematics import forward_kinematics
from hinge.reference.motions import accelerations, velocities
from hinge.spatial import Array, ArrayLike, cross, matvec, skew, transpose


class Field(NamedTuple):
    """Points: masses (k,), positions (k, 3), shapes (k, 3, n) and second (k, 3, n, n) or None."""

    masses: Array
    positions: Array
    shapes: Array
    second: Array | None = None

    def at(self, eta: Array) -> tuple[Array, Array]:
        """Return s (…, k, 3) and Γ (…, k, 3, n) at η (…, n)."""
        slopes = np.broadcast_to(self.shapes, (*eta.shape[:-1], *self.shapes.shape))
        if self.second is not None:
            slopes = slopes + np.einsum("pajk,...k->...paj", self.second, eta)
        return self.positions + matvec(0.5 * (self.shapes + slopes), eta[..., None, :]), slopes

    def curvature(self, rates: Array) -> Array:
        """Return Φ₂[η̇, η̇] (…, k, 3)."""
        if self.second is None:
            return np.zeros((*rates.shape[:-1], *self.positions.shape))
        return np.einsum("pajk,...j,...k->...pa", self.second, rates, rates)


def flexible_bodies(
    robot: Robot, fields: Mapping[str, Field] | None = None
) -> Iterator[tuple[int, Body, Joint, Field]]:
    """Yield for each flexible body its number, itself, the joint of its modes and its points."""
    for i, (b, j) in enumerate(zip(robot.bodies, robot.joints, strict=True)):
        if b.flexible is not None:
            f = b.flexible
            own = Field(f.masses, f.positions, f.shapes, f.second)
            yield i, b, j, (fields or {}).get(b.name, own)


def point_jacobian(robot: Robot, q: Array, body: str, joint: Joint, points: Field) -> Array:
    """Return J_p (…, k, 3, nv) of all points of a body, in its axes: J_v − s× J_ω, and Γ at the modes."""
    whole = jacobian(robot, q, body)[..., None, :, :]
    s, slopes = points.at(q[..., joint.q_slice])
    found = whole[..., 3:, :] - skew(s) @ whole[..., :3, :]
    found[..., joint.qd_slice] += slopes
    return found


def flexible_mass(robot: Robot, q: Array, fields: Mapping[str, Field] | None = None) -> Array:
    """Return Σ m J_pᵀ J_p (…, nv, nv) of the points of all flexible bodies."""
    total = np.zeros((*q.shape[:-1], robot.nv, robot.nv))
    for _, b, j, points in flexible_bodies(robot, fields):
        jacobians = point_jacobian(robot, q, b.name, j, points)
        weighed = points.masses[:, None, None] * jacobians
        total += (transpose(jacobians) @ weighed).sum(axis=-3)
    return total


def flexible_force(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    gravity: ArrayLike | None = None,
    fields: Mapping[str, Field] | None = None,
) -> Array:
    """Return the forces tau (…, nv) that the points of all flexible bodies, K and D take."""
    q, qd, qdd = state(robot, q, qd=qd, qdd=qdd)
    v = velocities(robot, q, qd)
    a = accelerations(robot, q, qd, qdd, base=base_acceleration(robot, gravity))
    total = np.zeros((*np.broadcast_shapes(q.shape[:-1], qd.shape[:-1], qdd.shape[:-1]), robot.nv))
    for i, b, j, points in flexible_bodies(robot, fields):
        assert b.flexible is not None
        eta, rates, ahead = q[..., j.q_slice], qd[..., j.qd_slice], qdd[..., j.qd_slice]
        s, slopes = points.at(eta)
        w, origin = v[i][..., None, :3], a[i][..., 3:] + cross(v[i][..., :3], v[i][..., 3:])
        c = origin[..., None, :] + cross(a[i][..., None, :3], s) + matvec(slopes, ahead[..., None, :])
        moving = cross(w, s) + 2.0 * matvec(slopes, rates[..., None, :])
        c = c + cross(w, moving) + points.curvature(rates)
        forces = points.masses[:, None] * c
        jacobians = point_jacobian(robot, q, b.name, j, points)
        total = total + matvec(transpose(jacobians), forces).sum(axis=-2)
        total[..., j.qd_slice] += matvec(b.flexible.stiffness, eta) + matvec(b.flexible.damping, rates)
    return total


def point_velocities(robot: Robot, q: Array, qd: Array) -> Iterator[tuple[int, Body, Field, Array, Array]]:
    """Yield for each flexible body its number, itself, its points, s and their velocities, in its axes."""
    v = velocities(robot, q, qd)
    for i, b, j, points in flexible_bodies(robot):
        s, slopes = points.at(q[..., j.q_slice])
        across = matvec(slopes, qd[..., j.qd_slice][..., None, :])
        yield i, b, points, s, v[i][..., None, 3:] + cross(v[i][..., None, :3], s) + across


def flexible_energy(robot: Robot, q: Array, qd: Array) -> Array:
    """Return ½ Σ m |v_p|² (…) of the points of all flexible bodies."""
    total = np.zeros(np.broadcast_shapes(q.shape[:-1], qd.shape[:-1]))
    for _, _, points, _, u in point_velocities(robot, q, qd):
        total = total + 0.5 * ((u * u).sum(axis=-1) * points.masses).sum(axis=-1)
    return total


def flexible_momentum(robot: Robot, q: Array, qd: Array) -> Array:
    """Return the momentum [angular about the world's origin; linear] (…, 6) of the points, in world axes."""
    total: Array = np.zeros(6)
    placed = forward_kinematics(robot, q)
    for i, _, points, s, u in point_velocities(robot, q, qd):
        p = points.masses[:, None] * u
        own = np.concatenate([cross(s, p).sum(axis=-2), p.sum(axis=-2)], axis=-1)
        total = total + placed[i].inv().force(own)
    return total


def flexible_moment(robot: Robot, q: Array) -> Array:
    """Return Σ m p (…, 3) of the points of all flexible bodies, in world coordinates."""
    total: Array = np.zeros(3)
    placed = forward_kinematics(robot, q)
    for i, _, j, points in flexible_bodies(robot):
        s, _ = points.at(q[..., j.q_slice])
        first = (points.masses[:, None] * s).sum(axis=-2)
        total = total + points.masses.sum() * placed[i].position + matvec(placed[i].rotation, first)
    return total


def elastic_energy(robot: Robot, q: ArrayLike) -> Array:
    """Return ½ Σ ηᵀ K η (…) of the flexible bodies, in J."""
    q = as_configuration(robot, q)
    total = np.zeros(q.shape[:-1])
    for _, b, j, _ in flexible_bodies(robot):
        assert b.flexible is not None
        eta = q[..., j.q_slice]
        total = total + 0.5 * (eta * matvec(b.flexible.stiffness, eta)).sum(axis=-1)
    return total


def dissipation(robot: Robot, qd: ArrayLike) -> Array:
    """Return Σ η̇ᵀ D η̇ (…), the power that the damping of the flexible bodies takes, in W."""
    qd = as_vector(qd, "qd", robot.nv, f"nv = {robot.nv}")
    total = np.zeros(qd.shape[:-1])
    for _, b, j, _ in flexible_bodies(robot):
        assert b.flexible is not None
        rates = qd[..., j.qd_slice]
        total = total + (rates * matvec(b.flexible.damping, rates)).sum(axis=-1)
    return total


def elastic_force(robot: Robot, q: ArrayLike) -> Array:
    """Return K η (…, nv) at the modes of the flexible bodies, zero elsewhere."""
    q = as_configuration(robot, q)
    total = np.zeros((*q.shape[:-1], robot.nv))
    for _, b, j, _ in flexible_bodies(robot):
        assert b.flexible is not None
        total[..., j.qd_slice] = matvec(b.flexible.stiffness, q[..., j.q_slice])
    return total
