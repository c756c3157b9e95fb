"""Derivatives of kinematics, of the mass matrix and of the momentum; the Coriolis matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from hinge.algebra import H, M, ad, along, bar, logdet, phi, qd, x
from hinge.algebra import derivative as algebraic
from hinge.algebra import q as configuration
from hinge.binding import Expressed
from hinge.dynamics.arguments import precision
from hinge.dynamics.cached import compiled, one_name
from hinge.dynamics.derivative_forms import VALUE
from hinge.dynamics.derivatives import Derivatives, as_derivatives, checked_names, derivative_parts, into
from hinge.dynamics.expressions import VERBS, J, Parts, mass
from hinge.dynamics.values import written_into
from hinge.dynamics.verbs import mass_matrix_inverse
from hinge.dynamics.views import refuse_massless
from hinge.model import Robot, as_configuration, checked_robot
from hinge.spatial import Array, ArrayLike, cross

__all__ = [
    "acceleration_derivatives",
    "centroidal_momentum_derivatives",
    "christoffel_symbols",
    "coriolis_matrix",
    "jacobian_derivatives",
    "log_determinant_gradient",
    "mass_matrix_derivatives",
    "velocity_derivatives",
]


#: Arrays of the caller's for results that have names.
Out: TypeAlias = Mapping[str, Array] | Derivatives | None


def velocity_derivatives(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    frame: str,
    *,
    wrt: Sequence[str] = ("q", "qd"),
    expressed: Expressed = "body",
    out: Out = None,
) -> Derivatives:
    """Return the spatial velocity of a frame (…, 6) and its derivatives by q and qd, each (…, 6, nv).

    `wrt` names those that are wanted, `out` are arrays for the results by name, or what a call returned.
    """
    names = checked_names(wrt, ("q", "qd"))
    return into(out, _of_frame("velocities", "velocity", names, robot, q, {"qd": qd}, frame, expressed))


def acceleration_derivatives(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    frame: str,
    *,
    wrt: Sequence[str] = ("q", "qd", "qdd"),
    expressed: Expressed = "body",
    out: Out = None,
) -> Derivatives:
    """Return the spatial acceleration of a frame (…, 6) and its derivatives by q, qd and qdd: (…, 6, nv).

    `wrt` and `out` as in `velocity_derivatives`.
    """
    names, vectors = checked_names(wrt, ("q", "qd", "qdd")), {"qd": qd, "qdd": qdd}
    found = _of_frame("accelerations", "acceleration", names, robot, q, vectors, frame, expressed)
    return into(out, found)


def _of_frame(
    verb: str,
    of: str,
    wrt: tuple[str, ...],
    robot: Robot,
    q: ArrayLike,
    vectors: Mapping[str, ArrayLike],
    frame: str,
    expressed: Expressed,
) -> Derivatives:
    f = compiled(checked_robot(robot), derivative_parts(verb, wrt), [one_name(frame)], expressed)
    found = f.evaluate(q, vectors)
    shown = {of: found[VALUE][..., 0, :], **{n: found[f"by_{n}"] for n in wrt}}
    return as_derivatives(shown, robot)


def jacobian_derivatives(
    robot: Robot, q: ArrayLike, frame: str, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return the kinematic Hessian of a frame (…, 6, nv, nv): the derivative of column j by q along k."""
    f = compiled(checked_robot(robot), _JACOBIAN, [one_name(frame)], expressed)
    units, state = _each_direction(f.robot, q)
    found = f.evaluate(state, {"x": units})["hessian"]
    return written_into(out, np.moveaxis(found, -3, -2))


_JACOBIAN = Parts({"hessian": algebraic(J @ x, configuration)})


def _each_direction(robot: Robot, q: ArrayLike) -> tuple[Array, Array]:
    """Return unit vectors (nv, nv) and configurations (…, 1, nq) beside them."""
    dtype = precision(q)
    return np.eye(robot.nv, dtype=dtype), as_configuration(robot, q, dtype=dtype)[..., None, :]


# The mass matrix.


def mass_matrix_derivatives(
    robot: Robot, q: ArrayLike, *, along: ArrayLike | None = None, out: Array | None = None
) -> Array:
    """Return the derivative of the mass matrix: (…, nv, nv) along rates (…, nv), or (…, nv, nv, nv) by q.

    With the rates qd it is 𝓜̇. The last index of the whole is that of q. Jain and Rodriguez' sensitivities.
    """
    f = compiled(checked_robot(robot), _SENSITIVITIES[robot.is_flexible])
    if along is not None:
        to = None if out is None else {"change": out}
        return f.evaluate(q, {"x": along}, called={"x": "along"}, out=to)["change"]
    units, state = _each_direction(f.robot, q)
    return written_into(out, np.moveaxis(f.evaluate(state, {"x": units})["change"], -3, -1))


