"""A spacecraft catches a tumbling payload, carries it and lets it go, without compiling anything in between.

`hinge.Live` is the robot in one of its configurations: which joints are frozen and what is held are inputs of
programs that were compiled before, so that a change costs less than a control step. A catch is an impact, for
which `hinge.impact` gives the velocities after it and the energy that is lost. Nothing acts from outside: the
momentum of spacecraft and payload together is the same from beginning to end.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

import hinge
from hinge.spatial import Array, Inertia, Transform
from hinge.targets import code_made

T = TypeVar("T")
STEP, CARRIED = 0.02, 1.0
#: How far momentum may drift, relative to its size: what is left of the steps' errors.
DRIFT = 1e-6
PAYLOAD = Inertia.from_com(600.0, (0.05, 0.0, 0.4), np.diag((120.0, 150.0, 90.0)))
RIGHT = [f"right_{x}_joint" for x in ("shoulder_roll", "shoulder_yaw", "shoulder_pitch", "elbow_pitch")]


class Log:
    """A line for each change: momentum, energy, and what the change cost."""

    def __init__(self) -> None:
        self.start = np.zeros(6)
        self.drift, self.slowest, self.compiled = 0.0, 0.0, 0
        print(" " * 29 + f"{'momentum [N m s, N s]':<49}  off by  lost [J]  change [ms]  compiled")

    def line(
        self, what: str, momentum: Array, lost: float = 0.0, cost: tuple[float, int] | None = None
    ) -> None:
        """Print a line and remember the worst."""
        if not self.start.any():
            self.start = momentum
        off = float(np.abs(momentum - self.start).max() / np.abs(self.start).max())
        self.drift = max(self.drift, off)
        shown = np.array2string(momentum, formatter={"float_kind": lambda x: f"{x:7.1f}"})
        if cost is None:
            print(f"{what:<27}  {shown}  {off:.1e}")
            return
        self.slowest, self.compiled = max(self.slowest, cost[0]), self.compiled + cost[1]
        print(f"{what:<27}  {shown}  {off:.1e}  {lost:8.3f}  {cost[0]:11.2f}  {cost[1]:8d}")


def timed(change: Callable[[], T]) -> tuple[T, tuple[float, int]]:
    """Return what a change gives, its milliseconds, and how many pieces of code it compiled."""
    made, start = code_made(), time.perf_counter()
    found = change()
    return found, (1e3 * (time.perf_counter() - start), code_made() - made)


def fly(live: hinge.Live, q: Array, qd: Array, seconds: float, motors: Array) -> tuple[Array, Array]:
    """Return the state after a while, by steps of Runge and Kutta."""

    def moved(v: Array) -> Array:
        return hinge.integrate(live.robot, q, v)

    for _ in range(round(seconds / STEP)):
        a1 = live.forward_dynamics(q, qd, motors)
        v2 = qd + STEP / 2 * a1
        a2 = live.forward_dynamics(moved(STEP / 2 * qd), v2, motors)
        v3 = qd + STEP / 2 * a2
        a3 = live.forward_dynamics(moved(STEP / 2 * v2), v3, motors)
        v4 = qd + STEP * a3
        a4 = live.forward_dynamics(moved(STEP * v3), v4, motors)
        q = moved(STEP / 6 * (qd + 2 * v2 + 2 * v3 + v4))
        qd = qd + STEP / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return q, qd


def loose(pose: Transform, velocity: Array) -> Array:
    """Return the momentum of the payload on its own, about the world's origin."""
    return pose.inv().force(PAYLOAD.apply(velocity))


def main() -> int:
    """Print a table; the exit code is 1 when momentum is not conserved, or a change compiled or took long."""
    robot = hinge.robots.spacecraft()
    free = hinge.Live(robot).prepare(batch=False)
    q, qd, motors = hinge.neutral(robot), np.zeros(robot.nv), np.zeros(robot.nv)
    for k, joint in enumerate(j for j in robot.joints if j.nv == 1):
        q[joint.q_slice], qd[joint.qd_slice] = 0.3 * np.cos(k), 0.02 * np.sin(k)
    hand, reach = free.motion(q, qd, "left_hand")
    pose = Transform.place(position=(0.1, -0.05, 0.02)) @ hand  # the payload is at the hand, and tumbles
    velocity = reach + np.array([0.10, -0.06, 0.15, 0.04, 0.02, -0.08])
    log = Log()
    log.line("apart", free.momentum(q, qd) + loose(pose, velocity))

    def freeze() -> tuple[hinge.Live, float, Array]:
        live = free.freeze(RIGHT)
        hit = hinge.impact(free, live, q, qd)
        live.forward_dynamics(q, hit.qd, motors)
        return live, float(hit.lost), hit.qd

    (ready, lost, qd), cost = timed(freeze)
    log.line("the right arm freezes", ready.momentum(q, qd) + loose(pose, velocity), lost, cost)

    def catch() -> tuple[hinge.Live, float, Array]:
        live = ready.grasp("payload", "left_hand", PAYLOAD, ready.placement(q, "left_hand", pose))
        hit = hinge.impact(ready, live, q, qd, {"payload": velocity})
        live.forward_dynamics(q, hit.qd, motors)
        return live, float(hit.lost), hit.qd

    (caught, lost, qd), cost = timed(catch)
    log.line("the left hand catches", caught.momentum(q, qd), lost, cost)
    motors[robot.joint("left_shoulder_pitch_joint").qd_slice] = 40.0
    motors[robot.joint("left_elbow_pitch_joint").qd_slice] = -25.0
    q, qd = fly(caught, q, qd, CARRIED, motors)
    log.line(f"carried for {CARRIED:g} s", caught.momentum(q, qd))

    def release() -> tuple[hinge.Live, tuple[Transform, Array]]:
        live, gone = caught.release("payload").thaw(RIGHT), caught.motion(q, qd, "payload")
        live.forward_dynamics(q, qd, motors)
        return live, gone

    (after, gone), cost = timed(release)
    log.line("let go, both arms free", after.momentum(q, qd) + loose(*gone), 0.0, cost)
    q, qd = fly(after, q, qd, CARRIED, 0.0 * motors)
    log.line(f"apart for {CARRIED:g} s", after.momentum(q, qd) + loose(*gone))
    if log.drift > DRIFT or log.compiled:
        print("MOMENTUM IS NOT CONSERVED." if log.drift > DRIFT else "A CHANGE COMPILED SOMETHING.")
        return 1
    print("momentum is conserved, and no change compiled anything.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
