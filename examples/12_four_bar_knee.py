"""A leg whose knee is a four-bar linkage crouches, jumps and flies.

The motor of the knee sits at the hip and turns a crank; a rod leads from the crank to a lever of the shank.
Thigh, crank, rod and lever are a loop, which is closed at the rod's end. The foot stands on the ground by
another closure, which holds until it would have to pull: `hinge.Live` lets go of it without compiling
anything. Printed are the ratio of the linkage, by which the motor's force grows at the knee, and the jump.
"""

from __future__ import annotations

import sys
from math import acos, atan2, hypot

import numpy as np

import hinge
from hinge.model.joints import Prismatic, Revolute, Spherical
from hinge.robots import solid_box
from hinge.sim import Event
from hinge.spatial import Array

#: Lengths of thigh, shank, crank, rod and lever [m], and the angle of the lever against the shank.
THIGH, SHANK, CRANK, ROD, LEVER, BENT = 0.25, 0.25, 0.05, 0.25, 0.04, -0.6
TORQUE, STEP, FLY = 25.0, 1e-3, 0.2
CROUCHED = -2.3
Y = Revolute((0, 1, 0))
#: What errors of closures [m], of the linkage's angle [rad] and of energy [J] may be.
CLOSED, EXACT, DRIFT = 1e-9, 1e-9, 1e-5


def leg() -> hinge.Robot:
    """Return a trunk on a vertical rail with a leg below it: closures "pin" and "ground"."""
    b = hinge.Builder("leg")
    b.body("trunk", joint=Prismatic((0, 0, 1)), inertia=solid_box(4.0, (0.2, 0.2, 0.1)), joint_name="rail")
    b.body("thigh", parent="trunk", joint=Y, joint_name="hip", inertia=_bar(0.8, THIGH))
    b.body(
        "shank", parent="thigh", joint=Y, joint_name="knee", position=(0, 0, -THIGH), inertia=_bar(0.4, SHANK)
    )
    b.body("crank", parent="thigh", joint=Y, joint_name="motor", inertia=_bar(0.1, CRANK))
    b.body(
        "rod",
        parent="crank",
        joint=Y,
        joint_name="rod_joint",
        position=(0, 0, -CRANK),
        inertia=_bar(0.1, ROD),
    )
    b.frame("rod_end", "rod", position=(0, 0, -ROD))
    b.frame("lever", "shank", position=(-LEVER * np.sin(BENT), 0, -LEVER * np.cos(BENT)))
    b.frame("foot", "shank", position=(0, 0, -SHANK))
    b.close("pin", "rod_end", "lever", joint=Y)
    b.close("ground", None, "foot", joint=Spherical())
    return b.build()


def _bar(mass: float, length: float) -> hinge.Inertia:
    return solid_box(mass, (0.03, 0.03, length), com=(0, 0, -length / 2))


def knee_of(motor: float) -> float:
    """Return the angle of the knee in closed form: the lever's end is where two circles cross."""
    pivot = np.array([-CRANK * np.sin(motor), THIGH - CRANK * np.cos(motor)])  # seen from the knee
    away = hypot(*pivot)
    turn = acos((away**2 + LEVER**2 - ROD**2) / (2 * away * LEVER))
    return float(atan2(-pivot[0], -pivot[1]) + turn - BENT)


def standing(robot: hinge.Robot, motor: float) -> Array:
    """Return the configuration with the foot below the hip, at this angle of the motor, that closes."""
    knee = knee_of(motor)
    hip = -atan2(SHANK * np.sin(knee), THIGH + SHANK * np.cos(knee))
    height = THIGH * np.cos(hip) + SHANK * np.cos(hip + knee)
    named = {"rail": height, "hip": hip, "knee": knee, "motor": motor, "rod_joint": -motor}
    return hinge.assemble(robot, hinge.configuration(robot, named), keep=["motor"]).q


