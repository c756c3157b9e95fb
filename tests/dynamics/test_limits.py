"""Joint limits, dry friction of joints and raised ground in steps over contacts, against dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import reference, robots
from hinge.errors import ArgumentError
from hinge.model import Builder, joint_rows, remade
from hinge.model.joints import Prismatic, Revolute
from hinge.spatial import Inertia
from hinge.testing import random_state

DT = 1e-2
FEET = ("FL_foot", "FR_foot", "HL_foot", "HR_foot")


@pytest.fixture(scope="module")
def quadruped():
    robot = robots.quadruped()
    joints = list(robot.joints)
    joints[3] = replace(joints[3], lower=-0.3, friction=0.8)  # no upper limit
    joints[5] = replace(joints[5], upper=0.2, friction=2.0)
    joints[8] = replace(joints[8], lower=-7.0, upper=-6.5)  # further than a turn
    joints[9] = replace(joints[9], friction=0.1)
    return hinge.on_ground(remade(robot, joints=joints), FEET, friction=0.6)


def dense_step(robot, q, qd, tau, dt, ground=0.0):
    """Return velocities after a step by dense matrices and the slow oracle, and the forces by rows."""
    rows = joint_rows(robot)
    near, one = q[list(rows.coordinates)], np.eye(robot.nv)
    low, high = near - rows.lower, np.asarray(rows.upper) - near
    signs = np.where(low < high, 1.0, -1.0)
    touch = reference.contact_jacobian(robot, q).reshape(-1, robot.nv)
    j = np.concatenate([signs[:, None] * one[list(rows.limited)], one[list(rows.rubbing)], touch])
    gaps = np.zeros(len(j))
    gaps[: len(signs)] = np.minimum(low, high)
    gaps[len(rows) :: 3] = reference.gap(robot, q) - ground
    allowed = np.where(gaps < 0, np.maximum(0.2 * gaps / dt, -0.1), gaps / dt)
    free = qd + dt * reference.forward_dynamics(robot, q, qd, tau)
    moved = np.linalg.solve(reference.mass_matrix(robot, q), j.T)
    friction = [c.friction for c in robot.contacts]
    boxes = dt * np.asarray(rows.friction)
    among = reference.ForceSet(friction, half=len(rows.limited), boxes=boxes)
    impulses, residual = reference.cones(j @ moved, j @ free + allowed, among)
    assert residual < 1e-9
    return free + moved @ impulses, impulses


def states(robot, count, seed=3):
    """Return states near the ground and near the limits."""
    rng = np.random.default_rng(seed)
    s = random_state(robot, seed, count)
    q, qd, tau = s.q.copy(), s.qd, s.tau
    rows = joint_rows(robot)
    for k, low, high in zip(rows.coordinates, rows.lower, rows.upper, strict=True):
        ends = [x for x in (low, high) if np.isfinite(x)]
        q[:, k] = rng.choice(ends, count) + 0.02 * rng.normal(size=count)
    q[:, 6] += 0.01 * rng.normal(size=count) - np.array([reference.gap(robot, x).min() for x in q])
    return q, qd, tau


def test_steps_are_those_of_dense_matrices(quadruped):
    q, qd, tau = states(quadruped, 12)
    found = hinge.contact_step(quadruped, q, qd, tau, DT, limits=True)
    rows = joint_rows(quadruped)
    assert len(rows.limited) == 3 and len(rows.rubbing) == 3
    assert found.residual.max() < 1e-9
    active = 0
    for k in range(len(q)):
        wanted, impulses = dense_step(quadruped, q[k], qd[k], tau[k], DT)
        assert_allclose(found.qd[k], wanted, atol=1e-7 * (1 + np.abs(wanted).max()))
        active += (impulses[: len(rows)] != 0).sum()
    assert active > 12
    # What acts at joints and contacts explains the motion.
    j = hinge.contact_jacobian(quadruped, q)
    push = np.einsum("...kri,...kr->...i", j, found.impulses) + found.joint_impulses
    free = qd + DT * hinge.forward_dynamics(quadruped, q, qd, tau)
    moved = np.linalg.solve(hinge.mass_matrix(quadruped, q), push[..., None])[..., 0]
    assert_allclose(found.qd, free + moved, atol=1e-8 * np.abs(found.qd).max())


def test_raised_ground_is_that_of_dense_matrices(quadruped):
    q, qd, tau = states(quadruped, 6)
    ground = 0.02 * np.random.default_rng(1).normal(size=(6, 4))
    for limits in (False, True):
        found = hinge.contact_step(quadruped, q, qd, tau, DT, limits=limits, ground=ground)
        if limits:
            for k in range(len(q)):
                wanted, _ = dense_step(quadruped, q[k], qd[k], tau[k], DT, ground[k])
                assert_allclose(found.qd[k], wanted, atol=1e-7 * (1 + np.abs(wanted).max()))
        else:
            low = q.copy()
            low[:, 6] -= 0.03
            same = hinge.contact_step(quadruped, low, qd, tau, DT, ground=ground - 0.03)
            assert_allclose(found.qd, same.qd, atol=1e-8 * np.abs(found.qd).max())


def slider(friction=0.0, lower=-np.inf, upper=np.inf, mass=2.0):
    b = Builder("slider")
    joint = Prismatic((1.0, 0.0, 0.0))
    b.body("mass", joint=joint, inertia=Inertia.from_com(mass, np.zeros(3), 0.1 * np.eye(3)))
    robot = b.build()
    (j,) = robot.joints
    return remade(robot, joints=[replace(j, friction=friction, lower=lower, upper=upper)])


@pytest.mark.parametrize("push", [-5.0, -2.9, 0.0, 2.9, 5.0])
def test_dry_friction_holds_up_to_its_bound_and_no_further(push):
    found = hinge.contact_step(slider(3.0), [0.0], [0.0], [push], DT, limits=True)
    wanted = DT * np.sign(push) * max(abs(push) - 3.0, 0.0) / 2.0
    assert_allclose(found.qd, [wanted], atol=1e-14)
    assert_allclose(found.joint_impulses, [2.0 * wanted - DT * push], atol=1e-14)


def test_friction_acts_once_with_passive_forces():
    robot = remade(slider(3.0), joints=[replace(slider(3.0).joints[0], damping=0.5)])
    given = robot, [0.0], [1.0], [0.0], DT
    found = hinge.contact_step(*given, passive=True, limits=True)
    assert_allclose(found.qd, [1.0 - DT * 3.5 / 2.0], atol=1e-13)
    smooth = hinge.contact_step(hinge.on_ground(robot, "mass"), *given[1:], passive=True)
    assert_allclose(smooth.qd, [1.0 - DT * 3.5 / 2.0], atol=1e-4)


def test_a_limit_is_met_from_both_sides_and_may_be_far_from_zero():
    robot = slider(lower=7.0, upper=9.0)
    for q, speed, wanted in ((7.001, -1.0, -0.1), (8.999, 1.0, 0.1), (7.0, -1.0, 0.0), (8.0, -1.0, -1.0)):
        found = hinge.contact_step(robot, [q], [speed], [0.0], DT, limits=True)
        assert_allclose(found.qd, [wanted], atol=1e-12)
    # Outside, a share of the depth is taken back.
    assert_allclose(hinge.contact_step(robot, [6.999], [0.0], [0.0], DT, limits=True).qd, [0.02], atol=1e-12)


def test_alone_and_in_a_batch_bits_are_equal(quadruped):
    q, qd, tau = states(quadruped, 9)
    whole = hinge.contact_step(quadruped, q, qd, tau, DT, limits=True)
    for k in range(9):
        alone = hinge.contact_step(quadruped, q[k], qd[k], tau[k], DT, limits=True)
        assert (alone.qd == whole.qd[k]).all() and (alone.joint_impulses == whole.joint_impulses[k]).all()


def test_what_cannot_be_is_refused():
    free = Builder("free")
    free.body("bob", joint=Revolute((0.0, 1.0, 0.0)), inertia=Inertia.from_com(1.0, np.ones(3), np.eye(3)))
    with pytest.raises(ArgumentError, match="limits: expected a robot with joint limits"):
        hinge.contact_step(free.build(), [0.0], [0.0], [0.0], DT, limits=True)
    with pytest.raises(ArgumentError, match="limits: expected True or False"):
        hinge.contact_step(slider(1.0), [0.0], [0.0], [0.0], DT, limits=1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="expected one with contacts"):
        hinge.contact_step(slider(1.0), [0.0], [0.0], [0.0], DT)
    with pytest.raises(ArgumentError, match="ground: expected finite numbers"):
        hinge.contact_step(hinge.on_ground(slider(), "mass"), [0.0], [0.0], [0.0], DT, ground=[np.nan])
