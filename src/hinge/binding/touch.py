"""Contacts at the world: where shape and surface touch, and the rows that say how they move there.

For the point x where they touch, with normal n from the surface to the shape and tangents t₁, t₂, the rows
of a contact are n · u, t₁ · u and t₂ · u of the velocity u of the shape's body against the surface's at x.
The gap changes by n · u (Featherstone 1987 section 9.6). Formulas are written for traced numbers and for
floats, and for both with their rates (`Jet`), which gives the rate of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hinge.binding.height_fields import touch_field
from hinge.binding.jets import Pose, Touch, choose, clamped, larger, rates, root
from hinge.model import Capsule, Contact, HeightField, Plane
from hinge.spatial import cross
from hinge.sweeps import Block, zeros

#: The share of an error that a step takes back, and the largest speed at which it does so, in m/s.
SHARE, FASTEST = 0.2, 0.1
#: A blow is one that stops in one step what is faster than this many m/s² would make it.
BLOW = 40.0
#: Lengths below this count as zero.
TINY = 1e-12


class Moving(NamedTuple):
    """The two ends of a link: transforms from the world to them, and their velocities."""

    inner: Block
    outer: Block
    v_inner: Block
    v_outer: Block


class StepRows(NamedTuple):
    """Numbers of the rows of a link in a step: restitution, steps in a second, height of the ground."""

    bounce: Block
    pace: Block
    ground: Block


@dataclass(frozen=True)
class ContactLink:
    """A contact at the world, its ends as in `LinkKind`; of a contact in the world `fixed` is its surface."""

    contact: Contact
    inner: int | None
    outer: int
    count: int
    fixed: Any = None

    @property
    def size(self) -> int:
        """The number of rows: three, or the normal one alone."""
        return self.count

    def map(self, inner: Block, outer: Block) -> tuple[Block, Block]:
        """Return the rows at the shape's end and at the surface's."""
        shape, surface = Pose.of(outer), Pose.of(inner)
        return self._rows(shape, surface, touch(self.contact, shape, surface))

    def _rows(self, shape: Pose, surface: Pose, at: Touch) -> tuple[Block, Block]:
        axes = at.axes[: self.count]
        found = []
        for pose, sign in ((shape, 1.0), (surface, -1.0)):
            arm = pose.e @ (at.x - pose.p)
            rows = zeros(self.count, 6)
            for k, d in enumerate(axes):
                own = pose.e @ d
                rows[k, :3], rows[k, 3:] = sign * cross(arm, own), sign * own
            found.append(rows)
        return found[0], found[1]

    def error(self, inner: Block, outer: Block) -> Block:
        """Return the gap in the normal row."""
        found = zeros(self.count)
        found[0] = touch(self.contact, Pose.of(outer), Pose.of(inner)).gap
        return found

    def rate(self, inner: Block, outer: Block, v_inner: Block, v_outer: Block) -> Block:
        """Return the rate of the rows, times the velocities of the ends."""
        shape, surface = Pose.of(outer).moving(v_outer), Pose.of(inner).moving(v_inner)
        rows = self._rows(shape, surface, touch(self.contact, shape, surface))
        return rates(rows[0]) @ v_outer + rates(rows[1]) @ v_inner

    def along(self, rates: Block) -> Block:
        """Return half the acceleration of the gap on the path of a step, where that closes it.

        A step of h moves a gap by h u + ½ h² ü; where ü is above zero, the next step sees what has opened.
        """
        found = zeros(self.count)
        found[0] = -0.5 * larger(-rates[0], 0.0)
        return found

    def step(self, at: Moving, given: StepRows) -> Block:
        """Return the velocities per step that a step must not leave: see `missed`."""
        shape, surface = Pose.of(at.outer), Pose.of(at.inner)
        where = touch(self.contact, shape, surface)
        mine, other = self._rows(shape, surface, where)
        u = mine @ at.v_outer + other @ at.v_inner
        u[0] = u[0] + missed(where.gap - given.ground[0], u[0], given.bounce[0], given.pace[0])
        return u * given.pace


def missed(gap: Any, speed: Any, bounce: Any, pace: Any) -> Any:
    """Return what is added to the speed of a gap, so that a sum of zero or more is right after a step.

    An open gap may close and no more; of a depth a share is taken back; a blow bounces.
    """
    open_, deep = gap * pace, larger(SHARE * gap * pace, -FASTEST)
    free = choose(gap, 0.0, deep, open_)
    hits = choose(gap * pace + speed, 0.0, 1.0, 0.0) * choose(speed * pace, -BLOW, 1.0, 0.0)
    return choose(0.0, hits * bounce, bounce * speed, free)


def touch(contact: Contact, shape: Pose, surface: Pose) -> Touch:
    """Return where a contact touches; where the cores of round shapes meet, n is the surface's z axis."""
    s, r = contact.surface, contact.radius
    if isinstance(s, HeightField):
        return touch_field(s, r, shape, surface)
    if isinstance(s, Plane):
        n = surface.e[2]
        gap = n @ (shape.p - surface.p) - r
        return Touch(gap, surface.e[[2, 0, 1]], shape.p - r * n if r else shape.p)
    c, core = _nearest(contact, shape, surface)
    between = c - core
    apart = root(between @ between + TINY * TINY)
    n = np.array([choose(apart, 2 * TINY, z, x / apart) for z, x in zip(surface.e[2], between, strict=True)])
    t1, t2 = _around(n)
    return Touch(apart - r - s.radius, np.stack([n, t1, t2]), c - r * n)


def _nearest(contact: Contact, shape: Pose, surface: Pose) -> tuple[Block, Block]:
    """Return the nearest points of two cores: points, or segments along z of their frames."""
    s: Any = contact.surface
    half = contact.length / 2
    other = s.length / 2 if isinstance(s, Capsule) else 0.0
    a, b, d = shape.e[2], surface.e[2], shape.p - surface.p
    if not half and not other:
        return shape.p, surface.p
    if not half:
        return shape.p, surface.p + clamped(b @ d, -other, other) * b
    if not other:
        return shape.p - clamped(a @ d, -half, half) * a, surface.p
    # Two segments: the best u on the first for any v on the second, and then v again.
    ab, ad, bd = a @ b, a @ d, b @ d
    across = 1.0 - ab * ab
    u = choose(across, 1e-9, 0.0, (ab * bd - ad) / larger(across, 1e-9))
    u = clamped(u, -half, half)
    v = clamped(bd + u * ab, -other, other)
    u = clamped(v * ab - ad, -half, half)
    return shape.p + u * a, surface.p + v * b


def _around(n: Block) -> tuple[Block, Block]:
    """Return two directions that complete a right-handed triple: Duff and others, 2017."""
    x, y, z = n
    sign = choose(z, 0.0, -1.0, 1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    first = np.array([1.0 + sign * x * x * a, sign * b, -sign * x], dtype=object)
    return first, np.array([b, sign + y * y * a, -y], dtype=object)
