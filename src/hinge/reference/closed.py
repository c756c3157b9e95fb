"""Closed loops by dense matrices: Featherstone chapter 9, with Gauss' principle of least constraint.

With the relative velocity v = Vₛ − X Vₚ of a closure's outer frame s and inner frame p, X from p to s,

    Jc q̇ = Rᵀ v,     d/dt (Jc q̇) = Rᵀ (αₛ − X αₚ + v × X Vₚ)      (α spatial accelerations)

and accelerations are those among the closed ones that are nearest to the free ones, in the metric of M.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hinge.model import Closure, Robot, as_configuration, closure_ends, closure_error_of
from hinge.reference.arguments import state
from hinge.reference.crba import mass_matrix
from hinge.reference.jacobians import jacobian
from hinge.reference.kinematics import forward_kinematics
from hinge.reference.motions import accelerations, velocities
from hinge.reference.rnea import inverse_dynamics
from hinge.spatial import Array, ArrayLike, Transform, matvec, motion_cross, transpose

#: Singular values of Jc M^(−½) below this share of the largest are zero: their rows are redundant.
RANK = 1e-9


def closure_error(robot: Robot, q: ArrayLike) -> Array:
    """Return the errors (…, m) of all closures, in their order."""
    q = as_configuration(robot, q)
    found = [closure_error_of(c.constraints, _across(robot, c, q)) for c in robot.closures]
    return np.concatenate([np.zeros((*q.shape[:-1], 0)), *found], axis=-1)


def closure_jacobian(robot: Robot, q: ArrayLike) -> Array:
    """Return Jc (…, m, nv): the velocity across the closures, along their rows, is Jc qd."""
    q = as_configuration(robot, q)
    found = [np.zeros((*q.shape[:-1], 0, robot.nv))]
    for c in robot.closures:
        (p, inner), (s, outer) = closure_ends(robot, c)
        moves = outer.motions(jacobian(robot, q, robot.bodies[s].name))
        if p >= 0:
            moves = moves - (_across(robot, c, q) @ inner).motions(jacobian(robot, q, robot.bodies[p].name))
        found.append(c.constraints.matrix @ moves)
    return np.concatenate(found, axis=-2)


def closure_velocity(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return Jc qd (…, m)."""
    q, qd = state(robot, q, qd=qd)
    return matvec(closure_jacobian(robot, q), qd)


def closure_bias(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return d/dt (Jc) qd (…, m)."""
    q, qd = state(robot, q, qd=qd)
    v, a = velocities(robot, q, qd), accelerations(robot, q, qd, np.zeros(robot.nv))
    found = [np.zeros((*np.broadcast_shapes(q.shape[:-1], qd.shape[:-1]), 0))]
    for c in robot.closures:
        (p, inner), (s, outer) = closure_ends(robot, c)
        across = outer.motion(a[s])
        if p >= 0:
            x = _across(robot, c, q) @ inner
            carried = x.motion(v[p])
            across = across - x.motion(a[p]) + motion_cross(outer.motion(v[s]) - carried, carried)
        found.append(matvec(c.constraints.matrix, across))
    return np.concatenate(found, axis=-1)


def closed_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    external: Mapping[str, ArrayLike] | None = None,
    gravity: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Return qdd (…, nv) of the closed robot and the closure forces λ (…, m), the least ones that do.

    M = L Lᵀ and B = Jc L⁻ᵀ: y = Lᵀ q̈ is the free one and B⁺ (−J̇c q̇ − B y), by singular values, so that rows
    may be redundant. λ acts along the rows on the outer side, in its aligned frame: M (q̈ − q̈_free) = Jcᵀ λ.
    """
    q, qd, tau = state(robot, q, qd=qd, tau=tau)
    load = tau - inverse_dynamics(robot, q, qd, np.zeros(robot.nv), external=external, gravity=gravity)
    root = np.linalg.cholesky(mass_matrix(robot, q))
    b = transpose(np.linalg.solve(root, transpose(closure_jacobian(robot, q))))
    free = np.linalg.solve(root, load[..., None])[..., 0]
    pseudo = np.linalg.pinv(b, rcond=RANK)
    change = matvec(pseudo, -closure_bias(robot, q, qd) - matvec(b, free))
    qdd = np.linalg.solve(transpose(root), (free + change)[..., None])[..., 0]
    return qdd, matvec(transpose(pseudo), change)


def closure_wrenches(robot: Robot, forces: ArrayLike) -> list[Array]:
    """Return the spatial force R λ (…, 6) of each closure on its outer side, in its aligned outer frame."""
    matrices = [c.constraints.matrix for c in robot.closures]
    ends = np.cumsum([0, *(len(r) for r in matrices)])
    given = np.asarray(forces, dtype=np.float64)
    return [matvec(transpose(r), given[..., i : i + len(r)]) for r, i in zip(matrices, ends, strict=False)]


def _across(robot: Robot, closure: Closure, q: Array) -> Transform:
    """Return X, from the closure's aligned inner frame to its aligned outer frame."""
    (p, inner), (s, outer) = closure_ends(robot, closure)
    placed = forward_kinematics(robot, q)
    return outer @ placed[s] @ (inner if p < 0 else inner @ placed[p]).inv()
