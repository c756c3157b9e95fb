"""Derivatives of `integrate` and `difference`, in the tangent space: (…, nv, nv).

A joint whose q is a vector adds v to it. Of any other one whose S is constant in its outer frame,
such as a ball or a free joint, a constant velocity is a constant twist S v there: the outer frame goes along
exp(S v), what was displaced before is seen from where the frame has come to, and a change of v is an
integral of such views. Both are functions of ad(S v): exp(−ad) and ∫ exp(−s ad) ds, s from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hinge.errors import ArgumentError
from hinge.model.joints import JointType, VectorJoint
from hinge.model.loop_motion import LoopMotion
from hinge.model.moving_parts import Unit, units
from hinge.model.robot import Robot
from hinge.model.state import difference
from hinge.model.vectors import as_configuration, as_tangent, common_batch, into_arrays
from hinge.spatial import Array, ArrayLike, motion_cross_matrix

#: Terms of the series of exp and of its integral, for matrices with entries below one half.
TERMS = 14


class IntegrateDerivatives(NamedTuple):
    """Derivatives of `integrate(robot, q, v)` by q and by v, each (…, nv, nv)."""

    q: Array
    v: Array


class DifferenceDerivatives(NamedTuple):
    """Derivatives of `difference(robot, q0, q1)` by q0 and by q1, each (…, nv, nv)."""

    q0: Array
    q1: Array


def integrate_derivatives(
    robot: Robot, q: ArrayLike, v: ArrayLike, *, out: Sequence[Array] | None = None
) -> IntegrateDerivatives:
    """Return the derivatives of `integrate` by q and by v, each (…, nv, nv), in the tangent space.

    Directions at q and at the result are velocity coordinates of the joints there. Joints that roll are
    refused: what they reach has more directions than they have velocities. `out` are two arrays for the
    results, or what an earlier call returned.
    """
    x, rates = as_configuration(robot, q), as_tangent(robot, v, "v")
    batch = common_batch({"q": x, "v": rates})
    by_q = np.zeros((*batch, robot.nv, robot.nv))
    by_v = np.zeros_like(by_q)
    for u in units(robot):
        refuse_rolling(robot, u, "integrate_derivatives")
        at = np.ix_(u.qd, u.qd)
        by_q[..., *at], by_v[..., *at] = _of_joint(u, u.q_of(x), u.qd_of(rates))
    return IntegrateDerivatives(*into_arrays(out, (by_q, by_v)))


def difference_derivatives(
    robot: Robot, q0: ArrayLike, q1: ArrayLike, *, out: Sequence[Array] | None = None
) -> DifferenceDerivatives:
    """Return the derivatives of `difference` by q0 and by q1, each (…, nv, nv), in the tangent space.

    They are those of `integrate` solved for v, which is a turn of less than half a revolution. `out` as
    there.
    """
    v = difference(robot, q0, q1)
    by_q, by_v = integrate_derivatives(robot, q0, v)
    back = np.linalg.inv(by_v)
    return DifferenceDerivatives(*into_arrays(out, (-(back @ by_q), back)))


def refuse_rolling(robot: Robot, u: Unit, what: str) -> None:
    """Refuse a joint whose q has more directions than its qd, or raise nothing."""
    kind = u.type
    if not isinstance(kind, LoopMotion) and kind.nq - kind.has_quaternion != kind.nv:
        raise ArgumentError(
            f"robot: {what} is not for joint {u.name!r} of {robot.name!r}, which rolls ({kind.kind}): "
            f"it reaches configurations in more directions than its {kind.nv} velocities; expected joints "
            "that do not roll"
        )


def _of_joint(u: Unit, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the derivatives of one joint by q and by v."""
    kind = u.type
    if isinstance(kind, LoopMotion):
        free = [
            t for t, s in zip(kind.members, kind.geometry.v_at, strict=True) if s.start in kind.independent
        ]
        if all(isinstance(t, VectorJoint) for t in free):
            return np.eye(kind.nv), np.eye(kind.nv)
        raise NotImplementedError(
            f"integrate_derivatives: loop {u.name!r} has an independent joint whose q is no vector; release "
            "it with release_loops"
        )
    if isinstance(kind, VectorJoint):
        return np.eye(kind.nv), np.eye(kind.nv)
    s = _constant_subspace(u, kind, q, v)
    whole, mean = _flow(-motion_cross_matrix((s @ v[..., None])[..., 0]))
    back = np.linalg.pinv(s)
    return back @ whole @ s, back @ mean @ s


def _constant_subspace(u: Unit, kind: JointType, q: Array, v: Array) -> Array:
    """Return S (6, nv) of a type whose S does not depend on q, or raise a NotImplementedError."""
    before, after = kind.subspace(q), kind.subspace(kind.integrate(q, v))
    s = before.reshape(-1, 6, kind.nv)[0] if before.size else before
    if not (np.array_equal(before, np.broadcast_to(s, before.shape)) and np.array_equal(before, after)):
        raise NotImplementedError(
            f"integrate_derivatives: joint {u.name!r} of type {kind.kind!r} is no vector of constant S"
            "; take differences along hinge.integrate"
        )
    return s


def _flow(a: Array) -> tuple[Array, Array]:
    """Return exp(a) and ∫ exp(s a) ds over 0 … 1 of matrices, by series of a / 2ᵏ and k doublings."""
    size = float(np.abs(a).sum(axis=-1).max(initial=0.0))
    halvings = max(0, int(np.ceil(np.log2(max(size, 1e-300)))) + 1) if np.isfinite(size) else 0
    one = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    a = a / 2.0**halvings
    mean, term = one, one
    for k in range(2, TERMS + 2):
        term = term @ a / k
        mean = mean + term
    whole = one + a @ mean
    for _ in range(halvings):
        mean = 0.5 * (mean + whole @ mean)
        whole = whole @ whole
    return whole, mean
