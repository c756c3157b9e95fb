"""The letters of closures at the world, where values from both ends of each closure meet.

A closure allows the motions of a joint between two frames, its inner and its outer end. With X from the
inner to the outer end and V the velocities of the ends in their own frames, the velocity across it is V(s)
− X V(p), and the rows Rᵀ of its joint say what of that must vanish: Featherstone section 9.4, JPL 88-11
part II (2.7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from hinge.algebra import Ac, Leaf, e_c, gamma, p_c, r_c
from hinge.binding.constants import tidy_ones
from hinge.binding.partials import varied_at_world
from hinge.binding.touch import SHARE, ContactLink, Moving, StepRows, missed
from hinge.errors import UnboundLeafError
from hinge.model import Closure, Contact, closure_error_of, rows_of
from hinge.spatial import Transform, cross
from hinge.sweeps import Block, zeros
from hinge.tree import WORLD


@dataclass(frozen=True)
class LinkKind:
    """A closure without its numbers.

    `inner` and `outer` are the places of its ends in the stack of all ends, `inner` None at the world.
    `rows` are the rows of its joint that are kept, of all that `closure` has.
    """

    closure: Closure
    inner: int | None
    outer: int
    rows: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @cached_property
    def reactions(self) -> Block:
        """The kept rows of Rᵀ."""
        return rows_of(self.closure.joint).matrix[list(self.rows)].astype(object)

    def map(self, inner: Block, outer: Block) -> tuple[Block, Block]:
        """Return the rows at the outer and at the inner end: Rᵀ and −Rᵀ X."""
        return self.reactions, -(self.reactions @ across(inner, outer))

    def error(self, inner: Block, outer: Block) -> Block:
        """Return the errors in the kept rows."""
        whole = closure_error_of(rows_of(self.closure.joint), _as_transform(across(inner, outer)))
        return whole[list(self.rows)]

    def rate(self, inner: Block, outer: Block, v_inner: Block, v_outer: Block) -> Block:
        """Return γ = Rᵀ (V × X V(p)), where V is the velocity across: d/dt (A V) = A α + γ."""
        if self.inner is None:
            return zeros(self.size)
        seen = across(inner, outer) @ v_inner
        return self.reactions @ _motion_cross(v_outer - seen, seen)

    def along(self, rates: Block) -> Block:
        """Return half the accelerations across it, which a step takes back as it goes."""
        return 0.5 * rates

    def step(self, at: Moving, given: StepRows) -> Block:
        """Return velocities across and a share of the errors, per step."""
        u = self.reactions @ (at.v_outer - across(at.inner, at.outer) @ at.v_inner)
        return (u + SHARE * given.pace * self.error(at.inner, at.outer)) * given.pace


@dataclass(frozen=True)
class JointLink:
    """The limit or the dry friction of a joint: `outer` is where its rate stands in the stack of all ends."""

    outer: int
    limit: bool
    size: int = 1

    def step(self, rate: Any, distance: Any, pace: Any) -> Any:
        """Return the rate that a step must not leave, per step: see `missed`."""
        return (rate + missed(distance, rate, 0.0, pace) if self.limit else rate) * pace


#: What has rows at the world.
AnyLink: TypeAlias = LinkKind | ContactLink | JointLink


def joined(
    kinds: Sequence[Closure | Contact],
    pairs: Sequence[tuple[tuple[int, Transform], tuple[int, Transform]]],
    stack: Sequence[int],
    rows: Sequence[tuple[int, ...]] | None,
    contact_rows: int,
) -> list[LinkKind | ContactLink]:
    """Return closures and contacts with the places of their ends in a stack of the numbers of ends.

    `pairs` are the body and the place of the inner and outer end of each, `rows` those of closures that are
    kept, and `contact_rows` is the number of rows of a contact.
    """
    found: list[LinkKind | ContactLink] = []
    count = 0
    for k, (c, ((home, place), _)) in enumerate(zip(kinds, pairs, strict=True)):
        inner = None
        if home != WORLD:
            inner, count = stack.index(6 * count), count + 1
        outer, count = stack.index(6 * count), count + 1
        if isinstance(c, Contact):
            fixed = tidy_ones(place.matrix()).astype(object) if home == WORLD else None
            found.append(ContactLink(c, inner, outer, contact_rows, fixed))
            continue
        kept = tuple(range(len(rows_of(c.joint).names))) if rows is None else rows[k]
        found.append(LinkKind(c, inner, outer, kept))
    return found


class WorldSite:
    """The letters at the world of a robot with closures, with numbers in the order they are taken in."""

    def __init__(self, links: Sequence[AnyLink], numbers: Sequence[Any], robot: str) -> None:
        self.links, self.robot = links, robot
        left = iter(numbers)
        self.fixed = [self._fixed(x, left) for x in links]
        assert not list(left), "numbers of the world that nothing takes"

    def _fixed(self, link: AnyLink, left: Iterator[Any]) -> Block | None:
        """Return the inner end of a link that is fixed in the world."""
        if isinstance(link, JointLink) or link.inner is not None:
            return None
        return link.fixed if isinstance(link, ContactLink) else _taken_matrix(left)

    def formula(self, leaf: Leaf, needs: Sequence[Block]) -> Block:
        """Return a leaf that is a function of the ends of closures and contacts.

        Arguments are the motion transforms from the world to the ends (6 n, 6), for γ and rᶜ their
        velocities, the rows that hold, and for rᶜ restitution, pace, distances from limits and heights of
        the ground.
        """
        if leaf.origin is not None:
            return varied_at_world(self, leaf, needs)
        formulas = {Ac: self._map, gamma: self._rate, e_c: self._errors, r_c: self._steps, p_c: self._paths}
        if leaf not in formulas:
            raise UnboundLeafError(f"{leaf}: robot {self.robot!r} gives no value for it at the world")
        return formulas[leaf](*needs)

    @property
    def ends(self) -> list[int]:
        """Where the ends stand in the stack of all ends."""
        links = [x for x in self.links if not isinstance(x, JointLink)]
        return [end for x in links for end in (x.inner, x.outer) if end is not None]

    def _map(self, poses: Block, closed: Block) -> Block:
        """Return A: the rows at both ends, where they hold."""
        found = zeros(len(closed), len(poses))
        for link, at, ends in self._each(poses):
            outer, inner = link.map(*ends)
            found[at, link.outer : link.outer + 6] = outer
            if link.inner is not None:
                found[at, link.inner : link.inner + 6] = inner
        for link, row in self._joints:
            found[row, link.outer] = 1.0
        return closed[:, None] * found

    def _rate(self, poses: Block, velocities: Block, closed: Block) -> Block:
        """Return γ, with which d/dt (A V) = A α + γ."""
        found = zeros(len(closed))
        for link, at, ends in self._each(poses):
            found[at] = link.rate(*ends, *self._velocities(link, velocities))
        return closed * found

    def _errors(self, poses: Block, closed: Block) -> Block:
        """Return the errors of closures and the gaps of contacts, in the rows that are kept and hold."""
        found = zeros(len(closed))
        for link, at, ends in self._each(poses):
            found[at] = link.error(*ends)
        return closed * found

    def _steps(
        self,
        poses: Block,
        velocities: Block,
        closed: Block,
        bounce: Block,
        pace: Block,
        distances: Block,
        ground: Block,
    ) -> Block:
        """Return what a step must not leave."""
        found = zeros(len(closed))
        for link, at, ends in self._each(poses):
            moving = Moving(*ends, *self._velocities(link, velocities))
            found[at] = link.step(moving, StepRows(bounce[at], pace[at], ground[at]))
        for link, row in self._joints:
            found[row] = link.step(velocities[link.outer], distances[link.outer], pace[row])
        return closed * found

    def _paths(self, poses: Block, velocities: Block, accelerations: Block, closed: Block) -> Block:
        """Return half the accelerations across closures and of gaps along the path of a step."""
        found = zeros(len(closed))
        for link, at, ends in self._each(poses):
            moving, rates = self._velocities(link, velocities), self._velocities(link, accelerations)
            outer, inner = link.map(*ends)
            found[at] = link.along(link.rate(*ends, *moving) + outer @ rates[1] + inner @ rates[0])
        return closed * found

    def _velocities(self, link: LinkKind | ContactLink, stack: Block) -> tuple[Block, Block]:
        return zeros(6) if link.inner is None else _at(stack, link.inner), _at(stack, link.outer)

    def _each(self, poses: Block) -> Iterator[tuple[LinkKind | ContactLink, slice, tuple[Block, Block]]]:
        """Yield each link, where its rows stand, and the transforms to its inner and outer end."""
        for link, start, fixed in zip(self.links, self._starts, self.fixed, strict=True):
            if isinstance(link, JointLink):
                continue
            inner = _at(poses, link.inner) if link.inner is not None else fixed
            assert inner is not None
            yield link, slice(start, start + link.size), (inner, _at(poses, link.outer))

    @property
    def _starts(self) -> list[int]:
        """The first row of each link."""
        return [0, *accumulate(x.size for x in self.links)][:-1]

    @property
    def _joints(self) -> list[tuple[JointLink, int]]:
        """The rows of joints."""
        return [(x, k) for x, k in zip(self.links, self._starts, strict=True) if isinstance(x, JointLink)]


def across(inner: Block, outer: Block) -> Block:
    """Return X of a closure, which takes motions from its inner to its outer end."""
    e, low, f, g = outer[:3, :3], outer[3:, :3], inner[:3, :3], inner[3:, :3]
    found = zeros(6, 6)
    found[:3, :3] = found[3:, 3:] = e @ f.T
    found[3:, :3] = low @ f.T + e @ g.T
    return found


def _at(stack: Block, end: int) -> Block:
    return stack[end : end + 6]


def _motion_cross(v: Block, m: Block) -> Block:
    """Return v × m of two motions: Featherstone (2.31)."""
    return np.concatenate([cross(v[:3], m[:3]), cross(v[:3], m[3:]) + cross(v[3:], m[:3])])


def _as_transform(x: Block) -> Transform:
    """Return a motion matrix [E 0; −E r× E] as a transform."""
    rx = -(x[:3, :3].T @ x[3:, :3])
    return Transform(x[:3, :3], np.array([rx[2, 1], rx[0, 2], rx[1, 0]], dtype=x.dtype))


def _taken_matrix(numbers: Iterator[Any]) -> Block:
    """Take E and −E r× of a constant transform."""
    found = zeros(6, 6)
    found[:3, :3].flat[:] = [next(numbers) for _ in range(9)]
    found[3:, 3:] = found[:3, :3]
    found[3:, :3].flat[:] = [next(numbers) for _ in range(9)]
    return found
