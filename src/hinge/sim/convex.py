"""Contacts of convex shapes where they are nearest, found by the package coal.

A door, and no part of programs: coal looks at one configuration, and what it finds becomes contacts as any
others, a point of one body against a plane of the other. They are right near that configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from math import inf
from typing import Any

import numpy as np

from hinge.dynamics import forward_kinematics
from hinge.errors import ArgumentError, MissingExtraError
from hinge.model import (
    Box,
    Capsule,
    Contact,
    Cylinder,
    Geometry,
    Mesh,
    Robot,
    Sphere,
    as_configuration,
    checked_robot,
)
from hinge.spatial import Array, ArrayLike, Transform


def convex_contacts(
    robot: Robot,
    q: ArrayLike,
    pairs: Iterable[tuple[str, str]],
    *,
    hulls: Mapping[str, ArrayLike] | None = None,
    reach: float = inf,
    friction: float = 0.0,
    restitution: float = 0.0,
) -> tuple[Contact, ...]:
    """Return contacts of the pairs of bodies whose shapes are within `reach` (m) in a configuration (nq,).

    Shapes are those for collision: boxes, cylinders, spheres and capsules, with their edges and faces;
    `hulls` gives points (n, 3) of a body, in its frame, whose convex hull stands for its meshes. Each pair of
    shapes is one contact where they are nearest, or deepest in each other: a point of the first body against
    the plane between them on the second, for `with_contacts`. Move on by a step or so, and ask again: bodies
    that turn touch elsewhere, and two faces need more than one contact. A robot with other contacts is
    compiled anew. It needs the package coal, which comes with Pinocchio (`pip install coal`).
    """
    coal, where = _coal(), as_configuration(checked_robot(robot), q)
    if where.ndim != 1:
        raise ArgumentError(f"q: expected one configuration ({robot.nq},), got shape {where.shape}")
    if not reach >= 0:
        raise ArgumentError(f"reach: expected a length ≥ 0 in m, got {reach!r}")
    found: list[Contact] = []
    for first, second in pairs:
        if robot.body(first) is robot.body(second):
            raise ArgumentError(f"pairs: expected two bodies, got {first!r} twice")
        ones, twos = (list(_solids(coal, robot, name, hulls or {})) for name in (first, second))
        poses = [forward_kinematics(robot, where, name) for name in (first, second)]
        for one in ones:
            for two in twos:
                near = _nearest(coal, one, two, poses)
                if near is None or near[0] > reach:
                    continue
                numbers = {"friction": friction, "restitution": restitution}
                found.append(_contact(len(found), (first, second), poses, near, numbers))
    return tuple(found)


def _contact(
    k: int, bodies: tuple[str, str], poses: list[Transform], near: tuple[float, Array], numbers: Any
) -> Contact:
    """Return a contact of a point of the first body and a plane of the second, both given in the world."""
    _, (point, other, normal) = near
    axes = _across(normal)
    at = poses[0].rotation.T @ (point - poses[0].position)
    turn = poses[1].rotation.T
    plane = Transform.place(turn @ axes, turn @ (other - poses[1].position))
    return Contact(
        f"{bodies[0]}_{bodies[1]}_{k}",
        bodies[0],
        bodies[1],
        placement=Transform.place(None, at),
        surface_placement=plane,
        **numbers,
    )


def _nearest(coal: Any, one: Any, two: Any, poses: list[Transform]) -> tuple[float, Array] | None:
    """Return the distance of two solids, their nearest points, and the way from the second to the first."""
    placed = [
        coal.Transform3s(at.rotation @ place.rotation, at.position + at.rotation @ place.position)
        for at, (_, place) in zip(poses, (one, two), strict=True)
    ]
    result = coal.DistanceResult()
    gap = coal.distance(one[0], placed[0], two[0], placed[1], coal.DistanceRequest(), result)
    points = [np.array(x).ravel() for x in (result.getNearestPoint1(), result.getNearestPoint2())]
    normal = -np.array(result.normal).ravel()
    if not (np.isfinite(gap) and np.isfinite([*points, normal]).all()):
        return None
    return float(gap), np.stack([*points, normal / np.linalg.norm(normal)])


def _across(n: Array) -> Array:
    """Return axes as columns, the last of them n."""
    other = np.eye(3)[np.argmin(np.abs(n))]
    x = np.cross(other, n)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(n, x), n], axis=-1)


def _solids(
    coal: Any, robot: Robot, name: str, hulls: Mapping[str, ArrayLike]
) -> Iterator[tuple[Any, Transform]]:
    """Yield the solids of a body with their placements: the hull that is given, and shapes for collision."""
    shapes = [s for s in robot.body(name).shapes if s.role == "collision"]
    if name in hulls:
        yield _hull(coal, name, hulls[name]), Transform.identity()
        shapes = [s for s in shapes if not isinstance(s.geometry, Mesh)]
    elif not shapes:
        raise ArgumentError(
            f"pairs: expected bodies with shapes for collision, got {name!r}, which has none; give points of "
            f"it, hulls={{{name!r}: points}}"
        )
    for s in shapes:
        yield _solid(coal, name, s.geometry), s.placement


def _solid(coal: Any, name: str, geometry: Geometry) -> Any:
    match geometry:
        case Box((x, y, z)):
            return coal.Box(x, y, z)
        case Sphere(radius):
            return coal.Sphere(radius)
        case Capsule(radius, length):
            return coal.Capsule(radius, length)
        case Cylinder(radius, length):
            return coal.Cylinder(radius, length)
        case Mesh(filename):
            raise ArgumentError(
                f"pairs: expected the points of mesh {filename!r} of {name!r}, which is not opened; give "
                f"hulls={{{name!r}: points}}, its vertices in the body's frame"
            )


def _hull(coal: Any, name: str, points: ArrayLike) -> Any:
    found = np.asarray(points, dtype=np.float64)
    if found.ndim != 2 or found.shape[1:] != (3,) or len(found) < 4 or not np.isfinite(found).all():
        raise ArgumentError(f"hulls[{name!r}]: expected finite points (n, 3), n ≥ 4, got shape {found.shape}")
    if np.linalg.matrix_rank(found - found.mean(axis=0), tol=1e-9) < 3:
        raise ArgumentError(
            f"hulls[{name!r}]: expected points that are not in a plane; give it some thickness"
        )
    rows = coal.StdVec_Vec3s()
    for x in found:
        rows.append(x)
    return coal.Convex.convexHull(rows, True, "Qt")


def _coal() -> Any:
    try:
        return import_module("coal")
    except ImportError:
        raise MissingExtraError("convex shapes need coal, which is not installed; pip install coal") from None
