"""Control of an arm of seven joints: carry its weight, hold it with springs, follow a path exactly.

Gravity compensation asks for the forces that balance the weight where the arm is: at rest it stays at rest,
and a push makes it drift. Springs and dampers (PD) on their own sag under the weight until the springs
carry it. Computed torque puts the wanted acceleration, with feedback, through inverse dynamics: the error
then obeys ë + kd ė + kp e = 0, whatever the arm, and has gone after a moment. All three laws are compiled
into the loop over steps; nothing goes back to Python in between.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge
from hinge.sim import PD, ComputedTorque, GravityCompensation, Signal

SECONDS, STEP = 3.0, 1e-3
KP, KD = 100.0, 20.0


def main() -> int:
    """Print how far the arm is from where it should be; the exit code is 1 when a law is broken."""
    robot = hinge.robots.panda()
    home = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.8])

    still = hinge.simulate(robot, home, t=SECONDS, dt=STEP, control=GravityCompensation(), record=50)
    drift = float(np.abs(still.q - home).max())
    print(f"gravity compensation, at rest:   moved {drift:.1e} rad in {SECONDS:g} s")

    moved = 1.0 / np.diagonal(hinge.mass_matrix_inverse(robot, home))  # what each joint moves, others free
    springs = PD(home, kp=KP * moved, kd=KD * moved)
    sagging = hinge.simulate(robot, home, t=SECONDS, dt=STEP, control=springs, record=50)
    sag = sagging.q[-1] - home
    print(f"springs alone:                   sag by {np.abs(sag).max():.3f} rad")

    t = np.linspace(0.0, SECONDS, 3001)
    path, velocity, acceleration = (Signal(t, x) for x in wave(home, t))
    law = ComputedTorque(path, KP, KD, velocity, acceleration)
    start = home + 0.2  # off the path
    run = hinge.simulate(robot, start, velocity.values[0], t=SECONDS, dt=STEP, control=law, record=50)
    error = np.abs(run.q - path.at(run.t)).max(axis=-1)
    late = float(error[run.t > 2.0].max())
    print(f"computed torque, along a path:   off by {error[0]:.3f} rad at first, {late:.1e} rad after 2 s")
    expected = 0.2 * (1 + 10 * run.t) * np.exp(-10 * run.t)  # ë + 20 ė + 100 e = 0
    formula = float(np.abs(error - expected).max())
    print(f"                                 the error follows its equation within {formula:.1e} rad")
    print(f"                                 largest forces {np.abs(run.tau).max(axis=0).round(1)} N m")

    good = drift < 1e-6 and sag.any() and late < 1e-4 and formula < 1e-4
    print("the laws hold." if good else "A LAW IS BROKEN.")
    return 0 if good else 1


def wave(home: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a path about a pose, its velocity and acceleration, each (T, 7)."""
    size, pace = 0.3, 2.0 * np.linspace(0.5, 1.5, len(home))
    turn = pace * t[:, None]
    return home + size * np.sin(turn), size * pace * np.cos(turn), -size * pace**2 * np.sin(turn)


if __name__ == "__main__":
    sys.exit(main())
