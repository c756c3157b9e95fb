"""Two fingers hold a block and squeeze it less and less, until it slips.

Each finger slides on a rail and touches a face of the block with three balls, so that the block cannot turn.
The faces are planes of the block: contacts may be between any two bodies. Friction carries the block as long
as 2 μ F ≥ m g; from then on it falls with g − 2 μ F / m, and lands on the floor. Nobody says when it sticks
and when it slips: both follow from the law of contact in each step.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge
from hinge.model.joints import Free, Prismatic
from hinge.robots import solid_box
from hinge.sim import Signal, Torque

G, STEP, DURATION = 9.81, 1e-3, 2.0
MASS, SIZE, FRICTION = 0.5, (0.06, 0.08, 0.08), 0.6
TIP, SPREAD, HELD = 0.01, 0.02, 0.3
#: How the fingers press [N]: at first, and at the end.
FIRM, LOOSE = 8.0, 2.0
#: What counts as slipping [m/s]; errors of the force when it slips and of the fall; creeping and depth [m].
SLIPS, CLOSE, CREEP, DEPTH = 1e-5, 5e-3, 1e-6, 1e-6


def gripper() -> hinge.Robot:
    """Return two fingers on rails and a block between them, all contacts closed at q = 0."""
    b = hinge.Builder("gripper")
    half = SIZE[0] / 2
    spots = [(SPREAD, -SPREAD), (-SPREAD, -SPREAD), (0.0, SPREAD)]
    for side, sign in (("left", -1.0), ("right", 1.0)):
        b.body(
            f"{side}_finger",
            joint=Prismatic((-sign, 0, 0)),  # forces above zero squeeze
            joint_name=f"{side}_rail",
            position=(sign * (half + TIP), 0, HELD),
            inertia=solid_box(0.1, (0.02, 0.06, 0.06)),
        )
        for k, (y, z) in enumerate(spots):
            b.frame(f"{side}_{k}", f"{side}_finger", position=(0, y, z))
    b.body("block", joint=Free(), position=(0, 0, HELD), inertia=solid_box(MASS, SIZE))
    for k, (x, y) in enumerate([(-1, -1), (-1, 1), (1, -1), (1, 1)]):
        b.frame(f"foot{k}", "block", position=(x * half, y * SIZE[1] / 2, -SIZE[2] / 2))
    robot = hinge.on_ground(b.build(), [f"foot{k}" for k in range(4)], friction=FRICTION)
    faces = {
        side: hinge.Transform.place([[0, 0, sign], [0, 1, 0], [-sign, 0, 0]], (sign * half, 0, 0))
        for side, sign in (("left", -1.0), ("right", 1.0))
    }  # z of a face leads out of the block
    return hinge.with_contacts(
        robot,
        [
            hinge.Contact(f"{side}_{k}", f"{side}_{k}", "block", FRICTION, radius=TIP, surface_placement=face)
            for side, face in faces.items()
            for k in range(3)
        ],
    )


def main() -> int:
    """Print what happens; the exit code is 1 when the block slips early, late or otherwise than it must."""
    robot = gripper()
    t = np.arange(0.0, DURATION + STEP, STEP)
    squeeze = FIRM + (LOOSE - FIRM) * t / DURATION
    tau = np.zeros((len(t), robot.nv))
    for side in ("left", "right"):
        tau[:, robot.joint(f"{side}_rail").qd_slice] = squeeze[:, None]
    run = hinge.simulate(robot, t=DURATION, dt=STEP, control=Torque(Signal(t, tau)), integrator="stepping")
    contacts = run.contacts
    assert contacts is not None
    block = robot.joint("block_joint")
    z, down = run.q[:, block.q_slice][:, 6], -run.qd[:, block.qd_slice][:, 5]
    names = [c.name for c in robot.contacts]
    fingers, feet = (np.array([("foot" in n) == floor for n in names]) for floor in (False, True))
    pressed = contacts.forces[:, fingers, 0].sum(-1) / 2  # of one finger
    vectors = hinge.contact_frames(robot, run.q).in_world(contacts.forces)
    carried = -vectors[:, fingers, 2].sum(-1)  # forces are those on the fingers
    slip = int(np.argmax(down > SLIPS))
    lands = int(np.argmax(contacts.forces[:, feet, 0].sum(-1) > 0))

    print("t [s]  pressed with [N]  needed [N]  cone in use  lowered by [mm]  speed [m/s]")
    needed = MASS * G / (2 * FRICTION)
    for k in sorted({*range(100, len(t) - 1, 200), slip, lands}):
        used = carried[k] / (2 * FRICTION * pressed[k]) if pressed[k] > 0 else np.nan
        note = {slip: "  slips", lands: "  lands"}.get(k, "")
        print(
            f"{run.t[k]:5.3f}  {pressed[k]:16.3f}  {needed:10.3f}  {used:11.3f}  {-1e3 * z[k]:15.3f}  ",
            end="",
        )
        print(f"{down[k]:11.4f}{note}")
    late = slice(slip, lands)
    fall = np.concatenate([[0.0], np.cumsum((G - 2 * FRICTION * squeeze[slip:lands] / MASS) * STEP)])[:-1]
    wrong = float(np.abs(down[late] - down[slip] - fall).max() / down[lands - 1])
    early = abs(float(squeeze[slip]) / needed - 1)
    crept = float(-z[: slip - 1].min())
    depth = float(-hinge.gap(robot, run.q).min())
    print(
        f"\nit slips at {squeeze[slip]:.3f} N, closed form {needed:.3f} N, and falls as it must within ",
        end="",
    )
    print(
        f"{wrong:.1e};\nit crept by {crept:.0e} m before; bodies are {max(depth, 0.0):.0e} m deep, ", end=""
    )
    print(f"residual {contacts.residual.max():.0e}")
    laws = {
        "IT SLIPS EARLY OR LATE": early < CLOSE,
        "IT CREEPS": crept < CREEP,
        "IT DOES NOT FALL AS IT MUST": wrong < 2 * CLOSE,
        "IT DOES NOT LAND": lands > slip and abs(z[-1] + HELD - SIZE[2] / 2) < 1e-4,
        "BODIES OVERLAP": depth < DEPTH,
    }
    broken = [name for name, holds in laws.items() if not holds]
    print(f"{broken[0]}." if broken else "it holds, slips and falls as it must.")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
