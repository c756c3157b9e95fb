"""Simulations of embedded loops that go on beyond the dead centres of their independent rates.

The cut robot, which has no dead centres, is the oracle: the same motion, energy, events, forces.
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge.errors import ArgumentError, ModelWarning
from hinge.model import inertial_parameters
from hinge.sim import PD, Event, Prescribed, Signal, load_run, resume, save_run
from tests.tiers import daily

from ..dynamics.loops import four_bar, two_loops
from .closed_robots import gained

LEFT = "dead centre of its independent rates"


@cache
def subject(name="four-bar"):
    """Return a robot cut, embedded in a chart that its motion leaves, and a start before that."""
    cut, rates, turn = {"four-bar": (four_bar(), ["q3"], 0.6), "six-bar": (two_loops(), ["q3"], 0.1)}[name]
    whole = hinge.embed_loops(cut)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = hinge.embed_loops(cut, independent=rates)
    q = hinge.integrate(whole, hinge.neutral(whole), [turn])
    _, qd = hinge.carry_state(whole, cut, q, [5.0])
    return cut, robot, q, qd


def start(robot, cut, q, qd):
    return hinge.carry_state(cut, robot, q, qd)


MOVES = [(x, n) for n in ("four-bar", "six-bar") for x in ("rk4", "rk5", "midpoint", "adaptive")]


@pytest.mark.parametrize(("integrator", "name"), daily(MOVES, lambda k, _: k == 0))
def test_it_moves_as_the_cut_robot_does(name, integrator):
    cut, robot, q, qd = subject(name)
    expected = hinge.simulate(cut, q, qd, t=1.5, integrator="rk5")
    run = hinge.simulate(robot, *start(robot, cut, q, qd), t=1.5, integrator=integrator)
    assert run.changes and not run.endings
    assert np.abs(hinge.closure_error(cut, run.q)).max() < 1e-12
    close = {"midpoint": 3e-4, "adaptive": 1e-7, "rk4": 1e-7}.get(integrator, 1e-8)
    assert_allclose(run.q, expected.q, atol=close)
    assert_allclose(run.rates, expected.qd, atol=20 * close)
    assert gained(run) < {"midpoint": 1e-3}.get(integrator, 1e-7)
    own = [k for j in robot.rated for k in range(cut.nv)[cut.joint(j.name).qd_slice]]
    assert_array_equal(run.qd, run.rates[:, own])


def test_laws_and_forces_are_those_of_the_robot_given():
    """A motor on a joint whose rate is no longer independent: forces, gains and targets mean that joint."""
    cut, robot, q, qd = subject()
    at = cut.joint("q3").qd_slice
    target = np.zeros(3)
    laws = {
        "constant": (np.array([0.3]), np.array([0.0, 0.0, 0.3])),
        "signal": (
            Signal(np.array([0.0, 2.0]), np.array([[0.5], [-1.0]])),
            Signal(np.array([0.0, 2.0]), np.array([[0.0, 0.0, 0.5], [0.0, 0.0, -1.0]])),
        ),
        "PD": (PD(target, {"q3": 3.0}, {"q3": 0.2}), PD(target, {"q3": 3.0}, {"q3": 0.2})),
        "function": (
            lambda t, q, qd: 0.3 * np.cos(t) - 0.1 * qd,
            lambda t, q, qd: np.concatenate([0 * qd[..., :2], 0.3 * np.cos(t) - 0.1 * qd[..., 2:]], axis=-1),
        ),
    }
    for name, (own, other) in laws.items():
        control = {
            k: hinge.sim.Torque(x) if isinstance(x, Signal) else x for k, x in (("a", own), ("b", other))
        }
        run = hinge.simulate(robot, *start(robot, cut, q, qd), t=1.2, integrator="rk5", control=control["a"])
        expected = hinge.simulate(cut, q, qd, t=1.2, integrator="rk5", control=control["b"])
        assert run.changes, name
        assert_allclose(run.q, expected.q, atol=2e-8, err_msg=name)
        assert_allclose(run.tau[:, 0], expected.tau[:, at][:, 0], atol=1e-6, err_msg=name)


@pytest.mark.parametrize("integrator", daily(["rk5", "adaptive"], lambda k, _: k == 1))
def test_events_see_the_rates_of_the_robot_given(integrator):
    cut, robot, q, qd = subject()
    own = Event(lambda t, q, qd: qd[..., 0] - 0.1, name="slow")
    other = Event(lambda t, q, qd: qd[..., 2] - 0.1, name="slow")
    run = hinge.simulate(robot, *start(robot, cut, q, qd), t=1.5, integrator=integrator, events=own)
    expected = hinge.simulate(cut, q, qd, t=1.5, integrator=integrator, events=other)
    assert len(run.events) == len(expected.events) > 2 and run.changes
    for a, b in zip(run.events, expected.events, strict=True):
        assert_allclose(a.t, b.t, atol=1e-6)
        assert_allclose(a.qd[0], b.qd[2], atol=1e-6)


@pytest.mark.parametrize("integrator", daily(["rk5", "adaptive"], lambda k, _: k == 0))
def test_states_change_each_at_its_own_time(integrator):
    """A batch is its states alone, bit for bit in fixed steps, whatever is recorded."""
    cut, robot, q, qd = subject()
    speeds = np.array([-3.0, -1.0, -0.2, 0.0, 0.3, 0.8, 1.0, 1.7, 2.5])[:, None]
    state = start(robot, cut, np.tile(q, (9, 1)), speeds * qd)
    given = {"t": 0.7, "integrator": integrator, "record": 7, "gravity": [0, 0, -1]}
    run = hinge.simulate(robot, *state, **given)
    assert len({c.t for c in run.changes}) > 3
    for k in (0, 3, 6, 8):
        alone = hinge.simulate(robot, state[0][k], state[1][k], **given)
        same = assert_array_equal if integrator == "rk5" else lambda a, b: assert_allclose(a, b, atol=1e-9)
        same(alone.q, run.q[k])
        same(alone.qd, run.qd[k])
        if alone.rates is not None:
            same(alone.rates, run.rates[k])
    expected = hinge.simulate(cut, np.tile(q, (9, 1)), speeds * qd, **given)
    assert_allclose(run.q, expected.q, atol=1e-6)


@pytest.mark.slow
def test_single_precision_and_inertias_for_each_state():
    cut, robot, q, qd = subject()
    at = tuple(x.astype(np.float32) for x in start(robot, cut, q, qd))
    run = hinge.simulate(robot, *at, t=1.0)
    assert run.changes and run.q.dtype == run.rates.dtype == np.float32
    expected = hinge.simulate(cut, q, qd, t=1.0)
    assert_allclose(run.q, expected.q, atol=2e-3)
    sets = inertial_parameters(robot) * np.array([1.0, 3.0])[:, None, None]
    both = np.tile(q, (2, 1))
    run = hinge.simulate(robot, *start(robot, cut, both, qd), t=1.0, parameters={"inertias": sets})
    expected = hinge.simulate(cut, both, qd, t=1.0, parameters={"inertias": sets})
    assert_allclose(run.q, expected.q, atol=1e-6)
    assert_allclose(run.kinetic_energy, expected.kinetic_energy, rtol=1e-5, atol=1e-6)


def test_runs_are_stored_and_go_on(tmp_path):
    cut, robot, q, qd = subject()
    whole = hinge.simulate(robot, *start(robot, cut, q, qd), t=1.2)
    half = hinge.simulate(robot, *start(robot, cut, q, qd), t=whole.changes[0].t)
    assert not half.changes and half.rates is None
    later = resume(half, t=1.2 - half.t[-1])
    assert_allclose(later.q, whole.q, atol=1e-7)
    assert_allclose(later.rates, whole.rates, atol=1e-5)
    half = hinge.simulate(robot, *start(robot, cut, q, qd), t=1.0)
    path = save_run(half, tmp_path / "half.npz")
    read = load_run(path)
    assert read.changes == half.changes and len(read.changes) == 1
    assert_array_equal(read.rates, half.rates)
    again = resume(read, t=0.2)
    assert_allclose(again.q, whole.q, atol=1e-8)
    assert_allclose(again.energy, again.energy[0], rtol=1e-7)
    assert again.rates.shape == (*again.qd.shape[:-1], 3)
    expected = hinge.simulate(cut, q, qd, t=1.0)
    assert_allclose(half.released().closure_forces(), expected.closure_forces(), atol=1e-4)
    with pytest.raises(ArgumentError, match="rates of all joints that fit"):
        hinge.simulate(robot, q, qd + 0.1, t=0.1)
    with pytest.raises(ArgumentError, match="embedded loops"):
        expected.released()


def test_what_holds_on_to_its_rates_is_told_where_they_end():
    cut, robot, q, qd = subject()
    law = Prescribed(["q3"], 0.0)
    run = hinge.simulate(robot, *start(robot, cut, q, -qd), t=3.0, control=law)
    (end,) = run.endings
    assert LEFT in end.reason and "'pin'" in end.reason and "'q3'" in end.reason
    assert "independent=" in end.reason and 0 < end.t < 3.0


def test_a_singular_configuration_is_told():
    """A parallelogram that comes to lie flat: there no rates determine the others, in any chart."""
    cut = four_bar(lengths=(0.3, 0.8, 0.3, 0.8))
    q = np.array([0.9, -0.9, 0.9])
    with pytest.warns(ModelWarning, match="dead centre"):
        robot = hinge.embed_loops(cut, near=q)
    run = hinge.simulate(robot, q, [-1.0], t=2.0, integrator="rk5", gravity=[0, 0, 0])
    (end,) = run.endings
    assert "loop 'pin' came to a singular configuration" in end.reason and "release_loops" in end.reason
    assert_allclose(end.t, 0.9, atol=2e-3)
    before = run.t < end.t
    assert np.ptp(run.energy[before]) < 1e-6 * run.energy[0]


def test_a_start_at_a_dead_centre_needs_the_rates_of_all_joints():
    cut, robot, _, _ = subject()
    whole = hinge.embed_loops(cut)
    at = hinge.configuration(whole, {"q2": 0.0})  # q3 stands still there, whatever the crank does
    rates = hinge.carry_state(whole, cut, at, [4.0])[1]
    run = hinge.simulate(robot, at, rates, t=0.3, integrator="rk5")
    expected = hinge.simulate(cut, at, rates, t=0.3, integrator="rk5")
    assert run.changes[0].t == 0.0
    assert_allclose(run.q, expected.q, atol=1e-8)
    assert_allclose(run.rates, expected.qd, atol=1e-7)


def test_a_rollout_tells_of_dead_centres():
    cut, robot, q, qd = subject()
    state = start(robot, cut, q, qd)
    roll = hinge.Rollout(robot, dt=1e-3, steps=1500, record=10)
    with pytest.warns(ModelWarning, match="which a Rollout keeps"):
        roll(*state)
    hinge.Rollout(robot, dt=1e-3, steps=100)(*state)
