"""Non-holonomic joints against formulas, and against free bodies held by Lagrange multipliers."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hinge
from hinge import reference
from hinge.errors import ArgumentError, ModelError
from hinge.model import joints, make_robot
from hinge.spatial import Inertia, cross, matvec, quaternion, skew, transpose
from hinge.testing import random_state

BOUND = 1e-10
#: What rolls, and what of any kind sits on it.
KINDS = ["rolling_ball", "revolute", "spherical", "wheeled", "prismatic", "rolling_ball"]


def tree(first, seed):
    """Return a tree whose first joint is of a kind, and the same on a joint that is held by nothing."""
    made = (hinge.robots.random_tree(5, s, KINDS, rotors=False) for s in range(seed, 10_000))
    robot = next(r for r in made if r.joints[0].type.kind == first)
    loose = joints.Free() if first == "rolling_ball" else joints.Planar(robot.joints[0].type.axis)
    base = replace(robot.joints[0], type=loose, lower=None, upper=None, rest=None, velocity=None,
                   effort=None, rotor_inertia=0, gear_ratio=1, damping=0, friction=0, friction_speed=1,
                   stiffness=0)  # fmt: skip
    return robot, make_robot("loose", robot.bodies, [base, *robot.joints[1:]], frames=robot.frames)


def constraint(joint, q):
    """Return J of J v = 0, v the velocity of the joint that nothing holds."""
    if joint.kind == "wheeled":
        return np.array([[0.0, 0.0, 1.0]])
    n = quaternion.rotate(quaternion.conjugate(q[:4]), np.array(joint.axis))
    return np.concatenate([joint.radius * skew(n), np.eye(3)], axis=1)


def constraint_bias(joint, q, v):
    """Return J̇ v; the plane's normal n turns by −ω × n in the ball's axes."""
    if joint.kind == "wheeled":
        return np.zeros(1)
    n = quaternion.rotate(quaternion.conjugate(q[:4]), np.array(joint.axis))
    return joint.radius * cross(cross(n, v[:3]), v[:3])


def held(robot, loose, s, dense):
    """Return qdd of the loose robot under the forces that keep the constraint, by Lagrange multipliers."""
    joint, n = robot.joints[0].type, loose.joints[0].nv
    own = s.q[: robot.joints[0].nq]
    place = own if joint.kind == "wheeled" else np.concatenate([own[:4], joint.plane @ own[4:]])
    q = np.concatenate([place, s.q[robot.joints[0].nq :]])
    base = constraint_velocity(joint, own, s.qd[: robot.joints[0].nv])
    qd = np.concatenate([base, s.qd[robot.joints[0].nv :]])
    forces = np.zeros(loose.nv)
    forces[n:] = s.tau[robot.joints[0].nv :]
    forces[:n] = dense  # any force of the motors, of which the hinge sees Sᵀ f
    j = constraint(joint, place)
    wide = np.zeros((len(j), loose.nv))
    wide[:, :n] = j
    m, c = reference.mass_matrix(loose, q), reference.inverse_dynamics(loose, q, qd, 0 * qd)
    whole = np.block([[m, -wide.T], [wide, np.zeros((len(j), len(j)))]])
    right = np.concatenate([forces - c, -constraint_bias(joint, place, base)])
    return np.linalg.solve(whole, right)[: loose.nv]


def constraint_velocity(joint, q, qd):
    """Return the velocity in the coordinates of the joint that nothing holds."""
    if joint.kind == "wheeled":
        return np.array([*qd, 0.0])
    n = quaternion.rotate(quaternion.conjugate(q[:4]), np.array(joint.axis))
    return np.concatenate([qd, joint.radius * cross(qd, n)])


@pytest.mark.parametrize("kind", ["rolling_ball", "wheeled"])
@pytest.mark.parametrize("seed", [0, 100, 200])
def test_the_constraint_is_kept_as_by_lagrange_multipliers(kind, seed):
    robot, loose = tree(kind, seed)
    base, n = robot.joints[0], loose.joints[0].nv
    s, dense = random_state(robot, seed), np.random.default_rng(seed).standard_normal(n)
    s.tau[: base.nv] = hinge_map(base.type, s.q[: base.nq]).T @ dense
    found = hinge.forward_dynamics(robot, s.q, s.qd, s.tau)
    wanted = held(robot, loose, s, dense)
    np.testing.assert_allclose(found[base.nv :], wanted[n:], rtol=1e-7, atol=1e-7)
    across = matvec(hinge_map(base.type, s.q[: base.nq]), found[: base.nv])
    rate = base.type.bias(s.q[: base.nq], s.qd[: base.nv])
    full = across + (rate if kind == "rolling_ball" else 0.0)
    np.testing.assert_allclose(full, wanted[:n], rtol=1e-7, atol=1e-7)


def hinge_map(joint, q):
    """Return S in the coordinates of the joint that nothing holds."""
    if joint.kind == "rolling_ball":
        return joint.subspace(q)
    return np.eye(3)[:, :2]


def test_a_ball_spins_rolls_and_turns_as_it_was_pushed():
    """On a level floor a homogeneous ball keeps its angular velocity in the floor's axes."""
    b = hinge.Builder("ball")
    b.body("ball", joint=joints.RollingBall(0.2), inertia=Inertia.from_com(3.0, (0, 0, 0), 0.05 * np.eye(3)))
    robot = b.build()
    s = random_state(robot, 1, 6)
    assert np.abs(hinge.forward_dynamics(robot, s.q, s.qd, 0 * s.tau)).max() < 1e-13


