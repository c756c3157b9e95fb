"""Gymnasium's environments of MuJoCo: a robot whose joints are held by springs, which actions bend.

Robots, steps, starts, actions and when an episode ends are those of Hinge's task; what is observed and
rewarded is less, which is to MuJoCo's advantage.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import PeerMissing
from benchmarks.peers.contact_mujoco import held
from hinge.gym import Task, Walk
from hinge.model import mujoco_map
from hinge.spatial import Array

try:
    import mujoco
    from gymnasium.envs.mujoco import MujocoEnv
    from gymnasium.spaces import Box
    from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
except ImportError:
    mujoco: Any = None
    MujocoEnv: Any = object

#: MuJoCo's own solver and cones, which are the quickest here; all else is as its documents leave it.
SETTINGS = {"solver": "Newton", "cone": "pyramidal"}
#: How many of them stand side by side, in one process and in processes of their own.
SIDE_BY_SIDE = {"in one process": 16, "in processes": 16}


class Sprung(MujocoEnv):
    """A robot at a task of Hinge's, whose actions are forces of springs at its last joints."""

    def __init__(self, model: str, task: Task, reach: Array, falls: bool) -> None:
        self.metadata = {"render_modes": [], "render_fps": round(1 / (task.dt * task.steps))}
        self._task, self._reach, self._falls = task, reach, falls
        self._horizon, self._age = task.horizon, 0
        super().__init__(model, task.steps, None)
        self._map = mujoco_map(task.robot, self.model)
        size = self.model.nq + self.model.nv
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = Box(-1.0, 1.0, (task.actions,), np.float32)

    def _set_action_space(self) -> None:
        """Leave it: there are no actuators."""

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take steps under the forces of an action."""
        data = self.data
        data.qfrc_applied[-len(action) :] = self._reach * action
        mujoco.mj_step(self.model, data, nstep=self.frame_skip)
        self._age += 1
        reward = float(data.qvel[0] - 0.01 * (action**2).sum())
        return self._look(), reward, self._falls and self._fallen(), self._age >= self._horizon, {}

    def reset_model(self) -> Array:
        """Begin where the task does."""
        self._age, start = 0, self._task.begin(self.np_random, 1)
        self.set_state(self._map.to_q(start.q)[0], self._map.to_qd(start.q, start.qd)[0])
        return self._look()

    def _fallen(self) -> bool:
        """Tell whether the trunk is low or tilted by 60 degrees, as `Walk.fails` does."""
        _, _, z, _, x, y, _ = self.data.qpos[:7].tolist()
        return z < 0.12 or 1.0 - 2.0 * (x * x + y * y) < 0.5

    def _look(self) -> Array:
        return np.concatenate([self.data.qpos, self.data.qvel])


def many(
    task: Task, pose: Array, gains: tuple[Array, Array], reach: float, how: str
) -> VectorEnv[Any, Any, Any]:
    """Return a vector of environments, in one process or in processes of their own."""
    if mujoco is None:
        raise PeerMissing("not installed")
    folder = Path(tempfile.mkdtemp(prefix="hinge-bench-"))
    path = folder / "robot.xml"
    path.write_text(held(task.robot, pose, gains, task.dt, SETTINGS), encoding="utf-8")
    make = partial(Sprung, str(path), task, reach * gains[0][-task.actions :], isinstance(task, Walk))
    kind: Callable[..., Any] = SyncVectorEnv if how == "in one process" else AsyncVectorEnv
    return kind([make for _ in range(SIDE_BY_SIDE[how])])
