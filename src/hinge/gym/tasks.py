"""Two tasks to begin with: an arm that reaches, and a quadruped that walks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hinge.dynamics import forward_kinematics
from hinge.gym.task import States, Task
from hinge.model import Robot, neutral, on_ground, random_configuration
from hinge.robots import FOOT_RADIUS, panda, quadruped, quadruped_stance
from hinge.sim import PD, ComputedTorque
from hinge.spatial import Array, rotation


class Reach(Task):
    """An arm takes its tool to points within its reach, drawn anew for every episode.

    An action is the velocity of the joints' targets, in shares of `speed` [rad/s], which the joints follow by
    computed torque. Observed are q, qd, the targets beyond q, the tool and the
    way from there to the goal. The reward is −distance [m] − 0.01 |action|².
    """

    def __init__(
        self, robot: Robot | None = None, frame: str = "tool", *, speed: float = 1.0, horizon: int = 200
    ) -> None:
        self.robot = panda() if robot is None else robot
        self.frame, self.speed, self.horizon = frame, speed, horizon
        self.actions, self.dt, self.steps = self.robot.nv, 2e-3, 10
        self.control = ComputedTorque(neutral(self.robot), 100.0, 20.0)
        self.settings = {"integrator": "semi-implicit"}

    def begin(self, rng: np.random.Generator, count: int) -> States:
        """Return random configurations at rest; goals are where the tool is at others."""
        q, there = (random_configuration(self.robot, rng, size=count) for _ in range(2))
        goal = forward_kinematics(self.robot, there, self.frame).position
        return States(q, np.zeros((count, self.robot.nv)), {"goal": goal, "target": q.copy()})

    def commands(self, states: States, actions: Array) -> Mapping[str, Array]:
        """Move the targets."""
        target = states.own["target"]
        target += self.speed * self.dt * self.steps * actions
        np.clip(target, self.robot.lower, self.robot.upper, out=target)
        return {"target": target}

    def observe(self, states: States) -> Array:
        """Return q, qd, targets beyond q, the tool, and the way to the goal."""
        tool = self._tool(states)
        ahead = states.own["target"] - states.q
        return np.concatenate([states.q, states.qd, ahead, tool, states.own["goal"] - tool], axis=-1)

    def reward(self, states: States, actions: Array) -> Array:
        """Return −distance − 0.01 |action|²."""
        way = states.own["goal"] - self._tool(states)
        return -np.linalg.norm(way, axis=-1) - 0.01 * (actions**2).sum(-1)

    def _tool(self, states: States) -> Array:
        return forward_kinematics(self.robot, states.q, self.frame).position


class Walk(Task):
    """A quadruped walks along x on its four feet, over rigid contacts with friction.

    An action are angles of the twelve joints beyond those of its stance, in shares of `reach` [rad]; springs
    and dampers hold the joints to these. Observed are the height, which way is down, the velocity of the
    trunk, in its own axes, joints and their velocities, and the last action. The reward is the speed forward
    [m/s] up to `pace`, less what turning and large actions cost; an episode ends as it falls.
    """

    def __init__(self, *, friction: float = 0.8, pace: float = 1.0, reach: float = 0.4) -> None:
        feet = [f"{leg}_foot" for leg in ("FL", "FR", "HL", "HR")]
        self.robot = on_ground(quadruped(), feet, friction=friction, radius=FOOT_RADIUS)
        self.pace, self.reach, self.actions = pace, reach, self.robot.nv - 6
        self.stance = quadruped_stance(self.robot)
        springs = np.r_[np.zeros(6), np.ones(self.actions)]
        self.control = PD(self.stance, 60.0 * springs, 1.5 * springs)
        self.dt, self.steps, self.horizon = 1e-3, 20, 500
        self.settings = {"integrator": "stepping"}

    def begin(self, rng: np.random.Generator, count: int) -> States:
        """Return stances with bent and moving joints, a little above the ground."""
        q, qd = np.tile(self.stance, (count, 1)), np.zeros((count, self.robot.nv))
        q[:, 7:] += rng.uniform(-0.1, 0.1, (count, self.actions))
        q[:, 6] += rng.uniform(0.03, 0.06, count)
        qd[:, 6:] = rng.uniform(-0.2, 0.2, (count, self.actions))
        return States(q, qd, {"last": np.zeros((count, self.actions))})

    def commands(self, states: States, actions: Array) -> Mapping[str, Array]:
        """Bend the springs of the joints."""
        states.own["last"][...] = actions
        target = np.tile(self.stance, (len(actions), 1))
        target[:, 7:] += self.reach * actions
        return {"target": target}

    def observe(self, states: States) -> Array:
        """Return height, down, the trunk's velocity, joints, their velocities, and the last action."""
        down = -rotation.from_quaternion(states.q[:, :4])[:, 2]
        bent = states.q[:, 7:] - self.stance[7:]
        parts = [states.q[:, 6:7], down, states.qd[:, :6], bent, states.qd[:, 6:], states.own["last"]]
        return np.concatenate(parts, axis=-1)

    def reward(self, states: States, actions: Array) -> Array:
        """Return the speed forward, less costs."""
        forward = (rotation.from_quaternion(states.q[:, :4])[:, 0] * states.qd[:, 3:6]).sum(-1)
        turning = (states.qd[:, :3] ** 2).sum(-1)
        return np.minimum(forward, self.pace) - 0.05 * turning - 0.01 * (actions**2).sum(-1)

    def fails(self, states: States) -> NDArray[np.bool_]:
        """Return which have fallen."""
        upright = rotation.from_quaternion(states.q[:, :4])[:, 2, 2]
        return (upright < 0.5) | (states.q[:, 6] < 0.12)
