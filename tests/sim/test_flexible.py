"""Motions of flexible bodies: spin-up, an arm under torques, steps longer than stiff modes allow."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import sim
from hinge.errors import ArgumentError
from hinge.model import Builder, beam
from hinge.model.joints import Revolute
from hinge.robots import double_pendulum, random_tree
from hinge.spatial import Inertia
from hinge.testing import random_state
from tests.dynamics.sweep_flexible import loop, spacecraft

Z = Revolute((0, 0, 1))


def arm(modes=2, ends="clamped-free", **more):
    """Return the planar arm of the design: two unit links, EI = 30, 0.3 kg at the tip, without gravity."""
    b = Builder("arm", gravity=(0, 0, 0))
    link = beam(1.0, mass_per_length=0.5, bending=(30.0, None), modes=modes, ends=ends, **more)
    b.body("upper", joint=Z, flexible=link)
    b.body("lower", parent="upper_tip", joint=Z, flexible=link)
    b.body("load", parent="lower_tip", inertia=Inertia.from_com(0.3, (0, 0, 0), np.zeros((3, 3))))
    return b.build()


def driven(robot, dt, **more):
    """Return the tip after 0.5 s of torques (2, 1) N m, and after as long of (−2, −1)."""
    tau = hinge.velocity(robot, {"upper_joint": 2.0, "lower_joint": 1.0})
    q, qd, found = hinge.configuration(robot, {"lower_joint": 1.0}), np.zeros(robot.nv), []
    for way in (1, -1):
        run = sim.simulate(robot, q, qd, t=0.5, dt=dt, control=way * tau, record=0, **more)
        q, qd = run.q[-1], run.qd[-1]
        found.append(hinge.forward_kinematics(robot, q, "load").position[:2])
    return np.array(found)


#: Of lumped chains, extrapolated.
TIPS = np.array([[1.33596, 1.01090], [1.15634, 1.17137]])


@pytest.mark.parametrize(("modes", "dt", "bound"), [(2, 2e-4, 3e-4), (4, 1e-4, 5e-4)])
def test_an_arm_under_torques(modes, dt, bound):
    found = driven(arm(modes), dt, integrator="rk4")
    assert np.linalg.norm(found - TIPS, axis=-1).max() < bound


def test_energy_is_kept():
    robot = arm(2)
    q = hinge.configuration(robot, {"lower_joint": 1.0, "upper_modes": [0.05, 0.0]})
    drifts = []
    for dt in (4e-4, 2e-4):
        run = sim.simulate(robot, q, t=0.2, dt=dt, integrator="rk4", record=0)
        drifts.append(abs(run.energy[-1] / run.energy[0] - 1))
        assert run.elastic_energy[0] > 0
    assert drifts[0] < 5e-4 and drifts[1] < drifts[0] / 16


@pytest.mark.parametrize("make", [double_pendulum, lambda: random_tree(3, 205, flexible=0.7)])
def test_implicit_steps_are_of_order_three(make):
    robot = make()
    s = random_state(robot, 2)
    ends = [
        sim.simulate(robot, s.q, 0.2 * s.qd, t=0.08, dt=dt, integrator="implicit", record=0).q[-1]
        for dt in (8e-3, 4e-3, 5e-4)
    ]
    errors = [np.abs(x - ends[-1]).max() for x in ends[:2]]
    assert 2.4 < np.log2(errors[0] / errors[1]) < 3.9


def test_implicit_steps_outlast_the_fastest_modes():
    robot = arm(4, "craig-bampton", damping=0.02)
    fastest = max(b.flexible.frequencies().max() for b in robot.bodies if b.flexible is not None)
    dt = 2.5e-3
    assert dt * fastest > 4.5  # rk4 is stable below 2.8
    fine = driven(robot, 1e-4, integrator="rk4")
    assert np.abs(driven(robot, dt, integrator="implicit") - fine).max() < 3e-4
    assert not np.abs(driven(robot, dt, integrator="rk4") - fine).max() < 1e-2


def test_implicit_steps_know_springs_and_dampers_of_joints():
    robot = double_pendulum()
    stiff = hinge.with_parameters(robot, friction=[[5.0, 0.0, 1e7], [5.0, 0.0, 1e7]])
    run = sim.simulate(stiff, [1e-4, 0.0], t=0.1, dt=5e-3, integrator="implicit")
    assert np.abs(run.q[-1]).max() < 2e-5


def test_implicit_steps_in_batches_and_single_precision():
    robot = spacecraft()
    s = random_state(robot, 3, 4)
    whole = sim.simulate(robot, s.q, s.qd, t=0.02, dt=2e-3, integrator="implicit", record=0)
    one = sim.simulate(robot, s.q[2], s.qd[2], t=0.02, dt=2e-3, integrator="implicit", record=0)
    assert_allclose(whole.q[2, -1], one.q[-1], atol=1e-12)
    single = (x.astype(np.float32) for x in (s.q, s.qd))
    less = sim.simulate(robot, *single, t=0.02, dt=2e-3, integrator="implicit", record=0)
    assert less.q.dtype == np.float32
    assert np.abs(less.q - whole.q).max() < 1e-3


def test_what_implicit_steps_cannot_do_is_refused():
    with pytest.raises(NotImplementedError, match="closures"):
        sim.simulate(loop(), t=0.1, integrator="implicit")
    robot = arm(2)
    law = sim.Prescribed(["upper_joint"], np.zeros(robot.nv))
    with pytest.raises(NotImplementedError, match="Prescribed is not supported with integrator='implicit'"):
        sim.simulate(robot, t=0.1, control=law, integrator="implicit")
    with pytest.raises(ArgumentError, match="'implicit'"):
        sim.simulate(robot, t=0.1, integrator="implicitly")


# A beam that is spun up.

LENGTH, SPEED, PERIOD = 10.0, 6.0, 15.0


def spun(t=18.0, **more):
    """Return a run of a beam whose root turns by (ω/T)(t²/2 + (T/2π)² (cos 2πt/T − 1)), and the tip's lag."""
    b = Builder("blade", gravity=(0, 0, 0))
    more = {"bending": (1.4e4, None), "modes": 3, **more}
    flexible = beam(LENGTH, mass_per_length=1.2, **more)
    b.body("root", joint=Z, inertia=Inertia.from_com(1.0, (0, 0, 0), np.eye(3)), flexible=flexible)
    robot = b.build()
    times = np.linspace(0.0, PERIOD, 6001)
    ahead = np.zeros((len(times), robot.nv))
    ahead[:, 0] = SPEED / PERIOD * (1 - np.cos(2 * np.pi * times / PERIOD))
    law = sim.Prescribed(["root_joint"], sim.Signal(times, ahead))
    run = sim.simulate(robot, t=t, dt=2.5e-3, integrator="rk4", control=law, record=4)
    tip, angle = hinge.forward_kinematics(robot, run.q, "root_tip").position, run.q[:, 0]
    return run, np.cos(angle) * tip[:, 1] - np.sin(angle) * tip[:, 0]


def test_a_beam_that_is_spun_up_lags_and_recovers():
    run, lag = spun()
    k = int(np.argmin(lag))
    assert lag[k] == pytest.approx(-0.574, rel=0.005) and run.t[k] == pytest.approx(6.76, abs=0.05)
    assert np.abs(lag[run.t > PERIOD]).max() < 0.004
    assert run.qd[-1, 0] == pytest.approx(SPEED, rel=1e-6)


def test_a_linear_field_fails_where_the_beam_turns_fast():
    _, lag = spun(t=10.0, stiffening=False)
    assert not np.abs(lag).max() < 10.0


@pytest.mark.slow
def test_the_centrifugal_force_extends_the_beam():
    run, _ = spun(axial=2.8e7, damping=0.0)
    at = run.robot.joint("root_modes").q_slice.stop - 1
    mean = run.q[run.t > PERIOD, at].mean()
    assert mean == pytest.approx(5.07e-4, rel=0.01)
