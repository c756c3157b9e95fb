"""Joint limits, dry friction, raised ground and grasps in runs that step over contacts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import robots, sim
from hinge.errors import ArgumentError
from hinge.model import Builder, Contact, remade
from hinge.model.joints import Free, Prismatic, Revolute
from hinge.robots import solid_box
from hinge.spatial import Inertia, Transform, rotation

G = 9.81
STEP = {"integrator": "stepping", "dt": 1e-3}


def pendulum(lower=-3.0, upper=3.0):
    """Return a pendulum that hangs down at q = 0."""
    b = Builder("pendulum", gravity=(0.0, 0.0, -G))
    bob = Inertia.from_com(1.0, [0.0, 0.0, -0.5], 1e-3 * np.eye(3))
    b.body("bob", joint=Revolute((0.0, 1.0, 0.0)), inertia=bob)
    robot = b.build()
    return remade(robot, joints=[replace(robot.joints[0], lower=lower, upper=upper)])


@pytest.mark.parametrize("span", [(-3.0, -0.3), (0.3, 3.0), (-0.7, 3.0 * np.pi)])
def test_a_pendulum_falls_on_its_stop_and_stays_there(span):
    robot = pendulum(*span)
    start = {-0.3: -1.5, 3.0: 1.5}.get(span[1], 2.0)
    run = hinge.simulate(robot, [start], t=4.0, limits=True, **STEP)
    q, qd = run.q[:, 0], run.qd[:, 0]
    assert q.min() > span[0] - 1e-5 and q.max() < span[1] + 1e-5
    if span[0] == -0.7:  # it swings on within its limits: the stop took energy, and no more
        assert abs(q).max() == pytest.approx(2.0) and abs(q[3000:]).max() < 0.7 + 1e-5
        return
    stop = span[1] if span[1] < 0 else span[0]
    assert_allclose(q[-1], stop, atol=1e-9)
    hit = np.argmax(np.abs(q - stop) < 1e-6)
    assert_allclose(q[hit:], stop, atol=1e-6)  # no bounce
    assert_allclose(qd[hit + 2 :], 0.0, atol=1e-9)
    assert run.contacts is not None
    assert_allclose(run.contacts.joints[-1], [G * 0.5 * np.sin(stop)], atol=1e-6)


def test_dry_friction_stops_a_slider_where_it_must():
    b = Builder("slider")
    b.body("mass", joint=Prismatic((1.0, 0.0, 0.0)), inertia=solid_box(2.0, (0.1, 0.1, 0.1)))
    robot = b.build()
    robot = remade(robot, joints=[replace(robot.joints[0], friction=3.0)])
    push = np.array([[2.9], [3.0], [5.0], [-7.0], [0.0]])
    speed = np.array([[0.0], [0.0], [0.0], [0.0], [1.2]])
    run = hinge.simulate(robot, np.zeros((5, 1)), speed, t=1.0, control=push, limits=True, **STEP)
    assert_allclose(run.q[:2], 0.0, atol=1e-15)
    assert_allclose(run.qd[2:4, -1, 0], [1.0, -2.0], atol=1e-12)  # (|τ| − 3) / 2 for a second
    assert_allclose(run.qd[4, -1], 0.0, atol=1e-12)
    assert_allclose(run.q[4, -1], 1.2**2 / 2 / 1.5, rtol=2e-3)  # v² / 2 a, a = 3 / 2
    assert run.contacts is not None
    assert_allclose(run.contacts.joints[0, -1], [-2.9], atol=1e-12)


@pytest.fixture(scope="module")
def quadruped():
    robot = robots.quadruped()
    knees = {"lower": -1.6, "upper": 1.6}
    joints = [replace(j, **knees) if j.name.endswith("knee") else j for j in robot.joints]
    feet = [f.name for f in robot.frames if "foot" in f.name]
    return hinge.on_ground(remade(robot, joints=joints), feet, friction=0.7)


def test_a_quadruped_stands_on_its_knees_limits(quadruped):
    # Hips are held by springs; knees have no motors, and rest on their limits.
    q = hinge.neutral(quadruped)
    folded = np.tile([0.0, 0.8, -1.55], 4)
    q[7:] = folded
    q[6] -= hinge.gap(quadruped, q).min() - 0.01
    kp = np.concatenate([np.zeros(6), np.tile([200.0, 200.0, 0.0], 4)])
    law = sim.PD(q, kp, 0.05 * kp)
    run = hinge.simulate(quadruped, q, t=1.5, control=law, limits=True, **STEP)
    knees = run.q[:, [9, 12, 15, 18]]
    assert knees.min() > -1.6 - 1e-5 and knees[-1].max() < -1.6 + 1e-3
    assert hinge.gap(quadruped, run.q).min() > -1e-5
    assert np.abs(run.qd[-1]).max() < 1e-3
    assert run.contacts is not None
    assert run.contacts.residual.max() < 1e-9
    assert_allclose(run.contacts.forces[-1, :, 0].sum(), quadruped.mass * G, rtol=1e-2)
    assert (run.contacts.joints[-1, [8, 11, 14, 17]] > 1.0).all()
    more = hinge.sim.resume(run, t=0.01, control=law)
    assert more.settings["limits"] and more.q[-1, 9] > -1.6 - 1e-5


def test_limits_need_steps_over_contacts(quadruped):
    with pytest.raises(ArgumentError, match="limits: expected integrator='stepping'"):
        hinge.simulate(quadruped, t=0.1, limits=True)
    with pytest.raises(ArgumentError, match="give limits=True"):
        hinge.simulate(pendulum(), t=0.1, **STEP)
    with pytest.raises(NotImplementedError, match="'friction' is not supported with limits=True"):
        rows = np.zeros((quadruped.nv, 3))
        hinge.simulate(quadruped, t=0.1, limits=True, parameters={"friction": rows}, **STEP)


# Ground of each state.


def test_each_state_has_its_ground(quadruped):
    q = hinge.neutral(quadruped)
    q[7:] = np.tile([0.0, 0.7, -1.4], 4)
    q[6] -= hinge.gap(quadruped, q).min()
    heights = np.array([[0.0] * 4, [0.1] * 4, [-0.05, 0.0, 0.05, 0.0]])
    starts = np.tile(q, (3, 1))
    starts[:, 6] += heights.max(axis=1) + 0.02
    kp = np.concatenate([np.zeros(6), np.full(12, 60.0)])
    law = sim.PD(q, kp, 0.02 * kp)
    given = {"control": law, "t": 1.2, **STEP}
    run = hinge.simulate(quadruped, starts, parameters={"ground": heights}, **given)
    assert_allclose(hinge.gap(quadruped, run.q[:2, -1]), heights[:2], atol=1e-5)
    assert (hinge.gap(quadruped, run.q[:, -1]) > heights - 1e-5).all()
    assert_allclose(run.q[1, -1, 6] - run.q[0, -1, 6], 0.1, atol=1e-8)
    assert abs(run.q[2, -1, 0]) < 0.999  # the trunk is tilted
    with pytest.raises(ArgumentError, match=r"ground: expected a number or shape \(…, 4\)"):
        hinge.simulate(quadruped, starts, parameters={"ground": np.zeros(3)}, **given)


# A grasp whose fingers slide.

WIDTH, MASS, MU = 0.06, 1.0, 0.5


def grasp():
    """Return a box between two pads on sliders along x: four points of each of its sides on each pad."""
    b = Builder("grasp", gravity=(0.0, 0.0, -G))
    pad = solid_box(0.2, (0.01, 0.1, 0.1))
    for name in ("left", "right"):
        b.body(name, joint=Prismatic((1.0, 0.0, 0.0)), inertia=pad)
    b.body("box", joint=Free(), inertia=solid_box(MASS, (WIDTH, 0.04, 0.04)))
    contacts: list[Contact] = []
    for name, side in (("left", -1.0), ("right", 1.0)):
        wall = Transform.place(
            rotation.about((0.0, 1.0, 0.0), -side * np.pi / 2), (side * WIDTH / 2, 0.0, 0.0)
        )
        for k, (y, z) in enumerate(((-1, -1), (-1, 1), (1, -1), (1, 1))):
            at = Transform.place(None, (side * WIDTH / 2, 0.02 * y, 0.02 * z))
            contacts.append(Contact(f"{name}{k}", "box", name, MU, placement=at, surface_placement=wall))
    return hinge.with_contacts(b.build(), contacts)


def test_a_grasp_slips_when_friction_is_too_weak():
    robot = grasp()
    assert_allclose(hinge.gap(robot, hinge.neutral(robot)), 0.0, atol=1e-15)
    squeeze = MASS * G / (2 * MU) * np.array([1.02, 0.98, 0.5, 1.02])
    tau = np.zeros((4, robot.nv))
    tau[:, 0], tau[:, 1] = squeeze, -squeeze
    friction = np.full((4, 8), MU)
    friction[3] = 0.0
    q = np.tile(hinge.neutral(robot), (4, 1))
    run = hinge.simulate(robot, q, t=0.3, control=tau, parameters={"contact_friction": friction}, **STEP)
    pull = 2 * friction[:, 0] * squeeze / MASS
    fall = np.maximum(G - pull, 0.0)
    assert_allclose(run.qd[:, -1, -1], -fall * 0.3, rtol=5e-4, atol=1e-12)
    assert_allclose(run.qd[0, :, :2], 0.0, atol=1e-9)
    assert_allclose(run.q[0, -1], q[0], atol=1e-7)
    assert (run.q[1:, -1, -1] < -1e-4).all()
    assert run.contacts is not None
    forces = run.contacts.forces[0, -1]
    assert_allclose(forces[:4, 0].sum(), squeeze[0], rtol=1e-6)
    assert run.contacts.residual.max() < 1e-9
    # As long as it is held, it turns with nothing and goes where the fingers go.
    assert_allclose(run.q[..., 2:5].sum(), run.q.shape[1] * 4 * q[0, 2:5].sum(), atol=1e-6)
