"""A ball that begins to roll, a block on a slope, and a block that rocks: contacts with closed forms.

A ball that is thrown along the ground slides first and rolls when friction has taken 2/7 of its speed. A
block slides on slopes steeper than its friction, with g (sin α − μ cos α), and not on others. A block that
rocks from edge to edge loses at each blow what Housner (1963) says: its speed is multiplied by
1 − ³⁄₂ sin² α, where tan α is its width by its height. Nothing here is an event: steps go over all of it
(`simulate(…, integrator="stepping")`); `hinge.collide` is a blow alone.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge
from hinge.model.joints import Free
from hinge.robots import solid_box
from hinge.sim import Run
from hinge.spatial import Array

G, STEP = 9.81, 1e-4
RADIUS, THROWN = 0.1, 1.0
#: The block's friction on slopes, and its half width and half height [m] when it rocks.
FRICTION, HALF, HIGH = 0.5, 0.05, 0.2
#: What may be wrong: closed forms, relative to them (steps are of order one), a blow alone, rest [m/s].
CLOSE, EXACT, REST = 5e-3, 1e-9, 1e-9


def ball() -> hinge.Robot:
    """Return a solid ball on the ground."""
    b = hinge.Builder("ball")
    b.body("ball", joint=Free(), inertia=hinge.Inertia.from_com(1.0, (0, 0, 0), 0.4 * RADIUS**2 * np.eye(3)))
    return hinge.on_ground(b.build(), "ball", friction=0.2, radius=RADIUS)


def block(size: tuple[float, float, float], friction: float) -> hinge.Robot:
    """Return a block whose lower corners may touch the ground; its frame is in its middle."""
    b = hinge.Builder("block")
    b.body("block", joint=Free(), inertia=solid_box(1.0, size))
    x, y, z = size
    corners = [(-x / 2, -y / 2), (x / 2, -y / 2), (-x / 2, y / 2), (x / 2, y / 2)]
    for k, (along, across) in enumerate(corners):
        b.frame(f"corner{k}", "block", position=(along, across, -z / 2))
    return hinge.on_ground(b.build(), [f"corner{k}" for k in range(4)], friction=friction)


def stepped(robot: hinge.Robot, q: Array, qd: Array, t: float, gravity: Array | None = None) -> Run:
    """Return a run over contacts."""
    return hinge.simulate(robot, q, qd, t=t, dt=STEP, integrator="stepping", gravity=gravity)


def rolling() -> float:
    """Throw a ball along the ground; return the larger error of its speed and of the time until it rolls.

    The convex law lifts it at first: a contact that begins to slide at once goes up with μ v. What the ground
    does not push meanwhile it pushes later, so that the ball rolls when and as it must.
    """
    robot = ball()
    q, qd = hinge.neutral(robot), np.zeros(6)
    q[6], qd[3] = RADIUS, THROWN
    run = stepped(robot, q, qd, 0.5)
    until = 2 * THROWN / (7 * robot.contacts[0].friction * G)
    moves = hinge.velocities(robot, run.q, run.qd, "ball", expressed="world-aligned")
    speed, slip = moves[:, 3], moves[:, 3] - RADIUS * moves[:, 1]
    rolls = float(run.t[np.argmax(slip < 1e-3 * THROWN)])
    print(
        f"the ball slides for {rolls:.4f} s, closed form {until:.4f} s, and then rolls with {speed[-1]:.5f} ",
        end="",
    )
    print(f"m/s, 5/7 is {5 / 7:.5f}; it hopped by {1e3 * hinge.gap(robot, run.q).max():.2f} mm")
    return max(abs(rolls / until - 1), abs(float(speed[-1]) / (5 / 7 * THROWN) - 1))


def sliding() -> tuple[float, float]:
    """Put a block on slopes; return how fast it creeps where it must stick, and the error where it slides."""
    robot = block((0.2, 0.1, 0.05), FRICTION)
    q = hinge.neutral(robot)
    q[6] = 0.025
    steep = np.arctan(FRICTION) + np.array([-0.2, -0.02, -1e-4, 0.02, 0.1, 0.3])
    down = G * np.stack([np.sin(steep), np.zeros(6), -np.cos(steep)], axis=-1)  # a slope is tilted gravity
    run = stepped(robot, np.tile(q, (6, 1)), np.zeros((6, 6)), 0.5, gravity=down)
    wanted = np.maximum(0.0, G * (np.sin(steep) - FRICTION * np.cos(steep))) * run.t[-1]
    speed = run.qd[:, -1, 3]
    gap = hinge.gap(robot, run.q[:, -1]).max(-1)
    print("\nslope [°]  speed after 0.5 s [m/s]  closed form  lifted by [m]  μ v dt")
    for a, v, w, h in zip(np.degrees(steep), speed, wanted, gap, strict=True):
        print(f"{a:9.3f}  {v:23.6f}  {w:11.6f}  {h:13.2e}  {FRICTION * v * STEP:.2e}")
    off = np.abs(speed - wanted)[3:] / wanted[3:]
    return float(np.abs(speed[:3]).max()), float(off.max())


def rocking() -> tuple[float, float]:
    """Tip a block; return the errors of a blow alone, and of the angle of each swing of a run."""
    robot = block((2 * HALF, 0.1, 2 * HIGH), 2.0)
    slim = np.arctan2(HALF, HIGH)
    kept = 1 - 1.5 * np.sin(slim) ** 2
    # It turns about the edge of corners 1 and 3; both edges touch when it is upright.
    q = hinge.neutral(robot)
    q[6] = HIGH
    qd = np.array([0.0, -1.0, 0.0, -HIGH, 0.0, -HALF])  # ω about y, and the velocity of the middle
    left = float(hinge.collide(robot, q, qd).qd[1] / qd[1])
    # Let go from an angle: the energy of each swing is that before it times kept².
    tip = 0.5 * slim
    arm = np.array([-HALF, 0.0, HIGH])  # from the edge to the middle
    turn = hinge.spatial.rotation.about((0, 1, 0), tip)
    q = np.concatenate([hinge.spatial.quaternion.from_matrix(turn), turn @ arm + [HALF, 0, 0]])
    run = stepped(robot, q, np.zeros(6), 2.0)
    angle = 2 * np.arcsin(run.q[:, 2])
    size = np.abs(angle)
    swings = 1 + np.flatnonzero((size[1:-1] > size[:-2]) & (size[1:-1] >= size[2:]))
    reached = np.array([tip, *size[swings]][:5])
    length = np.hypot(HALF, HIGH)
    height = length * (np.cos(slim - reached) - np.cos(slim))  # of the middle above its rest
    wanted = height[0] * kept ** (2 * np.arange(len(height)))
    print(f"\na blow leaves {left:.9f} of the speed, Housner {kept:.9f}")
    print("heights of the swings [mm]:", "  ".join(f"{1e3 * x:.4f}" for x in height))
    print("closed form [mm]:          ", "  ".join(f"{1e3 * x:.4f}" for x in wanted))
    return abs(left - kept), float(np.abs(height / wanted - 1).max())


def main() -> int:
    """Print what they do; the exit code is 1 when a closed form is missed."""
    rolled = rolling()
    crept, slid = sliding()
    blow, rocked = rocking()
    print(f"\nerrors: rolling {rolled:.1e}, creeping {crept:.1e} m/s, sliding {slid:.1e}, ", end="")
    print(f"a blow {blow:.1e}, rocking {rocked:.1e}")
    laws = {
        "THE BALL DOES NOT ROLL AS IT MUST": rolled < CLOSE,
        "THE BLOCK CREEPS": crept < REST,
        "THE BLOCK DOES NOT SLIDE AS IT MUST": slid < CLOSE,
        "A BLOW IS NOT HOUSNER'S": blow < EXACT,
        "THE BLOCK DOES NOT ROCK AS IT MUST": rocked < 5 * CLOSE,
    }
    broken = [name for name, holds in laws.items() if not holds]
    print(f"{broken[0]}." if broken else "they roll, slide and rock as they must.")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
