from __future__ import annotations

import numpy as np
import pytest

from hinge import reference
from hinge.errors import FormatError, ModelWarning
from hinge.io import parse_urdf, read_urdf, to_urdf
from hinge.model import Box, Mesh
from hinge.testing import random_state
from tests.io.compare import assert_same_physics
from tests.oracles.data import example, example_urdfs

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><mass value="2"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.02"/></inertial>
    <visual name="look"><origin xyz="0 0 0.1"/><geometry><box size="0.1 0.1 0.4"/></geometry>
      <material name="red"/></visual>
    <collision><geometry><mesh filename="package://arm/upper.stl" scale="1 1 2"/></geometry></collision>
  </link>
  <link name="slide"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
  <link name="plate"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
  <link name="buoy"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
  <link name="wheel"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1" rpy="0 1.5 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="10" velocity="3"/><dynamics damping="0.5" friction="0.1"/></joint>
  <joint name="lift" type="prismatic"><parent link="upper"/><child link="slide"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.5" effort="10" velocity="3"/></joint>
  <joint name="table" type="planar"><parent link="slide"/><child link="plate"/><axis xyz="0 1 0"/></joint>
  <joint name="sea" type="floating"><parent link="plate"/><child link="buoy"/></joint>
  <joint name="roll" type="continuous"><parent link="buoy"/><child link="wheel"/></joint>
</robot>"""


def test_every_joint_type_of_the_format_is_read():
    robot = parse_urdf(ARM)
    kinds = [j.type.kind for j in robot.joints]
    assert kinds == ["fixed", "revolute", "prismatic", "planar", "free", "continuous"]
    assert (robot.nq, robot.nv) == (1 + 1 + 3 + 7 + 1, 1 + 1 + 3 + 6 + 1)


def test_limits_dynamics_shapes_and_massless_links_are_kept():
    robot = parse_urdf(ARM)
    shoulder, upper = robot.joint("shoulder"), robot.body("upper")
    assert (shoulder.lower, shoulder.upper, shoulder.velocity, shoulder.effort) == (-1, 2, 3, 10)
    assert (shoulder.damping, shoulder.friction) == (0.5, 0.1)
    assert float(robot.body("base").inertia.m) == 0
    assert upper.shapes[0].geometry == Box((0.1, 0.1, 0.4)) and upper.shapes[0].rgba == (1, 0, 0, 1)
    assert upper.shapes[1].geometry == Mesh("package://arm/upper.stl", (1, 1, 2))
    assert np.isinf(robot.joint("roll").upper).all()


def test_inertial_frame_is_turned_into_the_link_frame():
    upper = parse_urdf(ARM).body("upper").inertia
    assert np.allclose(upper.com, (0, 0, 0.1))
    given = np.linalg.eigvalsh([[0.02, 0.001, 0], [0.001, 0.03, 0], [0, 0, 0.02]])
    assert np.allclose(np.linalg.eigvalsh(upper.central), given)
    assert abs(upper.central[0, 2]) > 1e-4


def test_the_default_axis_is_x():
    assert parse_urdf(ARM).joint("roll").type.axis == (1, 0, 0)


def test_floating_gives_a_free_base():
    robot = parse_urdf(ARM, floating=True)
    assert robot.is_floating and robot.joints[0].type.kind == "free" and robot.joints[0].name == "root_joint"


def test_the_root_joint_avoids_a_name_in_the_file():
    text = ARM.replace('"shoulder"', '"root_joint"')
    assert parse_urdf(text).joints[0].name == "root_joint_"


def test_mimic_is_recorded_with_a_warning_that_names_the_joint():
    text = ARM.replace(
        '<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><mimic joint="shoulder" multiplier="2" offset="0.1"/>'
    )
    with pytest.warns(ModelWarning, match="1 coupled joint: .*'lift' follows 'shoulder'"):
        robot = parse_urdf(text)
    (c,) = robot.couplings
    assert (c.joint, c.master, c.ratio, c.offset) == ("lift", "shoulder", 2.0, 0.1)
    assert robot.nv == parse_urdf(ARM).nv


@pytest.mark.parametrize("axis, length", [("0 0 2", 2.0), ("0 0 0.5", 0.5)])
def test_an_axis_that_is_not_unit_is_normalised_with_a_warning(axis, length):
    text = ARM.replace('<axis xyz="0 0 1"/>', f'<axis xyz="{axis}"/>')
    with pytest.warns(ModelWarning, match="joint 'lift'.*axis"):
        robot = parse_urdf(text)
    assert robot.joint("lift").type.axis == (0, 0, 1)
    with pytest.raises(FormatError, match="lift"):
        parse_urdf(text, strict=True)


def test_writing_and_reading_back_gives_the_same_robot():
    robot = parse_urdf(ARM)
    assert_same_physics(robot, parse_urdf(to_urdf(robot)))
    again = parse_urdf(to_urdf(parse_urdf(to_urdf(robot))))
    assert to_urdf(again) == to_urdf(parse_urdf(to_urdf(robot)))
    assert [s.geometry for s in again.body("upper").shapes] == [
        s.geometry for s in robot.body("upper").shapes
    ]
    assert np.allclose(again.joint("shoulder").damping, 0.5)


@pytest.mark.parametrize(
    "path",
    [p for p in example_urdfs() if p.name != "ur3.urdf"][::4],
    ids=lambda p: f"{p.parent.parent.name}/{p.name}",
)
def test_real_robots_round_trip(path):
    robot = read_urdf(path, strict=None)
    assert_same_physics(robot, parse_urdf(to_urdf(robot), strict=None))


def test_a_real_robot_that_breaks_the_triangle_inequality_loads_with_a_warning():
    with pytest.warns(ModelWarning, match=r"body '.*triangle inequality") as seen:
        robot = read_urdf(example("hyq_no_sensors.urdf"), floating=True)
    assert robot.nv == 18
    assert any("triangle" in str(w.message) for w in seen)
    with pytest.raises(FormatError, match="triangle inequality"):
        read_urdf(example("hyq_no_sensors.urdf"), strict=True)


def test_external_forces_enter_through_frames():
    robot = parse_urdf(ARM)
    s = random_state(robot, 3)
    force = np.arange(6.0)
    j = reference.jacobian(robot, s.q, "wheel")
    free = reference.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    loaded = reference.inverse_dynamics(robot, s.q, s.qd, s.qdd, external={"wheel": force})
    assert np.allclose(free - loaded, j.T @ force)
