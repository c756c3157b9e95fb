import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge.errors import ModelError
from hinge.model import (
    Joint,
    actuator_effort,
    effort_subspace,
    generalized_force,
    is_properly_powered,
    joints,
    reaction_force,
)
from hinge.robots.random_trees import _placement
from hinge.spatial import matvec, transpose
from tests.folding import folded

SHAPES = [(), (5,), (3, 4)]
N = np.array([0.6, 0.0, 0.8])


@pytest.fixture(params=joints.JOINT_TYPES)
def joint(request):
    rng = np.random.default_rng(1)
    type_ = joints.JOINT_TYPES[request.param].random_type(rng)
    return Joint("j", type_, None, "b", inner=_placement(rng), outer=_placement(rng))


def q_of(joint, shape):
    return joint.type.random(np.random.default_rng(2), shape, joint.lower, joint.upper)


def f_of(shape):
    return np.random.default_rng(3).standard_normal((*shape, 6))


def skewed(joint):
    """Return the joint with an effort subspace of its own, not along its motion."""
    rng = np.random.default_rng(4)
    s = joint.type.subspace(joint.type.neutral())
    own = s + 0.1 * rng.standard_normal(s.shape)
    return Joint("j", joint.type, None, "b", joint.inner, joint.outer, effort_subspace=own)


def power(joint, q):
    return transpose(joint.subspace(q)) @ effort_subspace(joint, q)


@folded(shape=SHAPES)
def test_a_unit_effort_is_a_unit_of_tau_by_default(joint, shape):
    p = power(joint, q_of(joint, shape))
    assert_allclose(p, np.broadcast_to(np.eye(joint.nv), p.shape), atol=1e-10)


@folded(shape=SHAPES)
def test_effort_is_the_generalized_force_by_default(joint, shape):
    q, f = q_of(joint, shape), f_of(shape)
    assert_allclose(actuator_effort(joint, q, f), matvec(transpose(joint.subspace(q)), f), atol=1e-9)


@folded(shape=SHAPES, own=[False, True])
def test_actuator_and_bearings_share_the_force(joint, shape, own):
    j, q, f = skewed(joint) if own else joint, q_of(joint, shape), f_of(shape)
    driven = matvec(effort_subspace(j, q), actuator_effort(j, q, f))
    assert_allclose(driven + reaction_force(j, q, f), f, atol=1e-9)


@folded(shape=SHAPES, own=[False, True])
def test_bearings_do_no_work(joint, shape, own):
    j, q, f = skewed(joint) if own else joint, q_of(joint, shape), f_of(shape)
    assert_allclose(matvec(transpose(j.subspace(q)), reaction_force(j, q, f)), 0, atol=1e-8)


@folded(shape=SHAPES, own=[False, True])
def test_generalized_force_inverts_actuator_effort(joint, shape, own):
    j, q, f = skewed(joint) if own else joint, q_of(joint, shape), f_of(shape)
    tau = generalized_force(j, q, actuator_effort(j, q, f))
    assert_allclose(tau, matvec(transpose(j.subspace(q)), f), atol=1e-8)


def test_every_joint_is_properly_powered_by_default(joint):
    assert is_properly_powered(joint)


@folded(shape=SHAPES)
def test_effort_subspace_of_its_own_is_carried_to_the_child(joint, shape):
    j = skewed(joint)
    back = j.outer.inv().force_matrix() @ j.effort_subspace
    assert_allclose(effort_subspace(j, q_of(joint, shape)), back)


@pytest.mark.parametrize(
    ("type_", "expected"),
    [(joints.Revolute(tuple(N)), [*N, 0, 0, 0]), (joints.Prismatic(tuple(N)), [0, 0, 0, *N])],
)
def test_revolute_is_driven_by_a_couple_and_prismatic_by_a_force(type_, expected):
    j = Joint("j", type_, None, "b")
    assert_allclose(effort_subspace(j, np.zeros(1))[:, 0], expected)


@pytest.mark.parametrize("rho", [-0.5, 0.01, 1.0, 3.0])
def test_a_screw_is_driven_by_couple_and_force_along_its_axis(rho):
    j = Joint("j", joints.Screw(tuple(N), rho), None, "b")
    expected = np.concatenate([N, rho * N]) / (1 + rho**2)
    assert_allclose(effort_subspace(j, np.array([0.4]))[:, 0], expected, atol=1e-15)


@pytest.mark.parametrize("verb", [actuator_effort, reaction_force])
@pytest.mark.parametrize(
    ("type_", "own"),
    [
        (joints.Revolute(), np.eye(6)[:, :1]),
        (joints.Revolute(), np.zeros((6, 1))),
        (joints.Cylindrical(), np.eye(6)[:, [2, 2]]),
    ],
)
def test_a_joint_that_is_not_properly_powered_is_refused_by_name(verb, type_, own):
    j = Joint("elbow", type_, None, "b", effort_subspace=own)
    assert not is_properly_powered(j)
    with pytest.raises(ModelError, match="joint 'elbow' is not properly powered"):
        verb(j, j.type.neutral(), np.zeros(6))


def test_power_can_be_lost_at_one_place_only():
    hooke = joints.Universal((1, 0, 0), (0, 1, 0))
    j = Joint("j", hooke, None, "b", effort_subspace=np.eye(6)[:, :2])
    assert is_properly_powered(j, np.array([0.3, 0.2]))
    assert not is_properly_powered(j, np.array([0.3, np.pi / 2]))
