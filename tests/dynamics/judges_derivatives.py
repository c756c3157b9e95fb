"""How far derivatives are from differences of the eighth order along `integrate`, for one robot.

Derivatives of accelerations are judged by the forces that they stand for, as accelerations are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import hinge
from hinge.model.joints import VectorJoint
from hinge.spatial import Array
from tests.dynamics.differences import by_q, by_vector
from tests.dynamics.judges import Judge, relative
from tests.dynamics.subjects import Subject


def _small(judge: Callable[[Subject], float]) -> Judge:
    """Leave out robots for which differences would take long."""
    return lambda x: None if x.is_large or not x.robot.nv else judge(x)


@_small
def inverse_dynamics(x: Subject) -> float:
    """Judge ∂ID by q, q̇ and q̈."""
    robot, s = x.robot, x.one
    d = hinge.inverse_dynamics_derivatives(robot, s.q, s.qd, s.qdd, wrt=("q", "qd", "qdd"))
    return max(
        relative(d.tau, hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd)),
        relative(d.q, by_q(robot, lambda q: hinge.inverse_dynamics(robot, q, s.qd, s.qdd), s.q)),
        relative(d.qd, by_vector(lambda qd: hinge.inverse_dynamics(robot, s.q, qd, s.qdd), s.qd)),
        relative(d.qdd, hinge.mass_matrix(robot, s.q)),
    )


@_small
def forward_dynamics(x: Subject) -> float:
    """Judge ∂FD by q, q̇ and τ: 𝓜 ∂FD = −∂ID at q̈ = FD."""
    robot, s, m = x.robot, x.one, hinge.mass_matrix(x.robot, x.one.q)
    d = hinge.forward_dynamics_derivatives(robot, s.q, s.qd, s.tau)
    wanted = hinge.inverse_dynamics_derivatives(robot, s.q, s.qd, d.qdd)
    errors = [relative(m @ d.q, -wanted.q), relative(m @ d.qd, -wanted.qd), relative(m @ d.tau @ m, m)]
    return max(relative(m @ d.qdd, m @ hinge.forward_dynamics(robot, s.q, s.qd, s.tau)), *errors)


def of_frame(verb: str) -> Judge:
    """Judge the derivatives of a velocity, an acceleration or a Jacobian of the tip, by q."""

    @_small
    def judge(x: Subject) -> float:
        robot, s = x.robot, x.one
        axes = ("body", "world", "world-aligned")[len(x.name) % 3]
        given = {"velocities": (s.qd,), "accelerations": (s.qd, s.qdd), "jacobian": ()}[verb]

        def value(q: Array) -> Array:
            return getattr(hinge, verb)(robot, q, *given, x.tip, expressed=axes)

        name = {"velocities": "velocity", "accelerations": "acceleration"}.get(verb, verb)
        d = getattr(hinge, f"{name}_derivatives")(robot, s.q, *given, x.tip, expressed=axes)
        return relative(d if verb == "jacobian" else d.q, by_q(robot, value, s.q))

    return judge


@_small
def mass_matrix(x: Subject) -> float:
    """Judge ∂𝓜/∂q, and 𝓜̇ along q̇."""
    whole = hinge.mass_matrix_derivatives(x.robot, x.one.q)
    rate = hinge.mass_matrix_derivatives(x.robot, x.one.q, along=x.one.qd)
    wanted = by_q(x.robot, lambda q: hinge.mass_matrix(x.robot, q), x.one.q)
    return max(relative(whole, wanted), relative(rate, whole @ x.one.qd))


@_small
def coriolis_matrix(x: Subject) -> float:
    """Judge C by C q̇ and, as 𝓜̇ = C + Cᵀ, by the rate of the mass matrix."""
    found = hinge.coriolis_matrix(x.robot, x.one.q, x.one.qd)
    rate = hinge.mass_matrix_derivatives(x.robot, x.one.q, along=x.one.qd)
    force = hinge.coriolis_force(x.robot, x.one.q, x.one.qd)
    return max(relative(found @ x.one.qd, force), relative(found + found.T, rate))


@_small
def christoffel_symbols(x: Subject) -> float:
    """Judge Γ by Γ q̇, and where q is a vector by derivatives of the mass matrix."""
    found = hinge.christoffel_symbols(x.robot, x.one.q)
    error = relative(found @ x.one.qd, hinge.coriolis_matrix(x.robot, x.one.q, x.one.qd))
    if not all(isinstance(j.type, VectorJoint) for j in x.robot.joints):
        return error
    rates = hinge.mass_matrix_derivatives(x.robot, x.one.q)
    wanted = (rates + np.swapaxes(rates, -1, -2) - np.moveaxis(rates, -1, -3)) / 2
    return max(error, relative(found, wanted))


@_small
def log_determinant_gradient(x: Subject) -> float:
    """Judge by differences of log det 𝓜."""
    found = hinge.log_determinant_gradient(x.robot, x.one.q)
    return relative(found, by_q(x.robot, lambda q: hinge.log_determinant(x.robot, q), x.one.q))


@_small
def centroidal_momentum(x: Subject) -> float:
    """Judge by q, and by q̇: the centroidal momentum matrix."""
    robot, s = x.robot, x.one
    d = hinge.centroidal_momentum_derivatives(robot, s.q, s.qd)
    wanted = by_q(robot, lambda q: hinge.centroidal_momentum(robot, q, s.qd), s.q)
    return max(relative(d.q, wanted), relative(d.qd, hinge.centroidal_momentum_matrix(robot, s.q)))


@_small
def gradient(x: Subject) -> float:
    """Judge the gradient of the kinetic energy by q and by q̇."""
    robot, s = x.robot, x.one
    wanted = by_q(robot, lambda q: hinge.kinetic_energy(robot, q, s.qd), s.q)
    by_qd = hinge.gradient("kinetic_energy", robot, "qd")(s.q, s.qd)
    return max(
        relative(hinge.gradient("kinetic_energy", robot)(s.q, s.qd), wanted),
        relative(by_qd, hinge.mass_times(robot, s.q, s.qd)),
    )


def _directions(x: Subject) -> tuple[Array, Array, Array, Array]:
    return tuple(np.random.default_rng(x.seed).standard_normal((4, x.robot.nv)))


@_small
def push(x: Subject) -> float:
    """Judge changes of the forces along directions by the matrices."""
    s, (dq, dqd, dqdd, _) = x.one, _directions(x)
    d = hinge.inverse_dynamics_derivatives(x.robot, s.q, s.qd, s.qdd, wrt=("q", "qd", "qdd"))
    found = hinge.jvp("inverse_dynamics", x.robot)(s.q, s.qd, s.qdd, d_q=dq, d_qd=dqd, d_qdd=dqdd)[1]
    return relative(found, d.q @ dq + d.qd @ dqd + d.qdd @ dqdd)


@_small
def pull(x: Subject) -> float:
    """Judge gradients by the matrices."""
    s, (*_, c) = x.one, _directions(x)
    d = hinge.inverse_dynamics_derivatives(x.robot, s.q, s.qd, s.qdd, wrt=("q", "qd", "qdd"))
    found = hinge.vjp("inverse_dynamics", x.robot)(s.q, s.qd, s.qdd, c)[1]
    return max(relative(found[n], getattr(d, n).T @ c) for n in ("q", "qd", "qdd"))


@_small
def second(x: Subject) -> float | None:
    """Judge the blocks of a Hessian by differences of gradients."""
    if x.robot.nv > 12:
        return None
    robot, s, (*_, c) = x.robot, x.one, _directions(x)
    grads = hinge.vjp("inverse_dynamics", robot)
    found = hinge.second_derivatives("inverse_dynamics", robot, s.q, s.qd, s.qdd, c=c)
    return max(
        relative(found["q", "q"], by_q(robot, lambda q: grads(q, s.qd, s.qdd, c)[1]["q"], s.q)),
        relative(found["q", "qd"], by_vector(lambda qd: grads(s.q, qd, s.qdd, c)[1]["q"], s.qd)),
        relative(found["qd", "qd"], by_vector(lambda qd: grads(s.q, qd, s.qdd, c)[1]["qd"], s.qd)),
    )
