"""Runs by Coulomb's law of friction: what slides stays down, whatever else the step has in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge import Builder, Contact, robots
from hinge.errors import ArgumentError
from hinge.model import HeightField, remade
from hinge.model.joints import Free
from hinge.sim import PD, load_run, resume, save_run
from hinge.spatial import Transform
from tests.sim.standing import on_feet

STEP = {"integrator": "stepping", "dt": 1e-3, "law": "coulomb"}
G = 9.81


def box(mu=0.5):
    """Return a box on four corners, lying on the ground."""
    b = Builder("box")
    b.body("box", joint=Free(), inertia=robots.solid_box(2.0, (0.4, 0.4, 0.2)))
    for k, (x, y) in enumerate(np.ndindex(2, 2)):
        place = Transform.place(position=(0.4 * x - 0.2, 0.4 * y - 0.2, -0.1))
        b.contact(f"foot{k}", "box", friction=mu, placement=place)
    robot = b.build()
    q = hinge.neutral(robot)
    q[-1] = 0.1
    return robot, q


def slope(degrees):
    a = np.deg2rad(degrees)
    return G * np.stack([np.sin(a), 0 * a, -np.cos(a)], axis=-1), a


def test_a_block_slides_down_a_slope_without_a_hop():
    """At and around tan α = μ: below it stays, above it has g (sin α − μ cos α), and never rises."""
    robot, q = box()
    down, a = slope(np.array([20.0, 26.0, 27.0, 40.0, 70.0]))
    run = hinge.simulate(robot, np.tile(q, (5, 1)), t=0.3, gravity=down, **STEP)
    wanted = np.maximum(G * (np.sin(a) - 0.5 * np.cos(a)), 0.0)
    assert run.contacts is not None and run.contacts.residual.max() < 1e-9
    assert_allclose(run.qd[:, -1, 3], wanted * 0.3, atol=1e-10)
    assert np.abs(run.qd[..., 5]).max() < 1e-10 and np.abs(hinge.gap(robot, run.q)).max() < 1e-10
    assert_allclose(run.contacts.forces[:, -1, :, 0].sum(-1), 2 * G * np.cos(a), rtol=1e-9)


def test_a_thrown_block_loses_what_friction_takes():
    """Its energy falls by μ m g a metre, in every step, and it stops after v²/2 μ g."""
    robot, q = box()
    qd = np.array([[0, 0, 0, 1.0, 0, 0], [0, 0, 0, 0.6, 0.8, 0], [0, 0, 3.0, 1.0, 0, 0]])
    run = hinge.simulate(robot, np.tile(q, (3, 1)), qd, t=0.3, **STEP)
    assert np.abs(run.qd[..., 5]).max() < 1e-10
    way = np.linalg.norm(run.q[:2, :, 4:6], axis=-1)
    assert_allclose(way[:, -1], 1 / (2 * 0.5 * G), atol=1e-3)
    middle = (run.qd[:2, 1:, 3:] + run.qd[:2, :-1, 3:]) / 2  # what a force in a step takes by its work
    lost = -np.diff(run.kinetic_energy[:2], axis=-1)
    force = run.contacts.forces[:2, 1:].sum(-2)[..., [1, 2, 0]]
    assert_allclose(lost[:, :150], -(force * middle).sum(-1)[:, :150] * 1e-3, atol=1e-12)
    assert_allclose(np.linalg.norm(force[:, :150, :2], axis=-1), 0.5 * 2 * G, rtol=1e-9)
    assert np.diff(run.energy, axis=-1).max() < 1e-12


def test_steps_are_those_of_contact_step():
    """Each step of a run, velocities and forces, is that of the verb from the state before."""
    robot, pose = on_feet()
    qd = np.zeros((2, robot.nv))
    qd[:, 3:5] = [[0.8, 0.0], [0.3, -0.5]]
    mu = np.repeat([[0.3], [0.6]], 4, axis=-1)
    run = hinge.simulate(
        robot, np.tile(pose, (2, 1)), qd, t=0.02, passive=False, parameters={"contact_friction": mu}, **STEP
    )
    assert run.contacts is not None and run.contacts.residual.max() < 1e-9
    u = (hinge.contact_jacobian(robot, run.q) @ run.qd[..., None, :, None])[..., 0]
    pressed = run.contacts.forces[..., 0] > 1e-3
    assert (np.linalg.norm(u[..., 1:], axis=-1)[pressed] > 1e-3).mean() > 0.5  # it slides
    for k in (0, 7):
        start = run.contacts.forces[:, k] * 1e-3
        step = hinge.contact_step(
            robot,
            run.q[:, k],
            run.qd[:, k],
            np.zeros(robot.nv),
            1e-3,
            law="coulomb",
            friction=mu,
            start=start,
        )
        assert_allclose(
            step.impulses[..., 0] / 1e-3, run.contacts.forces[:, k + 1, :, 0], rtol=0.02, atol=0.2
        )
        assert step.residual.max() < 1e-9


def test_bits_do_not_depend_on_batches(monkeypatch):
    robot, pose = on_feet()
    rng = np.random.default_rng(1)
    q, qd = np.tile(pose, (37, 1)), rng.standard_normal((37, robot.nv))
    law = PD(pose, np.r_[np.zeros(6), np.full(12, 60.0)], np.r_[np.zeros(6), np.full(12, 2.0)])
    given = {"t": 0.04, "control": law, "record": 8, **STEP}
    whole = hinge.simulate(robot, q, qd, **given)
    assert whole.contacts is not None
    for some in (slice(0, 1), slice(3, 5), slice(0, 9)):
        part = hinge.simulate(robot, q[some], qd[some], **given)
        assert part.contacts is not None
        assert_array_equal(part.q, whole.q[some])
        assert_array_equal(part.contacts.forces, whole.contacts.forces[some])
    monkeypatch.setenv("HINGE_THREADS", "1")
    assert_array_equal(hinge.simulate(robot, q, qd, **given).qd, whole.qd)
    monkeypatch.setenv("HINGE_THREADS", "2")
    assert_array_equal(hinge.simulate(robot, q, qd, **given).qd, whole.qd)


def test_closures_limits_a_height_field_and_bounces():
    """A four-bar scrapes over hills into its limit, with dry friction in a joint."""
    robot = robots.four_bar()
    limited = {"crank": {"lower": -0.9, "upper": 0.5, "friction": np.array([2e-3])}}
    joints = [replace(j, damping=np.full(j.nv, 2e-3), **limited.get(j.child, {})) for j in robot.joints]
    field = HeightField(0.01 * np.random.default_rng(2).random((9, 9)), (0.6, 0.6))
    robot = hinge.with_contacts(
        remade(robot, joints=joints),
        [Contact("end", "crank_end", friction=0.3, restitution=0.4, surface=field)],
    )
    push = np.array([[0.0, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.2, 0.0, 0.0]])
    run = hinge.simulate(robot, np.zeros((3, 3)), t=0.8, control=push, limits=True, record=20, **STEP)
    assert run.contacts is not None and not run.endings
    assert run.contacts.residual.max() < 1e-9
    assert np.abs(hinge.closure_error(robot, run.q)).max() < 2e-5
    assert hinge.gap(robot, run.q).min() > -1e-5
    crank = run.q[..., robot.joints[1].q_slice.start]
    assert crank.min() > -0.9 - 1e-5 and crank.max() < 0.5 + 1e-5


def test_single_precision_slides_too():
    robot, q = box()
    run = hinge.simulate(
        robot, q.astype(np.float32), np.array([0, 0, 0, 1, 0, 0], np.float32), t=0.3, record=10, **STEP
    )
    assert run.q.dtype == np.float32
    assert abs(run.q[-1, 4] - 1 / (2 * 0.5 * G)) < 2e-3 and np.abs(run.qd[:, 5]).max() < 1e-3


def test_a_run_goes_on_from_a_file(tmp_path):
    robot, q = box()
    qd = np.array([0, 0, 0, 1.0, 0, 0])
    whole = hinge.simulate(robot, q, qd, t=0.1, **STEP)
    half = load_run(save_run(hinge.simulate(robot, q, qd, t=0.05, **STEP), tmp_path / "half.npz"))
    assert half.settings["law"] == "coulomb"
    joined = resume(half, t=0.05)
    assert joined.settings["law"] == "coulomb"
    assert_allclose(joined.q, whole.q, atol=1e-12)
    assert_allclose(joined.contacts.forces.sum(-2), whole.contacts.forces.sum(-2), atol=1e-7)


def test_laws_that_are_none_are_refused():
    robot, q = box()
    with pytest.raises(ArgumentError, match="law: expected 'associated' or 'coulomb', got 'dry'"):
        hinge.simulate(robot, q, t=0.1, integrator="stepping", law="dry")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="law: expected integrator='stepping' with law='coulomb'"):
        hinge.simulate(robot, q, t=0.1, law="coulomb")
