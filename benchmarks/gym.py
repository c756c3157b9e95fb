"""How many actions of learning robots in a second, next to Gymnasium's environments of MuJoCo?"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from statistics import median
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Contender, Options, clock, quiet
from benchmarks.peers import PeerMissing
from benchmarks.peers.gym_mujoco import SETTINGS, SIDE_BY_SIDE, many
from benchmarks.tables import Table, ratio
from hinge.gym import Environments, Reach, Task, Walk
from hinge.spatial import Array

#: Actions that are drawn beforehand, those of a round of the race, and the rounds before it: robots stand, or
#: have fallen and begun anew, each at its own time.
ROBOTS, DRAWN, ACTIONS, WARM = 4096, 32, 4, 15
COLUMNS = (
    "task",
    "robots",
    "actions within",
    "threads",
    "Hinge, actions/s",
    "ratio",
    "in float32",
    "ratio",
    "MuJoCo, actions/s",
    "MuJoCo runs",
)
#: How large actions are: as drawn from the space of actions, and so that robots stay on their feet.
SHARES = {Reach: (1.0,), Walk: (1.0, 0.3)}
#: Stiffness and damping of the springs that hold the arm in MuJoCo, and how far an action bends all springs.
ARM, BEND = (200.0, 20.0), 0.2


def tables(options: Options) -> Iterator[Table]:
    """Yield one table."""
    table = Table("Environments for learning: actions of all robots a second", COLUMNS)
    for task in (Reach(), Walk()):
        for share in SHARES[type(task)]:
            table.rows += _rows(task, 512 if options.quick else ROBOTS, share, options)
    table.notes += [
        "An action is 10 steps of 2 ms of the arm, 20 steps of 1 ms of the quadruped on its feet. Actions "
        "are random within the share of their space; all begin where the task says, end as they fall, and "
        "begin anew. MuJoCo's contacts are soft, and its springs are part of the model; it observes less.",
        f"MuJoCo: {SETTINGS['solver']}, {SETTINGS['cone']} cones, Euler; {SIDE_BY_SIDE['in one process']} "
        f"environments of gymnasium in one process, or {SIDE_BY_SIDE['in processes']} in processes of their "
        "own, by shared memory; more are no quicker. The quicker counts. Medians of rounds of 4 actions in "
        "turns, after 60 actions.",
    ]
    hinge.set_threads(None)
    yield table


def _rows(task: Task, robots: int, share: float, options: Options) -> list[list[Any]]:
    found: list[list[Any]] = []
    for threads in (1, 2):
        hinge.set_threads(threads)
        ours = {
            dtype: _contender(dtype, Environments(task, robots, dtype=dtype), share)
            for dtype in ("float64", "float32")
        }
        peers = _peers(task, list(SIDE_BY_SIDE)[:threads], share)
        times = _steady([*ours.values(), *peers.values()], 4 * options.budget)
        how = min(peers, key=times.__getitem__) if peers else None
        row = [type(task).__name__, robots, f"±{share:g}", threads]
        for dtype in ours:
            row += [f"{1 / times[dtype]:.4g}", None if how is None else ratio(times[how], times[dtype])]
        found.append([*row, None if how is None else f"{1 / times[how]:.4g}", how])
    return found


def _steady(contenders: Sequence[Contender], budget: float) -> dict[str, float]:
    """Return the median time in seconds of an action of each contender, in turns after the first rounds.

    Not the least: what robots do, and so what it costs, changes from round to round.
    """
    times: dict[str, list[float]] = {c.name: [] for c in contenders}
    for c in contenders:
        for _ in range(WARM):
            c.run()
    with quiet():
        end = time.perf_counter() + budget
        while time.perf_counter() < end or min(map(len, times.values())) < 3:
            for c in contenders:
                times[c.name].append(clock(c.run) / c.states)
    return {name: median(x) for name, x in times.items()}


def _peers(task: Task, ways: list[str], share: float) -> dict[str, Contender]:
    """Return MuJoCo's environments, run in these ways."""
    found: dict[str, Contender] = {}
    for how in ways:
        try:
            peer = many(task, *_held(task), how)
        except PeerMissing:
            continue
        found[how] = _contender(how, peer, share)
    return found


def _contender(name: str, envs: Any, share: float) -> Contender:
    """Return some actions of all robots, drawn beforehand, as a contender."""
    rng, size = np.random.default_rng(0), envs.single_action_space.shape[0]
    actions = rng.uniform(-share, share, (DRAWN, envs.num_envs, size)).astype(np.float32)
    turns = cycle(actions)
    envs.reset(seed=0)

    def run() -> None:
        for _ in range(ACTIONS):
            envs.step(next(turns))

    return Contender(name, run, envs.num_envs * ACTIONS)


def _held(task: Task) -> tuple[Array, tuple[Array, Array], float]:
    """Return the pose of springs that hold the robot in MuJoCo, their gains, and how far an action bends."""
    if isinstance(task, Walk):
        springs = np.r_[np.zeros(6), np.ones(task.actions)]
        return task.stance, (60.0 * springs, 1.5 * springs), task.reach
    pose = hinge.neutral(task.robot)
    return pose, (ARM[0] * np.ones(task.actions), ARM[1] * np.ones(task.actions)), BEND


if __name__ == "__main__":
    command.run({"gym": tables})
