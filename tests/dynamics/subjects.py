"""Robots as the catalogue judges them: each with a target, states, and what the other sweeps find for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from hinge import reference, robots
from hinge.dynamics import assemble
from hinge.model import Joint, Robot, integrate, neutral
from hinge.robots import random_tree, two_pandas_start
from hinge.spatial import Array
from hinge.targets import System
from hinge.testing import State, closed_state, random_state
from tests.dynamics import sweep_factors
from tests.dynamics.changes import dynamics_errors, impact_errors, quantity_errors
from tests.dynamics.operational import is_regular, states
from tests.dynamics.partitions import held_by
from tests.dynamics.passives import with_physics
from tests.dynamics.zoo import pushes, robot_of, tip_of
from tests.oracles.data import example, example_urdfs, package_root
from tests.oracles.sweep_verbs import Row as Verbs
from tests.oracles.sweep_verbs import compare_mjcf, compare_pinocchio, mjcf

STATES, RANDOM_TREES = 4, 3
SPECIAL = ("every_joint", "spherical_angles", "rolling_ball", "wheeled", "partial_rotors", "framed")
#: Robots with closures, and the target of each.
CLOSED: dict[str, str] = {
    "four_bar": "llvm",
    "slider_crank": "numpy",
    "stewart_platform": "llvm",
    "delta": "numpy",
    "two_pandas_with_plate": "llvm",
}
#: Robots with more coordinates are left out where matrices of all bodies, or new robots, would be slow.
LARGE = 30


def rolls(joint: Joint) -> bool:
    """Tell whether a joint is non-holonomic."""
    return joint.type.kind in ("rolling_ball", "wheeled")


@dataclass(frozen=True, eq=False)
class Subject:
    """A robot, the target that its verbs are compiled for, and where Pinocchio or MuJoCo find it."""

    name: str
    make: Callable[[], Robot]
    target: str = "numpy"
    urdf: tuple[str, bool] | None = None
    mjcf: str = ""
    seed: int = 1

    @cached_property
    def peer(self) -> tuple[Robot, Any, Any]:
        """The robot, Pinocchio's model of it, and the map between their coordinates."""
        from tests.oracles.pinocchio import load_both

        assert self.urdf is not None
        return load_both(example(self.urdf[0]), floating=self.urdf[1])

    @cached_property
    def robot(self) -> Robot:
        """The robot, the same object each time."""
        return self.peer[0] if self.urdf else self.make()

    @property
    def is_large(self) -> bool:
        """Whether some judges would take too long."""
        return self.robot.nv > LARGE

    @property
    def floats(self) -> bool:
        """Whether the robot hangs on the world by one free joint."""
        return [j.type.kind for j in self.robot.joints if j.parent is None] == ["free"]

    @cached_property
    def s(self) -> State:
        """A batch of random states."""
        return random_state(self.robot, self.seed, STATES)

    @cached_property
    def mass(self) -> Array:
        """The reference's mass matrix at these states."""
        return reference.mass_matrix(self.robot, self.s.q)

    @cached_property
    def tip(self) -> str:
        """A frame far out."""
        return tip_of(self.robot)

    @cached_property
    def one(self) -> State:
        """A single random state."""
        return random_state(self.robot, self.seed)

    @cached_property
    def dense(self) -> System:
        """Explicit matrices at this single state, with the robot's own gravity."""
        return sweep_factors.dense(self.robot, self.one, {})

    @cached_property
    def names(self) -> list[str]:
        """Every second joint, which hybrid dynamics prescribes."""
        return [j.name for j in self.robot.joints[1::2]]

    @cached_property
    def held(self) -> Array:
        """The coordinates of these joints."""
        return held_by(self.robot, self.names)

    @cached_property
    def physical(self) -> Robot:
        """The robot with springs, dampers, friction and gears; what rolls can have no springs."""
        found = with_physics(self.robot, self.seed)
        return replace(found, joints=tuple(replace(j, stiffness=0) if rolls(j) else j for j in found.joints))

    @cached_property
    def shut(self) -> State:
        """A batch of states that the closures allow: from where the robot is built, along such velocities."""
        q = two_pandas_start(self.robot) if "plate" in self.robot.body_names else neutral(self.robot)
        found = [closed_state(self.robot, q, self.seed)]
        for k in range(1, STATES):
            qd = found[-1].qd
            q = assemble(self.robot, integrate(self.robot, q, 0.1 * qd / max(1.0, float(abs(qd).max())))).q
            found.append(closed_state(self.robot, q, self.seed + k))
        return State(*(np.stack([getattr(s, f.name) for s in found]) for f in fields(State)))

    # What the other sweeps find, by their names for it.

    @cached_property
    def factors(self) -> Mapping[str, float]:
        """Factors, estimation and loads."""
        return {} if self.is_large else sweep_factors.errors(self.robot, self.seed, pushed=True)

    @cached_property
    def changes(self) -> Mapping[str, float]:
        """Frozen joints and payloads."""
        if self.is_large or not self.robot.nv:
            return {}
        return {**dynamics_errors(self.robot, self.seed), **quantity_errors(self.robot, self.seed)}

    @cached_property
    def impacts(self) -> Mapping[str, float]:
        """Plastic impacts."""
        return {} if self.is_large or not self.robot.nv else impact_errors(self.robot, self.seed)

    @cached_property
    def regular(self) -> State | None:
        """States at which the tip has an operational-space inertia, if it can have one."""
        found = states(self.robot, [self.tip])
        return found if is_regular(self.robot, [self.tip], found) else None

    @cached_property
    def peers(self) -> Verbs | None:
        """The basic verbs beside Pinocchio or MuJoCo, where these know the robot."""
        if self.urdf:
            return compare_pinocchio(*self.peer, label=self.name, base="", states=STATES)
        if self.mjcf:
            return compare_mjcf(mjcf(self.mjcf), package_root(mjcf(self.mjcf)), states=STATES)
        return None

    @cached_property
    def pushes(self) -> dict[str, Any]:
        """Forces at two frames, and another gravity."""
        return pushes(self.robot)


