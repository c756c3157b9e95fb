"""Laws of contact: the solution of a convex problem over cones, each state until it is done.

    least ½ λᵀ Ω λ + bᵀ λ   over   λ in a product of sets

With u = Ω λ + b this says of each set: free rows have u = 0; of half lines λ ≥ 0, u ≥ 0 and λ u = 0; in a box
|λ| ≤ c, u is against λ where that is at its bound, else zero; in a cone |λ_t| ≤ μ λ_n the velocity u lies in
the dual cone and λ · u = 0. Ω = Wᵀ W may be singular: u is unique all the same.

Rows stand in triples, cones as [n, t₁, t₂], and are scaled so that cones become self-dual, diagonals near 1,
and the largest approach 1. Contacts that are far away are left out (`cone_problem`). Two methods take turns:

1. Newton's, on f = λ − Π(λ − ρ u) with the projection Π onto the sets. Its Jacobian has the symmetric form
   δ = −f + Q y, (I − P + ρ Q Ω Q) y = Q (ρ Ω f − f) with P = Π′ = Q². From a start near the solution, as the
   step before in a simulation gives, one to three rounds do. Each round's factors serve a second step, which
   takes the digits that a singular Ω leaves.
2. For states that it does not solve, interior points (`interior`). Newton's method then takes the last digits
   from there.

What comes back has the least |f| that was seen. Coulomb's law is answered by rounds of this (`sliding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from hinge.sweeps import ForceLaw
from hinge.targets.arithmetic import Arithmetic, Index, Listed, Numbers, Value, larger
from hinge.targets.arranged import Arranged
from hinge.targets.cone_sets import projection
from hinge.targets.interior import Interior
from hinge.targets.triples import factor, matrix_product, product, solved, symmetric, times

#: The step of the projection, and what makes a singular Jacobian regular.
RHO, LONGER, TURNS, REGULAR = 3.0, 10.0, 4, {"float64": 1e-7, "float32": 1e-4}
#: How much closer the interior-point method goes where Newton's does not end from where it stopped.
CLOSER = 1e-2
#: Rounds of Newton's method, and of each search for a step length in it.
NEWTON_ROUNDS, SEARCH_ROUNDS = 6, 3
#: How often contacts come back before all of them do.
COMEBACKS = 3
#: Newton's method ends this close to the law, nearer than what counts as solved; and a second step with the
#: factors of a round is taken down to that.
CLOSE, POLISHED = {"float64": 1e-12, "float32": 5e-6}, {"float64": 1e-13, "float32": 1e-6}


class Answer(NamedTuple):
    """λ, |f| by row, and the number of rounds, at the places of a law."""

    forces: Numbers
    residual: Numbers
    rounds: Numbers


class Problem(Interior):
    """A problem, and Newton's method for it."""

    def __init__(
        self,
        m: Arithmetic,
        law: ForceLaw,
        order: Arranged,
        factors: Sequence[Numbers],
        given: tuple[Numbers, Numbers, Numbers],
    ) -> None:
        super().__init__(m, law, order, factors, given)
        self.f, self.roots = m.array(3 * self.count), m.array(6 * self.count)
        self.rho, self.moves, self.took, self.again = (m.array(1) for _ in range(4))
        self.turn, self.grown = m.array(1), m.array(1)

    # All of it.

    def answer(self) -> Answer:
        """Solve, and return what was found in the units of the problem."""
        self.rounds[0] = 0.0
        self.begin()
        self.solve()
        return self.answered()

    def begin(self) -> None:
        """Forget what was found."""
        m = self.m
        self.worst[0] = inf
        self.turn[0], self.grown[0], self.failed[0] = 0.0, 0.0, 0.0
        self.rho[0], self.enough[0] = RHO, self.interior_at / CLOSER
        self.fill(self.best, 0.0)
        for t in m.loop(0, self.count):
            self.put(self.left, t, [m.where(self.on[t] > 0.0, inf, 0.0)] * 3)

    def solve(self) -> None:
        """Find x in the states that are not done, from where it stands."""
        m = self.m
        for _ in m.rounds(TURNS + COMEBACKS + 1, self.still):
            self.gather()
            for _ in m.rounds(1, self.failed):
                self.interior(self.turn[0] <= 1.0)
            self._newton()
            self.call_back()
            self._go_on()

    def answered(self) -> Answer:
        """Return what was found in the units of the problem."""
        m = self.m
        for t in m.loop(0, self.count):
            for k in range(3):
                at = t * 3 + k
                self.best[at] = self.best[at] * self.scale[at] * self.most[0]
        return Answer(self.best, self.left, self.rounds)

    def _go_on(self) -> None:
        """Say which states are not done, and what they try next: more contacts, or interior points."""
        m = self.m
        unsolved = m.where(self.worst[0] > self.solved_at, self.still[0], 0.0)
        self.turn[0], self.grown[0] = self.turn[0] + unsolved, self.grown[0] + self.away[0]
        self.failed[0] = m.where(self.turn[0] < float(TURNS), unsolved, 0.0)
        everyone = larger(m, self.failed[0], m.where(self.grown[0] >= float(COMEBACKS), self.away[0], 0.0))
        self.again[0] = self.away[0]
        for t in m.loop(self.cones, self.count):
            joins = (everyone > 0.0) & (self.on[t] <= 0.0)
            self.again[0] = m.where(joins, 1.0, self.again[0])
            self.on[t] = m.where(joins, 1.0, self.on[t])
        self.still[0] = larger(m, self.failed[0], self.away[0])
        self.worst[0] = m.where(self.again[0] > 0.0, inf, self.worst[0])
        for t in m.loop(0, self.count):
            for k in range(3):
                at = t * 3 + k
                self.x[at] = m.where(self.away[0] > 0.0, self.best[at], self.x[at])
        self.rho[0] = m.where(self.failed[0] > 0.0, self.rho[0] * LONGER, self.rho[0])
        self.enough[0] = m.where(self.failed[0] > 0.0, self.enough[0] * CLOSER, self.enough[0])

    # Newton's method.

    def _newton(self) -> None:
        m = self.m
        self.velocities()
        self.live[0] = m.where(self.worst[0] > self.solved_at, self.still[0], 0.0)
        self._project()
        for _ in m.rounds(NEWTON_ROUNDS, self.live):
            self.rounds[0] = self.rounds[0] + self.live[0]
            busy = self._factor()
            self.again[0], self.moves[0] = 0.0, self.live[0]
            for _ in m.rounds(2, self.moves):
                self._direction(busy)
                self._search()
                self.live[0] = self.live[0] * larger(m, self.took[0], self.again[0])
                self._project()
                far = (self.worst[0] > POLISHED[m.dtype]) & (self.step[0] >= 1.0)
                self.moves[0] = m.where(far, self.moves[0] * self.took[0], 0.0)
                self.again[0] = 1.0

    def _project(self) -> None:
        """Set f and Q at x, keep x where it is the best so far, and stop where it is close."""
        m = self.m
        self.total[0], rho = 0.0, self.rho[0]
        for kind, t in self.each():
            x, u = self.get(self.x, t), self.get(self.u, t)
            p, q = projection(
                m, kind, [m.fma(-rho, v, y) for y, v in zip(x, u, strict=True)], self.bounds_of(t, kind)
            )
            f = [y - v for y, v in zip(x, p, strict=True)]
            self.put(self.f, t, f)
            for k in range(6):
                self.q[t * 6 + k] = q[k]
            for y in f:  # NaN stays: what has it is never the best
                self.total[0] = m.where(self.total[0] >= m.abs(y), self.total[0], m.abs(y))
        better = (self.total[0] < self.worst[0]) & (self.still[0] > 0.0)
        for t in self.taking_part():
            for k in range(3):
                at = t * 3 + k
                self.best[at] = m.where(better, self.x[at], self.best[at])
                self.left[at] = m.where(better, m.abs(self.f[at]), self.left[at])
        self.worst[0] = m.where(better, self.total[0], self.worst[0])
        self.live[0] = m.where(self.worst[0] > CLOSE[m.dtype], self.live[0], 0.0)

    def _factor(self) -> Listed:
        """Factor the Jacobian at x; triples that Π sends to zero in all states take no part."""
        m, s, rho = self.m, self.s, self.rho[0]
        for t in self.taking_part():
            for k in range(6):
                self.roots[t * 6 + k] = self.q[t * 6 + k]
        busy = m.chosen(
            self.count,
            lambda t: (self.on[t] * (self.q[t * 6] + self.q[t * 6 + 3] + self.q[t * 6 + 5])) > 0.0,
        )
        for k in m.loop(0, busy.count):
            t = busy[k]
            q = self._root(t)
            for p in m.loop(k, busy.count):
                v = busy[p]
                block = matrix_product(m, matrix_product(m, q, self.a.block(t, v)), self._root(v))
                s.set_block(k, p, [[x * rho for x in row] for row in block])
            square = matrix_product(m, q, q)
            for i in range(3):
                for j in range(i, 3):
                    less = (1.0 + REGULAR[m.dtype] if i == j else 0.0) - square[i][j]
                    s[k, k, i, j] = s[k, k, i, j] + less
        factor(m, s, self.pivots, busy)
        return busy

    def _direction(self, busy: Listed) -> None:
        """Set the step d and h = Ω d, by the factors that are there."""
        m, rho = self.m, self.rho[0]
        times(m, self.a, self.f, self.h, self.near)
        for k in m.loop(0, busy.count):
            t = busy[k]
            h, f = self.get(self.h, t), self.get(self.f, t)
            wanted = [m.fma(rho, x, -y) for x, y in zip(h, f, strict=True)]
            self.put(self.y, k, product(m, self._root(t), wanted))
        solved(m, self.s, self.pivots, self.y, busy)
        for t in self.taking_part():
            self.put(self.d, t, [-f for f in self.get(self.f, t)])
        for k in m.loop(0, busy.count):
            t = busy[k]
            moved = product(m, self._root(t), self.get(self.y, k))
            self.put(self.d, t, [x + y for x, y in zip(moved, self.get(self.d, t), strict=True)])
        times(m, self.a, self.d, self.h, self.near)

    def _root(self, t: Index) -> list[list[Value]]:
        """Return Q of a triple where the Jacobian was factored."""
        return symmetric([self.roots[t * 6 + k] for k in range(6)])

    def _search(self) -> None:
        """Go along d by the longest of a few lengths that lessens |f|; `took` is 1 where one does."""
        m = self.m
        before, seek = m.array(1), m.array(1)
        before[0] = 0.0
        for t in self.taking_part():
            whole = before[0]
            for y in self.get(self.f, t):
                whole = m.fma(y, y, whole)
            before[0] = whole
        self.step[0], self.took[0], seek[0] = 1.0, 0.0, self.moves[0]
        for _ in m.rounds(SEARCH_ROUNDS, seek):
            self._squares(self.step[0])
            good = self.total[0] < before[0] * (1.0 - 0.1 * self.step[0])
            self.took[0] = m.where(good, larger(m, seek[0], self.took[0]), self.took[0])
            seek[0] = m.where(good, 0.0, seek[0])
            self.step[0] = m.where(seek[0] > 0.0, self.step[0] * 0.4, self.step[0])
        moves = (self.moves[0] > 0.0) & (self.took[0] > 0.0)
        for t in self.taking_part():
            for k in range(3):
                at = t * 3 + k
                self.x[at] = m.where(moves, m.fma(self.step[0], self.d[at], self.x[at]), self.x[at])
                self.u[at] = m.where(moves, m.fma(self.step[0], self.h[at], self.u[at]), self.u[at])

    def _squares(self, length: Value) -> None:
        """Set the sum of f² at x + length d."""
        m, rho = self.m, self.rho[0]
        self.total[0] = 0.0
        for kind, t in self.each():
            x = [m.fma(length, y, z) for y, z in zip(self.get(self.d, t), self.get(self.x, t), strict=True)]
            u = [m.fma(length, y, z) for y, z in zip(self.get(self.h, t), self.get(self.u, t), strict=True)]
            z = [m.fma(-rho, v, y) for y, v in zip(x, u, strict=True)]
            p, _ = projection(m, kind, z, self.bounds_of(t, kind))
            whole = self.total[0]
            for y, v in zip(x, p, strict=True):
                whole = m.fma(y - v, y - v, whole)
            self.total[0] = whole
