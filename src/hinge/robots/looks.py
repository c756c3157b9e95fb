"""Visual shapes for the built-in robots: cylinders, balls and boxes, which every reader of URDF knows.

They show what the robot is; inertias do not come from them, and fingerprints leave them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from hinge.model import Box, Cylinder, Robot, Shape, Sphere, remade
from hinge.spatial import ArrayLike, Transform, rotation

Rgba: TypeAlias = tuple[float, float, float, float]
Look: TypeAlias = tuple[Shape, ...]

WHITE: Rgba = (0.89, 0.90, 0.91, 1.0)
DARK: Rgba = (0.23, 0.25, 0.28, 1.0)
BLUE: Rgba = (0.16, 0.44, 0.69, 1.0)
ORANGE: Rgba = (0.88, 0.52, 0.12, 1.0)


def drum(start: ArrayLike, end: ArrayLike, radius: float, rgba: Rgba = WHITE) -> Look:
    """Return a cylinder from one point to another, nothing if they coincide."""
    a, b = (np.asarray(x, dtype=np.float64) for x in (start, end))
    length = float(np.linalg.norm(b - a))
    if not length > 0:
        return ()
    turn = rotation.aligning((0.0, 0.0, 1.0), (b - a) / length)
    return (Shape("visual", Cylinder(radius, length), Transform.place(turn, (a + b) / 2), rgba=rgba),)


def ball(center: ArrayLike, radius: float, rgba: Rgba = WHITE) -> Look:
    """Return a ball."""
    return (Shape("visual", Sphere(radius), Transform.place(None, center), rgba=rgba),)


def rod(start: ArrayLike, end: ArrayLike, radius: float, rgba: Rgba = WHITE) -> Look:
    """Return a cylinder with round ends."""
    return (*drum(start, end, radius, rgba), *ball(start, radius, rgba), *ball(end, radius, rgba))


def block(size: tuple[float, float, float], center: ArrayLike, rgba: Rgba = WHITE) -> Look:
    """Return a box along the axes of its body."""
    return (Shape("visual", Box(size), Transform.place(None, center), rgba=rgba),)


def dressed(robot: Robot, looks: Mapping[str, Look]) -> Robot:
    """Return the robot with these shapes on its bodies."""
    return remade(robot, bodies=[replace(b, shapes=looks.get(b.name, ())) for b in robot.bodies])
