"""The arguments of the algorithms: states, external forces and gravity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, as_tangent, as_vector, common_batch, gravity_of
from hinge.spatial import Array, ArrayLike, force_cross, motion


def state(robot: Robot, q: ArrayLike, **tangents: ArrayLike) -> tuple[Array, ...]:
    """Return q and the tangent vectors (qd, qdd, tau) as arrays that broadcast with each other."""
    if tangents:
        refuse_loops(robot)
    found = {"q": as_configuration(robot, q)}
    found |= {name: as_tangent(robot, value, name) for name, value in tangents.items()}
    common_batch(found)
    return tuple(found.values())


def body_forces(robot: Robot, external: Mapping[str, ArrayLike] | None) -> list[Array]:
    """Return the external force (…, 6) on each body, in body coordinates.

    `external` maps the name of a frame (or body) to a force [n; f] (…, 6) in that frame's axes, n
    about its origin.
    """
    found: list[Array] = [np.zeros(6) for _ in robot.bodies]
    if external is None:
        return found
    if not isinstance(external, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"external: expected {{frame name: [n; f]}}, got {type(external).__name__}")
    for name, force in external.items():
        frame = robot.frame(name)
        f = as_vector(force, f"external[{name!r}]", 6, "a spatial force is [n; f]")
        i = robot.body_index(frame.body)
        found[i] = found[i] + frame.placement.inv().force(f)
    return found


def bias_forces(robot: Robot, v: list[Array], external: Mapping[str, ArrayLike] | None) -> list[Array]:
    """Return the force vᵢ ×̂* Iᵢ vᵢ − fˣᵢ (…, 6) on each body at zero acceleration: (6.61), (6.28)."""
    loads = body_forces(robot, external)
    for b, vi, fx in zip(robot.bodies, v, loads, strict=True):
        common_batch({"q and qd": vi, f"external on {b.name!r}": fx})
    return [
        force_cross(vi, b.inertia.apply(vi)) - fx for b, vi, fx in zip(robot.bodies, v, loads, strict=True)
    ]


def base_acceleration(robot: Robot, gravity: ArrayLike | None) -> Array:
    """Return the acceleration [0; −g] of the base that stands for gravity: section 4.4, after (4.9)."""
    return motion(np.zeros(3), -gravity_of(robot, gravity))


def refuse_loops(robot: Robot) -> None:
    """Refuse robots with embedded loops, some of whose joints have no rates of their own."""
    if robot.loops:
        raise NotImplementedError(
            f"robot: the reference algorithms do not support embedded loops, which {robot.name!r} has; use "
            "release_loops(robot) and carry_state, or hinge.dynamics"
        )


def refuse_followers(robot: Robot, what: str) -> None:
    """Refuse robots with follower joints, for recursions over single joints."""
    if len(robot.independent) < len(robot.joints):
        raise NotImplementedError(
            f"{what}: not supported for robots with {robot.embedding[0]}, such as {robot.name!r}; solve with "
            "the mass matrix, or use hinge.dynamics"
        )
