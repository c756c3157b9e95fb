"""Hybrid dynamics on random trees of every joint type: python -m tests.dynamics.sweep_hybrid [trees [first]].

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
from hinge.dynamics.hybrid import Prescribed
from hinge.model import Robot
from hinge.spatial import Array
from hinge.testing import random_state
from tests.dynamics.partitions import counted_programs, held_by, residual, some_joints

TREES, STATES, CHANGES, BOUND = 200, 3, 3, 1e-10


def main(trees: int = TREES, first: int = 0) -> int:
    """Print the largest differences; the exit code is 1 when one is too large, or a change compiled."""
    worst: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    changes, start = 0, time.perf_counter()
    for seed in range(first, first + trees):
        os.environ["HINGE_TARGET"] = "numpy" if seed % 4 else "llvm"
        rng = np.random.default_rng(seed)
        robot = robots.random_tree(int(rng.integers(1, 10)), seed)
        kinds.update(j.type.kind for j in robot.joints)
        names = some_joints(robot, rng)
        _judge(worst, "a set with code of its own", robot, seed, names, held_by(robot, names))
        _judge(worst, "a set as an input", robot, seed, held_by(robot, names), held_by(robot, names))
        with counted_programs() as programs:
            for _ in range(CHANGES):
                names, masks = some_joints(robot, rng), rng.random((STATES, robot.nv)) < 0.5
                _judge(worst, "a set as an input", robot, seed, names, held_by(robot, names))
                _judge(worst, "a set for each state", robot, seed, masks, masks)
        changes += len(programs)
        dynamics.forget()
    print(f"{trees} random trees, {trees * (1 + CHANGES)} sets of joints, {STATES} states each")
    print("joints: " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())))
    for name, value in worst.items():
        print(f"largest relative difference, {name}: {value:.1e}")
    print(f"programs compiled by {trees * CHANGES} changes of the set: {changes}")
    print(f"{time.perf_counter() - start:.0f} s")
    return int(max(worst.values()) > BOUND or changes > 0)


def _judge(
    worst: Counter[str], form: str, robot: Robot, seed: int, prescribed: Prescribed, held: Array
) -> None:
    """Compare one call with the dense partition."""
    s = random_state(robot, seed, STATES)
    found = dynamics.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=prescribed)
    worst[form] = max(worst[form], residual(robot, s, found, held))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
