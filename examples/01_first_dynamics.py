"""First dynamics: an arm, dynamics there and back, and where the algorithm is from.

Inverse dynamics says which forces a motion needs, forward dynamics which motion forces make: one undoes the
other, for one state and for a thousand in one call. Neither was written by hand. The last part prints how
forward dynamics follows from the definition of the mass matrix, each step with its identity and its source.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import hinge
from hinge.algebra import H, M, a, b, phi, tau
from hinge.spatial import Array
from hinge.testing import random_state


def main() -> int:
    """Print the tables; the exit code is 1 when forward and inverse dynamics disagree."""
    robot = hinge.robots.panda()
    print(hinge.describe(robot))
    s = random_state(robot, seed=1)
    forces = hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    qdd = hinge.forward_dynamics(robot, s.q, s.qd, forces)
    print("\nOne random state: inverse dynamics gives the forces, forward dynamics takes them back.\n")
    _table({"q": s.q, "qd": s.qd, "qdd": s.qdd, "tau = ID(q, qd, qdd)": forces, "FD(q, qd, tau)": qdd})
    many = random_state(robot, seed=2, size=1000)
    start = time.perf_counter()
    forces = hinge.inverse_dynamics(robot, many.q, many.qd, many.qdd)
    back = hinge.forward_dynamics(robot, many.q, many.qd, forces)
    spent = time.perf_counter() - start
    error = float(np.abs(back - many.qdd).max() / np.abs(many.qdd).max())
    agree = error < 1e-9
    print(
        f"\n1000 random states, there and back in {spent * 1e3:.0f} ms: "
        f"largest relative difference {error:.1e}, " + ("they agree." if agree else "THEY DO NOT AGREE.")
    )
    print("\nWhere the algorithm comes from:\n")
    mass = H @ phi @ M @ phi.T @ H.T
    bias = H @ phi @ (M @ phi.T @ a + b)
    print(hinge.derive({"qdd": mass.inv() @ (tau - bias)}))
    return 0 if agree else 1


def _table(columns: dict[str, Array]) -> None:
    width = {name: max(len(name), 10) for name in columns}
    print("joint  " + "  ".join(name.rjust(width[name]) for name in columns))
    for k in range(len(next(iter(columns.values())))):
        print(f"{k + 1:5}  " + "  ".join(f"{v[k]:{width[n]}.5f}" for n, v in columns.items()))


if __name__ == "__main__":
    sys.exit(main())
