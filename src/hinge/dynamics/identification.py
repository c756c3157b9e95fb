"""Identification: the combinations of inertial parameters that forces depend on.

τ = Y π + J q̈ with Y = H φ 𝒜, π ten numbers for each body and J the rotor inertias. Y has dependent columns:
only some combinations of parameters, the base parameters, change τ, and only these can be fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.dynamics.verbs import inertial_regressor
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot, inertial_parameters, random_configuration
from hinge.spatial import Array

__all__ = ["BaseParameters", "base_parameters"]

NAMES = ("m", "m cx", "m cy", "m cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
#: What is smaller than this, in proportion, is zero: a share of a column, a number of the matrix.
TOLERANCE = 1e-9
#: So many random states for each column, rows of Y counted.
ROWS_PER_COLUMN = 4


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The combinations β = `matrix` π of a robot's parameters π (10 bodies) that forces depend on.

    `columns` are the columns of Y that go with them: Y[:, columns] β = Y π for every motion.
    """

    robot: Robot
    columns: tuple[int, ...]
    matrix: Array

    @property
    def values(self) -> Array:
        """The base parameters of the robot as it is."""
        return self.matrix @ inertial_parameters(self.robot).ravel()

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        bodies = [b.name for b in self.robot.bodies]
        names = [f"{NAMES[k % 10]} of {bodies[k // 10]}" for k in range(10 * len(bodies))]
        lines = [f"{len(self)} of {len(names)} parameters of robot {self.robot.name!r} can be told apart:"]
        for row in self.matrix:
            terms = [_term(c, names[k]) for k, c in enumerate(row) if c]
            lines.append("    " + " ".join(terms).removeprefix("+ "))
        return "\n".join(lines)


def base_parameters(robot: Robot, *, seed: int = 0) -> BaseParameters:
    """Return the combinations of inertial parameters that forces depend on.

    Found from Y stacked over random motions, columns in their order; gravity is the robot's own.
    """
    if checked_robot(robot).nv == 0:
        raise ArgumentError(f"robot: expected degrees of freedom, got none for {robot.name!r}")
    size = 10 * len(robot.bodies)
    states = 2 + ROWS_PER_COLUMN * size // robot.nv
    rng = np.random.default_rng(seed)
    q = random_configuration(robot, seed, states)
    qd, qdd = rng.normal(size=(2, states, robot.nv))
    y = inertial_regressor(robot, q, qd, qdd).reshape(-1, size)
    columns = _independent(y)
    others = np.setdiff1d(np.arange(size), columns)
    found = np.zeros((len(columns), size))
    found[:, columns] = np.eye(len(columns))
    found[:, others] = np.linalg.lstsq(y[:, columns], y[:, others], rcond=None)[0]
    found[np.abs(found) < TOLERANCE] = 0.0
    return BaseParameters(robot, tuple(columns), found)


def _independent(y: Array) -> list[int]:
    """Return the columns that are no combination of those before them (Gram and Schmidt, twice each)."""
    found: list[int] = []
    basis = np.zeros((len(y), 0))
    for k, column in enumerate(y.T):
        rest = column
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        size = np.linalg.norm(rest)
        if size > TOLERANCE * max(1.0, float(np.linalg.norm(column))):
            found.append(k)
            basis = np.column_stack([basis, rest / size])
    return found


def _term(c: float, name: str) -> str:
    size = "" if abs(abs(c) - 1.0) < TOLERANCE else f"{abs(c):.4g} "
    return f"{'-' if c < 0 else '+'} {size}{name}"
