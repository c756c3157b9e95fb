"""An arm of two links that bend is turned by a quarter: what its tip does, and where its motors should go.

Each link is a beam with two static and two vibrating shapes, clamped to a motor; a load is at the tip. The
motors follow a smooth motion of their joints by PD, and the tip vibrates after it: less if the motion takes
more periods of the slowest vibration, which `natural_frequencies` tells. Printed are what is left of two
motions, and the time that rk4 and the implicit method take: its steps are longer than the fastest mode
allows.
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

import hinge
from hinge import sim
from hinge.model.joints import Revolute
from hinge.spatial import Array

#: Mass per length [kg/m], EI [N m²] and damping ratio of a link of 1 m; the load [kg]; gains of the motors.
DENSITY, BENDING, DAMPING, LOAD = 0.5, 2000.0, 0.01, 0.3
KP, KD = 2e4, 200.0
TURN, REST, STEP = np.pi / 2, 1.0, 5e-4
#: How much smaller the vibration after the better motion must be, and how near both methods [m].
SMALLER, NEAR = 3.0, 2e-4


def arm() -> hinge.Robot:
    """Return the arm: joints "upper_joint" and "lower_joint", in a horizontal plane."""
    b, z = hinge.Builder("flexible_arm", gravity=(0, 0, 0)), Revolute((0, 0, 1))
    link = hinge.beam(
        1.0,
        mass_per_length=DENSITY,
        bending=(BENDING, None),
        modes=4,
        ends="craig-bampton",
        damping=DAMPING,
    )
    motor = hinge.Inertia.from_com(0.2, (0, 0, 0), 0.05 * np.eye(3))
    b.body("upper", joint=z, inertia=motor, flexible=link)
    b.body("stator", parent="upper_tip", inertia=motor)
    b.body("lower", parent="upper_tip", joint=z, inertia=motor, flexible=link)
    b.body("load", parent="lower_tip", inertia=hinge.Inertia.from_com(LOAD, (0, 0, 0), np.zeros((3, 3))))
    return b.build()


def turned(
    robot: hinge.Robot, seconds: float, *, dt: float = STEP, integrator: str = "implicit"
) -> hinge.sim.Run:
    """Return the run of a motion from rest to rest of both joints, and a rest after it."""
    times = np.arange(0.0, seconds + REST, 1e-3)
    s = np.clip(times / seconds, 0.0, 1.0)
    way = {"position": s**3 * (10 - 15 * s + 6 * s**2), "velocity": 30 * s**2 * (1 - s) ** 2 / seconds}
    angles, rates = (hinge.configuration(robot, dict.fromkeys(JOINTS, TURN)) for _ in range(2))
    law = sim.PD(
        sim.Signal(times, way["position"][:, None] * angles),
        velocity=sim.Signal(times, way["velocity"][:, None] * rates),
        kp=dict.fromkeys(JOINTS, KP),
        kd=dict.fromkeys(JOINTS, KD),
    )
    return sim.simulate(robot, t=seconds + REST, dt=dt, control=law, integrator=integrator, record=4)


JOINTS = ("upper_joint", "lower_joint")


def vibration(run: hinge.sim.Run, seconds: float) -> float:
    """Return how far the tip moves about its mean, after a motion of so many seconds."""
    tip: Array = hinge.forward_kinematics(run.robot, run.q, "load").position[run.t > seconds + 0.05]
    return float(np.ptp(tip, axis=0).max())


def main() -> int:
    """Print what the tip does; the exit code is 1 when it does something else."""
    robot = arm()
    straight = hinge.configuration(robot, dict.fromkeys(JOINTS, TURN))
    held = hinge.natural_frequencies(robot, straight, held=JOINTS)
    period = 2 * np.pi / held.frequencies[0]
    print(
        f"vibrations with both motors held: {np.round(held.hertz[:3], 2)} Hz; the slowest takes "
        f"{period:.3f} s"
    )
    times = {"three periods": 3.0 * period, "six periods": 6.0 * period}
    runs = {name: turned(robot, t) for name, t in times.items()}
    sizes = {name: vibration(runs[name], t) for name, t in times.items()}
    for name, t in times.items():
        print(f"{name:14}: a motion of {t:.3f} s leaves the tip vibrating by {1000 * sizes[name]:.2f} mm")
    fastest = max(b.flexible.frequencies().max() for b in robot.bodies if b.flexible is not None)
    slow = times["six periods"]
    ends: dict[str, Array] = {}
    for integrator, dt in (("rk4", 2e-5), ("implicit", STEP)):
        began = perf_counter()
        run = turned(robot, slow, dt=dt, integrator=integrator)
        ends[integrator] = hinge.forward_kinematics(robot, run.q[-1], "load").position
        print(
            f"{integrator:9} dt {dt:g} s, {dt * fastest:.2f} of the fastest mode: "
            f"{perf_counter() - began:.2f} s"
        )
    off = float(np.abs(ends["rk4"] - ends["implicit"]).max())
    good = SMALLER * sizes["six periods"] < sizes["three periods"] and off < NEAR
    print(f"both end within {1000 * off:.3f} mm; " + ("the tip comes to rest." if good else "WRONG."))
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
