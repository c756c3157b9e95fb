"""Where a ball touches a height field: the plane of the triangle above or below its centre."""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.binding.jets import Pose, Touch, choose, clamped, floor, looked_up, root
from hinge.kernels import table
from hinge.model import HeightField
from hinge.spatial import cross
from hinge.sweeps import Block


def touch_field(field: HeightField, radius: float, shape: Pose, surface: Pose) -> Touch:
    """Return where a ball touches the plane of the triangle at its centre."""
    at = surface.e @ (shape.p - surface.p)
    height, along_x, along_y = height_and_slopes(field, at[0], at[1])
    up = 1.0 / root(along_x * along_x + along_y * along_y + 1.0)
    n = np.array([-along_x * up, -along_y * up, up], dtype=object)
    flat = root(1.0 - n[0] * n[0])
    t1 = np.array([flat, -n[0] * n[1] / flat, -n[0] * n[2] / flat], dtype=object)
    axes: Block = np.stack([n, t1, cross(n, t1)]) @ surface.e
    return Touch((at[2] - height) * up - radius, axes, shape.p - radius * axes[0] if radius else shape.p)


def height_and_slopes(field: HeightField, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return the height at (x, y), and its slopes along x and y."""
    count, numbers = field.heights.shape[1], table(field.heights)
    (i, u, dx, off_x), (j, v, dy, off_y) = (
        _cell(at, n, size) for at, n, size in zip((x, y), field.heights.shape, field.size, strict=True)
    )
    here = i * float(count) + j
    low, right, left, high = (looked_up(numbers, here + float(k)) for k in (0, count, 1, count + 1))
    along_x = choose(u, v, high - left, right - low)
    along_y = choose(u, v, left - low, high - right)
    height = low + u * along_x + v * along_y
    # Beyond an edge the slope is that of the edge, also where u = v.
    slope_x = choose(off_y, 0.0, along_x, choose(v, 0.5, right - low, high - left))
    slope_y = choose(off_x, 0.0, along_y, choose(u, 0.5, left - low, high - right))
    return (
        height,
        choose(off_x, 0.0, slope_x / dx, 0.0),
        choose(off_y, 0.0, slope_y / dy, 0.0),
    )


def _cell(at: Any, n: int, size: float) -> tuple[Any, Any, float, Any]:
    """Return the cell of a coordinate, the place in it from 0 to 1, its width, and 1 beyond the edge."""
    step = size / (n - 1)
    place = clamped((at + size / 2) / step, 0.0, n - 1.0)
    k = clamped(floor(place), 0.0, n - 2.0)
    beyond = choose(at, 0.0, -at, at) - size / 2
    return k, place - k, step, choose(0.0, beyond, 1.0, -1.0)
