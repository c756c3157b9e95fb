"""The tasks of this room by name in Gymnasium's register."""

from __future__ import annotations

from typing import Any

import gymnasium

from hinge.gym.environments import Environment, Environments
from hinge.gym.task import Task
from hinge.gym.tasks import Reach, Walk

TASKS: dict[str, type[Task]] = {"Reach": Reach, "Walk": Walk}


def register() -> None:
    """Enter hinge/Reach-v0 and hinge/Walk-v0, unless they are there."""
    for name in TASKS:
        if f"hinge/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"hinge/{name}-v0",
                entry_point=f"{__name__}:single",
                vector_entry_point=f"{__name__}:many",
                kwargs={"task": name},
            )


def single(task: str, dtype: Any = "float64", **options: Any) -> Environment:
    """Return the environment of one robot at a task, made with options."""
    return Environment(TASKS[task](**options), dtype=dtype)


def many(
    task: str,
    num_envs: int = 1,
    autoreset_mode: Any = "NextStep",
    dtype: Any = "float64",
    **options: Any,
) -> Environments:
    """Return the environment of many robots at a task, made with options."""
    return Environments(TASKS[task](**options), num_envs, autoreset_mode=autoreset_mode, dtype=dtype)
