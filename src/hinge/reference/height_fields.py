"""Points above and below a height field, in its own frame."""

from __future__ import annotations

import numpy as np

from hinge.model import HeightField
from hinge.spatial import Array


def height_and_slopes(field: HeightField, x: float, y: float) -> tuple[float, float, float]:
    """Return the height at (x, y), and its slopes along x and y: those of the triangle there.

    On a diagonal it is the triangle with the corner (i + 1, j), on an edge between cells the cell with the
    larger index. Beyond the edge of the field a slope is zero along the axis that leads away from it.
    """
    h = field.heights
    (i, u, dx), (j, v, dy) = (
        _cell(at, n, size) for at, n, size in zip((x, y), h.shape, field.size, strict=True)
    )
    if u >= v:
        along_x, along_y = h[i + 1, j] - h[i, j], h[i + 1, j + 1] - h[i + 1, j]
    else:
        along_x, along_y = h[i + 1, j + 1] - h[i, j + 1], h[i, j + 1] - h[i, j]
    height = h[i, j] + u * along_x + v * along_y
    beyond_x, beyond_y = abs(x) > field.size[0] / 2, abs(y) > field.size[1] / 2
    if beyond_x:
        edge = i + round(u)
        along_x, along_y = 0.0, h[edge, j + 1] - h[edge, j]
    if beyond_y:
        edge = j + round(v)
        along_x, along_y = 0.0 if beyond_x else h[i + 1, edge] - h[i, edge], 0.0
    return float(height), float(along_x / dx), float(along_y / dy)


def _cell(at: float, n: int, size: float) -> tuple[int, float, float]:
    """Return the cell of a coordinate, the place in it from 0 to 1, and the width of a cell."""
    step = size / (n - 1)
    place = min(max((at + size / 2) / step, 0.0), n - 1.0)
    k = min(int(place), n - 2)
    return k, place - k, step


def foot_below(field: HeightField, point: Array) -> tuple[Array, Array]:
    """Return the foot of a point on the plane of the triangle above or below it, and that plane's normal."""
    height, along_x, along_y = height_and_slopes(field, *point[:2])
    n = np.array([-along_x, -along_y, 1.0])
    n /= np.linalg.norm(n)
    return point - (point[2] - height) * n[2] * n, n


def nearest_foot(field: HeightField, point: Array) -> tuple[Array, Array]:
    """Return the nearest point of the field to a point, and the unit vector from there, outward."""
    corners = _triangles(field, 2.0 * float(np.linalg.norm(point)) + sum(field.size))
    feet = _feet(corners, point)
    s = feet[np.argmin(np.linalg.norm(feet - point, axis=-1))]
    _, below = foot_below(field, point)
    apart = point - s
    size = float(np.linalg.norm(apart))
    if size == 0.0:
        return s, below
    outside = point[2] >= height_and_slopes(field, *point[:2])[0]
    return s, apart / size if outside else -apart / size


def _triangles(field: HeightField, far: float) -> Array:
    """Return the corners (triangles, 3, 3) of the field, and of what it goes on with up to `far`."""
    h = np.pad(field.heights, 1, mode="edge")
    x, y = (
        np.concatenate([[-far], np.linspace(-size / 2, size / 2, n), [far]])
        for size, n in zip(field.size, field.heights.shape, strict=True)
    )
    grid = np.stack([*np.meshgrid(x, y, indexing="ij"), h], axis=-1)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    both = np.stack([np.stack([a, b, c], axis=-2), np.stack([a, c, d], axis=-2)])
    return both.reshape(-1, 3, 3)


def _feet(corners: Array, point: Array) -> Array:
    """Return the nearest point of each triangle (triangles, 3): in its plane, or on one of its edges."""
    a = corners[:, 0]
    n = np.cross(corners[:, 1] - a, corners[:, 2] - a)
    n /= np.linalg.norm(n, axis=-1, keepdims=True)
    foot = point - np.sum((point - a) * n, axis=-1, keepdims=True) * n
    inside = np.ones(len(a), dtype=bool)
    best, least = foot, np.full(len(a), np.inf)
    for k in range(3):
        start, end = corners[:, k], corners[:, (k + 1) % 3]
        edge = end - start
        inside &= np.sum(np.cross(edge, foot - start) * n, axis=-1) >= 0
        share = np.sum((point - start) * edge, axis=-1) / np.sum(edge * edge, axis=-1)
        near = start + np.clip(share, 0.0, 1.0)[:, None] * edge
        apart = np.linalg.norm(near - point, axis=-1)
        closer = apart < least
        best, least = np.where(closer[:, None], near, best), np.where(closer, apart, least)
    return np.where(inside[:, None], foot, best)
