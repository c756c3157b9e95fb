from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.model import Builder
from hinge.model.joints import Prismatic, Revolute, Spherical
from tests.dynamics.sweep_flexible import arm


def robot():
    b = Builder("arm")
    b.body("upper", joint=Revolute(), joint_name="turn", lower=-1.0, upper=2.0, velocity=3.0, effort=10.0)
    b.body("ball", parent="upper", joint=Spherical(), joint_name="wrist", velocity=(1.0, 2.0, 3.0))
    b.body("hand", parent="ball", joint=Prismatic((1, 0, 0)), joint_name="reach", lower=0.0, upper=0.5)
    return b.build(strict=None)


def test_excess_is_signed_and_zero_inside():
    arm = robot()
    q = np.tile(hinge.neutral(arm), (3, 1))
    q[1, 0], q[2, 0], q[2, -1] = 2.5, -1.25, -0.5
    qd, tau = np.zeros((3, arm.nv)), np.zeros((3, arm.nv))
    qd[0, 2], tau[1, 0] = -2.5, 30.0
    found = hinge.limit_report(arm, q, qd, tau)
    assert np.allclose(found.position[:, 0], [0, 0.5, -0.25]) and found.position[2, -1] == -0.5
    assert np.count_nonzero(found.position) == 3
    assert found.velocity[0, 2] == -0.5 and np.count_nonzero(found.velocity) == 1
    assert found.effort[1, 0] == 20.0 and np.count_nonzero(found.effort) == 1
    assert not found.ok.any() and str(found) == "3 of 3 states exceed the limits of 'arm'"


def test_one_state_in_words():
    arm = robot()
    q = hinge.neutral(arm)
    assert str(hinge.limit_report(arm, q)) == "robot 'arm' is within its limits"
    assert hinge.limit_report(arm, q).ok and hinge.limit_report(arm, q).velocity is None
    q[0], qd = 2.5, np.full(arm.nv, 2.5)
    qd[-1] = np.nan
    found = hinge.limit_report(arm, q, qd)
    assert str(found).splitlines() == [
        "joint 'turn': position of angle is above its limit by 0.5",
        "joint 'wrist': velocity of wx is above its limit by 1.5",
        "joint 'wrist': velocity of wy is above its limit by 0.5",
        "joint 'reach': velocity of displacement is not a number",
    ]
    assert not found.ok


def test_batches_broadcast_and_clashes_are_named():
    arm = robot()
    q, qd = np.tile(hinge.neutral(arm), (2, 1, 1)), np.zeros((1, 3, arm.nv))
    assert hinge.limit_report(arm, q, qd).position.shape == (2, 3, arm.nq)
    assert hinge.limit_report(arm, q[:0], qd).ok.shape == (0, 3)
    with pytest.raises(ArgumentError, match="batch shapes do not broadcast"):
        hinge.limit_report(arm, q, np.zeros((3, 4, arm.nv)))
    with pytest.raises(ArgumentError, match="tau: expected shape"):
        hinge.limit_report(arm, q, tau=np.zeros(2))


def test_shared_coordinates_are_named_once():
    flexible = arm()
    q = hinge.configuration(flexible, {"upper_modes": [0.3, 0.0]})
    assert (
        str(hinge.limit_report(flexible, q))
        == "joint 'upper_modes': position of mode1 is above its limit by 0.2"
    )
