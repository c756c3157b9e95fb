"""A chain of a thousand links: dynamics in time proportional to the number of links.

The mass matrix of a thousand links has a million entries; to build and to solve it takes time that grows
with the cube of their number. Derived from the operator expression, forward dynamics is three sweeps along
the chain: the time per link stays about the same. Where the matrix can still be afforded it gives the same
accelerations, and for all lengths inverse dynamics gives the forces back. Then the longest chain falls, and
keeps its energy.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import hinge

#: How far forces and accelerations may be off, and energy from what it was; all relative.
ERROR, DRIFT = 1e-6, 1e-4
#: Chains for which the matrix is built.
AFFORDED = 100


def main(links: int = 1000) -> int:
    """Print a table and a fall; the exit code is 1 when something does not agree."""
    print("links  forward dynamics [µs]  per link [ns]  there and back  dense solve")
    worst = 0.0
    for n in sorted({max(2, links // 100), max(2, links // 10), links}):
        robot = hinge.robots.chain(n)
        q, qd, tau = 0.05 * np.random.default_rng(n).standard_normal((3, n))
        qdd = hinge.forward_dynamics(robot, q, qd, tau)
        seconds = shortest(lambda r=robot, x=(q, qd, tau): hinge.forward_dynamics(r, *x))
        weight = np.abs(hinge.gravity_force(robot, q)).max()
        off = float(np.abs(hinge.inverse_dynamics(robot, q, qd, qdd) - tau).max() / weight)
        dense = "–"
        if n <= AFFORDED:
            wanted = np.linalg.solve(hinge.mass_matrix(robot, q), tau - hinge.bias_force(robot, q, qd))
            differs = float(np.abs(qdd - wanted).max() / np.abs(wanted).max())
            dense, worst = f"{differs:.1e}", max(worst, differs)
        worst = max(worst, off)
        print(f"{n:5d}  {1e6 * seconds:21.1f}  {1e9 * seconds / n:13.1f}  {off:14.1e}  {dense:>11}")

    robot = hinge.robots.chain(links)
    run = hinge.simulate(robot, np.full(links, 0.5 / links), t=0.2, dt=1e-3, record=20)
    drift = float(np.abs(run.energy - run.energy[0]).max() / run.kinetic_energy.max())
    tip = run.poses("tip").position
    print(f"{links} links fall for {run.t[-1]:g} s, the tip by {np.linalg.norm(tip[-1] - tip[0]):.2f} m")
    print(f"energy off by {drift:.1e} of the largest kinetic energy")
    good = worst < ERROR and drift < DRIFT
    print("it agrees." if good else "IT DOES NOT AGREE.")
    return 0 if good else 1


def shortest(f: Callable[[], object], repeats: int = 20) -> float:
    """Return the shortest time of a call in seconds."""
    times: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        f()
        times.append(time.perf_counter() - began)
    return min(times)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
