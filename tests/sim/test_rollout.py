"""Gradients of roll-outs: against differences, every joint type, integrator and law, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.model import Coupling, make_robot
from hinge.model.joints import JOINT_TYPES, JointType, Spherical
from hinge.robots import chain, double_pendulum, panda, random_tree
from hinge.sim import (
    PD,
    Adaptive,
    ComputedTorque,
    GravityCompensation,
    Law,
    Midpoint,
    Prescribed,
    Rollout,
    Signal,
    Torque,
    backward,
)
from hinge.targets import PlainRunner
from tests.dynamics.loops import embedded
from tests.folding import folded
from tests.tiers import daily
from tests.trees import tree_of_all

INTEGRATORS = ("semi-implicit", "rk4", "rk5", "midpoint")
#: What rolls has no tangent space of q.
KINDS = [k for k in JOINT_TYPES if k not in ("fixed", "rolling_ball", "wheeled")]
STEPS = 7


def start_of(robot, seed=0, batch=(), steps=STEPS):
    rng = np.random.default_rng(seed)
    q0 = hinge.random_configuration(robot, rng, batch)
    return rng, q0, rng.standard_normal((*batch, robot.nv)), rng.standard_normal((*batch, steps, robot.nv))


def weights_of(roll, batch, seed=9):
    times = (len(roll.recorded),) if roll.record else ()
    return np.random.default_rng(seed).standard_normal((2, *batch, *times, roll.robot.nv))


def differs(roll, q0, qd0, tau=None, parameters=None, seed=4):
    """Return how far the change along a random direction is from that by the gradients, relative to it."""
    rng, robot = np.random.default_rng(seed), roll.robot
    base = roll(q0, qd0, tau=tau, parameters=parameters)
    batch = base.q.shape[: -2 if roll.record else -1]
    cq, cqd = weights_of(roll, batch)
    grads = roll.pull(q0, qd0, tau=tau, parameters=parameters, q=cq, qd=cqd)
    given = {"tau": tau, **(parameters or {})}
    along = {
        n: rng.standard_normal(g.shape) * (0.1 * np.abs(given[n]) if n in given else 1.0)
        for n, g in grads.items()
    }

    def change(e):
        moved = {n: x + e * along[n] for n, x in given.items() if x is not None}
        u = moved.pop("tau", None)
        end = roll(hinge.integrate(robot, q0, e * along["q"]), qd0 + e * along["qd"], tau=u, parameters=moved)
        return (cq * hinge.difference(robot, base.q, end.q)).sum() + (cqd * (end.qd - base.qd)).sum()

    h = 1e-3
    slope = sum(w * (change(k * h) - change(-k * h)) for k, w in ((1, 45), (2, -9), (3, 1))) / (60 * h)
    found = sum((grads[n] * along[n]).sum() for n in grads)
    return abs(found - slope) / max(abs(slope), 1.0)


#: All kinds of joints, a few in each tree.
TREES = [tree_of_all(4, KINDS[k : k + 4]) for k in range(0, len(KINDS), 4)]


@pytest.mark.parametrize(
    ("robot", "integrator"),
    daily(
        [(robot, rule) for robot in TREES for rule in INTEGRATORS],
        lambda k, case: case[1] == "rk4" or (k > 8 and case[1] != "rk5"),
    ),
    ids=str,
)
def test_gradients_are_differences_along_the_tangent_space(robot, integrator):
    _, q0, qd0, tau = start_of(robot, 3)
    roll = Rollout(robot, dt=2e-3, steps=STEPS, integrator=integrator)
    assert differs(roll, q0, qd0, tau) < 1e-8


@pytest.mark.parametrize("integrator", daily(INTEGRATORS, lambda _, rule: rule in ("rk4", "midpoint")))
@folded(record=[0, 1, 3], keep=[None, 1, 4, 100])
def test_weights_at_recorded_times_and_any_number_of_kept_states(integrator, record, keep):
    robot = double_pendulum()
    _, q0, qd0, tau = start_of(robot, 1, (2,))
    roll = Rollout(robot, dt=5e-3, steps=STEPS, integrator=integrator, record=record, keep=keep)
    assert differs(roll, q0, qd0, tau) < 1e-8


def ball_and_hinge():
    """Return two bodies, one on a ball joint and one on a hinge."""
    return tree_of_all(2, ["spherical", "revolute"])


def laws(robot, home):
    moved = 1.0 / np.diagonal(hinge.mass_matrix_inverse(robot, home))
    t = np.linspace(0.0, 0.05, 6)
    path = np.stack([hinge.integrate(robot, home, 0.2 * np.sin(9 * s) * np.ones(robot.nv)) for s in t])
    return {
        "constant": Torque(np.linspace(-1.0, 1.0, robot.nv)),
        "signal": Torque(Signal(t, np.sin(t)[:, None] * np.ones(robot.nv))),
        "weight": GravityCompensation(),
        "springs": PD(home, 20.0 * moved, 2.0 * moved),
        "springs and weight": PD(home, 20.0 * moved, 2.0 * moved, gravity_compensation=True),
        "springs along a path": PD(Signal(t, path), 20.0 * moved, 2.0 * moved, velocity=0.1),
        "computed torque": ComputedTorque(home, 20.0, 2.0),
    }


LAWS = tuple(laws(double_pendulum(), np.zeros(2)))


@pytest.mark.parametrize(
    ("name", "integrator"),
    daily(
        [(name, rule) for name in LAWS for rule in ("rk4", "midpoint")],
        lambda _, case: (case[1] == "rk4" and case[0] != "constant") or case[0] == "springs and weight",
    ),
)
def test_laws_of_the_package_are_pulled(name, integrator):
    robot = ball_and_hinge() if integrator == "rk4" else chain(2)
    _, q0, qd0, tau = start_of(robot, 5)
    law = laws(robot, hinge.random_configuration(robot, np.random.default_rng(8)))[name]
    roll = Rollout(robot, dt=5e-3, steps=STEPS, integrator=integrator, control=law)
    assert differs(roll, q0, 0.3 * qd0, None) < 1e-7
    assert differs(roll, q0, 0.3 * qd0, tau) < 1e-7


class Damper:
    """A user's own control: forces that stay for a step, and their gradients."""

    def __init__(self, robot, gain=2.0):
        self.robot, self.gain, self.asked = robot, gain, 0

    def __call__(self, t, q, qd):
        self.asked += 1
        return np.sin(9 * t) - self.gain * qd**3 - 0.5 * hinge.gravity_force(self.robot, q)

    def pull(self, t, q, qd, c):
        _, by = hinge.vjp("gravity_force", self.robot)(q, -0.5 * c)
        return by["q"], -3 * self.gain * qd**2 * c


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("record", [0, 2])
def test_a_function_of_ones_own_brings_its_pull(batch, record):
    robot = ball_and_hinge()
    _, q0, qd0, tau = start_of(robot, 2, batch)
    roll = Rollout(robot, dt=2e-3, steps=STEPS, control=Damper(robot), record=record)
    assert differs(roll, q0, 0.5 * qd0, tau) < 1e-7
    assert differs(roll, q0, 0.5 * qd0) < 1e-7


