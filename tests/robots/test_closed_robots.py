"""The built-in closed robots: they close, their mobility, and textbook positions."""

from __future__ import annotations

from math import atan2, cos, degrees, pi, radians, sin, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import reference, robots
from hinge.errors import ArgumentError
from hinge.model import closure_ends

ROBOTS = {
    "four_bar": (robots.four_bar, 5, 1),
    "slider_crank": (robots.slider_crank, 5, 1),
    "stewart_platform": (robots.stewart_platform, 18, 6),
    "delta": (robots.delta, 18, 3),
    "two_pandas": (robots.two_pandas_with_plate, 12, 8),
}


def start(robot):
    return robots.two_pandas_start(robot) if robot.name == "two_pandas" else hinge.neutral(robot)


def newton(robot, q, fixed=()):
    """Return q moved by Gauss–Newton steps onto the closures; joints in `fixed` stay."""
    moving = np.ones(robot.nv, bool)
    for name in fixed:
        moving[robot.joint(name).qd_slice] = False
    for _ in range(20):
        j = reference.closure_jacobian(robot, q) * moving
        step = np.linalg.pinv(j, rcond=1e-6) @ reference.closure_error(robot, q)
        q = hinge.integrate(robot, q, -step)
    return q


@pytest.mark.parametrize("name", ROBOTS)
def test_they_close_where_they_say_and_have_their_mobility(name):
    make, rows, dofs = ROBOTS[name]
    robot = make()
    q = start(robot)
    assert hinge.check(robot, q) == []
    assert_allclose(reference.closure_error(robot, q), 0, atol=1e-15)
    j = reference.closure_jacobian(robot, q)
    assert len(j) == rows and robot.nv - np.linalg.matrix_rank(j, tol=1e-9) == dofs


@pytest.mark.parametrize("name", ROBOTS)
def test_small_steps_close_them_again_nearby(name):
    robot = ROBOTS[name][0]()
    away = hinge.integrate(robot, start(robot), 0.05 * np.random.default_rng(1).standard_normal(robot.nv))
    q = newton(robot, away)
    assert_allclose(reference.closure_error(robot, q), 0, atol=1e-12)
    j = reference.closure_jacobian(robot, q)
    assert robot.nv - np.linalg.matrix_rank(j, tol=1e-7) == ROBOTS[name][2]


def angle_of(robot, q, body):
    x = reference.frame_placement(robot, q, body).rotation[:, 0]
    return degrees(atan2(x[2], x[0]))


def test_the_four_bar_has_nortons_angles():
    robot = robots.four_bar()
    found = [angle_of(robot, hinge.neutral(robot), b) for b in ("crank", "coupler", "rocker")]
    assert_allclose(found, (40, 20.298, 57.325), atol=2e-3)


def test_the_four_bar_obeys_freudenstein():
    robot = robots.four_bar()
    d, a, b, c = 0.10, 0.04, 0.12, 0.08
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
    for crank in np.linspace(0, 2 * pi, 7):
        q = hinge.neutral(robot)
        for t in np.linspace(0, crank, 30):
            q[robot.joint("crank_joint").q_slice] = t
            q = newton(robot, q, ["crank_joint"])
        two, four = (radians(angle_of(robot, q, body)) for body in ("crank", "rocker"))
        assert_allclose(k1 * cos(four) - k2 * cos(two) + k3, cos(two - four), atol=1e-9)


def test_the_slider_has_nortons_place_and_the_closed_form():
    robot = robots.slider_crank()
    assert_allclose(reference.frame_placement(robot, np.zeros(3), "slider").position[0], 0.12684, atol=1e-5)
    for t in (-1.0, 0.5, 1.5):
        q = newton(robot, np.array([t, -t, 0.0]), ["crank_joint"])
        turn = radians(60) + t
        x = 0.04 * cos(turn) + sqrt(0.12**2 - (-0.02 - 0.04 * sin(turn)) ** 2)
        assert_allclose(reference.frame_placement(robot, q, "slider").position, (x, 0, -0.02), atol=1e-10)


def test_a_parallelogram_is_made_and_bars_that_do_not_meet_are_refused():
    robot = robots.four_bar((0.2, 0.1, 0.2, 0.1), angle=1.0)
    found = [angle_of(robot, np.zeros(3), b) for b in ("crank", "coupler", "rocker")]
    assert_allclose(found, (degrees(1.0), 0, degrees(1.0)), atol=1e-9)
    with pytest.raises(ArgumentError, match="lengths: expected bars that meet"):
        robots.four_bar((1.0, 0.1, 0.2, 0.1))
    with pytest.raises(ArgumentError, match="rod: expected a length of at least"):
        robots.slider_crank(0.04, 0.01)
    for make in (lambda: robots.four_bar((0.1, 0, 0.1, 0.1)), lambda: robots.slider_crank(-1)):
        with pytest.raises(ArgumentError, match="lengths > 0"):
            make()


def test_legs_of_the_stewart_platform_have_the_lengths_of_its_pose():
    robot = robots.stewart_platform()
    q = hinge.neutral(robot)
    away = 0.05 * np.random.default_rng(4).standard_normal(6)
    v = np.zeros(robot.nv)
    v[robot.joint("platform_joint").qd_slice] = away
    q = newton(robot, hinge.integrate(robot, q, v), ["platform_joint"])
    assert_allclose(reference.closure_error(robot, q), 0, atol=1e-12)
    for k in range(1, 7):
        foot = robot.joint(f"leg{k}_foot").inner.position
        top = reference.frame_placement(robot, q, f"leg{k}_top").position
        rest = robot.joint(f"leg{k}_length").inner.position[2]
        assert_allclose(
            q[robot.joint(f"leg{k}_length").q_slice], np.linalg.norm(top - foot) - rest, atol=1e-12
        )


def test_the_delta_robot_does_not_turn():
    robot = robots.delta()
    q = hinge.configuration(robot, {"arm1_joint": 0.3, "arm2_joint": -0.2, "arm3_joint": 0.1})
    q = newton(robot, q, ["arm1_joint", "arm2_joint", "arm3_joint"])
    assert_allclose(reference.closure_error(robot, q), 0, atol=1e-12)
    assert_allclose(reference.frame_placement(robot, q, "platform").rotation, np.eye(3), atol=1e-9)
    level = reference.frame_placement(robot, hinge.neutral(robot), "platform").position[2]
    assert reference.frame_placement(robot, q, "platform").position[2] != level


@pytest.mark.parametrize(
    ("contact", "rows"),
    [
        (hinge.Rigid(), 6),
        (hinge.LineContact((0, 1, 0)), 5),
        (hinge.PointContact(), 3),
        (hinge.SoftFinger(), 4),
    ],
    ids=["rigid", "line", "point", "soft"],
)
def test_the_plate_is_held_by_any_contact(contact, rows):
    robot = robots.two_pandas_with_plate(contact)
    assert [len(c.constraints.names) for c in robot.closures] == [rows, rows]
    q = robots.two_pandas_start(robot)
    assert_allclose(reference.closure_error(robot, q), 0, atol=1e-15)
    bodies = [robot.bodies[closure_ends(robot, c)[0][0]].name for c in robot.closures]
    assert bodies == ["left_link7", "right_link7"]
