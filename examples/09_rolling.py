"""A ball rolls: down a slope, and across a floor with a pendulum in it. It never slips.

A `RollingBall` joint has six coordinates, a quaternion and a place on the plane, but three velocities: how
the ball turns. Dynamics is in terms of these; q follows from its own rate (Featherstone section 7.4.4). On a
slope of angle α a solid ball accelerates by 5/7 g sin α, a shell by 3/5 g sin α. The ball with the pendulum
has no such formula, but it keeps its energy, and the point that touches the floor is at rest.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge
from hinge.model.joints import Revolute, RollingBall
from hinge.spatial import Array, Inertia

RADIUS, MASS, SLOPE, STEP, SECONDS = 0.3, 2.0, 0.25, 0.005, 4.0
#: How far energy may drift, relative to what the ball starts with, and how fast the lowest point may move.
DRIFT, SLIP = 1e-6, 1e-12


def ball(share: float) -> hinge.Robot:
    """Return a ball whose moment of inertia is `share` m r² on a plane that slopes down along x."""
    g = 9.81 * np.array([np.sin(SLOPE), 0.0, -np.cos(SLOPE)])
    b = hinge.Builder("ball", gravity=g)
    inertia = Inertia.from_com(MASS, (0, 0, 0), share * MASS * RADIUS**2 * np.eye(3))
    b.body("ball", joint=RollingBall(RADIUS), inertia=inertia)
    return b.build()


def ball_with_pendulum() -> hinge.Robot:
    """Return a shell on a level floor with a pendulum on an axle through its middle."""
    b = hinge.Builder("ball with a pendulum")
    shell = Inertia.from_com(MASS, (0, 0, 0), 2 / 3 * MASS * RADIUS**2 * np.eye(3))
    b.body("ball", joint=RollingBall(RADIUS), inertia=shell)
    weight = Inertia.from_com(5.0, (0, 0, -0.8 * RADIUS), 0.01 * np.eye(3))
    b.body("pendulum", parent="ball", joint=Revolute((0, 1, 0)), inertia=weight)
    return b.build()


def rate(robot: hinge.Robot, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return the rates of q and qd."""
    dq = np.concatenate([j.type.rate(q[j.q_slice], qd[j.qd_slice]) for j in robot.joints])
    return dq, hinge.forward_dynamics(robot, q, qd, np.zeros(robot.nv))


def roll(robot: hinge.Robot, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return the state one step of Runge and Kutta later."""
    k1 = rate(robot, q, qd)
    k2 = rate(robot, q + STEP / 2 * k1[0], qd + STEP / 2 * k1[1])
    k3 = rate(robot, q + STEP / 2 * k2[0], qd + STEP / 2 * k2[1])
    k4 = rate(robot, q + STEP * k3[0], qd + STEP * k3[1])
    q, qd = (
        x + STEP / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((q, qd), k1, k2, k3, k4, strict=True)
    )
    q[:4] /= np.linalg.norm(q[:4])
    return q, qd


def slip(robot: hinge.Robot, q: Array, qd: Array) -> float:
    """Return the speed of the ball's lowest point."""
    velocity = hinge.velocities(robot, q, qd, "ball", expressed="world-aligned")
    return float(np.linalg.norm(velocity[3:] + np.cross(velocity[:3], (0.0, 0.0, -RADIUS))))


def energy(robot: hinge.Robot, q: Array, qd: Array) -> float:
    """Return all energy in J."""
    return float(hinge.kinetic_energy(robot, q, qd) + hinge.potential_energy(robot, q))


def main() -> int:
    """Print how the balls roll; the exit code is 1 when one of them breaks a law."""
    good = True
    for what, share, fraction in (("solid ball", 2 / 5, 5 / 7), ("shell", 2 / 3, 3 / 5)):
        robot = ball(share)
        q, rest = hinge.random_configuration(robot, 1), np.zeros(robot.nv)
        qdd = hinge.forward_dynamics(robot, q, rest, rest)
        found = hinge.classical_accelerations(robot, q, rest, qdd, "ball", expressed="world-aligned")[3:]
        wanted = fraction * 9.81 * np.sin(SLOPE)
        good &= bool(np.allclose(found, (wanted, 0.0, 0.0), atol=1e-12))
        print(f"{what:<11} on the slope: {found[0]:.9f} m/s², by the formula {wanted:.9f}")
    robot = ball_with_pendulum()
    q, qd = hinge.neutral(robot), np.array([0.5, 4.0, 1.0, -3.0])
    start, drift, slipped = energy(robot, q, qd), 0.0, 0.0
    for _ in range(round(SECONDS / STEP)):
        q, qd = roll(robot, q, qd)
        drift = max(drift, abs(energy(robot, q, qd) - start) / abs(start))
        slipped = max(slipped, slip(robot, q, qd))
    print(f"with a pendulum it is at ({q[4]:.3f}, {q[5]:.3f}) m after {SECONDS:g} s")
    print(f"energy off by {drift:.1e}, the lowest point never faster than {slipped:.1e} m/s")
    good &= drift < DRIFT and slipped < SLIP
    print("the laws hold." if good else "A LAW IS BROKEN.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