def test_a_function_without_a_pull_runs_and_is_refused_by_name():
    def push(t, q, qd):
        return -qd

    roll = Rollout(double_pendulum(), dt=1e-3, steps=3, control=push)
    assert np.isfinite(roll([0.1, 0.2]).q).all()
    with pytest.raises(NotImplementedError, match=r"control: push .* pull\(t, q, qd, c\)"):
        roll.pull([0.1, 0.2], q=[1.0, 0.0])


@dataclass(frozen=True, eq=False)
class Cubic(Law):
    """A user's own law: a formula at joints."""

    gain: float

    def numbers(self, robot):
        return {"gain": np.full(robot.nv, self.gain)}

    def forces(self, plant, stage):
        rows = {"qd": "qd", "gain": "qd"}
        given = {"qd": stage.qd, "gain": "gain"}
        found = {"force": stage.own("cubic")}
        call = plant.at_joints(
            "cubic", rows, {"force": "qd"}, lambda _, x: {"force": -x["gain"] * x["qd"] ** 3}, given, found
        )
        return [call], stage.own("cubic")


class Unknown(Cubic):
    """A law whose program says nothing of how it was made."""

    def forces(self, plant, stage):
        (call,), name = super().forces(plant, stage)
        return [hinge.targets.StepCall(call.program, call.given, call.found)], name


def test_a_law_of_ones_own_is_reversed_or_refused():
    robot = double_pendulum()
    _, q0, qd0, tau = start_of(robot, 2)
    assert differs(Rollout(robot, dt=2e-3, steps=STEPS, control=Cubic(0.4)), q0, qd0, tau) < 1e-8
    roll = Rollout(robot, dt=2e-3, steps=STEPS, control=Unknown(0.4))
    with pytest.raises(NotImplementedError, match=r"control: .* has no adjoint; .* plant.at_joints"):
        roll.pull(q0, qd0, q=qd0)


