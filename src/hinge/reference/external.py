"""External forces and gravity as the algorithms take them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hinge.model import Robot, as_vector
from hinge.spatial import Array, ArrayLike, force_cross, motion


def body_forces(robot: Robot, external: Mapping[str, ArrayLike] | None) -> list[Array]:
    """Return the external force (…, 6) on each body, in body coordinates.

    `external` maps the name of a frame (or body) to a force [n; f] in that frame's coordinates.
    """
    found: list[Array] = [np.zeros(6) for _ in robot.bodies]
    for name, force in (external or {}).items():
        frame = robot.frame(name)
        f = as_vector(force, f"external[{name!r}]", 6, "a spatial force is [n; f]")
        i = robot.body_index(frame.body)
        found[i] = found[i] + frame.placement.inv().force(f)
    return found


def bias_forces(robot: Robot, v: list[Array], external: Mapping[str, ArrayLike] | None) -> list[Array]:
    """Return the force vᵢ ×̂* Iᵢ vᵢ − fˣᵢ (…, 6) on each body at zero acceleration: (6.61), (6.28)."""
    loads = zip(robot.bodies, v, body_forces(robot, external), strict=True)
    return [force_cross(vi, b.inertia.apply(vi)) - fx for b, vi, fx in loads]


def base_acceleration(robot: Robot, gravity: ArrayLike | None) -> Array:
    """Return the fictitious acceleration [0; −g] of the base that stands for gravity (4.4)."""
    g = robot.gravity if gravity is None else as_vector(gravity, "gravity", 3, "it is an acceleration")
    return motion(np.zeros(3), -g)
