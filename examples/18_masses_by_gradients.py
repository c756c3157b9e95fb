"""Masses from a recorded motion: gradients of a whole simulation by the robot's inertias.

A chain of three bodies swings, and only its angles are recorded, with noise; no force and no acceleration is
measured. Its masses are those with which a simulation ends up where the record is. Each row of the matrix of
changes is the gradient of one recorded angle, and a batch of roll-outs gives all rows at once: Gauss and
Newton's method then needs a handful of rounds.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge

STEP, STEPS, EVERY = 2e-3, 150, 10
NOISE = 1e-5  # rad
TRUE = np.array([1.3, 0.7, 1.6])  # of the masses that the model has


def main() -> int:
    """Print the factors of the masses, round by round; the exit code is 1 if they are wrong."""
    robot = hinge.robots.chain(3)
    own = hinge.inertial_parameters(robot)  # (bodies, 10), all proportional to the mass
    roll = hinge.Rollout(robot, dt=STEP, steps=STEPS, record=EVERY)
    start, t = np.array([0.4, -0.9, 0.7]), STEP * np.arange(STEPS)
    tau = 0.2 * np.sin(np.outer(t, [5.0, 7.0, 9.0]))  # known forces: without any, only ratios of masses show
    rng = np.random.default_rng(1)
    exact = roll(start, tau=tau, parameters={"inertias": TRUE[:, None] * own}).q
    seen = exact + NOISE * rng.standard_normal(exact.shape)

    factors = np.ones(3)
    weights = np.eye(seen.size).reshape(-1, *seen.shape)  # a row for each recorded angle
    for k in range(6):
        given = {"inertias": factors[:, None] * own}
        off = roll(start, tau=tau, parameters=given).q - seen
        each = {"inertias": np.broadcast_to(given["inertias"], (len(weights), *own.shape))}
        rows = roll.pull(start, tau=tau, parameters=each, q=weights, wrt=["inertias"])["inertias"]
        J = (rows * own).sum(axis=-1)  # along the factors, (angles, 3)
        print(f"round {k}: factors {factors.round(5)}, angles off by {np.abs(off).max():.1e} rad")
        factors = factors + np.linalg.lstsq(J, -off.ravel(), rcond=None)[0]
    wrong = float(np.abs(factors / TRUE - 1).max())
    print(f"the masses are {TRUE}; found to {100 * wrong:.3f} %")
    good = wrong < 5e-3
    print("the masses are known." if good else "THE MASSES ARE WRONG.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
