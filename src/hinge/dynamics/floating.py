"""Robots on a free base: inverse dynamics, and kinematics at zero momentum.

The base is a free joint to the world that no motor drives: its force is given, its acceleration is not. That
is hybrid dynamics with the base passive and all other joints active, p and a below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hinge.binding import Expressed
from hinge.dynamics.arguments import External, external_forces, precision
from hinge.dynamics.cached import CALLS, Frames, checked_axes, compiled, names_of
from hinge.dynamics.expressions import expression
from hinge.dynamics.hybrid import RESULTS, hybrid_dynamics
from hinge.errors import ArgumentError
from hinge.model import Joint, Robot, as_vector, checked_robot, common_batch
from hinge.spatial import Array, ArrayLike

__all__ = ["disturbance_jacobian", "floating_inverse_dynamics", "generalized_jacobian"]


def floating_inverse_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    base_force: ArrayLike | None = None,
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = False,
) -> tuple[Array, Array]:
    """Return qdd and tau (…, nv) of a robot on a free base whose other joints accelerate as qdd says.

    The base's part of qdd may be anything and comes back as what it must be; the base's part of tau is
    `base_force` (…, 6), [n; f] in the outer frame of the base joint, zero unless given. Featherstone section
    7.5.1: derived to (7.25)–(7.31), the base being all that is passive. `external`, `gravity` and `passive`
    as in `inverse_dynamics`.
    """
    plain = base_force is None and external is None and gravity is None and passive is False
    key = ("floating_inverse_dynamics", robot)
    known = CALLS.look(key) if plain and type(q) is np.ndarray and q.dtype == np.float64 else None
    if known is not None:
        return known(q, qd, qdd)
    base, others = _base_and_others(robot)
    dtype = precision(q, qd, qdd, *([] if base_force is None else [base_force]))
    given = np.zeros(6, dtype)
    if base_force is not None:
        given = as_vector(base_force, "base_force", 6, "a spatial force is [n; f]", dtype=dtype)
        why = f"nv = {robot.nv} of robot {robot.name!r}"
        common_batch({"base_force": given, "qdd": as_vector(qdd, "qdd", robot.nv, why, dtype=dtype)})
    tau = np.zeros((*given.shape[:-1], robot.nv), dtype)
    tau[..., base.qd_slice] = given
    parts = expression("hybrid_dynamics", passive=passive)
    f = compiled(robot, parts, external_forces(external)[0], prescribed=others)  # code of its own
    if plain:
        CALLS.put(key, _without_force(f.entry_for(finish=RESULTS), robot.nv))
    return hybrid_dynamics(
        robot,
        q,
        qd,
        tau=tau,
        qdd=qdd,
        prescribed=others,
        external=external,
        gravity=gravity,
        passive=passive,
    )


def _without_force(entry: Callable[..., Any], size: int) -> Callable[..., Any]:
    """Return hybrid dynamics as a function of q, qd, qdd, all forces that are given being zero."""
    zero = np.zeros(size)

    def call(q: Any, qd: Any, qdd: Any) -> Any:
        return entry(q, qd, qdd, zero)

    return call


def generalized_jacobian(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body"
) -> Array:
    """Return J* (…, 6, nv − 6): a frame's velocity is J* q̇ₐ when the base is free and momentum is zero.

    J* = Jₐ − Jₚ 𝓜ₚₚ⁻¹ 𝓜ₚₐ; q̇ₐ are the rates of all joints but the base, in their order. Of n frames
    it is (…, 6n, nv − 6). `expressed` as in `velocities`.
    """
    names = names_of(robot, frame)
    key = ("generalized_jacobian", robot, names, expressed)
    known = CALLS.look(key)
    if known is None:
        _, others = _base_and_others(robot)
        axes = checked_axes(expressed)
        known = CALLS.put(key, compiled(robot, "generalized_jacobian", names, axes, prescribed=others).entry)
    return known(q)


def disturbance_jacobian(robot: Robot, q: ArrayLike) -> Array:
    """Return −𝓜ₚₚ⁻¹ 𝓜ₚₐ (…, 6, nv − 6): the base's qd per rate of the other joints, momentum being zero.

    The base's qd is [ω; v] of the outer frame of its joint, in its own axes.
    """
    key = ("disturbance_jacobian", robot)
    known = CALLS.look(key)
    if known is None:
        _, others = _base_and_others(robot)
        known = CALLS.put(key, compiled(robot, "disturbance_jacobian", prescribed=others).entry)
    return known(q)


def _base_and_others(robot: Robot) -> tuple[Joint, tuple[str, ...]]:
    """Return the free joint that a robot floats on, and the names of all other joints."""
    roots = [j for j in checked_robot(robot).joints if j.parent is None]
    if [j.type.kind for j in roots] != ["free"]:
        there = ", ".join(f"{j.name!r} ({j.type.kind})" for j in roots) or "none"
        raise ArgumentError(
            f"robot: expected one free joint to the world, got {there} for {robot.name!r}; load it with "
            "floating=True"
        )
    return roots[0], tuple(j.name for j in robot.joints if j is not roots[0])
