"""A network learns to move an arm, by gradients through the steps of a simulation.

The arm is a double pendulum that hangs in gravity. A small network of PyTorch sees the state and a goal for
both angles and gives the forces; it is told nothing about dynamics. `hinge.torch.step` is one step of 128
arms, with its gradient: the cost of two seconds is differentiated through all steps and all calls of the
network, and Adam does the rest. At the end it takes arms to goals that it has not seen.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import torch

import hinge
from hinge.torch import step

DT, STEPS, MANY, ROUNDS = 0.05, 40, 128, 100
STRONGEST = torch.tensor([40.0, 20.0], dtype=torch.float64)  # N m


def begun(count: int, seed: int) -> tuple[Any, Any, Any]:
    """Return angles, rates and goals."""
    rng = torch.Generator().manual_seed(seed)
    q, qd, goal = torch.rand(3, count, 2, generator=rng, dtype=torch.float64)
    return 2 * q - 1, qd - 0.5, 3 * goal - 1.5


def forces(policy: Any, q: Any, qd: Any, goal: Any) -> Any:
    """Return what the network gives."""
    return STRONGEST * torch.tanh(policy(torch.cat([q, q.sin(), q.cos(), qd, goal, goal - q], dim=-1)))


def main(rounds: int = ROUNDS) -> int:
    """Print how it learns; the exit code is 1 if arms do not get where they should."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so small a network is slower on several
    go = step(hinge.robots.double_pendulum(), DT)
    layers = torch.nn.Linear(12, 48), torch.nn.Tanh(), torch.nn.Linear(48, 48), torch.nn.Tanh()
    policy = torch.nn.Sequential(*layers, torch.nn.Linear(48, 2)).double()
    optimiser = torch.optim.Adam(policy.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, rounds)
    begin = time.perf_counter()
    for k in range(rounds):
        q, qd, goal = begun(MANY, k)
        cost = torch.zeros((), dtype=torch.float64)
        for _ in range(STEPS):
            q, qd = go(q, qd, forces(policy, q, qd, goal))
            cost = cost + ((q - goal).square() + 0.02 * qd.square()).mean()
        optimiser.zero_grad()
        (cost / STEPS).backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if k % 25 == 0:
            print(f"round {k:3}: {_off(q, goal):.3f} rad from the goal at the end")
    q, qd, goal = begun(256, rounds + 1)
    with torch.no_grad():
        for _ in range(STEPS):
            q, qd = go(q, qd, forces(policy, q, qd, goal))
    torch.set_num_threads(threads)
    off = _off(q, goal)
    print(f"{off:.3f} rad from 256 new goals; {time.perf_counter() - begin:.0f} s")
    print("it has learnt to reach." if off < 0.1 else "it has not learnt to reach.")
    return int(off >= 0.1)


def _off(q: Any, goal: Any) -> float:
    """Return the mean distance of angles from their goals."""
    return float((q.detach() - goal).abs().mean())


if __name__ == "__main__":
    sys.exit(main())
