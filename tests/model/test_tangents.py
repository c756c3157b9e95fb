"""Derivatives of `integrate` and `difference`: against differences, and each other's inverses."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.model import joints
from hinge.robots import random_tree
from tests.dynamics.differences import by_q, by_vector, off

ROLLING = ("rolling_ball", "wheeled")
KINDS = [k for k in joints.JOINT_TYPES if k not in (*ROLLING, "fixed")]


@pytest.fixture(scope="module", params=KINDS)
def robot(request):
    return random_tree(2, 1, [request.param], branching=0.0)


def test_integrate(robot):
    rng = np.random.default_rng(1)
    q = hinge.random_configuration(robot, rng)
    for size in (1.0, 1e-9, 0.0, 2.5):
        v = size * rng.standard_normal(robot.nv)
        end = hinge.integrate(robot, q, v)
        d = hinge.integrate_derivatives(robot, q, v)

        def moved(x, v=v, end=end):
            return hinge.difference(robot, end, hinge.integrate(robot, x, v))

        def pushed(x, end=end):
            return hinge.difference(robot, end, hinge.integrate(robot, q, x))

        assert off(d.q, by_q(robot, moved, q)) < 1e-11
        assert off(d.v, by_vector(pushed, v)) < 1e-11


def test_difference(robot):
    q0, q1 = hinge.random_configuration(robot, 2, 2)
    d = hinge.difference_derivatives(robot, q0, q1)
    if not np.isfinite(d.q0).all():
        pytest.fail("not finite")
    wanted = by_q(robot, lambda x: hinge.difference(robot, x, q1), q0)
    assert off(d.q0, wanted) < 1e-9
    assert off(d.q1, by_q(robot, lambda x: hinge.difference(robot, q0, x), q1)) < 1e-9


def test_batches():
    robot = hinge.robots.quadruped()
    q = hinge.random_configuration(robot, 3, (2, 3))
    v = np.random.default_rng(3).standard_normal((2, 1, robot.nv))
    d = hinge.integrate_derivatives(robot, q, v)
    assert d.q.shape == d.v.shape == (2, 3, robot.nv, robot.nv)
    one = hinge.integrate_derivatives(robot, q[1, 2], v[1, 0])
    np.testing.assert_allclose(d.v[1, 2], one.v, atol=1e-14)


@pytest.mark.parametrize("kind", ROLLING)
def test_rolling_joints_are_refused_by_name(kind):
    robot = random_tree(2, 1, [kind], branching=0.0)
    q = hinge.random_configuration(robot, 1)
    with pytest.raises(ArgumentError, match=f"joint 'joint0' of .*, which rolls .{kind}."):
        hinge.integrate_derivatives(robot, q, np.zeros(robot.nv))
    with pytest.raises(ArgumentError, match="which rolls"):
        hinge.difference_derivatives(robot, q, q)