class OwnBall(Spherical):
    """A joint type of a user's own, which does not say how rates turn into velocities."""

    kind = "own_ball"
    unrate = JointType.unrate


def test_a_joint_type_of_ones_own_needs_nothing_more():
    arm = ball_and_hinge()
    own = [replace(j, type=OwnBall()) if j.type.kind == "spherical" else j for j in arm.joints]
    robot = make_robot("own", arm.bodies, own)
    _, q0, qd0, tau = start_of(robot, 6)
    for integrator in ("rk4", "midpoint"):
        assert differs(Rollout(robot, dt=2e-3, steps=STEPS, integrator=integrator), q0, qd0, tau) < 1e-8


@pytest.mark.parametrize("integrator", daily(["rk4", "semi-implicit", "midpoint"], lambda k, _: k == 1))
def test_gradients_by_parameters(integrator):
    robot = ball_and_hinge()
    rng, q0, qd0, tau = start_of(robot, 2, (2,))
    inertias = hinge.inertial_parameters(robot)
    friction = np.stack([0.3 + rng.random(robot.nv), np.zeros(robot.nv), rng.random(robot.nv)], axis=-1)
    roll = Rollout(robot, dt=2e-3, steps=STEPS, integrator=integrator)
    each = {
        "inertias": np.stack([inertias, 1.2 * inertias]),
        "friction": friction,
        "rotors": 0.2 + rng.random(robot.nv),
    }
    assert differs(roll, q0, qd0, tau, each) < 1e-8
    assert differs(roll, q0, qd0, tau, {"inertias": inertias}) < 1e-8


def test_gradients_by_the_robots_own_inertias_are_those_of_the_same_numbers_given():
    robot = double_pendulum()
    _, q0, qd0, tau = start_of(robot, 2, (3,), 4)
    roll = Rollout(robot, dt=2e-3, steps=4)
    own = roll.pull(q0, qd0, tau=tau, q=qd0, wrt=["inertias"])
    given = roll.pull(q0, qd0, tau=tau, q=qd0, parameters={"inertias": hinge.inertial_parameters(robot)})
    assert list(own) == ["inertias"] and own["inertias"].shape == (len(robot.bodies), 10)
    np.testing.assert_allclose(own["inertias"], given["inertias"], rtol=1e-9, atol=1e-12)


def test_external_forces_gravity_and_forces_of_joints():
    robot = ball_and_hinge()
    _, q0, qd0, tau = start_of(robot, 2)
    push = {robot.bodies[-1].name: np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])}
    roll = Rollout(robot, dt=2e-3, steps=4, external=push, gravity=[0.0, 0.0, -1.62], start=0.5)
    assert differs(roll, q0, qd0, tau[:4]) < 1e-8
    springs = [
        replace(j, stiffness=np.full(j.nv, 3.0), damping=np.full(j.nv, 0.2)) for j in ball_and_hinge().joints
    ]
    robot = make_robot("springs", robot.bodies, springs)
    _, q0, qd0, _ = start_of(robot, 2)
    with_them, without = (Rollout(robot, dt=2e-3, steps=4, passive=p) for p in (True, False))
    assert differs(with_them, q0, qd0) < 1e-8 and differs(without, q0, qd0) < 1e-8
    assert np.abs(with_them(q0, qd0).q - without(q0, qd0).q).max() > 1e-6


def test_coupled_joints_and_embedded_loops():
    arm = chain(4)
    names = [j.name for j in arm.joints]
    robot = hinge.embed_couplings(
        make_robot("coupled", arm.bodies, arm.joints, couplings=[Coupling(names[3], names[1], -0.5, 0.2)])
    )
    _, loop = embedded("four-bar")
    for made in (robot, loop):
        for integrator in ("rk4", "midpoint"):
            roll = Rollout(made, dt=2e-3, steps=STEPS, integrator=integrator)
            q0, qd0 = hinge.neutral(made), 0.4 * np.ones(made.nv)
            assert differs(roll, q0, qd0, np.ones((STEPS, made.nv))) < 1e-7


