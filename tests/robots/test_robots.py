from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from hinge import reference, robots
from hinge.errors import ArgumentError
from hinge.io import read_urdf
from hinge.model import check, joints
from hinge.testing import random_state
from tests.oracles.data import example


def test_puma560_has_armstrongs_explicit_model():
    """Compare with coefficients of the explicit model: gravity of joint 2 and 3, inertia of joint 1."""
    robot = robots.puma560()
    q = np.zeros(6)
    g = reference.inverse_dynamics(robot, q, 0 * q, 0 * q)
    m2, m3, m4, m5, m6 = 17.40, 4.80, 0.82, 0.34, 0.09
    a2, a3, d4 = 0.4318, -0.0203, 0.4331
    outer = m4 + m5 + m6
    expected = -9.81 * (m2 * 0.068 + (m3 + outer) * a2 + outer * a3)
    assert np.isclose(g[1], expected, rtol=1e-12)
    assert np.isclose(g[0], 0, atol=1e-12) and np.isfinite(d4)
    assert 3.0 < reference.mass_matrix(robot, q)[0, 0] < 6.0


def test_puma560_reaches_its_drawn_pose():
    place = reference.frame_placement(robots.puma560(), np.zeros(6), "tool").position
    assert np.allclose(place, (0.4318 - 0.0203, 0.2435 - 0.0934, 0.4331))


def test_panda_agrees_with_the_makers_description():
    """Its arm joints and masses are those of the published URDF; the hand there is left out here."""
    ours, theirs = robots.panda(), read_urdf(example("panda.urdf"), strict=None)
    s = random_state(ours, 1)
    q = np.concatenate([s.q, np.zeros(2)])
    for k in range(1, 8):
        a = reference.frame_placement(ours, s.q, f"link{k}").homogeneous()
        b = reference.frame_placement(theirs, q, f"panda_link{k}").homogeneous()
        assert np.allclose(a, b, atol=1e-12)
        i, j = ours.body(f"link{k}").inertia, theirs.body(f"panda_link{k}").inertia
        assert np.allclose(i.matrix(), j.matrix(), atol=1e-9)


def test_spacecraft_is_free_and_symmetric():
    robot = robots.spacecraft()
    assert robot.is_floating and (robot.nq, robot.nv) == (21, 20)
    q = np.concatenate([[1.0], np.zeros(20)])
    assert np.allclose(reference.center_of_mass(robot, q)[1], 0, atol=1e-12)
    assert check(robot) == []


def test_quadruped_stands_on_four_feet_in_mirror_image():
    robot = robots.quadruped()
    q = np.concatenate([[1.0], np.zeros(18)])
    feet = {
        leg: reference.frame_placement(robot, q, f"{leg}_foot").position for leg in ("FL", "FR", "HL", "HR")
    }
    assert np.allclose(feet["FL"] * [1, -1, 1], feet["FR"]) and np.allclose(
        feet["HL"] * [1, -1, 1], feet["HR"]
    )
    assert np.allclose(reference.center_of_mass(robot, q)[1], 0, atol=1e-12)
    assert robots.quadruped(floating=False).nv == 12


@pytest.mark.parametrize("n", [1, 7, 100])
def test_chain_has_n_joints_and_its_tip_at_their_end(n):
    robot = robots.chain(n)
    assert robot.nv == n and robot.tree.is_serial
    assert np.allclose(reference.frame_placement(robot, np.zeros(n), "tip").position, (0, 0, 0.2 * n))


def test_random_tree_is_the_same_for_the_same_seed():
    a, b, c = robots.random_tree(9, 4), robots.random_tree(9, 4), robots.random_tree(9, 5)
    assert [j.type for j in a.joints] == [j.type for j in b.joints] != [j.type for j in c.joints]
    assert all(np.array_equal(x.inertia.I, y.inertia.I) for x, y in zip(a.bodies, b.bodies, strict=True))


@dataclass(frozen=True)
class Rack(joints.Cylindrical):
    """One type more than there are."""

    kind = "rack"


def same_place(a, b):
    """Tell whether all but type and rotors of two joints is the same."""
    x, y = ([j.parent, *(t.matrix().tolist() for t in (j.inner, j.outer))] for j in (a, b))
    return x == y


def test_one_more_joint_type_changes_only_the_joints_that_draw_it(monkeypatch):
    before = [robots.random_tree(30, seed) for seed in range(6)]
    monkeypatch.setitem(joints.JOINT_TYPES, "rack", Rack)
    after = [robots.random_tree(30, seed) for seed in range(6)]
    count = 0
    for old, new in zip(before, after, strict=True):
        for a, b, x, y in zip(old.joints, new.joints, old.bodies, new.bodies, strict=True):
            assert same_place(a, b) and np.array_equal(x.inertia.matrix(), y.inertia.matrix())
            if b.type.kind == "rack":
                count += 1
            else:
                assert a.type == b.type and np.array_equal(a.rotor_inertia, b.rotor_inertia)
        assert np.array_equal(old.frames[0].placement.matrix(), new.frames[0].placement.matrix())
    assert 0 < count < 60


def test_a_list_of_kinds_changes_only_the_joints_that_are_not_in_it():
    every = robots.random_tree(30, 2)
    kinds = [k for k in joints.JOINT_TYPES if k not in ("free", "screw", "planar")]
    fewer = robots.random_tree(30, 2, kinds)
    for a, b in zip(every.joints, fewer.joints, strict=True):
        assert same_place(a, b) and (a.type == b.type) == (a.type.kind in kinds)


def test_a_tree_with_more_bodies_begins_with_the_same():
    few, many = robots.random_tree(5, 3), robots.random_tree(9, 3)
    assert [j.type for j in few.joints] == [j.type for j in many.joints[:5]]
    assert [j.parent for j in few.joints] == [j.parent for j in many.joints[:5]]


def test_all_kinds_are_drawn_about_equally_often_and_twice_as_often_if_listed_twice():
    kinds = ["revolute", "planar", "fixed", "fixed"]
    found = Counter(
        j.type.kind for seed in range(20) for j in robots.random_tree(60, seed, kinds, rotors=False).joints
    )
    assert found["fixed"] == pytest.approx(600, abs=60)
    assert found["revolute"] == pytest.approx(300, abs=60) and found["planar"] == pytest.approx(300, abs=60)


def test_random_tree_draws_only_the_joints_asked_for():
    robot = robots.random_tree(20, 0, ["prismatic", "spherical"])
    assert {j.type.kind for j in robot.joints} == {"prismatic", "spherical"}
    assert robots.random_tree(20, 0, branching=0.0).tree.is_serial


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: robots.random_tree(0), "n: expected an integer ≥ 1, got 0"),
        (lambda: robots.random_tree(3, joints=["hinge"]), "joints: expected some of .*, got .'hinge'."),
        (lambda: robots.random_tree(3, joints=[]), "joints: expected some of .*, got none"),
        (lambda: robots.chain(0), "n: expected an integer ≥ 1, got 0"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()