#: By whether the robot is flexible.
_SENSITIVITIES = [
    Parts({"change": algebraic(mass, configuration, along=x, flexible=flexible)})
    for flexible in (False, True)
]
_V = phi.T @ H.T @ qd
_turn = ad(_V, context="merged")
#: 2B of a body: −V̂ᵀ M − M V̂ + bar(M V), with B V = −V̂ᵀ M V and the rate of M as its symmetric part.
_twice_b = -(_turn.T @ M) - M @ _turn + bar(M @ _V, context="merged")
_coriolis = (
    H @ phi @ (M @ phi.T @ (_turn @ H.T + along(H, qd, context="merged").T) + _twice_b @ phi.T @ H.T / 2)
)
_CORIOLIS = Parts({"coriolis_matrix": _coriolis})


def coriolis_matrix(robot: Robot, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
    """Return C (…, nv, nv) with C q̇ the `coriolis_force` and 𝓜̇ − 2 C skew.

    C = H φ (M φᵀ (V̂ Hᵀ + Ṡ) + B φᵀ Hᵀ) with 2B = −V̂ᵀ M − M V̂ + bar(M V); for joints whose q is a vector it is
    that of the Christoffel symbols.
    """
    _refuse_flexible(robot, "coriolis_matrix")
    f, to = compiled(checked_robot(robot), _CORIOLIS), None if out is None else {"coriolis_matrix": out}
    return f.evaluate(q, {"qd": qd}, out=to)["coriolis_matrix"]


def christoffel_symbols(robot: Robot, q: ArrayLike, *, out: Array | None = None) -> Array:
    """Return Γ (…, nv, nv, nv) with Γ_ijk q̇ₖ summed over k the `coriolis_matrix`.

    For joints whose q is a vector they are those of the first kind, symmetric in j and k:
    Γ_ijk = ½ (∂𝓜_ij/∂qₖ + ∂𝓜_ik/∂qⱼ − ∂𝓜_jk/∂qᵢ).
    """
    _refuse_flexible(robot, "christoffel_symbols")
    f = compiled(checked_robot(robot), _CORIOLIS)
    units, state = _each_direction(f.robot, q)
    return written_into(out, np.moveaxis(f.evaluate(state, {"qd": units})["coriolis_matrix"], -3, -1))


def _refuse_flexible(robot: Robot, what: str) -> None:
    if checked_robot(robot).is_flexible:
        raise NotImplementedError(
            f"{what}: not supported for robots with flexible bodies, such as {robot.name!r}, whose inertias "
            "depend on q; use mass_matrix_derivatives, whose combinations the Christoffel symbols are"
        )


def log_determinant_gradient(robot: Robot, q: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the gradient (…, nv) of log det 𝓜 by q, tr(𝓜⁻¹ ∂𝓜/∂qₖ), in two sweeps.

    Half of it times kT is the force of the Fixman potential, which makes up for rigid bonds in the statistics
    of molecules: Jain 1997. Of an expression with logdet(𝓜), `gradient` has it, by numbers of the model too.
    """
    if checked_robot(robot).is_flexible:
        rates = mass_matrix_derivatives(robot, q)
        found = np.einsum("...ij,...ijk->...k", mass_matrix_inverse(robot, q), rates)
        return written_into(out, found)
    to = None if out is None else {"gradient": out}
    return compiled(robot, _DETERMINANT).evaluate(q, {}, out=to)["gradient"]


_DETERMINANT = Parts({"gradient": algebraic(logdet(mass), configuration).T})


def centroidal_momentum_derivatives(
    robot: Robot, q: ArrayLike, qd: ArrayLike, *, wrt: Sequence[str] = ("q", "qd"), out: Out = None
) -> Derivatives:
    """Return the `centroidal_momentum` (…, 6) and its derivatives by q and qd, each (…, 6, nv).

    `wrt` and `out` as in `velocity_derivatives`.
    """
    names = checked_names(wrt, ("q", "qd"))
    refuse_massless(checked_robot(robot))
    found = compiled(robot, _MOMENTA[robot.is_flexible]).evaluate(q, {"qd": qd})
    inertia, total = found["inertia"], found["momentum"]
    m = inertia[..., 3, 3, None]
    c = np.stack([inertia[..., 2, 4], inertia[..., 0, 5], inertia[..., 1, 3]], axis=-1) / m
    by_q, by_qd = _moved(found["by_q"], c), _moved(found["by_qd"], c)
    shift = np.swapaxes(found["by_qd"][..., 3:, :], -1, -2) / m[..., None]  # (…, nv, 3): the rates of c
    by_q[..., :3, :] -= np.swapaxes(cross(shift, total[..., None, 3:]), -1, -2)
    results = {"q": by_q, "qd": by_qd}
    momentum = _moved(total[..., None], c)[..., 0]
    return into(out, Derivatives.of({"momentum": momentum, **{n: results[n] for n in names}}))


def _moved(columns: Array, c: Array) -> Array:
    """Return columns [h; p] about c: [h − c × p; p]."""
    found = columns.copy()
    p = np.swapaxes(columns[..., 3:, :], -1, -2)
    found[..., :3, :] -= np.swapaxes(cross(np.broadcast_to(c[..., None, :], p.shape), p), -1, -2)
    return found


_whole = VERBS["centroidal_momentum"].expressions
_MOMENTA = [
    Parts(
        {
            **_whole,
            "by_q": algebraic(_whole["momentum"], configuration, flexible=flexible),
            "by_qd": algebraic(_whole["momentum"], qd, flexible=flexible),
        }
    )
    for flexible in (False, True)
]