def test_a_batch_is_its_states_and_shares_add_up(monkeypatch):
    robot = ball_and_hinge()
    _, q0, qd0, tau = start_of(robot, 2, (5,))
    roll = Rollout(robot, dt=2e-3, steps=STEPS)
    whole = roll.pull(q0, qd0, tau=tau, q=qd0, qd=2 * qd0)
    monkeypatch.setattr(backward, "FEWEST", 2)
    monkeypatch.setattr(backward, "NEAR", 0)
    parts = roll.pull(q0, qd0, tau=tau, q=qd0, qd=2 * qd0)
    for n, g in whole.items():
        np.testing.assert_allclose(parts[n], g, rtol=1e-12, atol=1e-14)
    for k in range(5):
        one = roll.pull(q0[k], qd0[k], tau=tau[k], q=qd0[k], qd=2 * qd0[k])
        for n, g in one.items():
            np.testing.assert_allclose(whole[n][k], g, rtol=1e-10, atol=1e-12)
    shared = roll.pull(q0, qd0[0], tau=tau[1], q=qd0)
    apart = roll.pull(q0, np.broadcast_to(qd0[0], qd0.shape), tau=np.broadcast_to(tau[1], tau.shape), q=qd0)
    assert shared["qd"].shape == (robot.nv,) and shared["tau"].shape == (STEPS, robot.nv)
    for n in ("qd", "tau"):
        np.testing.assert_allclose(shared[n], apart[n].sum(axis=0), rtol=1e-10, atol=1e-12)
    square = roll.pull(q0[:4].reshape(2, 2, -1), qd0[:4].reshape(2, 2, -1), q=np.ones(robot.nv))
    assert square["q"].shape == (2, 2, robot.nv) and set(square) == {"q", "qd"}
    none = roll.pull(q0[:0], qd0[:0], tau=tau[:0], q=qd0[:0])
    assert none["tau"].shape == (0, STEPS, robot.nv)


def test_the_native_loop_does_what_python_does_step_by_step(monkeypatch):
    robot = ball_and_hinge()
    _, q0, qd0, tau = start_of(robot, 2, (9,))
    roll = Rollout(robot, dt=2e-3, steps=STEPS, control=GravityCompensation(), record=2)
    c = weights_of(roll, (9,))
    native = roll.pull(q0, qd0, tau=tau, q=c[0], qd=c[1])
    hinge.set_threads(2)
    threads = roll.pull(q0, qd0, tau=tau, q=c[0], qd=c[1])
    hinge.set_threads(None)
    for name in ("hinge.sim.fixed.runner", "hinge.sim.backward.runner"):
        monkeypatch.setattr(name, PlainRunner)
    plain = roll.pull(q0, qd0, tau=tau, q=c[0], qd=c[1])
    for n, g in native.items():
        np.testing.assert_array_equal(g, threads[n])
        np.testing.assert_allclose(g, plain[n], rtol=1e-13, atol=1e-14)


def test_single_precision():
    robot = ball_and_hinge()
    _, q0, qd0, tau = start_of(robot, 2, (3,))
    roll = Rollout(robot, dt=2e-3, steps=STEPS)
    double = roll.pull(q0, qd0, tau=tau, q=qd0)
    single = roll.pull(
        *(x.astype(np.float32) for x in (q0, qd0)), tau=tau.astype(np.float32), q=qd0.astype(np.float32)
    )
    for n, g in double.items():
        assert single[n].dtype == np.float32
        assert np.abs(single[n] - g).max() < 1e-4 * np.abs(g).max()


def test_a_rollout_is_a_simulation():
    robot = ball_and_hinge()
    _, q0, qd0, tau = start_of(robot, 2, (6,))
    for integrator in INTEGRATORS:
        roll = Rollout(robot, dt=1e-3, steps=20, integrator=integrator, control=np.ones(robot.nv), record=1)
        run = hinge.simulate(robot, q0, qd0, t=0.02, integrator=integrator, control=np.ones(robot.nv))
        here = roll(q0, qd0)
        np.testing.assert_array_equal(here.q, run.q)
        np.testing.assert_array_equal(here.qd, run.qd)
        np.testing.assert_allclose(roll.t, run.t, atol=1e-15)
    held = Signal(np.arange(STEPS) * 1e-3, tau, between="hold")
    run = hinge.simulate(robot, q0, qd0, t=STEPS * 1e-3, integrator="semi-implicit", control=Torque(held))
    end = Rollout(robot, dt=1e-3, steps=STEPS, integrator="semi-implicit")(q0, qd0, tau=tau)
    np.testing.assert_array_equal(end.q, run.q[:, -1])


def test_a_state_that_is_not_finite_has_no_gradient_alone():
    robot = double_pendulum()
    _, q0, qd0, _ = start_of(robot, 2, (3,))
    qd0[1] = 1e200
    grads = Rollout(robot, dt=1e-2, steps=STEPS).pull(q0, qd0, q=np.ones(2))
    assert np.isnan(grads["q"][1]).all() and np.isfinite(grads["q"][[0, 2]]).all()


