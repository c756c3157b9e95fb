"""Hybrid dynamics on random trees with every joint type: python -m tests.dynamics.sweep_hybrid [trees [first]].

Both forms, the one that is compiled for a set of joints and the one that takes the set as an input, against
the rows and columns of the dense mass matrix; and how many programs a change of the set compiles: none. Every
fourth tree is for the native target, the others, for the sake of time, for NumPy's.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter

import numpy as np

from hinge import dynamics, robots
from hinge.testing import random_state
from tests.dynamics.partitions import counted_programs, held_by, residual, some_joints

TREES, STATES, SETS, BOUND = 200, 3, 4, 1e-10


def main(trees: int = TREES, first: int = 0) -> int:
    """Print the largest differences; the exit code is 1 when one is too large, or a change compiled."""
    worst: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    sets, changes, start = 0, 0, time.perf_counter()
    for seed in range(first, first + trees):
        os.environ["HINGE_TARGET"] = "numpy" if seed % 4 else "llvm"
        robot = robots.random_tree(int(np.random.default_rng(seed).integers(1, 10)), seed)
        kinds.update(j.type.kind for j in robot.joints)
        rng, s = np.random.default_rng(seed), random_state(robot, seed, STATES)
        for k in range(SETS):
            names = some_joints(robot, rng)
            held = held_by(robot, names)
            sets += 1

            def form(name: str, prescribed: object, held: np.ndarray = held) -> None:
                found = dynamics.hybrid_dynamics(
                    robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=prescribed
                )
                worst[name] = max(worst[name], residual(robot, s, found, held))

            if k == 0:
                form("a set with code of its own", names)
                form("a set as an input", held)
                continue
            with counted_programs() as programs:
                form("a set as an input", names)
                any_set = rng.random((STATES, robot.nv)) < 0.5
                form("a set for each state", any_set, any_set)
            changes += len(programs)
        dynamics.forget()
    print(f"{trees} random trees, {sets} sets of joints, {STATES} states each")
    print("joints: " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())))
    for name, value in worst.items():
        print(f"largest relative difference, {name}: {value:.1e}")
    print(f"programs compiled by {sets - trees} changes of the set: {changes}")
    print(f"{time.perf_counter() - start:.0f} s")
    return int(max(worst.values()) > BOUND or changes > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
