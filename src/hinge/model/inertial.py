"""The inertias of all bodies as one array of ten numbers each: for calls that give them, and for fitting.

The packed layout of a body is

    m, m cx, m cy, m cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz

with the first moment m c and the second moment I about the origin of the body's own frame (not about its
centre of mass), in kg, kg m, kg m². Forces are linear in these numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hinge.errors import ArgumentError
from hinge.model.checks import inertia_problems
from hinge.model.robot import Robot
from hinge.model.vectors import as_vector, checked_robot
from hinge.spatial import Array, ArrayLike, Inertia


def inertial_parameters(robot: Robot) -> Array:
    """Return the inertias of all bodies (bodies, 10): m, m c, and the upper triangle of I row by row."""
    return np.array([body.inertia.parameters() for body in checked_robot(robot).bodies]).reshape(-1, 10)


def with_inertial_parameters(robot: Robot, inertias: ArrayLike) -> Robot:
    """Return the robot with other inertias (bodies, 10); see `inertial_parameters` for the layout."""
    x = _checked(robot, inertias)
    if x.ndim != 2:
        raise ArgumentError(f"inertias: expected one set of shape ({len(robot.bodies)}, 10), got {x.shape}")
    bodies = tuple(
        replace(body, inertia=Inertia.from_parameters(row)) for body, row in zip(robot.bodies, x, strict=True)
    )
    return replace(robot, bodies=bodies)


def check_inertial_parameters(robot: Robot, inertias: ArrayLike) -> list[str]:
    """Return the physically impossible inertias among (…, bodies, 10), by body and batch index.

    Negative masses, moments that are not positive or violate the triangle inequality, non-finite numbers.
    Calls do not check for these.
    """
    x = _checked(robot, inertias)
    batch = x.shape[:-2]

    def name(k: int) -> str:
        where, body = divmod(k, len(robot.bodies))
        at = [int(n) for n in np.unravel_index(where, batch)] if batch else []
        return f"body {robot.bodies[body].name!r}" + (f" of set {at}" if at else "")

    return [str(p) for p in inertia_problems(Inertia.from_parameters(x.reshape(-1, 10)), name)]


def _checked(robot: Robot, inertias: ArrayLike) -> Array:
    count = len(checked_robot(robot).bodies)
    x = as_vector(inertias, "inertias", 10, "an inertia has ten numbers")
    if x.ndim < 2 or x.shape[-2] != count:
        raise ArgumentError(
            f"inertias: expected shape (…, {count}, 10), a row for each body of robot {robot.name!r}, got "
            f"{x.shape}"
        )
    return x
