"""A million states in one call.

Every verb takes leading dimensions as a batch. The states of a batch go through machine code side by side,
in the lanes of the processor's vectors and on all its cores. Here a million random states of an arm are
pushed by random forces; the accelerations are put back into inverse dynamics, which must return the forces.
Then all of them move for ten steps. `python examples/02_million_states.py 10000` takes fewer states.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import hinge

#: How far the forces may be off, relative to the largest.
ERROR = 1e-9


def main(states: int = 1_000_000) -> int:
    """Print rates; the exit code is 1 when forward and inverse dynamics disagree."""
    robot = hinge.robots.panda()
    rng = np.random.default_rng(1)
    q = hinge.random_configuration(robot, rng, size=states)  # (states, nq)
    qd, tau = rng.standard_normal((2, states, robot.nv))
    hinge.inverse_dynamics(
        robot, q[:1], qd[:1], hinge.forward_dynamics(robot, q[:1], qd[:1], tau[:1])
    )  # compiles

    began = time.perf_counter()
    qdd = hinge.forward_dynamics(robot, q, qd, tau)
    middle = time.perf_counter()
    back = hinge.inverse_dynamics(robot, q, qd, qdd)
    end = time.perf_counter()
    error = float(np.abs(back - tau).max() / np.abs(tau).max())
    print(f"{states:,} states of {robot.name}, {robot.nv} joints")
    print(f"forward dynamics: {states / (middle - began):12,.0f} states per second")
    print(f"inverse dynamics: {states / (end - middle):12,.0f} states per second")
    print(f"there and back the forces differ by {error:.1e}")

    hinge.simulate(robot, q[:1], t=1e-3)  # compiles
    began = time.perf_counter()
    run = hinge.simulate(robot, q, qd, t=0.01, dt=1e-3, record=0)  # keeps the first and the last state
    print(f"simulation:       {10 * states / (time.perf_counter() - began):12,.0f} state-steps per second")
    good = error < ERROR and bool(np.isfinite(run.q).all())
    print("they agree." if good else "THEY DO NOT AGREE.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
