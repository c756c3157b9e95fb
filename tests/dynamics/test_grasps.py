"""Forces of grasps: squeezing, cones in use, all types of contact."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import reference
from hinge.model import Builder
from hinge.model.joints import Fixed, Free, Prismatic
from hinge.robots import solid_box, two_pandas_start, two_pandas_with_plate
from hinge.spatial import rotation
from tests.dynamics.closed_cases import off

CONTACTS = {
    "rigid": hinge.Rigid(),
    "line": hinge.LineContact((0, 1, 0)),
    "soft": hinge.SoftFinger(),
    "point": hinge.PointContact(),
}


@pytest.mark.parametrize("name", CONTACTS)
def test_every_type_of_contact_is_what_dense_matrices_say(name):
    """JPL 88-11 part II, appendix A: 0, 1, 2 and 3 degrees of freedom; two arms and their object."""
    robot = two_pandas_with_plate(CONTACTS[name])
    q, rng = two_pandas_start(robot), np.random.default_rng(1)
    f = {v: hinge.compile(v, robot, target="numpy") for v in ("closed_dynamics", "settle")}
    qd, tau = f["settle"](q, rng.standard_normal(robot.nv)), rng.standard_normal(robot.nv)
    found = f["closed_dynamics"](q, qd, tau=tau)
    wanted, forces = reference.closed_dynamics(robot, q, qd, tau)
    assert off(found["qdd"], wanted) < 1e-10
    jacobian = reference.closure_jacobian(robot, q)
    assert off(jacobian.T @ found["forces"], jacobian.T @ forces) < 1e-10
    assert off(jacobian @ qd, np.zeros(len(jacobian))) < 1e-11
    rows = {"rigid": 6, "line": 5, "soft": 4, "point": 3}[name]
    assert len(found["forces"]) == 2 * rows


def test_squeezing_adds_forces_and_leaves_accelerations():
    robot = two_pandas_with_plate()
    q, rng = two_pandas_start(robot), np.random.default_rng(2)
    tau = rng.standard_normal(robot.nv)
    qd = hinge.settle(robot, q, rng.standard_normal(robot.nv))
    pressed = hinge.internal_forces(robot, q, 20 * rng.standard_normal(12), "plate")
    own = hinge.closure_jacobian(robot, q)[:, robot.joint_of("plate").qd_slice]
    assert off(own.T @ pressed, np.zeros(6)) < 1e-12 and np.abs(pressed).max() > 1
    assert off(hinge.internal_forces(robot, q, pressed, "plate"), pressed) < 1e-12
    more = hinge.squeeze(robot, q, pressed, "plate")
    assert not more[robot.joint_of("plate").qd_slice].any()
    before = hinge.closed_dynamics(robot, q, qd, tau)
    after = hinge.closed_dynamics(robot, q, qd, tau + more)
    assert off(after.qdd, before.qdd) < 1e-10
    assert off(after.forces - before.forces, pressed) < 1e-9


def gripped(contact):
    """Return a block of 2 kg between two fingers that slide along x; frames' z leads into the block."""
    fingers = Builder("gripper")
    fingers.body("palm", joint=Fixed())
    inward = {-1: rotation.aligning((0, 0, 1), (1, 0, 0)), 1: rotation.aligning((0, 0, 1), (-1, 0, 0))}
    block = Builder("block")
    block.body("block", joint=Free(), inertia=solid_box(2.0, (0.1, 0.1, 0.1)))
    for side, name in ((-1, "left"), (1, "right")):
        at = {"position": (0.05 * side, 0, 0)}
        slide, solid = Prismatic((-side, 0, 0)), solid_box(0.3, (0.02, 0.02, 0.02))
        fingers.body(name, parent="palm", joint=slide, inertia=solid, **at)
        fingers.frame(f"{name}_tip", name, rotation=inward[side])
        block.frame(f"{name}_face", "block", rotation=inward[side], **at)
    grips = {f"{n}_tip": (f"{n}_face", contact) for n in ("left", "right")}
    return hinge.hold(fingers.build(), block.build(), grips)


@pytest.mark.parametrize("contact", [hinge.SoftFinger(), hinge.PointContact()], ids=["soft", "point"])
def test_a_block_between_two_fingers_by_hand(contact):
    """Each finger pushes with 40 N and carries half of the weight: the share is ½ m g / (μ N)."""
    robot = gripped(contact)
    q, zero, push, weight = hinge.neutral(robot), np.zeros(robot.nv), 40.0, 2.0 * 9.81
    robot = hinge.model.make_robot(
        robot.name,
        robot.bodies,
        robot.joints,
        frames=robot.frames,
        closures=robot.closures,
        gravity=(0, 0, -9.81),
    )
    tau = hinge.velocity(robot, {"left_joint": push, "right_joint": push})
    found = hinge.closed_dynamics(robot, q, zero, tau)
    assert np.abs(found.qdd).max() < 1e-10 and found.residual < 1e-10
    report = hinge.grasp_report(robot, found.forces, friction=0.5)
    assert len(report) == 2
    for grip in report.values():
        assert grip.normal == pytest.approx(push, rel=1e-12)
        assert grip.share == pytest.approx(0.5 * weight / (0.5 * push), rel=1e-9)
    names = [c.name for c in robot.closures]
    rough = hinge.grasp_report(robot, found.forces, friction={names[0]: 0.5, names[1]: 0.1})
    assert rough[names[1]].share == pytest.approx(0.5 * weight / (0.1 * push), rel=1e-9)
    assert rough[names[1]].share > 1  # it slips
    away = hinge.closed_dynamics(robot, q, zero, -tau)
    assert all(
        g.normal < 0 and np.isinf(g.share)
        for g in hinge.grasp_report(robot, away.forces, friction=1.0).values()
    )


def test_squeezing_a_block_is_pushing_with_both_fingers():
    robot = gripped(hinge.PointContact())
    q = hinge.neutral(robot)
    pressed = np.array([0, 0, 10.0, 0, 0, 10.0])  # along the normals, into the block
    assert off(hinge.internal_forces(robot, q, pressed, "block"), pressed) < 1e-12
    found = hinge.squeeze(robot, q, pressed, "block")
    assert off(found, hinge.velocity(robot, {"left_joint": 10.0, "right_joint": 10.0})) < 1e-12
    weight = np.array([0, 5.0, 0, 0, 5.0, 0])
    moved = weight - hinge.internal_forces(robot, q, weight, "block")
    assert np.abs(moved).max() > 1
