"""A free-flying spacecraft reaches for a point with one arm, and its body reacts.

No jets fire: momentum stays zero, so that whatever the arm does turns and shifts the body the other way. The
ordinary Jacobian, which takes the body to stand still, leads the hand astray. The generalized Jacobian J* has
the reaction in it: the hand moves with V = J* q̇ₐ when the joints turn with q̇ₐ, and the body with D q̇ₐ, D
being the disturbance Jacobian. The same straight line is tried with both, without any feedback.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge

HAND, SECONDS, STEPS = "left_hand", 10.0, 200
REACH = np.array([-1.5, -1.0, 0.5])  # m, from where the hand is
POSE = (0.3, 0.4, 0.5, -1.2, 0.4, 0.3, 0.0)  # of the left arm
#: How far from the point the hand may end with J*, in m, and how large momentum may be, in N m s.
MISSED, MOMENTUM = 1e-3, 1e-8


def main() -> int:
    """Print where the hand ends; the exit code is 1 when J* misses or momentum is not zero."""
    robot = hinge.robots.spacecraft()
    missed: list[float] = []
    largest = 0.0
    for what, reacts in (("with the ordinary Jacobian", False), ("with the generalized Jacobian", True)):
        q = hinge.neutral(robot)
        q[7:14] = POSE
        goal = hinge.forward_kinematics(robot, q, HAND).position + REACH
        for _ in range(STEPS):
            half = hinge.integrate(robot, q, 0.5 * SECONDS / STEPS * rates(robot, q, reacts=reacts))
            qd = rates(robot, half, reacts=reacts)
            largest = max(largest, float(np.abs(hinge.momentum(robot, half, qd)).max()))
            q = hinge.integrate(robot, q, SECONDS / STEPS * qd)
        missed.append(float(np.linalg.norm(hinge.forward_kinematics(robot, q, HAND).position - goal)))
        turn = 2 * np.degrees(np.arccos(min(1.0, abs(q[0]))))
        print(f"{what:<29}  the hand misses by {missed[-1]:.5f} m, the body turned by {turn:.2f}°")
    print(f"momentum was never above {largest:.1e} N m s")
    good = missed[1] < MISSED < missed[0] and largest < MOMENTUM
    print("the hand is there." if good else "THE HAND MISSED.")
    return 0 if good else 1


def rates(robot: hinge.Robot, q: np.ndarray, *, reacts: bool) -> np.ndarray:
    """Return qd with which the left hand is meant to go straight on, without turning, the body reacting."""
    wanted = np.concatenate([np.zeros(3), REACH / SECONDS])
    if reacts:
        J = hinge.generalized_jacobian(robot, q, HAND, expressed="world-aligned")
    else:
        J = hinge.jacobian(robot, q, HAND, expressed="world-aligned")[:, 6:]
    joints = np.zeros(robot.nv - 6)
    joints[:7] = np.linalg.lstsq(J[:, :7], wanted, rcond=None)[0]  # seven joints for six: the least rates
    return np.concatenate([hinge.disturbance_jacobian(robot, q) @ joints, joints])


if __name__ == "__main__":
    sys.exit(main())
