"""Verbs on robots whose coupled joints follow, against the projection of the robot with all coordinates."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import dynamics, reference
from hinge.binding import bind
from hinge.dynamics.expressions import CATALOGUE
from hinge.model import embed_couplings, inertial_parameters, make_robot, with_inertial_parameters
from hinge.robots import random_tree
from hinge.spatial import matvec
from hinge.targets import has_llvm
from hinge.targets.dense import system_of
from tests.dynamics.coupled import MIXED, Projected, coupled, random_coupled
from tests.dynamics.partitions import dense, held_by

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


#: The bodies that the bodies of the tree hang on.
PARENTS = (None, "body0", "body1", "body1", "body3", "body1", "body0")


def tree(*couplings, kinds=("revolute", "prismatic", "screw"), seed=2):
    robot = random_tree(len(PARENTS), seed, kinds)
    hung = [replace(robot.joint(f"joint{k}"), parent=p) for k, p in enumerate(PARENTS)]
    return coupled(make_robot("tree", robot.bodies, hung, frames=robot.frames), *couplings)


CASES = {
    "siblings": lambda: tree(("joint3", "joint2", -0.7, 0.2)),
    "ancestor and descendant": lambda: tree(("joint4", "joint1", 1.3, 0.0)),
    "descendant leads": lambda: tree(("joint0", "joint4", 0.5, -0.3)),
    "parent and child": lambda: tree(("joint1", "joint0", -1.0, 0.0)),
    "across branches": lambda: tree(("joint4", "joint5", 2.0, 0.1)),
    "a chain of couplings": lambda: tree(("joint4", "joint3", -2.0, 0.1), ("joint6", "joint4", 0.5, 0.2)),
    "sets that overlap": lambda: tree(("joint4", "joint2", 1.0, 0.0), ("joint3", "joint5", -1.0, 0.4)),
    "a set inside another one's path": lambda: tree(
        ("joint4", "joint0", 1.5, 0.0), ("joint1", "joint3", 1, 0)
    ),
    "everything moves together": lambda: tree(*((f"joint{k}", "joint0", 0.3 * k, 0.1) for k in range(1, 7))),
    "a joint that stands still": lambda: tree(("joint3", "joint2", 0.0, 0.6)),
    "several coordinates in between": lambda: random_coupled(8, 9, kinds=MIXED, share=1.0),
    "floating": lambda: random_coupled(7, 3),
}


@pytest.fixture(params=CASES)
def case(request):
    return Projected(CASES[request.param](), 4, (3,))


@pytest.fixture(autouse=True)
def numpy_unless_told(monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "numpy")


def test_inverse_and_forward_dynamics_are_projections(case):
    s, robot = case.state, case.robot
    assert robot.nv < case.full.nv
    assert_allclose(hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd), case.forces(s.qdd), **CLOSE)
    assert_allclose(hinge.forward_dynamics(robot, s.q, s.qd, s.tau), case.accelerations(s.tau), **CLOSE)


def test_the_reference_adds_into_shared_rows(case):
    s, robot = case.state, case.robot
    assert_allclose(reference.inverse_dynamics(robot, s.q, s.qd, s.qdd), case.forces(s.qdd), **CLOSE)
    assert_allclose(reference.mass_matrix(robot, s.q), case.mass, **CLOSE)
    for body in robot.body_names:
        j = reference.jacobian(case.full, case.q, body) @ case.g
        assert_allclose(reference.jacobian(robot, s.q, body), j, **CLOSE)
    with pytest.raises(NotImplementedError, match="not supported for robots with embedded couplings"):
        reference.forward_dynamics(robot, s.q, s.qd, s.tau)


OVERLAP = CASES["sets that overlap"]()


@pytest.mark.parametrize("batch", [(), (5,), (3, 4), (0,)])
def test_every_shape_of_batch(batch):
    case = Projected(OVERLAP, 1, batch)
    case.__dict__["robot"] = CASE.robot  # compiled once
    s = case.state
    tau = hinge.inverse_dynamics(case.robot, s.q, s.qd, s.qdd)
    assert tau.shape == (*batch, case.robot.nv)
    assert_allclose(tau, case.forces(s.qdd), **CLOSE)
    assert_allclose(hinge.forward_dynamics(case.robot, s.q, s.qd, tau), s.qdd, **CLOSE)


@pytest.mark.skipif(not has_llvm(), reason="llvmlite is not there")
@pytest.mark.parametrize("name", ["sets that overlap", "several coordinates in between"])
def test_the_native_target(name, monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "llvm")
    case = Projected(CASES[name](), 2, (4,))
    s = case.state
    assert_allclose(hinge.inverse_dynamics(case.robot, s.q, s.qd, s.qdd), case.forces(s.qdd), **CLOSE)
    assert_allclose(hinge.forward_dynamics(case.robot, s.q, s.qd, s.tau), case.accelerations(s.tau), **CLOSE)


CASE = Projected(OVERLAP, 5, (2,))


def test_forces_on_bodies_and_gravity():
    s, robot = CASE.state, CASE.robot
    given = {"external": {"body4": np.ones(6), "tip": np.arange(6.0)}, "gravity": [0.3, 2.0, -5.0]}
    assert_allclose(hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, **given), CASE.forces(s.qdd, **given))
    wanted = CASE.accelerations(s.tau, **given)
    assert_allclose(hinge.forward_dynamics(robot, s.q, s.qd, s.tau, **given), wanted, **CLOSE)
    assert_allclose(hinge.bias_force(robot, s.q, s.qd), CASE.forces(0 * s.qdd), **CLOSE)
    weight = CASE.narrow(reference.inverse_dynamics(CASE.full, CASE.q, *np.zeros((2, CASE.full.nv))))
    assert_allclose(hinge.gravity_force(robot, s.q), weight, **CLOSE)
    assert_allclose(hinge.coriolis_force(robot, s.q, s.qd), CASE.forces(0 * s.qdd) - weight, **CLOSE)


@pytest.mark.parametrize("expressed", ["body", "world", "world-aligned"])
def test_kinematics(expressed):
    s, robot, full, q, qd = CASE.state, CASE.robot, CASE.full, CASE.q, CASE.wide(CASE.state.qd)
    frames, how = ["tip", "body4", "body2"], {"expressed": expressed}
    j = np.stack([reference.jacobian(full, q, f, **how) @ CASE.g for f in frames], axis=-3)
    bias = np.stack([reference.jacobian_bias(full, q, qd, f, **how) for f in frames], axis=-2)
    v, a = (matvec(j, x[..., None, :]) for x in (s.qd, s.qdd))
    assert_allclose(hinge.jacobian(robot, s.q, "body4", **how), j[..., 1, :, :], **CLOSE)
    assert_allclose(hinge.jacobian_bias(robot, s.q, s.qd, "body4", **how), bias[..., 1, :], **CLOSE)
    assert_allclose(hinge.velocities(robot, s.q, s.qd, frames, **how), v, **CLOSE)
    assert_allclose(hinge.accelerations(robot, s.q, s.qd, s.qdd, frames, **how), a + bias, **CLOSE)


def test_placements():
    found = hinge.forward_kinematics(CASE.robot, CASE.state.q)
    wanted = reference.forward_kinematics(CASE.full, CASE.q)
    for x, y in zip(found, wanted, strict=True):
        assert_allclose(x.matrix(), y.matrix(), **CLOSE)


def test_energies_momentum_and_centre_of_mass():
    s, robot, full, q, qd = CASE.state, CASE.robot, CASE.full, CASE.q, CASE.wide(CASE.state.qd)
    assert_allclose(hinge.kinetic_energy(robot, s.q, s.qd), reference.kinetic_energy(full, q, qd), **CLOSE)
    assert_allclose(hinge.momentum(robot, s.q, s.qd), reference.momentum(full, q, qd), **CLOSE)
    assert_allclose(hinge.potential_energy(robot, s.q), reference.potential_energy(full, q), **CLOSE)
    assert_allclose(hinge.center_of_mass(robot, s.q), reference.center_of_mass(full, q), **CLOSE)


def test_factors_of_the_mass_matrix():
    s, robot, m = CASE.state, CASE.robot, CASE.mass
    assert_allclose(hinge.mass_matrix(robot, s.q), m, **CLOSE)
    assert_allclose(hinge.mass_matrix_inverse(robot, s.q), np.linalg.inv(m), **CLOSE)
    assert_allclose(hinge.mass_times(robot, s.q, s.tau), (m @ s.tau[..., None])[..., 0], **CLOSE)
    assert_allclose(
        hinge.mass_solve(robot, s.q, s.tau), np.linalg.solve(m, s.tau[..., None])[..., 0], **CLOSE
    )
    assert_allclose(hinge.log_determinant(robot, s.q), np.linalg.slogdet(m)[1], **CLOSE)
    root = hinge.mass_root(robot, s.q)
    assert_allclose(root @ np.swapaxes(root, -1, -2), m, **CLOSE)
    factors = hinge.mass_factors(robot, s.q)
    whole = factors.factor @ factors.diagonal @ np.swapaxes(factors.factor, -1, -2)
    assert_allclose(whole, m, **CLOSE)
    x = hinge.quasi_velocities(robot, s.q, s.qd)
    assert_allclose(hinge.from_quasi_velocities(robot, s.q, x), s.qd, **CLOSE)


def test_operational_space():
    s, robot = CASE.state, CASE.robot
    frames = ["tip", "body2"]
    j = np.concatenate([reference.jacobian(CASE.full, CASE.q, f) @ CASE.g for f in frames], axis=-2)
    wanted = j @ np.linalg.solve(CASE.mass, np.swapaxes(j, -1, -2))
    found = hinge.operational_inverse_inertia(robot, s.q, frames)
    assert_allclose(found.reshape(wanted.shape), wanted, **CLOSE)


def test_hybrid_dynamics():
    s, robot = CASE.state, CASE.robot
    for names in (["joint1", "joint2"], ["joint6"], ["joint4"]):
        held = held_by(robot, names)
        wanted = dense(robot, s, held)
        found = hinge.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=names)
        for x, y in zip(found, wanted, strict=True):
            assert_allclose(x, y, **CLOSE)
    masks = np.random.default_rng(3).random((2, robot.nv)) < 0.5
    found = hinge.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=masks)
    for x, y in zip(found, dense(robot, s, masks), strict=True):
        assert_allclose(x, y, **CLOSE)


def test_inertial_parameters():
    s, robot = CASE.state, CASE.robot
    y = hinge.inertial_regressor(robot, s.q, s.qd, s.qdd)
    for k in range(3):
        other = inertial_parameters(random_tree(len(PARENTS), k + 5))
        changed = Projected(with_inertial_parameters(CASE.full, other), 5, (2,))
        wanted = changed.forces(s.qdd) - robot.reflected_inertia * s.qdd
        assert_allclose(y @ other.ravel(), wanted, **CLOSE)
    f = dynamics.compile("forward_dynamics", robot, parameters=["inertias"])
    found = f(s.q, s.qd, tau=s.tau, inertias=inertial_parameters(robot))
    assert_allclose(found, CASE.accelerations(s.tau), **CLOSE)


def test_the_dense_target_agrees():
    s, robot = CASE.state, CASE.robot
    inputs = {
        "q": s.q[0],
        "qd": s.qd[0],
        "tau": s.tau[0],
        "g": [0, 0, 0, *(-robot.gravity)],
        "f_ext": np.zeros(0),
    }
    found = system_of(bind(robot), inputs).evaluate(CATALOGUE["forward_dynamics"])
    assert_allclose(found, CASE.accelerations(s.tau)[0], **CLOSE)


def test_what_single_bodies_have_is_refused():
    s, robot = CASE.state, CASE.robot
    with pytest.raises(NotImplementedError, match="release_couplings"):
        hinge.filter_quantities(robot, s.q, s.qd, s.tau)
    with pytest.raises(NotImplementedError, match="release_couplings"):
        dynamics.compile({"P": hinge.algebra.H @ hinge.algebra.M @ hinge.algebra.H.T}, robot)


def test_inverse_kinematics():
    robot = embed_couplings(tree(("joint4", "joint2", 1.0, 0.0), kinds=("revolute",)))
    goal = hinge.forward_kinematics(robot, hinge.random_configuration(robot, 3), "tip").position
    found = hinge.inverse_kinematics(robot, "tip", goal)
    assert found.converged.all()
    assert_allclose(hinge.forward_kinematics(robot, found.q, "tip").position, goal, atol=1e-5)


def test_bodies_that_can_be_merged_are():
    made = (random_coupled(10, seed, kinds=MIXED, share=0.8) for seed in range(12, 1000))
    full = next(r for r in made if r.couplings and any(j.nv == 0 for j in r.joints[1:]))
    f = dynamics.compile("inverse_dynamics", embed_couplings(full), target="numpy")
    assert len(f.binding.places) < len(full.bodies)
    assert len(f.binding.tree) < len(f.binding.places)


def test_joints_are_frozen_at_run_time():
    s, robot = CASE.state, CASE.robot
    live = hinge.Live(robot).freeze(["joint4"])
    assert set(live.frozen) == {"joint2", "joint4"}  # joint4 follows joint2
    found = live.forward_dynamics(s.q, s.qd * ~live.held, s.tau)
    at = replace(s, qd=s.qd * ~live.held, qdd=0 * s.qdd)
    assert_allclose(found, dense(robot, at, live.held)[0], **CLOSE)


def test_on_a_base_that_moves():
    s, robot = CASE.state, CASE.robot
    turning = {"angular_velocity": [0.3, -0.5, 0.2], "angular_acceleration": [1.0, 0.1, -0.4]}
    base = hinge.BaseMotion(**turning, acceleration=[0.2, 0.7, -1.0])
    full = hinge.inverse_dynamics(CASE.full, CASE.q, CASE.wide(s.qd), CASE.wide(s.qdd), base=base)
    tau = hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, base=base)
    assert_allclose(tau, CASE.narrow(full), **CLOSE)
    assert_allclose(hinge.forward_dynamics(robot, s.q, s.qd, tau, base=base), s.qdd, **CLOSE)
