"""A motion optimised through its simulation: a double pendulum swings up, driven at its elbow alone.

The forces of 300 steps are what is sought, and the loss looks at the last state only: upright, at rest, with
little effort. `Rollout.pull` gives its gradient by all forces at once, for a whole batch of first guesses, and
a descent with moments (Adam) goes down it. No derivative is written by hand, and none is a difference.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge

STEP, STEPS, GUESSES, ROUNDS = 1e-2, 300, 24, 250
EFFORT, PACE = 1e-5, 0.4
UP = np.array([np.pi, 0.0])  # the first body upright, the second straight on


def main(rounds: int = ROUNDS) -> int:
    """Print how near the best guess comes; the exit code is 1 if none swings up."""
    robot = hinge.robots.double_pendulum()
    roll = hinge.Rollout(robot, dt=STEP, steps=STEPS, integrator="semi-implicit")
    start = np.zeros(robot.nq)
    rng = np.random.default_rng(2)
    waves = np.sin(np.outer(np.arange(STEPS) * STEP, rng.uniform(2.0, 8.0, GUESSES))).T
    force = np.zeros((GUESSES, STEPS, robot.nv))
    force[..., 1] = 2.0 * waves
    mean, square = np.zeros(force.shape[:-1]), np.zeros(force.shape[:-1])
    for k in range(rounds):
        end = roll(start, tau=force)
        off = end.q - UP
        off -= 2 * np.pi * np.round(off / (2 * np.pi))
        loss = (off**2).sum(-1) + 0.1 * (end.qd**2).sum(-1) + EFFORT * STEP * (force**2).sum((-1, -2))
        if k % 50 == 0:
            print(f"round {k:3}: the best of {GUESSES} has a loss of {loss.min():.4f}")
        by = roll.pull(start, tau=force, q=2 * off, qd=0.2 * end.qd, wrt=["tau"])["tau"][..., 1]
        by += 2 * EFFORT * STEP * force[..., 1]
        by /= np.maximum(1e-12, np.linalg.norm(by, axis=-1, keepdims=True))  # long motions have wild gradients
        mean += 0.1 * (by - mean)
        square += 0.01 * (by**2 - square)
        fading = PACE * (1 - k / rounds)
        force[..., 1] -= fading * (mean / (1 - 0.9 ** (k + 1))) / (np.sqrt(square / (1 - 0.99 ** (k + 1))) + 1e-8)
    end = roll(start, tau=force)
    off = np.abs(np.sin(0.5 * (end.q - UP))).max(axis=-1) * 2 + np.abs(end.qd).max(axis=-1)
    best = int(off.argmin())
    turned, speed = end.q[best], np.abs(end.qd[best]).max()
    print(f"guess {best}: angles {turned.round(3)}, speed {speed:.3f} rad/s, forces up to {np.abs(force[best]).max():.1f} N m")
    good = bool(off[best] < 0.2)
    print("it stands upright." if good else "IT HANGS.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
