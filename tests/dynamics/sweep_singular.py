"""Closed robots in singular states: python -m tests.dynamics.sweep_singular.

Off the manifold of an overconstrained loop, at and near a change point, with twice as many rows as their rank
(a humanoid on the corners of its feet), with arms stretched out that hold an object. For each: the difference
to dense matrices or to the state that is not disturbed, and the residual.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np

import hinge
from hinge import reference
from hinge.io import read_urdf
from hinge.model import Builder
from hinge.model.joints import Fixed, Free, Revolute, Spherical
from hinge.robots import panda, solid_box
from hinge.spatial import rotation
from tests.dynamics.closed_cases import off
from tests.dynamics.mechanisms import bennett, bennett_angles, parallelogram
from tests.oracles.data import example

#: What is done, how far q̈ is off, the residual, and what is allowed for both.
Row = tuple[str, float, float, float, float]
AWAY = (0.0, 1e-9, 1e-6, 1e-5, 1e-4)
TARGETS = ("llvm", "numpy")
#: How far arms are from being stretched out.
BENDS = (0.0, 1e-6, 1e-4, 1e-2, 0.5)
#: Corners of a foot, relative to its frame.
CORNERS = [(x, y, -0.1) for x in (0.1, -0.1) for y in (0.06, -0.06)]


def off_the_manifold(target: str) -> Iterator[Row]:
    """Bennett's loop, a little disturbed: accelerations change by as much as the state, and nothing locks."""
    robot = bennett()
    f = hinge.compile("closed_dynamics", robot, target=target)
    q, qd, _ = bennett_angles(1.1)
    wanted, _ = reference.closed_dynamics(robot, q, qd, [0.3, 0, 0])
    for away in AWAY:
        found = f(q + away * np.array([0.2, -0.7, 0.6]), qd, tau=[0.3, 0, 0])
        change = off(found["qdd"], wanted)
        yield f"Bennett, off by {away:g}", change, float(found["residual"]), 5 * away + 1e-12, 1e-9


def change_point(target: str) -> Iterator[Row]:
    """A parallelogram that is flat, or nearly so."""
    robot, tau = parallelogram(), [0.05, 0.0, 0.0]
    f, flat = hinge.compile("closed_dynamics", robot, target=target), np.array([1.0, -1.0, 1.0])
    for away in (1e-2, 1e-4, 1e-6, 0.0):
        q, qd = (away - 1.0) * flat, 2.0 * flat
        found, (wanted, _) = f(q, qd, tau=tau), reference.closed_dynamics(robot, q, qd, tau)
        what = f"parallelogram, {away:g} rad from its change point"
        yield what, off(found["qdd"], wanted), float(found["residual"]), 1e-9, 1e-9


def humanoid(rows: tuple[str, ...] | None) -> tuple[hinge.Robot, np.ndarray]:
    """Return Talos on eight points, four under each foot, and its configuration."""
    robot = read_urdf(example("talos_reduced.urdf"), floating=True, strict=None)
    q = hinge.neutral(robot)
    for side in ("left", "right"):
        for k, bend in ((3, -0.4), (4, 0.8), (5, -0.4)):
            q[robot.joint(f"leg_{side}_{k}_joint").q_slice] = bend
    for side in ("left", "right"):
        foot = f"leg_{side}_6_link"
        at = reference.frame_placement(robot, q, foot)
        for k, corner in enumerate(CORNERS):
            frame = hinge.Frame(f"{side}{k}", foot, hinge.Transform.place(None, corner))
            robot = hinge.model.make_robot(
                robot.name,
                robot.bodies,
                robot.joints,
                frames=[*robot.frames, frame],
                couplings=robot.couplings,
                closures=robot.closures,
            )
            place = at.position + at.rotation @ corner
            robot = hinge.close(robot, None, frame.name, joint=Spherical(), position=place, rows=rows)
    return robot, q


def on_eight_points(target: str) -> Iterator[Row]:
    """All 24 rows of rank 12 in the solve, and only those that are independent in general."""
    for what, rows in (("24 rows", ("vx", "vy", "vz")), ("kept rows", None)):
        robot, q = humanoid(rows)
        rng = np.random.default_rng(2)
        qd = rng.standard_normal(robot.nv)
        jacobian = reference.closure_jacobian(robot, q)
        qd -= np.linalg.pinv(jacobian, rcond=1e-9) @ (jacobian @ qd)
        tau = 10 * rng.standard_normal(robot.nv)
        found = hinge.compile("closed_dynamics", robot, target=target)(q, qd, tau=tau)
        wanted, _ = reference.closed_dynamics(robot, q, qd, tau)
        rank = np.linalg.matrix_rank(jacobian, tol=1e-8)
        label = f"Talos on 8 points, {what} of rank {rank}"
        left = jacobian @ found["qdd"] + reference.closure_bias(robot, q, qd)
        residual = max(float(found["residual"]), float(np.abs(left).max()))
        yield label, off(found["qdd"], wanted), residual, 1e-9, 1e-9


