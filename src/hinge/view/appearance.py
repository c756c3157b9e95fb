"""The drawn pieces of each body: its shapes, or links from joint to joint if it has none; its inertia."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from hinge.errors import ModelError
from hinge.model import Body, Box, Capsule, Cylinder, Joint, Mesh, Robot, Shape, Sphere
from hinge.spatial import Array, Transform, rotation
from hinge.view.mesh_reader import Surface
from hinge.view.meshes import AbsentError, Meshes
from hinge.view.outlines import surface_points
from hinge.view.palette import BLUE, ORANGE, Rgb
from hinge.view.poses import Poses, body_poses
from hinge.view.skeleton import Ellipsoid, capped, ellipsoid, link_points, sticks

Solid: TypeAlias = Box | Cylinder | Capsule | Sphere | Ellipsoid | Surface
#: A shape of the robot; a link or joint of a body without shapes; the inertia of a body.
Layer: TypeAlias = Literal["shape", "stick", "inertia"]

#: Radii of links, relative to the robot: least and most; relative to their lengths.
THINNEST, THICKEST, SLENDER = 0.006, 0.02, 0.2
#: Colours of what has none of its own: shapes, links.
PLAIN, LINK = (0.80, 0.82, 0.85), (0.56, 0.63, 0.71)


@dataclass(frozen=True, eq=False)
class Piece:
    """A solid on a body: placement, colour, opacity, and kind."""

    body: int
    solid: Solid
    placement: Transform
    rgb: Rgb
    opacity: float
    layer: Layer


@dataclass(frozen=True, eq=False)
class Appearance:
    """The pieces of a robot, its size in m, and messages on what could not be drawn."""

    pieces: tuple[Piece, ...]
    size: float
    messages: tuple[str, ...]


def appearance(robot: Robot, q: Array, folder: str | Path | None = None) -> Appearance:
    """Return the appearance of a robot; meshes are read from inside the folder only."""
    meshes = Meshes(folder)
    lost: list[tuple[Body, ModelError]] = []
    shaped: list[Piece] = []
    try:
        for i, body in enumerate(robot.bodies):
            shaped += _drawable(i, body, meshes, lost)
    finally:
        meshes.close()
    low, high = bounds(robot, shaped, body_poses(robot, q))
    size = max(float(np.linalg.norm(high - low)), 1e-3)
    drawn = {p.body for p in shaped} - {robot.body_index(b.name) for b, _ in lost}
    pieces = (*shaped, *_bare(robot, drawn, size), *_inertias(robot, shaped, size))
    return Appearance(pieces, size, tuple(_told(lost)))


def bounds(robot: Robot, pieces: list[Piece], poses: Poses) -> tuple[Array, Array]:
    """Return the corners of the axis-aligned bounding box of a robot in poses (…)."""
    points = cloud(robot, pieces, poses)
    return (points.min(0), points.max(0)) if len(points) else (np.zeros(3), np.zeros(3))


def cloud(robot: Robot, pieces: list[Piece], poses: Poses, bodies: Container[int] | None = None) -> Array:
    """Return the outermost points (n, 3) of a robot in poses (…), or of some of its bodies."""
    own = _own_points(robot, pieces)
    found = [
        poses.points(i, _outermost(x)).reshape(-1, 3)
        for i, x in enumerate(own)
        if bodies is None or i in bodies
    ]
    points = np.concatenate([np.zeros((0, 3)), *found])
    return points[np.isfinite(points).all(-1)]


def _own_points(robot: Robot, pieces: list[Piece]) -> list[Array]:
    """Return points (n, 3) of each body in its own coordinates: of its pieces, its joints and its mass."""
    points = [[x] for x in link_points(robot)]
    for p in pieces:
        points[p.body].append(p.placement.inv().point(_points(p.solid)))
    return [np.concatenate(x) for x in points]


def _outermost(points: Array) -> Array:
    """Return the extreme points in 26 directions."""
    steps = (-1.0, 0.0, 1.0)
    directions = np.array([[x, y, z] for x in steps for y in steps for z in steps])
    return points[np.unique((points @ directions.T).argmax(0))]


def _drawable(i: int, body: Body, meshes: Meshes, lost: list[tuple[Body, ModelError]]) -> list[Piece]:
    """Return the pieces of a body's shapes, and note meshes that cannot be read.

    Visual shapes come first; collision shapes replace them if there are none or a mesh is missing.
    """
    found: list[Piece] = []
    for role in ("visual", "collision"):
        pieces, missing = list[Piece](), list[tuple[Body, ModelError]]()
        for shape in (s for s in body.shapes if s.role == role):
            try:
                pieces.append(_piece(i, shape, meshes))
            except ModelError as error:
                missing.append((body, error))
        if pieces and not missing:
            return pieces
        found = found or pieces
        lost += missing
    return found


def _told(lost: list[tuple[Body, ModelError]]) -> list[str]:
    """Return a line for all meshes that are not there, and one for each that is refused."""
    absent = list(dict.fromkeys(str(e) for _, e in lost if isinstance(e, AbsentError)))
    lines = [f"{absent[0]} (and {len(absent) - 1} more)" if absent[1:] else absent[0]] if absent else []
    refused: dict[str, list[str]] = {}
    for body, error in lost:
        if not isinstance(error, AbsentError):
            refused.setdefault(str(error), []).append(body.name)
    for error, names in refused.items():
        more = f" and {len(names) - 1} more" if names[1:] else ""
        lines.append(f"{error} (body {names[0]!r}{more})")
    return lines


def _piece(body: int, shape: Shape, meshes: Meshes) -> Piece:
    solid = meshes.surface(shape.geometry) if isinstance(shape.geometry, Mesh) else shape.geometry
    own = solid.rgb if isinstance(solid, Surface) else None
    rgb, opacity = own or PLAIN, 1.0
    if shape.rgba is not None:
        r, g, b, opacity = shape.rgba
        rgb = (r, g, b)
    return Piece(body, solid, shape.placement, rgb, opacity, "shape")


def _points(solid: Solid) -> Array:
    if isinstance(solid, Surface):
        return _outermost(solid.vertices)
    return surface_points(solid)


def _bare(robot: Robot, drawn: set[int], size: float) -> list[Piece]:
    """Return links, joints, and point masses for the bodies without shapes."""
    found: list[Piece] = []
    thick = [1.5 * THINNEST * size] * len(robot.bodies)
    lines = sticks(robot)
    for i, ends in zip(lines.bodies.tolist(), lines.ends, strict=True):
        if i not in drawn:
            length = float(np.linalg.norm(ends[1] - ends[0]))
            radius = float(np.clip(SLENDER * length, THINNEST * size, THICKEST * size))
            thick[i] = max(thick[i], radius)
            turn = rotation.aligning((0.0, 0.0, 1.0), (ends[1] - ends[0]) / length)
            placement = Transform.place(turn, ends.mean(0))
            found.append(Piece(i, Capsule(radius, length), placement, LINK, 1.0, "stick"))
    for i, (body, joint) in enumerate(zip(robot.bodies, robot.joints, strict=True)):
        if i in drawn:
            continue
        if joint.nv:
            found.append(_joint(i, joint, 1.4 * thick[i]))
        if float(body.inertia.m) > 0 and ellipsoid(body) is None:
            place = Transform.place(None, body.inertia.com)
            found.append(Piece(i, Sphere(1.6 * thick[i]), place, BLUE, 1.0, "stick"))
    return found


def _joint(i: int, joint: Joint, radius: float) -> Piece:
    """Return a drum along the joint's axis, or a ball if it has none."""
    axial = joint.type.axial
    if axial is None:
        return Piece(i, Sphere(1.2 * radius), joint.outer, ORANGE, 1.0, "stick")
    along = joint.outer.rotation @ np.array(axial.axis)
    turn = rotation.aligning((0.0, 0.0, 1.0), along / np.linalg.norm(along))
    placement = Transform.place(turn, joint.outer.position)
    return Piece(i, Cylinder(radius, 2.4 * radius), placement, ORANGE, 1.0, "stick")


def _inertias(robot: Robot, shaped: list[Piece], size: float) -> list[Piece]:
    """Return the ellipsoids of inertia, each at most as long as its body."""
    points = _own_points(robot, shaped)
    found: list[Piece] = []
    for i, body in enumerate(robot.bodies):
        solid = ellipsoid(body)
        if solid is not None:
            small = capped(solid, points[i], 2 * THICKEST * size)
            found.append(Piece(i, small, small.placement, BLUE, 0.3, "inertia"))
    return found
