"""Closed forms of contact against dense matrices and the slow oracles: each judges the other."""

from __future__ import annotations

from math import atan, cos, sin

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge import reference
from tests.dynamics import contact_forms as forms
from tests.dynamics.contact_dense import (
    collided,
    contact_rows,
    frictionless_motion,
    normal_bias,
    stepped,
    touching,
)

DT = 1e-3
SIZE = (0.4, 0.3, 0.2)
SLENDER = (0.2, 0.5, 0.6)
LAWS = {"coulomb": reference.coulomb, "associated": reference.cones}


# A block --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("beyond", [-0.3, -1e-6, 0.0, 1e-6, 0.3])
def test_a_block_sticks_up_to_the_slope_of_its_friction_and_slides_beyond(law, beyond):
    slope, mu = atan(0.5) + beyond, 0.5
    robot = forms.block(SIZE, friction=mu, slope=slope)
    q = forms.lying(SIZE[2], slope)
    qd, impulses, residual = stepped(robot, q, np.zeros(6), DT, LAWS[law])
    up, down = forms.slope_step(slope, mu, DT, law)
    assert residual < 1e-14
    assert_allclose(qd, [0, 0, 0, down, 0, up], atol=1e-12)
    assert_allclose(reference.contact_velocity(robot, q, qd)[touching(robot, q), 0], up, atol=1e-12)
    held = impulses.sum(axis=0) - 2.0 * np.array([up, down, 0.0])
    assert_allclose(held, 2.0 * forms.G * DT * np.array([cos(slope), -sin(slope), 0.0]), atol=1e-11)
    assert (down > 0) == (beyond > 0)


def test_a_block_that_is_too_high_tips():
    size = (0.1, 0.3, 0.4)
    assert forms.slips_before_it_tips(SIZE, 0.5) and not forms.slips_before_it_tips(size, 0.5)
    slope = atan(0.6)
    robot, q = forms.block(size, friction=0.5, slope=slope), forms.lying(size[2], slope)
    qd, _, _ = stepped(robot, q, np.zeros(6), DT)
    assert qd[1] > 1e-3


@pytest.mark.parametrize("com", [(0.0, 0.0), (0.1, 0.0), (-0.05, 0.1), (0.2, 0.0)])
def test_four_corners_carry_a_block(com):
    robot = forms.block(SIZE, 2.0, friction=0.0, com=com)
    q = forms.lying(SIZE[2])
    which = touching(robot, q)
    assert [robot.contacts[k].frame for k in which] == ["corner0", "corner2", "corner4", "corner6"]
    qdd, forces = frictionless_motion(robot, q, np.zeros(6))
    assert_allclose(qdd, 0, atol=1e-9)
    assert_allclose(forces[which], forms.corner_forces(SIZE, 2.0, com), atol=1e-8)


# A rocking block ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [SLENDER, (0.2, 0.5, 0.3), (0.4, 0.5, 0.41)])
def test_a_rocking_block_loses_what_housner_says(size):
    q, qd, wanted = forms.rocking_states(size, 0.7)
    robot = forms.block(size, friction=forms.rocking_friction(size) + 1e-3)
    after, hit = collided(robot, q, qd)
    assert_allclose(after, wanted, atol=1e-10)
    assert wanted[1] == pytest.approx(0.7 * forms.rocking_ratio(size))
    inertia = reference.mass_matrix(robot, q)
    assert hit.lost == pytest.approx(0.5 * (qd @ inertia @ qd - wanted @ inertia @ wanted), rel=1e-9)


def test_a_rocking_block_slips_with_less_friction():
    q, qd, wanted = forms.rocking_states(SLENDER, 0.7)
    after, _ = collided(forms.block(SLENDER, friction=forms.rocking_friction(SLENDER) - 1e-3), q, qd)
    assert np.abs(after - wanted).max() > 1e-5


