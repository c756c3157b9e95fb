"""What a base feels of a robot: against the whole, a robot and its bus in one tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.model import Body, Joint, joints, make_robot
from hinge.robots import chain, four_bar, panda, random_tree
from hinge.spatial import Inertia, Transform, cross, matvec, quaternion, rotation, transpose
from hinge.testing import random_state
from tests.dynamics.judges_bases import felt
from tests.dynamics.passives import with_physics
from tests.dynamics.test_moving import ROBOTS, SHAPES
from tests.dynamics.zoo import tip_of
from tests.tiers import daily

BUS = Inertia.from_com(20.0, (0.1, -0.2, 0.3), np.diag([2.0, 3.0, 4.0]))
#: Where the robot's base is on the bus.
SEAT = Transform.place(rotation.from_rpy((0.3, -0.7, 1.1)), (0.4, 0.2, -0.5))


def on_a_bus(robot):
    """Return the robot with all that hung on the world on a free body of its own inertia, at `SEAT`."""
    free = Joint("bus_joint", joints.Free(), None, "bus")
    hung = [j if j.parent else replace(j, parent="bus", inner=j.inner @ SEAT) for j in robot.joints]
    bodies = [Body("bus", BUS), *robot.bodies]
    return make_robot("bus", bodies, [free, *hung], frames=robot.frames, gravity=robot.gravity)


def by_parts(robot, bus, s, tau, *, spin):
    """Return classical accelerations of the bus at its origin, and those of the joints."""
    q0, w = bus
    turn = rotation.from_quaternion(q0)  # from the axes of the bus to those of the world
    seat = SEAT.rotation
    down = matvec(transpose(turn), robot.gravity)
    rate = w if spin else 0 * w
    at_seat = hinge.BaseMotion(angular_velocity=matvec(transpose(seat), rate))
    part = hinge.interface(robot, s.q, s.qd, tau, base=at_seat, gravity=matvec(transpose(seat), down))
    # α at the seat is X (α of the bus) + [0; ω × (ω × r)], in the axes of the seat
    x = SEAT.matrix()
    turned = np.concatenate(
        [0 * w, matvec(transpose(seat), cross(rate, cross(rate, SEAT.position)))], axis=-1
    )
    m = BUS.matrix() + x.T @ part.inertia @ x
    c = BUS.com
    inward = BUS.m * cross(rate, cross(rate, np.broadcast_to(c, w.shape)))
    own = np.concatenate([cross(rate, matvec(BUS.I, rate)), inward - BUS.m * down], axis=-1)
    own[..., :3] -= BUS.m * cross(np.broadcast_to(c, w.shape), down)
    force = own + matvec(x.T, part.force + matvec(part.inertia, turned))
    alpha = -np.linalg.solve(m, force[..., None])[..., 0]
    there = matvec(x, alpha) + turned
    moving = hinge.BaseMotion(
        angular_velocity=at_seat.angular_velocity,
        angular_acceleration=there[..., :3],
        acceleration=there[..., 3:],
    )
    qdd = hinge.forward_dynamics(robot, s.q, s.qd, tau, base=moving, gravity=matvec(transpose(seat), down))
    return alpha, qdd


@pytest.mark.parametrize("spin", [False, True], ids=["at rest", "turning"])
@pytest.mark.parametrize("name", ["panda", "floating", "tree"])
def test_a_bus_moves_as_it_does_with_the_whole_robot_on_it(name, spin):
    robot, rng = ROBOTS[name], np.random.default_rng(5)
    s, whole = random_state(robot, 1, (4,)), on_a_bus(robot)
    q0, w, v = quaternion.random(rng, (4,)), rng.standard_normal((4, 3)), rng.standard_normal((4, 3))
    w, v = (w, v) if spin else (0 * w, 0 * v)
    alpha, qdd = by_parts(robot, (q0, w), s, s.tau, spin=spin)
    q = np.concatenate([q0, rng.standard_normal((4, 3)), s.q], axis=-1)
    tau = np.concatenate([np.zeros((4, 6)), s.tau], axis=-1)
    found = hinge.forward_dynamics(whole, q, np.concatenate([w, v, s.qd], axis=-1), tau)
    found[..., 3:6] += cross(w, v)  # of the origin as a point
    size = np.abs(found).max()
    assert np.abs(alpha - found[..., :6]).max() < 1e-11 * size
    assert np.abs(qdd - found[..., 6:]).max() < 1e-10 * size


@pytest.mark.parametrize(("shape",), daily([(x,) for x in SHAPES], lambda k, case: k in (1, 3)), ids=str)
@pytest.mark.parametrize("name", ROBOTS)
def test_the_base_gives_the_force_that_a_raft_with_this_motion_gives(name, shape):
    robot = ROBOTS[name]
    s = random_state(robot, 2, shape)
    push = {tip_of(robot): s.tau[..., :1] * np.arange(1.0, 7.0)}
    for more in ({}, {"external": push}, {"gravity": np.array([1.0, 2.0, -3.0])}):
        assert felt(robot, s, 2, **more) < 1e-10


def test_the_force_is_what_the_first_joint_carries():
    robot = panda()
    s = random_state(robot, 3)
    found = hinge.interface(robot, s.q, s.qd, s.tau).force
    load = hinge.hinge_forces(robot, s.q, s.qd, tau=s.tau).total[0]
    joint = robot.joints[0]
    outer = joint.type.placement(s.q[joint.q_slice]) @ joint.inner
    assert np.abs(found - outer.inv().force(load)).max() < 1e-10 * np.abs(found).max()


def test_the_inertia_is_that_of_all_bodies_if_nothing_can_move():
    robot = chain(3)
    q = [0.1, 0.2, 0.3]
    locked = hinge.lock(robot, {j.name: x for j, x in zip(robot.joints, q, strict=True)})
    found = hinge.interface(locked, [], [], [])
    whole = hinge.compile("composite_inertia", robot)(q)
    assert np.abs(found.inertia - whole).max() < 1e-13 * np.abs(whole).max()
    free = hinge.interface(robot, q, [0.0] * 3, [0.0] * 3).inertia
    assert np.linalg.eigvalsh(whole - free).min() > -1e-12  # joints that give way make it lighter
    assert np.linalg.eigvalsh(free).min() > -1e-12


def test_the_forces_of_the_joints_may_act_too():
    robot = with_physics(panda())
    s = random_state(robot, 4, (3,))
    own = hinge.passive_force(robot, s.q, s.qd)
    assert np.abs(own).max() > 0.1
    found = hinge.interface(robot, s.q, s.qd, s.tau, passive=True)
    wanted = hinge.interface(robot, s.q, s.qd, s.tau + own)
    assert np.abs(found.force - wanted.force).max() < 1e-11 * np.abs(wanted.force).max()
    both = hinge.interface(robot, s.q, s.qd, s.tau, passive=True, base=hinge.BaseMotion())
    assert np.abs(both.force - wanted.force).max() < 1e-11 * np.abs(wanted.force).max()


def test_batches_places_for_results_and_single_precision():
    robot = panda()
    s = random_state(robot, 6, (2, 3))
    found = hinge.interface(robot, s.q, s.qd, s.tau)
    assert found.inertia.shape == (2, 3, 6, 6) and found.force.shape == (2, 3, 6)
    assert np.array_equal(found.inertia, np.swapaxes(found.inertia, -1, -2))
    out = hinge.Interface(np.empty((2, 3, 6, 6)), np.empty((2, 3, 6)))
    again = hinge.interface(robot, s.q, s.qd, s.tau, out=out)
    assert again.inertia is out.inertia and again.force is out.force
    assert np.array_equal(out.force, found.force)
    out.force[:] = 0
    moved = hinge.interface(robot, s.q, s.qd, s.tau, out=out, base=hinge.BaseMotion())
    assert (
        moved.force is out.force and np.abs(out.force - found.force).max() < 1e-11 * np.abs(found.force).max()
    )
    single = hinge.interface(robot, *(x.astype(np.float32) for x in (s.q, s.qd, s.tau)))
    assert single.inertia.dtype == single.force.dtype == np.float32
    assert np.abs(single.force - found.force).max() < 1e-3 * np.abs(found.force).max()
    with pytest.raises(ArgumentError, match=r"out: expected an object of Interface, got ndarray"):
        hinge.interface(robot, s.q, s.qd, s.tau, out=np.empty(6))


def test_the_derivative_of_the_force_is_its_difference():
    robot = random_tree(5, 3)
    s, h = random_state(robot, 7), 1e-6
    e = hinge.dynamics.expression("interface").expressions["force"]
    f = hinge.compile({n: hinge.derivative(e, n) for n in ("q", "qd", "tau")}, robot)
    found = f(s.q, s.qd, tau=s.tau, f_ext=np.zeros((0, 6)))

    def force(d, v, t):
        return hinge.interface(robot, hinge.integrate(robot, s.q, d), s.qd + v, s.tau + t).force

    zero = np.zeros(robot.nv)
    for k, name in enumerate(("q", "qd", "tau")):
        wanted = []
        for e in np.eye(robot.nv):
            d = [zero, zero, zero]
            d[k] = h * e
            wanted.append((force(*d) - force(*(-x for x in d))) / (2 * h))
        wanted = np.stack(wanted, axis=-1)
        assert np.abs(found[name] - wanted).max() < 1e-5 * max(1.0, np.abs(wanted).max()), name


def test_robots_with_closures_are_refused_with_a_remedy():
    robot = four_bar()
    s = random_state(robot, 1)
    with pytest.raises(ArgumentError, match=r"interface .* use closed_dynamics, or opened\(robot\)"):
        hinge.interface(robot, s.q, s.qd, s.tau)


def test_embedded_loops_are_a_robot_like_any_other():
    closed = hinge.embed_loops(four_bar(), independent=["crank_joint"])
    whole = on_a_bus(closed) if not closed.loops else None
    assert whole is None or whole.nv == closed.nv + 6
    rng = np.random.default_rng(1)
    q, qd, tau = hinge.neutral(closed), rng.standard_normal(closed.nv), rng.standard_normal(closed.nv)
    found = hinge.interface(closed, q, qd, tau)
    qdd = hinge.forward_dynamics(closed, q, qd, tau)
    before = hinge.momentum(closed, q, qd)
    h = 1e-6
    later = hinge.integrate(closed, q, h * qd)
    rate = (hinge.momentum(closed, later, qd + h * qdd) - before) / h
    c, weight = hinge.center_of_mass(closed, q), closed.gravity * sum(b.inertia.m for b in closed.bodies)
    pull = np.concatenate([np.cross(c, weight), weight])
    assert np.abs(found.force - (rate - pull)).max() < 1e-4 * np.abs(found.force).max()
