"""Robots with embedded loops against the cut robot, dense projections, and the laws of mechanics."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import dynamics, reference
from hinge.errors import ArgumentError, ModelError, ModelWarning
from hinge.io.robot_json import from_json, to_json
from hinge.model import Joint, SoftFinger, assemble, fingerprint, inertial_parameters, joints
from hinge.sim import PD
from hinge.spatial import matvec
from hinge.targets import has_llvm
from hinge.testing.laws import Dynamics, check_laws
from tests.dynamics.loops import CASES, Looped, closed_start, embedded, four_bar, leg, platform, seven

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(autouse=True)
def numpy_unless_told(monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "numpy")


@pytest.fixture(scope="module", params=CASES)
def pair(request):
    return embedded(request.param)


@pytest.fixture(scope="module")
def case():
    return Looped(*embedded("leg"), 5, (2,))


def spread(full, robot, x):
    """Return forces on the independent joints as forces on all of them."""
    found = np.zeros((*x.shape[:-1], full.nv))
    for j in robot.rated:
        found[..., full.joint(j.name).qd_slice] = x[..., j.qd_slice]
    return found


def gathered(full, robot, x):
    """Return the rates of the independent joints."""
    return np.concatenate([x[..., full.joint(j.name).qd_slice] for j in robot.rated], axis=-1)


# Cut and embedded.


def test_accelerations_are_those_of_the_cut_robot(pair):
    full, robot = pair
    s = Looped(full, robot, 3, (4,)).state
    q, qd = hinge.carry_state(robot, full, s.q, s.qd)
    assert np.abs(hinge.closure_velocity(full, q, qd)).max() < 1e-12
    cut = hinge.closed_dynamics(full, q, qd, spread(full, robot, s.tau))
    found = hinge.forward_dynamics(robot, s.q, s.qd, s.tau)
    wanted = gathered(full, robot, cut.qdd)
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(cut.qdd).max()
    assert robot.nq == full.nq and robot.nv == full.nv - len(cut.forces[0]) + dropped(full)


def dropped(full):
    return len(hinge.mobility(full, closed_start(full, seed=1)).redundant)


def test_inverse_and_forward_dynamics_are_projections(pair):
    case = Looped(*pair, 4, (3,))
    s, robot = case.state, case.robot
    assert_allclose(hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd), case.forces(s.qdd), **CLOSE)
    assert_allclose(hinge.forward_dynamics(robot, s.q, s.qd, s.tau), case.accelerations(s.tau), **CLOSE)


@pytest.mark.skipif(not has_llvm(), reason="llvmlite is not there")
def test_the_native_target(monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "llvm")
    case = Looped(*embedded("six-bar"), 2, (5,))
    s = case.state
    assert_allclose(hinge.forward_dynamics(case.robot, s.q, s.qd, s.tau), case.accelerations(s.tau), **CLOSE)


def test_a_platform_on_three_legs():
    full = platform()
    near = hinge.configuration(full, {"free": [1, 0, 0, 0, 0, 0, 0.7], **{f"p{k}": 0.7 for k in range(3)}})
    s = np.linspace(-1, 1, 6)
    for chosen in (["free"], ["u0", "p0", "u1", "p2"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            robot = hinge.embed_loops(full, near=near, independent=chosen)
        q = robot.loops[0].home
        at, qd = hinge.carry_state(robot, full, q, s)
        cut = hinge.closed_dynamics(full, at, qd, np.zeros(full.nv))
        found = hinge.forward_dynamics(robot, q, s, np.zeros(6))
        assert_allclose(found, gathered(full, robot, cut.qdd), rtol=1e-9, atol=1e-9)
        moved = hinge.integrate(robot, q, 0.1 * s)
        assert np.abs(hinge.closure_error(full, moved)).max() < 1e-12
        assert_allclose(np.linalg.norm(moved[robot.joint("free").q_slice][:4]), 1.0, atol=1e-14)


def test_rotors_springs_dampers_and_friction_of_dependent_joints():
    physics = {"damping": 0.3, "friction": 0.1, "friction_speed": 0.1, "stiffness": 2.0, "rest": 0.4}
    plain = four_bar()
    made = [replace(j, rotor_inertia=0.02, gear_ratio=3.0, **physics) for j in plain.joints]
    full = assemble("physical", plain.bodies, made, frames=plain.frames, closures=plain.closures)
    case = Looped(full, hinge.embed_loops(full), 1, (3,))
    s, robot = case.state, case.robot
    cut = hinge.closed_dynamics(full, case.q, case.qd, spread(full, robot, s.tau), passive=True)
    found = hinge.forward_dynamics(robot, s.q, s.qd, s.tau, passive=True)
    assert_allclose(found, gathered(full, robot, cut.qdd), rtol=1e-12)
    force = hinge.passive_force(case.tree, case.q, case.qd)
    assert_allclose(hinge.passive_force(robot, s.q, s.qd), case.narrow(force), **CLOSE)
    assert_allclose(hinge.elastic_energy(robot, s.q), hinge.elastic_energy(case.tree, case.q), **CLOSE)


def test_costs_of_both_ways():
    found = hinge.loop_costs(embedded("leg")[1])
    assert found.opened < found.embedded < found.cut
    assert "embedded is less" in str(found) and str(found.cut) in str(found)


# All verbs.


def test_forces_on_bodies_and_gravity(case):
    s, robot = case.state, case.robot
    given = {"external": {"foot": np.ones(6), "heel": np.arange(6.0)}, "gravity": [0.3, 2.0, -5.0]}
    assert_allclose(
        hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, **given), case.forces(s.qdd, **given), **CLOSE
    )
    found = hinge.forward_dynamics(robot, s.q, s.qd, s.tau, **given)
    assert_allclose(found, case.accelerations(s.tau, **given), **CLOSE)
    assert_allclose(hinge.bias_force(robot, s.q, s.qd), case.forces(0 * s.qdd), **CLOSE)
    weight = case.narrow(reference.inverse_dynamics(case.tree, case.q, *np.zeros((2, case.full.nv))))
    assert_allclose(hinge.gravity_force(robot, s.q), weight, **CLOSE)
    assert_allclose(hinge.coriolis_force(robot, s.q, s.qd), case.forces(0 * s.qdd) - weight, **CLOSE)


@pytest.mark.parametrize("expressed", ["body", "world", "world-aligned"])
def test_kinematics(case, expressed):
    s, robot, tree = case.state, case.robot, case.tree
    frames, how = ["foot", "link_tip", "thigh"], {"expressed": expressed}
    full = np.stack([reference.jacobian(tree, case.q, f, **how) for f in frames], axis=-3)
    bias = np.stack([reference.jacobian_bias(tree, case.q, case.qd, f, **how) for f in frames], axis=-2)
    bias = bias + matvec(full, case.ahead[..., None, :])
    j = full @ case.g[..., None, :, :]
    v, a = (matvec(j, x[..., None, :]) for x in (s.qd, s.qdd))
    assert_allclose(hinge.jacobian(robot, s.q, "foot", **how), j[..., 0, :, :], **CLOSE)
    assert_allclose(hinge.jacobian_bias(robot, s.q, s.qd, "foot", **how), bias[..., 0, :], **CLOSE)
    assert_allclose(hinge.velocities(robot, s.q, s.qd, frames, **how), v, **CLOSE)
    assert_allclose(hinge.accelerations(robot, s.q, s.qd, s.qdd, frames, **how), a + bias, **CLOSE)


def test_energies_momentum_and_centre_of_mass(case):
    s, robot, tree, q, qd = case.state, case.robot, case.tree, case.q, case.qd
    assert_allclose(hinge.kinetic_energy(robot, s.q, s.qd), reference.kinetic_energy(tree, q, qd), **CLOSE)
    assert_allclose(hinge.momentum(robot, s.q, s.qd), reference.momentum(tree, q, qd), **CLOSE)
    assert_allclose(hinge.potential_energy(robot, s.q), reference.potential_energy(tree, q), **CLOSE)
    assert_allclose(hinge.center_of_mass(robot, s.q), reference.center_of_mass(tree, q), **CLOSE)


def test_factors_of_the_mass_matrix(case):
    s, robot, m = case.state, case.robot, case.mass
    assert_allclose(hinge.mass_matrix(robot, s.q), m, **CLOSE)
    assert_allclose(hinge.mass_matrix_inverse(robot, s.q), np.linalg.inv(m), **CLOSE)
    assert_allclose(
        hinge.mass_solve(robot, s.q, s.tau), np.linalg.solve(m, s.tau[..., None])[..., 0], **CLOSE
    )
    assert_allclose(hinge.log_determinant(robot, s.q), np.linalg.slogdet(m)[1], **CLOSE)
    root = hinge.mass_root(robot, s.q)
    assert_allclose(root @ np.swapaxes(root, -1, -2), m, **CLOSE)
    factors = hinge.mass_factors(robot, s.q)
    assert_allclose(factors.factor @ factors.diagonal @ np.swapaxes(factors.factor, -1, -2), m, **CLOSE)
    x = hinge.quasi_velocities(robot, s.q, s.qd)
    assert_allclose(hinge.from_quasi_velocities(robot, s.q, x), s.qd, **CLOSE)


def test_operational_space(case):
    frames = ["foot", "link"]
    j = np.concatenate([reference.jacobian(case.tree, case.q, f) @ case.g for f in frames], axis=-2)
    wanted = j @ np.linalg.solve(case.mass, np.swapaxes(j, -1, -2))
    found = hinge.operational_inverse_inertia(case.robot, case.state.q, frames)
    assert_allclose(found.reshape(wanted.shape), wanted, **CLOSE)


def test_hybrid_dynamics(case):
    s, robot = case.state, case.robot
    forces = case.forces(s.qdd)
    every = [j.name for j in robot.rated]
    qdd, tau = hinge.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=every)
    assert_allclose(tau, forces, **CLOSE)
    qdd, tau = hinge.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=["front", "base"])
    assert_allclose(qdd[..., robot.joint("front").qd_slice], s.qdd[..., robot.joint("front").qd_slice])
    assert_allclose(hinge.inverse_dynamics(robot, s.q, s.qd, qdd), tau, **CLOSE)
    masks = np.random.default_rng(3).random((2, robot.nv)) < 0.5
    qdd, tau = hinge.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=masks)
    assert_allclose(hinge.inverse_dynamics(robot, s.q, s.qd, qdd), tau, **CLOSE)
    assert_allclose(np.where(masks, s.qdd, s.tau), np.where(masks, qdd, tau), **CLOSE)
    with pytest.raises(ArgumentError, match="independent joints of the loop"):
        hinge.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=["knee"])
    live = hinge.Live(robot).freeze(["front"])
    assert live.frozen == ("front",)
    stopped = s.qd * ~live.held
    assert_allclose(live.forward_dynamics(s.q, stopped, s.tau)[..., live.held], 0.0)


def test_inertial_parameters(case):
    s, robot = case.state, case.robot
    y = hinge.inertial_regressor(robot, s.q, s.qd, s.qdd)
    assert_allclose(y @ inertial_parameters(robot).ravel(), case.forces(s.qdd), **CLOSE)
    f = dynamics.compile("forward_dynamics", robot, parameters=["inertias"])
    found = f(s.q, s.qd, tau=s.tau, inertias=inertial_parameters(robot))
    assert_allclose(found, case.accelerations(s.tau), **CLOSE)
    with pytest.raises(NotImplementedError, match="release_loops"):
        dynamics.compile("forward_dynamics", robot, parameters=["placements"])
    with pytest.raises(NotImplementedError, match="release_loops"):
        hinge.friction_parameters(robot)


def test_what_single_bodies_have_is_refused(case):
    s, robot = case.state, case.robot
    with pytest.raises(NotImplementedError, match="release_loops"):
        hinge.filter_quantities(robot, s.q, s.qd, s.tau)
    with pytest.raises(NotImplementedError, match="release_loops"):
        reference.mass_matrix(robot, s.q)


def test_on_a_base_that_moves():
    case = Looped(*embedded("slider-crank"), 5, (2,))
    s, robot = case.state, case.robot
    base = hinge.BaseMotion(
        angular_velocity=[0.3, -0.5, 0.2],
        angular_acceleration=[1.0, 0.1, -0.4],
        acceleration=[0.2, 0.7, -1.0],
    )
    full = hinge.inverse_dynamics(case.tree, case.q, case.qd, case.wide(s.qdd) + case.ahead, base=base)
    tau = hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, base=base)
    assert_allclose(tau, case.narrow(full), **CLOSE)
    assert_allclose(hinge.forward_dynamics(robot, s.q, s.qd, tau, base=base), s.qdd, **CLOSE)


def test_inverse_kinematics():
    robot = embedded("four-bar")[1]
    goal = hinge.forward_kinematics(robot, hinge.configuration(robot, {"q1": 0.8}), "coupler_tip").position
    found = hinge.inverse_kinematics(robot, "coupler_tip", goal, q0=hinge.neutral(robot))
    assert found.converged.all()
    assert hinge.check(robot, found.q) == []


def test_a_cut_closure_beside_an_embedded_loop():
    full = leg()
    inside = hinge.embed_loops(full)
    q = hinge.random_configuration(inside, 2)
    place = hinge.forward_kinematics(inside, q, "foot").position
    held = {"joint": joints.Spherical(), "name": "ground", "position": place}
    cut, robot = (hinge.close(r, None, "foot", **held) for r in (full, inside))
    rng = np.random.default_rng(0)
    qd = hinge.settle(robot, q, rng.standard_normal(robot.nv))
    tau = rng.standard_normal(robot.nv)
    found = hinge.closed_dynamics(robot, q, qd, tau)
    at, rates = hinge.carry_state(inside, full, q, qd)
    wanted = hinge.closed_dynamics(cut, at, rates, spread(full, robot, tau))
    assert_allclose(found.qdd, gathered(full, robot, wanted.qdd), **CLOSE)
    assert_allclose(found.forces, wanted.forces[-3:], **CLOSE)


# Laws and motion.


VERBS = Dynamics(
    hinge.inverse_dynamics,
    hinge.forward_dynamics,
    hinge.mass_matrix,
    hinge.kinetic_energy,
    hinge.potential_energy,
    hinge.momentum,
)


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "leg", "six-bar"])
def test_laws_of_mechanics(name):
    check_laws(embedded(name)[1], seed=2, dynamics=VERBS)


@pytest.mark.parametrize("integrator", ["rk4", "midpoint"])
def test_energy_is_kept_and_loops_stay_closed(integrator):
    robot = embedded("four-bar")[1]
    run = hinge.simulate(robot, hinge.neutral(robot), [0.5], t=0.4, dt=0.002, integrator=integrator)
    error = {"rk4": 1e-9, "midpoint": 1e-4}[integrator]
    assert np.ptp(run.energy) < error * np.abs(run.energy).max()
    assert np.abs(hinge.closure_error(hinge.release_loops(robot), run.q)).max() < 1e-13


def test_feedback_of_independent_joints():
    robot = embedded("leg")[1]
    target = hinge.integrate(robot, hinge.neutral(robot), hinge.velocity(robot, {"front": 0.3}))
    law = PD(target, kp={"front": 200.0}, kd={"front": 10.0})
    run = hinge.simulate(
        robot, hinge.neutral(robot), np.zeros(robot.nv), t=0.5, dt=0.002, control=law, gravity=[0, 0, 0]
    )
    at = robot.joint("front").q_slice
    assert_allclose(run.q[-1, at], target[at], atol=0.05)
    with pytest.raises(ArgumentError, match="moves by itself"):
        hinge.simulate(
            robot, target, np.zeros(robot.nv), t=0.1, dt=0.01, control=PD(target, {"knee": 1.0}, 0.0)
        )


def test_a_start_that_is_open_is_refused():
    robot = embedded("four-bar")[1]
    with pytest.raises(ArgumentError, match="closes loop 'pin'"):
        hinge.simulate(robot, hinge.neutral(robot) + 0.1, [0.0], t=0.1, dt=0.01)


# The model.


def test_configurations():
    full, robot = embedded("leg")
    q = hinge.random_configuration(robot, 1, (3,))
    v = 0.2 * np.random.default_rng(0).standard_normal((3, robot.nv))
    assert np.abs(hinge.closure_error(full, q)).max() < 1e-12
    there = hinge.integrate(robot, q, v)
    assert np.abs(hinge.closure_error(full, there)).max() < 1e-12
    assert_allclose(hinge.difference(robot, q, there), v, atol=1e-12)
    at = hinge.configuration(robot, {"front": 0.3, "ankle": 1.0})
    assert np.abs(hinge.closure_error(full, at)).max() < 1e-6
    assert_allclose(at[robot.joint("front").q_slice], 0.3)
    assert hinge.velocity(robot, {"front": 2.0})[robot.joint("front").qd_slice] == 2.0
    with pytest.raises(ArgumentError, match="rates of their own"):
        hinge.velocity(robot, {"knee": 1.0})
    assert robot.lower.shape == (robot.nq,) and robot.velocity_limit.shape == (robot.nv,)


def test_states_go_there_and_back(pair):
    full, robot = pair
    s = Looped(full, robot, 1, (2,)).state
    q, qd = hinge.carry_state(robot, full, s.q, s.qd)
    back = hinge.carry_state(full, robot, q, qd)
    assert_allclose(back[0], s.q, atol=1e-15)
    assert_allclose(back[1], s.qd, atol=1e-15)


def test_it_is_data(pair):
    full, robot = pair
    again = from_json(to_json(robot))
    assert fingerprint(again) == fingerprint(robot) != fingerprint(full)
    assert fingerprint(hinge.release_loops(robot)) == fingerprint(full)
    assert robot.loops[0].independent[0] in hinge.describe(robot).split("embedded loop")[-1]
    assert hinge.check(robot, hinge.neutral(robot)) == []


def test_merging_and_other_edits():
    robot = embedded("four-bar")[1]
    both = hinge.merge(robot, robot, prefix="b_")
    assert (both.nq, both.nv) == (6, 2) and both.loops[1].independent == ("b_q1",)
    q, qd, tau = np.tile(hinge.neutral(robot), 2), np.array([0.3, 0.3]), np.array([1.0, 1.0])
    one = hinge.forward_dynamics(robot, q[:3], qd[:1], tau[:1])
    assert_allclose(hinge.forward_dynamics(both, q, qd, tau), np.tile(one, 2), rtol=1e-12)
    with pytest.raises(ModelError, match="release_loops"):
        hinge.lock(robot, {"q1": 0.0})


# What is refused, and told beforehand.


def test_coordinates_that_cannot_be_independent():
    with pytest.raises(ArgumentError, match=r"1 independent rates .* 2 rates; use \['q1'\]"):
        hinge.embed_loops(four_bar(), independent=["q1", "q2"])
    with pytest.raises(ArgumentError, match="got 'hip', in none"):
        hinge.embed_loops(leg(), independent=["hip"])
    with pytest.raises(ArgumentError, match="do not determine the others"):
        hinge.embed_loops(idle(), independent=["spin"])
    assert hinge.embed_loops(idle(), independent=["q1"]).loops[0].independent == ("q1",)


def idle():
    """Return a four-bar with a joint in its loop that closures hold still."""
    robot = four_bar()
    made = [replace(j, parent="stand") if j.name == "q3" else j for j in robot.joints]
    stand = replace(robot.bodies[0], name="stand")
    made.append(Joint("spin", joints.Revolute((1.0, 0.0, 0.0)), None, "stand"))
    return assemble("idle", [*robot.bodies, stand], made, frames=robot.frames, closures=robot.closures)


def test_dead_centres_are_told_and_give_nan():
    with pytest.warns(ModelWarning, match="dead centre near q3"):
        robot = hinge.embed_loops(four_bar(), independent=["q3"])
    stretched = hinge.configuration(hinge.embed_loops(four_bar()), {"q2": 0.0})
    found = hinge.forward_dynamics(robot, stretched, [0.1], [0.0])
    assert not np.isfinite(found).all() or np.abs(found).max() > 1e6
    beyond = hinge.integrate(robot, hinge.neutral(robot), [3.0])
    assert np.isnan(beyond).all()


def test_closures_that_cannot_be_embedded():
    plain = hinge.opened(four_bar())
    soft = hinge.close(plain, "coupler_tip", "rocker_tip", joint=SoftFinger(), name="soft")
    with pytest.raises(ArgumentError, match=r"soft finger .*keep it cut"):
        hinge.embed_loops(soft)
    with pytest.raises(ArgumentError, match="which has none"):
        hinge.embed_loops(plain)
    rigid = hinge.close(plain, "coupler_tip", "rocker_tip", name="weld")
    with pytest.raises(ArgumentError, match=r"cannot move|closes"):
        hinge.embed_loops(rigid)
    with pytest.raises(ArgumentError, match="near: expected"):
        hinge.embed_loops(four_bar(lengths=(0.3, 0.9, 0.7, 3.0)), near=np.zeros(3))


def test_seven_hinges_with_chosen_joints():
    full, q = seven(joints.Fixed(), 1)
    with pytest.warns(ModelWarning):
        robot = hinge.embed_loops(full, near=q, independent=["j3"])
    case = Looped(full, robot, 1, (2,))
    s = case.state
    assert_allclose(hinge.forward_dynamics(robot, s.q, s.qd, s.tau), case.accelerations(s.tau), **CLOSE)
