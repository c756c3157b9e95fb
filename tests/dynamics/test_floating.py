"""Free bases against the dense partition, the momentum that there must not be, and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import dynamics, reference
from hinge.dynamics import SEVERAL
from hinge.errors import ArgumentError
from hinge.model import carry_state
from hinge.pipeline import derive
from hinge.robots import panda, quadruped, random_tree, spacecraft
from hinge.spatial import cross, matvec
from hinge.testing import random_state
from tests.dynamics.partitions import held_by, residual
from tests.dynamics.zoo import tip_of
from tests.tiers import daily

BOUND = 1e-10
#: Free bases under arms, legs, and every kind of joint that the seeds draw; one that is nothing but a base.
ROBOTS = {
    "spacecraft": spacecraft(),
    "quadruped": quadruped(),
    "tree": random_tree(7, 3),
    "large": random_tree(12, 1),
    "alone": random_tree(1, 0, ["free"]),
}
SHAPES = [(), (5,), (3, 4), (0,)]


@pytest.fixture(params=daily(ROBOTS, lambda k, name: name != "large"))
def robot(request):
    return ROBOTS[request.param]


def close(ours, theirs, bound=BOUND):
    assert ours.shape == theirs.shape
    size = np.max(np.abs(theirs), initial=1e-9)
    assert np.max(np.abs(ours - theirs), initial=0.0) <= bound * size


def others(robot):
    return [j.name for j in robot.joints[1:]]


def rates(robot, q, joint_rates):
    """Return qd with the base's part that keeps momentum zero."""
    base = matvec(hinge.disturbance_jacobian(robot, q), joint_rates)
    return np.concatenate([base, joint_rates], axis=-1)


# Inverse dynamics.


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_inverse_dynamics_agrees_with_the_dense_partition(robot, shape):
    s = random_state(robot, 1, shape)
    s.tau[..., :6] = 0
    found = hinge.floating_inverse_dynamics(robot, s.q, s.qd, s.qdd)
    held = held_by(robot, others(robot))
    assert residual(robot, type(s)(s.q, s.qd, s.qdd, np.where(held, 7.0, 0.0)), found, held) < BOUND


def test_forces_on_the_base_and_elsewhere_are_taken(robot):
    s = random_state(robot, 2, (3,))
    held, frame = held_by(robot, others(robot)), tip_of(robot)
    more = {"external": {frame: s.tau[:, :6]}, "gravity": np.array([1.0, -2.0, 3.0])}
    found = hinge.floating_inverse_dynamics(robot, s.q, s.qd, s.qdd, base_force=s.tau[:, :6], **more)
    assert residual(robot, s, found, held, **more) < BOUND
    again = hinge.forward_dynamics(robot, s.q, s.qd, found[1], **more)
    m = reference.mass_matrix(robot, s.q)
    close(matvec(m, again), matvec(m, found[0]))


def test_one_base_force_serves_all_states_and_many_serve_one():
    robot = ROBOTS["tree"]
    s, force = random_state(robot, 3, (4,)), np.arange(6.0)
    all_states = hinge.floating_inverse_dynamics(robot, s.q, s.qd, s.qdd, base_force=force)
    one = hinge.floating_inverse_dynamics(robot, s.q[1], s.qd[1], s.qdd[1], base_force=force)
    many = hinge.floating_inverse_dynamics(robot, s.q[1], s.qd[1], s.qdd[1], base_force=np.stack([force] * 2))
    for k in range(2):
        close(all_states[k][1], one[k])
        close(many[k], np.stack([one[k]] * 2))


def test_a_robot_that_falls_freely_needs_no_force_to_keep_its_shape():
    robot = quadruped()
    q = hinge.neutral(robot)
    qdd, tau = hinge.floating_inverse_dynamics(robot, q, np.zeros(robot.nv), np.zeros(robot.nv))
    assert np.abs(tau).max() < 1e-12
    close(qdd[:6], np.concatenate([np.zeros(3), robot.gravity]))


def test_what_the_base_part_of_qdd_holds_does_not_matter():
    robot = ROBOTS["spacecraft"]
    s = random_state(robot, 4)
    other = s.qdd.copy()
    other[:6] = np.nan
    one, two = (hinge.floating_inverse_dynamics(robot, s.q, s.qd, x) for x in (s.qdd, other))
    for k in range(2):
        np.testing.assert_array_equal(one[k], two[k])


# Kinematics without momentum.


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_joints_that_move_with_the_base_free_make_no_momentum(robot, shape):
    s = random_state(robot, 5, shape)
    qd = rates(robot, s.q, s.qd[..., 6:])
    moved = np.concatenate([np.zeros_like(qd[..., :6]), qd[..., 6:]], axis=-1)
    size = np.max(np.abs(hinge.momentum(robot, s.q, moved)), initial=1e-9)
    assert np.max(np.abs(hinge.momentum(robot, s.q, qd)), initial=0.0) < 1e-10 * size


