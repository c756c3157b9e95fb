"""Numbers of the model of their own for states, live robots, and single precision."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.model import (
    assemble,
    friction_parameters,
    inertial_parameters,
    placement_parameters,
    with_parameters,
)
from hinge.robots import double_pendulum, panda, spacecraft
from hinge.sim import (
    PD,
    Adaptive,
    ComputedTorque,
    Event,
    Prescribed,
    Signal,
    Torque,
    load_run,
    resume,
    save_run,
)
from hinge.spatial import Inertia
from hinge.targets import PlainRunner, code_made

from .reference import motion


def rubbing():
    plain = panda()
    joints = [
        dataclasses.replace(j, damping=0.2, friction=0.1, stiffness=1.5) if j.nv else j for j in plain.joints
    ]
    return assemble("rubbing", plain.bodies, joints)


def sets_of(robot, count, seed=0):
    rng = np.random.default_rng(seed)
    place = np.tile(placement_parameters(robot), (count, 1, 1))
    place[..., 4:] *= 1 + 0.1 * rng.random((count, 1, 1))
    return {
        "inertias": inertial_parameters(robot) * (1 + 0.3 * rng.random((count, 1, 1))),
        "placements": place,
        "rotors": robot.reflected_inertia + 0.1 * rng.random((count, robot.nv)),
        "friction": friction_parameters(robot) * (1 + rng.random((count, 1, 3))),
    }


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_every_state_moves_by_its_own_numbers(integrator):
    robot = rubbing()
    rng = np.random.default_rng(1)
    q0, qd0 = hinge.random_configuration(robot, 2, 3), 0.5 * rng.standard_normal((3, robot.nv))
    given = sets_of(robot, 3)
    run = hinge.simulate(robot, q0, qd0, t=0.02, integrator=integrator, parameters=given, record=10)
    for k in range(3):
        own = with_parameters(robot, **{n: x[k] for n, x in given.items()})
        alone = hinge.simulate(own, q0[k], qd0[k], t=0.02, integrator=integrator, record=10)
        np.testing.assert_allclose(run.q[k], alone.q, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(run.qd[k], alone.qd, rtol=1e-7, atol=1e-7)
        for energy in ("kinetic_energy", "potential_energy", "elastic_energy"):
            np.testing.assert_allclose(getattr(run, energy)[k], getattr(alone, energy), rtol=1e-6)


@pytest.mark.parametrize("name", ["inertias", "placements", "rotors", "friction"])
def test_one_set_serves_all_states(name):
    robot = rubbing()
    q0 = hinge.random_configuration(robot, 2, 3)
    one = sets_of(robot, 1)[name][0]
    run = hinge.simulate(robot, q0, t=0.01, parameters={name: one})
    own = hinge.simulate(with_parameters(robot, **{name: one}), q0, t=0.01)
    np.testing.assert_allclose(run.q, own.q, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(run.energy, own.energy, rtol=1e-7)


def test_new_sets_compile_nothing():
    robot = panda()
    q0 = hinge.random_configuration(robot, 2, 8)
    given = inertial_parameters(robot)
    hinge.simulate(robot, q0, t=0.01, parameters={"inertias": given})
    before = code_made()
    hinge.simulate(robot, q0, t=0.01, parameters={"inertias": np.tile(1.1 * given, (8, 1, 1))})
    assert code_made() == before


def test_laws_know_the_robot_as_it_was_built():
    robot = panda()
    q0 = hinge.random_configuration(robot, 4)
    heavy = {"inertias": 1.2 * inertial_parameters(robot)}
    law = ComputedTorque(q0, 9.0, 6.0)
    run = hinge.simulate(robot, q0, t=0.01, control=law, parameters=heavy)
    np.testing.assert_allclose(run.tau[0], hinge.gravity_force(robot, q0), rtol=1e-9, atol=1e-9)
    assert np.abs(run.qd[-1]).max() > 1e-3
    held = hinge.simulate(robot, q0, t=0.01, control=Prescribed(["joint4"], 0.7), parameters=heavy)
    np.testing.assert_allclose(held.qd[:, 3], 0.7 * held.t, rtol=1e-9, atol=1e-12)


def test_runs_with_numbers_of_their_own_are_kept_and_go_on(tmp_path):
    robot = rubbing()
    q0, given = hinge.random_configuration(robot, 2, 2), sets_of(robot, 2)
    whole = hinge.simulate(robot, q0, t=0.02, parameters=given)
    half = hinge.simulate(robot, q0, t=0.01, parameters=given)
    for name in ("a.npz", "a.parquet"):
        found = load_run(save_run(half, tmp_path / name))
        np.testing.assert_array_equal(found.energy, half.energy)
        np.testing.assert_array_equal(resume(found, t=0.01).q, whole.q)


BAD = [
    ({"inertia": np.zeros(3)}, "parameters: expected names among .*, got 'inertia'"),
    ({"inertias": np.zeros((3, 10))}, r"inertias: expected shape \(…, 2, 10\), got"),
    ({"rotors": np.zeros(5)}, r"rotors: expected shape \(…, 2\), got"),
    ({"rotors": np.zeros((4, 2))}, r"rotors: expected the batch \(.*, got the batch \(4,\); give q0"),
    (["inertias"], "parameters: expected a dict of arrays .*, got list"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_parameters_are_named(given, message):
    with pytest.raises(ArgumentError, match=message):
        hinge.simulate(double_pendulum(), t=0.1, parameters=given)


def test_friction_needs_passive_forces():
    robot = double_pendulum()
    with pytest.raises(ArgumentError, match="expected no 'friction' with passive=False"):
        hinge.simulate(robot, t=0.1, passive=False, parameters={"friction": np.zeros((2, 3))})
    damped = np.array([[0.5, 0, 0], [0.5, 0, 0]])
    run = hinge.simulate(robot, [0.4, 0.2], t=0.5, parameters={"friction": damped})
    assert run.energy[-1] < run.energy[0] - 1e-3


# Live robots.


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_a_live_robot_moves_with_what_it_holds(integrator):
    robot = panda()
    load = Inertia.from_com(2.0, np.array([0.0, 0.02, 0.1]), 0.01 * np.eye(3))
    live = hinge.Live(robot).grasp("tool", robot.bodies[-1].name, load).freeze(["joint2"])
    q0 = hinge.random_configuration(robot, 3)
    push = lambda t, q, qd: 5.0 + 0 * qd  # noqa: E731
    run = hinge.simulate(live, q0, t=0.02, dt=1e-3, control=push, integrator=integrator)
    assert np.ptp(run.q[:, 1]) == 0.0
    q, qd = q0, np.zeros(robot.nv)
    qdd = live.forward_dynamics(q, qd, 5.0 * np.ones(robot.nv))
    np.testing.assert_allclose(run.qd[1], 1e-3 * qdd, rtol=2e-2, atol=1e-4)
    free = hinge.simulate(live.thaw(["joint2"]), q0, t=0.02, integrator=integrator)
    heavy = hinge.simulate(robot, q0, t=0.02, integrator=integrator, parameters={"inertias": live.inertias})
    np.testing.assert_allclose(free.q, heavy.q, rtol=1e-9, atol=1e-9)
    assert np.ptp(free.energy) < 1e-5 * np.abs(free.energy).max()
    with pytest.raises(NotImplementedError, match="Prescribed is not supported for Live robots"):
        hinge.simulate(live, q0, t=0.02, control=Prescribed(["joint4"], 0.0))
    with pytest.raises(NotImplementedError, match="a run of a Live robot"):
        resume(run, t=0.01)
    with pytest.raises(ArgumentError, match="no 'inertias' for a Live robot"):
        hinge.simulate(live, q0, t=0.02, parameters={"inertias": live.inertias})


# Single precision.


def single(*arrays):
    return [np.asarray(x, np.float32) for x in arrays]


CONTROLS = {
    "none": lambda q: None,
    "force": lambda q: np.linspace(-1, 1, 7).astype(np.float32),
    "pd": lambda q: PD(q.astype(np.float32), 20.0, 2.0, gravity_compensation=True),
    "computed torque": lambda q: ComputedTorque(q.astype(np.float32), 20.0, 2.0),
    "signal": lambda q: Torque(Signal([0.0, 0.05], np.zeros((2, 7), np.float32))),
    "function": lambda q: lambda t, q, qd: -qd,
}


@pytest.mark.parametrize("integrator", ["rk4", "midpoint", "adaptive"])
@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("count", [1, 37])
def test_single_precision_stays_single(count, control, integrator):
    robot = panda()
    q0, qd0 = single(hinge.random_configuration(robot, 2, count), np.zeros((count, 7)))
    law = CONTROLS[control](q0)
    run = hinge.simulate(robot, q0, qd0, t=0.02, dt=2e-3, control=law, integrator=integrator)
    assert {x.dtype for x in (run.q, run.qd, run.tau)} == {np.dtype(np.float32)} and run.t.dtype == np.float64
    wide = hinge.simulate(robot, q0.astype(float), qd0, t=0.02, dt=2e-3, control=law, integrator="rk4")
    assert wide.q.dtype == np.float64
    np.testing.assert_allclose(run.q, wide.q, atol=5e-4)  # the adaptive one asks more often


def test_single_precision_without_native_code(monkeypatch):
    robot = spacecraft()
    q0 = hinge.random_configuration(robot, 2, 3).astype(np.float32)
    native = hinge.simulate(robot, q0, t=0.005)
    monkeypatch.setattr("hinge.sim.fixed.runner", PlainRunner)
    np.testing.assert_array_equal(hinge.simulate(robot, q0, t=0.005).q, native.q)
    monkeypatch.setenv("HINGE_TARGET", "numpy")
    plain = hinge.simulate(robot, q0, t=0.005)
    assert plain.q.dtype == np.float32
    np.testing.assert_allclose(plain.q, native.q, atol=1e-5)


def test_single_precision_has_events_parameters_and_files(tmp_path):
    robot = double_pendulum()
    q0 = np.array([[0.3, 0.0], [0.4, 0.0]], np.float32)
    inertias = inertial_parameters(robot).astype(np.float32)
    event = Event(lambda t, q, qd: q[..., 0] - 0.25, terminal=True)
    run = hinge.simulate(robot, q0, t=1.0, dt=0.01, parameters={"inertias": inertias}, events=event)
    assert run.q.dtype == np.float32 and len(run.events) == 2 and abs(run.events[0].q[0] - 0.25) < 1e-5
    for name in ("a.npz", "a.parquet"):
        found = load_run(save_run(run, tmp_path / name))
        assert found.q.dtype == np.float32
        np.testing.assert_array_equal(found.q, run.q)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_single_precision_stays_single_when_a_run_goes_on(suffix, tmp_path):
    robot, q0 = double_pendulum(), np.array([[0.5, 0.1], [0.2, 0.3]], np.float32)
    sets = np.tile(inertial_parameters(robot), (2, 1, 1)) * np.array([1.0, 1.3])[:, None, None]
    single = sets.astype(np.float32)
    for given in (single, single.tolist()):  # a list leaves the precision to the states
        whole = hinge.simulate(robot, q0, t=0.2, dt=0.01, parameters={"inertias": given})
        half = hinge.simulate(robot, q0, t=0.1, dt=0.01, parameters={"inertias": given})
        read = load_run(save_run(half, tmp_path / f"half.{suffix}"))
        assert np.array_equal(read.energy, half.energy)
        for run in (half, read):
            longer = resume(run, t=0.1)
            assert longer.q.dtype == np.float32 and np.array_equal(longer.q, whole.q)


def test_a_run_keeps_its_numbers_when_the_caller_changes_theirs():
    robot = double_pendulum()
    given = inertial_parameters(robot).copy()
    run = hinge.simulate(robot, [0.5, 0.1], t=0.01, parameters={"inertias": given})
    given[:] = 0.0
    assert abs(run.energy[-1] - run.energy[0]) < 1e-9 < abs(run.energy[0])


def test_one_double_array_makes_all_double():
    robot, q0 = double_pendulum(), np.zeros(2, np.float32)
    assert hinge.simulate(robot, q0, t=0.01).q.dtype == np.float32
    assert hinge.simulate(robot, qd0=q0, t=0.01).q.dtype == np.float32
    assert hinge.simulate(robot, t=0.01).q.dtype == np.float64
    assert hinge.simulate(robot, q0, np.zeros(2), t=0.01).q.dtype == np.float64
    assert hinge.simulate(robot, q0, t=0.01, gravity=np.zeros(3)).q.dtype == np.float64
    assert hinge.simulate(robot, q0, t=0.01, control=np.zeros(2)).q.dtype == np.float64
    assert hinge.simulate(robot, q0, t=0.01, control=PD(q0, np.ones(2), 1.0)).q.dtype == np.float64
    with pytest.raises(ArgumentError, match="integrator: expected rtol of 1e-6 at least for float32 states"):
        hinge.simulate(robot, q0, t=0.01, integrator=Adaptive(1e-9))


def test_the_reference_agrees_with_parameters():
    robot = double_pendulum()
    own = with_parameters(robot, inertias=1.3 * inertial_parameters(robot), rotors=[0.1, 0.2])
    q0, qd0 = np.array([0.4, -0.2]), np.array([0.1, 0.3])
    q, _ = motion(own, q0, qd0, np.array([0.0, 0.1]))
    given = {"inertias": 1.3 * inertial_parameters(robot), "rotors": np.array([0.1, 0.2])}
    np.testing.assert_allclose(
        hinge.simulate(robot, q0, qd0, t=0.1, parameters=given).q[-1], q[-1], atol=1e-9
    )
