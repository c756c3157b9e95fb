"""Contacts with limits, closures, height fields, single precision, functions, and joint types of ones own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge import Builder, Contact, Inertia, robots
from hinge.dynamics import compiled, contact_parts
from hinge.model import HeightField, remade
from hinge.model.joints import Free
from hinge.sim import Event
from hinge.spatial import Transform
from hinge.targets import Traced, has_llvm
from tests.binding.test_own_joint_types import Bent

STEP = {"integrator": "stepping", "dt": 1e-3}
G = 9.81


def lump(joint, mass=1.0, name="lump"):
    b = Builder(name)
    b.body(name, joint=joint, inertia=Inertia.from_com(mass, np.zeros(3), 0.004 * np.eye(3)))
    return b.build()


def test_a_closed_linkage_rests_on_a_height_field_and_a_limit():
    robot = robots.four_bar()
    limited = {"crank": {"lower": -0.9, "upper": 0.5}}
    joints = [replace(j, damping=np.full(j.nv, 2e-3), **limited.get(j.child, {})) for j in robot.joints]
    robot = remade(robot, joints=joints)
    heights = 0.01 * np.random.default_rng(2).random((9, 9))
    field = HeightField(heights, (0.6, 0.6))
    robot = hinge.with_contacts(robot, [Contact("end", "crank_end", friction=0.3, surface=field)])
    push = np.array([[0.0, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.2, 0.0, 0.0]])
    run = hinge.simulate(robot, np.zeros((3, 3)), t=1.5, control=push, limits=True, record=25, **STEP)
    assert run.contacts is not None and not run.endings
    assert run.contacts.residual.max() < 1e-9
    assert np.abs(hinge.closure_error(robot, run.q)).max() < 1e-5
    assert hinge.gap(robot, run.q).min() > -1e-5
    crank = run.q[..., robot.joints[1].q_slice.start]
    assert crank.min() > -0.9 - 1e-5 and crank.max() < 0.5 + 1e-5
    assert np.abs(run.qd[:, -1]).max() < 1e-3
    pressed = run.contacts.forces[:, -1, 0, 0] > 1e-4
    stopped = np.abs(run.contacts.joints[:, -1]).max(axis=-1) > 1e-4
    assert pressed.any() and stopped.any()


def test_single_precision_goes_by_interior_points():
    """Eight corners of a box have 24 rows of six freedoms; a landing on all of them is far from any start."""
    corners = [0.1 * (2 * np.array(s) - 1) for s in np.ndindex(2, 2, 2)]
    robot = hinge.with_contacts(
        lump(Free()),
        [
            Contact(f"c{k}", "lump", friction=0.6, placement=Transform.place(None, x))
            for k, x in enumerate(corners)
        ],
    )
    rng = np.random.default_rng(4)
    q, qd = np.tile(hinge.neutral(robot), (40, 1)), rng.standard_normal((40, 6))
    q[:, 6] = 0.1
    landing = hinge.contact_step(robot, q, qd - [0, 0, 0, 0, 0, 2.0], np.zeros(6), 1e-3)
    assert landing.rounds.max() > 6, "more rounds than Newton's method has alone"
    single = hinge.simulate(
        robot, q.astype(np.float32), qd.astype(np.float32), t=1.5, record=50,
        parameters={"contact_friction": np.full(8, 0.6, np.float32)}, **STEP,
    )  # fmt: skip
    assert single.q.dtype == np.float32 and single.contacts is not None and not single.endings
    assert np.quantile(single.contacts.residual, 0.99) < 1e-3
    assert hinge.gap(robot, single.q.astype(float)).min() > -1e-4
    assert np.abs(single.qd[:, -1]).max() < 1e-2


def test_a_joint_type_of_ones_own_comes_to_rest_on_the_ground():
    """The joint lifts its body by ½ q²; on the ground at 0.1 m it rests at √0.2, carried by its weight."""
    robot = hinge.on_ground(lump(Bent(), 2.0), "lump", height=0.1)
    run = hinge.simulate(robot, [0.7], t=1.0, **STEP)
    assert run.contacts is not None and run.contacts.residual.max() < 1e-9
    assert_allclose(run.q[-1], [np.sqrt(0.2)], atol=1e-6)
    assert_allclose(run.contacts.forces[-1, 0], [2.0 * G, 0.0, 0.0], rtol=1e-6, atol=1e-9)
    assert hinge.gap(robot, run.q).min() > -1e-5


def test_a_function_lifts_a_ball_past_an_event():
    robot = hinge.on_ground(lump(Free()), "lump", friction=0.5, radius=0.1)
    q = np.tile(hinge.neutral(robot), (2, 1))
    q[:, 6] = 0.1
    asked = []

    def lift(t, q, qd):
        asked.append(t)
        force = np.zeros_like(qd)
        force[:, 5] = np.where(t < 0.1, 5.0, [12.0, 15.0])
        return force

    high = Event(lambda t, q, qd: q[..., 6] - 0.2, name="high", direction=1, terminal=True)
    run = hinge.simulate(robot, q, t=1.0, control=lift, events=high, **STEP)
    rise = np.sqrt(2 * 0.1 / (np.array([12.0, 15.0]) - G))
    found = {hit.state[0]: hit.t for hit in run.events}
    assert_allclose([found[0], found[1]], 0.1 + rise, atol=2e-3)
    assert run.contacts is not None
    assert_allclose(run.contacts.forces[:, 50, 0, 0], G - 5.0, rtol=1e-9)
    assert_allclose(run.contacts.forces[:, 150, 0], 0.0, atol=1e-9)
    assert len(asked) >= 400


def test_a_linkage_has_numbers_of_contacts_for_each_state():
    """Parameters of contacts are none of the programs that look whether closures hold."""
    robot = robots.four_bar()
    robot = hinge.with_contacts(robot, [Contact("end", "crank_end", friction=0.3)])
    given = {"contact_friction": [[0.0], [0.9]], "restitution": 0.5, "ground": [-0.01]}
    run = hinge.simulate(robot, np.zeros((2, 3)), t=0.2, parameters=given, **STEP)
    alone = hinge.simulate(robot, np.zeros(3), t=0.2, parameters={**given, "contact_friction": [0.9]}, **STEP)
    assert run.contacts is not None and run.contacts.met.all()
    assert_array_equal(run.q[1], alone.q)
    assert np.abs(run.q[1] - run.q[0]).max() > 1e-6


def test_walls_that_overlap_are_told_in_runs():
    robot = hinge.on_ground(lump(Free()), "lump", radius=0.1)
    down = Transform.place(np.diag([1.0, -1.0, -1.0]), (0.0, 0.0, 0.15))
    robot = hinge.with_contacts(robot, [Contact("ceiling", "lump", radius=0.1, surface_placement=down)])
    q = hinge.neutral(robot)
    q[6] = 0.075
    for law in ("associated", "coulomb"):
        run = hinge.simulate(robot, q, t=0.01, law=law, **STEP)
        assert run.contacts is not None and np.isfinite(run.q).all()
        assert not run.contacts.met[1:].any()


@pytest.mark.skipif(not has_llvm(), reason="no llvmlite")
def test_quick_code_with_limits_and_a_height_field_gives_the_bits_of_final_code(monkeypatch):
    from hinge.targets.llvm import tiers
    from hinge.targets.llvm.background import BACKGROUND
    from hinge.targets.llvm.native_program import NativeProgram

    monkeypatch.setattr(tiers, "LONGEST_SECONDS", -1.0)
    monkeypatch.setenv("HINGE_LEVEL", "1")
    monkeypatch.setenv("HINGE_CACHE", "0")
    monkeypatch.delenv("HINGE_WAIT", raising=False)
    robot = robots.double_pendulum()
    joints = [replace(j, lower=-0.5, upper=0.5, friction=0.1) if j.nv else j for j in robot.joints]
    field = HeightField(np.random.default_rng(2).random((5, 5)) - 1.0, (2.0, 2.0))
    touch = Contact("touch", "lower", friction=0.5, surface=field)  # heights are read from a table
    robot = hinge.with_contacts(remade(robot, joints=joints), [touch])
    code = compiled(robot, contact_parts("contact_step", limits=True)).code
    quick, final = (NativeProgram(Traced(code, None, "limits"), wait=wait) for wait in (False, True))
    rng = np.random.default_rng(1)
    given = {n: rng.standard_normal((9, k)) for n, k in quick.signature.inputs.items()}
    given["q"] = 0.7 * given["q"]
    given["pace"] = np.full_like(given["pace"], 1e3)
    one, other = quick(given), final(given)
    assert any(p.facts.quick for p in quick._pieces.values())
    for name, x in one.items():
        assert np.isfinite(x).all()
        assert_array_equal(x, other[name])
    assert BACKGROUND.finish(60)
