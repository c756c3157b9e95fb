"""Robots with closed loops that are measured, and states in which they close."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

import hinge
from benchmarks.subjects import States, subject
from hinge.model.joints import Free, Revolute, Spherical
from hinge.spatial import Array

#: Different states of a robot; a batch repeats them.
DIFFERENT = 16
#: How far, in rad or m, they are from the start before they are closed.
SPREAD = 0.1


@dataclass(frozen=True)
class Loops:
    """A robot with closures, and a configuration near which it closes."""

    name: str
    robot: hinge.Robot
    start: Array

    def states(self, count: int) -> States:
        """Return states that close, with velocities that the closures allow: a few, again and again."""
        rng, n = np.random.default_rng(1), min(count, DIFFERENT)
        start = np.tile(self.start, (n, 1))
        near = hinge.integrate(self.robot, start, SPREAD * rng.standard_normal((n, self.robot.nv)))
        found = hinge.assemble(self.robot, near)
        if not float(np.max(found.error)) < 1e-10:
            raise RuntimeError(f"{self.name}: a state does not close, error {np.max(found.error):.1e}")
        qd, qdd, tau = (rng.standard_normal((n, self.robot.nv)) for _ in range(3))
        few = States(found.q, hinge.settle(self.robot, found.q, qd), qdd, tau)
        return few[np.arange(count) % n]


def _talos() -> Loops:
    """Return the humanoid, its knees bent, with both soles welded to the world: 12 rows."""
    robot = subject("talos").robot
    bent = {"3": -0.4, "4": 0.8, "5": -0.4}
    angles = {f"leg_{side}_{k}_joint": x for side in ("left", "right") for k, x in bent.items()}
    q = hinge.configuration(robot, angles)
    return Loops("talos, two feet", _grounded(robot, q, ("left_sole_link", "right_sole_link")), q)


def _quadruped() -> Loops:
    """Return the quadruped, its knees bent, on four point feet: 12 rows."""
    robot = hinge.robots.quadruped()
    legs = ("FL", "FR", "HL", "HR")
    bent = {"hip_pitch": 0.7, "knee": -1.4}
    q = hinge.configuration(robot, {f"{leg}_{k}": x for leg in legs for k, x in bent.items()})
    return Loops(
        "quadruped, four points", _grounded(robot, q, [f"{leg}_foot" for leg in legs], Spherical()), q
    )


def _two_pandas() -> Loops:
    """Return two arms with a plate in rigid grips: 12 rows."""
    robot = hinge.robots.two_pandas_with_plate()
    return Loops("two pandas, plate", robot, hinge.robots.two_pandas_start(robot))


def _stewart() -> Loops:
    """Return the Stewart platform: 18 rows."""
    robot = hinge.robots.stewart_platform()
    return Loops("Stewart platform", robot, hinge.configuration(robot, {}))


def _leg() -> Loops:
    """Return a leg on a free torso whose knee a four-bar drives; a point closes it: 3 rows, one redundant."""
    thigh, crank, rod, lever = 0.40, 0.06, 0.36, 0.05
    b, hinge_y = hinge.Builder("leg"), Revolute((0.0, 1.0, 0.0))
    b.body("torso", joint=Free(), inertia=_box(8.0, (0.2, 0.3, 0.3), 0.0))
    b.body("hip", parent="torso", joint=Revolute((1.0, 0.0, 0.0)), inertia=_box(1.0, (0.1, 0.1, 0.1), 0.0))
    b.body("thigh", parent="hip", joint=hinge_y, inertia=_box(2.5, (0.1, 0.1, thigh), -thigh / 2))
    b.body(
        "shank",
        parent="thigh",
        joint=hinge_y,
        position=(0, 0, -thigh),
        inertia=_box(1.2, (0.06, 0.06, 0.4), -0.2),
    )
    b.body("crank", parent="thigh", joint=hinge_y, inertia=_box(0.2, (crank, 0.02, 0.02), 0.0, crank / 2))
    b.body(
        "rod",
        parent="crank",
        joint=hinge_y,
        position=(crank, 0, 0),
        inertia=_box(0.3, (0.02, 0.02, rod), -rod / 2),
    )
    b.frame("rod_end", "rod", position=(0, 0, -rod))
    b.frame("lever", "shank", position=(lever, 0, 0))
    b.close("pin", "rod_end", "lever", joint=Spherical())
    robot = b.build()
    start = hinge.configuration(robot, {"shank_joint": 0.6, "crank_joint": 0.3})
    return Loops("leg, four-bar", robot, hinge.assemble(robot, start, keep=["shank_joint"]).q)


#: How to make each robot, by name.
MAKERS: dict[str, Callable[[], Loops]] = {
    "talos": _talos,
    "two_pandas": _two_pandas,
    "stewart": _stewart,
    "leg": _leg,
    "quadruped": _quadruped,
}


@cache
def loops(name: str) -> Loops:
    """Return a robot of MAKERS."""
    return MAKERS[name]()


def _grounded(robot: hinge.Robot, q: Array, frames: object, joint: object = None) -> hinge.Robot:
    """Return the robot with frames closed to the world where they are at q."""
    closed = robot
    for name in frames:
        at = hinge.forward_kinematics(robot, q, name)
        closed = hinge.close(closed, None, name, joint=joint, rotation=at.rotation, position=at.position)
    return closed


def _box(mass: float, size: tuple[float, float, float], z: float, x: float = 0.0) -> hinge.Inertia:
    a, b, c = (s * s for s in size)
    return hinge.Inertia.from_com(mass, (x, 0, z), mass / 12 * np.diag([b + c, a + c, a + b]))
