"""The operational space against dense matrices and Pinocchio: python -m tests.dynamics.sweep_operational.

Every verb of it on robots with every joint type, for one frame and for several, in all axes and on both
targets; then J 𝓜⁻¹ Jᵀ of real robots next to Pinocchio's.
"""

from __future__ import annotations

import sys
import time
from itertools import cycle
from pathlib import Path

import numpy as np

from hinge import dynamics
from hinge.spatial import Array
from tests.dynamics.operational import (
    BOUND,
    OPERATIONAL,
    SMALL,
    expression_difference,
    frame_sets,
    is_regular,
    small,
    states,
)
from tests.dynamics.zoo import RANDOM, SPECIAL, matrix, robot_of
from tests.oracles.data import example

TARGETS = ("numpy", "numpy", "llvm")
#: Robots of the zoo: the small ones, every joint type among them.
ROBOTS = ("panda", "puma560", "spacecraft", "quadruped", *(n for n in RANDOM if n != "every_joint"), *SPECIAL)
URDFS = {
    "ur5_robot.urdf": (False, ["ee_link"]),
    "solo12.urdf": (True, ["FL_FOOT", "HR_FOOT"]),
    "talos_reduced.urdf": (
        True, ["arm_left_7_link", "arm_right_7_link", "leg_left_6_link", "leg_right_6_link"],
    ),
}  # fmt: skip


def pinocchio_difference(path: Path, floating: bool, frames: list[str], axes: str) -> float:
    """Return how far J 𝓜⁻¹ Jᵀ is from Pinocchio's, relative to the largest entry."""
    import pinocchio as pin

    from tests.oracles.pinocchio import LINEAR_FIRST, load_both

    robot, model, peer = load_both(path, floating=floating)
    reference = {"body": pin.LOCAL, "world": pin.WORLD, "world-aligned": pin.LOCAL_WORLD_ALIGNED}[axes]
    s = states(robot, frames)
    data, ids = model.createData(), [model.getFrameId(f, pin.FrameType.BODY) for f in frames]
    theirs: list[Array] = []
    for q in peer.to_q(s.q):
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        j = np.concatenate([pin.getFrameJacobian(model, data, k, reference)[LINEAR_FIRST] for k in ids])
        upper = np.triu(pin.computeMinverse(model, data, q))
        theirs.append(j @ (upper + np.triu(upper, 1).T) @ j.T)
    ours = dynamics.operational_inverse_inertia(robot, s.q, frames, expressed=axes)
    return matrix(ours, np.array(theirs))


def main() -> int:
    """Print the worst errors of each robot, and what is above the bound."""
    start, bad, count = time.perf_counter(), 0, 0
    targets = cycle(TARGETS)
    for name in (*SMALL, *ROBOTS):
        robot = small(name) if name in SMALL else robot_of(name)
        worst, where, regular = 0.0, "", 0
        for k, frames in enumerate(frame_sets(robot)):
            names = [frames] if isinstance(frames, str) else frames
            full = is_regular(robot, names, states(robot, names))
            regular += full
            for verb, v in OPERATIONAL.items():
                if full or not v.full_rank:
                    target, axes = next(targets), v.axes[k % len(v.axes)]
                    off = expression_difference(verb, robot, names, axes, target)
                    count, bad = count + 1, bad + (not off < BOUND)
                    if not off <= worst:
                        worst, where = off, f"{verb}, {len(names)} frames, {axes}, {target}"
        print(f"{name:18} nv {robot.nv:3}, {regular} sets of full rank: {worst:.1e}  {where}", flush=True)
    for file, (floating, frames) in URDFS.items():
        for axes in ("body", "world", "world-aligned"):
            off = pinocchio_difference(example(file), floating, frames, axes)
            count, bad = count + 1, bad + (not off < BOUND)
            print(f"{file:18} {len(frames)} frames, {axes}, next to Pinocchio: {off:.1e}", flush=True)
    print(f"{count} comparisons, {bad} above {BOUND:g}, {time.perf_counter() - start:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
