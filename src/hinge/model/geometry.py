"""Visual and collision shapes of bodies, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hinge.model.readonly import frozen_transform
from hinge.spatial import Transform


@dataclass(frozen=True)
class Box:
    """A box with these edge lengths in m, centred on its frame."""

    size: tuple[float, float, float]


@dataclass(frozen=True)
class Cylinder:
    """A cylinder along z, centred on its frame."""

    radius: float
    length: float


@dataclass(frozen=True)
class Capsule:
    """A cylinder along z with a half sphere on each end; `length` is the cylinder's alone."""

    radius: float
    length: float


@dataclass(frozen=True)
class Sphere:
    """A sphere centred on its frame."""

    radius: float


@dataclass(frozen=True)
class Mesh:
    """A mesh by its file name, as the robot's file gives it: neither resolved nor opened."""

    filename: str
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


Geometry: TypeAlias = Box | Cylinder | Capsule | Sphere | Mesh


@dataclass(frozen=True, eq=False)
class Shape:
    """A geometry placed on a body, visual or for collision."""

    role: Literal["visual", "collision"]
    geometry: Geometry
    placement: Transform = field(default_factory=Transform.identity)
    name: str = ""
    rgba: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", frozen_transform(self.placement, f"shape {self.name!r}"))
