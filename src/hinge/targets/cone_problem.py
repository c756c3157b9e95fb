"""A problem of contact in triples of rows, scaled, and the contacts that take part in it.

Ω = Wᵀ W of the triples that count is made of W when a state needs it. A cone that starts without a force and
would part without one is left out at first. What the others exert may close it: that is seen in its velocity,
and it comes back. So a contact that is far away costs its velocity, and nothing that grows with the square or
the cube of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hinge.sweeps import ForceLaw
from hinge.targets.arithmetic import Arithmetic, Index, Listed, Numbers, Value, larger
from hinge.targets.arranged import Arranged, Share
from hinge.targets.cone_sets import TINY
from hinge.targets.triples import Matrix

Triple = Sequence[Value]
#: Shares of the largest diagonal entry below which a row counts as zero.
NOTHING = {"float64": 1e-14, "float32": 1e-7}
#: A state is solved when |f| is below the first; the interior-point method stops at the second.
SOLVED = {"float64": (1e-9, 1e-10), "float32": (1e-5, 1e-4)}


class Given(NamedTuple):
    """A law, where its numbers stand, and these: the shares of W, b, a start, and bounds.

    Bounds are c of boxes, and μ of cones in the first of their rows. The arrays are overwritten.
    """

    law: ForceLaw
    order: Arranged
    factors: Sequence[Numbers]
    right: Numbers
    start: Numbers
    bounds: Numbers


class Factor:
    """The numbers of a share of W: for each triple its rows, of three numbers each."""

    def __init__(self, share: Share, numbers: Numbers) -> None:
        self.first, self.end, self.height = share.first, share.end, len(share.rows)
        self.numbers = numbers

    def rows(self, t: Index) -> list[list[Value]]:
        """Return the rows of a triple."""
        start = (t + -self.first) * (3 * self.height)
        return [[self.numbers[start + (3 * r + j)] for j in range(3)] for r in range(self.height)]


class ConeProblem:
    """A problem, scaled; arrays have a number for each place.

    `near` lists the triples that take part in some state, and `on` is 1 for those of a state, else 0.
    """

    def __init__(self, m: Arithmetic, given: Given) -> None:
        self.m, self.law, self.count = m, given.law, given.order.triples
        self.b, self.bound = given.right, given.bounds
        self.factors = [Factor(s, x) for s, x in zip(given.order.shares, given.factors, strict=True)]
        self.cones = self.count - self.law.cone
        n = 3 * self.count
        self.a, self.s = (Matrix(m.array(n * n), self.count) for _ in range(2))
        self.scale, self.x, self.u = (m.array(n) for _ in range(3))
        self.unscale = m.array(n)
        self.best, self.left = m.array(n), m.array(n)
        self.most, self.live, self.worst = m.array(1), m.array(1), m.array(1)
        self.on, self.still, self.away = m.array(self.count), m.array(1), m.array(1)
        self.solved_at, self.interior_at = SOLVED[m.dtype]
        self.still[0] = 1.0
        self.all = self.near = m.chosen(self.count, lambda _: self.still[0] > 0.0)
        self._scale_rows()
        self._scale_right(given.start)
        self._leave_out()

    # Triples.

    def each(self) -> Iterator[tuple[str, Index]]:
        """Run over the triples that take part, with their kinds."""
        for kind, start, end in self.law.triples:
            for k in self.m.loop(start, self.near.count if kind == "cone" else end):
                yield kind, self.near[k] if kind == "cone" else k

    def taking_part(self) -> Iterator[Index]:
        """Run over the triples that take part."""
        for k in self.m.loop(0, self.near.count):
            yield self.near[k]

    @staticmethod
    def get(x: Numbers, t: Index) -> list[Value]:
        """Return the numbers of a triple."""
        return [x[t * 3 + k] for k in range(3)]

    @staticmethod
    def put(x: Numbers, t: Index, values: Triple) -> None:
        """Set the numbers of a triple."""
        for k in range(3):
            x[t * 3 + k] = values[k]

    def fill(self, x: Numbers, c: Value) -> None:
        """Set all numbers."""
        for t in self.m.loop(0, self.count):
            self.put(x, t, [c, c, c])

    # Scales.

    def _scale_rows(self) -> None:
        """Find scales that make cones self-dual and diagonals of Ω near 1, and their inverses, or zeros."""
        m = self.m
        self.fill(self.u, 0.0)
        for f in self.factors:
            for t in m.loop(f.first, f.end):
                own = self.get(self.u, t)
                for row in f.rows(t):
                    own = [m.fma(x, x, y) for x, y in zip(row, own, strict=True)]
                self.put(self.u, t, own)
        self.most[0] = 0.0
        for t in m.loop(0, self.count):
            for x in self.get(self.u, t):
                self.most[0] = larger(m, x, self.most[0])
        least = self.most[0] * NOTHING[m.dtype]
        for kind, t in self.each():
            own, mu = self.get(self.u, t), self.bound[t * 3]
            if kind == "cone":
                own = [(own[0] + mu * mu * (own[1] + own[2])) * (1 / 3)]
            if kind == "box":  # one without width has no force
                own = [m.where(c <= 0.0, 0.0, x) for x, c in zip(own, self.get(self.bound, t), strict=True)]
            # NaN stays
            roots = [m.sqrt(m.where(x <= least, 1.0, x)) for x in own]
            inverse = [m.where(x <= least, 0.0, 1.0 / y) for x, y in zip(own, roots, strict=True)]
            roots = [m.where(x <= least, 0.0, y) for x, y in zip(own, roots, strict=True)]
            if kind == "cone":
                inverse = [inverse[0], inverse[0] * mu, inverse[0] * mu]
                across = m.where(mu > 0.0, roots[0] / m.where(mu > 0.0, mu, 1.0), 0.0)
                roots = [roots[0], across, across]
            self.put(self.scale, t, inverse)
            self.put(self.unscale, t, roots)

    def _scaled(self, t: Index) -> list[Value]:
        """Return the scales of a triple in the states that it takes part in, else zeros."""
        return [x * self.on[t] for x in self.get(self.scale, t)]

    def _scale_right(self, start: Numbers) -> None:
        """Scale b to a largest approach of one, and the start and bounds with it."""
        m = self.m
        self.most[0] = 0.0
        for kind, t in self.each():
            b = [x * s for x, s in zip(self.get(self.b, t), self.get(self.scale, t), strict=True)]
            self.put(self.b, t, b)
            one_sided = 3 if kind == "half" else 1 if kind == "cone" else 0
            for k, x in enumerate(b):
                self.most[0] = larger(m, -x if k < one_sided else m.abs(x), self.most[0])
        size = m.where(self.most[0] > TINY, self.most[0], 1.0)
        self.most[0] = size
        shrink = 1.0 / size
        for kind, t in self.each():
            for k in range(3):
                at = t * 3 + k
                inverse = self.unscale[at] * shrink
                self.b[at] = self.b[at] * shrink
                self.x[at] = start[at] * inverse
                if kind == "box":
                    self.bound[at] = m.where(inverse > 0.0, self.bound[at] * inverse, 1.0)

    # Who takes part.

    def _leave_out(self) -> None:
        """Leave out cones that have no force at the start, and part; what is not a number takes part."""
        m = self.m
        for t in m.loop(0, self.cones):
            self.on[t] = 1.0
        for t in m.loop(self.cones, self.count):
            x, b = self.get(self.x, t), self.get(self.b, t)
            idle = (_parts(m, b) >= 0.0) & (x[0] <= 0.0)
            self.on[t] = m.where(idle, 0.0, 1.0)
            self.put(self.x, t, [m.where(idle, 0.0, y) for y in x])

    def gather(self) -> None:
        """List the triples that take part in states that are not done, and make Ω of them: its upper half."""
        m, a = self.m, self.a
        self.near = m.chosen(self.count, lambda t: self.on[t] * self.still[0] > 0.0)
        whole = self.factors and (self.factors[0].first, self.factors[0].end) == (0, self.count)
        if not whole:
            for k in m.loop(0, self.near.count):
                for p in m.loop(k, self.near.count):
                    a.set_block(self.near[k], self.near[p], [[0.0] * 3] * 3)
        for n, f in enumerate(self.factors):
            self._add(f, bool(n) or not whole)
        for t in self.taking_part():
            for k in range(3):
                a[t, t, k, k] = m.where(self.scale[t * 3 + k] * self.on[t] > 0.0, a[t, t, k, k], 1.0)

    def _add(self, f: Factor, more: bool) -> None:
        """Add a share of Ω, or set it."""
        m, a = self.m, self.a
        near, shift = self.near, 0
        if (f.first, f.end) != (0, self.count):
            near = m.chosen(f.end - f.first, lambda t: self.on[t + f.first] * self.still[0] > 0.0)
            shift = f.first
        for k in m.loop(0, near.count):
            t = near[k] + shift
            mine, by = f.rows(t), self._scaled(t)
            for p in m.loop(k, near.count):
                v = near[p] + shift
                yours, own = f.rows(v), self._scaled(v)
                block: list[list[Value]] = [[0.0] * 3 for _ in range(3)]
                for row, other in zip(mine, yours, strict=True):
                    block = [[m.fma(row[i], other[j], block[i][j]) for j in range(3)] for i in range(3)]
                block = [[block[i][j] * (by[i] * own[j]) for j in range(3)] for i in range(3)]
                if more:
                    old = a.block(t, v)
                    block = [
                        [x + y for x, y in zip(*both, strict=True)] for both in zip(old, block, strict=True)
                    ]
                a.set_block(t, v, block)

    def call_back(self) -> None:
        """Let the cones take part that the forces of others close; `away` is 1 where there are any."""
        m, idle = self.m, self.m.array(1)
        idle[0], self.away[0] = 0.0, 0.0
        for t in m.loop(self.cones, self.count):
            idle[0] = larger(m, 1.0 - self.on[t], idle[0])
        idle[0] = idle[0] * self.still[0]
        for _ in m.rounds(1, idle):
            self._velocities_away()
            for t in m.loop(self.cones, self.count):
                closes = (_parts(m, self.get(self.u, t)) < -self.solved_at) & (self.on[t] <= 0.0)
                self.away[0] = m.where(closes, 1.0, self.away[0])
                self.on[t] = m.where(closes, self.still[0], self.on[t])
            idle[0] = 0.0
        self.away[0] = self.away[0] * self.still[0]

    def _velocities_away(self) -> None:
        """Set u = Wᵀ W x + b of all cones, of the best x."""
        m = self.m
        for t in m.loop(self.cones, self.count):
            self.put(self.u, t, self.get(self.b, t))
        on = m.chosen(self.count, lambda t: self.on[t] > 0.0)
        for f in self.factors:
            carried = self._carried(f, on)
            for t in m.loop(max(f.first, self.cones), f.end):
                u = [0.0] * 3
                for r, row in enumerate(f.rows(t)):
                    u = [m.fma(w, carried[r], y) for w, y in zip(row, u, strict=True)]
                by = self.get(self.scale, t)
                now = [m.fma(x, y, z) for x, y, z in zip(by, u, self.get(self.u, t), strict=True)]
                self.put(self.u, t, now)

    def _carried(self, f: Factor, on: Listed) -> list[Value]:
        """Return the rows of W in a share times the best x; what takes no part in any state has none."""

        def add(k: Index, sums: list[Value]) -> list[Value]:
            t = on[k] if everyone else k
            x = [y * c for y, c in zip(self.get(self.best, t), self._scaled(t), strict=True)]
            return [
                m.fma(row[0], x[0], m.fma(row[1], x[1], m.fma(row[2], x[2], y)))
                for row, y in zip(f.rows(t), sums, strict=True)
            ]

        m, everyone = self.m, f.end - f.first == self.count  # limbs have few
        first, end = (0, on.count) if everyone else (f.first, f.end)
        return m.fold(first, end, [0.0] * f.height, add)


def _parts(m: Arithmetic, u: Triple) -> Value:
    """Return how far within the cone a velocity is."""
    return u[0] - m.sqrt(m.fma(u[1], u[1], u[2] * u[2]))
