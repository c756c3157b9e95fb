"""Simulations of robots with closures: drift, energy, control, events, precision, batches, live robots."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge import robots
from hinge.errors import ArgumentError
from hinge.model import SoftFinger, inertial_parameters, joints
from hinge.sim import (
    PD,
    ComputedTorque,
    Event,
    GravityCompensation,
    Prescribed,
    Torque,
    load_run,
    resume,
    save_run,
)

from .closed_robots import drift, gained, started, two_loops

LOOPS = {"four_bar": robots.four_bar, "two_loops": two_loops}
every_loop = pytest.mark.parametrize("make", LOOPS.values(), ids=LOOPS)


@every_loop
@pytest.mark.parametrize("integrator", ["rk4", "rk5", "semi-implicit", "midpoint", "adaptive"])
def test_projection_keeps_the_closures(make, integrator):
    robot = make()
    q, qd = started(robot, 3.0)
    run = hinge.simulate(robot, q, qd, t=0.2, integrator=integrator)
    assert max(drift(robot, run)) < 1e-12 and not run.endings
    assert gained(run) < {"semi-implicit": 0.2, "midpoint": 5e-3}.get(integrator, 1e-5)
    free = hinge.simulate(robot, q, qd, t=0.2, integrator=integrator, project=False)
    assert 1e-12 < drift(robot, free)[0] < 1e-2
    fine = hinge.simulate(robot, q, qd, t=0.2, dt=1e-4, record=10)
    off, off_free = (np.abs(x.q - fine.q).max() for x in (run, free))
    if integrator in ("rk4", "rk5", "adaptive"):
        assert off < 2e-5 and off <= max(off_free, 1e-7)


def test_projection_costs_no_order_of_the_energy():
    """What is lost over a time falls by nearly h⁵ with RK4, as in coordinates of the loop itself."""
    robot = robots.four_bar()
    q, qd = started(robot)
    runs = {
        (name, h): gained(hinge.simulate(robot, q, qd, t=10.0, dt=h, integrator=name, record=10))
        for name, h in (("rk4", 1e-3), ("rk4", 5e-4), ("rk5", 1e-3))
    }
    assert runs["rk5", 1e-3] < 1e-8 < runs["rk4", 1e-3] < 1e-6
    assert runs["rk4", 1e-3] / runs["rk4", 5e-4] > 2**4.5
    embedded = hinge.embed_loops(robot)
    alone = hinge.simulate(embedded, *hinge.carry_state(robot, embedded, q, qd), t=10.0, record=10)
    assert runs["rk4", 1e-3] < gained(alone), "projected it keeps more than in coordinates that cannot open"


@every_loop
def test_a_crank_that_turns_round_and_round(make):
    robot = make()
    q, qd = started(robot, 12.0, 3)
    run = hinge.simulate(robot, q, qd, t=1.0, gravity=[0, 0, 0])
    assert max(drift(robot, run)) < 1e-11 and gained(run) < 1e-5
    assert np.ptp(run.q[:, 0]) > np.pi


def test_the_motion_of_a_four_bar_by_its_one_coordinate():
    """½ m(θ) θ̇² is kept without gravity, with m = Gᵀ 𝓜 G along the motions."""
    robot = robots.four_bar()
    q, qd = started(robot, 5.0)
    run = hinge.simulate(robot, q, qd, t=0.5, gravity=[0, 0, 0], record=100)
    motion = run.qd / run.qd[:, :1]
    m = np.einsum("ti,tij,tj->t", motion, hinge.mass_matrix(robot, run.q), motion)
    assert_allclose(np.abs(run.qd[:, 0]), abs(qd[0]) * np.sqrt(m[0] / m), rtol=1e-7)


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_a_function_of_the_user_controls(integrator):
    robot = robots.slider_crank()
    q, qd = started(robot)
    asked = []

    def control(t, q, qd):
        asked.append(np.abs(hinge.closure_error(robot, q)).max())
        return np.stack([0.2 - 0.01 * qd[..., 0], 0 * qd[..., 1], 0 * qd[..., 2]], axis=-1)

    run = hinge.simulate(robot, q, qd, t=0.2, control=control, integrator=integrator)
    assert max(drift(robot, run)) < 1e-12 and len(asked) > 50 and max(asked) < 1e-5
    held = (run.tau[:-1] * np.diff(run.q, axis=0)).sum()
    work = held if integrator == "rk4" else np.trapezoid((run.tau * run.qd).sum(-1), run.t)
    assert_allclose(run.energy[-1] - run.energy[0], work, rtol=1e-3)


def test_laws_control():
    robot = robots.four_bar()
    q, qd = started(robot, 0.0)
    assert_allclose(hinge.simulate(robot, q, t=0.3, control=GravityCompensation()).q[-1], q, atol=1e-9)
    target = hinge.assemble(robot, q + np.array([0.3, 0, 0]), keep=["crank_joint"]).q
    for law in (
        PD(target, kp={"crank_joint": 5.0}, kd={"crank_joint": 0.2}, gravity_compensation=True),
        ComputedTorque(target, kp=400.0, kd=40.0),
    ):
        run = hinge.simulate(robot, q, qd, t=1.0, control=law)
        assert_allclose(run.q[-1], target, atol=1e-4)
        assert max(drift(robot, run)) < 1e-12


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_events_are_found_where_the_robot_is_closed(integrator):
    robot = robots.four_bar()
    q, qd = started(robot, 0.0)
    event = Event(lambda t, q, qd: q[..., 0] + 0.2, name="low", terminal=True)
    run = hinge.simulate(robot, q, qd, t=1.0, events=event, integrator=integrator)
    (hit,) = run.events
    assert_allclose(hit.q[0], -0.2, atol=1e-7)
    assert np.abs(hinge.closure_error(robot, hit.q)).max() < 1e-12
    assert np.abs(hinge.closure_velocity(robot, hit.q, hit.qd)).max() < 1e-12
    assert run.endings[0].t == hit.t


def test_single_precision():
    robot = robots.four_bar()
    q, qd = (x.astype(np.float32) for x in started(robot, 3.0))
    run = hinge.simulate(robot, q, qd, t=0.2)
    assert run.q.dtype == np.float32 and max(drift(robot, run)) < 1e-4
    wide = hinge.simulate(robot, *started(robot, 3.0), t=0.2)
    assert_allclose(run.q, wide.q, atol=1e-3)


@every_loop
@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_batches_are_single_states_bit_for_bit(make, integrator):
    """Adaptive ones up to rounding: the weights of their dense output are a product of matrices."""
    robot = make()
    q, qd = started(robot)
    speeds = np.linspace(-2, 2, 11)[:, None]
    whole = hinge.simulate(robot, np.tile(q, (11, 1)), speeds * qd, t=0.05, integrator=integrator)
    for k in (0, 3, 10):
        alone = hinge.simulate(robot, q, speeds[k] * qd, t=0.05, integrator=integrator)
        if integrator == "adaptive":
            assert_allclose(alone.q, whole.q[k], atol=1e-12)
        else:
            assert_array_equal(alone.q, whole.q[k])
            assert_array_equal(alone.qd, whole.qd[k])


def test_every_state_has_its_own_inertias():
    robot = robots.four_bar()
    q, qd = started(robot)
    sets = inertial_parameters(robot) * np.array([1.0, 2.0, 5.0])[:, None, None]
    sets[1, -1] *= 3
    run = hinge.simulate(robot, np.tile(q, (3, 1)), qd, t=0.1, parameters={"inertias": sets})
    for k in range(3):
        other = hinge.model.with_inertial_parameters(robot, sets[k])
        alone = hinge.simulate(other, q, qd, t=0.1)
        assert_allclose(run.q[k], alone.q, atol=1e-9)
        assert_allclose(run.closure_forces()[k], alone.closure_forces(), atol=1e-8)


def test_runs_go_on_and_are_stored(tmp_path):
    robot = two_loops()
    q, qd = started(robot, 2.0)
    whole = hinge.simulate(robot, q, qd, t=0.2, gravity=[0, 0, -3])
    half = hinge.simulate(robot, q, qd, t=0.1, gravity=[0, 0, -3])
    save_run(half, tmp_path / "half.npz")
    assert_array_equal(load_run(tmp_path / "half.npz").closure_forces(), half.closure_forces())
    again = resume(load_run(tmp_path / "half.npz"), t=0.1)
    assert_array_equal(again.q, whole.q)
    assert again.settings["project"] is True and again.robot.closures[0].name == robot.closures[0].name
    off = hinge.simulate(robot, q, qd, t=0.01, project=False)
    assert resume(off, t=0.01).settings["project"] is False


def test_forces_of_the_closures_from_a_run(tmp_path):
    robot = robots.slider_crank()
    q, qd = started(robot)
    push = {"slider": [0, 0, 0, 3.0, 0, 0]}
    run = hinge.simulate(robot, q, qd, t=0.05, control=[0.1, 0, 0], external=push, gravity=[0, 0, -2])
    found = run.closure_forces()
    expected = hinge.closed_dynamics(
        robot, run.q, run.qd, run.tau, external=push, gravity=[0, 0, -2], passive=True
    )
    assert found.shape == (51, 5)
    save_run(run, tmp_path / "run.npz")
    assert_array_equal(load_run(tmp_path / "run.npz").closure_forces(), found)
    assert_allclose(found, expected.forces, atol=1e-12)
    with pytest.raises(ArgumentError, match="expected a robot with closures"):
        hinge.simulate(hinge.opened(robot), t=0.01).closure_forces()


def test_a_run_ends_where_its_closures_come_apart():
    """Semi-implicit steps of 1 ms are too long for a crank that falls through its dead centres."""
    robot = robots.slider_crank()
    run = hinge.simulate(robot, *started(robot), t=10.0, integrator="semi-implicit")
    assert "closures came apart" in run.endings[0].reason
    assert np.nanmax(np.abs(hinge.closure_error(robot, run.q[run.t < run.endings[0].t]))) < 1e-6


def test_a_soft_finger_does_not_spin():
    robot = robots.two_pandas_with_plate(SoftFinger())
    q, qd = started(robot, 0.3)
    run = hinge.simulate(robot, q, qd, t=0.05, control=GravityCompensation())
    assert max(drift(robot, run)) < 1e-12


def test_states_that_are_open_or_do_not_fit_are_refused():
    robot = two_loops()
    q, qd = started(robot)
    with pytest.raises(
        ArgumentError, match=r"q0: expected a configuration that closes 'b_pin', got .*hinge\.assemble"
    ):
        hinge.simulate(robot, q + np.array([0, 0, 0, 0, 0, 0.01]), t=0.1)
    with pytest.raises(ArgumentError, match=r"qd0: .*'pin' in state \(1,\), got .*hinge\.settle"):
        hinge.simulate(robot, q, [qd, qd + np.array([0.1, 0, 0, 0, 0, 0])], t=0.1)
    with pytest.raises(ArgumentError, match="project: expected True or False"):
        hinge.simulate(robot, q, t=0.1, project=1)
    with pytest.raises(NotImplementedError, match="Prescribed is not supported for robots with closures"):
        hinge.simulate(robot, q, t=0.1, control=Prescribed(["crank_joint"], 0.0))
    hinge.simulate(robot, q, [qd, qd * np.nan], t=0.01)


# Live robots.


def test_closures_of_a_live_robot_open_and_close():
    robot = robots.four_bar()
    q, qd = started(robot, 2.0)
    live, tau = hinge.Live(robot), np.array([0.1, 0.0, -0.05])
    assert_allclose(live.forward_dynamics(q, qd, tau), hinge.forward_dynamics(robot, q, qd, tau), atol=1e-10)
    free = live.unfasten("pin")
    assert "open: 'pin'" in repr(free) and "open" not in repr(free.fasten(["pin"]))
    expected = hinge.forward_dynamics(hinge.opened(robot), q, qd, tau)
    assert_allclose(free.forward_dynamics(q, qd, tau), expected, atol=1e-10)
    assert_allclose(free.closed_dynamics(q, qd, tau).forces, 0, atol=1e-12)
    apart = qd + np.array([0.3, -0.2, 0.1])
    assert_allclose(free.settle(q, apart), apart, atol=1e-12)
    assert_allclose(live.settle(q, apart), hinge.settle(robot, q, apart), atol=1e-10)
    mask = live.unfasten(np.array([[True], [False]]))
    both = mask.forward_dynamics(np.tile(q, (2, 1)), np.tile(qd, (2, 1)), np.tile(tau, (2, 1)))
    assert_allclose(both[0], expected, atol=1e-10)
    with pytest.raises(hinge.errors.UnknownNameError, match="pn"):
        live.fasten("pn")
    with pytest.raises(ArgumentError, match="closures: expected names, or booleans"):
        live.fasten(np.zeros(2, bool))
    with pytest.raises(NotImplementedError, match="frozen joints"):
        live.freeze(["crank_joint"]).forward_dynamics(q, qd, tau)


def test_a_row_that_another_closure_implies_holds_when_that_one_is_open():
    """Two closures that each hold a plate at the same hand: either alone is enough."""
    robot = hinge.close(
        robots.double_pendulum(), None, robots.double_pendulum().bodies[-1].name, name="first"
    )
    at = hinge.forward_kinematics(robot, hinge.neutral(robot), robot.bodies[-1].name)
    robot = hinge.opened(robot)
    for name, joint in (("first", joints.Fixed()), ("second", joints.Spherical())):
        robot = hinge.close(
            robot,
            None,
            robot.bodies[-1].name,
            name=name,
            joint=joint,
            rotation=at.rotation,
            position=at.position,
        )
    q, live = hinge.neutral(robot), hinge.Live(robot)
    for name in ("first", "second"):
        other = hinge.opened(robot, [name])
        expected = hinge.forward_dynamics(other, q + 0.0, 0 * q, [1.0, 2.0])
        assert_allclose(live.unfasten(name).forward_dynamics(q, 0 * q, [1.0, 2.0]), expected, atol=1e-9)
        held = [c.name != name for c in robot.closures]
        assert_allclose(
            hinge.closed_dynamics(robot, q, 0 * q, [1.0, 2.0], held=held).qdd, expected, atol=1e-9
        )


def test_live_robots_move_with_the_closures_that_hold():
    robot = two_loops()
    q, qd = started(robot)
    live = hinge.Live(robot).unfasten("b_pin")
    run = hinge.simulate(live, q, qd, t=0.1)
    expected = hinge.simulate(hinge.opened(robot, ["b_pin"]), q, qd, t=0.1)
    assert_allclose(run.q, expected.q, atol=1e-9)
    forces = run.closure_forces()
    assert_allclose(forces[:, 5:], 0, atol=1e-12)
    assert np.abs(forces[:, :5]).max() > 1e-3
    with pytest.raises(ArgumentError, match=r"q0: .* closes 'b_pin'"):
        hinge.simulate(live.fasten("b_pin"), run.q[-1], run.qd[-1], t=0.1)
    with pytest.raises(NotImplementedError, match="Live robot"):
        resume(run, t=0.1)
    with pytest.raises(NotImplementedError, match="frozen joints"):
        hinge.simulate(live.freeze(["crank_joint"]), q, t=0.1)


def test_constant_forces_turn_a_crank():
    robot = robots.four_bar()
    run = hinge.simulate(robot, t=0.2, control=Torque([0.05, 0, 0]), gravity=[0, 0, 0])
    assert run.q[-1, 0] > 0.5 and max(drift(robot, run)) < 1e-12
