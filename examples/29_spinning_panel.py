"""A spacecraft with a long panel is spun up by a wheel's torque: the panel lags, stiffens, and nothing is
lost.

The bus floats; the panel is a beam that bends in the plane of the spin. Centrifugal force stiffens it, which
needs the beam's shortening (the quadratic field of its points). Printed are its frequencies at rest and at
speed, angular momentum, which is the torque's impulse, and energy, which is its work.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge
from hinge import sim
from hinge.model.joints import Free

#: The bus [kg, kg m²]; length [m], mass per length [kg/m] and EI [N m²] of the panel; torque [N m] and time
#: [s].
BUS, TURN, LENGTH, DENSITY, BENDING = 400.0, 300.0, 8.0, 2.0, 600.0
TORQUE, PUSH, AFTER, STEP = 20.0, 60.0, 20.0, 5e-3
#: What momentum and energy may be off by, relative.
EXACT = 2e-5


def spacecraft(*, stiffening: bool = True) -> hinge.Robot:
    """Return the bus with its panel along x."""
    b = hinge.Builder("spinner", gravity=(0, 0, 0))
    panel = hinge.beam(
        LENGTH, mass_per_length=DENSITY, bending=(BENDING, None), modes=3, stiffening=stiffening
    )
    inertia = hinge.Inertia.from_com(BUS, (0, 0, 0), TURN * np.eye(3))
    b.body("bus", joint=Free(), inertia=inertia)
    b.body("panel", parent="bus", position=(0.5, 0, 0), flexible=panel)
    return b.build()


def main() -> int:
    """Print what the panel does; the exit code is 1 when a law is broken."""
    robot = spacecraft()
    joint = robot.joints[0].name
    tau = hinge.velocity(robot, {joint: [0, 0, TORQUE, 0, 0, 0]})
    pushed = sim.simulate(robot, t=PUSH, dt=STEP, control=tau, integrator="rk4")
    after = sim.simulate(robot, pushed.q[-1], pushed.qd[-1], t=AFTER, dt=STEP, integrator="rk4")
    at = robot.joint("panel_modes").q_slice
    speed = float(after.qd[-1, 2])
    bent = np.array(
        [hinge.forward_kinematics(robot, robot_q(robot, q, at), "panel_tip").position[1] for q in pushed.q]
    )
    print(
        f"after {PUSH:g} s at {TORQUE:g} N m: {speed:.2f} rad/s; the tip lagged by "
        f"{1000 * -bent.min():.0f} mm at most"
    )
    held = [joint]
    for name, craft in (("with the shortening", robot), ("without", spacecraft(stiffening=False))):
        still = hinge.natural_frequencies(craft, hinge.neutral(craft), held=held)
        spins = hinge.velocity(craft, {joint: [0, 0, speed, 0, 0, 0]})
        fast = hinge.natural_frequencies(craft, hinge.neutral(craft), qd=spins, held=held)
        print(f"{name:20}: ω₁² {still.squares[0]:8.3f} at rest, {fast.squares[0]:8.3f} at speed")
    momentum = hinge.centroidal_momentum(robot, after.q[-1], after.qd[-1])[2]
    impulse = TORQUE * PUSH
    work = float(TORQUE * np.trapezoid(pushed.qd[:, 2], pushed.t))
    energy = float(after.energy[-1])
    off = max(abs(momentum / impulse - 1), abs(energy / work - 1))
    print(f"momentum {momentum:.4f} of {impulse:.4f} N m s, energy {energy:.4f} of {work:.4f} J")
    print("nothing is lost." if off < EXACT else f"off by {off:.2g}: WRONG.")
    return int(not off < EXACT)


def robot_q(robot: hinge.Robot, q: hinge.spatial.Array, at: slice) -> hinge.spatial.Array:
    """Return the configuration with these modes and the bus where it starts."""
    found = hinge.neutral(robot)
    found[at] = q[at]
    return found


if __name__ == "__main__":
    sys.exit(main())
