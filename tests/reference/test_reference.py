from __future__ import annotations

import numpy as np
import pytest

from hinge import reference, robots
from hinge.errors import ArgumentError, ModelError, UnknownNameError
from hinge.model import Builder, integrate, joints, lock
from hinge.spatial import Inertia
from hinge.testing import random_state

SEEDS = range(8)


def _tree(seed):
    return robots.random_tree(9, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_jacobian_gives_the_frame_velocity(seed):
    robot, s = _tree(seed), random_state(_tree(seed), seed, 4)
    frame = robot.frame("tip")
    v = frame.placement.motion(reference.velocities(robot, s.q, s.qd)[robot.body_index(frame.body)])
    j = reference.jacobian(robot, s.q, "tip")
    assert np.allclose((j @ s.qd[..., None])[..., 0], v)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_world_aligned_jacobian_is_the_derivative_of_the_pose(seed):
    robot, s = _tree(seed), random_state(_tree(seed), seed)
    j = reference.jacobian(robot, s.q, "tip", expressed="world-aligned")
    h = 1e-6
    ahead = reference.frame_placement(robot, integrate(robot, s.q, h * s.qd), "tip")
    behind = reference.frame_placement(robot, integrate(robot, s.q, -h * s.qd), "tip")
    linear = (ahead.position - behind.position) / (2 * h)
    spin = (
        (ahead.rotation - behind.rotation) / (2 * h) @ reference.frame_placement(robot, s.q, "tip").rotation.T
    )
    angular = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    assert np.allclose(j @ s.qd, [*angular, *linear], atol=1e-7)


@pytest.mark.parametrize("expressed", ["body", "world-aligned"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_classical_bias_is_the_acceleration_of_the_origin(seed, expressed):
    robot, s = _tree(seed), random_state(_tree(seed), seed)
    h = 1e-4
    places = [
        reference.frame_placement(robot, integrate(robot, s.q, t * s.qd), "tip").position
        for t in (-h, 0.0, h)
    ]
    world = (places[0] - 2 * places[1] + places[2]) / h**2
    bias = reference.classical_jacobian_bias(robot, s.q, s.qd, "tip", expressed=expressed)[3:]
    if expressed == "body":
        bias = reference.frame_placement(robot, s.q, "tip").rotation @ bias
    assert np.allclose(bias, world, atol=1e-5 * (1 + np.abs(world).max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_spatial_bias_completes_the_acceleration(seed):
    robot, s = _tree(seed), random_state(_tree(seed), seed)
    frame = robot.frame("tip")
    body = robot.body_index(frame.body)
    a = frame.placement.motion(reference.accelerations(robot, s.q, s.qd, s.qdd)[body])
    j = reference.jacobian(robot, s.q, "tip")
    assert np.allclose(j @ s.qdd + reference.jacobian_bias(robot, s.q, s.qd, "tip"), a)


@pytest.mark.parametrize("seed", SEEDS)
def test_hybrid_dynamics_agrees_with_the_dense_partition(seed):
    robot, s = _tree(seed), random_state(_tree(seed), seed, 3)
    rng = np.random.default_rng(seed)
    held = [j.name for j in robot.joints if rng.random() < 0.5]
    mask = np.zeros(robot.nv, dtype=bool)
    for name in held:
        mask[robot.joint(name).qd_slice] = True
    qdd, tau = reference.hybrid_dynamics(robot, s.q, s.qd, s.tau, s.qdd, prescribed=held)
    assert np.array_equal(qdd[:, mask], s.qdd[:, mask]) and np.array_equal(tau[:, ~mask], s.tau[:, ~mask])
    full = reference.inverse_dynamics(robot, s.q, s.qd, qdd)
    assert np.allclose(full, tau, rtol=1e-9, atol=1e-9 * np.abs(full).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_hybrid_dynamics_has_forward_and_inverse_as_its_ends(seed):
    robot, s = _tree(seed), random_state(_tree(seed), seed)
    every = [j.name for j in robot.joints]
    _, tau = reference.hybrid_dynamics(robot, s.q, s.qd, s.tau, s.qdd, prescribed=every)
    qdd, _ = reference.hybrid_dynamics(robot, s.q, s.qd, s.tau, s.qdd, prescribed=[])
    assert np.allclose(tau, reference.inverse_dynamics(robot, s.q, s.qd, s.qdd))
    assert np.allclose(qdd, reference.forward_dynamics(robot, s.q, s.qd, s.tau))


@pytest.mark.parametrize("batch", [(), (5,), (3, 4)])
def test_batches_give_what_single_states_give(batch):
    robot = _tree(1)
    s = random_state(robot, 2, batch)
    verbs = {
        "inverse": lambda q, qd, qdd: reference.inverse_dynamics(robot, q, qd, qdd),
        "forward": lambda q, qd, qdd: reference.forward_dynamics(robot, q, qd, qdd),
        "mass": lambda q, qd, qdd: reference.mass_matrix(robot, q),
        "jacobian": lambda q, qd, qdd: reference.jacobian(robot, q, "tip"),
        "energy": lambda q, qd, qdd: reference.kinetic_energy(robot, q, qd),
        "momentum": lambda q, qd, qdd: reference.momentum(robot, q, qd),
    }
    for name, verb in verbs.items():
        whole = verb(s.q, s.qd, s.qdd)
        for k in np.ndindex(*batch):
            assert np.allclose(whole[k], verb(s.q[k], s.qd[k], s.qdd[k]), atol=1e-12), name


def test_batch_dimensions_broadcast():
    robot = _tree(1)
    q, s = random_state(robot, 1).q, random_state(robot, 2, (3, 1))
    tau = reference.inverse_dynamics(robot, q, s.qd, np.zeros((4, robot.nv)))
    assert tau.shape == (3, 4, robot.nv)


def test_gravity_can_be_overridden():
    robot = robots.double_pendulum()
    q, zero = np.array([0.3, 0.1]), np.zeros(2)
    assert np.allclose(reference.inverse_dynamics(robot, q, zero, zero, gravity=(0, 0, 0)), 0)
    tau = reference.inverse_dynamics(robot, q, zero, zero)
    assert np.allclose(tau[0], 9.81 * (2 * np.sin(0.3) + np.sin(0.4)))


def test_the_double_pendulum_matches_its_textbook_equations():
    robot = robots.double_pendulum()
    a, b, da, db = 0.4, -0.7, 1.1, 0.3
    mass = np.array([[3 + 2 * np.cos(b), 1 + np.cos(b)], [1 + np.cos(b), 1.0]])
    bias = np.sin(b) * np.array([-2 * da * db - db**2, da**2])
    weight = 9.81 * np.array([2 * np.sin(a) + np.sin(a + b), np.sin(a + b)])
    assert np.allclose(reference.mass_matrix(robot, [a, b]), mass)
    assert np.allclose(reference.inverse_dynamics(robot, [a, b], [da, db], [0, 0]), bias + weight)


def test_the_momentum_of_the_mass_centre_is_its_mass_times_velocity():
    robot = robots.quadruped()
    s = random_state(robot, 4)
    h = 1e-6
    ahead, behind = (reference.center_of_mass(robot, integrate(robot, s.q, t * s.qd)) for t in (h, -h))
    p = reference.momentum(robot, s.q, s.qd)
    assert np.allclose(p[3:], robot.mass * (ahead - behind) / (2 * h), atol=1e-6)


def test_a_locked_joint_is_a_prescribed_one_at_rest():
    robot = robots.panda()
    s = random_state(robot, 1)
    qd, qdd = s.qd.copy(), s.qdd.copy()
    qd[3] = qdd[3] = 0
    locked = lock(robot, {"joint4": s.q[3]})
    keep = [0, 1, 2, 4, 5, 6]
    found, _ = reference.hybrid_dynamics(robot, s.q, qd, s.tau, qdd, prescribed=["joint4"])
    assert np.allclose(reference.forward_dynamics(locked, s.q[keep], qd[keep], s.tau[keep]), found[keep])


def test_a_massless_moving_body_is_named():
    b = Builder("r")
    b.body("ghost", joint=joints.Revolute(), joint_name="door")
    robot = b.build(strict=None)
    with pytest.raises(ModelError, match="joint 'door' moves no inertia"):
        reference.forward_dynamics(robot, [0.0], [0.0], [0.0])
    with pytest.raises(ArgumentError, match="expected a mass above zero"):
        reference.center_of_mass(robot, [0.0])


@pytest.mark.parametrize(
    "call, error, words",
    [
        (
            lambda r: reference.inverse_dynamics(r, np.zeros((4, 2)), np.zeros((3, 2)), [0, 0]),
            ArgumentError,
            r"q, qd, qdd: batch shapes do not broadcast: q \(4,\), qd \(3,\), qdd \(\)",
        ),
        (
            lambda r: reference.forward_dynamics(
                r, np.zeros((4, 2)), [0, 0], [0, 0], external={"tip": np.zeros((3, 6))}
            ),
            ArgumentError,
            r"external on 'lower': batch shapes do not broadcast",
        ),
        (
            lambda r: reference.inverse_dynamics(r, [0, 0], [0, 0], [0, 0], external=[[0] * 6]),
            ArgumentError,
            r"external: expected \{frame name: \[n; f\]\}, got list",
        ),
        (
            lambda r: reference.hybrid_dynamics(r, [0, 0], [0, 0], [0, 0], [0, 0], prescribed="elbow"),
            ArgumentError,
            "prescribed: expected a list of joint names, got the string 'elbow'",
        ),
        (
            lambda r: reference.accelerations(r, [0, 0], [0, 0], [0, 0], base=(0, 0, 9.81)),
            ArgumentError,
            r"base: expected shape \(…, 6\), got",
        ),
        (
            lambda r: reference.inverse_dynamics(r, [0.0], [0, 0], [0, 0]),
            ArgumentError,
            r"q: expected shape \(…, 2\), got \(1,\)",
        ),
        (
            lambda r: reference.inverse_dynamics(r, [0, 0], [0], [0, 0]),
            ArgumentError,
            r"qd: expected shape \(…, 2\), got",
        ),
        (
            lambda r: reference.inverse_dynamics(r, [0, 0], [0, 0], [0]),
            ArgumentError,
            r"qdd: expected shape \(…, 2\), got",
        ),
        (
            lambda r: reference.forward_dynamics(r, [0, 0], [0, 0], [0, 1j]),
            ArgumentError,
            "tau: expected real numbers .*, got dtype complex",
        ),
        (
            lambda r: reference.inverse_dynamics(r, [0, 0], [0, 0], [0, 0], gravity=[1]),
            ArgumentError,
            "gravity",
        ),
        (
            lambda r: reference.inverse_dynamics(r, [0, 0], [0, 0], [0, 0], external={"tip": [1, 2]}),
            ArgumentError,
            r"external\['tip'\]: expected shape \(…, 6\), got",
        ),
        (
            lambda r: reference.inverse_dynamics(r, [0, 0], [0, 0], [0, 0], external={"top": [0] * 6}),
            UnknownNameError,
            "no frame 'top'; did you mean 'tip'",
        ),
        (
            lambda r: reference.jacobian(r, [0, 0], "tip", expressed="local"),
            ArgumentError,
            "expressed: expected 'body', 'world' or 'world-aligned', got 'local'",
        ),
        (
            lambda r: reference.hybrid_dynamics(r, [0, 0], [0, 0], [0, 0], [0, 0], prescribed=["elbo"]),
            UnknownNameError,
            "no joint 'elbo'; did you mean 'elbow'",
        ),
        (
            lambda r: reference.classical_jacobian_bias(r, [0, 0], [0, 0], "tip", expressed="world"),
            ArgumentError,
            "expressed: expected 'body' or 'world-aligned' .*, got 'world'",
        ),
    ],
)
def test_bad_arguments_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call(robots.double_pendulum())


@pytest.mark.parametrize("seed", SEEDS)
def test_an_external_force_at_a_frame_acts_through_its_jacobian(seed):
    robot, s = _tree(seed), random_state(_tree(seed), seed)
    force = np.random.default_rng(seed).standard_normal(6)
    pushed = reference.jacobian(robot, s.q, "tip").T @ force
    bare = reference.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    loaded = reference.inverse_dynamics(robot, s.q, s.qd, s.qdd, external={"tip": force})
    assert np.allclose(bare - loaded, pushed)
    forward = reference.forward_dynamics(robot, s.q, s.qd, s.tau, external={"tip": force})
    assert np.allclose(forward, reference.forward_dynamics(robot, s.q, s.qd, s.tau + pushed))
    hybrid, _ = reference.hybrid_dynamics(
        robot, s.q, s.qd, s.tau, s.qdd, prescribed=[], external={"tip": force}
    )
    assert np.allclose(hybrid, forward)


def test_a_point_mass_on_a_ball_joint_is_singular_in_one_direction():
    b = Builder("r")
    b.body("bob", joint=joints.Spherical(), inertia=Inertia.from_com(1.0, (0, 0, -1), np.zeros((3, 3))))
    robot = b.build()
    with pytest.raises(ModelError, match="no inertia in some direction"):
        reference.forward_dynamics(robot, [1, 0, 0, 0], [0, 0, 0], [0, 0, 0])
