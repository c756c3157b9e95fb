from __future__ import annotations

import numpy as np
import pytest

from hinge import robots
from hinge.errors import ModelError
from hinge.io import parse_urdf, to_urdf, write_urdf
from hinge.model import Builder, joints
from hinge.testing import random_state
from tests.io.compare import assert_same_physics

URDF_KINDS = ["revolute", "continuous", "prismatic", "planar", "free", "fixed"]


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_round_trip_with_frames_away_from_their_joints(seed):
    robot = robots.random_tree(8, seed, URDF_KINDS, rotors=False)
    assert_same_physics(robot, parse_urdf(to_urdf(robot)))


def test_standard_dh_is_written_with_frames_at_joints():
    robot = robots.panda()
    text = to_urdf(robot)
    assert_same_physics(robot, parse_urdf(text))
    assert "tool" in {b.name for b in parse_urdf(text).bodies}


def test_a_floating_robot_comes_back_with_floating(tmp_path):
    robot = robots.spacecraft()
    write_urdf(robot, tmp_path / "s.urdf")
    back = parse_urdf((tmp_path / "s.urdf").read_text(), floating=True)
    s = random_state(robot, 1)
    assert back.nv == robot.nv and back.nq == robot.nq
    assert np.isfinite(s.q).all()


@pytest.mark.parametrize("kind", sorted(set(joints.JOINT_TYPES) - set(URDF_KINDS)))
def test_a_joint_that_urdf_lacks_is_refused_by_name(kind):
    b = Builder("r")
    b.body("a", joint=joints.JOINT_TYPES[kind](), joint_name="odd")
    with pytest.raises(ModelError, match=f"joint 'odd': URDF has no {kind} joint"):
        to_urdf(b.build(strict=None))