def test_the_time_of_a_block_that_rocks_onto_its_base():
    """By u″ = p² sin u with Runge and Kutta's steps, to the time of the closed form."""
    tilt, alpha = 0.1, np.arctan2(SLENDER[0], SLENDER[2])
    p2, n = 3 * forms.G / (2 * np.hypot(SLENDER[0], SLENDER[2])), 2000
    h = forms.rocking_time(SLENDER, tilt) / n
    x = np.array([alpha - tilt, 0.0])

    def rate(x):
        return np.array([x[1], p2 * sin(x[0])])

    for _ in range(n):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
    assert x[0] == pytest.approx(alpha, abs=1e-10)


# A ball ---------------------------------------------------------------------------------------------------


def test_a_ball_slides_and_then_rolls():
    """Impulses at the contact keep angular momentum about it, so that 5/7 is exact for any step.

    The frame is turned back after each step, which does not change a ball.
    """
    radius, mu, speed, dt = 0.1, 0.3, 1.0, 1e-2
    robot, q = forms.ball(radius, friction=mu), forms.pose((0.0, 0.0, radius))
    qd = forms.twist((speed, 0.0, 0.0))
    j, omega, moved = contact_rows(robot, q, [0])
    for k in range(1, 15):
        qd[5] -= forms.G * dt
        impulses, residual = reference.coulomb(omega, j @ qd, [mu])
        qd = qd + moved @ impulses
        _, v, spin = forms.rolling(speed, mu, radius, k * dt)
        assert residual < 1e-13
        if abs(k * dt - 2 * speed / (7 * mu * forms.G)) > dt:
            assert_allclose(qd, [0, spin, 0, v, 0, 0], atol=1e-10)
    assert qd[3] == pytest.approx(5 / 7, abs=1e-12) and qd[1] * radius == pytest.approx(5 / 7, abs=1e-12)


def test_where_a_ball_is_when_it_rolls():
    """x is the integral of the speed, through the change from sliding to rolling."""
    times = np.linspace(0.0, 0.4, 4001)
    speeds = [forms.rolling(2.0, 0.3, 0.1, t)[1] for t in times]
    assert forms.rolling(2.0, 0.3, 0.1, 0.4)[0] == pytest.approx(np.trapezoid(speeds, times), abs=1e-7)


@pytest.mark.parametrize("e", [0.5, 0.8])
def test_a_bouncing_ball_comes_to_rest(e):
    speed, radius = 2.0, 0.1
    robot, q = forms.ball(radius, restitution=e), forms.pose((0.0, 0.0, radius))
    t, v, times = 0.0, speed, []
    for _ in range(20):
        t += 2 * v / forms.G
        times.append(t)
        qd, hit = collided(robot, q, forms.twist((0.0, 0.0, -v)))
        assert hit.lost == pytest.approx(0.25 * (v**2 - qd[5] ** 2), abs=1e-13)
        v = qd[5]
    assert_allclose(times, forms.bounce_times(speed, e, 20), rtol=1e-12)
    assert forms.bounce_times(speed, e, 400)[-1] == pytest.approx(forms.bouncing_time(speed, e), rel=1e-12)


# A rod ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_rod_slides_down_the_wall(share):
    length, mass, start = 1.2, 3.0, 0.3
    lean = start + share * (forms.leaves_the_wall(start) - start)
    rate, second, wanted = forms.sliding_rod(length, mass, start, lean)
    robot = forms.rod(length, mass)
    q, qd = forms.leaning(length, lean, rate)
    assert_allclose(reference.gap(robot, q), 0, atol=1e-12)
    assert_allclose(reference.contact_velocity(robot, q, qd)[:, 0], 0, atol=1e-12)
    qdd, forces = frictionless_motion(robot, q, qd)
    assert qdd[1] == pytest.approx(-second, abs=1e-8)
    assert_allclose(forces, wanted, atol=1e-7)


