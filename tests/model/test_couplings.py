"""Joints that follow others: coordinates, limits, states, files, and what cannot be."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge.errors import ArgumentError, ModelError
from hinge.io import parse_urdf
from hinge.model import Coupling, carry_state, embed_couplings, fingerprint, make_robot, release_couplings
from hinge.model.joints import Fixed, Follower, Free, Prismatic, Revolute, Screw
from hinge.robots import chain, random_tree
from hinge.testing import random_state
from tests.dynamics.coupled import MIXED, coupled, random_coupled

FULL = coupled(
    random_tree(5, 2, ["revolute", "prismatic"]),
    ("joint0", "joint3", -2.0, 0.5),
    ("joint4", "joint0", 0.5, 0.1),
)
ROBOT = embed_couplings(FULL)


def limited(lower, upper, **coupling):
    robot = chain(2)
    first, second = robot.joints
    second = hinge.Joint(
        second.name,
        second.type,
        second.parent,
        second.child,
        second.inner,
        lower=lower,
        upper=upper,
        velocity=3.0,
    )
    first = hinge.Joint(
        first.name, first.type, first.parent, first.child, lower=-1.0, upper=2.0, velocity=2.0
    )
    c = Coupling(second.name, first.name, **coupling)
    return embed_couplings(make_robot("limited", robot.bodies, [first, second], couplings=[c]))


def test_a_follower_has_the_coordinate_of_the_joint_that_leads():
    assert (FULL.nq, ROBOT.nq, ROBOT.nv) == (5, 3, 3)
    assert [j.name for j in ROBOT.independent] == ["joint1", "joint2", "joint3"]
    assert ROBOT.joint_names == FULL.joint_names
    lead = ROBOT.joint("joint3")
    for name, ratio, offset in (("joint0", -2.0, 0.5), ("joint4", -1.0, 0.35)):
        j = ROBOT.joint(name)
        assert j.follows and (j.q_slice, j.qd_slice) == (lead.q_slice, lead.qd_slice)
        assert j.type == Follower(FULL.joint(name).type, ratio, offset)
    assert len(hinge.neutral(ROBOT)) == len(hinge.random_configuration(ROBOT)) == 3


@pytest.mark.parametrize("inner", [Revolute((0, 1, 0)), Prismatic(), Screw((1, 1, 0), 0.2)])
def test_a_follower_is_its_type_at_another_coordinate(inner):
    kind, q, qd, h = Follower(inner, -1.5, 0.3), np.array([0.7]), np.array([1.1]), 1e-6
    assert_allclose(kind.placement(q).matrix(), inner.placement(-1.5 * q + 0.3).matrix())
    assert_allclose(kind.subspace(q), -1.5 * inner.subspace(q))
    assert_allclose(kind.bias(q, qd), 0.0)
    back = kind.reversed().placement(q) @ kind.placement(q)
    assert_allclose(back.matrix(), np.eye(6), atol=1e-14)
    moved = kind.placement(q + h * qd) @ kind.placement(q).inv()
    assert_allclose(moved.position / h, (kind.subspace(q) @ qd)[3:], atol=1e-5)


@pytest.mark.parametrize(
    "given",
    [{"type": Free()}, {"type": Fixed()}, {"type": Follower()}, {"ratio": np.nan}, {"offset": np.inf}],
)
def test_what_cannot_follow(given):
    with pytest.raises(ModelError, match="expected"):
        Follower(**given)


def test_states_are_carried_there_and_back():
    for seed in range(6):
        full = random_coupled(9, seed, kinds=MIXED)
        robot = embed_couplings(full)
        s = random_state(robot, seed, (4,))
        q, qd = carry_state(robot, full, s.q, s.qd)
        for c in full.couplings:
            j, lead = full.joint(c.joint), full.joint(c.master)
            assert_allclose(q[..., j.q_slice], c.ratio * q[..., lead.q_slice] + c.offset)
            assert_allclose(qd[..., j.qd_slice], c.ratio * qd[..., lead.qd_slice])
        back = carry_state(full, robot, q, qd)
        assert_allclose(back[0], s.q)
        assert_allclose(back[1], s.qd)


def test_release_is_the_way_back():
    assert fingerprint(release_couplings(ROBOT)) == fingerprint(FULL) != fingerprint(ROBOT)
    assert release_couplings(FULL) is FULL and embed_couplings(chain(2)).couplings == ()
    assert fingerprint(embed_couplings(ROBOT)) == fingerprint(ROBOT)


def test_limits_are_those_that_all_allow():
    robot = limited(-0.5, 1.0, ratio=-1.0, offset=0.2)
    assert_allclose([robot.lower, robot.upper], [[-0.8], [0.7]])
    assert_allclose(robot.velocity_limit, [2.0])
    assert_allclose(limited(-0.5, 1.0, ratio=3.0).velocity_limit, [1.0])
    nothing = limited(5.0, 6.0)
    assert_allclose([nothing.lower, nothing.upper], [[-1.0], [2.0]])
    still = limited(-0.5, 1.0, ratio=0.0, offset=0.3)
    assert_allclose([still.lower, still.upper], [[-1.0], [2.0]])
    q = hinge.random_configuration(robot, 0, 50)
    assert (q >= robot.lower).all() and (q <= robot.upper).all()


def test_rotors_add_by_the_square_of_the_ratio():
    j = FULL.reflected_inertia
    assert_allclose(ROBOT.reflected_inertia, [j[1], j[2], j[3] + 4.0 * j[0] + j[4]])


def test_a_configuration_is_checked_at_every_joint():
    robot = limited(-0.5, 1.0, ratio=-1.0, offset=0.2)
    assert not [p for p in hinge.check(robot, [0.0]) if "limits" in p.condition]
    assert [p.where for p in hinge.check(robot, [1.5]) if "limits" in p.condition] == ["joint 'joint2'"]


def test_integrate_and_difference_have_fewer_coordinates():
    s = random_state(ROBOT, 1, (3,))
    moved = hinge.integrate(ROBOT, s.q, s.qd)
    assert_allclose(hinge.difference(ROBOT, s.q, moved), s.qd)


def test_robots_with_followers_can_be_put_together():
    both = hinge.merge(ROBOT, ROBOT, prefix="b_")
    assert both.nq == 6 and both.joint("b_joint0").q_slice == both.joint("b_joint3").q_slice
    assert hinge.attach(ROBOT, chain(2), "tip", prefix="b_").nq == 3 + 1
    assert hinge.reduce(ROBOT).nq == 3


def test_what_leads_cannot_go():
    with pytest.raises(ModelError, match=re.escape("release_couplings")):
        hinge.lock(ROBOT, {"joint0": 0.1})
    with (
        pytest.raises(ModelError, match=re.escape("release_couplings")),
        pytest.warns(hinge.errors.ModelWarning),
    ):
        hinge.lock(ROBOT, {"joint3": 0.1})
    alone = [hinge.Joint("j", Follower(), None, "a")]
    with pytest.raises(ModelError, match="its coupling or leader is missing"):
        make_robot("alone", [hinge.Body("a")], alone)


URDF = """<robot name="hand"><link name="palm"/>
{}<joint name="left" type="prismatic"><parent link="palm"/><child link="l"/><axis xyz="0 1 0"/>
<limit lower="0" upper="0.04" effort="1" velocity="1"/></joint>
<joint name="right" type="prismatic"><parent link="palm"/><child link="r"/><axis xyz="0 1 0"/>
<limit lower="-0.04" upper="0" effort="1" velocity="1"/><mimic joint="left" multiplier="-1"/></joint>
</robot>"""
LINK = """<link name="{}"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


def test_files(tmp_path):
    path = tmp_path / "hand.urdf"
    path.write_text(URDF.format(LINK.format("l") + LINK.format("r")))
    robot = hinge.load(path, couplings="embed")
    assert (robot.nq, robot.lower, robot.upper) == (1, 0.0, 0.04)
    with pytest.warns(hinge.errors.ModelWarning, match="embed_couplings"):
        assert hinge.load(path).nq == 2
    with pytest.raises(ArgumentError, match="couplings: expected 'record' or 'embed', got 'yes'"):
        hinge.load(path, couplings="yes")
    again = parse_urdf(hinge.to_urdf(robot), strict=None)
    assert fingerprint(embed_couplings(again)) == fingerprint(robot)
    assert "follower" in hinge.describe(robot)
