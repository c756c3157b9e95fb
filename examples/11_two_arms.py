"""Two arms lift a plate between their palms: what they must squeeze, and that squeezing moves nothing.

Each palm touches one side of the plate as a soft finger does: it neither slides nor spins, and it can only
push. The plate hangs on the arms by friction, so that they must press on it from both sides. Such a force is
internal: it loads the closures and accelerates nothing. `hinge.closed_inverse_dynamics` gives the motors'
forces for a motion of the plate, `hinge.squeeze` those that press, `hinge.grasp_report` the share of each
friction cone that is in use.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge
from hinge.robots import solid_box, two_pandas_start, two_pandas_with_plate
from hinge.spatial import Array

DURATION, STEP, LIFT = 1.0, 4e-3, 0.08
FRICTION, PRESS = 0.6, 60.0
#: What accelerations may change by when the arms squeeze [m/s², rad/s²], the plate's way off its path [m],
#: and how far the palms may be from the plate [m].
STILL, ON_THE_WAY, CLOSED = 1e-8, 1e-3, 1e-9


def arms_with_plate() -> tuple[hinge.Robot, Array]:
    """Return two arms with a plate of 2 kg between their palms, and a configuration that closes."""
    pair = two_pandas_with_plate()
    arms, _ = hinge.detach(hinge.opened(pair), "plate")
    start = two_pandas_start(arms)
    left, right = (
        hinge.forward_kinematics(arms, start, f"{side}_tool").position for side in ("left", "right")
    )
    half = (right - left)[0] / 2
    b = hinge.Builder("plate")
    b.body("plate", joint=hinge.model.joints.Free(), inertia=solid_box(2.0, (2 * half, 0.3, 0.02)))
    inwards = {"left": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], "right": [[0, 0, -1], [0, 1, 0], [1, 0, 0]]}
    for side, x in (("left", -half), ("right", half)):
        b.frame(f"{side}_face", "plate", position=(x, 0, 0), rotation=inwards[side])  # z leads into the plate
    palm = hinge.SoftFinger((0, 0, 1))
    robot = hinge.hold(arms, b.build(), {f"{s}_tool": (f"{s}_face", palm) for s in ("left", "right")})
    q = two_pandas_start(robot)
    q[robot.joint("plate_joint").q_slice][4:] = (left + right) / 2
    return robot, hinge.assemble(robot, q).q


def path(t: float) -> tuple[float, float, float]:
    """Return height, speed and acceleration of the plate: up, smoothly, from rest to rest."""
    s = min(t / DURATION, 1.0)
    height = LIFT * (10 * s**3 - 15 * s**4 + 6 * s**5)
    speed = LIFT * (30 * s**2 - 60 * s**3 + 30 * s**4) / DURATION
    return height, speed, LIFT * (60 * s - 180 * s**2 + 120 * s**3) / DURATION**2


class Lifting:
    """Forces of the motors at each time: a motion of the plate by feedback, and a squeeze beside."""

    def __init__(self, robot: hinge.Robot, q: Array) -> None:
        self.robot, self.start = robot, q
        self.plate = robot.joint("plate_joint").qd_slice
        self.motors = [j.name for j in robot.joints if j.type.kind == "revolute"]
        self.arms = np.r_[[robot.joint(name).qd_slice.start for name in self.motors]]
        self.press = np.array([PRESS if row == "vz" else 0.0 for _, row in hinge.closure_rows(robot)])

    def accelerations(self, t: float, q: Array, qd: Array) -> Array:
        """Return accelerations that the closures allow: of the plate as wanted, of the arms the least."""
        height, speed, acceleration = path(t)
        goal = hinge.integrate(self.robot, self.start, np.eye(self.robot.nv)[self.plate.stop - 1] * height)
        off = hinge.difference(self.robot, q, goal)
        wanted = 100.0 * off - 20.0 * qd  # of everything
        wanted[self.plate.stop - 1] += 20.0 * speed + acceleration
        wanted[self.arms] = 4.0 * off[self.arms] - 4.0 * qd[self.arms]
        rows = hinge.closure_jacobian(self.robot, q)
        left = -hinge.closure_bias(self.robot, q, qd) - rows @ wanted
        found = wanted.copy()
        found[self.arms] += np.linalg.pinv(rows[:, self.arms]) @ left
        return found

    def forces(self, t: float, q: Array, qd: Array, *, pressed: bool) -> Array:
        """Return hinge forces; without `pressed` those that move the plate and press with nothing."""
        robot, qdd = self.robot, self.accelerations(t, q, qd)
        found = hinge.closed_inverse_dynamics(robot, q, qd, qdd, actuated=self.motors)
        inside = hinge.internal_forces(robot, q, found.forces, "plate")
        wanted = hinge.internal_forces(robot, q, self.press, "plate") if pressed else 0.0 * inside
        return found.tau + hinge.squeeze(robot, q, wanted - inside, "plate")

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the forces as a simulation asks for them."""
        return self.forces(t, q, qd, pressed=True)


