"""How many actions of learning robots in a second, next to Gymnasium's environments of MuJoCo?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Contender, Options, race
from benchmarks.peers import PeerMissing
from benchmarks.peers.gym_mujoco import SIDE_BY_SIDE, many
from benchmarks.tables import Table, ratio
from hinge.gym import Environments, Reach, Task, Walk
from hinge.spatial import Array

ROBOTS, ACTIONS = 4096, 4
COLUMNS = (
    "task",
    "robots",
    "threads",
    "Hinge, actions/s",
    "MuJoCo, actions/s",
    "Hinge / MuJoCo",
    "MuJoCo runs",
)
#: Stiffness and damping of the springs that hold the arm in MuJoCo, and how far an action bends all springs.
ARM, BEND = (200.0, 20.0), 0.2


def tables(options: Options) -> Iterator[Table]:
    """Yield one table."""
    table = Table(f"Environments for learning: actions of all robots a second, {ROBOTS} robots", COLUMNS)
    for task in (Reach(), Walk()):
        table.rows += _rows(task, 512 if options.quick else ROBOTS, options)
    table.notes += [
        "An action is 10 steps of 2 ms of the arm, 20 steps of 1 ms of the quadruped on its feet; both count "
        "their episodes and begin anew. MuJoCo's contacts are soft, and its springs are part of the model.",
        f"MuJoCo: {SIDE_BY_SIDE['in one process']} environments of gymnasium in one process, or "
        f"{SIDE_BY_SIDE['in processes']} in processes of their own; more are no quicker. The quicker counts.",
    ]
    hinge.set_threads(None)
    yield table


def _rows(task: Task, robots: int, options: Options) -> list[list[Any]]:
    envs = Environments(task, robots)
    envs.reset(seed=0)
    ours = _contender("Hinge", envs, robots)
    found: list[list[Any]] = []
    for threads in (1, 2):
        hinge.set_threads(threads)
        peers = _peers(task, list(SIDE_BY_SIDE)[:threads])
        times = race([ours, *peers.values()], budget=4 * options.budget)
        how = min(peers, key=times.__getitem__) if peers else None
        found.append([
            type(task).__name__, robots, threads, f"{1 / times['Hinge']:.4g}",
            None if how is None else f"{1 / times[how]:.4g}",
            None if how is None else ratio(times[how], times["Hinge"]), how,
        ])  # fmt: skip
    return found


def _peers(task: Task, ways: list[str]) -> dict[str, Contender]:
    """Return MuJoCo's environments, run in these ways."""
    found: dict[str, Contender] = {}
    for how in ways:
        try:
            peer = many(task, *_pose(task), BEND, how)
        except PeerMissing:
            continue
        peer.reset(seed=0)
        found[how] = _contender(how, peer, peer.num_envs)
    return found


def _contender(name: str, envs: Any, robots: int) -> Contender:
    """Return actions of all robots, drawn beforehand, as a contender."""
    rng, size = np.random.default_rng(0), envs.single_action_space.shape[0]
    actions = rng.uniform(-0.3, 0.3, (ACTIONS, robots, size)).astype(np.float32)

    def run() -> None:
        for x in actions:
            envs.step(x)

    return Contender(name, run, robots * ACTIONS)


def _pose(task: Task) -> tuple[Array, tuple[Array, Array]]:
    """Return the pose in which springs hold the robot in MuJoCo, and their stiffness and damping."""
    if isinstance(task, Walk):
        springs = np.r_[np.zeros(6), np.ones(task.actions)]
        return task.stance, (60.0 * springs, 1.5 * springs)
    return hinge.neutral(task.robot), (ARM[0] * np.ones(task.actions), ARM[1] * np.ones(task.actions))


if __name__ == "__main__":
    command.run({"gym": tables})
