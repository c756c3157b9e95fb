"""A primal-dual interior-point method for problems of contact, with Nesterov and Todd's scaling and
Mehrotra's corrector: some ten rounds from anywhere, also where Ω is singular.
"""

from __future__ import annotations

from collections.abc import Callable

from hinge.targets.arithmetic import Arithmetic, Index, Value, larger, smaller
from hinge.targets.cone_problem import ConeProblem, Given, Triple
from hinge.targets.cone_sets import (
    FAR,
    correction,
    dual,
    interior_start,
    pairing,
    reach,
    scaling,
    slack_steps,
)
from hinge.targets.triples import UPPER, factor, solved, times

#: Rounds, the share of the way to the boundary that a step takes, and the step that leads nowhere.
INTERIOR_ROUNDS, SHORT, SHORTEST = 30, 0.99, 1e-7


class Interior(ConeProblem):
    """A problem with what interior points need: slacks, and where the last search stopped."""

    def __init__(self, m: Arithmetic, given: Given) -> None:
        super().__init__(m, given)
        n = 3 * self.count
        self.slack, self.other, self.inner = m.array(n), m.array(n), m.array(n)
        self.y, self.d, self.h, self.k = (m.array(n) for _ in range(4))
        self.ds, self.dt, self.q = m.array(n), m.array(n), m.array(6 * self.count)
        self.pivots, self.total, self.step = m.array(n), m.array(1), m.array(1)
        self.gap, self.failed, self.enough = m.array(1), m.array(1), m.array(1)
        self.rounds = m.array(1)

    def velocities(self) -> None:
        """Set u = Ω x + b."""
        times(self.m, self.a, self.x, self.u, self.near)
        for t in self.taking_part():
            self.put(
                self.u, t, [u + b for u, b in zip(self.get(self.u, t), self.get(self.b, t), strict=True)]
            )

    def bounds_of(self, t: Index, kind: str) -> Triple:
        """Return the bounds of a box."""
        return self.get(self.bound, t) if kind == "box" else ()

    def interior(self, begins: Value) -> None:
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
        self.velocities()
        error, self.gap[0] = m.array(1), 0.0
        error[0] = 0.0
        for kind, t in self.each():
            x, u, s, o = (self.get(y, t) for y in (self.x, self.u, self.slack, self.other))
            for y, v in zip(u, dual(kind, s, o), strict=True):
                error[0] = larger(m, m.abs(y - v), error[0])
            self.gap[0] = self.gap[0] + pairing(kind, x, s, o, self.bounds_of(t, kind))
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
            w = scaling(m, kind, x, s, o, self.bounds_of(t, kind))
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
            self.total[0] = self.total[0] + pairing(kind, x, s, o, self.bounds_of(t, kind))
        share = self.total[0] * (1.0 / max(law.degree, 1)) / m.where(self.gap[0] > 0.0, self.gap[0], 1.0)
        share = smaller(m, larger(m, share, 0.0), 1.0)
        centre = m.array(1)
        centre[0] = share * share * share * self.gap[0]

        def corrected(kind: str, t: Index) -> tuple[Triple, Triple]:
            x, s, d, ds, dt = (self.get(y, t) for y in (self.x, self.slack, self.d, self.ds, self.dt))
            return correction(m, kind, x, s, d, ds, dt, centre[0], self.bounds_of(t, kind))

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
            ds, dt = slack_steps(m, kind, x, s, o, d, h, k, w, self.bounds_of(t, kind))
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
            far = reach(m, kind, x, d, s, ds, o, dt, self.bounds_of(t, kind))
            self.step[0] = smaller(m, far, self.step[0])
        return self.step[0]