@pytest.mark.parametrize("expressed", ["body", "world", "world-aligned"])
def test_the_generalized_jacobian_gives_the_velocity_of_a_frame(robot, expressed):
    s, frame = random_state(robot, 6, (5,)), tip_of(robot)
    j = hinge.generalized_jacobian(robot, s.q, frame, expressed=expressed)
    assert j.shape == (5, 6, robot.nv - 6)
    qd = rates(robot, s.q, s.qd[..., 6:])
    close(matvec(j, s.qd[..., 6:]), hinge.velocities(robot, s.q, qd, frame, expressed=expressed))


def test_both_jacobians_agree_with_the_dense_partition(robot):
    s, frame = random_state(robot, 7, (3, 4)), tip_of(robot)
    m, j = reference.mass_matrix(robot, s.q), reference.jacobian(robot, s.q, frame)
    base = -np.linalg.solve(m[..., :6, :6], m[..., :6, 6:])
    close(hinge.disturbance_jacobian(robot, s.q), base)
    close(hinge.generalized_jacobian(robot, s.q, frame), j[..., 6:] + j[..., :6] @ base)


@pytest.mark.parametrize("verb", ["generalized_jacobian", "disturbance_jacobian"])
def test_the_jacobians_are_derived_without_a_solve(verb):
    found = derive(SEVERAL[verb].expressions)
    assert found.program.shape == "G S" and found.cost.solves == 0


@pytest.mark.parametrize(
    "robot", [panda(), hinge.merge(random_tree(2, 1), random_tree(2, 3), prefix="other_")], ids=repr
)
def test_robots_that_do_not_float_on_one_base_are_refused(robot):
    s = random_state(robot, 1)
    calls = {
        "inverse": lambda: hinge.floating_inverse_dynamics(robot, s.q, s.qd, s.qdd),
        "generalized": lambda: hinge.generalized_jacobian(robot, s.q, robot.bodies[-1].name),
        "disturbance": lambda: hinge.disturbance_jacobian(robot, s.q),
    }
    for call in calls.values():
        with pytest.raises(
            ArgumentError, match=r"robot: expected one free joint to the world, got .* for .*; load it with"
        ):
            call()


def test_bad_arguments_are_refused_by_name():
    robot = ROBOTS["spacecraft"]
    s = random_state(robot, 1, 3)
    with pytest.raises(ArgumentError, match=r"base_force: expected shape \(…, 6\), got \(3,\)"):
        hinge.floating_inverse_dynamics(robot, s.q, s.qd, s.qdd, base_force=np.zeros(3))
    with pytest.raises(ArgumentError, match="base_force"):
        hinge.floating_inverse_dynamics(robot, s.q, s.qd, s.qdd, base_force=np.zeros((2, 6)))
    hands = ["left_hand", "right_hand"]
    both = np.concatenate([hinge.generalized_jacobian(robot, s.q, hand) for hand in hands], axis=-2)
    assert np.allclose(hinge.generalized_jacobian(robot, s.q, hands), both)
    with pytest.raises(ArgumentError, match=r"frame: expected the name of a frame or body, .* got int"):
        hinge.generalized_jacobian(robot, s.q, 3)
    with pytest.raises(ArgumentError, match="expressed"):
        hinge.generalized_jacobian(robot, s.q, robot.bodies[-1].name, expressed="moon")


# Momentum about the centre of mass.

MOVING = {**ROBOTS, "panda": panda(), "tree on a joint": random_tree(9, 4)}


@pytest.fixture(params=MOVING)
def mover(request):
    return MOVING[request.param]


