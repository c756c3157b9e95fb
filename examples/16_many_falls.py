"""4096 quadrupeds fall from random heights, tilted at random, and are caught by their legs, in one call.

Springs and dampers hold the joints; feet touch the ground, and the trunk if the legs give way.
All of them go through the same machine code side by side, and a robot that needs more rounds of the solver
does not disturb the others. The energy of bodies and springs can only be lost. A picture is written;
`python examples/16_many_falls.py 500` takes fewer robots.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np

import hinge
from hinge.robots import FOOT_RADIUS, quadruped, quadruped_stance
from hinge.sim import PD, Run
from hinge.spatial import Array, quaternion

LEGS = ("FL", "FR", "HL", "HR")
DURATION, STEP, RECORD = 1.5, 2e-3, 10
#: Heights of the lowest foot [m], and the largest tilt [rad].
HEIGHTS, TILT = (0.02, 1.0), 0.5
STIFF, DAMP = 100.0, 2.5
#: How deep contacts may be [m], which is of second order in the step; what energy may grow by from record to
#: record, relative to what is lost in all; the residual of 99.9 % of the steps.
DEPTH, GAIN, RESIDUAL = 1e-4, 5e-3, 1e-9


def robot_with_contacts() -> hinge.Robot:
    """Return the quadruped with contacts of its feet, and of four balls in the corners of its trunk."""
    robot = hinge.on_ground(quadruped(), [f"{leg}_foot" for leg in LEGS], friction=0.8, radius=FOOT_RADIUS)
    corners = product((-0.11, 0.11), (-0.035, 0.035), (0.005,))
    return hinge.with_contacts(
        robot,
        [
            hinge.Contact(
                f"trunk_{k}", "trunk", None, 0.4, radius=0.045, placement=hinge.Transform.place(None, at)
            )
            for k, at in enumerate(corners)
        ],
    )


def starts(robot: hinge.Robot, count: int) -> tuple[Array, Array]:
    """Return configurations (count, nq) in the air, and the heights (count,) of their lowest contacts."""
    rng = np.random.default_rng(1)
    q = np.tile(quadruped_stance(robot), (count, 1))
    axis = rng.standard_normal((count, 3)) * [1.0, 1.0, 0.2]
    axis *= (TILT * rng.uniform(0, 1, count) / np.linalg.norm(axis, axis=-1))[:, None]
    q[:, :4] = quaternion.exp(axis)
    heights = rng.uniform(*HEIGHTS, count)
    q[:, 6] += heights - hinge.gap(robot, q).min(-1)
    return q, heights


def picture(run: Run, heights: Array, peak: Array, path: Path) -> None:
    """Draw the height of some trunks over time, and the largest force of each fall."""
    figure = import_module("matplotlib.figure").Figure(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    some = np.argsort(heights)[:: max(1, len(heights) // 150)]
    for k in some:
        share = (heights[k] - HEIGHTS[0]) / (HEIGHTS[1] - HEIGHTS[0])
        left.plot(run.t, run.q[k, :, 6], lw=0.6, color=(0.1 + 0.75 * share, 0.35, 0.75 - 0.6 * share))
    left.set(xlabel="t [s]", ylabel="height of the trunk [m]", title=f"{len(some)} of {len(heights)} falls")
    right.plot(heights, peak, ".", ms=2, alpha=0.5)
    right.set(
        xlabel="dropped from [m]", ylabel="largest recorded force / weight", yscale="log", title="blows"
    )
    for ax in (left, right):
        ax.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def main(count: int = 4096, path: Path = Path("many_falls.png")) -> int:
    """Print how they fall and draw a picture; the exit code is 1 when a law does not hold."""
    robot = robot_with_contacts()
    q, heights = starts(robot, count)
    motors = np.ones(robot.nv)
    motors[robot.joint("root_joint").qd_slice] = 0.0
    stance = quadruped_stance(robot)
    law = PD(stance, STIFF * motors, DAMP * motors)
    hinge.simulate(robot, q[:2], t=STEP, dt=STEP, control=law, integrator="stepping")  # compiles
    began = time.perf_counter()
    run = hinge.simulate(robot, q, t=DURATION, dt=STEP, control=law, integrator="stepping", record=RECORD)
    taken = time.perf_counter() - began
    contacts = run.contacts
    assert contacts is not None
    steps = round(DURATION / STEP)
    print(
        f"{count} falls of {DURATION:g} s: {taken:.2f} s, {count * steps / taken:,.0f} state-steps per second"
    )

    off = hinge.difference(robot, np.broadcast_to(stance, run.q.shape), run.q)
    energy = run.energy + 0.5 * STIFF * (motors * off**2).sum(-1)
    fallen = 9.81 * robot.mass * heights
    gained = float((np.diff(energy, axis=-1).max(-1) / (energy[:, 0] - energy[:, -1])).max())
    depth = max(0.0, float(-hinge.gap(robot, run.q).min()))
    upright = hinge.forward_kinematics(robot, run.q[:, -1], "trunk").rotation[:, 2, 2]
    slow = np.abs(run.qd[:, -1]).max(-1)
    weight = 9.81 * robot.mass
    peak = contacts.forces[..., 0].sum(-1).max(-1) / weight
    trunk = (contacts.forces[..., 4:, 0] > 0).any((-1, -2))
    print(f"{(upright > 0.9).mean():.1%} stand at the end, {trunk.mean():.1%} hit the ground with the trunk")
    lost = energy[:, 0] - energy[:, -1]
    print(f"they lost {np.median(lost / fallen):.2f} of the energy of the fall (median), ", end="")
    print(f"and move with {np.median(slow):.1e} at the end (median)")
    usual, worst = np.quantile(contacts.residual, [0.999, 1.0])
    print(f"depth {depth:.0e} m, energy grew by {gained:.0e} at most, ", end="")
    print(f"residual {usual:.0e} (99.9 %), {worst:.0e} (worst)")
    try:
        picture(run, heights, peak, path)
        print(f"wrote {path}")
    except ImportError:
        print('no picture, which needs Matplotlib: pip install "hinge[view]"')
    laws = {
        "A RUN ENDED EARLY": not run.endings,
        "ROBOTS GO THROUGH THE GROUND": depth < DEPTH,
        "ENERGY IS GAINED": gained < GAIN,
        "THE LAW OF CONTACT IS NOT KEPT": usual < RESIDUAL,
        "MOST OF THEM FALL OVER": (upright > 0.9).mean() > 0.8,
    }
    broken = [name for name, holds in laws.items() if not holds]
    print(f"{broken[0]}." if broken else "they fall, and energy is lost.")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
