"""Where contacts touch, against the reference; forces along these axes act as the Jacobian says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge.errors import ArgumentError
from hinge.model import Capsule, Sphere
from hinge.reference.contact_geometry import touches

TILTED = hinge.Transform.place([[0.8, 0, 0.6], [0, 1, 0], [-0.6, 0, 0.8]], (0.1, 0.2, 0.3))


def several() -> hinge.Robot:
    """Return a quadruped with contacts of every kind, within itself and with the world."""
    turned = hinge.Transform.place([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], (0.02, 0.01, 0))
    return hinge.with_contacts(
        hinge.robots.quadruped(),
        [
            hinge.Contact("pair", "FL_foot", "HR_shank", radius=0.02, surface=Sphere(0.03)),
            hinge.Contact("slope", "FR_foot", radius=0.02, surface_placement=TILTED),
            hinge.Contact("rods", "HL_shank", "FL_thigh", length=0.2, radius=0.01,
                          placement=turned, surface=Capsule(0.02, 0.3)),
            hinge.Contact("post", "trunk", surface=Capsule(0.05, 0.4), surface_placement=TILTED),
        ],
    )  # fmt: skip


def test_points_and_axes_are_those_of_the_reference():
    robot = several()
    q = hinge.random_configuration(robot, seed=1, size=6)
    found = hinge.contact_frames(robot, q)
    for k, at in enumerate(q):
        wanted = touches(robot, at)
        assert_allclose(found.points[k], [t.x for t in wanted], atol=1e-10)
        assert_allclose(found.axes[k], [[t.n, t.t1, t.t2] for t in wanted], atol=1e-10)


def test_closures_come_first():
    robot = hinge.on_ground(hinge.robots.four_bar(), ["coupler"], height=-1.0)
    q = hinge.neutral(robot)
    found = hinge.contact_frames(robot, q)
    assert_allclose(found.points, [touches(robot, q)[0].x], atol=1e-12)
    assert_allclose(found.axes, [[[0, 0, 1], [1, 0, 0], [0, 1, 0]]], atol=1e-12)


def test_forces_in_the_world_do_the_work_of_those_along_the_axes():
    """The power of a force on a foot is that of its rows of the Jacobian."""
    robot = hinge.on_ground(hinge.robots.quadruped(), ["FL_foot", "HR_foot"])
    q = hinge.random_configuration(robot, seed=2)
    rng = np.random.default_rng(3)
    forces, qd = rng.standard_normal((2, 3)), rng.standard_normal(robot.nv)
    vectors = hinge.contact_frames(robot, q).in_world(forces)
    speeds = [hinge.jacobian(robot, q, c.frame, expressed="world-aligned")[3:] @ qd for c in robot.contacts]
    assert np.sum(vectors * speeds) == pytest.approx(np.sum(forces * (hinge.contact_jacobian(robot, q) @ qd)))


def test_a_robot_without_contacts_is_refused():
    with pytest.raises(ArgumentError, match="robot: expected one with contacts, got 'panda'"):
        hinge.contact_frames(hinge.robots.panda(), np.zeros(7))
