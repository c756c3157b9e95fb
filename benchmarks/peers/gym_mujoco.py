"""Gymnasium's environments of MuJoCo: a robot whose joints are held by springs, which actions bend."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import PeerMissing
from benchmarks.peers.contact_mujoco import held
from hinge.gym import Task
from hinge.spatial import Array

try:
    import mujoco
    from gymnasium.envs.mujoco import MujocoEnv
    from gymnasium.spaces import Box
    from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
except ImportError:
    mujoco: Any = None
    MujocoEnv: Any = object

#: How many of them stand side by side, in one process and in processes of their own.
SIDE_BY_SIDE = {"in one process": 16, "in processes": 4}


class Sprung(MujocoEnv):
    """A robot at a task of Hinge's, whose actions are forces of springs at its last joints."""

    def __init__(self, model: str, task: Task, pose: Array, reach: Array) -> None:
        self.metadata = {"render_modes": [], "render_fps": round(1 / (task.dt * task.steps))}
        self._reach, self._horizon, self._age = reach, task.horizon, 0
        super().__init__(model, task.steps, None)
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
        return self._look(), reward, False, self._age >= self._horizon, {}

    def reset_model(self) -> Array:
        """Begin where the model does."""
        self._age = 0
        return self._look()

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
    settings = {"solver": "Newton", "cone": "pyramidal"}
    path.write_text(held(task.robot, pose, gains, task.dt, settings), encoding="utf-8")
    make = partial(Sprung, str(path), task, pose, reach * gains[0][-task.actions :])
    kind: Callable[..., Any] = SyncVectorEnv if how == "in one process" else AsyncVectorEnv
    return kind([make for _ in range(SIDE_BY_SIDE[how])])
