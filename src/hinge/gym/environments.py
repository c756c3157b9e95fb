"""Gymnasium's environments over the loop of `hinge.Stepper`: many robots in one, or a single one."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import DTypeLike, NDArray

from hinge.errors import ArgumentError
from hinge.gym.task import States, Task
from hinge.sim import Stepper
from hinge.spatial import Array

Bools = NDArray[np.bool_]


class Environments(VectorEnv[Array, Array, Array]):
    """`num_envs` robots at one task, which move together in native code.

    Each begins anew as its episode ends: with `autoreset_mode` "NextStep", the default, in the step after
    it, whose action counts for nothing; with "SameStep" at once, and `infos` have the last observations as
    "final_obs"; with "Disabled" when `reset` is called with options={"reset_mask": (num_envs,)}. Starts are
    drawn from one generator. A robot whose state is not finite any more has failed: `infos["diverged"]` tells
    which, and zeros are observed there. With `dtype` "float32" robots move in single precision, nearly twice
    as fast over contacts; the states that a task sees are of it, too.
    """

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        dtype: DTypeLike = np.float64,
    ) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"num_envs: expected a number of robots, got {num_envs!r}")
        self.task, self.num_envs = _checked(task), num_envs
        self.mode = _mode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.mode}
        began = task.begin(np.random.default_rng(0), num_envs)
        self._own = {name: np.array(x) for name, x in began.own.items()}
        settings: dict[str, Any] = {"dt": task.dt, "control": task.control, "dtype": dtype, **task.settings}
        self._stepper = Stepper(task.robot, began.q, began.qd, **settings)
        self._touches = getattr(task.settings.get("integrator"), "name", task.settings.get("integrator"))
        self._age, self._over = np.zeros(num_envs, int), np.zeros(num_envs, dtype=bool)
        self._fresh = True
        length = _observed(task, self._states(), num_envs).shape[1]
        self.single_observation_space = Box(-np.inf, np.inf, (length,), np.float32)
        self.single_action_space = Box(-1.0, 1.0, (task.actions,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    @property
    def stepper(self) -> Stepper:
        """The states that move, for whoever wants to look at them or to draw them."""
        return self._stepper

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin anew, all of them or those in options["reset_mask"]; return observations and infos."""
        super().reset(seed=seed)
        mask = np.ones(self.num_envs, dtype=bool)
        if options and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.dtype != bool or mask.shape != (self.num_envs,):
                raise ArgumentError(
                    f"options['reset_mask']: expected booleans ({self.num_envs},), got an array of "
                    f"{mask.dtype} of shape {mask.shape}"
                )
        self._begin(mask)
        self._fresh = False
        return self._look(), {}

    def step(self, actions: Array) -> tuple[Array, Array, Bools, Bools, dict[str, Any]]:
        """Return observations, rewards, terminations, truncations and infos after one action of each."""
        if self._fresh:
            raise gymnasium.error.ResetNeeded("reset: expected a call before the first step, got none")
        given, again = self._actions(actions), self._over & (self.mode is AutoresetMode.NEXT_STEP)
        states = self._states()
        self._stepper.step(self.task.steps, **self.task.commands(states, given))
        if again.any():
            self._begin(again)
        self._age[~again] += 1
        states, diverged = self._states(), self._stepper.ended
        with np.errstate(all="ignore"):
            rewards = np.asarray(self.task.reward(states, given), dtype=np.float64)
            failed = np.asarray(self.task.fails(states), dtype=bool) | diverged
        rewards = np.where(again | diverged, 0.0, rewards)
        failed &= ~again
        late = (self._age >= self.task.horizon) & ~again
        self._over = failed | late
        infos: dict[str, Any] = {}
        if diverged.any():
            infos |= {"diverged": diverged.copy(), "_diverged": diverged.copy()}
        if self.mode is AutoresetMode.SAME_STEP and self._over.any():
            infos |= self._final()
            self._begin(self._over)
        return self._look(), rewards, failed, late, infos

    def _begin(self, mask: Bools) -> None:
        """Let these robots begin anew."""
        count = int(mask.sum())
        began = self.task.begin(self.np_random, count)
        self._stepper.put(mask, began.q, began.qd)
        for name, x in began.own.items():
            self._own[name][mask] = x
        self._age[mask], self._over[mask] = 0, False

    def _final(self) -> dict[str, Any]:
        """Return the last observations of episodes that are over, as gymnasium names them."""
        last = np.full(self.num_envs, None, dtype=object)
        seen = self._look()
        for k in np.flatnonzero(self._over):
            last[k] = seen[k]
        return {"final_obs": last, "_final_obs": self._over.copy()}

    def _states(self) -> States:
        """Return the states now."""
        forces = self._stepper.contact_forces if self._touches == "stepping" else None
        return States(self._stepper.q, self._stepper.qd, self._own, forces)

    def _look(self) -> Array:
        with np.errstate(all="ignore"):
            found = _observed(self.task, self._states(), self.num_envs)
        found[self._stepper.ended] = 0.0
        return found

    def _actions(self, given: Any) -> Array:
        found = np.asarray(given, dtype=np.float64)
        if found.shape != (self.num_envs, self.task.actions):
            raise ArgumentError(
                f"actions: expected shape {(self.num_envs, self.task.actions)}, got {found.shape}"
            )
        if not np.isfinite(found).all():
            bad = int(np.flatnonzero(~np.isfinite(found).all(-1))[0])
            raise ArgumentError(f"actions: expected finite numbers, got {found[bad]} for robot {bad}")
        return np.clip(found, -1.0, 1.0)


class Environment(gymnasium.Env[Array, Array]):
    """One robot at a task: `Environments` of one, for what knows single environments only."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, task: Task, *, dtype: DTypeLike = np.float64) -> None:
        self._many = Environments(task, 1, autoreset_mode=AutoresetMode.DISABLED, dtype=dtype)
        self.observation_space = self._many.single_observation_space
        self.action_space = self._many.single_action_space

    @property
    def stepper(self) -> Stepper:
        """The state that moves, a batch of one."""
        return self._many.stepper

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin anew; return the observation."""
        super().reset(seed=seed)
        self._many.np_random = self.np_random
        observed, infos = self._many.reset()
        return observed[0], infos

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, whether it failed or is over, and infos after an action."""
        seen, rewards, failed, late, infos = self._many.step(np.asarray(action)[None])
        return seen[0], float(rewards[0]), bool(failed[0]), bool(late[0]), {n: x[0] for n, x in infos.items()}


def _checked(task: Any) -> Task:
    if not isinstance(task, Task):
        raise ArgumentError(
            f"task: expected a hinge.gym.Task such as Reach(), got {type(task).__name__}; a class of your "
            "own inherits Task"
        )
    return task


def _mode(given: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(given)
    except ValueError:
        names = ", ".join(repr(m.value) for m in AutoresetMode)
        raise ArgumentError(f"autoreset_mode: expected one of {names}, got {given!r}") from None


def _observed(task: Task, states: States, count: int) -> Array:
    """Return what is observed in single precision."""
    found = np.array(task.observe(states), dtype=np.float32)
    if found.ndim != 2 or len(found) != count:
        raise ArgumentError(
            f"observe: expected an array ({count}, observations) of {type(task).__name__}, got {found.shape}"
        )
    return found
