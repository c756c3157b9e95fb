"""`Stepper` against `simulate`, with commands and states that change between steps."""

from __future__ import annotations

import copy
import os
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.errors import ArgumentError
from hinge.model import remade
from hinge.sim import INTEGRATORS, PD, ComputedTorque, Signal

from .test_charts import start, subject

STATES = 5


def panda_states(seed=1):
    rng, robot = np.random.default_rng(seed), robots.panda()
    q = hinge.random_configuration(robot, seed, size=STATES)
    return robot, q, 0.1 * rng.standard_normal((STATES, 7)), rng


def standing():
    robot = hinge.on_ground(robots.quadruped(), ["FL_foot", "FR_foot", "HL_foot", "HR_foot"], radius=0.019)
    q = np.tile(robots.quadruped_stance(robot), (STATES, 1))
    q[:, 6] += np.linspace(0.0, 0.02, STATES)
    return robot, q


@pytest.mark.parametrize("integrator", [n for n in INTEGRATORS if n != "stepping"])
def test_steps_are_those_of_simulate(integrator):
    robot, q, qd, rng = panda_states()
    tau = rng.standard_normal((STATES, 7))
    s = hinge.Stepper(robot, q, qd, integrator=integrator)
    s.step(3, tau=tau)
    s.step(5)
    run = hinge.simulate(robot, q, qd, t=0.008, control=tau, integrator=integrator)
    assert np.array_equal(s.q, run.q[:, -1]) and np.array_equal(s.qd, run.qd[:, -1])


def test_commands_change_between_steps():
    robot, q, qd, _ = panda_states()
    goals = hinge.random_configuration(robot, 2, size=STATES)
    s = hinge.Stepper(robot, q, qd, control=PD(q[0], 10.0, 1.0))
    s.step(4)
    s.step(4, target=goals, velocity=np.zeros(7))
    first = hinge.simulate(robot, q, qd, t=0.004, control=PD(q[0], 10.0, 1.0))
    second = hinge.simulate(robot, first.q[:, -1], first.qd[:, -1], t=0.004, control=PD(goals, 10.0, 1.0))
    assert np.array_equal(s.q, second.q[:, -1])
    assert hinge.Stepper(robot, control=ComputedTorque(q[0], 1.0, 1.0)).commands == (
        "acceleration",
        "target",
        "velocity",
    )


def test_parameters_gravity_forces_and_single_precision():
    robot, q, qd, _ = panda_states()
    spread = hinge.model.inertial_parameters(robot) * np.linspace(1, 2, STATES)[:, None, None]
    given = {
        "parameters": {"inertias": spread.astype("f4")},
        "gravity": np.array([0, 0, -3.7], "f4"),
        "external": {"tool": np.full(6, 0.5, "f4")},
    }
    q, qd = q.astype("f4"), qd.astype("f4")
    s = hinge.Stepper(robot, q, qd, **given)
    s.step(6, tau=np.zeros(7))
    run = hinge.simulate(robot, q, qd, t=0.006, **given)
    assert s.q.dtype == np.float32 and np.array_equal(s.q, run.q[:, -1])


def test_closed_and_embedded_robots():
    robot = robots.four_bar()
    q = hinge.assemble(robot, hinge.neutral(robot)).q
    s = hinge.Stepper(robot, q)
    s.step(20)
    assert np.array_equal(s.q, hinge.simulate(robot, q, t=0.02).q[-1])
    loops = hinge.embed_loops(robot)
    t = hinge.Stepper(loops)
    t.step(20)
    assert np.array_equal(t.q, hinge.simulate(loops, t=0.02).q[-1])
    with pytest.raises(ArgumentError, match="a configuration that closes"):
        s.put(True, q + 0.1)
    assert np.abs(hinge.closure_error(robot, s.q)).max() < 1e-12


def test_contacts_and_states_put_anew():
    robot, q = standing()
    s = hinge.Stepper(robot, q, integrator="stepping")
    s.step(80)
    run = hinge.simulate(robot, q, t=0.08, integrator="stepping")
    assert np.array_equal(s.q, run.q[:, -1]) and np.array_equal(s.contact_forces, run.contacts.forces[:, -1])
    some = np.arange(STATES) % 2 == 0
    s.put(some, q[some])
    assert not s.contact_forces[some].any() and s.contact_forces[~some].any()
    s.step(80)
    assert np.array_equal(s.q[some], run.q[some, -1])
    on = hinge.simulate(robot, run.q[:, -1], run.qd[:, -1], t=0.08, integrator="stepping")  # without forces
    np.testing.assert_allclose(s.q[~some], on.q[~some, -1], atol=1e-9)


