"""A motion optimised through its simulation: a double pendulum swings up, driven weakly at both joints.

The forces of 300 steps are what is sought, and the loss looks at the last state alone: upright, at rest, with
little effort. `Rollout.pull` gives its gradient by all forces at once, for a batch of first guesses. A
descent with moments (Adam) goes down it, and Newton's method ends at the goal.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge

STEP, STEPS, GUESSES, ROUNDS = 1e-2, 300, 8, 300
EFFORT, PACE = 1e-4, 0.12
UP = np.array([np.pi, 0.0])  # the first body upright, the second straight on


def main(rounds: int = ROUNDS) -> int:
    """Print how near the best guess comes; the exit code is 1 if none swings up."""
    robot = hinge.robots.double_pendulum()
    roll = hinge.Rollout(robot, dt=STEP, steps=STEPS, integrator="semi-implicit")
    start = np.zeros(robot.nq)
    rng = np.random.default_rng(2)
    waves = np.sin(np.outer(np.arange(STEPS) * STEP, rng.uniform(2.0, 8.0, GUESSES))).T
    force = np.zeros((GUESSES, STEPS, robot.nv))
    force[...] = waves[..., None]
    mean, square = np.zeros_like(force), np.zeros_like(force)
    for k in range(rounds):
        end = roll(start, tau=force)
        off = _off(end.q)
        loss = (off**2).sum(-1) + 0.5 * (end.qd**2).sum(-1) + EFFORT * STEP * (force**2).sum((-1, -2))
        if k % 40 == 0:
            print(f"round {k:3}: the best of {GUESSES} has a loss of {loss.min():.4f}")
        by = roll.pull(start, tau=force, q=2 * off, qd=end.qd, wrt=["tau"])["tau"]
        by += 2 * EFFORT * STEP * force
        mean += 0.1 * (by - mean)
        square += 0.01 * (by**2 - square)
        share = mean / (1 - 0.9 ** (k + 1)), np.sqrt(square / (1 - 0.99 ** (k + 1)))
        force -= PACE * (1 - k / rounds) * share[0] / (share[1] + 1e-8)
    best = force[int(loss.argmin())]
    for _ in range(
        40
    ):  # Newton's method, a part of the way each time: the least change of forces to get there
        end = roll(start, tau=best)
        off = np.concatenate([_off(end.q), end.qd])
        rows = roll.pull(
            np.tile(start, (4, 1)), tau=np.tile(best, (4, 1, 1)), q=np.eye(4)[:, :2], qd=np.eye(4)[:, 2:]
        )
        J = rows["tau"].reshape(4, -1)
        best = best - 0.2 * (J.T @ np.linalg.solve(J @ J.T, off)).reshape(best.shape)
    end = roll(start, tau=best)
    missed, level = (
        np.abs([_off(end.q), end.qd]).max(),
        np.abs(hinge.gravity_force(robot, [0.5 * np.pi, 0.0])).max(),
    )
    print(f"at the end: angles {end.q.round(4)}, speeds {end.qd.round(4)} rad/s")
    print(f"forces of up to {np.abs(best).max():.1f} N m; to hold it level takes {level:.1f} N m")
    good = bool(missed < 1e-2 and np.abs(best).max() < level)
    print("it stands upright." if good else "IT HANGS.")
    return 0 if good else 1


def _off(q: np.ndarray) -> np.ndarray:
    """Return angles from upright, between −π and π."""
    return np.remainder(q - UP + np.pi, 2 * np.pi) - np.pi


if __name__ == "__main__":
    sys.exit(main())