def main() -> int:
    """Print the grip along the way; the exit code is 1 when a law does not hold."""
    robot, q = arms_with_plate()
    law = Lifting(robot, q)
    print(f"{robot.nv} coordinates, {len(hinge.closure_rows(robot))} rows of closures: ", end="")
    print(f"{hinge.mobility(robot, q).freedoms} degrees of freedom, {len(law.motors)} motors\n")
    run = hinge.simulate(robot, q, t=DURATION, dt=STEP, control=law)
    print("t [s]  lift [mm]  to be pressed [N]  pressed [N]  cone in use  without  change of q̈")
    worst, moved, slips = 0.0, 0.0, True
    for k in range(0, len(run.t), len(run.t) // 8):
        t, q, qd = run.t[k], run.q[k], run.qd[k]
        loose, firm = (
            hinge.closed_dynamics(robot, q, qd, law.forces(t, q, qd, pressed=x)) for x in (False, True)
        )
        without, grip = (
            max(hinge.grasp_report(robot, x.forces, friction=FRICTION).values(), key=lambda g: g.share)
            for x in (loose, firm)
        )
        change = float(np.abs(firm.qdd - loose.qdd).max())
        worst, moved, slips = max(worst, float(grip.share)), max(moved, change), slips and without.share > 1
        lift = 1e3 * (q - run.q[0])[robot.joint("plate_joint").q_slice][6]
        said = "slips" if without.share > 1 else "holds"
        print(f"{t:5.2f}  {lift:9.2f}  {grip.share * grip.normal:17.2f}  {grip.normal:11.2f}  ", end="")
        print(f"{grip.share:11.2f}  {said:>7}  {change:11.1e}")
    up = (run.q[-1] - run.q[0])[robot.joint("plate_joint").q_slice][6]
    apart = float(np.abs(hinge.closure_error(robot, run.q)).max())
    power = np.einsum("ti,ti->t", run.tau, run.qd)
    work = float(np.sum(power[:-1]) * STEP)  # forces stay for a step
    print(f"\nlifted by {up:.6f} m of {LIFT} m; palms off by {apart:.1e} m; ", end="")
    gained = float(run.energy[-1] - run.energy[0])
    print(f"work of the motors {work:.3f} J, energy gained {gained:.3f} J")
    laws = {
        "THE PLATE SLIPS": worst < 1.0,
        "IT NEEDS NO SQUEEZING": slips,
        "SQUEEZING MOVES THE PLATE": moved < STILL,
        "THE PLATE IS NOT LIFTED": abs(up - LIFT) < ON_THE_WAY,
        "THE PALMS LET GO": apart < CLOSED,
        "CLOSURES DO WORK": abs(work - gained) < 0.01 * gained,
    }
    broken = [name for name, holds in laws.items() if not holds]
    print(f"{broken[0]}." if broken else "the plate is lifted, and squeezing moves nothing.")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