def test_limits_with_coulombs_law():
    """Joints with dry friction and limits on contacts that slide: in pieces, alone, and put anew."""
    robot, q = standing()
    joints = [replace(j, friction=np.full(1, 0.05)) if j.nv == 1 else j for j in robot.joints]
    robot, qd = remade(robot, joints=joints), np.zeros((STATES, robot.nv))
    qd[:, 3] = 0.5
    how = {"integrator": "stepping", "limits": True, "law": "coulomb"}
    s = hinge.Stepper(robot, q, qd, **how)
    for _ in range(4):
        s.step(20)
    run = hinge.simulate(robot, q, qd, t=0.08, **how)
    assert run.contacts is not None and run.contacts.residual.max() < 1e-9
    assert np.array_equal(s.q, run.q[:, -1]) and np.array_equal(s.contact_forces, run.contacts.forces[:, -1])
    some = np.arange(STATES) == 2
    s.put(some, q[some], qd[some])
    s.step(80)
    assert np.array_equal(s.q[some], run.q[some, -1])
    one = hinge.Stepper(robot, q[2], qd[2], **how)
    one.step(80)
    assert np.array_equal(one.q, run.q[2, -1])


def test_a_state_that_is_not_finite_ends_alone_until_it_is_put_anew():
    robot, q, qd, _ = panda_states()
    s, quiet = hinge.Stepper(robot, q, qd), hinge.Stepper(robot, q, qd)
    tau = np.zeros((STATES, 7))
    tau[2] = np.nan
    s.step(2, tau=tau)
    assert s.ended.tolist() == [False, False, True, False, False]
    quiet.step(2)
    assert np.array_equal(s.q[~s.ended], quiet.q[~s.ended])
    s.step(1, tau=np.zeros(7))
    s.put(s.ended, q[2], qd[2])
    assert not s.ended.any()
    s.step(3)
    assert np.array_equal(s.q[2], hinge.simulate(robot, q[2], qd[2], t=0.003).q[-1])


def past_a_dead_centre():
    """Return a robot and two states, of which the first comes to a dead centre first."""
    cut, robot, q, qd = subject()
    q, qd = start(robot, cut, q, qd)
    return robot, np.stack([q, q]), np.stack([qd, 0.5 * qd])


def test_embedded_loops_go_on_beyond_dead_centres():
    robot, q, qd = past_a_dead_centre()
    s = hinge.Stepper(robot, q, qd)
    for _ in range(10):
        s.step(150)
    run = hinge.simulate(robot, q, qd, t=1.5)
    assert run.changes and not s.ended.any()
    assert np.array_equal(s.q, run.q[:, -1]) and np.array_equal(s.qd, run.qd[:, -1])
    again = copy.copy(s)
    assert np.array_equal(again.q, s.q) and np.array_equal(again.qd, s.qd)
    s.put(True, q, qd)
    assert np.array_equal(s.qd, qd)
    s.step(1500)
    assert np.array_equal(s.q, run.q[:, -1])


def going(kind):
    """Return a stepper that has gone on, commands of its own, and one of its states ended."""
    if kind == "contacts":
        robot, q = standing()
        s = hinge.Stepper(robot, q, control=PD(q[0], 50.0, 1.0), integrator="stepping", law="coulomb")
        s.step(30, target=q + 0.1 * np.eye(robot.nq)[9])
        return s
    if kind == "closures":
        robot = robots.four_bar()
        s = hinge.Stepper(robot, np.tile(hinge.assemble(robot, hinge.neutral(robot)).q, (STATES, 1)))
        s.step(7, tau=np.ones(robot.nv))
        return s
    robot, q, qd, rng = panda_states()
    s = hinge.Stepper(robot, q, qd, limits=True, integrator="stepping", dtype="float32")
    tau = rng.standard_normal((STATES, 7))
    tau[3] = np.nan
    s.step(2, tau=tau)
    s.step(1, tau=1.0 + np.nan_to_num(tau))
    return s


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda s: pickle.loads(pickle.dumps(s))}


