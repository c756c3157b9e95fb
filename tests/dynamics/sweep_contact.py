"""Contacts of robots in random states: python -m tests.dynamics.sweep_contact [--quick].

A quadruped on four feet, a humanoid on the eight corners of its soles, whose forces are not unique, and two
fingers that hold an object, in native code. Steps: forces in the cones of friction, velocities in the dual
cones, complementary, dissipation maximal; how often the residual is small and how many rounds it took.
Accelerations without friction against enumeration. Impacts: energy never grows.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import hinge
from hinge import reference
from hinge.binding.touch import FASTEST, SHARE
from hinge.dynamics import Parts, compiled
from hinge.dynamics.expressions import CLOSURES
from tests.dynamics.contact_states import EVERY

STATES, JUDGED, IMPACTS, DT = 4000, 60, 10_000, 1e-3
#: Largest residual that counts as solved, the share of states that must have it, and bounds of the rest.
SMALL, SHARE_SOLVED, BOUND, DEFINITE, SINGULAR, ENERGY = 1e-9, 0.99, 1e-7, 1e-9, 1e-8, 1e-10

#: Coulomb's law need not have a solution, nor one that is found: the least share of states that must.
SHARE_COULOMB = 0.97

BIAS = Parts({"bias": CLOSURES["closure_bias"]}, touch="normals")


def main(*, quick: bool = False) -> int:
    """Print the tables; the exit code is 1 when a bound is missed."""
    began, failed, size = time.perf_counter(), 0, 10 if quick else 1
    for name, make in EVERY.items():
        on = make(STATES // size)
        print(f"\n{on.name}: {len(on.robot.contacts)} contacts, {len(on.q)} states")
        failed += _steps(on) + _coulomb(on) + _accelerations(make(JUDGED // size), name != "talos")
        failed += _impacts(make(IMPACTS // size // len(EVERY) + 1, seed=1))
    print(f"\n{failed} bounds missed; {time.perf_counter() - began:.0f} s")
    return int(failed > 0)


def _told(what: str, value: float, bound: float, *, least: bool = False) -> int:
    """Print a row, and return 1 if a bound is missed."""
    missed = not (value >= bound if least else value <= bound)
    print(f"  {what:62} {value:10.3g} {'≥' if least else '≤'} {bound:g}{'  MISSED' if missed else ''}")
    return int(missed)


def _steps(on) -> int:
    step = hinge.contact_step(on.robot, on.q, on.qd, on.tau, DT)
    j, gap = hinge.contact_jacobian(on.robot, on.q), hinge.gap(on.robot, on.q)
    free = on.qd + DT * hinge.forward_dynamics(on.robot, on.q, on.qd, on.tau)
    more = np.where(gap < 0, np.maximum(SHARE * gap / DT, -FASTEST), gap / DT)
    before, after = ((j @ v[:, None, :, None])[..., 0] for v in (free, step.qd))
    before[..., 0] += more
    after[..., 0] += more
    approach = np.maximum(-before[..., 0].min(axis=-1), np.abs(before[..., 1:]).max(axis=(-1, -2)))[:, None]
    push = np.maximum(step.impulses[..., 0].max(axis=-1, keepdims=True), 1e-300)
    n, t = step.impulses[..., 0], np.linalg.norm(step.impulses[..., 1:], axis=-1)
    slip = np.linalg.norm(after[..., 1:], axis=-1)
    dissipated = (step.impulses[..., 1:] * after[..., 1:]).sum(axis=-1) + on.mu * n * slip
    solved = step.residual <= SMALL
    spread = np.quantile(step.residual, [0.5, 0.9, 0.99, 1.0])
    rounds = np.quantile(step.rounds, [0.5, 0.9, 0.99, 1.0])
    print(f"  loaded contacts of a state {(n > 1e-9 * push).sum(axis=-1).mean():.2f}, slipping "
          f"{((slip > 1e-6) & (n > 1e-9 * push)).sum(axis=-1).mean():.2f}")  # fmt: skip
    print("  residual: median, 90 %, 99 %, largest   " + " ".join(f"{x:9.1e}" for x in spread))
    print("  rounds:   median, 90 %, 99 %, largest   " + " ".join(f"{x:9.0f}" for x in rounds))
    failed = _told(
        f"share of states with a residual up to {SMALL:g}", solved.mean(), SHARE_SOLVED, least=True
    )
    failed += _told("states with NaN", float(np.isnan(step.qd).any(axis=-1).sum()), 0)
    rows = {
        "forces out of their cones, of the largest": (t - on.mu * n) / push,
        "velocities out of the dual cones, of the approach": (on.mu * slip - after[..., 0]) / approach,
        "complementarity, of force × approach": np.abs((step.impulses * after).sum(axis=-1))
        / push
        / approach,
        "dissipation short of the largest, of force × approach": dissipated / push / approach,
    }
    return failed + sum(_told(what, float(x[solved].max()), BOUND) for what, x in rows.items())


def _coulomb(on) -> int:
    """Steps by Coulomb's law: nothing that pushes rises, and what slides does so against its force."""
    step = hinge.contact_step(on.robot, on.q, on.qd, on.tau, DT, law="coulomb")
    gap = hinge.gap(on.robot, on.q)
    u = (hinge.contact_jacobian(on.robot, on.q) @ step.qd[:, None, :, None])[..., 0]
    rise = u[..., 0] + np.where(gap < 0, np.maximum(SHARE * gap / DT, -FASTEST), gap / DT)
    n, slip = step.impulses[..., 0], np.linalg.norm(u[..., 1:], axis=-1)
    size = np.maximum(np.abs(u).max(axis=(-1, -2)), 1e-3)[:, None]
    push = np.maximum(n.max(axis=-1, keepdims=True), 1e-300)
    dissipated = (step.impulses[..., 1:] * u[..., 1:]).sum(axis=-1) + on.mu * n * slip
    solved = step.residual <= SMALL
    for what, x in (("residual", step.residual), ("rounds", step.rounds)):
        spread = " ".join(f"{v:9.2g}" for v in np.quantile(x, [0.5, 0.9, 0.99, 1.0]))
        print(f"  Coulomb's law, {what:9}: median, 90 %, 99 %, largest {spread}")
    rows = {
        "Coulomb: approach left, of the largest velocity": -rise / size,
        "Coulomb: rise of what pushes, of force × velocity": np.abs(rise * n) / push / size,
        "Coulomb: dissipation short of μ n |u|": np.abs(dissipated) / push / size,
    }
    share = "Coulomb: share of states with a residual up to 1e-9"
    failed = _told(share, float(solved.mean()), SHARE_COULOMB, least=True)
    return failed + sum(_told(what, float(x[solved].max()), BOUND) for what, x in rows.items())