def about_center(robot, q, x):
    c = reference.center_of_mass(robot, q)
    return np.concatenate([x[..., :3] - cross(c, x[..., 3:]), x[..., 3:]], axis=-1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_matrix_gives_the_momentum_about_the_centre_of_mass(mover, shape):
    s = random_state(mover, 8, shape)
    a = hinge.centroidal_momentum_matrix(mover, s.q)
    assert a.shape == (*shape, 6, mover.nv)
    wanted = about_center(mover, s.q, reference.momentum(mover, s.q, s.qd))
    close(matvec(a, s.qd), wanted)
    close(hinge.centroidal_momentum(mover, s.q, s.qd), wanted)


def test_the_bias_is_the_rate_of_momentum_at_constant_rates(mover):
    s, step = random_state(mover, 9, (3,)), 1e-3
    wanted = sum(
        w * k * hinge.centroidal_momentum(mover, hinge.integrate(mover, s.q, k * n * step * s.qd), s.qd)
        for n, w in {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}.items()
        for k in (1, -1)
    )
    close(hinge.centroidal_momentum_bias(mover, s.q, s.qd), wanted / step, 1e-8)


def test_the_rate_of_momentum_is_what_acts_from_outside():
    robot = ROBOTS["tree"]
    s = random_state(robot, 10, (5,))
    s.tau[..., :6] = 0
    qdd = hinge.forward_dynamics(robot, s.q, s.qd, s.tau)
    a, bias = hinge.centroidal_momentum_matrix(robot, s.q), hinge.centroidal_momentum_bias(robot, s.q, s.qd)
    rate, weight = matvec(a, qdd) + bias, np.concatenate([np.zeros(3), robot.mass * robot.gravity])
    assert np.abs(rate - weight).max() < 1e-9 * (np.abs(matvec(a, qdd)).max() + np.abs(weight).max())


def test_the_matrix_about_the_centre_of_mass_is_one_sweep():
    found = derive(SEVERAL["centroidal_momentum_matrix"].expressions)
    assert found.program.shape == "G" and found.cost.solves == 0


def test_single_precision_stays_single():
    robot = quadruped()
    q, qd = (x.astype(np.float32) for x in (hinge.neutral(robot), np.ones(robot.nv)))
    for found in (
        hinge.centroidal_momentum_matrix(robot, q),
        hinge.centroidal_momentum_bias(robot, q, qd),
        hinge.disturbance_jacobian(robot, q),
        *hinge.floating_inverse_dynamics(robot, q, qd, qd),
    ):
        assert found.dtype == np.float32


def test_without_mass_there_is_no_centre():
    b = hinge.Builder("nothing")
    b.body("body", joint=hinge.model.joints.Revolute())
    robot = b.build(strict=None)
    with pytest.raises(ArgumentError, match="robot: expected a mass above zero, got 0"):
        hinge.centroidal_momentum_matrix(robot, [0.0])


@pytest.mark.parametrize("name", ["solo12.urdf", "talos_reduced.urdf"])
def test_momentum_and_free_bases_agree_with_pinocchio(name):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for this platform")
    from tests.oracles.data import example
    from tests.oracles.pinocchio import LINEAR_FIRST, load_both

    robot, model, peer = load_both(example(name), floating=True)
    data, s = model.createData(), random_state(robot, 1, 3)
    qs, ts = peer.to_q(s.q), peer.velocity_matrix(s.q)
    a, bias = hinge.centroidal_momentum_matrix(robot, s.q), hinge.centroidal_momentum_bias(robot, s.q, s.qd)
    qdd, tau = hinge.floating_inverse_dynamics(robot, s.q, s.qd, s.qdd)
    for k in range(3):
        q, t, v = qs[k], ts[k], ts[k] @ s.qd[k]
        pin.dccrba(model, data, q, v)
        close(a[k], data.Ag[LINEAR_FIRST] @ t)
        close(bias[k], (data.dAg @ v)[LINEAR_FIRST])
        close(tau[k], t.T @ pin.rnea(model, data, q, v, t @ qdd[k]))


# Another body as base.


@pytest.mark.parametrize("name", ["spacecraft", "quadruped", "tree"])
def test_another_base_is_the_same_physics(name):
    """Energies, momentum and, under the same inner forces, the accelerations of all bodies stay."""
    old = ROBOTS[name] if name != "tree" else random_tree(7, 3, rotors=False)
    s = random_state(old, 11, (2,))
    new = hinge.reroot(old, old.bodies[-1].name)
    q, qd = carry_state(old, new, s.q, s.qd)
    assert new.joints[0].child == old.bodies[-1].name
    for verb in (hinge.kinetic_energy, hinge.momentum, hinge.centroidal_momentum):
        close(verb(new, q, qd), verb(old, s.q, s.qd))
    close(hinge.potential_energy(new, q), hinge.potential_energy(old, s.q))
    motion = np.swapaxes(carry_state(old, new, s.q[:, None], np.eye(old.nv))[1], -1, -2)
    tau = np.linalg.solve(np.swapaxes(motion, -1, -2), s.tau[..., None])[..., 0]
    bodies = [b.name for b in old.bodies]
    after = dynamics.accelerations(new, q, qd, hinge.forward_dynamics(new, q, qd, tau), bodies)
    before = dynamics.accelerations(old, s.q, s.qd, hinge.forward_dynamics(old, s.q, s.qd, s.tau), bodies)
    close(after, before, 1e-8)


def test_the_base_chosen_does_not_matter_to_the_generalized_jacobian():
    """Only the base's coordinates change; the rates of the joints are the same up to their order and sign."""
    old = spacecraft()
    new = hinge.reroot(old, old.bodies[-1].name)
    s, frame = random_state(old, 12), old.bodies[1].name
    qd = rates(old, s.q, s.qd[6:])
    q, moved = carry_state(old, new, s.q, qd)
    close(rates(new, q, moved[6:]), moved, 1e-9)
    found = hinge.generalized_jacobian(new, q, frame) @ moved[6:]
    close(found, hinge.generalized_jacobian(old, s.q, frame) @ s.qd[6:], 1e-9)