def test_pulls_of_all_weights_are_the_matrix_of_changes():
    robot = ball_and_hinge()
    rng, q0, qd0, tau = start_of(robot, 2)
    roll = Rollout(robot, dt=2e-3, steps=STEPS)
    rows = [roll.pull(q0, qd0, tau=tau, q=e[: robot.nv], qd=e[robot.nv :]) for e in np.eye(2 * robot.nv)]
    d, h, base = rng.standard_normal(robot.nv), 1e-4, roll(q0, qd0, tau=tau)

    def end(e):
        found = roll(hinge.integrate(robot, q0, e * d), qd0, tau=tau)
        return np.concatenate([hinge.difference(robot, base.q, found.q), found.qd])

    slope = (8 * (end(h) - end(-h)) - (end(2 * h) - end(-2 * h))) / (12 * h)
    np.testing.assert_allclose(np.stack([r["q"] for r in rows]) @ d, slope, rtol=1e-8, atol=1e-8)


def test_memory_is_known_and_falls_with_the_states_that_are_kept():
    robot = panda()
    roll, all_kept = (Rollout(robot, dt=1e-3, steps=400, keep=k) for k in (20, None))
    # Every 20th state, 21 states of a stretch with four accelerations each, and its forces.
    assert roll.memory() == 8 * (14 * 21 + (14 + 28) * 21 + 7 * 20)
    assert all_kept.keep == 400 and all_kept.memory() > 10 * roll.memory()
    assert roll.memory(100_000) < 100_000 * 8 * 14 * 22  # tables do not grow with the batch
    assert Rollout(robot, dt=1e-3, steps=10_000).keep == 100


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"integrator": "adaptive"}, NotImplementedError, "integrator: 'adaptive' .* give 'rk4'"),
        ({"integrator": Adaptive()}, NotImplementedError, "integrator: 'adaptive'"),
        ({"integrator": "stepping"}, NotImplementedError, "integrator: 'stepping' .* contacts"),
        ({"integrator": "euler"}, ArgumentError, "integrator: expected one of"),
        ({"control": Prescribed([], 0.0)}, NotImplementedError, "control: Prescribed .* PD"),
        ({"steps": 0}, ArgumentError, "steps: expected a whole number of 1 or more, got 0"),
        ({"steps": 2.5}, ArgumentError, "steps: expected a whole number"),
        ({"keep": 0}, ArgumentError, "keep: expected a whole number of 1 or more"),
        ({"record": -1}, ArgumentError, "record: expected a whole number"),
        ({"dt": 0.0}, ArgumentError, "dt: expected a step above zero"),
    ],
)
def test_what_a_rollout_refuses(given, error, message):
    with pytest.raises(error, match=message):
        Rollout(double_pendulum(), **{"dt": 1e-3, "steps": 5, **given})([0.1, 0.2])


def test_robots_that_a_rollout_refuses():
    with pytest.raises(ArgumentError, match=r"robot: Rollout is not for joint .* rolls \(rolling_ball\)"):
        Rollout(random_tree(2, 0, ["rolling_ball"]), dt=1e-3, steps=2)
    with pytest.raises(ArgumentError, match="project: expected True or False, got 1"):
        Rollout(hinge.robots.four_bar(), dt=1e-3, steps=2, project=1)
    with pytest.raises(ArgumentError, match="q0: expected a configuration that closes"):
        Rollout(hinge.robots.four_bar(), dt=1e-3, steps=2)(np.ones(3))


def test_bad_arguments_are_named():
    roll = Rollout(double_pendulum(), dt=1e-3, steps=5)
    for given, message in (
        ({"tau": np.zeros(2)}, r"tau: expected shape \(…, 5, 2\), forces for each step, got \(2,\)"),
        ({"tau": np.zeros((4, 2))}, "tau: expected shape"),
        ({"q": np.zeros(3)}, r"q: expected shape \(…, 2\)"),
        ({"q": np.zeros((4, 2))}, r"q: expected weights of shape \(2,\), got \(4, 2\)"),
        ({"wrt": ["tau"]}, "wrt: expected names among q, qd, inertias, placements, got 'tau'"),
        ({"tau": np.zeros((3, 5, 2)), "parameters": {"inertias": np.zeros((4, 2, 10))}}, "batch"),
    ):
        with pytest.raises(ArgumentError, match=message):
            roll.pull([0.1, 0.2], **given)


def test_midpoint_converges_with_its_iterations():
    robot = chain(2)
    _, q0, qd0, tau = start_of(robot, 3)
    off = [
        differs(Rollout(robot, dt=2e-2, steps=STEPS, integrator=Midpoint(iterations=k)), q0, qd0, tau)
        for k in (2, 12)
    ]
    assert off[1] < 1e-8 < off[0]
