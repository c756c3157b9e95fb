from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.model import Coupling, make_robot
from hinge.model.joints import RollingBall, Wheeled
from hinge.testing import random_robots
from hinge.view import plot_joints, plot_phase, plot_strip
from hinge.view.clock import Clock
from hinge.view.poses import body_poses, held, thinned
from hinge.view.sliders import configuration, sliders


@pytest.mark.parametrize("robot", [*random_robots(6, bodies=8)], ids=lambda r: r.name)
def test_sliders_mean_the_configuration_that_they_start_from(robot):
    q = hinge.random_configuration(robot, 5)
    found = sliders(robot, q)
    assert len(found) == robot.nq - sum("qw" in j.type.q_names for j in robot.joints)
    again = configuration(robot, [s.start for s in found])
    a, b = body_poses(robot, q), body_poses(robot, again)
    np.testing.assert_allclose(a.positions, b.positions, atol=1e-9)
    np.testing.assert_allclose(a.rotations, b.rotations, atol=1e-9)
    assert all(s.low <= s.start <= s.high for s in found)


def rolling() -> hinge.Robot:
    """Return a ball and a cart that roll, next to each other."""
    b = hinge.Builder("rolling")
    inertia = hinge.Inertia.from_com(1.0, (0.0, 0.0, 0.0), 0.01 * np.eye(3))
    b.body("ball", joint=RollingBall(0.1), inertia=inertia)
    b.body("cart", joint=Wheeled(), inertia=inertia, position=(1.0, 0.0, 0.0))
    return b.build()


def test_what_rolls_has_a_slider_for_each_coordinate_and_pictures():
    robot = rolling()
    found = sliders(robot, hinge.neutral(robot))
    assert [s.name for s in found] == ["roll", "pitch", "yaw", "x", "y", "angle", "x", "y"]
    q = configuration(robot, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    again = configuration(robot, [s.start for s in sliders(robot, q)])
    np.testing.assert_allclose(again, q)
    pytest.importorskip("matplotlib")
    run = hinge.simulate(robot, qd0=np.full(robot.nv, 0.3), t=0.1, dt=0.02)
    figure = plot_joints(run)
    assert len(figure.axes) == 8
    shown = [ax.get_ylabel() for ax in figure.axes if ax.axison]
    assert shown == ["quaternion", "[rad/s]", "[m]", "[rad]", "[rad/s]", "[m]", "[m/s]"]
    plot_strip(run)
    with pytest.raises(ArgumentError, match="run: expected joints whose qd is the rate of q, got none"):
        plot_phase(run)


def test_ranges_are_the_limits_or_half_a_turn_and_a_metre():
    robot = hinge.robots.puma560()
    for s, low, high in zip(sliders(robot, hinge.neutral(robot)), robot.lower, robot.upper, strict=True):
        assert low <= s.low <= low + 1e-3 and high - 1e-3 <= s.high <= high
    free = hinge.robots.chain(2, floating=True)
    found = {s.name: (s.low, s.high) for s in sliders(free, hinge.neutral(free))}
    assert set(found) == {"roll", "pitch", "yaw", "x", "y", "z", "joint2"}
    assert found["joint2"] == pytest.approx((-np.pi, np.pi), abs=1e-3)
    assert found["z"] == (-1.0, 1.0)


def test_a_start_outside_the_limits_widens_the_range():
    robot = hinge.robots.puma560()
    q = hinge.neutral(robot)
    q[0], q[1] = 4.0, -5.0
    found = sliders(robot, q)
    assert found[0].high == 4.0 and found[1].low == -5.0


def test_half_open_and_absurd_limits():
    plain = hinge.robots.chain(3)
    limits = [(-np.inf, -10.0), (2.0, np.inf), (-1e16, 1e16)]
    joints = [replace(j, lower=a, upper=b) for j, (a, b) in zip(plain.joints, limits, strict=True)]
    robot = make_robot("odd", plain.bodies, joints)
    first, second, third = sliders(robot, np.array([-11.0, 3.0, 0.0]))
    assert (first.low, first.high) == pytest.approx((-10 - 2 * np.pi, -10), abs=1e-3)
    assert (second.low, second.high) == pytest.approx((2, 2 + 2 * np.pi), abs=1e-3)
    assert (third.low, third.high) == pytest.approx((-np.pi, np.pi), abs=1e-3)


def test_coupled_joints_follow_their_masters():
    plain = hinge.robots.chain(3)
    couplings = [Coupling("joint3", "joint2", 2.0, 0.5), Coupling("joint2", "joint1", -1.0)]
    robot = make_robot("coupled", plain.bodies, plain.joints, couplings=couplings)
    assert [s.joint for s in sliders(robot, np.zeros(3))] == ["joint1"]
    np.testing.assert_allclose(configuration(robot, [0.3]), [0.3, -0.3, -0.1])


def test_the_clock_plays_pauses_and_goes_round():
    clock = Clock(np.linspace(1.0, 3.0, 5))
    clock.advance(1.0)
    assert clock.t == 1.0 and clock.frame == 0
    clock.play()
    clock.speed = 2.0
    clock.advance(0.3)
    assert clock.t == pytest.approx(1.6) and clock.frame == 1
    clock.advance(0.9)
    assert clock.t == pytest.approx(1.4) and clock.playing
    clock.loop = False
    clock.advance(9.0)
    assert (clock.t, clock.frame, clock.playing) == (3.0, 4, False)
    clock.play()
    assert clock.t == 1.0 and clock.playing
    clock.pause()
    clock.seek(99.0)
    assert clock.frame == 4
    clock.seek(-99.0)
    assert clock.frame == 0


def test_the_clock_of_a_single_time_stands_still():
    clock = Clock(np.array([2.0]))
    clock.play()
    clock.advance(1.0)
    assert (clock.t, clock.frame, clock.playing) == (2.0, 0, False)


def test_the_last_state_is_held():
    q = np.arange(12.0).reshape(2, 3, 2)
    q[1, 1:] = np.nan
    found = held(q)
    np.testing.assert_array_equal(found[0], q[0])
    np.testing.assert_array_equal(found[1], np.broadcast_to(q[1, 0], (3, 2)))


@pytest.mark.parametrize(("count", "most"), [(1, 5), (5, 5), (6, 5), (1001, 300)])
def test_thinning_keeps_the_ends(count, most):
    found = thinned(count, most)
    assert found[0] == 0 and found[-1] == count - 1 and len(found) == min(count, most)
