"""Comparisons of closed robots with dense matrices, for tests and the sweep."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import hinge
from hinge import reference, testing
from hinge.dynamics.expressions import CLOSURE_MAP
from hinge.errors import ArgumentError
from hinge.model import opened

STATES = 2
#: Weights of central differences at 1, 2 and 3 steps, of the sixth order.
STENCIL = (45 / 60, -9 / 60, 1 / 60)


def off(found, wanted):
    """Return the largest difference, relative to what is wanted."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    return float(np.abs(found - wanted).max(initial=0.0) / max(1.0, np.abs(wanted).max(initial=0.0)))


def comparisons(
    robot, q, seed: int, *, target: str | None = None, states: int = STATES
) -> Iterator[tuple[str, float]]:
    """Yield what is compared and the relative difference, for states that close."""
    rng = np.random.default_rng(seed)
    f = {v: hinge.compile(v, robot, target=target) for v in ("closed_dynamics", "settle", "closure_bias")}
    f["maps"] = hinge.compile(CLOSURE_MAP, robot, target=target)
    tree = opened(robot)
    for _ in range(states):
        tau, any_qd = rng.standard_normal((2, robot.nv))
        maps = f["maps"](q)
        yield "closure_error", off(maps["error"], reference.closure_error(robot, q))
        yield "closure_jacobian", off(maps["jacobian"], reference.closure_jacobian(robot, q))
        yield "closure_bias", off(f["closure_bias"](q, any_qd), reference.closure_bias(robot, q, any_qd))
        qd = f["settle"](q, any_qd)
        jacobian = maps["jacobian"]
        yield "settle closes", off(jacobian @ qd, 0.0 * (jacobian @ qd))
        mass = reference.mass_matrix(tree, q)
        yield "settle is a projection", off(f["settle"](q, qd), qd)
        yield "settle keeps momentum beside the rows", _momentum(mass, jacobian, qd - any_qd)
        found = f["closed_dynamics"](q, qd, tau=tau)
        wanted, _ = reference.closed_dynamics(robot, q, qd, tau)
        yield "closed_dynamics", off(found["qdd"], wanted)
        bias = f["closure_bias"](q, qd)
        yield "rows are kept", off(jacobian @ found["qdd"] + bias, 0.0 * bias)
        forces = tau - reference.inverse_dynamics(tree, q, qd, 0 * qd) + jacobian.T @ found["forces"]
        yield "equation of motion", off(mass @ found["qdd"], forces)
        yield "closures do no work", abs(float(found["forces"] @ jacobian @ qd)) / (1 + np.abs(forces).max())
        back = hinge.closed_inverse_dynamics(robot, q, qd, found["qdd"])
        yield "inverse", off(f["closed_dynamics"](q, qd, tau=back.tau)["qdd"], found["qdd"])
        yield (
            "least forces",
            max(0.0, float(np.linalg.norm(back.tau) - np.linalg.norm(tau))) / (1 + np.linalg.norm(tau)),
        )
        q = testing_step(robot, q, qd)


def laws(robot, q, seed: int, *, target: str | None = None) -> Iterator[tuple[str, float]]:
    """Yield the laws of closed robots that need no dense matrices, and how far each is from holding."""
    rng = np.random.default_rng([seed, 5])
    f = {v: hinge.compile(v, robot, target=target) for v in ("closed_dynamics", "settle")}
    tau, qd = rng.standard_normal((2, robot.nv))
    qd = f["settle"](q, qd)
    found = f["closed_dynamics"](q, qd, tau=tau)
    double = f["closed_dynamics"](q, np.sqrt(2) * qd, tau=2 * tau, gravity=2 * robot.gravity)
    yield "forces double with the load", off(double["forces"], 2 * found["forces"])
    yield "accelerations double with the load", off(double["qdd"], 2 * found["qdd"])
    yield "power of closure forces", _power(robot, q, qd, found["forces"])
    yield "d/dt (T + V) = tau qd", energy_off(robot, q, qd, found["qdd"], tau)
    yield from _batches(f["closed_dynamics"], q, qd, tau * np.linspace(-1, 2, 5)[:, None])
    yield from held_ones(robot, q, qd, tau, target)
    yield from inverses(robot, q, qd, tau, f["closed_dynamics"], rng)


def _power(robot, q, qd, forces):
    """Return the power of closure forces, relative to the largest part of the sum."""
    rates = reference.closure_jacobian(robot, q)
    return abs(float(forces @ (rates @ qd))) / max(1.0, float(np.abs(forces) @ np.abs(rates) @ np.abs(qd)))


def energy_off(robot, q, qd, qdd, tau) -> float:
    """Return d/dt (T + V) − tau qd by differences along the motion, relative to the largest power at work."""
    tree, h = opened(robot), 2e-3 / max(1.0, np.abs(qd).max(), np.sqrt(np.abs(qdd).max()))

    def energy(t):
        at, v = hinge.integrate(tree, q, t * qd), qd + t * qdd
        kinetic = 0.5 * v @ reference.mass_matrix(tree, at) @ v
        return kinetic + float(reference.potential_energy(tree, at))

    rate = sum(w * (energy(k * h) - energy(-k * h)) for k, w in enumerate(STENCIL, 1)) / h
    scale = np.abs(qd) @ np.abs(reference.mass_matrix(tree, q) @ qdd) + np.abs(qd) @ np.abs(tau)
    return abs(float(rate - tau @ qd)) / max(1.0, float(scale))


