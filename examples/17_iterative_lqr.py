"""Iterative LQR on one page: an arm reaches for a point, and a spacecraft turns itself by moving its arms.

A motion is improved again and again. Around it, a step is linear, δx' = A δx + B δu, and the cost quadratic;
the best change of forces is then a feedback u + k + K δx, found from the end to the start, and the robot
moves with it. A and B of all steps at once are gradients of a roll-out of one step, one for each row. States
differ in the tangent space, so that a free-flying body is nothing special: δx = (difference(q, q'), q̇' − q̇).
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import hinge

#: From the last q to errors that should vanish, and how they change with q (n, nv).
Goal = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
SHARES = np.append(0.5 ** np.arange(7), 0.0)  # of a change that are tried at once


def ilqr(
    robot: hinge.Robot,
    q0: np.ndarray,
    goal: Goal,
    moved: slice,
    *,
    dt: float,
    steps: int,
    effort: np.ndarray,
    slow: np.ndarray,
    rounds: int,
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return q, the forces of the joints `moved` beside the weight, and the costs of all rounds.

    The cost is ½ Σ error² + ½ still q̇² at the end and ½ Σ effort u² + ½ Σ slow q̇² in each step.
    """
    nv, still = robot.nv, 1e2
    nothing, held = np.zeros((nv, nv)), hinge.gravity_force(robot, q0)
    step = hinge.Rollout(robot, dt=dt, steps=1)
    q, qd = np.broadcast_to(q0, (steps + 1, robot.nq)), np.zeros((steps + 1, nv))
    u, count = np.zeros((steps, nv)), len(range(*moved.indices(nv)))
    k, K, costs = np.zeros((steps, count)), np.zeros((steps, count, 2 * nv)), list[float]()
    for _ in range(rounds):
        # Forth: every share of the change is a state of a batch; the cheapest stays.
        x, v, w = np.tile(q0, (len(SHARES), 1)), np.zeros((len(SHARES), nv)), list[np.ndarray]()
        path = [(x, v)]
        for t in range(steps):
            off = np.concatenate(
                [hinge.difference(robot, np.broadcast_to(q[t], x.shape), x), v - qd[t]], axis=-1
            )
            force = np.tile(u[t], (len(SHARES), 1))
            force[:, moved] += SHARES[:, None] * k[t] + off @ K[t].T
            x, v = step(x, v, tau=(held + force)[:, None])
            w.append(force)
            path.append((x, v))
        errors = np.array([goal(one)[0] for one in x])
        cost = 0.5 * (np.square(w)[..., moved] @ effort).sum(axis=0) + 0.5 * np.square(errors).sum(-1)
        cost += 0.5 * sum(np.square(y) @ slow for _, y in path) + 0.5 * still * np.square(v).sum(-1)
        best = int(np.nan_to_num(cost, nan=np.inf).argmin())
        q, qd = (np.stack([p[n][best] for p in path]) for n in (0, 1))
        u = np.stack(w)[:, best]
        costs.append(float(cost[best]))
        # Back: A and B of all steps, then the change of forces that the quadratic model likes best.
        each = (steps, 2 * nv)
        rows = step.pull(
            np.broadcast_to(q[:-1, None], (*each, robot.nq)),
            np.broadcast_to(qd[:-1, None], (*each, nv)),
            tau=np.broadcast_to((held + u)[:, None, None], (*each, 1, nv)),
            q=np.eye(2 * nv)[:, :nv],
            qd=np.eye(2 * nv)[:, nv:],
        )
        B = rows["tau"][:, :, 0, moved]
        A = np.concatenate([rows["q"], rows["qd"]], axis=-1)
        error, J = goal(q[-1])
        g = np.concatenate([J.T @ error, still * qd[-1]])
        V = np.block([[J.T @ J, nothing], [nothing, still * np.eye(nv)]])
        for t in reversed(range(steps)):
            Quu = np.diag(effort) + B[t].T @ V @ B[t]
            k[t] = -np.linalg.solve(Quu, effort * u[t, moved] + B[t].T @ g)
            K[t] = -np.linalg.solve(Quu, B[t].T @ V @ A[t])
            closed = A[t] + B[t] @ K[t]
            g = closed.T @ (g + V @ B[t] @ k[t]) + K[t].T @ (effort * (u[t, moved] + k[t]))
            V = closed.T @ V @ closed + (K[t].T * effort) @ K[t]
            g[nv:] += slow * qd[t]
            V[nv:, nv:] += np.diag(slow)
    return q, u, costs


def reaching() -> bool:
    """Let an arm reach for a point with its tool, and stop there."""
    robot = hinge.robots.panda()
    home = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.8])
    point = hinge.forward_kinematics(robot, home, "tool").position + np.array([-0.2, 0.4, 0.2])

    def goal(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        J = hinge.jacobian(robot, q, "tool", expressed="world-aligned")[3:]
        return 1e2 * (hinge.forward_kinematics(robot, q, "tool").position - point), 1e2 * J

    q, u, costs = ilqr(
        robot, home, goal, slice(0, 7), dt=0.02, steps=40, effort=np.full(7, 1e-3),
        slow=np.full(7, 0.1), rounds=10,
    )  # fmt: skip
    missed = float(np.linalg.norm(hinge.forward_kinematics(robot, q[-1], "tool").position - point))
    print(f"an arm reaches:        cost {costs[0]:.1f} → {costs[-1]:.2f}, missed by {1e3 * missed:.2f} mm")
    print(f"                       forces of {np.abs(u).max(axis=0).round(1)} N m at most")
    return missed < 3e-3 and costs[-1] < costs[0]


def turning() -> bool:
    """Let a spacecraft without jets turn by 10° about z, by moving its arms, and come to rest."""
    robot = hinge.robots.spacecraft()
    q0 = hinge.neutral(robot)
    q0[7:] = 0.3
    mass = np.diagonal(hinge.mass_matrix(robot, q0))  # some joints move much, others little
    wanted = hinge.integrate(robot, q0, np.r_[0.0, 0.0, np.radians(10.0), np.zeros(robot.nv - 3)])

    def goal(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 1e2 * hinge.difference(robot, wanted, q)[:3], 1e2 * np.eye(3, robot.nv)

    q, u, costs = ilqr(
        robot, q0, goal, slice(6, robot.nv), dt=0.5, steps=30, effort=1e-2 / mass[6:],
        slow=mass / mass[6:].max(), rounds=6,
    )  # fmt: skip
    off = np.degrees(np.linalg.norm(hinge.difference(robot, wanted, q[-1])[:3]))
    print(f"a spacecraft turns:    cost {costs[0]:.1f} → {costs[-1]:.4f}, it ends {off:.3f}° from 10°")
    arms = np.degrees(np.abs(q[-1, 7:] - q0[7:]).max())
    print(
        f"                       its joints turn by {arms:.0f}° at most; forces on its body: {u[:, :6].any()}"
    )
    return off < 0.2


def main() -> int:
    """Print how both end; the exit code is 1 if one misses."""
    with np.errstate(over="ignore"):  # a change that is too large may throw a motion far away
        good = reaching() and turning()
    print("both are there." if good else "ONE MISSED.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
