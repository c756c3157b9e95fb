"""The drawn pieces of each body: its shapes, or sticks and an ellipsoid of inertia if it has none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from hinge.errors import ModelError
from hinge.model import Body, Box, Capsule, Cylinder, Mesh, Robot, Shape, Sphere
from hinge.spatial import Array, Transform, rotation
from hinge.view.meshes import Meshes, Surface
from hinge.view.outlines import surface_points
from hinge.view.palette import BLUE, GREY, ORANGE, Rgb
from hinge.view.poses import Poses, body_poses
from hinge.view.skeleton import Ellipsoid, ellipsoid, sticks

Solid: TypeAlias = Box | Cylinder | Capsule | Sphere | Ellipsoid | Surface
#: A shape of the robot; a stick; the inertia of a body without shapes; that of one with shapes.
Layer: TypeAlias = Literal["shape", "stick", "body", "inertia"]

#: Sizes relative to the robot.
STICK, JOINT, PLACEHOLDER = 0.008, 0.016, 0.05


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
    meshes, messages = Meshes(folder), list[str]()
    shaped: list[Piece] = []
    missing: list[Piece] = []
    for i, body in enumerate(robot.bodies):
        found, lost = _drawable(i, body, meshes, messages)
        shaped += found
        missing += lost
    low, high = bounds(robot, shaped, body_poses(robot, q))
    size = max(float(np.linalg.norm(high - low)), 1e-3)
    drawn = {p.body for p in shaped}
    edge = PLACEHOLDER * size
    shaped += [replace(p, solid=Box((edge, edge, edge))) for p in missing if p.body in drawn]
    bare = _bare(robot, drawn, size)
    return Appearance((*shaped, *bare, *_inertias(robot, drawn)), size, tuple(messages))


def bounds(robot: Robot, pieces: list[Piece], poses: Poses) -> tuple[Array, Array]:
    """Return the corners of the axis-aligned bounding box of a robot in poses (…)."""
    lines = sticks(robot)
    points: dict[int, list[Array]] = {i: [b.inertia.com[None]] for i, b in enumerate(robot.bodies)}
    for i, ends in zip(lines.bodies.tolist(), lines.ends, strict=True):
        points[i].append(ends)
    for p in pieces:
        points[p.body].append(p.placement.inv().point(_points(p.solid)))
    clouds = [poses.points(i, _outermost(np.concatenate(x))).reshape(-1, 3) for i, x in points.items()]
    cloud = np.concatenate([np.zeros((0, 3)), *clouds])
    cloud = cloud[np.isfinite(cloud).all(-1)]
    return (cloud.min(0), cloud.max(0)) if len(cloud) else (np.zeros(3), np.zeros(3))


def _outermost(points: Array) -> Array:
    """Return the extreme points in 26 directions."""
    steps = (-1.0, 0.0, 1.0)
    directions = np.array([[x, y, z] for x in steps for y in steps for z in steps])
    return points[np.unique((points @ directions.T).argmax(0))]


def _drawable(i: int, body: Body, meshes: Meshes, messages: list[str]) -> tuple[list[Piece], list[Piece]]:
    """Return the pieces of a body's shapes, and placeholders for meshes that cannot be read.

    Visual shapes come first; collision shapes replace them if there are none or a mesh is missing.
    """
    lost: list[Piece] = []
    found: list[Piece] = []
    for role in ("visual", "collision"):
        shapes = [s for s in body.shapes if s.role == role]
        pieces, missing = list[Piece](), list[Piece]()
        for shape in shapes:
            try:
                pieces.append(_piece(i, shape, meshes))
            except ModelError as error:
                messages.append(f"body {body.name!r}: {error}")
                missing.append(Piece(i, Box((1.0, 1.0, 1.0)), shape.placement, GREY, 0.5, "shape"))
        if pieces and not missing:
            return pieces, []
        found, lost = found or pieces, lost or missing
    return found, lost


def _piece(body: int, shape: Shape, meshes: Meshes) -> Piece:
    solid = meshes.surface(shape.geometry) if isinstance(shape.geometry, Mesh) else shape.geometry
    own = solid.rgb if isinstance(solid, Surface) else None
    rgb, opacity = own or (0.72, 0.76, 0.80), 1.0
    if shape.rgba is not None:
        r, g, b, opacity = shape.rgba
        rgb = (r, g, b)
    return Piece(body, solid, shape.placement, rgb, opacity, "shape")


def _points(solid: Solid) -> Array:
    if isinstance(solid, Surface):
        return _outermost(solid.vertices)
    return surface_points(solid)


def _bare(robot: Robot, drawn: set[int], size: float) -> list[Piece]:
    """Return sticks, balls at the joints, and point masses for the bodies without shapes."""
    found: list[Piece] = []
    lines = sticks(robot)
    for i, ends in zip(lines.bodies.tolist(), lines.ends, strict=True):
        if i not in drawn:
            solid, placement = _stick(ends, STICK * size)
            found.append(Piece(i, solid, placement, GREY, 1.0, "stick"))
    for i, joint in enumerate(robot.joints):
        if joint.nv and i not in drawn:
            found.append(Piece(i, Sphere(JOINT * size), joint.outer, ORANGE, 1.0, "stick"))
    for i, body in enumerate(robot.bodies):
        if i not in drawn and float(body.inertia.m) > 0 and ellipsoid(body) is None:
            place = Transform.place(None, body.inertia.com)
            found.append(Piece(i, Sphere(2 * JOINT * size), place, BLUE, 1.0, "stick"))
    return found


def _inertias(robot: Robot, drawn: set[int]) -> list[Piece]:
    found: list[Piece] = []
    for i, body in enumerate(robot.bodies):
        solid = ellipsoid(body)
        if solid is not None:
            layer: Layer = "inertia" if i in drawn else "body"
            found.append(Piece(i, solid, solid.placement, BLUE, 0.3, layer))
    return found


def _stick(ends: Array, radius: float) -> tuple[Cylinder, Transform]:
    along = ends[1] - ends[0]
    length = float(np.linalg.norm(along))
    turn = rotation.aligning((0.0, 0.0, 1.0), along / length)
    return Cylinder(radius, length), Transform.place(turn, ends.mean(0))
