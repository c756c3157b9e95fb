"""Contacts of robots with embedded loops, which change their independent rates, or with some loops cut."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hinge
from hinge import Contact
from hinge.errors import ModelWarning
from hinge.model import merge
from hinge.spatial import Transform

from ..dynamics.loops import four_bar, two_loops

STEP = {"integrator": "stepping", "dt": 1e-3}
#: How far a motion may be from that of the cut robot: steps of first order, in other coordinates.
CLOSE = 0.02


def table(robot, frame, q, below, *, restitution=0.0):
    """Return a contact of a frame with a table so far below it."""
    height = hinge.forward_kinematics(robot, q, frame).position[2] - below
    plane = Transform.place(None, (0.0, 0.0, height))
    return Contact(f"{frame}_down", frame, restitution=restitution, surface_placement=plane)


def met(robot, run, expected):
    """Check that a run touches, meets the law, and goes as the cut robot does."""
    assert run.contacts is not None and not run.endings
    assert (run.contacts.forces[..., 0] > 0).any(axis=0).all()
    assert run.contacts.residual.max() < 1e-9
    assert hinge.gap(robot, run.q).min() > -1e-9
    assert np.abs(run.q - expected.q).max() < CLOSE


@pytest.mark.slow
def test_two_loops_change_charts_and_touch():
    """Two linkages whose couplers come down on tables: one before, one after their charts end."""
    one = four_bar()
    cut = merge(one, one, prefix="b_")
    whole = hinge.embed_loops(cut)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = hinge.embed_loops(cut, independent=["q3", "b_q3"])
    q = hinge.integrate(whole, hinge.neutral(whole), [2.0, 0.6])
    _, qd = hinge.carry_state(whole, cut, q, [-5.0, -8.0])
    touches = [table(cut, "coupler_tip", q, 0.03, restitution=0.9), table(cut, "b_coupler_tip", q, 0.01)]
    cut, robot = (hinge.with_contacts(r, touches) for r in (cut, robot))
    q0, v0 = hinge.carry_state(cut, robot, q, qd)
    speeds = np.array([1.0, 0.8, 0.9, 1.1, 1.2])[:, None]
    run = hinge.simulate(robot, np.tile(q0, (5, 1)), speeds * v0, t=0.25, **STEP)
    alone = hinge.simulate(robot, q0, v0, t=0.25, **STEP)
    assert alone.changes and alone.contacts is not None and run.contacts is not None
    when = int(alone.changes[0].t / STEP["dt"])
    first = (alone.contacts.forces[..., 0] > 0).argmax(axis=0)
    assert first.min() < first.max() and when < first.max()
    met(robot, alone, hinge.simulate(cut, q, qd, t=0.25, **STEP))
    assert_array_equal(run.q[0], alone.q)
    assert_array_equal(run.contacts.forces[0], alone.contacts.forces)


@pytest.mark.slow
def test_a_loop_that_is_cut_beside_one_that_is_embedded():
    cut = two_loops()
    whole, part = hinge.embed_loops(cut), hinge.embed_loops(cut, closures=["pin"])
    assert len(part.closures) == len(part.loops) == 1
    q = hinge.integrate(whole, hinge.neutral(whole), [0.1])
    _, qd = hinge.carry_state(whole, cut, q, [1.0])
    touch = [table(cut, "arm_tip", q, 0.02)]
    start = hinge.carry_state(cut, part, q, qd)
    cut, part = (hinge.with_contacts(r, touch) for r in (cut, part))
    met(part, run := hinge.simulate(part, *start, t=0.3, **STEP), hinge.simulate(cut, q, qd, t=0.3, **STEP))
    assert np.abs(hinge.closure_error(cut, run.q)).max() < 1e-5
