"""Robots that hold payloads and have frozen joints, built so or changed so, and how far apart these are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import hinge
from hinge import reference
from hinge.dynamics import Payload
from hinge.model import Builder, Robot
from hinge.robots import random_inertia
from hinge.spatial import Array, Inertia, Transform, rotation
from hinge.testing import random_state


def placed(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Transform:
    """Return a random placement, or a batch of them."""
    turn = rotation.from_rpy(rng.uniform(-2, 2, (*shape, 3)))
    return Transform.place(turn, rng.uniform(-0.5, 0.5, (*shape, 3)))


def with_payload(robot: Robot, name: str, frame: str, inertia: Inertia, placement: Transform) -> Robot:
    """Return the robot built with the payload on a fixed joint."""
    b = Builder(name)
    b.body(name, inertia=inertia, joint_name=f"{name}_joint")
    return hinge.attach(robot, b.build(), frame, rotation=placement.rotation, position=placement.position)


def changed(robot: Robot, seed: int) -> tuple[hinge.Live, Robot]:
    """Return a configuration with two payloads and frozen joints, and the robot built with the payloads."""
    rng = np.random.default_rng(seed)
    live, built = hinge.Live(robot), robot
    bodies = robot.bodies
    for name, frame in (("load", bodies[-1].name), ("crate", bodies[len(bodies) // 2].name)):
        inertia, place = random_inertia(rng), placed(rng)
        live = live.grasp(name, frame, inertia, place)
        built = with_payload(built, name, frame, inertia, place)
    return live.freeze([j.name for j in robot.joints[1::2] if not j.follows]), built


def relative(x: Array, y: Array) -> float:
    """Return the largest difference relative to the largest entry, or to one."""
    assert x.shape == y.shape
    return float(np.abs(x - y).max(initial=0.0) / max(1.0, np.abs(y).max(initial=0.0)))


def by_forces(m: Array, x: Array, y: Array) -> float:
    """Return how far accelerations or velocities are apart, by the forces or momenta that they stand for."""
    off = np.abs(m @ (x - y)[..., None]).max(initial=0.0)
    return float(off / max(1e-9, float((np.abs(m) @ np.abs(y)[..., None]).max(initial=0.0))))


def dynamics_errors(robot: Robot, seed: int) -> dict[str, float]:
    """Return how far accelerations and hold forces of a changed robot are from those of one built so."""
    live, built = changed(robot, seed)
    s, free = random_state(robot, seed + 1, (3,)), ~live.held
    v = np.where(live.held, 0.0, s.qd)
    qdd, tau = live.hybrid_dynamics(s.q, v, s.tau)
    assert not qdd[:, live.held].any() and np.array_equal(tau[:, free], s.tau[:, free])
    assert np.array_equal(live.forward_dynamics(s.q, v, s.tau), qdd)
    found = {
        "hold forces": relative(tau, reference.inverse_dynamics(built, s.q, v, qdd)),
        "accelerations": 0.0,
    }
    for k in range(3):  # each state locks the joints elsewhere
        at = {j.name: s.q[k, j.q_slice] for j in robot.independent if j.name in live.frozen}
        locked = hinge.lock(built, at)
        q, moving = hinge.carry_state(built, locked, s.q[k], v[k])
        wanted = reference.forward_dynamics(locked, q, moving, s.tau[k, free])
        off = by_forces(reference.mass_matrix(locked, q), qdd[k, free], wanted)
        found["accelerations"] = max(found["accelerations"], off)
    return found


def quantity_errors(robot: Robot, seed: int) -> dict[str, float]:
    """Return how far the other quantities of a changed robot are from those of one built so."""
    live, built = changed(robot, seed)
    s = random_state(robot, seed + 1, (3,))
    given = np.where(live.held, 0.0, s.qdd)
    pairs = {
        "mass matrix": (live.mass_matrix(s.q), reference.mass_matrix(built, s.q)),
        "kinetic energy": (live.kinetic_energy(s.q, s.qd), reference.kinetic_energy(built, s.q, s.qd)),
        "potential energy": (live.potential_energy(s.q), reference.potential_energy(built, s.q)),
        "momentum": (live.momentum(s.q, s.qd), reference.momentum(built, s.q, s.qd)),
        "centre of mass": (live.center_of_mass(s.q), reference.center_of_mass(built, s.q)),
        "inverse dynamics": (
            live.inverse_dynamics(s.q, s.qd, s.qdd),
            reference.inverse_dynamics(built, s.q, s.qd, given),
        ),
    }
    return {name: relative(*pair) for name, pair in pairs.items()}


def dense_impact(after: hinge.Live, q: Array, qd: Array, caught: Mapping[str, Array]) -> tuple[Array, float]:
    """Return velocities after an impact, and the energy lost, by projection: the nearest motion by 𝓜.

    The coordinates are those of the robot and six for each payload that is caught; what is allowed afterwards
    is spanned by the free coordinates of the robot.
    """
    robot = after.robot
    m = reference.mass_matrix(_built(robot, {n: p for n, p in after.payloads.items() if n not in caught}), q)
    maps, blocks, v = [np.eye(robot.nv)], [m], [qd]
    for name, velocity in caught.items():
        p = after.payloads[name]
        maps.append(p.placement.matrix() @ reference.jacobian(robot, q, p.body))
        blocks.append(p.inertia.matrix())
        v.append(velocity)
    size = sum(len(x) for x in blocks)
    mass, at = np.zeros((size, size)), 0
    for x in blocks:
        mass[at : at + len(x), at : at + len(x)] = x
        at += len(x)
    t, before = np.concatenate(maps)[:, ~after.held], np.concatenate(v)
    then = t @ np.linalg.solve(t.T @ mass @ t, t.T @ mass @ before)
    return then[: robot.nv], float(0.5 * before @ mass @ before - 0.5 * then @ mass @ then)


def _built(robot: Robot, payloads: Mapping[str, Payload]) -> Robot:
    for p in payloads.values():
        robot = with_payload(robot, p.name, p.body, p.inertia, p.placement)
    return robot


def impact_errors(robot: Robot, seed: int) -> dict[str, float]:
    """Return how far catching and freezing are from the dense answer."""
    after, _ = changed(robot, seed)
    before = after.thaw(after.frozen).release("crate")
    s, v = random_state(robot, seed + 1), np.random.default_rng(seed + 2).normal(size=6)
    hit = hinge.impact(before, after, s.q, s.qd, {"crate": v})
    wanted, lost = dense_impact(after, s.q, s.qd, {"crate": v})
    assert not hit.qd[after.held].any() and not hit.impulses[~after.held].any() and hit.lost >= 0
    stopped = hinge.impact(before, before.freeze(after.frozen), s.q, s.qd)
    p = after.payloads["crate"]
    got = p.inertia.matrix() @ (p.placement.matrix() @ reference.jacobian(robot, s.q, p.body) @ wanted - v)
    return {
        "velocities": by_forces(after.mass_matrix(s.q), hit.qd, wanted),
        "lost energy": abs(float(hit.lost) - lost) / max(1.0, lost),
        "impulses": relative(before.mass_matrix(s.q) @ (stopped.qd - s.qd), stopped.impulses),
        "impulse of the payload": relative(hit.payload_impulses["crate"], got),
    }
