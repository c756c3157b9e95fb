"""Bad input to closed robots and grasps: each says what is expected, what came, and what to do."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError, ModelError, UnknownNameError
from hinge.model.joints import Fixed, Free, Revolute, Universal
from hinge.robots import four_bar, panda, solid_box, two_pandas_start, two_pandas_with_plate
from tests.dynamics.closed_cases import off

ROBOT = four_bar()
Q, ZERO = np.zeros(3), np.zeros(3)
POINTS = two_pandas_with_plate(hinge.PointContact())
HELD, START = two_pandas_with_plate(), two_pandas_start(POINTS)
LEFT = POINTS.closures[0].name

MODELS = {
    "an unknown frame": (
        lambda: hinge.close(ROBOT, "coupler_end", "rocker_and"),
        "its outer frame or body 'rocker_and' does not exist; did you mean 'rocker_end'",
    ),
    "its own body": (
        lambda: hinge.close(ROBOT, "coupler", "coupler_end"),
        "expected two bodies, got 'coupler' and 'coupler_end', both on body 'coupler'; remove it",
    ),
    "twice the same": (
        lambda: hinge.close(ROBOT, "coupler_end", "rocker_end", joint=Revolute((0.0, -1.0, 0.0))),
        "the same as 'pin'; keep one",
    ),
    "a type that cannot close": (
        lambda: hinge.close(ROBOT, None, "coupler_end", joint=Universal()),
        "expected a type with constant constraint rows, got universal; leave that joint in the tree and cut",
    ),
    "a free joint": (
        lambda: hinge.close(ROBOT, None, "coupler_end", joint=Free()),
        "expected a type with constant constraint rows, got free; leave",
    ),
}

ARGUMENTS = {
    "held: too many": (
        lambda: hinge.closed_dynamics(ROBOT, Q, ZERO, ZERO, held=[True, True]),
        r"held: expected booleans \(…, 1\), one for each closure \(pin\), got \[True, True\]",
    ),
    "held: no booleans": (
        lambda: hinge.settle(ROBOT, Q, ZERO, held=[0.5]),
        r"held: expected booleans \(…, 1\).*got \[0.5\]",
    ),
    "held: another batch": (
        lambda: hinge.closed_dynamics(ROBOT, np.zeros((3, 3)), ZERO, ZERO, held=np.ones((2, 1), bool)),
        r"q, held: batch shapes do not broadcast: q \(3,\), held \(2,\)",
    ),
    "tau: too few": (
        lambda: hinge.closed_dynamics(ROBOT, Q, ZERO, np.zeros(2)),
        r"tau: expected shape \(…, 3\), got \(2,\)",
    ),
    "keep: one text": (
        lambda: hinge.assemble(ROBOT, Q, keep="crank_joint"),
        r"keep: expected a list of joint names, got the string 'crank_joint'; did you mean \['crank_joint'\]",
    ),
    "keep: a number": (
        lambda: hinge.assemble(ROBOT, Q, keep=3),
        "keep: expected a list of joint names, got 3; write it in brackets",
    ),
    "tolerance": (
        lambda: hinge.assemble(ROBOT, Q, tolerance=-1.0),
        "tolerance: expected a number above zero, got -1.0; the default",
    ),
    "tolerance: a text": (
        lambda: hinge.assemble(ROBOT, Q, tolerance="small"),
        "tolerance: expected a number above zero, got 'small'; the default",
    ),
    "steps": (
        lambda: hinge.assemble(ROBOT, Q, steps=2.5),
        "steps: expected how many .* got 2.5; the default",
    ),
    "assemble: q": (
        lambda: hinge.assemble(ROBOT, np.zeros(4)),
        r"q: expected shape \(…, 3\), got \(4,\)",
    ),
    "mobility: a batch": (
        lambda: hinge.mobility(ROBOT, np.zeros((2, 3))),
        r"q: expected one configuration \(3,\), got shape \(2, 3\)",
    ),
    "actuated: one text": (
        lambda: hinge.closed_inverse_dynamics(ROBOT, Q, ZERO, ZERO, actuated="crank_joint"),
        "actuated: expected a list of joint names, got the string 'crank_joint'; did you mean",
    ),
    "actuated: a number": (
        lambda: hinge.closed_inverse_dynamics(ROBOT, Q, ZERO, ZERO, actuated=1),
        "actuated: expected a list of joint names, got 1; write",
    ),
    "no closures": (
        lambda: hinge.closure_error(panda(), np.zeros(7)),
        r"robot: expected one with closures, .*got 'panda'.*; close its loops with hinge\.close",
    ),
    "no closures to assemble": (
        lambda: hinge.assemble(panda(), np.zeros(7)),
        r"robot: expected one with closures, got 'panda'; close its loops with hinge\.close",
    ),
    "forces: too few": (
        lambda: hinge.internal_forces(POINTS, START, np.zeros(5), "plate"),
        r"forces: expected shape \(…, 6\), got \(5,\); robot 'two_pandas' has 6 rows of closures",
    ),
    "forces: not internal": (
        lambda: hinge.squeeze(POINTS, START, np.ones(6), "plate"),
        r"forces: expected internal ones, .*got a sum of .*; pass internal_forces\(",
    ),
    "a body of an arm": (
        lambda: hinge.squeeze(POINTS, START, np.zeros(6), "left_link7"),
        r"held: expected a body on a free joint to the world, got 'left_link7' on a revolute joint; hin",
    ),
    "friction: zero": (
        lambda: hinge.grasp_report(POINTS, np.zeros(6), friction=0.0),
        f"friction: expected a number above zero for closure '{LEFT}', got 0.0; give",
    ),
    "friction: nothing": (
        lambda: hinge.grasp_report(POINTS, np.zeros(6), friction=np.nan),
        "friction: expected a number above zero .* got nan; give",
    ),
    "friction: a text": (
        lambda: hinge.grasp_report(POINTS, np.zeros(6), friction="rough"),
        "friction: expected a number above zero .* got 'rough'; give",
    ),
    "friction: one is missing": (
        lambda: hinge.grasp_report(POINTS, np.zeros(6), friction={LEFT: 0.5}),
        f"friction: expected a coefficient for closure '.*', got those of '{LEFT}'; give one",
    ),
    "spin": (
        lambda: hinge.grasp_report(POINTS, np.zeros(6), friction=0.5, spin=0),
        "spin: expected a radius above zero, got 0; the default",
    ),
}

NAMES = {
    "keep": (lambda: hinge.assemble(ROBOT, Q, keep=["crank"]), "has no joint 'crank'; did you mean 'crank_j"),
    "actuated": (
        lambda: hinge.closed_inverse_dynamics(ROBOT, Q, ZERO, ZERO, actuated=["crank"]),
        "has no joint 'crank'; did you mean 'crank_joint'",
    ),
    "a body": (
        lambda: hinge.internal_forces(POINTS, START, np.zeros(6), "plat"),
        "has no body 'plat'; did you mean 'plate'",
    ),
    "a closure": (lambda: hinge.opened(ROBOT, ["pim"]), "has no closure 'pim'; did you mean 'pin'"),
}


def _raises(error, call, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("what", MODELS)
def test_closures_that_cannot_be(what):
    _raises(ModelError, *MODELS[what])


@pytest.mark.parametrize("what", ARGUMENTS)
def test_arguments_that_do_not_fit(what):
    _raises(ArgumentError, *ARGUMENTS[what])


@pytest.mark.parametrize("what", NAMES)
def test_names_that_do_not_exist(what):
    _raises(UnknownNameError, *NAMES[what])


def test_an_assembly_that_does_not_exist_leaves_an_error():
    """Crank and ground fixed at an angle at which coupler and rocker cannot meet."""
    robot = four_bar((0.10, 0.04, 0.05, 0.05), angle=0.0)
    q = hinge.configuration(robot, {"crank_joint": np.pi})  # their pivots are 0.14 m apart
    found = hinge.assemble(robot, q, keep=["crank_joint"])
    assert 0.005 < found.error < 0.1 and np.isfinite(found.q).all()
    assert found.q[robot.joint("crank_joint").q_slice] == np.pi
    many = hinge.assemble(robot, np.stack([hinge.neutral(robot), q]), keep=["crank_joint"])
    assert many.error[0] < 1e-12 < many.error[1]


def test_states_that_are_no_numbers_leave_an_error():
    found = hinge.assemble(ROBOT, np.array([[np.nan, 0, 0], [0.0, 0, 0]]))
    assert found.error[0] == np.inf and found.error[1] < 1e-12


def test_velocities_that_do_not_fit_are_settled():
    """Accelerations close whatever the velocities are; closure_velocity says how far these are off."""
    qd = np.array([1.0, 0.0, 0.0])
    assert np.abs(hinge.closure_velocity(ROBOT, Q, qd)).max() > 1e-2
    assert hinge.closed_dynamics(ROBOT, Q, qd, ZERO).residual < 1e-9
    fits = hinge.settle(ROBOT, Q, qd)
    assert off(hinge.closure_velocity(ROBOT, Q, fits), np.zeros(5)) < 1e-12
    assert off(hinge.settle(ROBOT, Q, fits), fits) < 1e-12


def test_an_arm_that_is_welded_and_moves_gives_finite_results():
    b = hinge.Builder("stuck")
    b.body("arm", joint=Revolute((0, 1, 0)), inertia=solid_box(1.0, (0.2, 0.1, 0.1), (0.1, 0, 0)))
    b.frame("tip", "arm", position=(0.2, 0, 0))
    robot = hinge.close(b.build(), None, "tip", joint=Fixed(), position=(0.2, 0, 0))
    found = hinge.closed_dynamics(robot, [0.0], [2.0], [0.0])
    assert abs(found.qdd[0]) < 1e-12 and found.residual < 1e-12
    assert np.abs(hinge.closure_velocity(robot, [0.0], [2.0])).max() > 0.1
    assert np.abs(hinge.settle(robot, [0.0], [2.0])).max() < 1e-12


@pytest.mark.skipif(not hasattr(hinge, "embed_loops"), reason="loops cannot be embedded yet")
def test_joints_that_cannot_be_independent_are_refused():
    with pytest.raises(ArgumentError, match="independent: "):
        hinge.embed_loops(ROBOT, independent=["crank_joint", "rocker_joint"])
    with pytest.raises(UnknownNameError, match="did you mean 'crank_joint'"):
        hinge.embed_loops(ROBOT, independent=["crank"])
