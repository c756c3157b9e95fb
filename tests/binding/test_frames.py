from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hinge import reference
from hinge.binding import Shift, Turn, bind, choose_frames
from hinge.model import Builder, joints, random_configuration
from hinge.robots import panda, puma560, quadruped, random_tree, spacecraft
from hinge.spatial import Inertia, Transform, rotation
from tests.sweeps.models import every_joint_type

AXIAL = (joints.Revolute, joints.Prismatic, joints.Screw, joints.Cylindrical)
ROBOTS = {
    "panda": panda(),
    "puma": puma560(),
    "quadruped": quadruped(),
    "spacecraft": spacecraft(),
    "every joint type": every_joint_type(3).robot,
    "tree": random_tree(12, 5),
}
robots = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)


def site(binding, i):
    """Return a body's site with its own numbers."""
    return binding.site(i, binding.constants(i))


def hinge(binding, i, q):
    return np.asarray(site(binding, i).hinge(q[list(binding.coordinates(i))]), dtype=float)


@robots
def test_axes_lie_on_z(robot):
    for place in choose_frames(robot):
        if isinstance(place.type, AXIAL):
            assert place.type.axis == (0.0, 0.0, 1.0)
            shifts = [x for x in place.before if isinstance(x, Shift)]
            turned = [x for x in place.before if isinstance(x, Turn)]
            assert len(shifts) + len(turned) == len(place.before)
            assert len(shifts) <= 1 and [t.axis for t in turned] in ([], [2], [0], [2, 0])
        assert place.type.nv == place.joint.nv


@robots
def test_a_fixed_body_takes_the_frame_of_its_parent(robot):
    binding = bind(robot)
    for i, place in enumerate(binding.places):
        if isinstance(place.type, joints.Fixed):
            assert place.before == ()
            step = site(binding, i).step(hinge(binding, i, np.zeros(robot.nq)))
            x = np.arange(6.0)
            assert step.links == ()
            assert_array_equal(step.to_child(np.append(x, np.zeros(9))[: step.parent_size])[:6], x)


def test_there_are_fixed_bodies_among_them():
    assert any(j.type.kind == "fixed" for r in ROBOTS.values() for j in r.joints)


@robots
def test_steps_between_chosen_frames_are_those_between_bodies(robot):
    binding = bind(robot)
    q = random_configuration(robot, 4)
    for i, (x, p) in enumerate(zip(reference.link_transforms(robot, q), robot.tree.parents, strict=True)):
        above = Transform.identity() if p < 0 else binding.places[p].chosen
        wanted = (binding.places[i].chosen @ x @ above.inv()).matrix()
        step = site(binding, i).step(hinge(binding, i, q))
        assert_allclose(step.to_child(np.eye(step.parent_size))[:6, :6].astype(float), wanted, atol=1e-13)
        assert_allclose(step.to_parent(np.eye(step.size))[:6, :6].astype(float), wanted.T, atol=1e-13)


@robots
def test_steps_move_symmetric_blocks(robot):
    binding = bind(robot)
    q, rng = random_configuration(robot, 5), np.random.default_rng(5)
    for i in range(len(robot.bodies)):
        step = site(binding, i).step(hinge(binding, i, q))
        up = step.to_parent(np.eye(step.size)).astype(float)
        root = rng.standard_normal((step.size, step.size))
        assert_allclose(
            step.inertia_to_parent(root + root.T).astype(float), up @ (root + root.T) @ up.T, atol=1e-12
        )
        root = rng.standard_normal((step.parent_size, step.parent_size))
        assert_allclose(
            step.compliance_to_child(root + root.T).astype(float), up.T @ (root + root.T) @ up, atol=1e-12
        )


@robots
def test_inertias_are_those_of_the_bodies(robot):
    for place, body in zip(choose_frames(robot), robot.bodies, strict=True):
        wanted = place.chosen.inertia(body.inertia)
        assert_allclose(place.inertia.matrix(), wanted.matrix(), atol=1e-14)
        assert float(place.inertia.m) == pytest.approx(float(body.inertia.m))


def pose(binding, q):
    """Return world → body transforms as 6 × 6 matrices, in the frames of the user, by the steps."""
    found, chosen = [], []
    for i, p in enumerate(binding.tree.parents):
        step = site(binding, i).step(hinge(binding, i, q))
        x = step.to_child(np.eye(step.parent_size))[:6, :6].astype(float)
        chosen.append(x if p < 0 else x @ chosen[p])
        found.append(binding.places[i].chosen.inv().matrix() @ chosen[i])
    return found


@robots
def test_forward_kinematics_by_steps(robot):
    q = random_configuration(robot, 6)
    for x, wanted in zip(pose(bind(robot), q), reference.forward_kinematics(robot, q), strict=True):
        assert_allclose(x, wanted.matrix(), atol=1e-12)


@pytest.mark.parametrize("tilt", [1e-6, 1e-9, 1e-11, 1e-13, 1e-14, 1e-15, 1e-16, 0.0])
@pytest.mark.parametrize("over", [0.0, np.pi], ids=["parallel", "antiparallel"])
def test_nearly_parallel_axes_stay_accurate(tilt, over):
    builder = Builder("nearly parallel")
    parent = None
    for k in range(6):
        lean = rotation.exp(np.array([0.0, 0.0, 0.7 * k])) @ rotation.exp(np.array([over + tilt, 0.0, 0.0]))
        parent = builder.body(
            f"link{k}", joint=joints.Revolute((0, 0, 1)), parent=parent,
            inertia=Inertia.from_com(1.0, (0, 0, 0.1), np.eye(3)), rotation=lean, position=(0.5, 0.1, 0.0),
        )  # fmt: skip
    robot = builder.build()
    for seed in range(4):
        q = np.random.default_rng(seed).uniform(-3, 3, robot.nq)
        for x, wanted in zip(pose(bind(robot), q), reference.forward_kinematics(robot, q), strict=True):
            assert_allclose(x, wanted.matrix(), atol=1e-12)


@pytest.mark.parametrize("tilt", [1e-9, 1e-13, 1e-15])
def test_axes_that_nearly_agree_in_their_own_frames(tilt):
    builder = Builder("nearly z")
    parent = None
    for k in range(5):
        axis = np.array([tilt * (k + 1), -tilt * k, (-1.0) ** k])
        parent = builder.body(
            f"link{k}", joint=joints.Revolute(axis), parent=parent, position=(0.3, 0.0, 0.1 * k),
            inertia=Inertia.from_com(1.0, (0, 0, 0.1), np.eye(3)),
        )  # fmt: skip
    robot = builder.build()
    q = np.random.default_rng(2).uniform(-3, 3, robot.nq)
    for x, wanted in zip(pose(bind(robot), q), reference.forward_kinematics(robot, q), strict=True):
        assert_allclose(x, wanted.matrix(), atol=1e-12)


def test_the_frames_of_a_chain_of_parallel_axes_are_shifts():
    builder = Builder("planar")
    parent = None
    for k in range(4):
        parent = builder.body(
            f"link{k}", joint=joints.Revolute((0, 0, 1)), parent=parent, position=(1.0, 0, 0),
            inertia=Inertia.from_com(1.0, (0.5, 0, 0), np.eye(3)),
        )  # fmt: skip
    for place in choose_frames(builder.build()):
        assert [type(x) for x in place.before] == [Shift]
