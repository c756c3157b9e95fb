"""Robots whose coupled joints follow, by dense projections: python -m tests.dynamics.sweep_mimic [trees].

With q_full = G q + c of the robot with all coordinates, 𝓜 = Gᵀ 𝓜_full G, τ = Gᵀ τ_full, and q̈ is judged by
the forces that it stands for: on the robots of example-robot-data that have mimic joints, there also against
Pinocchio's own mimic joints (inverse dynamics and mass matrix, where it can make them), and on random trees
with random couplings. Every fourth tree is for the native target, the others, for the sake of time, for
NumPy's.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin

import hinge
from hinge import dynamics
from hinge.errors import ArgumentError
from hinge.io import read_urdf
from hinge.model import pinocchio_map
from hinge.spatial import matvec
from tests.dynamics.coupled import MIXED, SINGLE, Projected, random_coupled
from tests.oracles.compare import relative, relative_mass
from tests.oracles.data import example_urdfs

TREES, STATES, BOUND = 100, 5, 1e-9
COLUMNS = ("inverse", "forward", "mass", "pin inverse", "pin mass")


def main(trees: int = TREES) -> int:
    """Print the table; the exit code is 1 when a difference is too large."""
    start, found = time.perf_counter(), list[float]()
    print(f"{'robot':44} {'nq':>4} {'less':>4} " + " ".join(f"{c:>11}" for c in COLUMNS))
    for path in example_urdfs():
        if "<mimic" not in path.read_text(encoding="utf-8", errors="replace"):
            continue
        for floating in (False, True):
            case, model = example_case(path, floating)
            if case.full.couplings:
                found += _row(f"{path.name}{', floating' if floating else ''}", case, model)
    for seed in range(trees):
        os.environ["HINGE_TARGET"] = "numpy" if seed % 4 else "llvm"
        rng = np.random.default_rng(seed)
        kinds = (None, MIXED, SINGLE)[seed % 3]
        full = random_coupled(int(rng.integers(2, 11)), seed, kinds=kinds, share=float(rng.uniform(0.3, 1.0)))
        if full.couplings:
            found += _row(full.name, Projected(full, seed, (STATES,)))
        dynamics.forget()
    print(f"{STATES} random states each, {time.perf_counter() - start:.0f} s")
    above = sum(not x <= BOUND for x in found)
    print(f"{len(found)} comparisons, {above} above {BOUND:g}")
    return int(above > 0 or not found)


def example_case(path: Path, floating: bool) -> tuple[Projected, pin.Model | None]:
    """Return a robot of a file, and Pinocchio's with mimic joints, None if it cannot make one."""
    full = read_urdf(path, floating=floating, strict=None)
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    try:
        model = pin.buildModelFromUrdf(str(path), *root, mimic=True)
    except (RuntimeError, ValueError):
        model = None
    return Projected(full, 1, (STATES,)), model


def _row(label: str, case: Projected, model: pin.Model | None = None) -> list[float]:
    """Print the differences of a robot, and return them."""
    robot, s = case.robot, case.state
    tau = hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    found = {
        "inverse": relative(tau, case.forces(s.qdd)),
        "mass": relative_mass(hinge.mass_matrix(robot, s.q), case.mass),
    }
    try:
        off = matvec(case.mass, hinge.forward_dynamics(robot, s.q, s.qd, tau) - s.qdd)
        found["forward"] = relative(tau + off, tau)
        note = ""
    except ArgumentError as error:
        if "carries no inertia" not in str(error):
            raise
        note = "singular: moves no inertia"
    if model is not None and model.nv == robot.nv:
        found |= pinocchio_differences(case, model)
    shown = " ".join(f"{found[c]:11.1e}" if c in found else f"{'–':>11}" for c in COLUMNS)
    print(f"{label:44} {case.full.nq:4} {robot.nq:4} {shown} {note}", flush=True)
    return list(found.values())


def pinocchio_differences(case: Projected, model: pin.Model) -> dict[str, float]:
    """Return the differences to Pinocchio's mimic joints."""
    robot, s, data = case.robot, case.state, model.createData()
    peer = pinocchio_map(robot, model)
    q, v, a = peer.to_q(s.q), peer.to_qd(s.q, s.qd), peer.to_qdd(s.q, s.qd, s.qdd)
    taus = np.stack([pin.rnea(model, data, *x) for x in zip(q, v, a, strict=True)])
    mass = peer.from_mass_matrix(s.q, np.stack([pin.crba(model, data, x) for x in q]))
    return {
        "pin inverse": relative(peer.from_tau(s.q, taus), case.forces(s.qdd)),
        "pin mass": relative_mass(mass, case.mass),
    }


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main(*map(int, sys.argv[1:])))
