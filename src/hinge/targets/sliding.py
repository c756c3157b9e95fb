"""Coulomb's law: what slides does not rise.

With De Saxcé's s = μ |u_t| added to the normal velocity of each cone the associated law says u_n ≥ 0 where
it said u_n ≥ μ |u_t|, and friction against the sliding as before. So Coulomb's law is the fixed point of s ↦
μ |u_t| of what the associated law answers with it. In scaled triples s is |u_t| itself.

A round of the fixed point leaves up to μ²/(1 + μ²) of the error of one contact, and more where contacts act
on each other; Anderson's acceleration takes the rest by the last differences. It starts from what the first
forces leave, those of the step before: s is right to a step's change where contacts slide, and zero where
they stick. A solution need not exist, nor be the only one; what comes back is what met the law best.
"""

from __future__ import annotations

from math import inf

from hinge.targets.arithmetic import Arithmetic, Value, larger
from hinge.targets.cone_problem import Given, Triple
from hinge.targets.cone_sets import projection
from hinge.targets.cones import RHO, Answer, Problem
from hinge.targets.triples import Matrix, factor, solved

#: Rounds of the fixed point, and how many of the last differences it is accelerated by.
SLIDING_ROUNDS, DEPTH = 20, 3
#: A force within this share of its cone sticks: the contact is expected to go on doing so.
STICKS = 0.999
#: A state is solved below this residual, and s before the first round.
SLID, NONE = {"float64": 5e-10, "float32": 2e-5}, -1.0
#: What makes differences that are nearly the same harmless, on a unit diagonal.
ALIKE = {"float64": 1e-12, "float32": 1e-6}