def linkage(robot: hinge.Robot) -> tuple[float, float]:
    """Print the linkage at some angles; return its error, and how far power is from being kept."""
    off = lost = 0.0
    still, motor = np.zeros(robot.nv), robot.joint("motor").qd_slice.start
    knee = robot.joint("knee").qd_slice.start
    print("motor [rad]  knee [rad]  knee/motor  hold by motor [N m]  hold by knee [N m]")
    for angle in (-2.3, -1.9, -1.5, -1.1):
        q = standing(robot, angle)
        qd = hinge.settle(robot, q, np.eye(robot.nv)[motor])
        ratio = qd[knee] / qd[motor]
        by_motor, by_knee = (
            hinge.closed_inverse_dynamics(robot, q, still, still, actuated=[name]).tau[k]
            for name, k in (("motor", motor), ("knee", knee))
        )
        off = max(off, abs(float(q[robot.joint("knee").q_slice][0]) - knee_of(angle)))
        lost = max(lost, abs(by_motor - ratio * by_knee))
        print(f"{angle:11.2f}  {q[robot.joint('knee').q_slice][0]:10.4f}  {ratio:10.4f}  ", end="")
        print(f"{by_motor:19.3f}  {by_knee:18.3f}")
    return off, lost


def push_of(robot: hinge.Robot, q: Array, qd: Array, tau: Array) -> Array:
    """Return the vertical force of the ground on the foot."""
    forces = hinge.closed_dynamics(robot, q, qd, tau).forces[..., -3:]
    return (hinge.forward_kinematics(robot, q, "foot").rotation @ forces[..., None])[..., 2, 0]


def main() -> int:
    """Print the linkage and the jump; the exit code is 1 when a law does not hold."""
    robot = leg()
    q = standing(robot, CROUCHED)
    moves = hinge.mobility(robot, q)
    dropped = ", ".join(f"{row} of {name}" for name, row in moves.redundant)
    print(f"{robot.nv} coordinates, {moves.freedoms} degree of freedom; redundant: {dropped}\n")
    off, lost = linkage(robot)

    tau = np.zeros(robot.nv)
    tau[robot.joint("motor").qd_slice] = TORQUE
    lift_off = Event(
        lambda _, q, qd: push_of(robot, q, qd, tau), name="lift-off", direction=-1, terminal=True
    )
    live = hinge.Live(robot)
    stance = hinge.simulate(live, q, t=1.0, dt=STEP, control=tau, events=lift_off)
    q, qd = stance.q[-1], stance.qd[-1]
    flight = hinge.simulate(live.unfasten("ground"), q, qd, t=FLY, dt=STEP)

    where = robot.joint("motor").q_slice
    work = TORQUE * float((q - stance.q[0])[where][0])
    gained = float(stance.energy[-1] - stance.energy[0])
    up = float(hinge.momentum(robot, q, qd)[5]) / robot.mass
    height = hinge.center_of_mass(robot, flight.q)[:, 2]
    t = flight.t - flight.t[0]
    thrown = height[0] + up * t - 4.905 * t**2
    fall = float(np.abs(height - thrown).max())
    drift = float(np.abs(flight.energy - flight.energy[0]).max())
    pins = max(float(np.abs(hinge.closure_error(robot, x.q)[:, :5]).max()) for x in (stance, flight))
    print(f"\npushed with {float(push_of(robot, stance.q[0], stance.qd[0], tau)):.1f} N at first, ", end="")
    print(f"let go after {stance.t[-1]:.4f} s with {up:.3f} m/s upwards")
    print(f"work of the motor {work:.4f} J, energy gained {gained:.4f} J")
    print(f"in flight: off the parabola by {fall:.1e} m, energy by {drift:.1e} J; pin open by {pins:.1e} m")
    laws = {
        "THE LINKAGE IS NOT THAT OF THE FORMULA": off < EXACT,
        "THE LINKAGE DOES WORK": lost < EXACT,
        "CLOSURES DO WORK": abs(work - gained) < DRIFT,
        "IT DOES NOT JUMP": up > 0 and len(stance.events) == 1,
        "IT DOES NOT FALL FREELY": fall < 1e-7 and drift < DRIFT,
        "THE PIN OPENS": pins < CLOSED,
    }
    broken = [name for name, holds in laws.items() if not holds]
    print(f"{broken[0]}." if broken else "the linkage does no work, and the leg flies as it must.")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