@pytest.mark.parametrize("kind", ["limits", "closures", pytest.param("contacts", marks=pytest.mark.slow)])
def test_copies_go_on_by_themselves_with_the_same_bits(kind):
    s = going(kind)
    before = s.q.copy()
    others = [f(s) for f in COPIES.values()]
    for other in others:
        assert np.array_equal(other.ended, s.ended) and other.q.dtype == s.q.dtype
        other.step(9)
    assert np.array_equal(s.q, before, equal_nan=True)
    s.step(9)
    for other in others:
        assert np.array_equal(other.q, s.q, equal_nan=True) and np.array_equal(other.qd, s.qd, equal_nan=True)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_it_goes_on_in_a_forked_process():
    robot, q, qd, _ = panda_states()
    s = hinge.Stepper(robot, np.tile(q, (400, 1)), np.tile(qd, (400, 1)))
    s.step(2, tau=np.ones(7))
    out, into = os.pipe()
    if not (child := os.fork()):
        try:
            s.step(3)
            os.write(into, s.q[-STATES:].tobytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    s.step(3)
    assert os.read(out, 10**6) == s.q[-STATES:].tobytes()


def test_the_number_of_threads_may_change():
    robot, q, qd, _ = panda_states()
    many = [np.tile(x, (400, 1)) for x in (q, qd)]
    s = hinge.Stepper(robot, *many)
    try:
        for threads in (1, 3, 2):
            hinge.set_threads(threads)
            s.step(8)
            assert len(s._loop.steps.parts) == threads
    finally:
        hinge.set_threads(None)
    alone = hinge.simulate(robot, q, qd, t=0.024).q[:, -1]
    assert np.array_equal(s.q, np.tile(alone, (400, 1)))


@pytest.mark.parametrize("law", ["associated", pytest.param("coulomb", marks=pytest.mark.slow)])
def test_limits_and_friction_are_those_of_simulate(law):
    robot, q, _, _ = panda_states()
    tau = np.linspace(-30, 30, STATES)[:, None] * np.eye(7)[3]
    given = {"integrator": "stepping", "limits": True, "law": law}
    s = hinge.Stepper(robot, q, **given)
    for _ in range(4):
        s.step(50, tau=tau)
    run = hinge.simulate(robot, q, t=0.2, control=tau, **given)
    assert np.array_equal(s.q, run.q[:, -1]) and np.array_equal(s.qd, run.qd[:, -1])
    assert run.contacts.joints.any() and s.contact_forces.shape == (STATES, 0, 3)


def test_the_precision_may_be_said():
    robot, q, qd, _ = panda_states()
    law = PD(q[0], 10.0, 1.0)
    s = hinge.Stepper(robot, q, qd, control=law, dtype="float32")
    s.step(5)
    assert s.q.dtype == s.qd.dtype == np.float32
    expected = hinge.simulate(robot, q, qd, t=0.005, control=law).q[:, -1]
    assert 0.0 < np.abs(s.q - expected).max() < 1e-5
    single = hinge.Stepper(robot, q.astype("f4"), qd.astype("f4"), dtype=float)
    assert single.q.dtype == np.float64


def test_one_state_and_views():
    robot, q, qd, _ = panda_states()
    s = hinge.Stepper(robot, q[0], qd[0])
    s.step(tau=np.ones(7))
    assert s.q.shape == (7,) and s.ended.shape == () and "one state" in repr(s)
    s.put(True, q[1])
    assert np.array_equal(s.q, q[1]) and not s.qd.any()
    with pytest.raises(ValueError, match="read-only"):
        s.q[0] = 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, q: s.step(tau=np.ones(6)), "tau: expected"),
        (lambda s, q: s.step(tau=np.ones((3, 7))), "tau: expected shape"),
        (lambda s, q: s.step(target=q), r"target: expected a command of this control \(tau\)"),
        (lambda s, q: s.step(-1), "count: expected"),
        (lambda s, q: s.step(1.5), "count: expected"),
        (lambda s, q: s.put([0, 1], q), "where: expected True or False"),
        (lambda s, q: s.put(np.ones(STATES, bool), q[:2]), "q: expected shape"),
        (lambda s, q: s.contact_forces, "integrator: expected 'stepping'"),
    ],
)
def test_bad_input_changes_nothing(call, message):
    robot, q, qd, _ = panda_states()
    s = hinge.Stepper(robot, q, qd)
    with pytest.raises(ArgumentError, match=message):
        call(s, q)
    assert np.array_equal(s.q, q) and np.array_equal(s.qd, qd)


def test_what_is_not_supported_is_named():
    robot, q, _, _ = panda_states()
    with pytest.raises(NotImplementedError, match="adaptive"):
        hinge.Stepper(robot, integrator="adaptive")
    with pytest.raises(NotImplementedError, match="Signal"):
        hinge.Stepper(robot, control=PD(Signal([0.0, 1.0], q[:2]), 1.0, 1.0))
    with pytest.raises(ArgumentError, match="call it between steps"):
        hinge.Stepper(robot, control=lambda t, q, qd: q)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dt": "1"}, "dt: expected a number of seconds"),
        ({"dt": -1.0}, "dt: expected a number of seconds"),
        ({"dt": 0.0}, "dt: expected a step above zero"),
        ({"dtype": "float16"}, "dtype: expected 'float32', 'float64' or None"),
        ({"dtype": "nothing"}, "dtype: expected 'float32', 'float64' or None"),
        ({"limits": "yes"}, "limits: expected True or False"),
        ({"project": 1}, "project: expected True or False"),
        ({"law": "coulomb"}, "law: expected integrator='stepping'"),
    ],
)
def test_bad_arguments_are_told(given, message):
    with pytest.raises(ArgumentError, match=message):
        hinge.Stepper(robots.panda(), **given)
