"""Functions of Python in the loop: the same bits as laws, whatever is recorded, by one plan."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import sim
from hinge.errors import ArgumentError
from hinge.robots import double_pendulum, panda
from hinge.sim import PD, Event, Signal, Torque
from hinge.targets import PlainRunner


def states_of(robot, count, seed=3):
    rng = np.random.default_rng(seed)
    q = np.stack([hinge.random_configuration(robot, rng) for _ in range(count)])
    return q, 0.5 * rng.standard_normal((count, robot.nv))


def assert_same(one, other):
    for name in ("t", "q", "qd", "tau"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert [(e.state, e.t, e.reason) for e in one.endings] == [
        (e.state, e.t, e.reason) for e in other.endings
    ]


@pytest.mark.parametrize("record", [1, 3, 7, 0])
@pytest.mark.parametrize("count", [None, 1, 3, 150])
@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit"])
def test_a_function_that_returns_a_constant_force_gives_the_same_bits(integrator, count, record):
    robot = panda()
    q0, qd0 = states_of(robot, count or 1)
    if count is None:
        q0, qd0 = q0[0], qd0[0]
    force = np.linspace(-2.0, 3.0, robot.nv)
    given = {"t": 0.02, "record": record, "integrator": integrator}
    constant = hinge.simulate(robot, q0, qd0, control=force, **given)
    assert_same(hinge.simulate(robot, q0, qd0, control=lambda t, q, qd: force, **given), constant)
    wide = np.broadcast_to(force, qd0.shape).copy()
    assert_same(hinge.simulate(robot, q0, qd0, control=lambda t, q, qd: wide, **given), constant)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_function_gives_the_same_bits_in_several_chunks_and_threads(threads):
    robot = panda()
    q0, qd0 = states_of(robot, 700)
    force = np.random.default_rng(1).standard_normal(qd0.shape)
    try:
        hinge.set_threads(threads)
        asked = hinge.simulate(robot, q0, qd0, t=0.005, record=2, control=lambda t, q, qd: force)
        constant = hinge.simulate(robot, q0, qd0, t=0.005, record=2, control=force)
    finally:
        hinge.set_threads(None)
    assert_same(asked, constant)


def test_a_function_held_for_a_step_is_a_law_that_holds():
    robot = panda()
    q0, qd0 = states_of(robot, 5)
    times = 1e-3 * np.arange(31)
    values = np.random.default_rng(2).standard_normal((5, 31, robot.nv))
    held = Torque(Signal(times - 1e-9, values, "hold"))

    def control(t, q, qd):
        return values[:, round(t / 1e-3)]

    one = hinge.simulate(robot, q0, qd0, t=0.03, integrator="semi-implicit", control=control)
    other = hinge.simulate(robot, q0, qd0, t=0.03, integrator="semi-implicit", control=held)
    assert_same(one, other)


@pytest.mark.parametrize("events", [False, True])
def test_states_that_end_early_end_the_same_way(events):
    robot = double_pendulum()
    q0, qd0 = np.zeros((40, 2)), np.zeros((40, 2))
    q0[:, 0] = np.linspace(0.1, 1.0, 40)
    qd0[7] = 1e200
    q0[9, 1] = np.nan
    watched = Event(lambda t, q, qd: q[..., 0] - 0.05, terminal=True) if events else None
    given = {"t": 0.5, "dt": 5e-3, "record": 3, "events": watched}
    asked = hinge.simulate(robot, q0, qd0, control=lambda t, q, qd: np.zeros_like(qd), **given)
    free = hinge.simulate(robot, q0, qd0, **given)
    for name in ("t", "q", "qd"):
        np.testing.assert_array_equal(getattr(asked, name), getattr(free, name))
    assert asked.endings == free.endings and len(asked.endings) > (5 if events else 1)
    for one, other in zip(asked.events, free.events, strict=True):
        assert (one.t, one.state) == (other.t, other.state)
        np.testing.assert_array_equal(one.q, other.q)


def test_signals_last_beyond_their_tables(monkeypatch):
    robot = panda()
    q0, qd0 = states_of(robot, 3)
    times = np.linspace(0, 0.05, 6)
    wave = Signal(times, np.sin(np.arange(3 * 6 * 7.0)).reshape(3, 6, 7))
    law = PD(q0, 30.0, 3.0, velocity=wave)
    whole = hinge.simulate(robot, q0, qd0, t=0.05, control=law)
    monkeypatch.setattr("hinge.sim.fixed.TABLE_STEPS", 7)
    assert_same(hinge.simulate(robot, q0, qd0, t=0.05, control=law), whole)
    watched = hinge.simulate(robot, q0, qd0, t=0.05, control=law, events=lambda t, q, qd: q[..., 0] - 9.0)
    assert_same(watched, whole)
    monkeypatch.setattr("hinge.sim.fixed.runner", PlainRunner)
    assert_same(hinge.simulate(robot, q0, qd0, t=0.05, control=law), whole)


def test_events_with_signals_are_located():
    robot = double_pendulum()
    push = Signal([0.0, 0.5], np.array([[0.0, 0.0], [5.0, 0.0]]))
    both = Signal([0.0, 0.5], np.tile(push.values, (2, 1, 1)))
    event = Event(lambda t, q, qd: q[..., 0] - 0.195, terminal=True)
    one = hinge.simulate(robot, [0.2, 0.1], t=0.5, control=Torque(push), events=event)
    two = hinge.simulate(robot, [[0.2, 0.1]] * 2, t=0.5, control=Torque(both), events=event)
    assert one.events and abs(one.events[0].q[0] - 0.195) < 1e-9
    assert [h.t for h in two.events] == [one.events[0].t] * 2


def test_a_function_may_keep_and_change_what_it_is_given():
    robot, kept = double_pendulum(), []

    def control(t, q, qd):
        kept.append((q, qd))
        found = -0.3 * qd
        q[...], qd[...] = 7.0, 7.0
        return found

    run = hinge.simulate(robot, [1.0, 0.5], t=0.01, control=control)
    same = hinge.simulate(robot, [1.0, 0.5], t=0.01, control=lambda t, q, qd: -0.3 * qd)
    assert_same(run, same)
    assert len({id(q) for q, _ in kept}) == len(kept)


def test_an_interrupted_function_keeps_whole_steps():
    robot = double_pendulum()

    def control(t, q, qd):
        if t > 0.0205:
            raise KeyboardInterrupt
        return -qd

    with pytest.raises(sim.Interrupted) as broken:
        hinge.simulate(robot, [1.0, 0.0], t=0.1, control=control, record=4)
    run = broken.value.run
    whole = hinge.simulate(robot, [1.0, 0.0], t=0.02, control=lambda t, q, qd: -qd, record=1)
    assert run.t == pytest.approx([0, 0.004, 0.008, 0.012, 0.016, 0.020, 0.021])
    np.testing.assert_array_equal(run.q[:6], whole.q[::4])


@pytest.mark.parametrize("count", [1, 300])
def test_a_plan_is_made_once_for_all_steps(count, monkeypatch):
    """Not in every step, which took a hundred times as long as the step."""
    native_steps = pytest.importorskip("hinge.targets.llvm.native_steps")
    made, words = [], native_steps._Plan._words
    monkeypatch.setattr(native_steps._Plan, "_words", lambda plan, at: made.append(at) or words(plan, at))
    robot = panda()
    q0, _ = states_of(robot, count)
    try:
        hinge.set_threads(1)
        wave = Signal([0.0, 0.1], np.zeros((2, 7)))
        hinge.simulate(
            robot, q0, t=0.05, control=lambda t, q, qd: -qd, events=lambda t, q, qd: q[..., 0] - 9.0
        )
        assert len(made) == 4
        hinge.simulate(robot, q0, t=0.05, control=Torque(wave), events=lambda t, q, qd: q[..., 0] - 9.0)
        assert len(made) == 8
    finally:
        hinge.set_threads(None)


def test_an_event_that_knows_all_states_is_told_that_it_gets_some():
    event = Event(lambda t, q, qd: q[..., 0] - np.array([0.1, 0.0]), "own")
    with pytest.raises(
        ArgumentError, match=r"event 'own': expected shape \(1,\) .*; it is asked for some states"
    ):
        hinge.simulate(double_pendulum(), [[0.2, 0.1], [0.3, 0.0]], t=1.5, dt=0.01, events=event)


def test_an_event_that_returns_a_part_of_the_state_is_found():
    event = Event(lambda t, q, qd: q[..., 0])
    run = hinge.simulate(double_pendulum(), [[0.2, 0.1], [0.3, 0.0]], t=1.5, dt=0.01, events=event)
    assert {h.state for h in run.events} == {(0,), (1,)}
