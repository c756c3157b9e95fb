from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest

import hinge
from hinge import dynamics
from hinge.dynamics import CATALOGUE
from hinge.errors import ArgumentError, UnknownNameError
from hinge.pipeline import derive
from hinge.spatial import matvec, transpose
from hinge.testing import random_state
from tests.dynamics.operational import (
    BOUND,
    OPERATIONAL,
    SMALL,
    difference,
    expression_difference,
    frame_sets,
    is_regular,
    small,
    states,
)
from tests.dynamics.sweep_operational import pinocchio_difference
from tests.dynamics.zoo import matrix, robot_of
from tests.oracles.data import example

AXES = dict(zip(OPERATIONAL, cycle(("body", "world", "world-aligned")), strict=False))
AXES["classical_operational_bias"] = "world-aligned"
#: Verbs that are tried on every small tree; the sweep tries all.
FEW = ("operational_inverse_inertia", "operational_bias", "jacobian_column_products")


@pytest.mark.parametrize("verb", OPERATIONAL)
def test_the_verb_agrees_with_dense_matrices(verb):
    robot = robot_of("panda")
    s = states(robot, ["link7"])
    assert is_regular(robot, ["link7"], s)
    assert difference(verb, robot, "link7", s, AXES[verb]) < BOUND


@pytest.mark.parametrize(
    "name, verb",
    [(name, verb) for name in SMALL for verb in OPERATIONAL if name == "turning" or verb in FEW],
)
def test_the_expression_agrees_on_several_branches(name, verb):
    robot = small(name)
    frames = frame_sets(robot)[1]
    assert len(frames) == 2 and is_regular(robot, frames, states(robot, frames))
    assert expression_difference(verb, robot, frames, AXES[verb], "numpy") < BOUND


@pytest.mark.parametrize("verb", ["operational_inverse_inertia", "force_correction"])
def test_the_native_target_agrees_on_several_branches(verb):
    robot = small("turning")
    assert expression_difference(verb, robot, frame_sets(robot)[1], AXES[verb], "llvm") < BOUND


def test_frames_may_share_a_body_and_come_in_any_order():
    robot = small("turning")
    frames = frame_sets(robot)[2]
    found = expression_difference("operational_inverse_inertia", robot, frames, "world", "numpy")
    assert found < BOUND and len(set(frames)) < len(frames)


@pytest.mark.parametrize("batch", [(), (5,), (3, 4), (0,)])
@pytest.mark.parametrize("verb", OPERATIONAL)
def test_batches(verb, batch):
    robot, v = robot_of("panda"), OPERATIONAL[verb]
    s = random_state(robot, 3, batch)
    arrays = [s.qd if x == "qd" else np.ones((*batch, 6)) for x in v.takes]
    call, axes = getattr(dynamics, verb), {"expressed": AXES[verb]}
    whole = call(robot, s.q, *arrays, "link7", **axes)
    assert whole.shape[: len(batch)] == batch
    for k in np.ndindex(batch):
        alone = call(robot, s.q[k], *(x[k] for x in arrays), "link7", **axes)
        assert np.allclose(alone, whole[k], rtol=1e-6, atol=1e-9 * np.abs(alone).max())


def test_several_frames_have_a_dimension_of_their_own():
    robot = small("turning")
    frames, s = frame_sets(robot)[1], random_state(small("turning"), 1, 3)
    assert hinge.operational_gravity(robot, s.q, frames).shape == (3, 2, 6)
    assert hinge.force_correction(robot, s.q, np.ones((2, 6)), frames).shape == (3, robot.nv)


def test_single_precision_stays_single():
    robot, tip = robot_of("panda"), "link7"
    s = states(robot, [tip])
    q, f = s.q.astype(np.float32), np.ones((4, 6), dtype=np.float32)
    for found, wanted in (
        (
            hinge.operational_inverse_inertia(robot, q, tip),
            hinge.operational_inverse_inertia(robot, s.q, tip),
        ),
        (hinge.force_correction(robot, q, f, tip), hinge.force_correction(robot, s.q, f, tip)),
    ):
        assert found.dtype == np.float32 and matrix(found, wanted) < 1e-3


def test_the_equation_of_motion_holds_at_the_frames():
    robot = robot_of("panda")
    s = states(robot, ["link7"])
    at = {"expressed": "world-aligned"}
    force = np.array([0.3, -1.0, 2.0, 5.0, -3.0, 1.0])
    j = hinge.jacobian(robot, s.q, "link7", **at)
    qdd = hinge.forward_dynamics(robot, s.q, s.qd, matvec(transpose(j), force))
    inertia = hinge.operational_inertia(robot, s.q, "link7", **at)
    p = hinge.operational_gravity(robot, s.q, "link7", **at)
    for acceleration, bias in (
        (hinge.accelerations, hinge.operational_bias),
        (hinge.classical_accelerations, hinge.classical_operational_bias),
    ):
        x = acceleration(robot, s.q, s.qd, qdd, "link7", **at)
        mu = bias(robot, s.q, s.qd, "link7", **at)
        parts = [matvec(inertia, x), mu, p]
        assert np.abs(sum(parts) - force).max() < 1e-9 * max(np.abs(x).max() for x in parts)


