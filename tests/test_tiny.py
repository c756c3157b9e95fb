"""A one-screen tour: a robot from a file, its state, its dynamics, its laws, its algebra."""

from __future__ import annotations

import numpy as np

import hinge
from hinge import robots, testing
from hinge.algebra import D, H, M, a, b, logdet, phi, tau


def test_a_robot_there_and_back(tmp_path):
    hinge.write_urdf(robots.panda(), tmp_path / "panda.urdf")
    robot = hinge.load(tmp_path / "panda.urdf")

    q = hinge.random_configuration(robot, seed=1, size=5)
    qd = qdd = np.ones((5, robot.nv))
    tau = hinge.inverse_dynamics(robot, q, qd, qdd)
    assert np.allclose(hinge.forward_dynamics(robot, q, qd, tau), qdd)

    assert np.allclose(hinge.difference(robot, q, hinge.integrate(robot, q, qd)), qd)
    assert robot.joint("joint4").q_slice == slice(3, 4)
    assert hinge.lock(robot, {"joint4": -1.5}).nv == 6
    assert hinge.load(tmp_path / "panda.urdf", floating=True).nv == 13


def test_laws_hold_on_a_tree_with_every_joint_type():
    errors = testing.check_laws(robots.random_tree(12, seed=2))
    assert max(errors.values()) < 1e-8


def test_an_algorithm_is_derived_and_runs():
    mass = H @ phi @ M @ phi.T @ H.T
    bias = H @ phi @ (M @ phi.T @ a + b)
    derivation = hinge.derive(mass.inv() @ (tau - bias))
    assert derivation.program.shape == "S G S"
    assert hinge.prove(logdet(mass), logdet(D))
    assert not hinge.prove(mass, D)

    robot = robots.panda()
    q = hinge.random_configuration(robot, seed=1)
    qd = np.ones(robot.nv)
    qdd = hinge.compile(derivation, robot)(q, qd, tau=qd)
    assert np.allclose(qdd, hinge.forward_dynamics(robot, q, qd, qd, gravity=(0, 0, 0)))
