"""Linearisation of motion and of steps: against differences of `simulate`, and of steps against motion."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.robots import random_tree
from tests.dynamics.differences import by_q, by_vector, off

ROBOTS = {
    "vectors": lambda: random_tree(3, 1, ["revolute", "prismatic", "universal"]),
    "groups": lambda: random_tree(3, 3, ["free", "spherical", "planar"]),
}
DT = 0.01


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]()


@pytest.fixture(scope="module")
def state(robot):
    rng = np.random.default_rng(1)
    return hinge.random_configuration(robot, rng), *rng.standard_normal((2, robot.nv))


@pytest.mark.parametrize("rule", ["semi-implicit", "rk4"])
def test_a_step(robot, state, rule):
    q, qd, tau = state

    def end(x, v, u):
        run = hinge.simulate(robot, x, v, t=DT, dt=DT, control=u, integrator=rule, passive=False)
        return run.q[-1], run.qd[-1]

    def change(x=q, v=qd, u=tau):
        there, fast = end(x, v, u)
        return np.concatenate([hinge.difference(robot, end(q, qd, tau)[0], there), fast])

    found = hinge.linearize(robot, q, qd, tau, DT, integrator=rule)
    wanted = [by_q(robot, lambda x: change(x=x), q), by_vector(lambda v: change(v=v), qd)]
    assert off(found.A, np.concatenate(wanted, axis=-1)) < 1e-11
    assert off(found.B, by_vector(lambda u: change(u=u), tau)) < 1e-11


def test_short_steps_are_the_motion(robot, state):
    whole, one = hinge.linearize(robot, *state), np.eye(2 * robot.nv)
    gaps = []
    for h in (1e-3, 5e-4):
        step = hinge.linearize(robot, *state, h, integrator="rk4")
        gaps.append(max(off((step.A - one) / h, whole.A), off(step.B / h, whole.B)))
    assert gaps[1] < 5e-3
    assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.02)


def test_batches(robot, state):
    q, qd, tau = state
    many = np.stack([q, q, q])
    rates = qd * np.array([[1.0], [0.5], [0.0]])
    found = hinge.linearize(robot, many, rates, tau, DT)
    assert found.A.shape == (3, 2 * robot.nv, 2 * robot.nv)
    one = hinge.linearize(robot, q, rates[1], tau, DT)
    np.testing.assert_allclose(found.A[1], one.A, atol=1e-13)
    np.testing.assert_allclose(found.B[1], one.B, atol=1e-13)


def test_a_batch_has_the_bits_of_its_states():
    """Plain arrays go straight into native code, lists through Python; both run the same program."""
    robot = random_tree(3, 3, ["free", "revolute", "spherical"])
    rng = np.random.default_rng(2)
    q = hinge.random_configuration(robot, rng, 9)
    qd, tau = rng.standard_normal((2, 9, robot.nv))
    for given in ({}, {"dt": DT}, {"dt": DT, "integrator": "rk4"}):
        many = hinge.linearize(robot, q, qd, tau, **given)
        for one in (
            hinge.linearize(robot, q[4], qd[4], tau[4], **given),
            hinge.linearize(robot, q[4].tolist(), qd[4], tau[4], **given),
        ):
            assert np.array_equal(one.A, many.A[4]) and np.array_equal(one.B, many.B[4])
        rough = hinge.linearize(robot, *(x.astype(np.float32) for x in (q, qd, tau)), **given)
        assert rough.A.dtype == rough.B.dtype == np.float32
        assert off(rough.A.astype(float), many.A) < 1e-5


def test_steps_of_other_lengths_are_the_same_code():
    robot = hinge.robots.double_pendulum()
    state = np.array([0.1, 0.2]), np.array([0.3, 0.4]), np.array([0.0, 1.0])
    d = hinge.forward_dynamics_derivatives(robot, *state)
    for h in (DT, 2 * DT, DT):
        found = hinge.linearize(robot, *state, h)
        np.testing.assert_allclose(found.A[2:, :2], h * d.q, rtol=1e-14)
        np.testing.assert_allclose(found.B[:2], h * h * d.tau, rtol=1e-14)


def test_targets_agree(monkeypatch):
    robot = random_tree(2, 5, ["free", "prismatic"])
    rng = np.random.default_rng(3)
    state = hinge.random_configuration(robot, rng), *rng.standard_normal((2, robot.nv))
    push = {robot.bodies[-1].name: rng.standard_normal((4, 6))}
    found = hinge.linearize(robot, *state, DT, integrator="rk4", external=push, passive=True)
    monkeypatch.setenv("HINGE_TARGET", "numpy")
    again = hinge.linearize(robot, *state, DT, integrator="rk4", external=push, passive=True)
    assert found.A.shape == again.A.shape == (4, 2 * robot.nv, 2 * robot.nv)
    assert off(found.A, again.A) < 1e-12 and off(found.B, again.B) < 1e-12


def test_options():
    robot = hinge.robots.double_pendulum()
    tip = robot.bodies[-1].name
    given = {"external": {tip: [0, 1, 2, 0, 0, 3]}, "gravity": [0, 1, -2]}
    found = hinge.linearize(robot, [0.1, 0.2], [0.3, 0.4], [0, 1], **given)
    d = hinge.forward_dynamics_derivatives(robot, [0.1, 0.2], [0.3, 0.4], [0, 1], **given)
    np.testing.assert_allclose(found.A[2:], np.concatenate([d.q, d.qd], axis=-1), atol=1e-14)


REFUSED = {
    "dt: expected a time": {"dt": -1.0},
    "integrator: expected 'semi-implicit', 'rk4', 'rk5', got 'midpoint'": {
        "dt": DT,
        "integrator": "midpoint",
    },
    "integrator: expected .* got 'rk3'": {"dt": DT, "integrator": "rk3"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message):
    robot = hinge.robots.double_pendulum()
    with pytest.raises(ArgumentError, match=message):
        hinge.linearize(robot, [0, 0], [0, 0], [0, 0], **REFUSED[message])


def test_joints_that_roll_are_refused():
    robot = random_tree(1, 1, ["rolling_ball"], branching=0.0)
    q = hinge.random_configuration(robot, 1)
    with pytest.raises(ArgumentError, match=r"linearize is not for joint 'joint0' .* which rolls"):
        hinge.linearize(robot, q, np.zeros(3), np.zeros(3))