def test_the_consistent_inverse_is_one_and_its_null_space_is_silent():
    robot = robot_of("panda")
    s = states(robot, ["link7"])
    j, back = hinge.jacobian(robot, s.q, "link7"), hinge.consistent_inverse(robot, s.q, "link7")
    assert np.allclose(j @ back, np.eye(6), atol=1e-9)
    silent = np.eye(robot.nv) - transpose(j) @ transpose(back)
    moved = j @ hinge.mass_matrix_inverse(robot, s.q) @ silent
    assert np.abs(moved).max() < 1e-8 * np.abs(hinge.mass_matrix_inverse(robot, s.q)).max()


def test_a_force_on_a_frame_accelerates_by_its_correction():
    robot, tip = robot_of("panda"), "link7"
    s, force = random_state(robot, 4, 3), np.array([0.1, 0.2, -0.3, 4.0, 5.0, -6.0])
    free = hinge.forward_dynamics(robot, s.q, s.qd, s.tau)
    pushed = hinge.forward_dynamics(robot, s.q, s.qd, s.tau, external={tip: force})
    found = hinge.force_correction(robot, s.q, force, tip)
    assert np.allclose(pushed - free, found, atol=1e-8 * np.abs(free).max())


def test_other_gravity_and_arrays_for_results():
    robot, tip = robot_of("panda"), "link7"
    s = states(robot, [tip])
    own = hinge.operational_gravity(robot, s.q, tip)
    same = hinge.operational_gravity(robot, s.q, tip, gravity=robot.gravity)
    assert own.shape == same.shape == (4, 6) and matrix(same, own) < BOUND
    assert (
        matrix(hinge.operational_gravity(robot, s.q, [tip], gravity=-robot.gravity)[..., 0, :], -own) < BOUND
    )
    for verb, shape in (("operational_inertia", (6, 6)), ("consistent_inverse", (7, 6))):
        out = np.empty((4, *shape))
        assert getattr(hinge, verb)(robot, s.q, tip, out=out) is out
        assert np.array_equal(out, getattr(hinge, verb)(robot, s.q, tip))


def test_an_arm_that_is_not_redundant_is_solved_for():
    robot, tip = robot_of("puma560"), "tool"
    s = states(robot, [tip])
    j = hinge.jacobian(robot, s.q, tip)
    found = hinge.jacobian_solve(robot, s.q, matvec(j, s.qd), tip)
    assert np.allclose(found, s.qd, atol=1e-8)


def test_matrices_are_symmetric():
    robot = robot_of("panda")
    frames, q = "link7", random_state(robot, 1, 3).q
    for verb in ("operational_inverse_inertia", "jacobian_row_products", "jacobian_column_products"):
        x = getattr(hinge, verb)(robot, q, frames)
        assert np.allclose(x, transpose(x), rtol=0, atol=1e-14 * np.abs(x).max())


def test_the_compliance_is_derived_without_a_dense_solve():
    found = derive({"y": CATALOGUE["operational_inverse_inertia"]})
    assert found.cost.solves == 0 and "operations a body" in str(found.cost)
    assert derive({"y": CATALOGUE["operational_bias"]}).cost.solves == 1


def test_bad_arguments_are_named():
    robot = robot_of("panda")
    q, qd = np.zeros(7), np.zeros(7)
    with pytest.raises(UnknownNameError, match="nose"):
        hinge.operational_inertia(robot, q, "nose")
    with pytest.raises(ArgumentError, match="frame"):
        hinge.operational_inertia(robot, q, 3)
    with pytest.raises(ArgumentError, match="expressed"):
        hinge.operational_inertia(robot, q, "link7", expressed="moon")
    with pytest.raises(ArgumentError, match="expressed"):
        hinge.classical_operational_bias(robot, q, qd, "link7", expressed="world")
    with pytest.raises(ArgumentError, match="robot"):
        hinge.operational_inertia("panda", q, "link7")
    with pytest.raises(ArgumentError, match=r"q: expected shape .*, got"):
        hinge.operational_inverse_inertia(robot, np.zeros(3), "link7")
    with pytest.raises(ArgumentError, match="gravity"):
        hinge.operational_gravity(robot, q, "link7", gravity=np.zeros(2))
    for verb, name in (("force_correction", "force"), ("jacobian_solve", "velocity")):
        call = getattr(hinge, verb)
        for frame, value in (("link7", np.zeros(5)), (["link7"], np.zeros(6)), ("link7", "much")):
            with pytest.raises(ArgumentError, match=f"{name}: "):
                call(robot, q, value, frame)
        with pytest.raises(ArgumentError, match=f"q, {name}: batch"):
            call(robot, np.zeros((3, 7)), np.zeros((2, 6)), "link7")


def test_the_compliance_agrees_with_pinocchio():
    pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for this platform")
    found = pinocchio_difference(example("solo12.urdf"), True, ["FL_FOOT", "HR_FOOT"], "world-aligned")
    assert found < BOUND
