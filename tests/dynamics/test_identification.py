"""Forces are linear in inertias: the regressor, and the combinations of parameters that it tells apart."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.errors import ArgumentError
from tests.dynamics.zoo import ZOO, robot_of
from tests.tiers import daily


def motion(robot, seed=1, batch=()):
    qd, qdd = np.random.default_rng(seed).normal(size=(2, *batch, robot.nv))
    return hinge.random_configuration(robot, seed, *batch), qd, qdd


def rotors(robot):
    return np.concatenate([np.zeros(0), *(j.reflected_inertia for j in robot.joints)])


@pytest.mark.parametrize("name", daily(ZOO, lambda k, name: k % 2 == 0))
def test_forces_are_the_regressor_times_the_parameters(name):
    robot = robot_of(name)
    q, qd, qdd = motion(robot, batch=(3,))
    y = hinge.compile("inertial_regressor", robot, target="numpy")(q, qd, qdd=qdd)
    assert y.shape == (3, robot.nv, 10 * len(robot.bodies))
    found = y @ hinge.inertial_parameters(robot).ravel() + rotors(robot) * qdd
    wanted = hinge.inverse_dynamics(robot, q, qd, qdd)
    assert np.allclose(found, wanted, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(wanted).max(initial=0.0)))


def test_the_regressor_agrees_with_pinocchio():
    pin = pytest.importorskip("pinocchio")
    robot = robots.panda()
    model = pin.buildModelFromXML(hinge.to_urdf(hinge.reduce(robot)))
    q, qd, qdd = motion(robot)
    theirs = pin.computeJointTorqueRegressor(model, model.createData(), q, qd, qdd)
    ours = hinge.inertial_regressor(hinge.reduce(robot), q, qd, qdd)
    # Pinocchio orders m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz.
    order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
    first = ours.shape[1] // 10 - model.nv
    for k in range(model.nv):
        block = ours[:, 10 * (first + k) : 10 * (first + k) + 10]
        assert np.allclose(block[:, order], theirs[:, 10 * k : 10 * k + 10], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [robots.panda, robots.quadruped, robots.puma560])
def test_base_parameters_say_all_there_is_to_say(make):
    robot = make()
    base = hinge.base_parameters(robot)
    q, qd, qdd = motion(robot, seed=9, batch=(4,))
    y = hinge.inertial_regressor(robot, q, qd, qdd)
    scale = np.abs(y).max()
    assert np.allclose(y[..., base.columns] @ base.matrix, y, rtol=1e-7, atol=1e-7 * scale)
    reduced = hinge.inertial_regressor(robot, *motion(robot, seed=5, batch=(200,)))[..., base.columns]
    flat = reduced.reshape(-1, len(base))
    assert np.linalg.matrix_rank(flat, tol=1e-9 * scale * len(flat)) == len(base)


def test_a_pendulum_has_as_many_as_the_book_says():
    """One joint across gravity: its inertia about the axis, and two first moments."""
    builder = hinge.Builder("pendulum")
    inertia = hinge.Inertia.from_com(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    builder.body("bob", parent=None, joint=hinge.model.joints.Revolute((0, 1, 0)), inertia=inertia)
    robot = builder.build()
    base = hinge.base_parameters(robot)
    assert base.columns == (1, 3, 7)
    assert np.allclose(base.values, hinge.inertial_parameters(robot).ravel()[[1, 3, 7]])
    assert str(base) == (
        "3 of 10 parameters of robot 'pendulum' can be told apart:\n"
        "    m cx of bob\n    m cz of bob\n    Iyy of bob"
    )


def test_a_fit_finds_the_base_parameters():
    robot = robots.puma560()
    base = hinge.base_parameters(robot)
    q, qd, qdd = motion(robot, batch=(60,))
    tau = hinge.inverse_dynamics(robot, q, qd, qdd) - rotors(robot) * qdd
    y = hinge.inertial_regressor(robot, q, qd, qdd)[..., base.columns]
    found = np.linalg.lstsq(y.reshape(-1, len(base)), tau.ravel(), rcond=None)[0]
    assert np.allclose(found, base.values, rtol=1e-6, atol=1e-8)


def test_what_cannot_move_has_none():
    with pytest.raises(ArgumentError, match="robot: expected degrees of freedom, got none"):
        hinge.base_parameters(robot_of("nothing_moves"))
