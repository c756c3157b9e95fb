from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.errors import ArgumentError, UnknownNameError
from hinge.model import Builder, joints
from hinge.spatial import Transform, quaternion, rotation
from tests.dynamics.zoo import REAL, robot_of, tip_of

ARMS = ["panda", "puma560", *(["ur5", "talos_arm"] if REAL else [])]
REACH = 1e-6


def target_of(robot, seed, size=()):
    """Return where the tip is at random configurations."""
    return hinge.forward_kinematics(robot, hinge.random_configuration(robot, seed, size), tip_of(robot))


def left(robot, found, target):
    """Return how far the frame is from the target at what was found, in m and in rad."""
    pose = hinge.forward_kinematics(robot, found.q, found.frame)
    turn = rotation.log(pose.E @ target.rotation)
    shift = pose.position - target.position
    return np.linalg.norm(shift, axis=-1), np.linalg.norm(turn, axis=-1)


def within_limits(robot, q):
    """Tell whether configurations are within the limits of the joints."""
    return all(((j.lower <= q[..., j.q_slice]) & (q[..., j.q_slice] <= j.upper)).all() for j in robot.joints)


@pytest.mark.parametrize("name", [*ARMS, "quadruped", "tree3", "every_joint", "partial_rotors", "spherical"])
def test_what_can_be_reached_is_reached_within_the_limits(name):
    robot = robot_of(name)
    target = target_of(robot, 5, 60)
    found = hinge.inverse_kinematics(robot, tip_of(robot), target)
    assert found.converged.mean() >= 0.95, found
    errors = left(robot, found, target)
    for ours, theirs in zip((found.position_error, found.rotation_error), errors, strict=True):
        assert np.allclose(ours, theirs, atol=1e-7)
        assert (theirs[found.converged] <= REACH + 1e-9).all()
    assert within_limits(robot, found.q)
    assert (found.reason[found.converged] == "").all() and found.reason[~found.converged].all()


@pytest.mark.parametrize("name", ARMS)
def test_a_position_alone_is_reached(name):
    robot = robot_of(name)
    target = target_of(robot, 6, 40).position
    found = hinge.inverse_kinematics(robot, tip_of(robot), target)
    assert found.converged.all(), found
    pose = hinge.forward_kinematics(robot, found.q, tip_of(robot))
    assert np.abs(pose.position - target).max() <= REACH
    assert not found.rotation_error.any()


def test_a_target_is_the_same_in_every_form():
    robot, tip = robot_of("panda"), tip_of(robot_of("panda"))
    target = target_of(robot, 7, 3)
    pose = np.concatenate([quaternion.from_matrix(target.rotation), target.position], axis=-1)
    found = [hinge.inverse_kinematics(robot, tip, x).q for x in (target, target.homogeneous(), pose)]
    assert np.allclose(found[0], found[1], atol=1e-6) and np.allclose(found[0], found[2], atol=1e-6)


def test_the_legs_of_a_quadruped_reach_while_its_trunk_stays():
    robot = robot_of("quadruped")
    for leg in ("FL", "HR"):
        names = [j.name for j in robot.joints if j.name.startswith(leg)]
        assert len(names) == 3
        q0 = hinge.neutral(robot)
        q = q0.copy()
        for j, angle in zip((robot.joint(n) for n in names), (0.2, -0.6, 1.1), strict=True):
            q[j.q_slice] = angle
        target = hinge.forward_kinematics(robot, q, f"{leg}_foot").position
        found = hinge.inverse_kinematics(robot, f"{leg}_foot", target, q0=q0, joints=names)
        assert found.converged, found
        still = np.ones(robot.nq, dtype=bool)
        for n in names:
            still[robot.joint(n).q_slice] = False
        assert np.array_equal(found.q[still], q0[still])


def test_what_is_out_of_reach_says_so():
    robot = robot_of("panda")
    found = hinge.inverse_kinematics(robot, "link7", [5.0, 0.0, 0.3])
    assert not found.converged and "out of reach" in str(found.reason)
    assert 3.5 < found.position_error < 4.5 and "not reached" in str(found)
    arm = np.linalg.norm(hinge.forward_kinematics(robot, found.q, "link7").position - [0, 0, 0.333])
    assert arm > 0.75  # it is stretched out as far as it goes


def test_limits_hold_and_are_named():
    b = Builder("slider")
    rod = robots.solid_rod(1.0, 0.2, 0.02, (0, 0, 0.1))
    b.body("cart", joint=joints.Prismatic((1, 0, 0)), inertia=rod, lower=-0.5, upper=0.5)
    robot = b.build()
    assert np.allclose(hinge.inverse_kinematics(robot, "cart", [0.4, 0, 0]).q, 0.4)
    found = hinge.inverse_kinematics(robot, "cart", [0.8, 0.0, 0.0])
    assert not found.converged and found.q == 0.5 and abs(found.position_error - 0.3) < 1e-9
    assert robot.joints[0].name in str(found.reason)