def test_a_rod_leaves_the_wall_at_two_thirds_of_the_height():
    length, mass, start = 1.2, 3.0, 0.3
    lean = forms.leaves_the_wall(start)
    assert length * cos(lean) == pytest.approx(2 / 3 * length * cos(start))
    assert forms.sliding_rod(length, mass, start, lean)[2][1] == pytest.approx(0.0, abs=1e-12)
    rate, second, wanted = forms.sliding_rod(length, mass, start, lean + 1e-3)
    robot = forms.rod(length, mass)
    q, qd = forms.leaning(length, lean + 1e-3, rate)
    qdd, forces = frictionless_motion(robot, q, qd)
    assert wanted[1] < 0 and forces[1] == 0.0
    jacobian = reference.contact_jacobian(robot, q)[1, 0]
    assert jacobian @ qdd + normal_bias(robot, q, qd)[1] > 1e-3
    assert abs(qdd[1] + second) > 1e-3


# Newton's cradle ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
@pytest.mark.parametrize(("count", "coming"), [(2, 1), (3, 1), (5, 1), (5, 2)])
def test_newtons_cradle_by_poissons_law(count, coming, e):
    speeds = np.where(np.arange(count) < coming, 1.0, 0.0)
    robot = forms.cradle(count, restitution=e)
    after, hit = collided(robot, np.zeros(count), speeds)
    assert_allclose(after, forms.cradle_at_once(speeds, e), atol=1e-11)
    assert after.sum() == pytest.approx(coming, abs=1e-11)
    assert hit.lost == pytest.approx(0.1 * (coming - after @ after), abs=1e-11) and hit.lost > -1e-12


def test_a_real_cradle_is_a_sequence_of_impacts():
    """Three balls at once share the motion, −1/3, 2/3, 2/3; one by one, the last takes it all."""
    assert_allclose(forms.cradle_at_once([1, 0, 0], 1.0), [-1 / 3, 2 / 3, 2 / 3])
    assert_allclose(forms.cradle_in_turn([1, 0, 0], 1.0), [0, 0, 1])
    assert_allclose(forms.cradle_in_turn([1, 1, 0, 0, 0], 1.0), [0, 0, 0, 1, 1])
    for e in (0.5, 0.9):
        after = forms.cradle_in_turn([1, 0, 0, 0], e)
        assert after.sum() == pytest.approx(1) and np.all(np.diff(after) >= -1e-12) and after @ after < 1


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_a_cradle_with_gaps_goes_in_turn(e):
    """Each pair alone is the same by both laws: impacts of pairs lead to what the sequence says."""
    speeds, robot = np.array([1.0, 0.0, 0.0]), forms.cradle(3, restitution=e, apart=1e-3)
    while (pairs := np.flatnonzero(speeds[:-1] - speeds[1:] > 1e-12)).size:
        q = np.zeros(3)
        q[: pairs[0] + 1] = 1e-3
        assert touching(robot, q).tolist() == [pairs[0]]
        speeds, _ = collided(robot, q, speeds)
    assert_allclose(speeds, forms.cradle_in_turn([1, 0, 0], e), atol=1e-11)


# Two free bodies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("e", [0.0, 0.7])
def test_two_free_bodies_exchange_the_books_impulse(seed, e):
    robot, q, qd = forms.pair(e, seed)
    assert abs(reference.gap(robot, q)[0]) < 1e-12
    after, hit = collided(robot, q, qd)
    assert hit.impulses[0] == pytest.approx(forms.pair_impulse(robot, q, qd, e), rel=1e-10)
    assert_allclose(hit.impulses[1:], 0, atol=1e-12)
    normal = [reference.contact_velocity(robot, q, v)[0, 0] for v in (qd, after)]
    assert normal[1] == pytest.approx(-e * normal[0], abs=1e-11)
    assert_allclose(reference.momentum(robot, q, after), reference.momentum(robot, q, qd), atol=1e-11)
