"""Laws of contact: the solution of a convex problem over cones, each state until it is done.

    least ½ λᵀ Ω λ + bᵀ λ   over   λ in a product of sets

With u = Ω λ + b this says of each set: free rows have u = 0; of half lines λ ≥ 0, u ≥ 0 and λ u = 0; in a box
|λ| ≤ c, u is against λ where that is at its bound, else zero; in a cone |λ_t| ≤ μ λ_n the velocity u lies in
the dual cone and λ · u = 0. Ω may be singular: u is unique all the same.

Rows stand in triples, cones as [n, t₁, t₂], and are scaled so that cones become self-dual, diagonals near 1,
and the largest approach 1. Two methods take turns:

1. Newton's, on f = λ − Π(λ − ρ u) with the projection Π onto the sets. Its Jacobian has the symmetric form
   δ = −f + Q y, (I − P + ρ Q Ω Q) y = Q (ρ Ω f − f) with P = Π′ = Q². From a start near the solution, as the
   step before in a simulation gives, one to three rounds do.
2. For states that it does not solve, a primal-dual interior-point method with Nesterov and Todd's scaling and
   Mehrotra's corrector: some ten rounds from anywhere, also where Ω is singular. Newton's method then takes
   the last digits from there.

What comes back has the least |f| that was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from hinge.sweeps import ForceLaw
from hinge.targets.arithmetic import Arithmetic, Index, Numbers, Value, larger, smaller
from hinge.targets.cone_sets import (
    FAR,
    correction,
    dual,
    interior_start,
    pairing,
    projection,
    reach,
    scaling,
    slack_steps,
)
from hinge.targets.triples import (
    UPPER,
    Matrix,
    factor,
    matrix_product,
    product,
    solved,
    symmetric,
    times,
)

#: The step of the projection, and what makes a singular Jacobian regular.
RHO, LONGER, TURNS, REGULAR = 3.0, 10.0, 4, 1e-9
#: How much closer the interior-point method goes where Newton's does not end from where it stopped.
CLOSER = 1e-2
#: Rounds of Newton's method, of each search for a step length in it, and of the interior-point method.
NEWTON_ROUNDS, SEARCH_ROUNDS, INTERIOR_ROUNDS = 6, 3, 30
#: A state is solved when |f| is below the first; the interior-point method stops at the second.
SOLVED = {"float64": (1e-10, 1e-10), "float32": (1e-5, 1e-4)}
#: Shares of the largest diagonal entry below which a row counts as zero.
NOTHING = {"float64": 1e-14, "float32": 1e-7}
#: The share of the way to the boundary that an interior step takes.
SHORT = 0.99
#: Steps that are shorter lead nowhere.
SHORTEST = 1e-7


class Answer(NamedTuple):
    """λ, |f| by row, and the number of rounds, at the places of a law."""

    forces: Numbers
    residual: Numbers
    rounds: Numbers


def answer(
    m: Arithmetic, law: ForceLaw, matrix: Numbers, right: Numbers, start: Numbers, bound: Numbers
) -> Answer:
    """Return the solution for Ω (n n), b, a start and bounds at the n places of the law.

    Of Ω the blocks of triples on and above the diagonal are read. Bounds are c of boxes, and μ of cones in
    the first of their rows. The arrays are overwritten.
    """
    return _Problem(m, law, Matrix(matrix, len(law.places) // 3), right, start, bound).answer()


Triple = Sequence[Value]


class _Problem:
    """A problem, scaled; arrays have a number for each place."""

    def __init__(
        self, m: Arithmetic, law: ForceLaw, a: Matrix, right: Numbers, start: Numbers, bound: Numbers
    ) -> None:
        self.m, self.law, self.a, self.b, self.bound = m, law, a, right, bound
        self.count = a.triples
        n = 3 * self.count
        self.scale, self.most, self.live = m.array(n), m.array(1), m.array(1)
        self.x, self.u, self.f, self.y, self.d, self.h = (m.array(n) for _ in range(6))
        self.best, self.left, self.rounds, self.worst = m.array(n), m.array(n), m.array(1), m.array(1)
        self.q, self.s = m.array(6 * self.count), Matrix(m.array(n * n), self.count)
        self.pivots, self.total, self.step = m.array(n), m.array(1), m.array(1)
        self.slack, self.other = m.array(n), m.array(n)
        self.ds, self.dt, self.k = m.array(n), m.array(n), m.array(n)
        self.gap, self.failed, self.rho = m.array(1), m.array(1), m.array(1)
        self.inner, self.enough = m.array(n), m.array(1)
        self.solved_at, self.interior_at = SOLVED[m.dtype]
        self.rho[0] = RHO
        self.all = m.chosen(self.count, lambda _: self.rho[0] > 0.0)
        self._scale(start)

    # Triples.

    def each(self) -> Iterator[tuple[str, Index]]:
        """Run over the triples with their kinds."""
        for kind, start, end in self.law.triples:
            for t in self.m.loop(start, end):
                yield kind, t

    @staticmethod
    def get(x: Numbers, t: Index) -> list[Value]:
        return [x[t * 3 + k] for k in range(3)]

    @staticmethod
    def put(x: Numbers, t: Index, values: Triple) -> None:
        for k in range(3):
            x[t * 3 + k] = values[k]

    def fill(self, x: Numbers, c: float) -> None:
        for t in self.m.loop(0, self.count):
            self.put(x, t, [c, c, c])

    # Scales.

    def _scale(self, start: Numbers) -> None:
        m, a = self.m, self.a
        self.most[0] = 0.0
        for t in m.loop(0, self.count):
            for k in range(3):
                self.most[0] = larger(m, a[t, t, k, k], self.most[0])
        least = self.most[0] * NOTHING[m.dtype]
        for kind, t in self.each():
            own, mu = [a[t, t, k, k] for k in range(3)], self.bound[t * 3]
            if kind == "cone":
                own = [(own[0] + mu * mu * (own[1] + own[2])) * (1 / 3)] * 3
            if kind == "box":  # one without width has no force
                own = [m.where(c <= 0.0, 0.0, x) for x, c in zip(own, self.get(self.bound, t), strict=True)]
            # NaN stays
            roots = [m.where(x <= least, 0.0, 1.0 / m.sqrt(m.where(x <= least, 1.0, x))) for x in own]
            if kind == "cone":
                roots = [roots[0], roots[1] * mu, roots[2] * mu]
            self.put(self.scale, t, roots)
        for t in m.loop(0, self.count):
            mine = self.get(self.scale, t)
            for v in m.loop(t, self.count):
                yours = self.get(self.scale, v)
                block = [
                    [x * mine[i] * yours[j] for j, x in enumerate(row)] for i, row in enumerate(a.block(t, v))
                ]
                a.set_block(t, v, block)
                a.set_block(v, t, [list(column) for column in zip(*block, strict=True)])
        for t in m.loop(0, self.count):
            for k in range(3):
                a[t, t, k, k] = m.where(self.scale[t * 3 + k] > 0.0, a[t, t, k, k], 1.0)
        self._scale_right(start)

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
        size = m.where(self.most[0] > 0.0, self.most[0], 1.0)
        self.most[0] = size
        for kind, t in self.each():
            for k in range(3):
                at = t * 3 + k
                s = self.scale[at] * size
                inverse = m.where(s > 0.0, 1.0 / m.where(s > 0.0, s, 1.0), 0.0)
                self.b[at] = self.b[at] / size
                self.x[at] = start[at] * inverse
                if kind == "box":
                    self.bound[at] = m.where(s > 0.0, self.bound[at] * inverse, 1.0)

    # All of it.

    def answer(self) -> Answer:
        """Solve, and return what was found in the units of the problem."""
        m = self.m
        self.rounds[0], self.worst[0], self.live[0] = 0.0, inf, 1.0
        self.fill(self.best, 0.0)
        self.fill(self.left, self.worst[0])
        turn, still = m.array(1), m.array(1)
        turn[0], still[0], self.failed[0] = 0.0, 1.0, 0.0
        self.rho[0], self.enough[0] = RHO, self.interior_at / CLOSER
        for _ in m.rounds(TURNS, still):
            self._interior(turn[0] <= 1.0)
            self._newton()
            still[0] = m.where(self.worst[0] > self.solved_at, 1.0, 0.0)
            self.failed[0], turn[0] = still[0], turn[0] + 1.0
            self.rho[0], self.enough[0] = self.rho[0] * LONGER, self.enough[0] * CLOSER
        for t in m.loop(0, self.count):
            for k in range(3):
                at = t * 3 + k
                self.best[at] = self.best[at] * self.scale[at] * self.most[0]
        return Answer(self.best, self.left, self.rounds)

    # Newton's method.

    def _newton(self) -> None:
        m = self.m
        self._velocities()
        self.live[0] = m.where(self.worst[0] > self.solved_at, 1.0, 0.0)
        self._project()
        for _ in m.rounds(NEWTON_ROUNDS, self.live):
            self.rounds[0] = self.rounds[0] + self.live[0]
            self._direction()
            self._search()
            self._project()

    def _velocities(self) -> None:
        """Set u = Ω x + b."""
        times(self.m, self.a, self.x, self.u)
        for t in self.m.loop(0, self.count):
            self.put(
                self.u, t, [u + b for u, b in zip(self.get(self.u, t), self.get(self.b, t), strict=True)]
            )

    def _project(self) -> None:
        """Set f and Q at x, keep x where it is the best so far, and stop where it is solved."""
        m = self.m
        self.total[0], rho = 0.0, self.rho[0]
        for kind, t in self.each():
            x, u = self.get(self.x, t), self.get(self.u, t)
            p, q = projection(
                m, kind, [m.fma(-rho, v, y) for y, v in zip(x, u, strict=True)], self._c(t, kind)
            )
            f = [y - v for y, v in zip(x, p, strict=True)]
            self.put(self.f, t, f)
            for k in range(6):
                self.q[t * 6 + k] = q[k]
            for y in f:  # NaN stays: what has it is never the best
                self.total[0] = m.where(self.total[0] >= m.abs(y), self.total[0], m.abs(y))
        better = self.total[0] < self.worst[0]
        for t in m.loop(0, self.count):
            for k in range(3):
                at = t * 3 + k
                self.best[at] = m.where(better, self.x[at], self.best[at])
                self.left[at] = m.where(better, m.abs(self.f[at]), self.left[at])
        self.worst[0] = m.where(better, self.total[0], self.worst[0])
        self.live[0] = m.where(self.worst[0] > self.solved_at, self.live[0], 0.0)

    def _c(self, t: Index, kind: str) -> Triple:
        return self.get(self.bound, t) if kind == "box" else ()

    def _direction(self) -> None:
        """Set the step d and h = Ω d; triples that Π sends to zero in all states take no part."""
        m, s, rho = self.m, self.s, self.rho[0]
        times(m, self.a, self.f, self.h)
        busy = m.chosen(self.count, lambda t: self.q[t * 6] + self.q[t * 6 + 3] + self.q[t * 6 + 5] > 0.0)
        for k in m.loop(0, busy.count):
            t = busy[k]
            h, f, q = self.get(self.h, t), self.get(self.f, t), self._root(t)
            self.put(self.y, k, product(m, q, [m.fma(rho, x, -y) for x, y in zip(h, f, strict=True)]))
            for p in m.loop(k, busy.count):
                v = busy[p]
                block = matrix_product(m, matrix_product(m, q, self.a.block(t, v)), self._root(v))
                s.set_block(k, p, [[x * rho for x in row] for row in block])
            square = matrix_product(m, q, q)
            for i in range(3):
                for j in range(i, 3):
                    less = (1.0 + REGULAR if i == j else 0.0) - square[i][j]
                    s[k, k, i, j] = s[k, k, i, j] + less
        factor(m, s, self.pivots, busy)
        solved(m, s, self.pivots, self.y, busy)
        for t in m.loop(0, self.count):
            self.put(self.d, t, [-f for f in self.get(self.f, t)])
        for k in m.loop(0, busy.count):
            t = busy[k]
            moved = product(m, self._root(t), self.get(self.y, k))
            self.put(self.d, t, [x + y for x, y in zip(moved, self.get(self.d, t), strict=True)])
        times(m, self.a, self.d, self.h)

    def _root(self, t: Index) -> list[list[Value]]:
        """Return Q of a triple."""
        return symmetric([self.q[t * 6 + k] for k in range(6)])

    def _search(self) -> None:
        """Go along d by the longest of a few lengths that lessens |f|; stop where none does."""
        m = self.m
        before, took, seek = m.array(1), m.array(1), m.array(1)
        self._squares(0.0)
        before[0] = self.total[0]
        self.step[0], took[0], seek[0] = 1.0, 0.0, self.live[0]
        for _ in m.rounds(SEARCH_ROUNDS, seek):
            self._squares(self.step[0])
            good = self.total[0] < before[0] * (1.0 - 0.1 * self.step[0])
            took[0] = m.where(good, larger(m, seek[0], took[0]), took[0])
            seek[0] = m.where(good, 0.0, seek[0])
            self.step[0] = m.where(seek[0] > 0.0, self.step[0] * 0.4, self.step[0])
        self.live[0] = self.live[0] * took[0]
        length = m.where(self.live[0] > 0.0, self.step[0], 0.0)
        for t in m.loop(0, self.count):
            for k in range(3):
                at = t * 3 + k
                moves = self.live[0] > 0.0
                self.x[at] = m.where(moves, m.fma(length, self.d[at], self.x[at]), self.x[at])
                self.u[at] = m.where(moves, m.fma(length, self.h[at], self.u[at]), self.u[at])

    def _squares(self, length: Value) -> None:
        """Set the sum of f² at x + length d."""
        m, rho = self.m, self.rho[0]
        self.total[0] = 0.0
        for kind, t in self.each():
            x = [m.fma(length, y, z) for y, z in zip(self.get(self.d, t), self.get(self.x, t), strict=True)]
            u = [m.fma(length, y, z) for y, z in zip(self.get(self.h, t), self.get(self.u, t), strict=True)]
            z = [m.fma(-rho, v, y) for y, v in zip(x, u, strict=True)]
            p, _ = projection(m, kind, z, self._c(t, kind))
            whole = self.total[0]
            for y, v in zip(x, p, strict=True):
                whole = m.fma(y - v, y - v, whole)
            self.total[0] = whole

    # The interior-point method.

    def _interior(self, begins: Value) -> None:
        """Go to within `enough` of the solution where Newton's method failed, on from where it stopped."""
        m = self.m
        self.live[0] = self.failed[0]
        for kind, t in self.each():
            start, slack, other = interior_start(m, kind, self.get(self.b, t))
            kept = [self.get(x, t) for x in (self.inner, self.slack, self.other)]
            chosen = [
                [m.where(begins, x, y) for x, y in zip(new, old, strict=True)]
                for new, old in zip((start, slack, other), kept, strict=True)
            ]
            now = self.get(self.x, t)
            self.put(
                self.x, t, [m.where(self.failed[0] > 0.0, x, y) for x, y in zip(chosen[0], now, strict=True)]
            )
            self.put(self.slack, t, chosen[1])
            self.put(self.other, t, chosen[2])
        for _ in m.rounds(INTERIOR_ROUNDS, self.live):
            self._interior_step()
        for t in m.loop(0, self.count):
            self.put(self.inner, t, self.get(self.x, t))

    def _interior_step(self) -> None:
        m, law = self.m, self.law
        self._velocities()
        error, self.gap[0] = m.array(1), 0.0
        error[0] = 0.0
        for kind, t in self.each():
            x, u, s, o = (self.get(y, t) for y in (self.x, self.u, self.slack, self.other))
            for y, v in zip(u, dual(kind, s, o), strict=True):
                error[0] = larger(m, m.abs(y - v), error[0])
            self.gap[0] = self.gap[0] + pairing(kind, x, s, o, self._c(t, kind))
        self.gap[0] = self.gap[0] * (1.0 / max(law.degree, 1))
        worst = larger(m, error[0], self.gap[0])
        usable = (worst < FAR * FAR) & (worst > self.enough[0])  # neither of NaN
        self.live[0] = m.where(usable, self.live[0], 0.0)
        self.rounds[0] = self.rounds[0] + self.live[0]
        for t in m.loop(0, self.count):
            for v in m.loop(t, self.count):
                self.s.set_block(t, v, self.a.block(t, v))
        for kind, t in self.each():
            x, s, o = (self.get(y, t) for y in (self.x, self.slack, self.other))
            w = scaling(m, kind, x, s, o, self._c(t, kind))
            for k, (i, j) in enumerate(UPPER):
                self.q[t * 6 + k] = w[k]
                self.s[t, t, i, j] = self.s[t, t, i, j] + w[k]
            for i in range(3):
                self.s[t, t, i, i] = self.s[t, t, i, i] + (1e-13 if m.dtype == "float64" else 1e-7)
        factor(m, self.s, self.pivots, self.all)
        # The affine step: its length says how far to centre.
        self.step[0], self.total[0] = 0.0, 0.0
        self._towards(lambda _kind, _t: ([0.0] * 3, [0.0] * 3))
        length = smaller(m, self._reach(), 1.0)
        for kind, t in self.each():
            x, s, o = (
                [m.fma(length, y, z) for y, z in zip(self.get(d, t), self.get(x, t), strict=True)]
                for d, x in ((self.d, self.x), (self.ds, self.slack), (self.dt, self.other))
            )
            self.total[0] = self.total[0] + pairing(kind, x, s, o, self._c(t, kind))
        share = self.total[0] * (1.0 / max(law.degree, 1)) / m.where(self.gap[0] > 0.0, self.gap[0], 1.0)
        share = smaller(m, larger(m, share, 0.0), 1.0)
        centre = m.array(1)
        centre[0] = share * share * share * self.gap[0]

        def corrected(kind: str, t: Index) -> tuple[Triple, Triple]:
            x, s, d, ds, dt = (self.get(y, t) for y in (self.x, self.slack, self.d, self.ds, self.dt))
            return correction(m, kind, x, s, d, ds, dt, centre[0], self._c(t, kind))

        self._towards(corrected)
        length = smaller(m, self._reach() * SHORT, 1.0)
        self._stop_at_nothing(length)
        for t in m.loop(0, self.count):
            for x, d in ((self.x, self.d), (self.slack, self.ds), (self.other, self.dt)):
                for k in range(3):
                    at = t * 3 + k
                    x[at] = m.where(self.live[0] > 0.0, m.fma(length, d[at], x[at]), x[at])

    def _stop_at_nothing(self, length: Value) -> None:
        """Stop where a step is too short, or is not a number, which is seen in its sum."""
        m = self.m
        self.total[0] = length
        for t in m.loop(0, self.count):
            self.total[0] = sum(
                (x[t * 3 + k] for x in (self.d, self.ds, self.dt) for k in range(3)), self.total[0]
            )
        usable = (m.abs(self.total[0]) < FAR * FAR) & (length > SHORTEST)
        self.live[0] = m.where(usable, self.live[0], 0.0)

    def _towards(self, more: Callable[[str, Index], tuple[Triple, Triple]]) -> None:
        """Set d and the steps of the slacks, for (Ω + W²) d = h − k − u with h, k = more."""
        m = self.m
        for kind, t in self.each():
            h, k = more(kind, t)
            self.put(self.h, t, h)
            self.put(self.k, t, k)
            u = self.get(self.u, t)
            self.put(self.y, t, [x - y - z for x, y, z in zip(h, k, u, strict=True)])
        solved(m, self.s, self.pivots, self.y, self.all)
        for kind, t in self.each():
            x, s, o, d, h, k = (
                self.get(y, t) for y in (self.x, self.slack, self.other, self.y, self.h, self.k)
            )
            w = [self.q[t * 6 + k] for k in range(6)]
            ds, dt = slack_steps(m, kind, x, s, o, d, h, k, w, self._c(t, kind))
            self.put(self.d, t, d)
            self.put(self.ds, t, ds)
            self.put(self.dt, t, dt)

    def _reach(self) -> Value:
        """Return how far d may be followed until something reaches its boundary."""
        m = self.m
        self.step[0] = 1e6
        for kind, t in self.each():
            x, d, s, ds, o, dt = (
                self.get(y, t) for y in (self.x, self.d, self.slack, self.ds, self.other, self.dt)
            )
            far = reach(m, kind, x, d, s, ds, o, dt, self._c(t, kind))
            self.step[0] = smaller(m, far, self.step[0])
        return self.step[0]
