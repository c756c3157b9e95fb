"""The robots that are measured, their states, and Hinge's call for each quantity."""

from __future__ import annotations

import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

import hinge
from hinge.algebra import B, H, M, phi
from hinge.spatial import Array

#: URDF files of example-robot-data, and whether the base is free.
FILES = {
    "ur5": ("ur5_robot.urdf", False),
    "solo12": ("solo12.urdf", True),
    "anymal": ("anymal.urdf", True),
    "talos": ("talos_reduced.urdf", True),
}
NAMES = ("panda", *FILES)

#: What is computed, and the arrays that it takes.
QUANTITIES = {
    "forward_dynamics": ("q", "qd", "tau"),
    "inverse_dynamics": ("q", "qd", "qdd"),
    "mass_matrix": ("q",),
    "mass_matrix_inverse": ("q",),
    "jacobian": ("q",),
    "operational_inertia": ("q",),
}

#: Derivatives, the arrays that they take, and what they are taken by.
DERIVATIVES = {
    "inverse_dynamics_derivatives": (("q", "qd", "qdd"), ("q", "qd")),
    "forward_dynamics_derivatives": (("q", "qd", "tau"), ("q", "qd", "tau")),
}

#: The arrays that each quantity takes, derivatives among them.
ARRAYS = QUANTITIES | {name: arrays for name, (arrays, _) in DERIVATIVES.items()}

_written = tempfile.TemporaryDirectory(prefix="hinge-benchmarks-")


@dataclass(frozen=True)
class States:
    """A batch of states."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, chosen: Any) -> States:
        return States(*(np.ascontiguousarray(x[chosen]) for x in self.arrays))

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """The four arrays."""
        return self.q, self.qd, self.qdd, self.tau

    def single_precision(self) -> States:
        """Return the states in float32."""
        return States(*(x.astype(np.float32) for x in self.arrays))


@dataclass(frozen=True)
class Subject:
    """A robot, loaded from a URDF file that every peer loads too."""

    name: str
    path: Path
    floating: bool

    @cached_property
    def robot(self) -> hinge.Robot:
        """The robot in Hinge, as loaded: bodies on fixed joints and all."""
        return hinge.load(self.path, floating=self.floating, strict=None)

    @cached_property
    def tip(self) -> str:
        """The body at the end of the longest branch."""
        return self.robot.bodies[int(np.argmax(self.robot.tree.depth))].name

    @cached_property
    def _operational_inertia(self) -> Callable[..., Any]:
        mass, J = H @ phi @ M @ phi.T @ H.T, B.T @ phi.T @ H.T
        return hinge.compile((J @ mass.inv() @ J.T).inv(), self.robot, nodes=[self.tip])

    def states(self, count: int, seed: int = 1) -> States:
        """Return random states: q within the limits, the rest normal with unit variance."""
        rng = np.random.default_rng(seed)
        q = hinge.random_configuration(self.robot, rng, count)
        return States(q, *(rng.standard_normal((count, self.robot.nv)) for _ in range(3)))

    def call(self, quantity: str, s: States) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return Hinge's function for a quantity and its arguments."""
        arrays = tuple(getattr(s, name) for name in ARRAYS[quantity])
        if quantity == "operational_inertia":
            return self._operational_inertia, arrays
        last = (self.tip,) if quantity == "jacobian" else ()
        return getattr(hinge, quantity), (self.robot, *arrays, *last)


@cache
def subject(name: str) -> Subject:
    """Return the robot of this name: Hinge's own panda, or one of example-robot-data."""
    if name == "panda":
        return written(hinge.robots.panda())
    file, floating = FILES[name]
    root = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
    return Subject(name, min(root.rglob(file)), floating)


def written(robot: hinge.Robot) -> Subject:
    """Return a robot as the URDF file that it is written to."""
    path = Path(_written.name) / f"{robot.name}.urdf"
    hinge.write_urdf(robot, path)
    return Subject(robot.name, path, floating=False)


def one_thread() -> None:
    """Let Hinge use one thread."""
    if hasattr(hinge, "set_threads"):
        hinge.set_threads(1)
