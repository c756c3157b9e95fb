"""Height fields in native code: the geometry, and runs over them."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

import hinge
from hinge import robots, sim
from hinge.model import HeightField, Plane
from hinge.spatial import Transform, rotation
from tests.dynamics.fields import RADIUS, G, ball, check_geometry


def test_native_code_looks_up_heights_in_each_lane():
    check_geometry()


def test_a_ball_rolls_down_a_field_as_down_a_plane():
    slope = 0.3
    x = np.linspace(-4.0, 4.0, 9)
    field = HeightField(np.tile(-np.tan(slope) * x[:, None], (1, 4)), (8.0, 2.0))
    tilted = Transform.place(rotation.about((0.0, 1.0, 0.0), slope))
    q = hinge.neutral(ball(field))
    q[4:] = np.array([-2.0, 0.1, 2.0 * np.tan(slope)]) + RADIUS * np.array(
        [np.sin(slope), 0.0, np.cos(slope)]
    )
    given = {"t": 0.8, "integrator": "stepping", "dt": 1e-3, "record": 100}
    on_field = hinge.simulate(ball(field), q, **given)
    on_plane = hinge.simulate(ball(Plane(), tilted), q, **given)
    assert_allclose(on_field.q, on_plane.q, atol=1e-9)
    speed = 5 / 7 * G * np.sin(slope) * 0.8
    assert_allclose(np.linalg.norm(on_field.qd[-1, 3:]), speed, rtol=2e-3)


def test_quadrupeds_that_fall_on_rough_ground_end_at_rest():
    robot = robots.quadruped()
    feet = [f.name for f in robot.frames if "foot" in f.name]
    field = HeightField(0.06 * np.random.default_rng(3).random((21, 21)), (4.0, 4.0))
    robot = hinge.on_ground(robot, feet, friction=0.8, surface=field)
    q = np.tile(hinge.neutral(robot), (16, 1))
    q[:, 7:] = np.tile([0.0, 0.7, -1.4], 4)
    q[:, 4:6] = np.random.default_rng(1).uniform(-1.0, 1.0, (16, 2))
    q[:, 6] -= hinge.gap(robot, q).min(axis=-1) - 0.05
    kp = np.concatenate([np.zeros(6), np.full(12, 60.0)])
    law = sim.PD(q, kp, 0.04 * kp)
    run = hinge.simulate(robot, q, t=6.0, control=law, integrator="stepping", dt=1e-3, record=1000)
    assert run.contacts is not None
    assert not run.endings and run.contacts.residual.max() < 1e-9
    assert np.abs(run.qd[:, -1]).max() < 1e-3
    assert hinge.gap(robot, run.q).min() > -1e-5
    assert_allclose(run.contacts.forces[:, -1, :, 0].sum(axis=-1), robot.mass * G, rtol=0.05)
