"""A quadruped is dropped, stands, and trots: feet that touch the ground, and a clock that moves them.

Springs and dampers in the joints hold the legs to paths of the feet, computed beforehand: diagonal feet swing
together, the others push back. Nothing is measured and nothing is fed back but the joints' own angles. What
carries the robot are rigid contacts with friction (`hinge.on_ground`), stepped over by
`simulate(…, integrator="stepping")`. `python examples/13_trotting.py run.npz` keeps the run for `hinge play`.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge
from hinge.robots import FOOT_RADIUS, quadruped, quadruped_stance
from hinge.sim import PD, Signal
from hinge.spatial import Array

LEGS = ("FL", "FR", "HL", "HR")
THIGH, SHANK = 0.209, 0.195
DURATION, STEP, DROP, FRICTION = 5.0, 1e-3, 0.1, 0.8
#: When it begins to trot, and how long steps take to grow [s]; the gait's period [s], stride and lift [m].
BEGIN, GROW, PERIOD, STRIDE, LIFT = 1.0, 0.5, 0.4, 0.1, 0.05
#: Stiffness [N m/rad] and damping [N m s/rad] of all joints.
STIFF, DAMP = 100.0, 2.5
#: How deep a foot may be [m], how far forces from their law, and from the weight.
DEPTH, RESIDUAL, BALANCE = 1e-6, 1e-9, 0.02


def bent(x: Array, z: Array) -> tuple[Array, Array]:
    """Return the angles of hip and knee that put a foot at x, z from its hip: two sides of a triangle."""
    knee = np.arccos((x**2 + z**2 - THIGH**2 - SHANK**2) / (2 * THIGH * SHANK))
    return np.arctan2(x, -z) - np.arctan2(SHANK * np.sin(knee), THIGH + SHANK * np.cos(knee)), knee


def gait(robot: hinge.Robot, t: Array) -> Array:
    """Return configurations (T, nq) whose legs stand, and from `BEGIN` on trot; the base is not moved."""
    stance = quadruped_stance(robot)
    q = np.tile(stance, (len(t), 1))
    high = float(stance[6]) - FOOT_RADIUS
    size = np.clip((t - BEGIN) / GROW, 0.0, 1.0)
    for leg in LEGS:
        phase = ((t - BEGIN) / PERIOD + (0.0 if leg in ("FL", "HR") else 0.5)) % 1.0
        swings, s = phase < 0.5, 2 * phase
        forth = np.where(swings, s - 0.5 - np.sin(2 * np.pi * s) / (2 * np.pi), 1.5 - s)
        up = np.where(swings, 0.5 - 0.5 * np.cos(2 * np.pi * s), 0.0)
        hip, knee = bent(STRIDE * size * forth, LIFT * size * up - high)
        q[:, robot.joint(f"{leg}_hip_pitch").q_slice] = hip[:, None]
        q[:, robot.joint(f"{leg}_knee").q_slice] = knee[:, None]
    return q


def main(keep: str | None = None) -> int:
    """Print how it goes; the exit code is 1 when it falls over or a law does not hold."""
    feet = [f"{leg}_foot" for leg in LEGS]
    robot = hinge.on_ground(quadruped(), feet, friction=FRICTION, radius=FOOT_RADIUS)
    start = quadruped_stance(robot)
    start[6] += DROP
    t = np.arange(0.0, DURATION + STEP, STEP)
    motors = np.ones(robot.nv)
    motors[robot.joint("root_joint").qd_slice] = 0.0  # a free base has none
    law = PD(Signal(t, gait(robot, t)), STIFF * motors, DAMP * motors)
    run = hinge.simulate(robot, start, t=DURATION, dt=STEP, control=law, integrator="stepping")
    if keep is not None:
        print(f"wrote {hinge.save_run(run, keep)}; watch it with: hinge play {keep}\n")

    contacts = run.contacts
    assert contacts is not None  # a run that steps over contacts has their forces
    trunk, forces = run.poses("trunk"), contacts.forces
    print("t [s]   x [m]   z [m]  upright  feet that press")
    for k in range(0, len(run.t), len(run.t) // 20):
        x, _, z = trunk.position[k]
        pressed = ", ".join(f.removesuffix("_foot") for f, n in zip(feet, forces[k, :, 0], strict=True) if n)
        print(f"{run.t[k]:5.2f}  {x:6.3f}  {z:6.3f}  {trunk.rotation[k, 2, 2]:7.4f}  {pressed or 'none'}")
    depth = float(-hinge.gap(robot, run.q).min())
    beyond = float((np.linalg.norm(forces[..., 1:], axis=-1) - FRICTION * forces[..., 0]).max())
    steps = run.t > BEGIN + 2 * PERIOD
    carried = float(forces[steps, :, 0].sum(-1).mean() / (9.81 * robot.mass))
    forward = float(trunk.position[-1, 0])
    speed = forward / (DURATION - BEGIN)
    print(f"\nit trots {forward:.3f} m forward, {speed:.2f} m/s; feet carry {carried:.4f} of the weight")
    print(
        f"feet are {max(depth, 0):.0e} m deep at most, forces {max(beyond, 0):.0e} N outside their cones, ",
        end="",
    )
    print(f"residual {contacts.residual.max():.0e}")
    laws = {
        "IT FALLS OVER": trunk.rotation[:, 2, 2].min() > 0.95 and trunk.position[:, 2].min() > 0.2,
        "IT DOES NOT TROT": forward > 0.3,
        "FEET GO THROUGH THE GROUND": depth < DEPTH,
        "FRICTION IS MORE THAN IT CAN BE": beyond < 1e-6,
        "THE LAW OF CONTACT IS NOT KEPT": contacts.residual.max() < RESIDUAL,
        "THE GROUND DOES NOT CARRY THE WEIGHT": abs(carried - 1) < BALANCE,
    }
    broken = [name for name, holds in laws.items() if not holds]
    print(f"{broken[0]}." if broken else "it stands and trots.")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
