"""Changed configurations on random trees: python -m tests.dynamics.sweep_live [trees [first]].

Dynamics, energies, momentum and impacts of robots that hold payloads and have frozen joints, against robots
that were built so and dense matrices. Every tenth tree is for the native target, the others, for the sake of
time, for NumPy's.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter

import numpy as np

from hinge import dynamics, robots
from tests.dynamics.changes import dynamics_errors, impact_errors, quantity_errors

TREES, BOUND = 60, 1e-9


def main(trees: int = TREES, first: int = 0) -> int:
    """Print the largest differences; the exit code is 1 when one is too large."""
    worst: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    start = time.perf_counter()
    for seed in range(first, first + trees):
        os.environ["HINGE_TARGET"] = "numpy" if seed % 10 else "llvm"
        robot = robots.random_tree(int(np.random.default_rng(seed).integers(2, 10)), seed)
        kinds.update(j.type.kind for j in robot.joints)
        for errors in (dynamics_errors, quantity_errors, impact_errors):
            for name, value in errors(robot, seed).items():
                worst[name] = max(worst[name], value)
        dynamics.forget()
    print(f"{trees} random trees; joints: " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())))
    for name, value in worst.items():
        print(f"largest relative difference, {name}: {value:.1e}")
    print(f"{time.perf_counter() - start:.0f} s")
    return int(max(worst.values()) > BOUND)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
