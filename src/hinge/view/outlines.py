"""Outlines of solids in a plane, as convex hulls of their points."""

from __future__ import annotations

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Box, Capsule, Cylinder, Geometry, Mesh, Sphere
from hinge.spatial import Array, ArrayLike
from hinge.view.skeleton import Ellipsoid

_PLANES = {
    a + b: (np.eye(3)["xyz".index(a)], np.eye(3)["xyz".index(b)]) for a in "xyz" for b in "xyz" if a != b
}


def surface_points(solid: Geometry | Ellipsoid) -> Array:
    """Return points (n, 3) whose convex hull approximates the solid; none for a mesh."""
    match solid:
        case Box():
            return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * solid.size / 2
        case Sphere():
            return solid.radius * _sphere()
        case Ellipsoid():
            return solid.placement.inv().point(solid.axes * _sphere())
        case Cylinder():
            ring = np.array([solid.radius, solid.radius, 0]) * _ring()
            shift = np.array([0, 0, solid.length / 2])
            return np.concatenate([ring - shift, ring + shift])
        case Capsule():
            ball, shift = solid.radius * _sphere(), np.array([0, 0, solid.length / 2])
            return np.concatenate([ball - shift, ball + shift])
        case Mesh():
            return np.zeros((0, 3))


def hull(points: Array) -> Array:
    """Return the corners of the convex hull of points (n, 2), counter-clockwise (Andrew's monotone chain)."""
    rows = sorted({(float(x), float(y)) for x, y in points})
    if len(rows) < 3:
        return np.array(rows)
    return np.array(_half(rows)[:-1] + _half(rows[::-1])[:-1])


def plane_axes(plane: str | ArrayLike | None, points: Array, gravity: Array) -> tuple[Array, Array]:
    """Return the unit vectors that point right and up in the picture.

    `plane` names two axes, such as "xz", or is a vector towards the eye; by default it is the plane in which
    the points (…, 3) spread most, with gravity downwards if there is any.
    """
    if isinstance(plane, str):
        if plane not in _PLANES:
            raise ArgumentError(f"plane: expected two axes such as 'xz', or a vector, got {plane!r}")
        return _PLANES[plane]
    up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])
    if plane is not None:
        eye = np.asarray(plane, dtype=np.float64)
        if eye.shape != (3,) or not np.isfinite(eye).all() or not eye.any():
            raise ArgumentError(f"plane: expected two axes such as 'xz', or a nonzero vector, got {plane!r}")
        return _facing(eye / np.linalg.norm(eye), up)
    flat = points.reshape(-1, 3)
    flat = flat[np.isfinite(flat).all(-1)]
    flat = flat - flat.mean(0) if len(flat) else np.zeros((1, 3))
    if gravity.any():
        flat = flat - np.outer(flat @ up, up)
        right = np.linalg.svd(flat.T @ flat)[0][:, 0] if np.abs(flat).max() > 1e-9 else _any_across(up)
        right = _snapped(right - (right @ up) * up)
        right = right - (right @ up) * up
        return _signed(right / np.linalg.norm(right)), up
    directions = np.linalg.svd(flat.T @ flat)[0]
    return _signed(directions[:, 0]), _signed(directions[:, 1])


def named_direction(eye: Array) -> str:
    """Return the name of the direction in which one looks from the eye."""
    k = int(np.abs(eye).argmax())
    if abs(eye[k]) > 1 - 1e-6:
        return f"{'−' if eye[k] > 0 else ''}{'xyz'[k]}"
    return "(" + ", ".join(f"{round(-x, 2) + 0.0:g}" for x in eye) + ")"


def _facing(eye: Array, up: Array) -> tuple[Array, Array]:
    right = np.cross(up, eye)
    if np.linalg.norm(right) < 1e-6:
        right = _any_across(eye)
    right = right / np.linalg.norm(right)
    return right, np.cross(eye, right)


def _any_across(direction: Array) -> Array:
    right = np.cross(direction, np.eye(3)[int(np.abs(direction).argmin())])
    return _signed(right / np.linalg.norm(right))


def _snapped(direction: Array) -> Array:
    """Return the coordinate axis within some ten degrees of a direction, or the direction itself."""
    k = int(np.abs(direction).argmax())
    return np.eye(3)[k] if abs(direction[k]) > 0.985 * np.linalg.norm(direction) else direction


def _signed(direction: Array) -> Array:
    return direction * np.sign(direction[int(np.abs(direction).argmax())])


def _half(rows: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the lower hull of sorted points."""
    found: list[tuple[float, float]] = []
    for x, y in rows:
        while len(found) > 1:
            (ax, ay), (bx, by) = found[-2:]
            if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                break
            found.pop()
        found.append((x, y))
    return found


def _ring(n: int = 24) -> Array:
    angle = np.arange(n) * 2 * np.pi / n
    return np.stack([np.cos(angle), np.sin(angle), np.zeros(n)], axis=-1)


def _sphere() -> Array:
    """Return points spread over the unit sphere, by the golden angle."""
    n = 160
    k = np.arange(n)
    z = 1 - (2 * k + 1) / n
    radius, angle = np.sqrt(1 - z**2), k * np.pi * (3 - np.sqrt(5))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=-1)
