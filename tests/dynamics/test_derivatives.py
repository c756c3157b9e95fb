"""Derivatives of verbs: against differences of the eighth order, and the laws between them."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.algebra import P
from hinge.algebra import q as configuration
from hinge.algebra import qd as rates
from hinge.algebra import tau as forces
from hinge.dynamics.expressions import CATALOGUE
from hinge.errors import ArgumentError
from hinge.spatial import motion_cross_matrix
from tests.dynamics.differences import by_q, by_vector, off
from tests.sweeps.models import every_joint_type
from tests.tiers import daily

BOUND = 1e-8
ROBOTS = {
    "panda": hinge.robots.panda,
    "quadruped": hinge.robots.quadruped,
    "every joint": lambda: every_joint_type(0).robot,
}


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]()


@pytest.fixture(scope="module")
def state(robot):
    rng = np.random.default_rng(1)
    return hinge.random_configuration(robot, rng), *rng.standard_normal((3, robot.nv))


def test_inverse_dynamics(robot, state):
    q, qd, qdd, _ = state
    d = hinge.inverse_dynamics_derivatives(robot, q, qd, qdd, wrt=("q", "qd", "qdd"))
    np.testing.assert_allclose(d.tau, hinge.inverse_dynamics(robot, q, qd, qdd), rtol=1e-10, atol=1e-10)
    assert off(d.q, by_q(robot, lambda x: hinge.inverse_dynamics(robot, x, qd, qdd), q)) < BOUND
    assert off(d.qd, by_vector(lambda x: hinge.inverse_dynamics(robot, q, x, qdd), qd)) < BOUND
    assert off(d.qdd, hinge.mass_matrix(robot, q)) < 1e-12


def test_forward_dynamics(robot, state):
    q, qd, _, tau = state
    d = hinge.forward_dynamics_derivatives(robot, q, qd, tau)
    np.testing.assert_allclose(d.qdd, hinge.forward_dynamics(robot, q, qd, tau), rtol=1e-9, atol=1e-9)
    assert off(d.q, by_q(robot, lambda x: hinge.forward_dynamics(robot, x, qd, tau), q)) < BOUND
    assert off(d.qd, by_vector(lambda x: hinge.forward_dynamics(robot, q, x, tau), qd)) < BOUND
    assert off(d.tau, hinge.mass_matrix_inverse(robot, q)) < 1e-12


def test_forward_is_minus_the_inverse_mass_times_inverse(robot, state):
    q, qd, _, tau = state
    d = hinge.forward_dynamics_derivatives(robot, q, qd, tau)
    e = hinge.inverse_dynamics_derivatives(robot, q, qd, d.qdd)
    inverse = hinge.mass_matrix_inverse(robot, q)
    assert off(d.q, -inverse @ e.q) < 1e-9
    assert off(d.qd, -inverse @ e.qd) < 1e-9


@pytest.mark.parametrize("verb", ["inverse_dynamics", "forward_dynamics"])
def test_push_and_pull_are_adjoint(robot, state, verb):
    q, qd, u, c = state
    rng = np.random.default_rng(2)
    names = ("q", "qd", "qdd" if verb == "inverse_dynamics" else "tau")
    along = dict(zip(names, rng.standard_normal((3, robot.nv)), strict=True))
    push, pull = hinge.jvp(verb, robot), hinge.vjp(verb, robot)
    value, change = push(q, qd, u, **{f"d_{n}": x for n, x in along.items()})
    again, grads = pull(q, qd, u, c)
    np.testing.assert_allclose(value, again, rtol=1e-10)
    one, other = c @ change, sum(grads[n] @ along[n] for n in names)
    assert abs(one - other) < 1e-10 * max(1.0, abs(one))


def test_kinetic_energy(robot, state):
    q, qd, _, _ = state
    wanted = by_q(robot, lambda x: hinge.kinetic_energy(robot, x, qd), q)
    assert off(hinge.gradient("kinetic_energy", robot)(q, qd), wanted) < BOUND
    assert off(hinge.gradient("kinetic_energy", robot, "qd")(q, qd), hinge.mass_times(robot, q, qd)) < 1e-12


def test_potential_energy(robot, state):
    q = state[0]
    wanted = by_q(robot, lambda x: hinge.potential_energy(robot, x), q)
    assert off(hinge.gradient("potential_energy", robot)(q), wanted) < BOUND


@pytest.mark.parametrize("expressed", ["body", "world", "world-aligned"])
def test_kinematics(robot, state, expressed):
    q, qd, qdd, _ = state
    frame = robot.bodies[-1].name

    def velocity(x):
        return hinge.velocities(robot, x, qd, frame, expressed=expressed)

    def acceleration(x):
        return hinge.accelerations(robot, x, qd, qdd, frame, expressed=expressed)

    d = hinge.velocity_derivatives(robot, q, qd, frame, expressed=expressed)
    jacobian = hinge.jacobian(robot, q, frame, expressed=expressed)
    assert off(d.velocity, velocity(q)) < 1e-12
    assert off(d.q, by_q(robot, velocity, q)) < BOUND
    assert off(d.qd, jacobian) < 1e-12
    d = hinge.acceleration_derivatives(robot, q, qd, qdd, frame, expressed=expressed)
    assert off(d.q, by_q(robot, acceleration, q)) < BOUND
    assert off(d.qdd, jacobian) < 1e-12
    hessian = hinge.jacobian_derivatives(robot, q, frame, expressed=expressed)
    wanted = by_q(robot, lambda x: hinge.jacobian(robot, x, frame, expressed=expressed), q)
    assert off(hessian, wanted) < BOUND


def test_mass_matrix(robot, state):
    q, qd, _, _ = state
    whole = hinge.mass_matrix_derivatives(robot, q)
    assert off(whole, by_q(robot, lambda x: hinge.mass_matrix(robot, x), q)) < BOUND
    assert off(hinge.mass_matrix_derivatives(robot, q, along=qd), whole @ qd) < 1e-12


def test_coriolis_matrix(robot, state):
    q, qd, _, _ = state
    C, rate = hinge.coriolis_matrix(robot, q, qd), hinge.mass_matrix_derivatives(robot, q, along=qd)
    assert off(C @ qd, hinge.coriolis_force(robot, q, qd)) < 1e-10
    skew = rate - 2 * C
    assert off(skew, -skew.T) < 1e-10


def test_centroidal_momentum(robot, state):
    q, qd, _, _ = state
    d = hinge.centroidal_momentum_derivatives(robot, q, qd)
    assert off(d.momentum, hinge.centroidal_momentum(robot, q, qd)) < 1e-12
    assert off(d.q, by_q(robot, lambda x: hinge.centroidal_momentum(robot, x, qd), q)) < BOUND
    assert off(d.qd, hinge.centroidal_momentum_matrix(robot, q)) < 1e-12


@pytest.mark.parametrize("verb", daily(["inverse_dynamics", "forward_dynamics"], lambda k, _: k == 0))
def test_second_derivatives(verb):
    robot = hinge.robots.random_tree(4, 3)
    rng = np.random.default_rng(3)
    q = hinge.random_configuration(robot, rng)
    qd, u, c = rng.standard_normal((3, robot.nv))
    pull = hinge.vjp(verb, robot)
    found = hinge.second_derivatives(verb, robot, q, qd, u, c=c)
    assert off(found["q", "q"], by_q(robot, lambda x: pull(x, qd, u, c)[1]["q"], q)) < BOUND
    assert off(found["q", "qd"], by_vector(lambda x: pull(q, x, u, c)[1]["q"], qd)) < BOUND
    assert off(found["qd", "q"], found["q", "qd"].T) < 1e-9
    assert off(found["qd", "qd"], by_vector(lambda x: pull(q, x, u, c)[1]["qd"], qd)) < BOUND


def test_options_together():
    robot = hinge.robots.quadruped()
    rng = np.random.default_rng(4)
    q = hinge.random_configuration(robot, rng)
    qd, tau = rng.standard_normal((2, robot.nv))
    push, down = rng.standard_normal(6), np.array([0.3, -0.2, -3.0])
    feet = {robot.bodies[-1].name: push}

    def accelerations(x=q, f=push, gravity=down):
        external = {robot.bodies[-1].name: f}
        return hinge.forward_dynamics(robot, x, qd, tau, external=external, gravity=gravity, passive=True)

    d = hinge.forward_dynamics_derivatives(
        robot,
        q,
        qd,
        tau,
        wrt=("q", "external", "gravity", "inertias"),
        external=feet,
        gravity=down,
        passive=True,
    )
    assert off(d.q, by_q(robot, accelerations, q)) < BOUND
    assert off(d.external, by_vector(lambda x: accelerations(f=x), push)) < BOUND
    assert off(d.gravity, by_vector(lambda x: accelerations(gravity=x), down)) < BOUND
    numbers = hinge.inertial_parameters(robot)
    f = hinge.compile("forward_dynamics", robot, parameters=["inertias"])
    plain = hinge.forward_dynamics_derivatives(robot, q, qd, tau, wrt=["inertias"])
    wanted = by_vector(
        lambda x: f(q, qd, tau=tau, f_ext=np.zeros((0, 6)), inertias=x.reshape(numbers.shape)),
        numbers.ravel(),
        1e-6,
    )
    assert off(plain.inertias, wanted.reshape(plain.inertias.shape)) < 1e-7


def test_batches_and_single_precision(robot):
    rng = np.random.default_rng(5)
    q = hinge.random_configuration(robot, rng, 3)
    qd, tau = rng.standard_normal((2, 3, robot.nv))
    d = hinge.forward_dynamics_derivatives(robot, q, qd, tau)
    for k in range(3):
        one = hinge.forward_dynamics_derivatives(robot, q[k], qd[k], tau[k])
        np.testing.assert_array_equal(d.q[k], one.q)
        np.testing.assert_array_equal(d.tau[k], one.tau)
    single = [x.astype(np.float32) for x in (q, qd, tau)]
    less = hinge.forward_dynamics_derivatives(robot, *single)
    assert less.q.dtype == np.float32
    assert off(less.q.astype(float), d.q) < 5e-3


def test_own_expression_and_its_derivation():
    robot = hinge.robots.panda()
    q = hinge.random_configuration(robot, np.random.default_rng(6))
    qd = np.linspace(-1, 1, robot.nv)
    e = CATALOGUE["kinetic_energy"]
    D = hinge.derivative("coriolis_force", configuration)
    f = hinge.compile({"D": D, "by_rates": hinge.derivative("coriolis_force", rates)}, robot)(q, qd)
    assert off(f["D"], by_q(robot, lambda x: hinge.coriolis_force(robot, x, qd), q)) < BOUND
    assert off(f["by_rates"] @ qd, 2 * hinge.coriolis_force(robot, q, qd)) < 1e-10
    assert "sweep 1" in str(hinge.derive(D))
    assert set(hinge.derivative(e, ["q", "qd"])) == {"q", "qd"}
    both = hinge.derivative("forward_dynamics", [configuration, forces])
    assert set(both) == {"q", "tau"}


REFUSED = {
    "three indices": lambda: hinge.derivative("mass_matrix", "q"),
    "by: expected 'q'": lambda: hinge.derivative("inverse_dynamics", "qdot"),
    "by: expected q": lambda: hinge.algebra.derivative(CATALOGUE["coriolis_force"], 3),
    "wrt: expected names": lambda: hinge.forward_dynamics_derivatives(
        hinge.robots.panda(), np.zeros(7), np.zeros(7), np.zeros(7), wrt=("qdd",)
    ),
    "wrt: 'external' expects": lambda: hinge.forward_dynamics_derivatives(
        hinge.robots.panda(), np.zeros(7), np.zeros(7), np.zeros(7), wrt=("external",)
    ),
    "result of a recursion": lambda: hinge.derivative(hinge.algebra.H @ P @ hinge.algebra.H.T @ rates, "q"),
    "expected a number": lambda: hinge.gradient("inverse_dynamics", hinge.robots.panda()),
    "one expression": lambda: hinge.derivative("mass_factors", "q"),
    "apply it to one, or give along=, joint rates": lambda: hinge.derivative("jacobian", "q"),
    "along: expected the derivative by q": lambda: hinge.algebra.derivative(
        CATALOGUE["mass_matrix"], rates, along=rates
    ),
    "along: expected joint rates": lambda: hinge.algebra.derivative(
        CATALOGUE["mass_matrix"], configuration, along=hinge.algebra.f_ext
    ),
    "write the expression with the mass matrix or its inverse": lambda: hinge.derivative(
        hinge.algebra.psi @ hinge.algebra.H.T @ rates, "q"
    ),
    "take differences along hinge.integrate": lambda: hinge.derivative(hinge.algebra.Dr @ rates, "q"),
    "; did you mean 'qd'": lambda: hinge.derivative("inverse_dynamics", "qdt"),
    "wrt: expected no 'gravity' with base=": lambda: hinge.forward_dynamics_derivatives(
        hinge.robots.panda(), *np.zeros((3, 7)), wrt=("gravity",), base=hinge.BaseMotion()
    ),
    "wrt: expected at least one": lambda: hinge.inverse_dynamics_derivatives(
        hinge.robots.panda(), *np.zeros((3, 7)), wrt=()
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message):
    with pytest.raises(ArgumentError, match=message):
        REFUSED[message]()


def test_the_gradient_of_the_log_determinant_on_a_chain():
    """It is −2 tr(P Υ ad(h)ᵀ) of each hinge axis h: Jain 1997."""
    robot = hinge.robots.panda()
    q = hinge.random_configuration(robot, 7)
    found = hinge.log_determinant_gradient(robot, q)
    assert off(found, by_q(robot, lambda x: hinge.log_determinant(robot, x), q)) < BOUND
    parts = hinge.filter_quantities(robot, q, np.zeros(robot.nv), np.zeros(robot.nv))
    for k, j in enumerate(robot.joints):
        if j.nv:
            h = hinge.jacobian(robot, q, robot.bodies[k].name)[:, j.qd_slice.start]
            wanted = -2 * np.trace(parts.P[k] @ parts.Lambda[k] @ motion_cross_matrix(h).T)
            assert abs(found[j.qd_slice.start] - wanted) < 1e-10


def test_christoffel_symbols():
    robot = hinge.robots.random_tree(3, 1, ["revolute", "universal"])
    q, qd = hinge.random_configuration(robot, 8), np.ones(robot.nv)
    found, rate = hinge.christoffel_symbols(robot, q), hinge.mass_matrix_derivatives(robot, q)
    assert off(found @ qd, hinge.coriolis_matrix(robot, q, qd)) < 1e-12
    assert off(found, (rate + np.swapaxes(rate, -1, -2) - np.moveaxis(rate, -1, -3)) / 2) < 1e-12


def test_a_mask_has_no_derivative():
    with pytest.raises(NotImplementedError, match=r"by σ, .*are not supported: it says which coordinates"):
        hinge.derivative("inverse_dynamics", hinge.algebra.held)
