"""What does the gradient of a roll-out of 500 steps cost, in roll-outs and in memory?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Options
from benchmarks.tables import Table, ratio

STEP, STEPS, STATES = 1e-3, 500, 1024
#: How far gradients may be from differences, relative to them, and the step of these.
BOUND, NEAR = 1e-6, 1e-5

COLUMNS = (
    "robot", "kept", "µs a state-step", "µs with its gradient", "gradient / roll-out", "MB", "difference",
)  # fmt: skip


def tables(options: Options) -> Iterator[Table]:
    """Yield the time of gradients by start and forces, for all steps kept and for every √steps-th."""
    states, steps = (128, 100) if options.quick else (STATES, STEPS)
    table = Table(
        f"Gradients of roll-outs: RK4 of {STEP * 1e3:g} ms, {steps} steps, {states} states", COLUMNS
    )
    for robot in (hinge.robots.panda(), hinge.robots.quadruped()):
        table.rows += [_row(robot, (states, steps, keep), options) for keep in (None, isqrt(steps))]
    hinge.set_threads(None)
    table.notes.append(
        "Gradients by q0, qd0 and tau (states, steps, nv); no contact. MB: beside these arrays."
    )
    table.notes.append("One thread; times are processor seconds, the least of several runs in turns.")
    table.notes.append("difference: from a central difference along a direction, relative.")
    yield table


def _row(robot: hinge.Robot, sizes: tuple[int, int, int | None], options: Options) -> list[Any]:
    states, steps, keep = sizes
    rng = np.random.default_rng(1)
    q, qd = hinge.random_configuration(robot, rng, states), 0.1 * rng.standard_normal((states, robot.nv))
    tau = 0.1 * rng.standard_normal((states, steps, robot.nv))
    weights = rng.standard_normal((states, robot.nv))
    roll = hinge.Rollout(robot, dt=STEP, steps=steps, keep=keep)
    run = partial(roll, q, qd, tau=tau)
    pull = partial(roll.pull, q, qd, tau=tau, q=weights, qd=weights)
    hinge.set_threads(1)
    off = _off(roll, (q[:8], qd[:8], tau[:8]), weights[:8])
    least = [float("inf"), float("inf")]
    for _ in range(3 if options.quick else 6):
        for k, f in enumerate((run, pull)):
            began = time.process_time()
            f()
            least[k] = min(least[k], time.process_time() - began)
    once, both = (1e6 * seconds / (states * steps) for seconds in least)
    shown = f"wrong: {off:.1e}" if off > BOUND else off
    kept = "all" if roll.keep == steps else f"every {roll.keep}th"
    size = f"{roll.memory(states) / 1e6:.1f}"
    return [robot.name, kept, f"{once:.3g}", f"{both:.3g}", ratio(both, once), size, shown]


def _off(roll: hinge.Rollout, start: tuple[np.ndarray, np.ndarray, np.ndarray], weights: np.ndarray) -> float:
    """Return how far the gradients are from a difference, relative to it."""
    q, qd, tau = start
    rng = np.random.default_rng(2)
    along = {n: rng.standard_normal(x.shape) for n, x in (("q", qd), ("qd", qd), ("tau", tau))}
    base = roll(q, qd, tau=tau)

    def total(e: float) -> float:
        moved = hinge.integrate(roll.robot, q, e * along["q"])
        end = roll(moved, qd + e * along["qd"], tau=tau + e * along["tau"])
        change = hinge.difference(roll.robot, base.q, end.q) + end.qd - base.qd
        return float((weights * change).sum())

    slope = (8 * (total(NEAR) - total(-NEAR)) - (total(2 * NEAR) - total(-2 * NEAR))) / (12 * NEAR)
    grads = roll.pull(q, qd, tau=tau, q=weights, qd=weights)
    return abs(sum(float((grads[n] * d).sum()) for n, d in along.items()) - slope) / abs(slope)


if __name__ == "__main__":
    command.run({"rollout": tables})
