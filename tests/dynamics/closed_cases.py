"""Comparisons of closed robots with dense matrices, for tests and the sweep."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import hinge
from hinge import reference, testing
from hinge.dynamics.expressions import CLOSURE_MAP
from hinge.model import opened

STATES = 2


def off(found, wanted):
    """Return the largest difference, relative to what is wanted."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    return float(np.abs(found - wanted).max(initial=0.0) / max(1.0, np.abs(wanted).max(initial=0.0)))


def comparisons(robot, q, seed: int, *, target: str | None = None) -> Iterator[tuple[str, float]]:
    """Yield what is compared and the relative difference, for states that close."""
    rng = np.random.default_rng(seed)
    f = {v: hinge.compile(v, robot, target=target) for v in ("closed_dynamics", "settle", "closure_bias")}
    f["maps"] = hinge.compile(CLOSURE_MAP, robot, target=target)
    tree = opened(robot)
    for _ in range(STATES):
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