def test_a_sleigh_moves_as_chaplygin_says():
    """v̇ = a ω², (I + m a²) ω̇ = −m a v ω, the centre of mass a before the axle."""
    m, inertia, a = 2.0, 0.3, 0.4
    b = hinge.Builder("sleigh")
    b.body("sleigh", joint=joints.Wheeled(), inertia=Inertia.from_com(m, (a, 0, 0), inertia * np.eye(3)))
    robot = b.build()
    s = random_state(robot, 2, 5)
    w, v = s.qd[..., 0], s.qd[..., 1]
    wanted = np.stack([-m * a * v * w / (inertia + m * a * a), a * w * w], axis=-1)
    np.testing.assert_allclose(hinge.forward_dynamics(robot, s.q, s.qd, 0 * s.tau), wanted, atol=1e-13)


@pytest.mark.parametrize("kind", ["rolling_ball", "wheeled"])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0,)], ids=str)
def test_the_verbs_agree_with_the_book(kind, shape):
    robot, _ = tree(kind, 300)
    s = random_state(robot, 3, shape)
    for ours, theirs in [
        (
            hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd),
            reference.inverse_dynamics(robot, s.q, s.qd, s.qdd),
        ),
        (hinge.mass_matrix(robot, s.q), reference.mass_matrix(robot, s.q)),
        (hinge.momentum(robot, s.q, s.qd), reference.momentum(robot, s.q, s.qd)),
        (
            matvec(reference.mass_matrix(robot, s.q), hinge.forward_dynamics(robot, s.q, s.qd, s.tau)),
            s.tau - reference.inverse_dynamics(robot, s.q, s.qd, 0 * s.qdd),
        ),
    ]:
        assert ours.shape == theirs.shape
        assert np.max(np.abs(ours - theirs), initial=0.0) < BOUND * np.max(np.abs(theirs), initial=1.0)


def test_turned_round_a_plane_rolls_on_a_ball():
    b = hinge.Builder("board on a ball")
    inertia = Inertia.from_com(1.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    b.body("ball", joint=joints.Free(), inertia=inertia)
    b.body("board", parent="ball", joint=joints.RollingBall(0.3).reversed(), inertia=inertia)
    old = b.build()
    new = hinge.reroot(old, "board")
    assert new.joint("board_joint").type == joints.RollingBall(0.3)
    s = random_state(old, 4, 3)
    q, qd = hinge.carry_state(old, new, s.q, s.qd)
    for verb in (hinge.kinetic_energy, hinge.momentum):
        np.testing.assert_allclose(verb(new, q, qd), verb(old, s.q, s.qd), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("turns", [0, 1, 3])
@pytest.mark.parametrize("turned", [False, True])
def test_whole_turns_of_a_ball_are_found_by_the_way_it_went(turns, turned):
    joint = joints.RollingBall(0.2, (0, 0.6, 0.8), turned=turned)
    rng = np.random.default_rng(5)
    q, v = joint.random(rng, (4,), *joint.limits()), rng.standard_normal((4, 3))
    v *= 1 + 2 * np.pi * turns / np.linalg.norm(v, axis=-1, keepdims=True)
    np.testing.assert_allclose(joint.difference(q, joint.integrate(q, v)), v, atol=1e-9)


def test_exactly_whole_turns_come_back_as_what_was_rolled():
    joint = joints.RollingBall(0.5)
    q, v = joint.neutral(), np.array([0.0, 4 * np.pi, 0.0])
    np.testing.assert_allclose(joint.integrate(q, v)[4:], (2 * np.pi, 0.0), atol=1e-12)
    np.testing.assert_allclose(joint.difference(q, joint.integrate(q, v)), v, atol=1e-9)


def test_wheels_do_not_go_sideways_and_say_so():
    joint = joints.Wheeled()
    np.testing.assert_allclose(joint.difference(np.zeros(3), np.array([0.0, 1.0, 0.0])), (0.0, 1.0))
    with pytest.raises(ArgumentError, match=r"q1: no constant velocity of a wheeled joint .* misses by 1 m"):
        joint.difference(np.zeros(3), np.array([0.0, 0.0, 1.0]))
    there = joint.difference(np.zeros(3), np.array([2 * np.pi, 0.0, 0.0]))
    np.testing.assert_allclose(there, (2 * np.pi, 0.0), atol=1e-12)


def test_nan_stays_nan():
    joint = joints.RollingBall()
    q = np.full((2, 6), np.nan)
    assert np.isnan(joint.difference(q, q)).all()


@pytest.mark.parametrize("radius", [0, -1.0, np.nan, np.inf, "big", None])
def test_a_ball_without_size_is_refused(radius):
    with pytest.raises(ModelError, match=r"^radius: "):
        joints.RollingBall(radius)


def test_a_quaternion_that_is_none_is_found():
    b = hinge.Builder("ball")
    b.body("ball", joint=joints.RollingBall(), inertia=Inertia.from_com(1.0, (0, 0, 0), np.eye(3)))
    found = hinge.check(b.build(), q=np.ones(6))
    assert any("quaternion" in str(p) for p in found)


def test_the_touching_point_is_at_rest():
    robot, _ = tree("rolling_ball", 400)
    joint = robot.joints[0]
    s = random_state(robot, 6, 3)
    own = s.q[..., joint.q_slice]
    v = matvec(joint.type.subspace(own), s.qd[..., joint.qd_slice])
    n = matvec(transpose(joint.type.placement(own).rotation), np.array(joint.type.axis))
    assert np.abs(v[..., 3:] - joint.type.radius * cross(v[..., :3], n)).max() < 1e-14


def test_the_example_keeps_its_laws(capsys):
    file = Path(__file__).parents[2] / "examples" / "09_rolling.py"
    main = runpy.run_path(str(file))["main"]
    assert main() == 0
    assert "the laws hold." in capsys.readouterr().out
