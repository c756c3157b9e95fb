"""Laws of contact: the solution of a convex problem over cones, each state until it is done.

    least ½ λᵀ Ω λ + bᵀ λ   over   λ in a product of sets

With u = Ω λ + b this says of each set: free rows have u = 0; of half lines λ ≥ 0, u ≥ 0 and λ u = 0; in a box
|λ| ≤ c, u is against λ where that is at its bound, else zero; in a cone |λ_t| ≤ μ λ_n the velocity u lies in
the dual cone and λ · u = 0. Ω = Wᵀ W may be singular: u is unique all the same.

Rows stand in triples, cones as [n, t₁, t₂], and are scaled so that cones become self-dual, diagonals near 1,
and the largest approach 1. Contacts that are far away are left out (`cone_problem`). Two methods take turns:

1. Newton's, on f = λ − Π(λ − ρ u) with the projection Π onto the sets. Its Jacobian has the symmetric form
   δ = −f + Q y, (I − P + ρ Q Ω Q) y = Q (ρ Ω f − f) with P = Π′ = Q². From a start near the solution, as the
   step before in a simulation gives, one to three rounds do. Where that is not near, a round begins with two
   sweeps of projected Gauss–Seidel, which find out cheaply who slides and who parts. Where it is, its factors
   serve a second step, which takes the digits that a singular Ω leaves.
2. For states that it does not solve, interior points (`interior`). Newton's method then takes the last digits
   from there.

What comes back has the least |f| that was seen. Coulomb's law is answered by rounds of this (`sliding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import NamedTuple, TypeAlias

from hinge.targets.arithmetic import Arithmetic, Index, Listed, Numbers, Value, larger
from hinge.targets.cone_problem import ConeProblem, Given
from hinge.targets.cone_sets import projection
from hinge.targets.interior import Interior
from hinge.targets.triples import factor, matrix_product, product, solved, spread, symmetric, times

#: Kinds of triples, and where they begin and end.
Kinds: TypeAlias = Sequence[tuple[str, int, int]]
#: The step of the projection, and what makes a singular Jacobian regular.
RHO, LONGER, TURNS, REGULAR = 6.0, 10.0, 4, {"float64": 1e-6, "float32": 1e-4}
#: How much closer the interior-point method goes where Newton's does not end from where it stopped.
CLOSER = 1e-2
#: Rounds of Newton's method, and of each search for a step length in it: by how much it gets shorter, and how
#: short it may get.
NEWTON_ROUNDS, SEARCH_ROUNDS, SHORTER, SHORTEST_STEP = 6, 3, 0.4, 0.3
#: |f| above which the first round begins with sweeps over the triples; above which later ones do, and below
#: which a round's factors serve a second step. Single precision gains from sweeps sooner.
FAR_AWAY, ROUGH = {"float64": 1e-2, "float32": 1e-3}, 1e-4
#: So many sweeps, with this step.
SWEEPS, GENTLE = 2, 0.5
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

    def __init__(self, m: Arithmetic, given: Given) -> None:
        super().__init__(m, given)
        self.f, self.roots = m.array(3 * self.count), m.array(6 * self.count)
        self.rho, self.moves, self.took, self.again = (m.array(1) for _ in range(4))
        self.turn, self.grown, self.largest = m.array(1), m.array(1), m.array(1)
        self.bent = m.array(self.count)

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
        # no method helps where something is not a number: |f| then was never below infinity
        solvable = (self.worst[0] > self.solved_at) & (self.worst[0] < inf)
        unsolved = m.where(solvable, self.still[0], 0.0)
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
        m, seek, least, warm = self.m, *(self.m.array(1) for _ in range(3))
        least[0], warm[0] = FAR_AWAY[m.dtype], 0.0
        self.velocities()
        self.live[0] = m.where(self.worst[0] > self.solved_at, self.still[0], 0.0)
        for t in self.taking_part():
            for x in self.get(self.x, t):
                warm[0] = larger(m, m.abs(x), warm[0])
            self.put(self.d, t, [0.0] * 3)
            self.put(self.h, t, [0.0] * 3)
        warm[0] = m.where(warm[0] > 0.0, self.live[0], 0.0)
        self._project_and_keep()
        for _ in m.rounds(NEWTON_ROUNDS, self.live):
            seek[0], least[0] = m.where(self.worst[0] > least[0], self.live[0] * warm[0], 0.0), ROUGH
            for _ in m.rounds(1, seek):
                self._sweep(seek)
            self.rounds[0] = self.rounds[0] + self.live[0]
            busy = self._factor()
            self.again[0], self.moves[0] = 0.0, self.live[0]
            for _ in m.rounds(2, self.moves):
                self._direction(busy)
                self._search()
                self.live[0] = self.live[0] * larger(m, self.took[0], self.again[0])
                self._keep()
                near = (self.worst[0] > POLISHED[m.dtype]) & (self.worst[0] < ROUGH) & (self.step[0] >= 1.0)
                self.moves[0] = m.where(near, self.moves[0] * self.took[0], 0.0)
                self.again[0] = 1.0

    def _project(self) -> None:
        """Set f at x + step d, the sum of squares of f and the largest |f|."""
        kinds, count = self.law.triples, self.count
        name = "_".join(f"{kind}{start}{end}" for kind, start, end in kinds)
        arrays = (
            self.x, self.d, self.u, self.h, self.step, self.rho, self.bound, self.near, self.f,
            self.total, self.largest,
        )  # fmt: skip
        self.m.shared(f"project_{count}_{name}", partial(_projected, kinds), *arrays)

    def _project_and_keep(self) -> None:
        """Set f at x, and keep x."""
        self.step[0] = 0.0
        self._project()
        self._keep()

    def _keep(self) -> None:
        """Keep x where it is the best so far, and stop where it is close."""
        m = self.m
        better = (self.largest[0] < self.worst[0]) & (self.still[0] > 0.0)
        for t in self.taking_part():
            for k in range(3):
                at = t * 3 + k
                self.best[at] = m.where(better, self.x[at], self.best[at])
                self.left[at] = m.where(better, m.abs(self.f[at]), self.left[at])
        self.worst[0] = m.where(better, self.largest[0], self.worst[0])
        self.live[0] = m.where(self.worst[0] > CLOSE[m.dtype], self.live[0], 0.0)

    def _sweep(self, seek: Numbers) -> None:
        """Project triple after triple, with the velocities that those before leave, where `seek` is 1."""
        m, near = self.m, self.near
        for _ in m.loop(0, SWEEPS):
            for kind, start, end in self.law.triples:
                # what is no cone always takes part, and stands first in the list
                for k in m.loop(start, near.count if kind == "cone" else end):
                    t = near[k]
                    x, u = self.get(self.x, t), self.get(self.u, t)
                    z = [m.fma(-GENTLE, v, y) for y, v in zip(x, u, strict=True)]
                    p, _ = projection(m, kind, z, self.bounds_of(t, kind))
                    p = [m.where(seek[0] > 0.0, v, y) for y, v in zip(x, p, strict=True)]
                    self.put(self.x, t, p)
                    moved = [v - y for y, v in zip(x, p, strict=True)]
                    for n in m.loop(0, k):
                        block = self.a.block(near[n], t)
                        spread(m, [list(row) for row in zip(*block, strict=True)], moved, self.u, near[n])
                    for n in m.loop(k, near.count):
                        spread(m, self.a.block(t, near[n]), moved, self.u, near[n])
        self._project_and_keep()

    def _factor(self) -> Listed:
        """Factor the Jacobian at x; triples that Π sends to zero in all states that move take no part.

        Blocks of triples with Q = 1 in all states are those of Ω. The product would give the same, so that
        the bits of a state are equal alone and in a batch.
        """
        m, s, rho, either = self.m, self.s, self.rho[0], self.m.array(1)
        self._set_roots()
        busy = m.chosen(self.count, lambda t: self.on[t] * self.live[0] * self._trace(t) > 0.0)
        for k in m.loop(0, busy.count):
            t = busy[k]
            q = self._root(t)
            for p in m.loop(k, busy.count):
                v = busy[p]
                s.set_block(k, p, [[x * rho for x in row] for row in self.a.block(t, v)])
                either[0] = larger(m, self.bent[t], self.bent[v])
                for _ in m.rounds(1, either):
                    block = matrix_product(m, matrix_product(m, q, self.a.block(t, v)), self._root(v))
                    s.set_block(k, p, [[x * rho for x in row] for row in block])
            square = matrix_product(m, q, q)
            for i in range(3):
                for j in range(i, 3):
                    less = (1.0 + REGULAR[m.dtype] if i == j else 0.0) - square[i][j]
                    s[k, k, i, j] = s[k, k, i, j] + less
        factor(m, s, self.pivots, busy)
        return busy

    def _set_roots(self) -> None:
        """Set Q at x; `bent` is 0 where it is the identity, as where a contact sticks, else 1."""
        m = self.m
        for kind, t in self.each():
            x, u = self.get(self.x, t), self.get(self.u, t)
            z = [m.fma(-self.rho[0], v, y) for y, v in zip(x, u, strict=True)]
            _, root = projection(m, kind, z, self.bounds_of(t, kind))
            for k in range(6):
                self.roots[t * 6 + k] = root[k]
            # Q is symmetric, between 0 and 1
            self.bent[t] = m.where(self._trace(t) >= 3.0, 0.0, 1.0)

    def _trace(self, t: Index) -> Value:
        """Return the trace of Q of a triple."""
        return self.roots[t * 6] + self.roots[t * 6 + 3] + self.roots[t * 6 + 5]

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
        """Go along d by the longest of a few lengths that lessens |f|; `took` is 1 where one does.

        f is then that at the end: where none does, at x.
        """
        m = self.m
        before, seek = m.array(1), m.array(1)
        before[0] = 0.0
        for t in self.taking_part():
            whole = before[0]
            for y in self.get(self.f, t):
                whole = m.fma(y, y, whole)
            before[0] = whole
        self.took[0], seek[0] = 0.0, self.moves[0]
        self.step[0] = m.where(self.moves[0] > 0.0, 1.0, 0.0)
        for _ in m.rounds(SEARCH_ROUNDS + 1, seek):
            self._project()
            good = self.total[0] < before[0] * (1.0 - 0.1 * self.step[0])
            self.took[0] = m.where(good, larger(m, seek[0], self.took[0]), self.took[0])
            seek[0] = m.where(good, 0.0, m.where(self.step[0] > 0.0, seek[0], 0.0))
            shorter = m.where(self.step[0] > SHORTEST_STEP, self.step[0] * SHORTER, 0.0)
            self.step[0] = m.where(seek[0] > 0.0, shorter, self.step[0])
        for t in self.taking_part():
            for k in range(3):
                at = t * 3 + k
                moves = self.took[0] > 0.0
                self.x[at] = m.where(moves, m.fma(self.step[0], self.d[at], self.x[at]), self.x[at])
                self.u[at] = m.where(moves, m.fma(self.step[0], self.h[at], self.u[at]), self.u[at])


def _projected(
    kinds: Kinds,
    m: Arithmetic,
    x: Numbers,
    d: Numbers,
    u: Numbers,
    h: Numbers,
    step: Numbers,
    rho: Numbers,
    bound: Numbers,
    near: Listed,
    f: Numbers,
    total: Numbers,
    largest: Numbers,
) -> None:
    """Set f = x − Π(x − ρ u), with x and u a step on along d and h; Σ f² and the largest |f|."""
    get, put = ConeProblem.get, ConeProblem.put
    total[0] = largest[0] = 0.0
    for kind, start, end in kinds:
        for k in m.loop(start, near.count if kind == "cone" else end):
            t = near[k] if kind == "cone" else k
            y = [m.fma(step[0], v, w) for v, w in zip(get(d, t), get(x, t), strict=True)]
            v = [m.fma(step[0], v, w) for v, w in zip(get(h, t), get(u, t), strict=True)]
            z = [m.fma(-rho[0], v, y) for y, v in zip(y, v, strict=True)]
            p, _ = projection(m, kind, z, get(bound, t) if kind == "box" else ())
            left = [v - w for v, w in zip(y, p, strict=True)]
            put(f, t, left)
            whole, most = total[0], largest[0]
            for v in left:  # NaN stays: what has it is never the best
                whole = m.fma(v, v, whole)
                most = m.where(most >= m.abs(v), most, m.abs(v))
            total[0], largest[0] = whole, most
