"""Surfaces that contacts touch: a plane, a height field, and the sphere and capsule of `geometry`."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeAlias

import numpy as np

from hinge.errors import ModelError
from hinge.model.geometry import Capsule, Sphere
from hinge.model.readonly import numbers
from hinge.spatial import Array

#: The most heights of a field.
MOST_HEIGHTS = 1_000_000


@dataclass(frozen=True)
class Plane:
    """The plane z = 0 of its frame, with everything below it; its normal is +z."""


@dataclass(frozen=True, eq=False, repr=False)
class HeightField:
    """Uneven ground: heights (nx, ny) in m over a grid of `size` (x, y) in m, centred on its frame.

    heights[i, j] is z at x = (i / (nx − 1) − ½) size[0], y = (j / (ny − 1) − ½) size[1]; all below is solid.
    Between them each cell is two triangles, divided from corner (i, j) to (i + 1, j + 1). Beyond its edge
    the ground goes on with the height of the nearest point of the edge. Fields of equal numbers are equal.
    """

    heights: Array
    size: tuple[float, float]
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        heights = numbers(self.heights, "heights")
        if heights.ndim != 2 or min(heights.shape) < 2 or heights.size > MOST_HEIGHTS:
            raise ModelError(
                f"heights: expected an array (nx, ny), both at least 2, of at most {MOST_HEIGHTS:_} numbers, "
                f"got shape {heights.shape}; take Plane() for level ground, every other row of a large field"
            )
        if not np.isfinite(heights).all():
            k = tuple(map(int, np.argwhere(~np.isfinite(heights))[0]))
            raise ModelError(
                f"heights: expected finite numbers, got {heights[k]} at {k}; fill holes of a survey first"
            )
        size = numbers(self.size, "size")
        if size.shape != (2,) or not (np.isfinite(size).all() and (size > 0).all()):
            raise ModelError(f"size: expected two lengths above zero (x, y) in m, got {self.size!r}")
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "size", (float(size[0]), float(size[1])))
        data = np.ascontiguousarray(heights + 0.0).tobytes() + size.tobytes()
        object.__setattr__(self, "digest", sha256(repr(heights.shape).encode() + data).hexdigest())

    def __repr__(self) -> str:
        return f"<HeightField {' × '.join(map(str, self.heights.shape))} over {self.size} m>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeightField) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


Surface: TypeAlias = Plane | Sphere | Capsule | HeightField


def words(surface: Surface) -> str:
    """Return what a surface is, for tables and messages."""
    match surface:
        case Plane():
            return "plane"
        case HeightField():
            return f"height field {surface.heights.shape[0]} × {surface.heights.shape[1]}"
        case Sphere(radius):
            return f"sphere {radius:g} m"
        case Capsule(radius, length):
            return f"capsule {radius:g} m, {length:g} m"
