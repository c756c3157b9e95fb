from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hinge import reference
from hinge.algebra import (
    E0,
    Active,
    Ask,
    B,
    Body,
    Constraint,
    H,
    Ha,
    Hp,
    Joint,
    M,
    Node,
    Passive,
    Q,
    World,
    a,
    a_n,
    b,
    g,
    identity,
    leaf,
    phi,
    psi,
    qd,
    qdd,
    v_n,
    whole,
)
from hinge.binding import Needs, RobotBinding, bind
from hinge.errors import ArgumentError, UnboundLeafError, UnknownNameError
from hinge.model import joints, make_robot, random_configuration
from hinge.robots import chain, panda, random_tree
from hinge.spatial import motion_cross
from hinge.targets import system_of
from tests.sweeps.models import every_joint_type

EVERY = every_joint_type(7)
ROBOT = EVERY.robot
BODIES = range(len(ROBOT.bodies))
by_body = pytest.mark.parametrize("i", BODIES, ids=lambda i: ROBOT.joints[i].type.kind)


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    return random_configuration(robot, rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)


def site(binding, i):
    """Return a body's site with its own numbers."""
    return binding.site(i, binding.constants(i))


def hinge(binding, i, q):
    return site(binding, i).hinge(q[list(binding.coordinates(i))])


def value(binding, leaf_, i, q):
    return site(binding, i).value(leaf_, hinge(binding, i, q)).astype(float)


def test_every_joint_type_is_there():
    assert {j.type.kind for j in ROBOT.joints} == set(joints.JOINT_TYPES)


@by_body
def test_the_hinge_map_is_the_subspace_of_the_joint(i):
    joint = ROBOT.joints[i]
    for seed in range(3):
        q = state(ROBOT, seed)[0]
        found = value(EVERY, H, i, q)
        s = EVERY.places[i].chosen.matrix() @ joint.subspace(q[joint.q_slice])
        assert_allclose(found[:, :6], s.T, atol=1e-13)
        rotors = np.flatnonzero(joint.reflected_inertia)
        assert found.shape == (joint.nv, 6 + len(rotors))
        assert_array_equal(found[:, 6:], np.eye(joint.nv)[:, rotors])


@by_body
def test_the_inertia_is_that_of_the_body_and_its_rotors(i):
    joint = ROBOT.joints[i]
    found = value(EVERY, M, i, state(ROBOT)[0])
    chosen = EVERY.places[i].chosen
    wanted = chosen.inertia(ROBOT.bodies[i].inertia).matrix()
    assert_allclose(found[:6, :6], wanted, atol=1e-14)
    rotors = joint.reflected_inertia[np.flatnonzero(joint.reflected_inertia)]
    assert_array_equal(found[6:, 6:], np.diag(rotors))
    assert not found[:6, 6:].any() and not found[6:, :6].any()


@by_body
def test_nodes_are_shifted_from_their_bodies(i):
    found = value(EVERY, B, i, state(ROBOT)[0])
    here = [name for name in EVERY.nodes if ROBOT.frame(name).body == ROBOT.bodies[i].name]
    assert found.shape == (EVERY.size(Body, i), 6 * len(here))
    for k, name in enumerate(here):
        x = (ROBOT.frame(name).placement @ EVERY.places[i].chosen.inv()).matrix()
        assert_allclose(found[:6, 6 * k : 6 * k + 6], x.T, atol=1e-14)
    assert not found[6:].any()


@by_body
def test_the_hinge_map_is_split_by_joints(i):
    q = state(ROBOT)[0]
    active = ROBOT.joints[i].name in EVERY.prescribed
    whole_map, rows_p, rows_a = (value(EVERY, x, i, q) for x in (H, Hp, Ha))
    assert_array_equal(rows_a if active else rows_p, whole_map)
    assert len(rows_p if active else rows_a) == 0


@by_body
def test_own_frames(i):
    q, joint = state(ROBOT)[0], ROBOT.joints[i]
    own = bind(ROBOT, Needs(own_frames=True))
    across = site(own, i).step(hinge(own, i, q)).to_child(np.eye(6).astype(object)).astype(float)
    assert_allclose(across[:6], joint.transform(q[joint.q_slice]).matrix(), atol=1e-13)
    found = site(own, i).value(H, hinge(own, i, q))[:, :6].astype(float)
    assert_allclose(found, joint.subspace(q[joint.q_slice]).T, atol=1e-13)
    assert_allclose(
        site(own, i).value(M, hinge(own, i, q))[:6, :6].astype(float),
        ROBOT.bodies[i].inertia.matrix(),
    )