def _zoo(name: str, target: str = "numpy") -> Subject:
    return Subject(name, lambda: robot_of(name), target)


def _urdf(name: str, file: str, target: str = "numpy", *, floating: bool) -> Subject:
    return Subject(name, lambda: robot_of(name), target, urdf=(file, floating))


def _ant() -> Robot:
    from tests.oracles.mujoco import load_both

    return load_both(mjcf(ANT), package_root(mjcf(ANT)))[0]


ANT = "gymnasium/envs/mujoco/assets/ant.xml"


def subjects(*, quick: bool = False) -> list[Subject]:
    """Return the robots: built in, from files, and random trees with every joint type."""
    files = bool(example_urdfs())
    found = [_zoo("panda", "llvm"), _zoo("spacecraft"), _zoo("tree3")]
    found += [_urdf("ur5", "ur5_robot.urdf", floating=False)] if files else []
    closed = [Subject(name, getattr(robots, name), kind) for name, kind in CLOSED.items()]
    if quick:
        return [*found, _zoo("rolling_ball"), closed[0]]
    found += [_zoo("puma560"), _zoo("quadruped", "llvm"), _zoo("double_pendulum", "llvm")]
    if files:
        found += [
            _urdf("solo12", "solo12.urdf", "llvm", floating=True),
            _urdf("talos_arm", "talos_left_arm.urdf", floating=False),
        ]
    found += [Subject("ant", _ant, mjcf=ANT), *map(_zoo, SPECIAL)]
    found += [
        Subject(f"random {n}", lambda n=n: random_tree(2 + n % 6, 100 + n), ("llvm", "numpy")[n % 4 > 0])
        for n in range(RANDOM_TREES)
    ]
    return found + closed
