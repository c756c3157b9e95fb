"""Motion: against SciPy's reference, orders of accuracy, laws of nature, laws of control, and bad input."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pytest

import hinge
from hinge import sim
from hinge.errors import ArgumentError, ModelWarning, UnknownNameError
from hinge.model import Coupling, make_robot
from hinge.model.joints import SphericalAngles
from hinge.robots import chain, double_pendulum, panda, random_tree, spacecraft
from hinge.sim import PD, Adaptive, ComputedTorque, Event, GravityCompensation, Prescribed, Signal, Torque
from hinge.sim.fixed import FixedLoop
from hinge.targets import PlainRunner
from hinge.testing import random_robots
from tests.tiers import daily
from tests.trees import tree_of_all

from .reference import motion

FIXED = tuple(name for name in sim.INTEGRATORS if name != "stepping")  # which needs contacts


def state_of(robot, seed=0, batch=()):
    rng = np.random.default_rng(seed)
    count = int(np.prod(batch))
    q = np.stack([hinge.random_configuration(robot, rng) for _ in range(count)])
    return q.reshape(*batch, robot.nq), 0.5 * rng.standard_normal((*batch, robot.nv))


def trees():
    return list(random_robots(2, bodies=7, first_seed=40))


@pytest.mark.parametrize("robot", [double_pendulum(), spacecraft(), *trees()], ids=lambda r: r.name)
def test_all_integrators_lead_where_the_reference_does(robot):
    q0, qd0 = state_of(robot)
    times = np.linspace(0, 0.1, 3)
    q, qd = motion(robot, q0, qd0, times)
    bounds = {"semi-implicit": 2e-1, "midpoint": 2e-3, "rk4": 1e-7, "rk5": 1e-9, "implicit": 1e-5}
    for name in FIXED:
        run = hinge.simulate(robot, q0, qd0, t=0.1, dt=5e-4, integrator=name, record=100)
        error = max(np.abs(run.q - q).max(), np.abs(run.qd - qd).max())
        assert error < bounds[name] * max(1, np.abs(qd).max()), name
        assert run.t == pytest.approx(times)
    run = hinge.simulate(robot, q0, qd0, t=0.1, dt=0.05, integrator=Adaptive(1e-12, 1e-12))
    assert np.abs(run.q - q).max() < 1e-9
    assert np.abs(run.qd - qd).max() < 1e-9 * max(1, np.abs(qd).max())


@pytest.mark.parametrize("name", FIXED)
def test_the_error_falls_with_the_order(name):
    robot = spacecraft()
    q0, qd0 = state_of(robot)
    q, _ = motion(robot, q0, qd0, np.array([0.0, 0.4]))
    errors = [
        np.abs(hinge.simulate(robot, q0, qd0, t=0.4, dt=h, integrator=name, record=0).q[-1] - q[-1]).max()
        for h in (0.02, 0.01)
    ]
    order = np.log2(errors[0] / errors[1])
    assert order == pytest.approx(sim.INTEGRATORS[name].order, abs=0.45)


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("robot", trees()[:1], ids=lambda r: r.name)
def test_the_native_loop_does_what_python_does_step_by_step(robot, name, monkeypatch):
    q0, qd0 = state_of(robot, batch=(7,))
    samples = Signal([0.0, 0.01], np.stack([np.zeros((7, robot.nv)), np.ones((7, robot.nv))], axis=1))
    run = hinge.simulate(robot, q0, qd0, t=0.02, integrator=name, control=Torque(samples))
    monkeypatch.setattr("hinge.sim.fixed.runner", PlainRunner)
    plain = hinge.simulate(robot, q0, qd0, t=0.02, integrator=name, control=Torque(samples))
    np.testing.assert_array_equal(run.q, plain.q)
    np.testing.assert_array_equal(run.qd, plain.qd)


def test_numpy_alone_gives_the_same_motion(monkeypatch):
    robot = spacecraft()
    q0, qd0 = state_of(robot, batch=(2,))
    run = hinge.simulate(robot, q0, qd0, t=0.005)
    monkeypatch.setenv("HINGE_TARGET", "numpy")
    plain = hinge.simulate(robot, q0, qd0, t=0.005)
    np.testing.assert_allclose(run.q, plain.q, rtol=1e-13, atol=1e-13)


def test_a_batch_is_its_states_whatever_the_threads():
    robot = panda()
    q0, qd0 = state_of(robot, batch=(37,))
    try:
        hinge.set_threads(2)
        run = hinge.simulate(robot, q0, qd0, t=0.05, record=7)
        hinge.set_threads(1)
        alone = hinge.simulate(robot, q0, qd0, t=0.05, record=7)
    finally:
        hinge.set_threads(None)
    np.testing.assert_array_equal(run.q, alone.q)
    for k in (0, 17, 36):
        np.testing.assert_array_equal(hinge.simulate(robot, q0[k], qd0[k], t=0.05, record=7).q, run.q[k])
    assert run.t == pytest.approx(1e-3 * np.array([0, 7, 14, 21, 28, 35, 42, 49, 50]))


def test_batches_have_any_shape_and_may_be_empty():
    robot = double_pendulum()
    q0, qd0 = state_of(robot, batch=(2, 3))
    run = hinge.simulate(robot, q0, qd0[0, 0], t=0.01)
    assert run.q.shape == (2, 3, 11, robot.nq) and run.tau.shape == (2, 3, 11, robot.nv)
    assert run.energy.shape == (2, 3, 11)
    assert hinge.simulate(robot, q0[:0], t=0.01).q.shape == (0, 3, 11, robot.nq)
    assert hinge.simulate(robot, t=0.0).q.shape == (1, robot.nq)


@pytest.mark.parametrize(("name", "bound"), [("rk4", 2e-8), ("midpoint", 1e-3), ("adaptive", 1e-7)])
def test_energy_and_momentum_stay(name, bound):
    robot = spacecraft()
    q0, qd0 = state_of(robot)
    run = hinge.simulate(robot, q0, qd0, t=2.0, dt=2e-3, integrator=name, gravity=np.zeros(3))
    assert np.ptp(run.energy) < bound * abs(run.energy[0])
    p = hinge.momentum(robot, run.q, run.qd)
    assert np.ptp(p, axis=0).max() < bound * max(1, np.abs(p).max())
    assert np.abs(np.linalg.norm(run.q[:, :4], axis=-1) - 1).max() < 1e-12


def test_the_energy_of_the_midpoint_rule_does_not_drift():
    robot = double_pendulum()
    run = hinge.simulate(robot, [0.5, 0.3], t=60.0, dt=0.01, integrator="midpoint", record=10)
    late = run.energy[len(run.t) // 2 :].mean() - run.energy[: len(run.t) // 2].mean()
    assert abs(late) < 0.1 * np.ptp(run.energy)


STEERED = ("free", "spherical", "planar", "revolute", "prismatic", "universal", "translational")
LAWS = {
    "torque": lambda r, q: Torque(np.linspace(-1, 1, r.nv)),
    "table": lambda r, q: Torque(Signal([0.0, 0.03, 0.2], np.outer([0.0, 1.0, -1.0], np.ones(r.nv)))),
    "pd": lambda r, q: PD(q, 20.0, np.full(r.nv, 2.0)),
    "pd to a table": lambda r, q: PD(Signal([0.0, 0.2], np.stack([q, q])), 20.0, 2.0, velocity=0.1),
    "pd and gravity": lambda r, q: PD(q, 20.0, 2.0, gravity_compensation=True),
    "gravity": lambda r, q: GravityCompensation(),
    "computed torque": lambda r, q: ComputedTorque(q, 20.0, 2.0, acceleration=0.2),
    "prescribed": lambda r, q: Prescribed([r.joints[-1].name], 0.3, others=PD(q, 5.0, 1.0)),
}


#: The laws that are tried on a tree every day; the others are on the panda.
ON_TREE = ("table", "pd and gravity", "computed torque", "prescribed")
CONTROLLED = {"panda": panda(), "tree": random_tree(7, 3, STEERED)}


@pytest.mark.parametrize(
    ("name", "law"),
    daily(product(CONTROLLED, LAWS), lambda k, case: (case[0] == "tree") == (case[1] in ON_TREE)),
)
def test_compiled_laws_do_what_they_say(name, law):
    """The recorded forces, put through forward dynamics by SciPy, lead the same way."""
    robot = CONTROLLED[name]
    q0, qd0 = state_of(robot)
    target = hinge.integrate(robot, q0, 0.1 * np.ones(robot.nv))
    if not robot.joints[-1].nv:
        robot = hinge.reduce(robot)
    control = LAWS[law](robot, target)
    run = hinge.simulate(robot, q0, qd0, t=0.06, dt=1e-3, control=control)
    fine = np.linspace(0, 0.06, 61)
    follow = Signal(fine, run.tau)
    q, qd = motion(robot, q0, qd0, fine[::20], lambda t, q, qd: follow.at(np.array(t)), rtol=1e-8)
    scale = max(1.0, np.abs(run.tau).max())
    assert np.abs(run.q[::20] - q).max() < 1e-3 * scale
    assert np.abs(run.qd[::20] - qd).max() < 5e-2 * scale
    adapted = hinge.simulate(robot, q0, qd0, t=0.06, dt=0.02, control=control, integrator="adaptive")
    np.testing.assert_allclose(adapted.q, run.q[::20], rtol=1e-5, atol=1e-5)


def test_forces_of_laws():
    robot = panda()
    q0, qd0 = state_of(robot)
    run = hinge.simulate(robot, q0, 0 * qd0, t=0.05, control=GravityCompensation())
    np.testing.assert_allclose(run.q, np.broadcast_to(q0, run.q.shape), atol=1e-12)
    np.testing.assert_allclose(run.tau[0], hinge.gravity_force(robot, q0), rtol=1e-14)
    run = hinge.simulate(robot, q0, qd0, t=0.01, control=ComputedTorque(q0, 9.0, 6.0))
    wanted = 9.0 * (q0 - run.q) - 6.0 * run.qd
    np.testing.assert_allclose(hinge.forward_dynamics(robot, run.q, run.qd, run.tau), wanted, atol=1e-9)
    run = hinge.simulate(robot, q0, qd0, t=0.01, control=Prescribed(["joint4"], 0.7))
    np.testing.assert_allclose(run.qd[:, 3], qd0[3] + 0.7 * run.t, rtol=1e-12)
    np.testing.assert_allclose(hinge.forward_dynamics(robot, run.q, run.qd, run.tau)[:, 3], 0.7, rtol=1e-9)


def test_feedback_acts_along_the_difference_to_the_target():
    robot = tree_of_all(9, STEERED, rotors=False)
    (q0, qd0), target = state_of(robot), hinge.random_configuration(robot, 3)
    run = hinge.simulate(robot, q0, qd0, t=2e-3, control=PD(target, 20.0, 2.0, velocity=0.1))
    wanted = 20.0 * hinge.difference(robot, run.q, target) + 2.0 * (0.1 - run.qd)
    np.testing.assert_allclose(run.tau, wanted, rtol=1e-9, atol=1e-9)


def test_gains_by_names_of_joints():
    robot = panda()
    q0, qd0 = state_of(robot)
    kp, kd = np.zeros(7), np.ones(7)
    kp[[0, 3]] = 5.0, 7.0
    named = PD(q0 + 0.1, kp={"joint1": 5.0, "joint4": [7.0]}, kd=1.0)
    run = hinge.simulate(robot, q0, qd0, t=0.01, control=named)
    plain = hinge.simulate(robot, q0, qd0, t=0.01, control=PD(q0 + 0.1, kp, kd))
    np.testing.assert_array_equal(run.q, plain.q)
    with pytest.raises(UnknownNameError, match="'joint11'; did you mean 'joint1'"):
        hinge.simulate(robot, t=0.01, control=ComputedTorque(q0, {"joint11": 5.0}, 1.0))
    with pytest.raises(ArgumentError, match=r"kp\['joint1'\]: expected a number, or 1, .*, got 2"):
        hinge.simulate(robot, t=0.01, control=PD(q0, {"joint1": [5.0, 1.0]}, 1.0))


def test_feedback_of_rolling_joints_is_not_there():
    robot = random_tree(3, 0, ("wheeled",))
    with pytest.raises(NotImplementedError, match="feedback is not supported for wheeled joints"):
        hinge.simulate(robot, t=0.1, control=PD(hinge.neutral(robot), 1.0, 1.0))


def test_a_function_controls_once_a_step():
    robot = double_pendulum()
    asked = []

    def control(t, q, qd):
        asked.append(t)
        return -0.3 * qd

    run = hinge.simulate(robot, np.zeros((3, robot.nq)) + 1.0, t=0.01, control=control)
    assert asked == pytest.approx(1e-3 * np.arange(11))
    np.testing.assert_array_equal(run.tau, -0.3 * run.qd)
    adapted = hinge.simulate(robot, [1.0, 1.0], t=0.01, control=control, integrator="adaptive")
    np.testing.assert_allclose(adapted.q, run.q[0], atol=1e-4)


def test_external_forces_and_gravity_may_differ_from_state_to_state():
    robot = spacecraft()
    q0, qd0 = state_of(robot, batch=(3,))
    gravity = np.array([[0, 0, 0], [0, 0, -9.81], [1, 2, 3.0]])
    push = {robot.bodies[-1].name: np.arange(18.0).reshape(3, 6) / 10}
    run = hinge.simulate(robot, q0, qd0, t=0.02, gravity=gravity, external=push)
    for k in range(3):
        one = {n: f[k] for n, f in push.items()}
        q, _ = motion(robot, q0[k], qd0[k], np.array([0, 0.02]), external=one, gravity=gravity[k])
        np.testing.assert_allclose(run.q[k, -1], q[-1], atol=1e-9)
    assert run.potential_energy.shape == (3, 21)


def test_a_state_that_is_not_finite_ends_alone():
    robot = double_pendulum()
    q0 = np.zeros((5, 2))
    qd0 = np.zeros((5, 2))
    qd0[3] = 1e200
    q0[1, 0] = np.nan
    for name in (*FIXED, "adaptive"):
        run = hinge.simulate(robot, q0, qd0, t=0.02, integrator=name)
        good = hinge.simulate(robot, q0[0], qd0[0], t=0.02, integrator=name)
        assert [e.state for e in run.endings] == [(1,), (3,)], name
        assert run.endings[0].t == 0 and "finite" in run.endings[0].reason
        assert np.isnan(run.q[1, 1:]).all() and np.isnan(run.q[3, -1]).all()
        for k in (0, 2, 4):
            np.testing.assert_allclose(run.q[k], good.q, atol=1e-12)


@pytest.mark.parametrize("name", ["rk4", "adaptive"])
def test_events_are_found_to_their_tolerance(name):
    pendulum = hinge.lock(double_pendulum(), {double_pendulum().joints[-1].name: [0.0]})
    q0 = np.array([[0.4], [0.2], [0.1]])
    low = Event(lambda t, q, qd: q[..., 0], name="lowest", direction=-1)
    stop = Event(lambda t, q, qd: q[..., 0] + 0.15, name="far", terminal=True)
    run = hinge.simulate(pendulum, q0, t=1.5, dt=5e-3, integrator=name, events=[low, stop])
    found = [(h.name, h.state) for h in run.events]
    assert ("lowest", (2,)) in found and ("far", (2,)) not in found
    for hit in run.events:
        assert abs(hit.q[0] + (0.15 if hit.name == "far" else 0.0)) < 1e-8
        exact, _ = motion(pendulum, q0[hit.state[0]], np.zeros(1), np.array([0, hit.t]))
        np.testing.assert_allclose(hit.q, exact[-1], atol=2e-7)
    assert {e.state for e in run.endings} == {(0,), (1,)}
    late = run.t > run.endings[0].t
    assert np.isnan(run.q[0, late]).all() and np.isfinite(run.q[0, ~late]).all()


def test_breaking_off_keeps_what_is_there():
    robot = double_pendulum()

    def progress(done, steps):
        if done >= 40:
            raise KeyboardInterrupt

    with pytest.raises(sim.Interrupted) as broken:
        hinge.simulate(robot, t=0.1, control=lambda t, q, qd: 0 * qd, progress=progress)
    run = broken.value.run
    assert len(run.t) == 41 and run.q.shape == (41, robot.nq)
    np.testing.assert_array_equal(run.q, hinge.simulate(robot, t=0.1).q[:41])


def test_long_chains_simulate():
    robot = chain(300)
    run = hinge.simulate(robot, 0.01 * np.ones(robot.nq), t=0.003)
    q, _ = motion(robot, 0.01 * np.ones(robot.nq), np.zeros(robot.nv), np.array([0, 0.003]), rtol=1e-8)
    np.testing.assert_allclose(run.q[-1], q[-1], atol=1e-7)


def test_the_loop_is_native_where_it_can_be():
    robot = double_pendulum()
    job = sim.job.Job(
        sim.job.Moving(Torque(0.0), None, sim.plant.Plant(robot)), None, None, (0.1, 1e-3, 0.0), 1
    )
    loop = FixedLoop(job, sim.INTEGRATORS["rk4"], ())
    assert type(loop.runner).__name__ == "NativeRunner"


BAD = [
    ({"t": -1.0}, "t: expected a number of seconds, not negative, got -1.0"),
    ({"t": np.inf}, "t: expected a number of seconds, not negative, got inf"),
    ({"t": "1"}, "t: expected a number of seconds, not negative, got '1'"),
    ({"t": 1e300}, "t: expected at most 1e.15 steps of dt = 0.001, got 1e.300 seconds"),
    ({"t": 1, "dt": 1e-300}, "t: expected at most 1e.15 steps of dt = 1e-300, got 1 seconds; give a shorter"),
    ({"t": 1, "dt": 5e-324}, "t: expected at most 1e.15 steps of dt"),
    (
        {"t": 1e9, "q0": np.zeros((200_000, 2))},
        "record: expected recorded states that fit into memory, .* GB",
    ),
    ({"t": 1, "q0": np.broadcast_to(np.zeros(2), (2**50, 2))}, "record: expected .* fit into memory"),
    ({"t": 1, "dt": 0}, "dt: expected a step above zero, such as 1e-3, got 0"),
    ({"t": 1, "record": -1}, "record: expected 1 for every step, n for every n-th, or 0, got -1"),
    ({"t": 1, "integrator": "euler"}, "integrator: expected one of 'semi-implicit', .*, got 'euler'"),
    ({"t": 1, "control": np.zeros(3)}, r"tau: expected shape \(…, 2\), got"),
    (
        {"t": 1, "control": np.zeros((4, 2))},
        r"tau: expected the batch \(\) of .*, got the batch \(4,\); .* np.broadcast_to\(q0, \(4, 2\)\)",
    ),
    (
        {"t": 1, "control": [PD(np.zeros(2), 1, 1), np.cos]},
        "control: expected one law .*, got several; .* sum",
    ),
    ({"t": 1, "control": lambda t, q, qd: np.zeros(5)}, r"control: expected shape \(…, 2\), got"),
    ({"t": 1, "q0": np.zeros(5)}, r"q0: expected shape \(…, 2\), got"),
    ({"t": 1, "events": [3]}, "events: expected Event values or .*, got 3"),
    ({"t": 1, "control": PD(np.zeros(5), 1, 1)}, r"target: expected shape \(…, 2\), got"),
    ({"t": 1, "control": PD(np.zeros(2), np.ones(3), 1)}, r"kp: expected shape \(…, 2\), got"),
    ({"t": 1, "control": Prescribed("a", 0.0)}, "joints: expected a list of joint names, got the string 'a'"),
    (
        {"t": 1, "control": Torque(Signal([0, 1], np.zeros((4, 2, 2))))},
        "tau: expected samples for 1 states, got 4",
    ),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input_is_named(given, message):
    with pytest.raises(ArgumentError, match=message.replace("[", r"\[")):
        hinge.simulate(double_pendulum(), **given)


def test_bad_parts_are_named():
    with pytest.raises(ArgumentError, match="times: expected finite, increasing numbers"):
        Signal([1, 0], np.zeros((2, 3)))
    with pytest.raises(ArgumentError, match=r"values: expected shape .* with T = 2, got \(3, 3\)"):
        Signal([0, 1], np.zeros((3, 3)))
    with pytest.raises(ArgumentError, match=r"states come first: give np.swapaxes\(values, 0, 1\)"):
        Signal([0, 1], np.zeros((2, 5, 3)))
    with pytest.raises(ArgumentError, match="values: expected numbers"):
        Signal([0, 1], "ab")
    with pytest.raises(ArgumentError, match=r"kp\['joint1'\]: expected a number, .*, got 'x'"):
        PD(np.zeros(2), {"joint1": "x"}, 1.0)
    with pytest.raises(ArgumentError, match="kd: expected names of joints, got 3"):
        PD(np.zeros(2), 1.0, {3: 1.0})
    with pytest.raises(ArgumentError, match=r"kp: expected numbers that are constant, got a Signal"):
        PD(np.zeros(2), Signal([0], [[1, 1]]), 1.0)
    with pytest.raises(ArgumentError, match="between: expected 'linear' or 'hold', got 'cubic'"):
        Signal([0, 1], np.zeros((2, 3)), "cubic")
    with pytest.raises(ArgumentError, match="direction: expected 1, −1 or 0, got 2"):
        Event(lambda t, q, qd: q, direction=2)
    with pytest.raises(ArgumentError, match=r"rtol: expected a number from 0 to 1, .*, got -1"):
        Adaptive(rtol=-1)
    with pytest.raises(UnknownNameError, match="no joint 'nobody'"):
        hinge.simulate(double_pendulum(), t=1, control=Prescribed(["nobody"], 0.0))
    with pytest.raises(ArgumentError, match=r"expected shape .*, got"):
        hinge.simulate(double_pendulum(), t=1, events=lambda t, q, qd: q)


def test_joints_have_forces_of_their_own():
    plain = double_pendulum()
    rubbing = dataclasses.replace(plain.joints[-1], damping=0.4, friction=0.1, stiffness=2.0)
    robot = make_robot("rubbing", plain.bodies, [*plain.joints[:-1], rubbing])
    q0, qd0 = state_of(robot)
    times = np.array([0.0, 0.3])
    own = lambda t, q, qd: hinge.passive_force(robot, q, qd)  # noqa: E731
    q, _ = motion(robot, q0, qd0, times, own)
    for name in ("rk4", "adaptive"):
        run = hinge.simulate(robot, q0, qd0, t=0.3, integrator=name, record=0)
        np.testing.assert_allclose(run.q[-1], q[-1], atol=1e-7)
    free = hinge.simulate(robot, q0, qd0, t=0.3, passive=False)
    np.testing.assert_array_equal(free.q, hinge.simulate(plain, q0, qd0, t=0.3).q)
    run = hinge.simulate(robot, q0, qd0, t=0.01, control=ComputedTorque(q0, 9.0, 6.0))
    found = hinge.forward_dynamics(robot, run.q, run.qd, run.tau, passive=True)
    np.testing.assert_allclose(found, 9.0 * (q0 - run.q) - 6.0 * run.qd, atol=1e-9)


def test_springs_keep_energy():
    plain = double_pendulum()
    sprung = dataclasses.replace(plain.joints[-1], stiffness=5.0, rest=0.4)
    robot = make_robot("sprung", plain.bodies, [*plain.joints[:-1], sprung])
    run = hinge.simulate(robot, [0.3, -0.2], t=1.0)
    assert np.ptp(run.elastic_energy) > 0.1
    assert np.ptp(run.energy) < 1e-9 * np.abs(run.energy).max()
    assert not hinge.simulate(robot, t=0.01, passive=False).elastic_energy.any()


def test_coupled_joints_move_together():
    arm = chain(4)
    names = [j.name for j in arm.joints]
    robot = hinge.embed_couplings(
        make_robot("coupled", arm.bodies, arm.joints, couplings=[Coupling(names[3], names[1], -0.5, 0.2)])
    )
    q0, qd0 = state_of(robot)
    run = hinge.simulate(robot, q0, qd0, t=0.5)
    assert run.q.shape[-1] == robot.nq == arm.nq - 1
    assert np.ptp(run.energy) < 1e-6 * np.abs(run.energy).max()
    q, _ = motion(robot, q0, qd0, np.array([0.0, 0.5]))
    np.testing.assert_allclose(run.q[-1], q[-1], atol=1e-7)


def test_functions_may_be_asked_for_long():
    robot = double_pendulum()
    run = hinge.simulate(robot, [0.1, 0.1], t=0.7, control=lambda t, q, qd: -qd, events=lambda t, q, qd: q[0])
    assert len(run.t) == 701 and run.events and not run.endings


def test_an_event_of_one_state_sees_one_state():
    def low(t, q, qd):
        assert np.shape(t) == () and q.shape == (2,) and qd.shape == (2,)
        return q[0] - 0.25

    for name in ("rk4", "adaptive"):
        event = Event(low, terminal=True)
        run = hinge.simulate(double_pendulum(), [0.3, 0.0], t=1.0, dt=0.01, integrator=name, events=event)
        assert len(run.events) == 1
        assert run.t[-1] <= run.events[0].t < run.t[-1] + 0.01 and np.isfinite(run.q).all()


def test_breaking_off_keeps_the_last_state_though_none_is_recorded():
    def progress(done, steps):
        if done >= 30:
            raise KeyboardInterrupt

    with pytest.raises(sim.Interrupted) as broken:
        control = lambda t, q, qd: -qd  # noqa: E731
        hinge.simulate(double_pendulum(), [1.0, 0.0], t=0.1, control=control, progress=progress, record=0)
    run = broken.value.run
    assert run.t == pytest.approx([0.0, 0.03]) and run.tau.shape == (2, 2)
    whole = hinge.simulate(double_pendulum(), [1.0, 0.0], t=0.1, control=control)
    np.testing.assert_array_equal(run.q[-1], whole.q[30])


def test_what_is_no_start_or_law_is_named():
    with pytest.raises(
        ArgumentError, match=r"expected a unit quaternion for joint .* normalise its four numbers"
    ):
        hinge.simulate(spacecraft(), np.zeros(spacecraft().nq), t=0.1)
    with pytest.raises(ArgumentError, match=r"control: expected forces or a law .*, got the string 'hold'"):
        hinge.simulate(double_pendulum(), t=0.1, control="hold")
    with pytest.raises(ArgumentError, match=r"control: expected a law, got the class GravityCompensation"):
        hinge.simulate(double_pendulum(), t=0.1, control=GravityCompensation)
    with pytest.raises(ArgumentError, match=r"gravity: expected three finite numbers"):
        hinge.simulate(double_pendulum(), t=0.1, gravity=[0, 0, np.nan])


def test_memory_that_is_not_there_names_record(monkeypatch):
    def none(*_, **__):
        raise MemoryError("Unable to allocate 1.02 TiB")

    monkeypatch.setattr(sim.job.Job, "_make_room", none)
    with pytest.raises(ArgumentError, match="record: expected recorded states that fit into memory"):
        hinge.simulate(double_pendulum(), t=0.1)


def test_a_notebook_shows_a_run():
    plain = double_pendulum()
    robot = dataclasses.replace(plain, name="<script>alert(1)</script>")
    run = hinge.simulate(robot, [[0.3, 0.1], [np.nan, 0.0]], t=0.1, events=lambda t, q, qd: q[..., 0] - 0.295)
    page = run._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page
    assert page.count("<polyline") == 2 and "ended early" in page and "events" in page
    assert "nan" not in page.split("<svg")[1]
    for other in (hinge.simulate(plain, t=0.0), hinge.simulate(plain, np.zeros((0, 2)), t=0.1)):
        assert "<table>" in other._repr_html_() and "<svg" not in other._repr_html_()
    long = hinge.simulate(chain(12), t=0.01)._repr_html_()
    assert long.count("<polyline") == 8 and "the first 8 of 12" in long


def test_a_start_near_a_lock_is_told_in_one_line():
    b = hinge.Builder("turning")
    for name, parent in (("top", None), ("next", "top")):
        b.body(
            name, parent=parent, joint=SphericalAngles(), inertia=hinge.robots.solid_box(1.0, (0.1, 0.2, 0.3))
        )
    robot = b.build()
    good, near, lost = np.full(6, 0.3), np.full(6, 0.3), np.full(6, np.nan)
    near[1] = np.pi / 2 - 1e-5
    hinge.simulate(robot, [good, lost], t=0.01)  # no warning, which would be an error here
    hinge.simulate(robot, np.empty((0, 6)), t=0.01)
    for start in (near, [good, near, lost]):
        with pytest.warns(
            ModelWarning, match=r"^q0: joint 'top.*': its axes line up to within .*\]$"
        ) as said:
            hinge.simulate(robot, start, t=0.01)
        assert [(w.filename, w.message.problem.condition) for w in said] == [(__file__, "axes independent")]
    near[4] = near[1]
    with pytest.warns(ModelWarning, match=r"\(and 1 more\)$") as said:
        hinge.simulate(robot, near, t=0.01)
    assert len(said) == 1 and len(hinge.check(robot, near)) == 2
