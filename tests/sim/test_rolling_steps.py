"""Steps over contacts of robots with joints that roll, whose velocities are fewer than their coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.model import joints

ROLLING = sorted(n for n, t in joints.JOINT_TYPES.items() if issubclass(t, joints.nonholonomic.Nonholonomic))


@pytest.mark.parametrize("kind", ROLLING)
def test_a_joint_that_rolls_is_stepped(kind):
    rng = np.random.default_rng(0)
    builder = hinge.Builder("roller")
    inertia = hinge.Inertia.from_com(1.0, [0.0, 0.0, 0.0], 0.01 * np.eye(3))
    builder.body("wheel", joint=joints.JOINT_TYPES[kind].random_type(rng), inertia=inertia)
    builder.body("ball", joint=joints.Free(), inertia=inertia, position=(0.0, 0.0, 1.0))
    robot = hinge.on_ground(builder.build(strict=None), ["ball"])
    q = hinge.random_configuration(robot, rng)
    run = hinge.simulate(robot, q, np.zeros(robot.nv), t=0.01, dt=1e-3, integrator="stepping")
    assert np.isfinite(run.q).all()
