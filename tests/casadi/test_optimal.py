"""ẋ = f(x, u), ⊕ and ⊖: those of `integrate`, `difference` and `linearize`."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
import hinge.casadi as homes
from tests.casadi.test_functions import near, state, without_rolling
from tests.export.test_casadi_interface import by_coordinates
from tests.sweeps.models import every_joint_type
from tests.tiers import daily

ca = pytest.importorskip("casadi")


@pytest.mark.parametrize("make", [hinge.robots.double_pendulum, hinge.robots.quadruped, without_rolling])
def test_plus_and_minus(make):
    robot = make()
    model = homes.dynamics(robot, jacobian=False)
    q, v, _ = state(robot)
    dx = 0.7 * np.random.default_rng(3).standard_normal(model.ndx)
    x = np.concatenate([q, v])
    moved = np.array(model.plus(x, dx)).ravel()
    near(moved[: robot.nq], hinge.integrate(robot, q, dx[: robot.nv]))
    near(moved[robot.nq :], v + dx[robot.nv :])
    near(model.minus(moved, x), dx, 1e-9)
    assert np.array(model.plus(x, 0 * dx)).ravel() == pytest.approx(x, abs=1e-14)
    slope = model.plus.jacobian()(x, 0 * dx, 0)[1]
    assert np.isfinite(np.array(slope)).all()


def floating():
    """Return a small robot whose q is longer than its qd."""
    return hinge.robots.random_tree(2, 3, ["free", "revolute"], branching=0.0)


@pytest.mark.parametrize("make", daily([floating, hinge.robots.quadruped], lambda k, _: k == 0))
def test_the_motion_and_its_derivatives(make):
    robot = make()
    assert robot.nq > robot.nv
    model, (q, v, tau) = homes.dynamics(robot), state(robot)
    x = np.concatenate([q, v])
    found = np.array(model.f(x, tau)).ravel()
    near(found[robot.nq :], hinge.forward_dynamics(robot, q, v, tau))
    h = 1e-6
    near(
        found[: robot.nq],
        (hinge.integrate(robot, q, h * v) - hinge.integrate(robot, q, -h * v)) / (2 * h),
        1e-8,
    )
    by_x, by_u = map(np.array, model.f.jacobian()(x, tau, 0))
    d = hinge.forward_dynamics_derivatives(robot, q, v, tau)
    near(by_x[robot.nq :, : robot.nq], by_coordinates(robot, q, d.q), 1e-10)
    near(by_x[robot.nq :, robot.nq :], d.qd, 1e-10)
    near(by_u[robot.nq :], d.tau, 1e-10)
    plain = homes.dynamics(robot, jacobian=False)
    rates = np.linalg.pinv(by_coordinates(robot, q, np.eye(robot.nv)))
    theirs = np.array(plain.f.jacobian()(x, tau, 0)[0])
    near(by_x[:, : robot.nq] @ rates, theirs[:, : robot.nq] @ rates, 1e-10)
    near(by_x[:, robot.nq :], theirs[:, robot.nq :], 1e-10)


def test_closed_robots_move_with_their_closures():
    robot = hinge.robots.four_bar()
    model, (q, v, tau) = homes.dynamics(robot, jacobian=False), state(robot)
    found = np.array(model.f(np.concatenate([q, v]), tau)).ravel()[robot.nq :]
    near(found, hinge.closed_dynamics(robot, q, v, tau).qdd, 1e-11)


@pytest.mark.slow
def test_the_derivatives_of_closed_robots():
    robot = hinge.robots.four_bar()
    model, (q, v, tau) = homes.dynamics(robot), state(robot)
    d = hinge.closed_dynamics_derivatives(robot, q, v, tau)
    found = np.array(model.f.jacobian()(np.concatenate([q, v]), tau, 0)[0])[robot.nq :]
    near(found, np.hstack([d.q, d.qd]), 1e-9)


def test_passive_forces_and_refusals():
    robot = hinge.robots.double_pendulum()
    q, v, tau = state(robot)
    found = np.array(homes.dynamics(robot, passive=True).f(np.concatenate([q, v]), tau)).ravel()[robot.nq :]
    near(found, hinge.forward_dynamics(robot, q, v, tau, passive=True))
    with pytest.raises(NotImplementedError, match="x ⊕ dx is not supported for"):
        homes.dynamics(every_joint_type(0).robot)
    with pytest.raises(hinge.errors.ArgumentError, match="jacobian: expected True, False"):
        homes.dynamics(robot, jacobian="yes")
