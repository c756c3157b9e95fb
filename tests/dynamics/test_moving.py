"""Bases that move in a given way, against robots on a free joint that is prescribed, and Pinocchio."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hinge
from hinge import reference
from hinge.errors import ArgumentError
from hinge.model import Body, Joint, Robot, joints, make_robot
from hinge.robots import chain, double_pendulum, panda, random_tree
from hinge.spatial import Inertia, cross, matvec, quaternion, rotation
from hinge.testing import random_state
from tests.dynamics.partitions import held_by
from tests.dynamics.zoo import framed, tip_of
from tests.tiers import daily

BOUND = 1e-10
#: Fixed bases, bases on joints, a free one, two side by side, and bodies fixed on others and on the world.
ROBOTS = {
    "panda": panda(),
    "chain": chain(4),
    "tree": random_tree(6, 4),
    "floating": random_tree(5, 3),
    "framed": framed(),
    "two": hinge.merge(random_tree(3, 2), random_tree(3, 6), prefix="other_"),
}
SHAPES = [(), (5,), (3, 4), (0,)]


@pytest.fixture(params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]


def on_a_raft(robot: Robot) -> Robot:
    """Return the robot with all that hung on the world on a body with a free joint."""
    raft = Body("raft", Inertia.from_com(1.0, (0, 0, 0), np.eye(3)))
    base = Joint("raft_joint", joints.Free(), None, "raft")
    hung = [replace(j, parent=j.parent or "raft") for j in robot.joints]
    return make_robot(
        "raft", [raft, *robot.bodies], [base, *hung], frames=robot.frames, gravity=robot.gravity
    )


def moved(robot, shape, seed=1):
    """Return a random motion of the base, and q, qd, qdd of the raft for it."""
    rng = np.random.default_rng(seed)
    w, dw, a, v = (rng.standard_normal((*shape, 3)) for _ in range(4))
    p, x = quaternion.random(rng, shape), rng.standard_normal((*shape, 3))
    turn = rotation.from_quaternion(p)
    base = hinge.BaseMotion(angular_velocity=w, angular_acceleration=dw, acceleration=a, rotation=turn)
    # qdd of a free joint is the rate of v in its own axes, which is p̈ − ω × v
    return base, (
        np.concatenate([p, x], axis=-1),
        np.concatenate([w, v], axis=-1),
        np.concatenate([dw, a - cross(w, v)], axis=-1),
    )


def both(raft_state, s):
    """Return q, qd and qdd of the raft and what stands on it."""
    own = (s.q, s.qd, s.qdd)
    return [np.concatenate([r, x], axis=-1) for r, x in zip(raft_state, own, strict=True)]


def close(ours, theirs, bound=BOUND):
    assert ours.shape == theirs.shape
    assert np.max(np.abs(ours - theirs), initial=0.0) <= bound * np.max(np.abs(theirs), initial=1e-9)


@pytest.mark.parametrize(("shape",), daily([(x,) for x in SHAPES], lambda k, case: k in (1, 3)), ids=str)
def test_forces_are_those_on_a_raft_that_moves_so(robot, shape):
    s, raft = random_state(robot, 1, shape), on_a_raft(robot)
    base, state = moved(robot, shape)
    push = {tip_of(robot): s.tau[..., :1] * np.arange(1.0, 7.0)}
    q, qd, qdd = both(state, s)
    for more in ({}, {"external": push}, {"gravity": np.array([1.0, 2.0, -3.0])}):
        wanted = reference.inverse_dynamics(raft, q, qd, qdd, **more)[..., 6:]
        found = hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, base=base, **more)
        close(found, wanted)
    still = np.concatenate([qdd[..., :6], 0 * s.qdd], axis=-1)
    close(
        hinge.bias_force(robot, s.q, s.qd, base=base),
        reference.inverse_dynamics(raft, q, qd, still)[..., 6:],
    )


@pytest.mark.parametrize(("shape",), daily([(x,) for x in SHAPES], lambda k, case: k in (1, 3)), ids=str)
def test_accelerations_are_those_on_a_raft_that_is_prescribed(robot, shape):
    s, raft = random_state(robot, 2, shape), on_a_raft(robot)
    base, state = moved(robot, shape, 2)
    q, qd, qdd = both(state, s)
    tau = np.concatenate([np.zeros((*shape, 6)), s.tau], axis=-1)
    wanted, _ = hinge.hybrid_dynamics(raft, q, qd, tau=tau, qdd=qdd, prescribed=["raft_joint"])
    found = hinge.forward_dynamics(robot, s.q, s.qd, s.tau, base=base)
    m = reference.mass_matrix(robot, s.q)
    close(matvec(m, found), matvec(m, wanted[..., 6:]))
    back = hinge.inverse_dynamics(robot, s.q, s.qd, found, base=base)
    close(back, s.tau, 1e-9)


@pytest.mark.parametrize("form", ["names", "booleans"])
def test_some_joints_may_be_prescribed_too(robot, form):
    s, raft = random_state(robot, 3, (4,)), on_a_raft(robot)
    base, state = moved(robot, (4,), 3)
    names = [j.name for j in robot.joints[::2]]
    held = names if form == "names" else held_by(robot, names)
    q, qd, qdd = both(state, s)
    tau = np.concatenate([np.zeros((4, 6)), s.tau], axis=-1)
    wanted = hinge.hybrid_dynamics(raft, q, qd, tau=tau, qdd=qdd, prescribed=["raft_joint", *names])
    found = hinge.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=held, base=base)
    m = reference.mass_matrix(robot, s.q)
    close(matvec(m, found[0]), matvec(m, wanted[0][..., 6:]), 1e-9)
    close(found[1], wanted[1][..., 6:], 1e-9)


def test_a_base_at_rest_is_no_base(robot):
    s = random_state(robot, 4, (3,))
    close(
        hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, base=hinge.BaseMotion()),
        hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd),
    )


def test_a_lift_that_falls_has_no_gravity_in_it():
    robot = panda()
    s = random_state(robot, 5)
    falling = hinge.BaseMotion(acceleration=robot.gravity)
    assert np.abs(hinge.bias_force(robot, s.q, 0 * s.qd, base=falling)).max() < 1e-12


def test_gravity_is_in_the_axes_of_the_base_unless_its_rotation_is_given():
    robot = panda()
    s, turn = random_state(robot, 6, (2,)), rotation.from_rpy((0.3, -0.5, 0.7))
    tilted = hinge.BaseMotion(rotation=turn)
    by_hand = hinge.bias_force(robot, s.q, s.qd, gravity=turn.T @ robot.gravity)
    close(hinge.bias_force(robot, s.q, s.qd, base=tilted), by_hand)
    close(
        hinge.bias_force(robot, s.q, s.qd, base=hinge.BaseMotion(), gravity=turn.T @ robot.gravity), by_hand
    )


def test_a_pendulum_on_a_turntable_feels_the_centrifugal_force():
    """At rest on a table that turns about z: τ = −½ ω² ∂(m ρ²)/∂q, ρ the distance from that axis."""
    robot, w, h = double_pendulum(), 3.0, 1e-6
    q = np.array([0.4, -0.7])
    spinning = hinge.BaseMotion(angular_velocity=(0.0, 0.0, w))
    tau = hinge.bias_force(robot, q, [0.0, 0.0], base=spinning, gravity=(0, 0, 0))

    def turning(q):
        m = reference.mass_matrix(on_a_raft(robot), np.concatenate([[1, 0, 0, 0, 0, 0, 0], q]))
        return m[2, 2]

    slope = [(turning(q + h * e) - turning(q - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(tau, -0.5 * w * w * np.array(slope), atol=1e-8)


def test_one_motion_serves_all_states_and_many_serve_one():
    robot = panda()
    s = random_state(robot, 7, (3,))
    one, _ = moved(robot, (), 7)
    many = hinge.BaseMotion(
        angular_velocity=np.stack([one.angular_velocity] * 3), acceleration=one.acceleration
    )
    few = hinge.BaseMotion(angular_velocity=one.angular_velocity, acceleration=one.acceleration)
    all_states = hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, base=one)
    close(all_states[1], hinge.inverse_dynamics(robot, s.q[1], s.qd[1], s.qdd[1], base=one))
    found = hinge.inverse_dynamics(robot, s.q[1], s.qd[1], s.qdd[1], base=many)
    alone = hinge.inverse_dynamics(robot, s.q[1], s.qd[1], s.qdd[1], base=few)
    close(found, np.stack([alone] * 3))


def test_results_go_where_they_are_wanted_and_single_precision_stays_single():
    robot = panda()
    s = random_state(robot, 8, (3,))
    base, out = hinge.BaseMotion(angular_velocity=(1.0, 2.0, 3.0)), np.empty((3, robot.nv))
    found = hinge.forward_dynamics(robot, s.q, s.qd, s.tau, base=base, out=out)
    assert found is out
    single = [x.astype(np.float32) for x in (s.q, s.qd, s.tau)]
    assert hinge.forward_dynamics(robot, *single, base=base).dtype == np.float32


def test_bad_motions_are_refused_by_name():
    robot = panda()
    s = random_state(robot, 1, 3)

    def call(**motion):
        return hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, base=hinge.BaseMotion(**motion))

    with pytest.raises(ArgumentError, match=r"base.angular_velocity: expected shape \(…, 3\), got \(2,\)"):
        call(angular_velocity=np.zeros(2))
    with pytest.raises(
        ArgumentError, match=r"base\.rotation: expected a rotation matrix .*, got one that is not orthogonal"
    ):
        call(rotation=2 * np.eye(3))
    with pytest.raises(ArgumentError, match=r"base\.rotation: expected shape .*, got"):
        call(rotation=np.zeros(3))
    with pytest.raises(ArgumentError, match="base"):
        call(acceleration=np.zeros((2, 3)))
    with pytest.raises(ArgumentError, match=r"base: expected a BaseMotion\(.*\), got dict"):
        hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, base={})
    with pytest.raises(ArgumentError, match=r"base: expected a BaseMotion\(.*\), got dict"):
        hinge.hybrid_dynamics(robot, s.q, s.qd, qdd=s.qdd, tau=s.tau, prescribed=[], base={})


def test_forces_agree_with_pinocchio_on_a_free_flyer():
    pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for this platform")
    from tests.oracles.data import example
    from tests.oracles.pinocchio import load_both

    fixed = hinge.load(example("ur5_robot.urdf"), strict=None)
    floating, model, peer = load_both(example("ur5_robot.urdf"), floating=True)
    data, s = model.createData(), random_state(fixed, 1, 3)
    base, state = moved(fixed, (3,), 9)
    q, qd, qdd = both(state, s)
    assert floating.nv == fixed.nv + 6
    found = hinge.inverse_dynamics(fixed, s.q, s.qd, s.qdd, base=base)
    again = hinge.forward_dynamics(fixed, s.q, s.qd, found, base=base)
    close(again, s.qdd, 1e-8)
    for k in range(3):
        t = peer.velocity_matrix(q[k])
        theirs = t.T @ pin.rnea(model, data, peer.to_q(q[k]), t @ qd[k], t @ qdd[k])
        close(found[k], theirs[6:])
