"""Camera and ground of the viewer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hinge
from hinge.model import assemble
from hinge.view.appearance import appearance, cloud
from hinge.view.poses import body_poses
from hinge.view.stage import ASPECT, FOV, LEFT, RIGHT, UPRIGHT, View, fitted, ground_height

ROBOTS = ["panda", "puma560", "quadruped", "spacecraft", "double_pendulum"]


def seen(view: View, points: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Return where points are in the window, −1 … 1 from left to right and from below."""
    ray = points - view.position
    back = (view.position - view.target) / np.linalg.norm(view.position - view.target)
    right = np.cross(up, back) / np.linalg.norm(np.cross(up, back))
    slope = np.tan(FOV / 2) * (ray @ -back)
    return np.stack([ray @ right / slope / ASPECT, ray @ np.cross(back, right) / slope], axis=-1)


def points_of(robot: hinge.Robot, q: np.ndarray) -> np.ndarray:
    return cloud(robot, list(appearance(robot, q).pieces), body_poses(robot, q))


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("up", [(0, 0, 1), (1, 0, 0)])
def test_all_is_seen_and_fills_the_window(name, up):
    robot = getattr(hinge.robots, name)()
    points = points_of(robot, hinge.random_configuration(robot, 1))
    x, y = seen(fitted(points, np.array(up)), points, np.array(up)).T
    assert x.min() > -LEFT - 1e-9 and x.max() < RIGHT + 1e-9 and np.abs(y).max() < UPRIGHT + 1e-9
    wide, tall = np.ptp(x) / (LEFT + RIGHT), np.ptp(y) / (2 * UPRIGHT)
    assert max(wide, tall) > 0.999  # no camera that sees as much is nearer
    assert x.min() + LEFT == pytest.approx(RIGHT - x.max(), abs=0.15)


def test_a_point_is_seen_too():
    for points in (np.zeros((0, 3)), np.ones((1, 3))):
        view = fitted(points, np.array([0.0, 0.0, 1.0]))
        assert np.isfinite([*view.target, *view.position]).all() and view.distance > 0


def height(robot: hinge.Robot, q: np.ndarray, lowest: float = -9.0) -> float:
    return ground_height(robot, list(appearance(robot, q).pieces), body_poses(robot, q), lowest)


def bare(robot: hinge.Robot) -> hinge.Robot:
    return assemble(robot.name, [replace(b, shapes=()) for b in robot.bodies], robot.joints)


def test_the_ground_is_under_what_stands():
    """However deep an arm reaches later, its base stays on the ground."""
    panda, puma = hinge.robots.panda(), hinge.robots.puma560()
    assert height(panda, np.zeros(7)) == 0 == height(bare(panda), np.zeros(7))
    assert height(puma, np.zeros(6)) == pytest.approx(-0.66)


def test_what_hangs_is_above_the_ground():
    assert height(hinge.robots.double_pendulum(), np.zeros(2), -2.1) == -2.1


def test_legs_below_a_fixed_base_stand_on_the_ground():
    """A humanoid held at its pelvis: nearly as much is above as below."""
    b, box = hinge.Builder("humanoid"), hinge.robots.solid_box(1.0, (0.1, 0.1, 0.1))
    b.body("pelvis", joint=hinge.model.joints.Fixed(), inertia=box)
    for name, parent, z in (
        ("neck", "pelvis", 0.3),
        ("head", "neck", 0.6),
        ("hip", "pelvis", -0.2),
        ("foot", "hip", -0.8),
    ):
        turn = hinge.model.joints.Revolute((0, 1, 0))
        b.body(name, parent=parent, joint=turn, position=(0, 0, z), inertia=box)
    assert height(b.build(), np.zeros(4), -1.0) == -1.0


def test_what_moves_freely_begins_on_the_ground_or_above():
    robot = hinge.robots.quadruped()
    q = hinge.neutral(robot)
    assert height(robot, q) == pytest.approx(-0.209 - 0.195 - 0.019, abs=1e-3)
    q[6] = 2.0
    assert height(robot, q) == 0
