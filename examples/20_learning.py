"""An arm learns to reach: a thousand arms at once, each with a policy of its own.

The task is one of ours, `hinge.gym.Reach`, changed by a class of a few lines as users change it: arms begin
near one pose, and goals lie in a box before it. A policy is linear: the action is W times the way there.
By the cross-entropy method all arms try policies drawn around a mean for one episode each, and the best tenth
makes the next mean. `hinge.gym.Environments` is a `gymnasium.vector.VectorEnv`, so that any library for
learning takes its place.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge
from hinge.gym import Environments, Reach, States
from hinge.spatial import Array

ARMS, ROUNDS, ELITE, ACTIONS = 1000, 12, 100, 50
POSE = [0.0, -0.3, 0.0, -2.0, 0.0, 1.7, 0.8]
BOX = 0.15


class Near(Reach):
    """Begin near one pose, with goals in a box around its tool."""

    def begin(self, rng: np.random.Generator, count: int) -> States:
        """Return states, goals and targets."""
        q = np.array(POSE) + rng.uniform(-0.05, 0.05, (count, 7))
        tool = hinge.forward_kinematics(self.robot, q, self.frame).position
        goal = tool + rng.uniform(-BOX, BOX, (count, 3))
        return States(q, np.zeros((count, 7)), {"goal": goal, "target": q.copy()})


def episode(envs: Environments, policies: Array, seed: int) -> tuple[Array, Array]:
    """Return the reward of an episode under each policy (arms, 7, 3), and how far tools are at its end."""
    seen, _ = envs.reset(seed=seed)
    total = np.zeros(envs.num_envs)
    for _ in range(ACTIONS):
        way = seen[:, -3:]
        actions = np.einsum("eij,ej->ei", policies, way)
        seen, rewards, *_ = envs.step(np.clip(actions, -1, 1))
        total += rewards
    return total, np.linalg.norm(seen[:, -3:], axis=-1)


def main() -> int:
    """Print how the arms learn; the exit code is 1 when they do not."""
    envs = Environments(Near(horizon=ACTIONS + 1), ARMS)
    rng = np.random.default_rng(0)
    mean, spread = np.zeros((7, 3)), np.full((7, 3), 3.0)
    print("round  reward of an episode  of the best tenth  distance at its end [m]")
    history = list[float]()
    for k in range(ROUNDS):
        policies = mean + spread * rng.standard_normal((ARMS, 7, 3))
        rewards, far = episode(envs, policies, seed=k)
        best = np.argsort(rewards)[-ELITE:]
        mean, spread = policies[best].mean(0), policies[best].std(0) + 0.1
        history.append(float(far.mean()))
        print(f"{k:5d}  {rewards.mean():20.2f}  {rewards[best].mean():17.2f}  {far.mean():22.3f}")
    _, far = episode(envs, np.broadcast_to(mean, (ARMS, 7, 3)), seed=99)
    print(f"\nthe mean of the last policies ends {far.mean() * 1e3:.0f} mm from goals it has not seen")
    learnt = far.mean() < 0.2 * history[0] and far.mean() < 0.03
    print("they reach." if learnt else "THEY DO NOT REACH.")
    return int(not learnt)


if __name__ == "__main__":
    sys.exit(main())
