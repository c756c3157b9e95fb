from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import reference
from hinge.errors import ArgumentError
from hinge.model import opened
from tests.dynamics.closed_cases import comparisons, off, random_case


@pytest.mark.parametrize(("seed", "target"), [(0, None), (1, "numpy"), (2, None), (3, "numpy"), (5, "numpy")])
def test_closed_robots_are_what_dense_matrices_say(seed, target):
    for what, error in comparisons(*random_case(seed), seed, target=target):
        assert error < 1e-9, what


@pytest.fixture(scope="module")
def case():
    robot, q = random_case(4)
    rng = np.random.default_rng(0)
    return robot, q, hinge.settle(robot, q, rng.standard_normal(robot.nv)), rng.standard_normal(robot.nv)


def test_forward_dynamics_is_that_of_the_closed_robot(case):
    robot, q, qd, tau = case
    assert (
        off(hinge.forward_dynamics(robot, q, qd, tau), hinge.closed_dynamics(robot, q, qd, tau).qdd) < 1e-12
    )
    assert (
        off(
            hinge.forward_dynamics(opened(robot), q, qd, tau),
            reference.forward_dynamics(opened(robot), q, qd, tau),
        )
        < 1e-9
    )


def test_options_act_on_the_tree_and_through_the_closures(case):
    robot, q, qd, tau = case
    tip = robot.bodies[-1].name
    force, gravity = np.arange(6.0), (0.1, 0.2, -1.62)
    found = hinge.closed_dynamics(robot, q, qd, tau, external={tip: force}, gravity=gravity)
    wanted, _ = reference.closed_dynamics(robot, q, qd, tau, external={tip: force}, gravity=gravity)
    assert off(found.qdd, wanted) < 1e-9
    passive = hinge.closed_dynamics(robot, q, qd, tau, passive=True)
    own = hinge.closed_dynamics(robot, q, qd, tau + hinge.passive_force(robot, q, qd))
    assert off(passive.qdd, own.qdd) < 1e-9


def test_batches_are_single_states_bit_for_bit(case):
    robot, q, qd, tau = case
    many = tau * np.linspace(0.1, 2, 13)[:, None]
    found = hinge.closed_dynamics(robot, q, qd, many)
    for k in (0, 5, 12):
        one = hinge.closed_dynamics(robot, q, qd, many[k])
        for name in ("qdd", "forces", "residual"):
            assert np.array_equal(getattr(found, name)[k], getattr(one, name)), name


def test_single_precision(case):
    robot, q, qd, tau = (x.astype(np.float32) if isinstance(x, np.ndarray) else x for x in case)
    found = hinge.closed_dynamics(robot, q, qd, tau)
    assert found.qdd.dtype == np.float32
    assert off(found.qdd, hinge.closed_dynamics(*case).qdd) < 2e-3


def test_closures_open_and_close_state_by_state_without_compiling(case):
    robot, q, qd, tau = case
    first = robot.closures[0].name
    masks = np.ones((3, len(robot.closures)), dtype=bool)
    masks[1, 0] = masks[2] = False
    found = hinge.closed_dynamics(robot, q, qd, tau, held=masks)
    assert off(found.qdd[0], hinge.closed_dynamics(robot, q, qd, tau).qdd) < 1e-10
    assert off(found.qdd[1], hinge.forward_dynamics(opened(robot, [first]), q, qd, tau)) < 1e-9
    assert off(found.qdd[2], hinge.forward_dynamics(opened(robot), q, qd, tau)) < 1e-12
    assert not found.forces[2].any()


def test_the_compliance_of_a_frame_of_a_closed_robot(case):
    robot, q, *_ = case
    frame = robot.bodies[-1].name
    jacobian, closing = hinge.jacobian(robot, q, frame), hinge.closure_jacobian(robot, q)
    inverse = np.linalg.inv(hinge.mass_matrix(robot, q))
    compliance = closing @ inverse @ closing.T
    left = inverse - inverse @ closing.T @ np.linalg.pinv(compliance, rcond=1e-9) @ closing @ inverse
    assert off(hinge.operational_inverse_inertia(robot, q, frame), jacobian @ left @ jacobian.T) < 1e-9


def test_a_residual_tells_that_closures_cannot_be_kept():
    builder = hinge.Builder("stuck")
    inertia = hinge.Inertia.from_com(1.0, (0.1, 0, 0), np.eye(3))
    builder.body("arm", joint=hinge.model.joints.Revolute((0, 1, 0)), inertia=inertia)
    robot = hinge.close(builder.build(), None, "arm")
    found = hinge.closed_dynamics(robot, [0.0], [1.0], [0.0])  # it is welded, and moves
    assert found.qdd == 0.0
    assert hinge.closed_dynamics(robot, [0.0], [0.0], [3.0]).residual < 1e-12
    assert hinge.mobility(robot, [0.0]).freedoms == 0


def test_as_many_motors_as_freedoms_leave_one_way():
    """What is left of the motors' rows is rounding then, and must not be inverted."""
    linkage = hinge.robots.four_bar((0.4, 0.3, 0.4, 0.3), angle=1.2)
    rng = np.random.default_rng(0)
    for crank in np.linspace(-0.5, 0.5, 7):
        q = hinge.assemble(
            linkage, hinge.configuration(linkage, {"crank_joint": crank}), keep=["crank_joint"]
        ).q
        qd, tau = (
            hinge.settle(linkage, q, rng.standard_normal(3)),
            np.array([rng.standard_normal(), 0.0, 0.0]),
        )
        qdd = hinge.closed_dynamics(linkage, q, qd, tau).qdd
        found = hinge.closed_inverse_dynamics(linkage, q, qd, qdd, actuated=["crank_joint"])
        assert off(found.tau, tau) < 1e-9 and found.residual < 1e-9


def test_verbs_of_the_tree_refuse_and_name_the_closed_one(case):
    robot, q, qd, tau = case
    for call, instead in (
        (lambda: hinge.inverse_dynamics(robot, q, qd, qd), "closed_inverse_dynamics"),
        (lambda: hinge.mass_matrix_inverse(robot, q), "closed_dynamics"),
        (lambda: hinge.mass_solve(robot, q, qd), "settle"),
        (
            lambda: hinge.hybrid_dynamics(robot, q, qd, tau=tau, qdd=qd, prescribed=[robot.joint_names[0]]),
            "opened",
        ),
    ):
        with pytest.raises(ArgumentError, match=instead):
            call()
    with pytest.raises(ArgumentError, match=r"hinge\.close"):
        hinge.closed_dynamics(opened(robot), q, qd, tau)
    with pytest.raises(ArgumentError, match="held: expected booleans"):
        hinge.closed_dynamics(robot, q, qd, tau, held=[2] * len(robot.closures))


def test_assembly_keeps_joints_and_says_what_is_left(case):
    robot, q, *_ = case
    rng = np.random.default_rng(1)
    start = hinge.integrate(robot, q, 0.02 * rng.standard_normal(robot.nv))
    found = hinge.assemble(robot, start)
    assert found.error < 1e-12
    assert np.abs(hinge.closure_error(robot, found.q)).max() < 1e-12
    many = hinge.assemble(robot, np.stack([q, start]))
    assert many.q.shape == (2, robot.nq)
    assert many.error.shape == (2,)
