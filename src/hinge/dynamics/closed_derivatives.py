"""Derivatives of the dynamics of robots with closures, and on contacts whose set in force is held.

With y = q̈ and λ held, the accelerations and forces of a robot with closures answer

    𝓜 y + C − Jcᵀ λ − τ = 0,    Jc y + J̇c q̇ = 0,

so that with D₁ and D₂ the derivatives of the left sides, Ω δλ = Jc 𝓜⁻¹ D₁ − D₂ and δy = 𝓜⁻¹ (Jcᵀ δλ − D₁):
the implicit function theorem. D₁ is that of the inverse dynamics of the open robot, and derivatives of Jc are
letters at the world (`algebra/differentiation.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from hinge.algebra import Ac, Bc, Constraint, H, One, a, gamma, leaf, phi, placements, qd, qdd, s_c
from hinge.algebra import derivative as algebraic
from hinge.algebra import q as configuration
from hinge.binding import Touching
from hinge.dynamics.arguments import External, rows_that_hold
from hinge.dynamics.cached import compiled
from hinge.dynamics.closed import closed_dynamics
from hinge.dynamics.contact import contact_dynamics
from hinge.dynamics.derivatives import (
    NUMBERS,
    Derivatives,
    checked_names,
    into,
    inverse_dynamics_derivatives,
    refuse_friction,
)
from hinge.dynamics.expressions import Parts, closure_jacobian
from hinge.dynamics.rows import kept_rows
from hinge.dynamics.verbs import mass_matrix_inverse
from hinge.model import Robot, checked_robot, opened, rows_of
from hinge.spatial import Array, ArrayLike, transpose

__all__ = ["closed_dynamics_derivatives", "contact_dynamics_derivatives"]

#: What derivatives can be taken by.
_BY = ("q", "qd", "tau", "external", "gravity", *NUMBERS)
#: An eigenvalue of Ω, scaled to ones on its diagonal, below this is zero.
FLOOR = 1e-13

_forces = leaf("held_forces", Constraint, One, meaning="forces of closures and contacts, held")
_across = Ac @ (Bc.T @ phi.T @ (H.T @ qdd + a) + s_c) + gamma


@cache
def _rows(touch: Touching, placed: bool) -> Parts:
    """Return what derivatives of the rows of closures and contacts are made of, by placements if `placed`."""
    found = {"jacobian": closure_jacobian, "by_qd": algebraic(_across, qd)}
    for name, by in (("q", configuration), *([("placements", placements)] if placed else [])):
        found[f"by_{name}"] = algebraic(_across, by)
        found[f"pushed_{name}"] = algebraic(closure_jacobian.T @ _forces, by)
    return Parts(found, all_rows=True, touch=touch)


def closed_dynamics_derivatives(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrt: Sequence[str] = ("q", "qd", "tau"),
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = False,
    held: ArrayLike | None = None,
    out: Mapping[str, Array] | Derivatives | None = None,
) -> Derivatives:
    """Return `closed_dynamics` and its derivatives: `d.q` … of qdd, `d.forces_q` … of the closure forces.

    By q they are taken along `integrate(q, ε d)` in every direction d, also in those that open the closures:
    multiply with motions that these allow for what happens along them. `wrt` names what they are taken by, as
    in `forward_dynamics_derivatives`; d.q is (…, nv, nv) and d.forces_q (…, m, nv), zero in rows that the
    dynamics drops. Where the rows left depend on each other, at a singular configuration, forces are not
    unique, and changes are those of least size that keep the accelerations. `out` are arrays for the results
    by name. Other arguments as in `closed_dynamics`.
    """
    names = checked_names(wrt, _BY)
    now = closed_dynamics(robot, q, qd, tau, external=external, gravity=gravity, passive=passive, held=held)
    mask = _kept(robot, switched=held is not None)
    if held is not None:
        mask = mask * rows_that_hold(robot, held)
    loads: dict[str, Any] = {"external": external, "gravity": gravity, "passive": passive}
    return into(out, _answered(robot, (q, qd), now.qdd, now.forces, mask, names, loads))


def contact_dynamics_derivatives(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrt: Sequence[str] = ("q", "qd", "tau"),
    closed: ArrayLike | None = None,
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = False,
    held: ArrayLike | None = None,
    out: Mapping[str, Array] | Derivatives | None = None,
) -> Derivatives:
    """Return `contact_dynamics` and its derivatives with the set of contacts that push held.

    `d.forces` (…, m) are those of the rows of closures and then of the normals of contacts, `d.forces_q` …
    their derivatives. A contact that pushes goes on doing so, one that opens has no force: where a force just
    vanishes there is no derivative, and this is the one of the side where the contact is open. Other
    arguments as in `contact_dynamics`, and `wrt` and `out` as in `closed_dynamics_derivatives`.
    """
    names = checked_names(wrt, _BY)
    loads: dict[str, Any] = {"external": external, "gravity": gravity, "passive": passive}
    now = contact_dynamics(robot, q, qd, tau, closed=closed, held=held, **loads)
    forces = np.concatenate([now.closure_forces, now.forces[..., 0]], axis=-1)
    loops = _kept(robot, switched=held is not None)
    if held is not None:
        loops = loops * rows_that_hold(robot, held)
    loops = np.broadcast_to(loops, now.closure_forces.shape)
    mask = np.concatenate([loops, (now.forces[..., 0] > 0).astype(float)], axis=-1)
    return into(out, _answered(robot, (q, qd), now.qdd, forces, mask, names, loads, "normals"))


def _kept(robot: Robot, *, switched: bool) -> Array:
    """Return ones in the rows of closures that the dynamics keeps (m,)."""
    kept = kept_rows(robot, switched) if robot.closures else ()
    found: list[float] = []
    for k, c in enumerate(robot.closures):
        every = range(len(rows_of(c.joint).names))
        found += [float(kept is None or n in kept[k]) for n in every]
    return np.array(found)


def _answered(
    robot: Robot,
    state: tuple[ArrayLike, ArrayLike],
    accelerations: Array,
    forces: Array,
    mask: Array,
    names: tuple[str, ...],
    loads: dict[str, Any],
    touch: Touching = "",
) -> Derivatives:
    """Return the derivatives with rows that hold, ones in `mask` (…, m), of accelerations and forces."""
    refuse_friction(names, passive=loads["passive"])
    (q, qd), whole = state, opened(checked_robot(robot))
    given = {"qd": qd, "qdd": accelerations, _forces.name: forces}
    rows = compiled(robot, _rows(touch, "placements" in names)).evaluate(q, given)
    of_forces = tuple(n for n in names if n != "tau")
    below: Any = None
    if of_forces:
        below = inverse_dynamics_derivatives(whole, q, qd, accelerations, wrt=of_forces, **loads)
    solve = _Constrained(mass_matrix_inverse(whole, q), rows["jacobian"], mask)
    found: dict[str, Array] = {"qdd": accelerations, "forces": forces}
    for n in names:
        first = -np.eye(robot.nv) if n == "tau" else getattr(below, n)
        second = rows.get(f"by_{n}")
        shape = first.shape[len(accelerations.shape) :] if first.ndim > accelerations.ndim + 1 else None
        if shape is not None:
            first = first.reshape(*first.shape[: -len(shape)], -1)
        if f"pushed_{n}" in rows:
            first = first - rows[f"pushed_{n}"]
        parts = solve(first, second)
        for name, x in zip((n, f"forces_{n}"), parts, strict=True):
            found[name] = x if shape is None else x.reshape(*x.shape[:-1], *shape)
    return Derivatives.of({n: x.astype(accelerations.dtype, copy=False) for n, x in found.items()})


class _Constrained:
    """δλ and δy of 𝓜 δy − Jᵀ δλ = −D₁, J δy = −D₂, in rows that hold."""

    def __init__(self, inverse: Array, jacobian: Array, mask: Array) -> None:
        self.inverse, self.jacobian = inverse, mask[..., :, None] * jacobian
        self.by_forces = inverse @ transpose(self.jacobian)
        compliance = self.jacobian @ self.by_forces
        size = np.sqrt(np.diagonal(compliance, axis1=-2, axis2=-1))
        self.scale = np.where(size > 0, 1.0 / np.where(size > 0, size, 1.0), 0.0)
        values, self.axes = np.linalg.eigh(self.scale[..., :, None] * compliance * self.scale[..., None, :])
        self.values = np.where(values > FLOOR, 1.0 / np.where(values > FLOOR, values, 1.0), 0.0)

    def __call__(self, first: Array, second: Array | None) -> tuple[Array, Array]:
        """Return δy and δλ."""
        right = transpose(self.by_forces) @ first
        right = right if second is None else right - second
        scaled = transpose(self.axes) @ (self.scale[..., :, None] * right)
        forces = self.scale[..., :, None] * (self.axes @ (self.values[..., :, None] * scaled))
        return self.by_forces @ forces - self.inverse @ first, forces