def test_hinges_have_the_coordinates_of_the_robot():
    q = np.arange(ROBOT.nq, dtype=float)
    seen = [k for i in BODIES for k in EVERY.coordinates(i)]
    assert seen == list(range(ROBOT.nq))
    for i in BODIES:
        n = ROBOT.joints[i].nq
        assert_array_equal(hinge(EVERY, i, q)[:n].astype(float), q[ROBOT.joints[i].q_slice])


# Whole systems against the book.


@pytest.mark.parametrize("seed", range(3))
def test_velocities_and_accelerations_are_those_of_the_book(seed):
    q, v, acceleration = state(ROBOT, seed)
    system = system_of(EVERY, {"q": q, "qd": v, "qdd": acceleration})
    velocity, spatial = system.evaluate(phi.T @ H.T @ qd), system.evaluate(phi.T @ (H.T @ qdd + a))
    at = system.bounds(Body)
    rates = reference.accelerations(ROBOT, q, v, acceleration)
    for i, wanted in enumerate(reference.velocities(ROBOT, q, v)):
        back = EVERY.places[i].chosen.inv()
        here = velocity[at[i] : at[i] + 6]
        assert_allclose(back.motion(here), wanted, atol=1e-11)
        # α has its linear part taken in the inertial frame: classical, [0; ω × v] more than spatial.
        classical = spatial[at[i] : at[i] + 6]
        less = np.concatenate([np.zeros(3), np.cross(here[:3], here[3:])])
        assert_allclose(back.motion(classical - less), rates[i], atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_equations_of_motion_are_those_of_the_book(seed):
    q, v, _ = state(ROBOT, seed)
    gravity = np.concatenate([np.zeros(3), -ROBOT.gravity])
    system = system_of(EVERY, {"q": q, "qd": v, "g": gravity})
    mass = reference.mass_matrix(ROBOT, q)
    assert_allclose(system.evaluate(whole.mass), mass, atol=1e-11)
    forces = H @ phi @ (M @ phi.T @ (a + E0.T @ g) + b)
    wanted = reference.inverse_dynamics(ROBOT, q, v, np.zeros(ROBOT.nv))
    assert_allclose(system.evaluate(forces), wanted, atol=1e-10)


def test_nodes_move_as_frames_of_the_book():
    q, v, _ = state(ROBOT, 1)
    for expressed in ("body", "world", "world-aligned"):
        binding = bind(ROBOT, nodes=["tip"], expressed=expressed)
        system = system_of(binding, {"q": q, "qd": v})
        jacobian = reference.jacobian(ROBOT, q, "tip", expressed=expressed)
        assert_allclose(system.evaluate(Q @ B.T @ phi.T @ H.T), jacobian, atol=1e-11)
        spatial = reference.jacobian_bias(ROBOT, q, v, "tip", expressed=expressed)
        assert_allclose(system.evaluate(Q @ (B.T @ phi.T @ a + a_n - v_n)), spatial, atol=1e-10)
        if expressed != "world":
            classical = reference.classical_jacobian_bias(ROBOT, q, v, "tip", expressed=expressed)
            assert_allclose(system.evaluate(Q @ (B.T @ phi.T @ a + a_n)), classical, atol=1e-10)


def test_the_poses_of_nodes():
    q = state(ROBOT, 2)[0]
    system = system_of(EVERY, {"q": q})
    poses = system.evaluate(B.T @ phi.T @ E0.T)
    order = [n for i in BODIES for n, _ in EVERY.node_places[i]]
    for row, n in enumerate(order):
        wanted = reference.frame_placement(ROBOT, q, EVERY.nodes[n]).matrix()
        assert_allclose(poses[6 * row : 6 * row + 6], wanted, atol=1e-12)


# Rotors.


def test_rotors_are_added_to_the_diagonal_of_the_mass_matrix():
    with_rotors = random_tree(8, 2)
    q = state(with_rotors)[0]
    rotors = np.concatenate([j.reflected_inertia for j in with_rotors.joints])
    assert rotors.any()
    systems = [system_of(bind(r), {"q": q}) for r in (with_rotors, without_rotors(with_rotors))]
    more = systems[0].evaluate(whole.mass) - systems[1].evaluate(whole.mass)
    assert_allclose(more, np.diag(rotors), atol=1e-12)
    assert_allclose(systems[0].evaluate(whole.mass), reference.mass_matrix(with_rotors, q), atol=1e-11)


def without_rotors(robot):
    """Return the robot without its rotors."""
    bare = [replace(j, rotor_inertia=np.zeros(j.nv)) for j in robot.joints]
    return make_robot(robot.name, robot.bodies, bare, frames=[])


def test_rotors_enter_the_articulated_inertia_of_their_own_hinge():
    q = state(ROBOT)[0]
    system = system_of(EVERY, {"q": q})
    inverse = (identity(Joint) - H @ psi @ whole.K).T @ whole.Di @ (identity(Joint) - H @ psi @ whole.K)
    assert_allclose(
        system.evaluate(inverse), np.linalg.inv(reference.mass_matrix(ROBOT, q)), rtol=1e-6, atol=1e-8
    )


@by_body
def test_sizes(i):
    joint = ROBOT.joints[i]
    assert EVERY.size(Body, i) == 6 + np.count_nonzero(joint.reflected_inertia)
    assert EVERY.size(Joint, i) == joint.nv
    assert EVERY.size(Passive, i) + EVERY.size(Active, i) == joint.nv
    assert list(EVERY.positions(Joint, i)) == list(range(joint.qd_slice.start, joint.qd_slice.stop))
    shown = [p for p in EVERY.positions(Body, i) if p >= 0]
    assert shown == list(range(6 * i, 6 * i + 6)) and EVERY.size(World, i) == 0


def test_the_world_and_lengths():
    assert EVERY.size(World, -1) == EVERY.size(Body, -1) == 6
    assert EVERY.size(Joint, -1) == EVERY.size(Node, -1) == 0
    assert EVERY.length(Joint) == ROBOT.nv and EVERY.length(Body) == 6 * len(ROBOT.bodies)
    assert EVERY.length(Node) == 6 * len(EVERY.nodes) and EVERY.length(World) == 6
    assert EVERY.length(Passive) + EVERY.length(Active) == ROBOT.nv
    for space in (Joint, Node, Passive, Active):
        places = [p for i in BODIES for p in EVERY.positions(space, i)]
        assert sorted(places) == list(range(EVERY.length(space)))
    with pytest.raises(UnboundLeafError, match="Constraint"):
        EVERY.length(Constraint)


def test_letters_that_the_robot_does_not_know():
    h = hinge(EVERY, 0, state(ROBOT)[0])
    assert site(EVERY, 0).value(leaf("W", Body, Body), h) is None
    assert site(EVERY, 0).value(phi, h) is None
    with pytest.raises(UnboundLeafError, match=r"w: robot .* is bound without it"):
        site(EVERY, 0).formula(leaf("w", Body, qd.domain), h, ())


# Formulas.


@by_body
def test_bias_forces_are_gyroscopic(i):
    v = np.random.default_rng(i).standard_normal(EVERY.size(Body, i))
    q = state(ROBOT)[0]
    found = site(EVERY, i).formula(b, hinge(EVERY, i, q), [v]).astype(float)
    m = value(EVERY, M, i, q)[:6, :6]
    w = v[:3]
    turning = np.concatenate([w, np.zeros(3)])
    momentum = m @ turning
    wanted = np.concatenate([np.cross(w, momentum[:3]), np.cross(w, momentum[3:])])
    assert_allclose(found[:6], wanted, atol=1e-12)
    assert not found[6:].any()
    assert motion_cross(turning, turning) == pytest.approx(np.zeros(6))


# What `bind` wants.


def test_wrong_arguments_are_named():
    robot = panda()
    with pytest.raises(ArgumentError, match="robot: expected a Robot, got str"):
        bind("panda")
    with pytest.raises(ArgumentError, match=r"nodes: expected a list of frame names, got the string 'hand'"):
        bind(robot, nodes="hand")
    with pytest.raises(ArgumentError, match="prescribed: expected a list of joint names, got the string"):
        bind(robot, prescribed="joint1")
    with pytest.raises(ArgumentError, match=r"expressed: expected 'body', .* got 'local'"):
        bind(robot, expressed="local")
    with pytest.raises(UnknownNameError, match="elbow"):
        bind(robot, nodes=["elbow"])
    with pytest.raises(UnknownNameError, match="elbow"):
        bind(robot, prescribed=["elbow"])
    assert isinstance(bind(robot), RobotBinding)
    assert bind(robot).tree is robot.tree


def test_the_identity_of_a_binding_is_made_of_all_its_fields():
    robot = panda()
    plain = bind(robot)
    others = [
        bind(robot, Needs(own_frames=True)),
        bind(robot, Needs(merged=True)),
        bind(robot, Needs(asks=frozenset({Ask.INERTIA}))),
        bind(robot, Needs(parameters=("rotors",))),
        bind(robot, nodes=["link7"]),
        bind(robot, expressed="world"),
        bind(robot, prescribed=["joint1"]),
        bind(robot, prescribed=None),
        replace(plain, own_gravity=True),
        bind(chain(3)),
    ]
    assert len({plain.identity, *(x.identity for x in others)}) == 1 + len(others)
    assert bind(panda()).identity == plain.identity


def test_a_new_field_changes_the_identity():
    @dataclass(frozen=True, eq=False)
    class Wider(RobotBinding):
        colour: str = "red"

    red, blue = Wider(panda()), Wider(panda(), colour="blue")
    assert len({red.identity, blue.identity, bind(panda()).identity}) == 3
