"""A network learns to swing a pendulum up, by gradients through the steps of a simulation.

The motor is too weak to lift the pendulum at once, so that it has to swing. A small network of PyTorch sees
angle and rate and gives the torque, and `hinge.torch.step` is one step of 64 pendulums, with its gradient. The
cost of three seconds is differentiated through all steps and all calls of the network; Adam does the rest.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np
import torch

import hinge
from hinge.model.joints import Revolute
from hinge.torch import step

DT, STEPS, MANY, ROUNDS = 0.05, 60, 64, 250
STRONGEST = 5.0  # N m; to hold it level takes 9.8


def pendulum() -> hinge.Robot:
    """Return a point mass of 1 kg on a rod of 1 m that turns about y and hangs at zero."""
    b = hinge.Builder("pendulum")
    point = hinge.Inertia.from_com(1.0, (0.0, 0.0, -1.0), np.zeros((3, 3)))
    b.body("rod", joint=Revolute((0.0, 1.0, 0.0)), inertia=point)
    return b.build()


def starts(count: int, seed: int) -> tuple[Any, Any]:
    """Return angles and rates near those of rest."""
    rng = torch.Generator().manual_seed(seed)
    q, qd = 0.3 * torch.randn(2, count, 1, generator=rng, dtype=torch.float64)
    return q, qd


def seen(q: Any, qd: Any) -> Any:
    """Return what the network sees of a state."""
    return torch.cat([q.sin(), q.cos(), qd / 5.0], dim=-1)


def main(rounds: int = ROUNDS) -> int:
    """Print how it learns; the exit code is 1 if most pendulums do not end upright."""
    torch.manual_seed(0)
    go = step(pendulum(), DT, integrator="rk4")
    layers = torch.nn.Linear(3, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)  # fmt: skip
    policy = torch.nn.Sequential(*layers).double()
    optimiser = torch.optim.Adam(policy.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, rounds)
    begin = time.perf_counter()
    for k in range(rounds):
        q, qd = starts(MANY, k)
        cost = torch.zeros((), dtype=torch.float64)
        for n in range(STEPS):
            tau = STRONGEST * torch.tanh(policy(seen(q, qd)))
            q, qd = go(q, qd, tau)
            late = (n / STEPS) ** 2
            cost = cost + (late * (1.0 + q.cos() + 0.02 * qd.square()) + 1e-4 * tau.square()).mean()
        optimiser.zero_grad()
        (cost / STEPS).backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if k % 25 == 0:
            print(f"round {k:3}: cost {float(cost.detach()):7.3f}, {_upright(q):4.0%} upright")
    q, qd = starts(256, rounds + 1)
    with torch.no_grad():
        for _ in range(STEPS):
            q, qd = go(q, qd, STRONGEST * torch.tanh(policy(seen(q, qd))))
    share = _upright(q)
    print(f"{share:.0%} of 256 new ones are upright after {STEPS * DT:g} s; {time.perf_counter() - begin:.0f} s")
    print("it learns." if share > 0.9 else "it does not learn.")
    return int(share <= 0.9)


def _upright(q: Any) -> float:
    """Return the share of angles within 20 degrees of upright."""
    return float((q.detach().cos() < -math.cos(math.radians(20.0))).double().mean())


if __name__ == "__main__":
    sys.exit(main())
