"""Contacts: pairs of a shape and a surface that may touch, as data.

A contact is a candidate: nothing looks for others. Its shape is a point, a ball or a capsule of one body, its
surface a plane, a sphere, a capsule or a height field of another body or of the world. What is larger becomes
several of these: a box on the ground is its eight corners, a capsule on the ground the balls at its two ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge.errors import ModelError, did_you_mean
from hinge.model.geometry import Capsule, Sphere
from hinge.model.readonly import frozen_transform
from hinge.model.surfaces import HeightField, Plane, Surface, words
from hinge.spatial import Transform

#: The largest error of a rotation matrix.
ORTHOGONAL = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Contact:
    """A pair that may touch: a shape on `frame`, and a surface on `on`, frames or bodies of the robot.

    The shape is a ball of `radius` about the origin of `placement` in `frame`, a point if that is zero; with
    `length` it is a capsule, a segment of that length along z of the placement, centred, with `radius` round
    it, and its surface a `Sphere` or a `Capsule`. `on` None is the world. `surface_placement` is that of the
    surface in `on`: the default is the ground, z = 0 of the world. `friction` is the coefficient μ ≥ 0 of the
    two, `restitution` the share, 0 to 1, of the impulse of compression that an impact gives back.
    """

    name: str
    frame: str
    on: str | None = None
    friction: float = 0.0
    restitution: float = 0.0
    radius: float = 0.0
    length: float = 0.0
    placement: Transform = field(default_factory=Transform.identity)
    surface: Surface = field(default_factory=Plane)
    surface_placement: Transform = field(default_factory=Transform.identity)

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"contact: name: expected a text, got {self.name!r}")
        what, put = f"contact {self.name!r}", object.__setattr__
        if not isinstance(self.frame, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(
                f"{what}: frame: expected the name of a frame or body, got {self.frame!r}; the world can "
                "carry the surface only"
            )
        if not isinstance(self.on, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(
                f"{what}: on: expected the name of a frame or body, or None, the world, got {self.on!r}"
            )
        put(self, "friction", _number(what, "friction", self.friction, "0 has none"))
        put(
            self, "restitution", _number(what, "restitution", self.restitution, "0 does not bounce", most=1.0)
        )
        put(self, "radius", _number(what, "radius", self.radius, "0 is a point"))
        put(self, "length", _number(what, "length", self.length, "0 is a point or ball"))
        put(self, "placement", _placed(f"{what}: placement", self.placement))
        put(self, "surface_placement", _placed(f"{what}: surface_placement", self.surface_placement))
        self._check_surface(what)

    def _check_surface(self, what: str) -> None:
        """Refuse a surface that is none, and pairs that cannot touch."""
        s = self.surface
        if not isinstance(s, Plane | Sphere | Capsule | HeightField):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(
                f"{what}: surface: expected Plane(), Sphere(radius), Capsule(radius, length) or "
                f"HeightField(heights, size), got {s!r}; hinge.contacts_of makes contacts of other shapes"
            )
        if isinstance(s, Plane | HeightField):
            if self.length:
                raise ModelError(
                    f"{what}: length: expected 0 against a {words(s)}, got {self.length:g}; take two balls, "
                    f"at z = ±{self.length / 2:g} of its placement"
                )
            return
        size = _number(what, "surface.radius", s.radius, "0 has no extent")
        if isinstance(s, Capsule):
            _number(what, "surface.length", s.length, "0 is a sphere")
        if self.radius + size == 0:
            raise ModelError(
                f"{what}: radius: expected one above 0 of the shape or of the {words(s)}, got 0 and 0, which "
                "never touch; give one of the two a radius"
            )

    def __repr__(self) -> str:
        on = "the world" if self.on is None else self.on
        return f"<Contact {self.name!r}: {self.shape} of {self.frame!r} on {words(self.surface)} of {on!r}>"

    @property
    def shape(self) -> str:
        """What its shape is, in words."""
        if self.length:
            return f"capsule {self.radius:g} m, {self.length:g} m"
        return f"ball {self.radius:g} m" if self.radius else "point"


def _number(what: str, name: str, x: Any, note: str, *, most: float = np.inf) -> float:
    """Return a number from 0 to `most`, or raise a ModelError."""
    real = not isinstance(x, bool) and isinstance(x, int | float | np.integer | np.floating)
    if not real or not 0 <= x <= most or x == np.inf:
        span = "a finite number ≥ 0" if most == np.inf else f"a number from 0 to {most:g}"
        raise ModelError(f"{what}: {name}: expected {span}, got {x!r}; {note}")
    return float(x)


def _placed(what: str, x: Transform) -> Transform:
    """Return a read-only placement, or raise a ModelError."""
    x = frozen_transform(x, what)
    if not (np.isfinite(x.E).all() and np.isfinite(x.r).all()):
        raise ModelError(f"{what}: expected finite numbers, got {x!r}; make it with Transform.place")
    if np.abs(x.E @ x.E.T - np.eye(3)).max() > ORTHOGONAL or np.linalg.det(x.E) < 0:
        raise ModelError(
            f"{what}: expected a rotation, orthogonal and right-handed, got {x.E.tolist()}; make it with "
            "Transform.place"
        )
    return x


def refuse_contacts(contacts: Sequence[Contact], bodies: Sequence[str], places: Mapping[str, str]) -> None:
    """Refuse contacts of unknown frames, within one body, or of one name; `places` are the frames' bodies."""
    home: dict[str | None, str | None] = {None: None, **{b: b for b in bodies}, **places}
    seen: set[str] = set()
    for c in contacts:
        if not isinstance(c, Contact):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(
                f"contacts: expected Contact values, got {c!r}; make them with Contact(name, frame)"
            )
        what = f"contact {c.name!r}"
        for role, name in (("frame", c.frame), ("on", c.on)):
            if name not in home:
                known = [n for n in home if n is not None]
                hint = did_you_mean(name, known) or f"there are {', '.join(known[:12])}" + " …" * (
                    len(known) > 12
                )
                raise ModelError(
                    f"{what}: {role}: expected a frame or body of the robot, got {name!r}; {hint}"
                )
        if home[c.frame] == home[c.on]:
            raise ModelError(
                f"{what}: expected two bodies, got {c.frame!r} and {c.on!r}, both on body {home[c.frame]!r}; "
                f"remove it with without_contacts(robot, [{c.name!r}])"
            )
        if c.name in seen:
            raise ModelError(f"{what}: expected a name for each contact, got it twice; rename one of them")
        seen.add(c.name)
