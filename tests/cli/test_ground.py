"""`hinge simulate --ground`: what touches, where it starts, what holds it, and what is refused."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest

import hinge
from hinge.cli.ground import dropped, grounded
from hinge.errors import ModelWarning
from hinge.robots import FOOT_RADIUS, quadruped, quadruped_stance
from tests.cli.command import refused

FEET = ["FL_foot", "FR_foot", "HL_foot", "HR_foot"]
BOX = """<robot name="brick"><link name="brick"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.1 0.05"/></geometry></collision>
<collision><geometry><cylinder radius="0.1" length="0.1"/></geometry></collision></link></robot>
"""
BARE = '<robot name="bare"><link name="bare"/></robot>'


def asked(robot: str, **more) -> Namespace:
    """Return what a command line says, as if `--ground` were in it."""
    none = dict.fromkeys(("friction", "restitution", "touch", "drop"))
    return Namespace(**{"robot": robot, "ground": True, "seed": 0, **none, **more})


def test_the_stance_is_on_the_ground():
    robot = hinge.on_ground(quadruped(), FEET, radius=FOOT_RADIUS)
    assert np.abs(hinge.gap(robot, quadruped_stance(robot))).max() < 1e-12
    fixed = quadruped(floating=False)
    assert quadruped_stance(fixed).shape == (12,)


def test_a_quadruped_is_dropped_and_stands(tmp_path, hinge_command):
    out = tmp_path / "run.npz"
    done = hinge_command("simulate", "quadruped", "--ground", "--t", "1", "--out", out, "--quiet")
    assert done.code == 0 and done.err == ""
    assert "FL_foot, FR_foot, HL_foot, HR_foot; friction 0.8; nothing else touches" in done.out
    assert "hold" in done.out and "1000 of 0.001 s, stepping" in done.out
    run = hinge.load_run(out)
    assert hinge.gap(run.robot, run.q[0]).min() == pytest.approx(0.1)
    assert run.q[-1, 6] == pytest.approx(run.q[0, 6] - 0.1, abs=0.02)  # it stands
    assert abs(run.q[-1, 0]) > 0.999 and np.abs(run.qd[-1]).max() < 0.05
    assert run.contacts.forces[-1, :, 0].sum() == pytest.approx(run.robot.mass * 9.81, rel=0.02)


def test_friction_is_by_the_law_that_is_given(tmp_path, hinge_command):
    out = tmp_path / "run.npz"
    words = ("quadruped", "--ground", "--law", "coulomb", "--friction", "0.2", "--t", "0.1", "--drop", "0")
    done = hinge_command("simulate", *words, "--out", out, "--quiet")
    assert done.code == 0 and "friction 0.2 by Coulomb's law; nothing else touches" in done.out
    assert hinge.load_run(out).settings["law"] == "coulomb"


def test_heights_numbers_and_names_are_chosen():
    given = asked("quadruped", drop=[0.1, 0.4], friction=0.3, restitution=0.5, touch=FEET[:2])
    robot = grounded(quadruped(), given)
    assert [(c.name, c.friction, c.restitution, c.radius) for c in robot.contacts] == [
        (name, 0.3, 0.5, 0.0) for name in FEET[:2]
    ]
    q = hinge.random_configuration(robot, seed=1, size=5)
    heights = hinge.gap(robot, dropped(robot, q, given)).min(-1)
    assert len(set(heights)) == 5 and heights.min() >= 0.1 and heights.max() <= 0.4


def test_contacts_of_its_own_are_kept():
    robot = hinge.on_ground(quadruped(), "trunk", friction=0.1)
    assert grounded(robot, asked("quadruped.json")) is robot


def test_shapes_of_a_file_touch_and_what_is_left_out_is_said(tmp_path):
    (tmp_path / "brick.urdf").write_text(BOX)
    brick = hinge.load(tmp_path / "brick.urdf", floating=True)
    with pytest.warns(ModelWarning, match="1 pair left out: cylinder of 'brick' on plane of the world"):
        robot = grounded(brick, asked("brick.urdf"))
    assert len(robot.contacts) == 8 and {c.friction for c in robot.contacts} == {0.8}


def test_a_start_inside_the_ground_is_pointed_out():
    robot = hinge.on_ground(hinge.robots.double_pendulum(), "lower", radius=0.1, height=-0.9)
    with pytest.warns(ModelWarning, match=r"--q0: lower starts \S+ m inside the ground"):
        dropped(robot, np.zeros(2), asked("double_pendulum"))


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("quadruped", "--friction", "1"), "--friction: expected --ground with it"),
        (("quadruped", "--ground", "--drop", "2", "1"), "--drop: expected one height ≥ 0 in m, or two"),
        (("quadruped", "--ground", "--touch", "FL_fot"), "did you mean 'FL_foot'"),
        (("quadruped", "--ground", "--friction", "-1"), "friction: expected a finite number ≥ 0, got -1"),
        (("quadruped", "--ground", "--restitution", "2"), "restitution: expected a number from 0 to 1"),
        (("panda", "--law", "coulomb"), "--law: expected a robot on contacts with coulomb"),
        (("quadruped", "--ground", "--integrator", "rk4"), "--integrator: expected stepping with --ground"),
        (("panda", "--ground", "--touch", "tool", "--drop", "1"), "--drop: expected a robot on a free base"),
    ],
)
def test_what_is_refused_is_one_line(words, wanted, hinge_command):
    refused(hinge_command("simulate", *words), wanted)


def test_a_robot_that_cannot_touch_is_refused(tmp_path, hinge_command):
    (tmp_path / "bare.urdf").write_text(BARE)
    done = hinge_command("simulate", tmp_path / "bare.urdf", "--floating", "--ground")
    assert done.code == 2 and "--ground: expected shapes that can touch it, got none of bare" in done.err