def _accelerations(on, definite: bool) -> int:
    """Compare with the enumeration of loaded sets; the rates of rows are judged by `test_touching`."""
    every = np.ones(len(on.robot.contacts), bool)
    found = hinge.contact_dynamics(on.robot, on.q, on.qd, on.tau, closed=every)
    free = hinge.forward_dynamics(on.robot, on.q, on.qd, on.tau)
    j = hinge.contact_jacobian(on.robot, on.q)[:, :, 0]
    moved = np.linalg.solve(hinge.mass_matrix(on.robot, on.q), np.swapaxes(j, -1, -2))
    omega = j @ moved
    b = (j @ free[..., None])[..., 0] + compiled(on.robot, BIAS)(on.q, qd=on.qd)
    forces = [reference.frictionless(*x)[0] for x in zip(omega, b, strict=True)]
    wanted = free + (moved @ np.stack(forces)[..., None])[..., 0]
    worst = np.abs(found.qdd - wanted).max(axis=-1) / np.abs(wanted).max(axis=-1)
    ranks = np.linalg.matrix_rank(omega, tol=1e-9 * np.abs(omega).max())
    kind = f"{len(on.q)} accelerations, frictionless, rank {ranks.min()} of {omega.shape[-1]}, of enumeration"
    return _told(kind, float(worst.max()), DEFINITE if definite else SINGULAR)


def _impacts(on) -> int:
    rng = np.random.default_rng(2)
    shape = len(on.q), len(on.robot.contacts)
    given = {"closed": rng.random(shape) < 0.8, "friction": rng.uniform(0.0, 1.5, shape)}
    e = rng.uniform(0.0, 1.0, shape) * (rng.random(shape) < 0.8)
    hit = hinge.collide(on.robot, on.q, on.qd, restitution=e, **given)
    before = hinge.kinetic_energy(on.robot, on.q, on.qd)
    after = hinge.kinetic_energy(on.robot, on.q, hit.qd)
    plastic = hinge.collide(on.robot, on.q, on.qd, restitution=0.0, **given)
    taken = (np.abs(hit.qd - plastic.qd).max(axis=-1) == 0) & ((e > 0) & (plastic.impulses[..., 0] > 0)).any(
        axis=-1
    )
    u = (hinge.contact_jacobian(on.robot, on.q)[:, :, 0] @ hit.qd[..., None])[..., 0]
    solved = hit.residual <= SMALL
    left = np.where(given["closed"], -u, 0.0).max(axis=-1) / np.abs(on.qd).max(axis=-1)
    failed = _told(
        f"{len(on.q)} impacts: energy gained, of what was there",
        float(((after - before) / before).max()),
        ENERGY,
    )
    failed += _told("impacts: approach left, of the largest speed", float(left[solved].max()), BOUND)
    failed += _told("impacts: share solved", float(solved.mean()), SHARE_SOLVED, least=True)
    print(f"  impacts taken as plastic, as two phases would have gained energy: {int(taken.sum())}")
    return failed


if __name__ == "__main__":
    sys.exit(main(quick="--quick" in sys.argv))
