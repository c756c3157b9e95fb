"""Closed robots of the book: by differences, by laws, and against Pinocchio."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import reference
from hinge.model import closure_ends, integrate, joints
from hinge.robots import chain
from hinge.testing import closed_state, random_closed, random_closed_robots, random_state
from tests.oracles.closed_arms import constrained, two_arms

SEEDS = range(12)
every = pytest.mark.parametrize("seed", SEEDS)


@cache
def cases():
    """Return the robots, each with a configuration that closes it; not made while tests are collected."""
    return list(random_closed_robots(len(SEEDS)))


@pytest.fixture
def robot(seed):
    return cases()[seed][0]


@pytest.fixture
def q(seed):
    return cases()[seed][1]


def test_random_robots_have_every_closure_and_redundant_rows():
    kinds = {c.joint.kind for robot, _ in cases() for c in robot.closures}
    assert kinds >= {k for k, t in joints.JOINT_TYPES.items() if t().reactions is not None} | {"soft finger"}
    missing = []
    for robot, q in cases():
        j = reference.closure_jacobian(robot, q)
        missing.append(len(j) - np.linalg.matrix_rank(j, tol=1e-8))
    assert missing == [0, 0, 3] * 4
    assert {c.inner is None for robot, _ in cases() for c in robot.closures} == {True, False}


@every
def test_q_closes_the_robot(robot, q, seed):
    assert_allclose(reference.closure_error(robot, q), 0, atol=1e-12)
    assert [p for p in hinge.check(robot, q) if p.condition == "closed"] == []


@every
def test_the_jacobian_is_the_derivative_of_the_error(robot, q, seed):
    """Along velocities that the closures allow both are zero; along any, the locked turns come in."""
    s, h = closed_state(robot, q, seed), 1e-5
    off = [reference.closure_error(robot, integrate(robot, q, t * s.qd)) for t in (-h, h)]
    assert_allclose((off[1] - off[0]) / (2 * h), 0, atol=1e-6)
    assert_allclose(reference.closure_velocity(robot, q, s.qd), 0, atol=1e-9)
    v = random_state(robot, seed).qd
    off = [reference.closure_error(robot, integrate(robot, q, t * v)) for t in (-h, h)]
    rate, at = (off[1] - off[0]) / (2 * h), 0
    expected = reference.closure_velocity(robot, q, v)
    for c in robot.closures:
        rows = c.constraints
        own = slice(at, at + len(rows.names))
        if c.joint.kind in ("fixed", "spherical", "revolute", "continuous", "translational"):
            assert_allclose(rate[own], expected[own], atol=1e-5)
        at = own.stop


@every
def test_the_bias_is_the_derivative_of_the_velocity(robot, q, seed):
    """Also where neither q nor qd fits."""
    s, h = random_state(robot, seed), 1e-5
    ahead, behind = (
        reference.closure_velocity(robot, integrate(robot, s.q, t * s.qd), s.qd) for t in (h, -h)
    )
    bias = reference.closure_bias(robot, s.q, s.qd)
    assert_allclose((ahead - behind) / (2 * h), bias, atol=1e-6 * (1 + np.abs(bias).max()))


@every
def test_accelerations_are_closed_and_the_equation_of_motion_holds(robot, q, seed):
    s = closed_state(robot, q, seed)
    qdd, forces = reference.closed_dynamics(robot, s.q, s.qd, s.tau)
    j, bias = reference.closure_jacobian(robot, q), reference.closure_bias(robot, q, s.qd)
    scale = 1 + np.abs(bias).max() + np.abs(qdd).max()
    assert_allclose(j @ qdd + bias, 0, atol=1e-8 * scale)
    tau = reference.inverse_dynamics(robot, q, s.qd, qdd)
    assert_allclose(tau, s.tau + j.T @ forces, atol=1e-9 * (1 + np.abs(tau).max() + np.abs(forces).max()))
    assert abs(forces @ j @ s.qd) < 1e-7 * (1 + np.abs(forces).max())


@every
def test_closure_forces_act_as_external_forces_of_the_open_robot(robot, q, seed):
    s = closed_state(robot, q, seed)
    qdd, forces = reference.closed_dynamics(robot, s.q, s.qd, s.tau)
    external = {b.name: np.zeros(6) for b in robot.bodies}
    for c, f in zip(robot.closures, reference.closure_wrenches(robot, forces), strict=True):
        (p, inner), (k, outer) = closure_ends(robot, c)
        external[robot.bodies[k].name] += outer.inv().force(f)
        if p >= 0:
            across = hinge.model.closure_transform(robot, c, q)
            external[robot.bodies[p].name] -= (across @ inner).inv().force(f)
    tau = reference.inverse_dynamics(robot, q, s.qd, qdd, external=external)
    assert_allclose(tau, s.tau, atol=1e-8 * (1 + np.abs(forces).max()))


def test_batches_are_single_states():
    robot, q = random_closed(2)
    s = random_state(robot, 1, (3, 2))
    q = np.broadcast_to(q, (3, 2, robot.nq))
    qdd, forces = reference.closed_dynamics(robot, q, s.qd, s.tau)
    one = reference.closed_dynamics(robot, q[1, 1], s.qd[1, 1], s.tau[1, 1])
    assert_allclose(qdd[1, 1], one[0], atol=1e-8 * np.abs(qdd).max())
    assert forces.shape == (3, 2, sum(len(c.constraints.names) for c in robot.closures))


def test_an_open_robot_is_the_same_as_ever():
    robot = chain(3)
    s = random_state(robot, 1)
    qdd, forces = reference.closed_dynamics(robot, s.q, s.qd, s.tau)
    assert_allclose(qdd, reference.forward_dynamics(robot, s.q, s.qd, s.tau), rtol=1e-10)
    assert forces.shape == (0,) and reference.closure_error(robot, s.q).shape == (0,)


@pytest.mark.parametrize("kind", ["spherical", "fixed"])
@pytest.mark.parametrize("grounded", [True, False])
def test_pinocchio_agrees(kind, grounded):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for this platform")
    robot, model = two_arms(pin)
    s = random_state(robot, 5)
    at = {b: reference.frame_placement(robot, s.q, b) for b in ("link7", "x_link7")}
    place = at["x_link7"] if grounded else at["x_link7"] @ at["link7"].inv()
    inner = None if grounded else "link7"
    closed = hinge.close(
        robot,
        inner,
        "x_link7",
        joint=joints.JOINT_TYPES[kind](),
        rotation=place.rotation,
        position=place.position,
    )
    s = closed_state(closed, s.q, 5)
    qdd, forces = reference.closed_dynamics(closed, s.q, s.qd, s.tau)
    theirs, (pushed,) = constrained(pin, model, closed, s)
    assert_allclose(qdd, theirs, rtol=1e-7, atol=1e-7 * np.abs(qdd).max())
    f = reference.closure_wrenches(closed, forces)[0]
    ours = f[3:] if kind == "spherical" else np.concatenate([f[3:], f[:3]])
    assert_allclose(ours, pushed, rtol=1e-6, atol=1e-6 * np.abs(ours).max())
