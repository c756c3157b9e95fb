"""Iterative LQR on one page: an arm reaches for a point, and a spacecraft turns itself by moving its arms.

A motion is improved again and again. Around it, a step is linear, δx' = A δx + B δu, and the cost quadratic;
the best change of forces is then a feedback u + k + K δx, found from the end to the start, and the robot moves
with it. A and B of all steps at once are gradients of a roll-out of one step, one for each row. States differ
in the tangent space, so that a free-flying body is nothing special: δx = (difference(q, q'), q̇' − q̇).
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import hinge

#: From the last q to errors that should vanish, and how they change with q (n, nv).
Goal = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
SHARES = 0.5 ** np.arange(8)  # of a change that are tried at once


def ilqr(
    robot: hinge.Robot,
    q0: np.ndarray,
    goal: Goal,
    moved: slice,
    *,
    dt: float,
    steps: int,
    effort: float,
    rounds: int,
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return q, forces of the joints `moved`, and the costs of all rounds; it starts and ends at rest."""
    nv, still = robot.nv, 1e2
    step = hinge.Rollout(robot, dt=dt, steps=1)
    q, qd = np.broadcast_to(q0, (steps + 1, robot.nq)), np.zeros((steps + 1, nv))
    u, count = np.zeros((steps, nv)), len(range(*moved.indices(nv)))
    k, K, costs = np.zeros((steps, count)), np.zeros((steps, count, 2 * nv)), list[float]()
    for _ in range(rounds):
        # Forth: every share of the change is a state of a batch; the cheapest stays.
        x, v, w = np.tile(q0, (len(SHARES), 1)), np.zeros((len(SHARES), nv)), list[np.ndarray]()
        path = [(x, v)]
        for t in range(steps):
            off = np.concatenate([hinge.difference(robot, np.broadcast_to(q[t], x.shape), x), v - qd[t]], axis=-1)
            force = np.tile(u[t], (len(SHARES), 1))
            force[:, moved] += SHARES[:, None] * k[t] + off @ K[t].T
            x, v = step(x, v, tau=force[:, None])
            w.append(force)
            path.append((x, v))
        errors = np.array([goal(one)[0] for one in x])
        cost = 0.5 * effort * np.square(w).sum(axis=(0, 2)) + 0.5 * np.square(errors).sum(-1)
        cost = np.nan_to_num(cost + 0.5 * still * np.square(v).sum(-1), nan=np.inf)
        best = int(cost.argmin())
        q, qd = (np.stack([p[n][best] for p in path]) for n in (0, 1))
        u = np.stack(w)[:, best]
        costs.append(float(cost[best]))
        # Back: A and B of all steps, then the change of forces that the quadratic model likes best.
        rows = step.pull(
            q[:-1, None], qd[:-1, None], tau=np.broadcast_to(u[:, None, None], (steps, 2 * nv, 1, nv)),
            q=np.eye(2 * nv)[:, :nv], qd=np.eye(2 * nv)[:, nv:], wrt=("tau",),
        )  # fmt: skip
        B = rows["tau"][:, :, 0, moved]
        each = (steps, 2 * nv)
        rows = step.pull(
            np.broadcast_to(q[:-1, None], (*each, robot.nq)), np.broadcast_to(qd[:-1, None], (*each, nv)),
            tau=np.broadcast_to(u[:, None, None], (*each, 1, nv)),
            q=np.eye(2 * nv)[:, :nv], qd=np.eye(2 * nv)[:, nv:], wrt=("q", "qd"),
        )  # fmt: skip
        A = np.concatenate([rows["q"], rows["qd"]], axis=-1)
        error, J = goal(q[-1])
        g = np.concatenate([J.T @ error, still * qd[-1]])
        V = np.block([[J.T @ J, np.zeros((nv, nv))], [np.zeros((nv, nv)), still * np.eye(nv)]])
        for t in reversed(range(steps)):
            Quu = effort * np.eye(count) + B[t].T @ V @ B[t]
            k[t] = -np.linalg.solve(Quu, effort * u[t, moved] + B[t].T @ g)
            K[t] = -np.linalg.solve(Quu, B[t].T @ V @ A[t])
            closed = A[t] + B[t] @ K[t]
            g = closed.T @ (g + V @ B[t] @ k[t]) + effort * K[t].T @ (u[t, moved] + k[t])
            V = closed.T @ V @ closed + effort * K[t].T @ K[t]
    return q, u, costs
