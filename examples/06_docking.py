"""A spacecraft grasps, carries and releases a satellite: a hinge of six degrees of freedom, locked at will.

The satellite hangs on the spacecraft's hand by a free joint, "dock". While it is apart no force goes through
that joint; while it is held the joint's acceleration is prescribed to be zero. Which of the two it is changes
from one step to the next: hybrid dynamics takes it as an argument. The grasp itself is an impact, for which
the partitioned mass matrix gives the jump of all velocities. Nothing acts from outside, so that momentum is
the same from beginning to end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

import hinge
from hinge.model.joints import Free
from hinge.spatial import Array, Inertia

STEP, APART, HELD, AFTER = 0.02, 0.4, 1.0, 0.4
#: How far momentum may drift, relative to its size: what is left of the steps' errors.
DRIFT = 1e-6


def spacecraft_and_satellite() -> hinge.Robot:
    """Return the spacecraft, one of its arms left out, with a satellite of 800 kg at its hand."""
    craft = hinge.detach(hinge.robots.spacecraft(), "right_shoulder_roll")[0]
    b = hinge.Builder("satellite", gravity=(0, 0, 0))
    inertia = Inertia.from_com(800.0, (0.0, 0.0, 0.9), np.diag((300.0, 350.0, 250.0)))
    b.body("satellite", joint=Free(), inertia=inertia, joint_name="dock")
    return hinge.attach(craft, b.build(), "left_hand", joint=Free())


def grasp(robot: hinge.Robot, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return the velocities after the dock has closed, and the impulse through it.

    The dock's velocity jumps to zero by an impulse that acts in the dock alone: Δq̇_p = −S_apᵀ Δq̇_a and
    the impulse is S_aa Δq̇_a.
    """
    split = hinge.partitioned(robot, q, ["dock"])
    jump = -qd[split.active]
    after = qd.copy()
    after[split.active] = 0.0
    after[split.passive] -= split.S_ap.T @ jump
    return after, split.S_aa @ jump


def fly(
    robot: hinge.Robot, q: Array, qd: Array, seconds: float, locked: Sequence[str], motors: Array
) -> tuple[Array, Array, Array]:
    """Return the state after a while, by steps of Runge and Kutta, and the largest force in the dock."""
    still, largest = np.zeros(robot.nv), np.zeros(6)
    dock = robot.joint("dock").qd_slice

    def rate(q: Array, qd: Array) -> tuple[Array, Array]:
        return hinge.hybrid_dynamics(robot, q, qd, tau=motors, qdd=still, prescribed=locked)

    for _ in range(round(seconds / STEP)):
        q, qd, force = _step(robot, q, qd, rate)
        largest = np.maximum(largest, np.abs(force[dock]))
    return q, qd, largest


def _step(
    robot: hinge.Robot, q: Array, qd: Array, rate: Callable[[Array, Array], tuple[Array, Array]]
) -> tuple[Array, Array, Array]:
    """Return q and qd one step later, and the forces at its beginning."""
    a1, force = rate(q, qd)
    v2 = qd + STEP / 2 * a1
    a2, _ = rate(hinge.integrate(robot, q, STEP / 2 * qd), v2)
    v3 = qd + STEP / 2 * a2
    a3, _ = rate(hinge.integrate(robot, q, STEP / 2 * v2), v3)
    v4 = qd + STEP * a3
    a4, _ = rate(hinge.integrate(robot, q, STEP * v3), v4)
    q = hinge.integrate(robot, q, STEP / 6 * (qd + 2 * v2 + 2 * v3 + v4))
    return q, qd + STEP / 6 * (a1 + 2 * a2 + 2 * a3 + a4), force


def main() -> int:
    """Print momentum and energy at every change; the exit code is 1 when momentum is not conserved."""
    robot = spacecraft_and_satellite()
    q, qd = hinge.neutral(robot), np.zeros(robot.nv)
    dock = robot.joint("dock")
    for k, joint in enumerate(j for j in robot.joints if j.nv == 1):
        q[joint.q_slice] = 0.3 * np.cos(k)
    q[dock.q_slice] = (1.0, 0.0, 0.0, 0.0, 0.02, -0.01, 0.04)
    qd[dock.qd_slice] = (0.01, 0.02, -0.01, -0.05, 0.025, -0.1)  # the satellite drifts towards the hand
    motors = np.zeros(robot.nv)
    start = hinge.momentum(robot, q, qd)
    drift = 0.0

    def report(what: str) -> None:
        nonlocal drift
        now = hinge.momentum(robot, q, qd)
        off = float(np.abs(now - start).max() / np.abs(start).max())
        drift = max(drift, off)
        energy = float(hinge.kinetic_energy(robot, q, qd))
        print(f"{what:<34}  energy {energy:9.5f} J   momentum off by {off:.1e}")

    report("apart, drifting closer")
    q, qd, _ = fly(robot, q, qd, APART, [], motors)
    report(f"after {APART:g} s, about to be grasped")
    qd, impulse = grasp(robot, q, qd)
    report("grasped")
    print(f"    impulse through the dock: {np.array2string(impulse, precision=3)} N m s, N s")
    motors[robot.joint("left_shoulder_pitch_joint").qd_slice] = 40.0
    motors[robot.joint("left_elbow_pitch_joint").qd_slice] = -25.0
    q, qd, force = fly(robot, q, qd, HELD, ["dock"], motors)
    report(f"after {HELD:g} s, carried by the arm")
    print(f"    largest force in the dock: {np.array2string(force, precision=3)} N m, N")
    q, qd, _ = fly(robot, q, qd, AFTER, [], 0.0 * motors)
    report(f"after {AFTER:g} s, let go")
    conserved = drift < DRIFT
    print("momentum is conserved." if conserved else "MOMENTUM IS NOT CONSERVED.")
    return 0 if conserved else 1


if __name__ == "__main__":
    sys.exit(main())