def test_a_start_that_leads_there_gives_the_solution():
    robot, tip = robot_of("panda"), tip_of(robot_of("panda"))
    rng = np.random.default_rng(1)
    lower, upper = (np.concatenate([getattr(j, end) for j in robot.joints]) for end in ("lower", "upper"))
    q = np.clip(hinge.random_configuration(robot, 8, 50), lower + 0.1, upper - 0.1)
    near = q + rng.uniform(-0.02, 0.02, q.shape)
    found = hinge.inverse_kinematics(robot, tip, hinge.forward_kinematics(robot, q, tip), q0=near)
    assert found.converged.all()
    assert np.median(np.abs(found.q - q).max(axis=-1)) < 0.1
    exact = hinge.inverse_kinematics(robot, tip, hinge.forward_kinematics(robot, q, tip), q0=q)
    assert (exact.iterations == 0).all() and np.array_equal(exact.q, q)


@pytest.mark.parametrize("batch", [(), (5,), (3, 4), (0,)])
def test_batches_of_targets_and_starts(batch):
    robot, tip = robot_of("puma560"), tip_of(robot_of("puma560"))
    target = target_of(robot, 9, batch)
    for q0 in (None, hinge.neutral(robot), np.zeros((*batch, robot.nq))):
        found = hinge.inverse_kinematics(robot, tip, target, q0=q0, starts=4)
        assert found.q.shape == (*batch, robot.nq)
        for x in (
            found.position_error,
            found.rotation_error,
            found.iterations,
            found.converged,
            found.reason,
        ):
            assert x.shape == batch
        assert found.converged.dtype == bool and str(found) and repr(found)
    starts = hinge.random_configuration(robot, 1, (2, 1, 1))
    assert hinge.inverse_kinematics(robot, tip, target, q0=starts).q.shape[0] == 2


def test_more_starts_reach_more_and_a_seed_makes_it_the_same_again():
    robot, tip = robot_of("puma560"), tip_of(robot_of("puma560"))
    target = target_of(robot, 10, 60)
    one, many, again = (hinge.inverse_kinematics(robot, tip, target, starts=n, seed=3) for n in (1, 12, 12))
    assert one.converged.sum() < many.converged.sum()
    assert np.array_equal(many.q, again.q)
    text = str(one)
    assert "of 60 targets reached" in text and "not, with at most" in text and len(text.splitlines()) <= 7


def test_too_few_iterations_are_said():
    robot, tip = robot_of("panda"), tip_of(robot_of("panda"))
    found = hinge.inverse_kinematics(robot, tip, target_of(robot, 11), iterations=2, starts=1)
    assert not found.converged and "2 iterations" in str(found.reason) and found.iterations == 2


def test_a_frame_that_nothing_moves_says_so():
    robot = robot_of("panda")
    found = hinge.inverse_kinematics(robot, "base", [0.0, 0.0, 1.0])
    assert "moves the frame" in str(found.reason)
    assert hinge.inverse_kinematics(robot, "base", [0.0, 0.0, 0.0]).converged


def test_the_size_of_a_robot_does_not_matter():
    for size in (1e-3, 1e3):
        b, parent = Builder("scaled"), None
        for k in range(6):
            kind = joints.Revolute(((k == 0), k % 2, k % 2 == 0 and k > 0))
            rod = robots.solid_rod(1.0, 0.2 * size, 0.02 * size, (0, 0, 0.1 * size))
            parent = b.body(f"b{k}", parent=parent, joint=kind, position=(0, 0, size), inertia=rod)
        robot = b.build()
        target = hinge.forward_kinematics(robot, hinge.random_configuration(robot, 2, 20), "b5")
        found = hinge.inverse_kinematics(robot, "b5", target, position_tolerance=1e-6 * size)
        assert found.converged.mean() > 0.9, found


WRONG = {
    "target": [np.zeros(5), "there", np.full(3, np.nan), 2 * np.eye(4), np.zeros(7), None,
               Transform(2 * np.eye(3), np.zeros(3))],
    "q0": [np.zeros(3), np.full(7, np.inf), "home", np.zeros(7, dtype=bool)],
    "joints": ["joint1", 3],
    "starts": [0, 1.5, None],
    "seed": [-1, "x"],
    "position_tolerance": [0.0, -1.0, "small", np.nan],
    "rotation_tolerance": [0.0],
    "iterations": [0, 2.5],
    "frame": [None, ["link7"]],
    "robot": ["panda"],
}  # fmt: skip


@pytest.mark.parametrize("name, value", [(n, v) for n, values in WRONG.items() for v in values])
def test_a_bad_argument_is_named(name, value):
    given = {"robot": robot_of("panda"), "frame": "link7", "target": [0.3, 0.2, 0.5]} | {name: value}
    with pytest.raises(ArgumentError, match=name):
        hinge.inverse_kinematics(**given)


def test_unknown_names_and_batches_that_do_not_fit_are_refused():
    robot = robot_of("panda")
    for more in ({"frame": "nose"}, {"joints": ["nose"]}):
        with pytest.raises(UnknownNameError, match="nose"):
            hinge.inverse_kinematics(**{"robot": robot, "frame": "link7", "target": [0.3, 0.2, 0.5]} | more)
    with pytest.raises(ArgumentError, match="target, q0"):
        hinge.inverse_kinematics(robot, "link7", np.zeros((3, 3)), q0=np.zeros((2, 7)))
