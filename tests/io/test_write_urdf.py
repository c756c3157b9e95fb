from __future__ import annotations

import numpy as np
import pytest

from hinge import reference, robots
from hinge.errors import ModelError, ModelWarning
from hinge.io import parse_urdf, to_urdf, write_urdf
from hinge.model import Builder, carry_state, joints
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
    with pytest.warns(ModelWarning, match="no place for gravity; left out"):
        write_urdf(robot, tmp_path / "s.urdf")
    back = parse_urdf((tmp_path / "s.urdf").read_text(), floating=True)
    s = random_state(robot, 1)
    q, qd = carry_state(robot, back, s.q, s.qd)
    assert np.allclose(reference.kinetic_energy(back, q, qd), reference.kinetic_energy(robot, s.q, s.qd))
    assert np.allclose(reference.momentum(back, q, qd), reference.momentum(robot, s.q, s.qd))


@pytest.mark.parametrize("name", ["panda", "puma560", "quadruped", "double_pendulum", "spacecraft"])
@pytest.mark.filterwarnings("ignore::hinge.errors.ModelWarning")
def test_pinocchio_reads_what_is_written(name, tmp_path):
    pin = pytest.importorskip("pinocchio")
    robot = getattr(robots, name)()
    write_urdf(robot, tmp_path / "r.urdf")
    root = (pin.JointModelFreeFlyer(),) if robot.is_floating else ()
    assert pin.buildModelFromUrdf(str(tmp_path / "r.urdf"), *root).nv == robot.nv


def test_no_limit_comes_back_as_none():
    back = parse_urdf(to_urdf(robots.chain(2)))
    assert np.isinf(back.upper).all() and np.isinf(back.effort_limit).all()
    assert "inf" not in to_urdf(robots.chain(2))


@pytest.mark.parametrize("kind", sorted(set(joints.JOINT_TYPES) - set(URDF_KINDS)))
def test_a_joint_that_urdf_lacks_is_refused_by_name(kind):
    b = Builder("r")
    b.body("a", joint=joints.JOINT_TYPES[kind](), joint_name="odd")
    with pytest.raises(ModelError, match=f"joint 'odd': URDF has no {kind} joint"):
        to_urdf(b.build(strict=None))
