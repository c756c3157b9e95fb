from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.model.joints import SphericalAngles
from hinge.spatial import matvec
from hinge.testing import random_robots
from hinge.view.forces import LONGEST, Arrows, joint_efforts, weights
from hinge.view.poses import body_poses

ROBOTS = [*random_robots(6, bodies=8), hinge.robots.puma560(), hinge.robots.quadruped()]


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("robot", ROBOTS, ids=lambda r: r.name)
def test_the_power_of_the_arrows_is_that_of_the_joint_forces(robot, batch):
    rng = np.random.default_rng(2)
    q = hinge.random_configuration(robot, 3, size=batch)
    qd, tau = (rng.standard_normal((*batch, robot.nv)) for _ in range(2))
    poses = body_poses(robot, q)
    moments, pushes = joint_efforts(robot, poses, q, tau)
    moving = [(i, j) for i, j in enumerate(robot.joints) if j.nv]
    assert moments.vectors.shape == (*batch, len(moving), 3)
    for k, (i, joint) in enumerate(moving):
        across = matvec(joint.type.subspace(q[..., joint.q_slice]), qd[..., joint.qd_slice])
        turn = poses.rotations[..., i, :, :] @ joint.outer.rotation
        w, v = matvec(turn, across[..., :3]), matvec(turn, across[..., 3:])
        power = (moments.vectors[..., k, :] * w + pushes.vectors[..., k, :] * v).sum(-1)
        wanted = (tau[..., joint.qd_slice] * qd[..., joint.qd_slice]).sum(-1)
        np.testing.assert_allclose(power, wanted, atol=1e-9)


def test_weights_pull_at_the_centres_of_mass():
    robot = hinge.robots.puma560()
    q = hinge.random_configuration(robot, 1)
    found = weights(robot, body_poses(robot, q), robot.gravity)
    masses = np.array([float(b.inertia.m) for b in robot.bodies if b.inertia.m > 0])
    np.testing.assert_allclose(found.vectors, masses[:, None] * robot.gravity)
    middle = (masses[:, None] * found.starts).sum(0) / masses.sum()
    np.testing.assert_allclose(middle, hinge.center_of_mass(robot, q), atol=1e-12)


def test_arrows_are_scaled_to_the_longest_and_short_ones_left_out():
    arrows = Arrows(np.zeros((2, 3, 3)), np.array([[[4.0, 0, 0], [0, 2, 0], [0, 0, 0.01]], np.zeros((3, 3))]))
    ends = arrows.ends(0, size=2.0)
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], [[2 * LONGEST, 0, 0], [0, LONGEST, 0]])
    assert arrows.ends(1, size=2.0).shape == (0, 2, 3)
    assert Arrows(np.zeros((1, 3)), np.zeros((1, 3))).ends(None, 1.0).shape == (0, 2, 3)


def test_a_singular_joint_has_no_arrow_instead_of_an_error():
    b = hinge.Builder("ball")
    b.body("ball", joint=SphericalAngles(), inertia=hinge.Inertia.from_com(1.0, (0, 0, 0.1), np.eye(3)))
    robot = b.build()
    for second in (0.0, np.pi / 2):
        q = np.array([0.0, second, 0.0])
        moments, _ = joint_efforts(robot, body_poses(robot, q), q, np.ones(3))
        assert moments.vectors.shape == (1, 3)