def _batches(f, q, qd, tau):
    """Yield 0 where a state in a batch is the same as alone, bit for bit."""
    many = f(q, qd, tau=tau)
    for k in (0, len(tau) - 1):
        one = f(q, qd, tau=tau[k])
        for name in ("qdd", "forces", "residual"):
            yield "batch = single, bit for bit", float(not np.array_equal(many[name][k], one[name]))


def held_ones(robot, q, qd, tau, target: str | None = None):
    """Yield differences of closures that are not held and of a robot without them."""
    count = len(robot.closures)
    masks = np.ones((count + 1, count), dtype=bool)
    masks[range(count), range(count)] = False
    masks[count] = False
    with targeted(target):
        found = hinge.closed_dynamics(robot, q, qd, tau, held=masks)
        for k, c in enumerate(robot.closures):
            if count > 1:
                wanted, _ = reference.closed_dynamics(opened(robot, [c.name]), q, qd, tau)
                yield "held: one off = opened", off(found.qdd[k], wanted)
    free = reference.forward_dynamics(opened(robot), q, qd, tau)
    yield "held: all off = opened", off(found.qdd[count], free)
    yield "held: all off has no forces", float(np.abs(found.forces[count]).max(initial=0.0))


def inverses(robot, q, qd, tau, forward, rng):
    """Yield closed_inverse_dynamics ∘ closed_dynamics with more, as many, and fewer motors than freedoms."""
    wanted = forward(q, qd, tau=tau)["qdd"]
    kinds = {"more": robot.joint_names, "as many": hinge.mobility(robot, q).independent}
    for kind, actuated in kinds.items():
        back = hinge.closed_inverse_dynamics(robot, q, qd, wanted, actuated=actuated)
        again = forward(q, qd, tau=back.tau)["qdd"]
        yield f"inverse, {kind} motors", off(again, wanted)
        yield f"inverse, {kind} motors: residual", float(back.residual) / (1 + np.abs(back.tau).max())
    few = [n for n in robot.joint_names if robot.joint(n).nv][:1]
    if len(kinds["as many"]) > 1:
        push = np.zeros(robot.nv)
        push[robot.joint(few[0]).qd_slice] = tau[robot.joint(few[0]).qd_slice]
        wanted = forward(q, qd, tau=push)["qdd"]  # what one motor can do
        back = hinge.closed_inverse_dynamics(robot, q, qd, wanted, actuated=few)
        yield "inverse, fewer motors", off(forward(q, qd, tau=back.tau)["qdd"], wanted)
        other = wanted + hinge.settle(robot, q, rng.standard_normal(robot.nv))
        left = hinge.closed_inverse_dynamics(robot, q, qd, other, actuated=few).residual
        yield "inverse, fewer motors: residual is told", float(not left > 1e-6)


def embedded(robot, q) -> hinge.Robot | None:
    """Return the robot with its loops embedded, None where that cannot be."""
    embed = getattr(hinge, "embed_loops", None)
    try:
        return None if embed is None else embed(robot, near=q)
    except ArgumentError:
        return None


def embedded_ones(robot, q, seed: int) -> Iterator[tuple[str, float]]:
    """Yield differences of the cut robot and of the one whose loops are embedded, with the same motors."""
    inside = embedded(robot, q)
    if inside is None:
        return
    rng = np.random.default_rng([seed, 6])
    shared = [
        (j.qd_slice, robot.joint(j.name).qd_slice)
        for j in inside.joints
        if j.qd_slice.stop > j.qd_slice.start
    ]
    tau, push = np.zeros(robot.nv), np.zeros(inside.nv)
    for own, cut in shared:
        tau[cut] = push[own] = rng.standard_normal(own.stop - own.start)
    qd = hinge.settle(robot, q, rng.standard_normal(robot.nv))
    cut_qdd = hinge.closed_dynamics(robot, q, qd, tau).qdd
    found = hinge.forward_dynamics(inside, *hinge.carry_state(robot, inside, q, qd), push)
    for own, cut in shared:
        yield "cut = embedded", off(found[own], cut_qdd[cut])


@contextmanager
def targeted(target: str | None) -> Iterator[None]:
    """Let verbs be compiled for a target."""
    before = os.environ.get("HINGE_TARGET")
    if target:
        os.environ["HINGE_TARGET"] = target
    try:
        yield
    finally:
        if target:
            os.environ.pop("HINGE_TARGET")
            if before is not None:
                os.environ["HINGE_TARGET"] = before


def _momentum(mass, jacobian, jump):
    """Return the part of an impulse that is not along the rows of the closures."""
    impulse = mass @ jump
    along = jacobian.T @ np.linalg.pinv(jacobian.T, rcond=1e-9) @ impulse
    return off(along, impulse)


def testing_step(robot, q, qd):
    """Return another configuration that closes, in the direction of a velocity that fits."""
    moved = hinge.integrate(robot, q, 0.05 * qd / max(1.0, np.abs(qd).max()))
    found = hinge.assemble(robot, moved)
    return found.q if found.error < 1e-10 else q


def random_case(seed: int, bodies: int = 7):
    """Return a random closed robot and a configuration that closes it; every third has redundant rows."""
    return testing.random_closed(seed, bodies=bodies, redundant=seed % 3 == 2)
