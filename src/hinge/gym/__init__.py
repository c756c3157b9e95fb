"""Environments for learning, by Gymnasium's interface: thousands of robots at a task in one native loop.

    import gymnasium, hinge.gym
    envs = gymnasium.make_vec("hinge/Reach-v0", num_envs=4096)       # or hinge.gym.Environments(task, 4096)
    env = gymnasium.make("hinge/Walk-v0")                            # one alone

A task of your own is a class that inherits `Task`. This room needs gymnasium: pip install "hinge[gym]".
"""

from hinge.errors import MissingExtraError as _MissingExtraError

try:
    import gymnasium as _  # noqa: F401
except ImportError:
    raise _MissingExtraError(
        'environments need gymnasium, which is not installed; pip install "hinge[gym]"'
    ) from None

from hinge.gym.environments import Environment, Environments
from hinge.gym.registration import register as _register
from hinge.gym.task import States, Task
from hinge.gym.tasks import Reach, Walk

_register()

__all__ = ["Environment", "Environments", "Reach", "States", "Task", "Walk"]