def planar_arm(name: str, side: int, bend: float) -> Builder:
    """Return an arm of three links of 0.3 m in the xz plane, which reaches x = ±0.2 m if bent so much."""
    b, parent = Builder(name), None
    turn = np.eye(3) if side < 0 else rotation.tidied(rotation.about((0, 0, 1), np.pi))
    place = (side * (1.1 - 0.6 * (1 - np.cos(bend))), 0.0, 0.5)
    for k in range(3):
        at = {"rotation": turn, "position": place} if k == 0 else {"position": (0.3, 0, 0)}
        inertia = solid_box(1.0, (0.3, 0.04, 0.04), (0.15, 0, 0))
        parent = b.body(f"{name}{k}", parent=parent, joint=Revolute((0, 1, 0)), inertia=inertia, **at)
    b.frame(f"{name}_tip", parent, position=(0.3, 0, 0))
    return b


def planar_pair(joint, bend: float) -> tuple[hinge.Robot, np.ndarray]:
    """Return two planar arms, stretched out towards each other but for a bend, and an object between."""
    arms = hinge.merge(planar_arm("left", -1, bend).build(), planar_arm("right", 1, bend).build())
    return _holding(arms, np.tile([bend, -2 * bend, bend], 2), ("left_tip", "right_tip"), joint)


def panda_pair(joint, bend: float) -> tuple[hinge.Robot, np.ndarray]:
    """Return two pandas, stretched straight up but for a bend, whose flanges hold one object."""
    b = Builder("pair")
    b.body("table", joint=Fixed(), inertia=solid_box(40.0, (1.4, 0.6, 0.04)))
    arms = b.build()
    for side, x in (("left", -0.3), ("right", 0.3)):
        arms = hinge.attach(arms, panda(), "table", position=(x, 0, 0), prefix=f"{side}_")
    q = np.tile([bend, 0.5 * bend, -bend, -2 * bend, bend, 0.3 * bend, 0.0], 2)
    return _holding(arms, q, ("left_tool", "right_tool"), joint)


def _holding(arms, q, tips, joint) -> tuple[hinge.Robot, np.ndarray]:
    at = [reference.frame_placement(arms, q, n) for n in tips]
    middle = (at[0].position + at[1].position) / 2
    b = Builder("object")
    b.body("object", joint=Free(), position=middle, inertia=solid_box(2.0, (0.4, 0.1, 0.1)))
    for k, x in enumerate(at):
        b.frame(f"handle{k}", "object", rotation=x.rotation, position=x.position - middle)
    held = hinge.hold(arms, b.build(), {tip: (f"handle{k}", joint) for k, tip in enumerate(tips)})
    return held, hinge.configuration(held, {j.name: q[j.q_slice] for j in arms.joints if j.nv})


def stretched_arms(target: str) -> Iterator[Row]:
    """Arms stretched out that hold an object: the compliance Ω is singular there.

    A state counts as singular if a pivot, which grows with the square of the bend, is below the floor of
    1e-10. The force that it stands for is then missing, and the residual shows it.
    """
    tau = np.random.default_rng(3).standard_normal(20)
    for what, make in (("planar arms", planar_pair), ("pandas", panda_pair)):
        for contact in (hinge.Rigid(), hinge.PointContact()):
            for bend in BENDS:
                robot, q = make(contact, bend)
                rank = np.linalg.matrix_rank(reference.closure_jacobian(robot, q), tol=1e-9)
                load = tau[: robot.nv]
                found = hinge.compile("closed_dynamics", robot, target=target)(q, 0 * load, tau=load)
                wanted, _ = reference.closed_dynamics(robot, q, 0 * load, load)
                assert np.isfinite(found["qdd"]).all() and np.isfinite(found["forces"]).all()
                floored = 0 < bend < 1e-5
                allowed = (np.inf, 1e-3) if floored else (1e-7, 1e-9)
                label = f"{what}, {contact.kind}, bent by {bend:g}, rank {rank}{', floored' * floored}"
                yield label, off(found["qdd"], wanted), float(found["residual"]), *allowed


CASES = (off_the_manifold, change_point, on_eight_points, stretched_arms)


def main() -> int:
    """Print the table; the exit code is 1 when something is too large."""
    start, above = time.perf_counter(), 0
    print(f"{'state':58} {'target':>6} {'q̈ off by':>9} {'residual':>9}")
    for case in CASES:
        for target in TARGETS:
            for what, error, residual, allowed, left in case(target):
                bad = not (error <= allowed and residual <= left)
                above += bad
                print(f"{what:58} {target:>6} {error:9.1e} {residual:9.1e}{' !' if bad else ''}", flush=True)
    print(f"{above} too large; {time.perf_counter() - start:.0f} s")
    return int(above > 0)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main())
