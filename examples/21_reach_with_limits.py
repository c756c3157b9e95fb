"""Optimal control with CasADi and IPOPT: an arm reaches for a point within limits of its joints and forces.

The dynamics are Hinge's kernels as a function of CasADi, with Hinge's derivatives attached: IPOPT asks for
them at every knot, and CasADi does not differentiate the dynamics. Between knots x is a cubic of which
ẋ = f(x, u) holds at both ends and in the middle (Hermite–Simpson collocation).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import casadi as ca  # pip install "hinge[casadi]"
import numpy as np

import hinge
import hinge.casadi

TIME = 1.0
START = np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.8, 0.0])
GOAL = np.array([0.3, 0.5, 0.4])


def position(X: Any) -> Any:
    """Return the position of a frame, given the transform of motions to it: [E, 0; −E r×, E]."""
    return ca.inv_skew(-(X[:3, :3].T @ X[3:, :3]))


def guess(robot: hinge.Robot, knots: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, qd and qdd at the knots of a smooth motion to a configuration with the tool at the goal."""
    way = hinge.inverse_kinematics(robot, "tool", GOAL, q0=START).q - START
    s = np.linspace(0.0, 1.0, knots)[:, None]
    share, speed, rate = 3 * s**2 - 2 * s**3, (6 * s - 6 * s**2) / TIME, (6 - 12 * s) / TIME**2
    return START + share * way, speed * way, rate * way


def reach(
    robot: hinge.Robot, knots: int, *, jacobian: bool | None = None
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return states and forces at the knots, of least effort, and what IPOPT says of its work."""
    model = hinge.casadi.dynamics(robot, jacobian=jacobian)
    place = hinge.casadi.function("forward_kinematics", robot, nodes=["tool"])
    moving = [j for j in robot.joints if j.nv]
    limits = ("lower", "upper", "velocity", "effort")
    low, high, fast, most = (np.concatenate([getattr(j, n) for j in moving]) for n in limits)
    nq, h = robot.nq, TIME / (knots - 1)
    problem = ca.Opti()
    x, u = problem.variable(model.nx, knots), problem.variable(model.nu, knots)
    rates, before, after = model.f.map(knots)(x, u), x[:, :-1], x[:, 1:]
    middle = (before + after) / 2 + h / 8 * (rates[:, :-1] - rates[:, 1:])
    there = model.f.map(knots - 1)(middle, (u[:, :-1] + u[:, 1:]) / 2)
    problem.subject_to(after - before == h / 6 * (rates[:, :-1] + 4 * there + rates[:, 1:]))
    start = np.concatenate([START, np.zeros(robot.nv)])
    problem.subject_to(x[:, 0] == start)
    problem.subject_to(x[nq:, -1] == 0)
    problem.subject_to(position(place(x[:nq, -1])) == GOAL)
    problem.subject_to(problem.bounded(low, x[:nq, :], high))
    problem.subject_to(problem.bounded(-fast, x[nq:, :], fast))
    problem.subject_to(problem.bounded(-most, u, most))
    problem.minimize(h * ca.sumsqr(u / most))
    first = guess(robot, knots)
    problem.set_initial(x, np.hstack(first[:2]).T)
    problem.set_initial(u, hinge.inverse_dynamics(robot, *first).T)
    quiet = {"print_level": 0, "sb": "yes"}
    problem.solver("ipopt", {"print_time": False}, quiet)
    found = problem.solve()
    return found.value(x).T, found.value(u).T, problem.stats()


def main(knots: int = 11) -> int:
    """Plan a motion, and let the arm follow it."""
    robot = hinge.robots.panda()
    began = time.perf_counter()
    x, _, said = reach(robot, knots)
    seconds, count = time.perf_counter() - began, said["iter_count"]
    print(f"IPOPT: {said['return_status']}, {count} iterations, {seconds:.1f} s")
    times = np.linspace(0.0, TIME, knots)
    q, qd = (hinge.sim.Signal(times, part) for part in (x[:, :7], x[:, 7:]))
    law = hinge.sim.ComputedTorque(q, 400.0, 40.0, velocity=qd)
    run = hinge.simulate(robot, START, t=TIME, passive=False, control=law)
    planned, moved = (hinge.forward_kinematics(robot, q, "tool").position for q in (x[-1, :7], run.q[-1]))
    misses = [float(np.linalg.norm(p - GOAL)) for p in (planned, moved)]
    print(f"the tool is planned to be {misses[0]:.1e} m from the goal, and follows to {misses[1]:.1e} m")
    good = said["success"] and misses[0] < 1e-6 and misses[1] < 0.02
    print("it is there." if good else "it is not there!")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