class Sliding(Problem):
    """A problem with Coulomb's law in its cones; `lift` is s, `own` the normal velocities without it."""

    def __init__(self, m: Arithmetic, given: Given) -> None:
        super().__init__(m, given)
        k = max(1, self.law.cone)
        self.own, self.lift, self.miss = m.array(k), m.array(k), m.array(k)
        self.lifts, self.misses = ([m.array(k) for _ in range(DEPTH)] for _ in range(2))
        self.before_lift, self.before_miss = m.array(k), m.array(k)
        self.kept, self.kept_left = m.array(3 * self.count), m.array(3 * self.count)
        self.open, self.least, self.off = m.array(1), m.array(1), m.array(1)
        self.gram, self.pivots_3, self.shares = Matrix(m.array(9), 1), m.array(3), m.array(3)

    def answer(self) -> Answer:
        """Solve, and return what was found in the units of the problem."""
        m = self.m
        self._first_lift()
        self.rounds[0], self.open[0], self.least[0] = 0.0, 1.0, inf
        for k in m.loop(0, self.law.cone):
            self.before_lift[k] = NONE
            for x in (*self.lifts, *self.misses):
                x[k] = 0.0
        self.fill(self.kept, 0.0)
        self.fill(self.kept_left, inf)
        for _ in m.rounds(SLIDING_ROUNDS, self.open):
            self.still[0] = self.open[0]
            self.begin()
            self.solve()
            self._judge()
            self._accelerate()
            self._leave_out()
        for t in m.loop(0, self.count):
            self.put(self.best, t, self.get(self.kept, t))
            self.put(self.left, t, self.get(self.kept_left, t))
        return self.answered()

    def _first_lift(self) -> None:
        """Set s by the forces at the start, zero where these stick, and say who takes part with it."""
        m, first = self.m, self.cones
        for t in m.loop(0, self.count):
            self.on[t] = 1.0
            self.put(self.best, t, self.get(self.x, t))
        self._velocities_away()
        for k in m.loop(0, self.law.cone):
            t = k + first
            x = self.get(self.x, t)
            sticks = (x[0] > 0.0) & (_across(m, x) < x[0] * STICKS)
            self.own[k] = self.b[t * 3]
            self.lift[k] = m.where(sticks, 0.0, _across(m, self.get(self.u, t)))
            self.b[t * 3] = self.own[k] + self.lift[k]
        self._leave_out()

    def _judge(self) -> None:
        """Keep what meets the law best, and say which states are not done; `miss` is what s is off by."""
        m, first = self.m, self.cones
        self._velocities_away()
        self.off[0] = 0.0
        for t in m.loop(0, first):
            for y in self.get(self.left, t):
                self._worse(y)
        for k in m.loop(0, self.law.cone):
            t = k + first
            x, u = self.get(self.best, t), self.get(self.u, t)
            slip = _across(m, u)
            self.miss[k] = slip - self.lift[k]
            u[0] = u[0] + self.miss[k]
            idle = (x[0] <= 0.0) & (u[0] >= slip)  # what has parted is no part of the fixed point
            self.lift[k] = m.where(idle, slip, self.lift[k])
            self.miss[k] = m.where(idle, 0.0, self.miss[k])
            z = [m.fma(-RHO, v, y) for y, v in zip(x, u, strict=True)]
            p, _ = projection(m, "cone", z, ())
            f = [m.abs(y - v) for y, v in zip(x, p, strict=True)]
            self.put(self.left, t, f)
            for y in f:
                self._worse(y)
        better = (self.off[0] < self.least[0]) & (self.open[0] > 0.0)
        self.least[0] = m.where(better, self.off[0], self.least[0])
        for t in m.loop(0, self.count):
            for j in range(3):
                at = t * 3 + j
                self.x[at] = self.best[at]
                self.kept[at] = m.where(better, self.best[at], self.kept[at])
                self.kept_left[at] = m.where(better, self.left[at], self.kept_left[at])
        self.open[0] = m.where(self.least[0] > SLID[m.dtype], self.open[0], 0.0)
        self.open[0] = m.where(self.off[0] < inf, self.open[0], 0.0)  # nor for NaN

    def _worse(self, y: Value) -> None:
        """Let the residual be at least y; NaN stays."""
        m = self.m
        self.off[0] = m.where(self.off[0] >= y, self.off[0], y)

    def _accelerate(self) -> None:
        """Set the next s: that of the last round, less what the last differences say of its error.

        Anderson's acceleration: with differences ΔF of what s is off by, and ΔS of s, over the last rounds,
        s + f − (ΔS + ΔF) g, where g makes f − ΔF g least.
        """
        m, count = self.m, self.law.cone
        for older, newer in ((2, 1), (1, 0)):
            for x in (self.lifts, self.misses):
                for k in m.loop(0, count):
                    x[older][k] = x[newer][k]
        for k in m.loop(0, count):
            again = self.before_lift[k] > NONE
            self.lifts[0][k] = m.where(again, self.lift[k] - self.before_lift[k], 0.0)
            self.misses[0][k] = m.where(again, self.miss[k] - self.before_miss[k], 0.0)
            self.before_lift[k], self.before_miss[k] = self.lift[k], self.miss[k]
        shares = self._least_squares()
        for k in m.loop(0, count):
            step = self.lift[k] + self.miss[k]
            for x, y, share in zip(self.lifts, self.misses, shares, strict=True):
                step = m.fma(-share, x[k] + y[k], step)
            self.lift[k] = larger(m, step, 0.0)
            self.b[(k + self.cones) * 3] = self.own[k] + self.lift[k]

    def _least_squares(self) -> list[Value]:
        """Return g with the least |f − ΔF g|, by normal equations with a unit diagonal."""
        m, count = self.m, self.law.cone
        upper = [(i, j) for i in range(DEPTH) for j in range(i, DEPTH)]

        def add(k: Value, sums: list[Value]) -> list[Value]:
            rows, f = [x[k] for x in self.misses], self.miss[k]
            found = [m.fma(rows[i], rows[j], y) for (i, j), y in zip(upper, sums, strict=False)]
            return found + [m.fma(x, f, y) for x, y in zip(rows, sums[len(upper) :], strict=True)]

        sums = m.fold(0, count, [0.0] * (len(upper) + DEPTH), add)
        square = dict(zip(upper, sums, strict=False))
        unit = [
            m.where(square[i, i] > 0.0, 1.0 / m.sqrt(m.where(square[i, i] > 0.0, square[i, i], 1.0)), 0.0)
            for i in range(DEPTH)
        ]
        for i, j in upper:
            x = 1.0 + ALIKE[m.dtype] if i == j else square[i, j] * unit[i] * unit[j]
            self.gram[0, 0, i, j] = x
        for i in range(DEPTH):
            self.shares[i] = sums[len(upper) + i] * unit[i]
        one = m.chosen(1, lambda _: self.still[0] >= 0.0)
        factor(m, self.gram, self.pivots_3, one)
        solved(m, self.gram, self.pivots_3, self.shares, one)
        return [self.shares[i] * unit[i] for i in range(DEPTH)]


def _across(m: Arithmetic, u: Triple) -> Value:
    """Return the length of the tangential part."""
    return m.sqrt(m.fma(u[1], u[1], u[2] * u[2]))
