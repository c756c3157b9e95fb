"""The letters of closures at the world, where values from both ends of each closure meet.

A closure allows the motions of a joint between two frames, its inner and its outer end. With X from the
inner to the outer end and V the velocities of the ends in their own frames, the velocity across it is V(s)
− X V(p), and the rows Rᵀ of its joint say what of that must vanish: Featherstone section 9.4, JPL 88-11
part II (2.7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.algebra import Ac, Leaf, e_c, gamma
from hinge.errors import UnboundLeafError
from hinge.model import Closure, closure_error_of, rows_of
from hinge.spatial import Transform, cross
from hinge.sweeps import Block, zeros


@dataclass(frozen=True)
class LinkKind:
    """A closure without its numbers.

    `inner` and `outer` are the indices of its ends in the stack of all ends, `inner` None at the world.
    `rows` are the rows of its joint that are kept, of all that `closure` has.
    """

    closure: Closure
    inner: int | None
    outer: int
    rows: tuple[int, ...]


class WorldSite:
    """The letters at the world of a robot with closures, with numbers in the order they are taken in."""

    def __init__(self, links: Sequence[LinkKind], numbers: Sequence[Any], robot: str) -> None:
        self.links, self.robot = links, robot
        left = iter(numbers)
        self.fixed = [_taken_matrix(left) if x.inner is None else None for x in links]
        assert not list(left), "numbers of the world that nothing takes"

    def formula(self, leaf: Leaf, needs: Sequence[Block]) -> Block:
        """Return a leaf that is a function of the ends of closures.

        Arguments are the motion transforms from the world to the ends (6 n, 6), for γ their velocities, and
        the rows that hold.
        """
        formulas = {Ac: self._map, gamma: self._rate, e_c: self._errors}
        if leaf not in formulas:
            raise UnboundLeafError(f"{leaf}: robot {self.robot!r} gives no value for it at the world")
        return formulas[leaf](*needs)

    def _across(self, k: int, poses: Block) -> Block:
        """Return X of a closure, which takes motions from its inner to its outer end."""
        link, fixed = self.links[k], self.fixed[k]
        outer = _at(poses, link.outer)
        inner = fixed if link.inner is None else _at(poses, link.inner)
        assert inner is not None
        e, low, f, g = outer[:3, :3], outer[3:, :3], inner[:3, :3], inner[3:, :3]
        found = zeros(6, 6)
        found[:3, :3] = found[3:, 3:] = e @ f.T
        found[3:, :3] = low @ f.T + e @ g.T
        return found

    def _map(self, poses: Block, closed: Block) -> Block:
        """Return A: Rᵀ at the outer end, −Rᵀ X at the inner end, in the rows that hold."""
        found = zeros(len(closed), len(poses))
        for k, link, rows, at in self._each():
            found[at, 6 * link.outer : 6 * link.outer + 6] = rows
            if link.inner is not None:
                found[at, 6 * link.inner : 6 * link.inner + 6] = -(rows @ self._across(k, poses))
        return closed[:, None] * found

    def _rate(self, poses: Block, velocities: Block, closed: Block) -> Block:
        """Return γ = Rᵀ (V × X V(p)), where V is the velocity across: d/dt (A V) = A α + γ."""
        found = zeros(len(closed))
        for k, link, rows, at in self._each():
            if link.inner is not None:
                inner = self._across(k, poses) @ _at(velocities, link.inner)
                found[at] = rows @ _motion_cross(_at(velocities, link.outer) - inner, inner)
        return closed * found

    def _errors(self, poses: Block, closed: Block) -> Block:
        """Return the errors of the closures in the rows that are kept and hold."""
        found = zeros(len(closed))
        for k, link, _, at in self._each():
            whole = closure_error_of(rows_of(link.closure.joint), _as_transform(self._across(k, poses)))
            found[at] = whole[list(link.rows)]
        return closed * found

    def _each(self) -> Iterator[tuple[int, LinkKind, Block, slice]]:
        """Yield number, kind, kept rows of Rᵀ, and where they stand, of each closure."""
        start = 0
        for k, link in enumerate(self.links):
            rows = rows_of(link.closure.joint).matrix[list(link.rows)].astype(object)
            yield k, link, rows, slice(start, start + len(rows))
            start += len(rows)


def _at(stack: Block, end: int) -> Block:
    return stack[6 * end : 6 * end + 6]


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
