"""The linearisation of a motion, or of a step of an integrator, as one piece of code.

The stages of a step are those of the integrator, each with its change by δq, δqd and δτ at the start: columns
that the derivatives of forward dynamics and of moves carry from stage to stage. Known zeros and ones stay
known, and products of matrices are by tiles, so that there is nothing between the stages but kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hinge.binding import move_change, move_rate
from hinge.model import Robot, Unit, units
from hinge.model.joints import VectorJoint
from hinge.pipeline import Compilation, in_order
from hinge.sweeps import Code, Joined, KnownBlock, without_garbage, zeros

#: The rows of the stages of an explicit method and its final weights; none for semi-implicit Euler.
Rows: TypeAlias = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class Varied:
    """The source of a linearisation: of a step by its rows, or of the motion for None.

    `derivatives` are forward dynamics and its derivatives by q, qd and tau.
    """

    robot: Robot
    derivatives: Compilation
    rows: Rows | None

    @property
    def identity(self) -> str | None:
        """The cache key; None if nothing may be cached."""
        found = self.derivatives.identity
        return None if found is None else f"linearization by {self.rows} of {found}"

    @property
    def label(self) -> str:
        """The label of the code in listings of the cache."""
        return f"the linearization of {self.robot.name!r}"

    @property
    def code(self) -> Code:
        """The code, its inputs q, qd, tau and, for a step, dt."""
        return self._code

    @cached_property
    def _code(self) -> Code:
        with without_garbage():
            return in_order(_Step(self.robot, self.derivatives.code, self.rows).code())


class _Stage(NamedTuple):
    """A state and what it changes by: columns (nv, 3 nv) by δq, δqd and δτ at the start."""

    q: KnownBlock
    qd: KnownBlock
    dq: KnownBlock
    dqd: KnownBlock


#: Stages that a move goes along, each with its share of the step.
Used: TypeAlias = Sequence[tuple[KnownBlock, _Stage]]


class _Step:
    """Code under construction: changes of the state along a step, of all directions together."""

    def __init__(self, robot: Robot, derivatives: Code, rows: Rows | None) -> None:
        self.robot, self.derivatives, self.rows, self.n = robot, derivatives, rows, robot.nv
        self.whole = Joined()
        self.given = {n: self.whole.input(n, len(slots)) for n, slots in derivatives.inputs.items()}
        whole = np.zeros((self.n, 3 * self.n), dtype=object)
        whole[:, : self.n] = np.eye(self.n)
        along = np.roll(whole, self.n, axis=1)
        self.first = _Stage(self.given["q"], self.given["qd"], whole, along)

    def code(self) -> Code:
        """Return the code of A and B."""
        qdd, change = self.accelerations(self.first)
        if self.rows is None:
            turning = self.moved([(np.zeros(1, dtype=object), self.first)], is_rate=True)
            return self.shown(turning.dq, change)
        h = self.whole.input("dt", 1)
        if not self.rows:
            qd, dqd = self.faster([(h, (qdd, change))])
            fast = self.first._replace(qd=qd, dqd=dqd)
            return self.shown(self.moved([(h, fast)]).dq, dqd)
        stages, found, last = [self.first], [(qdd, change)], self.first
        for k, row in enumerate(self.rows):
            shares = [(self.scaled(h, w), i) for i, w in enumerate(row) if w]
            qd, dqd = self.faster([(share, found[i]) for share, i in shares])
            there = self.moved([(share, stages[i]) for share, i in shares])
            last = there._replace(qd=qd, dqd=dqd)
            stages.append(last)
            if k + 1 < len(self.rows):
                found.append(self.accelerations(last))
        return self.shown(last.dq, last.dqd)

    def scaled(self, h: KnownBlock, w: float) -> KnownBlock:
        """Return a share of the step."""
        return self.whole.apply(lambda x: x * w, h)

    def accelerations(self, s: _Stage) -> tuple[KnownBlock, KnownBlock]:
        """Return qdd and its changes; the first state changes by unit directions."""
        qdd, *by = self.whole.add(self.derivatives, {**self.given, "q": s.q, "qd": s.qd}).values()
        if s is self.first:
            return qdd, np.concatenate(by, axis=1)
        n, (dq, dqd, dtau) = self.n, by
        found = self.whole.multiply(np.concatenate([dq, dqd], axis=1), np.concatenate([s.dq, s.dqd]))
        found[:, 2 * n :] = self.sum([found[:, 2 * n :], dtau])
        return qdd, found

    def sum(self, blocks: Sequence[KnownBlock], shares: Sequence[KnownBlock] = ()) -> KnownBlock:
        """Return the sum of arrays, the last of them each times a share."""

        def formula(*x: Any) -> Any:
            plain = len(blocks) - len(shares)
            terms = [*x[:plain], *(a * h for a, h in zip(x[plain:], x[len(blocks) :], strict=False))]
            return sum(terms[1:], terms[0])

        return self.whole.each(formula, blocks, np.concatenate(shares) if shares else zeros(0))

    def faster(
        self, used: Sequence[tuple[KnownBlock, tuple[KnownBlock, KnownBlock]]]
    ) -> tuple[KnownBlock, KnownBlock]:
        """Return qd + Σ h qdd and its changes."""
        shares = [h for h, _ in used]
        qd = self.sum([self.first.qd, *(a for _, (a, _) in used)], shares)
        return qd, self.sum([self.first.dqd, *(change for _, (_, change) in used)], shares)

    def moved(self, used: Used, *, is_rate: bool = False) -> _Stage:
        """Return normalized(q + Σ h N(qₖ) vₖ) and its changes, or the rate of these with the only h.

        A joint whose q is a vector adds up; of others the derivatives by each input are small matrices.
        """
        q, dq = self.first.q.copy(), zeros(self.n, 3 * self.n)
        every = [u for u in units(self.robot) if u.type.nv]
        vectors = [u for u in every if isinstance(u.type, VectorJoint)]
        at, rows = ([p for u in vectors for p in places(u)] for places in (_at_q, _at_qd))
        shares = [h for h, _ in used]
        if is_rate:
            dq[rows] = used[0][1].dqd[rows]
        else:
            q[at] = self.sum([q[at], *(s.qd[rows] for _, s in used)], shares)
            dq[rows] = self.sum([self.first.dq[rows], *(s.dqd[rows] for _, s in used)], shares)
        for u in every:
            if u not in vectors:
                q[list(u.q)], dq[list(u.qd)] = self.turned(u, used, is_rate)
        return _Stage(q, self.first.qd, dq, self.first.dqd)

    def turned(self, u: Unit, used: Used, is_rate: bool) -> tuple[KnownBlock, KnownBlock]:
        """Return the end of a move of a joint whose axes turn, and its changes."""
        at, rows, formula = list(u.q), list(u.qd), move_rate if is_rate else move_change
        inputs: dict[str, KnownBlock] = {"q": self.first.q[at]}
        changed: list[tuple[tuple[str, ...], KnownBlock]] = [(("dq",), self.first.dq[rows])]
        for k, (h, s) in enumerate(used):
            inputs |= {f"h{k}": h, f"q{k}": s.q[at], f"v{k}": s.qd[rows]}
            if s.q is self.first.q:  # it changes as q does
                changed[0] = (*changed[0][0], f"dq{k}"), changed[0][1]
            else:
                changed.append(((f"dq{k}",), s.dq[rows]))
            changed.append(((f"dv{k}",), s.dqd[rows]))
        resting = {n: np.zeros(len(rows)) for k in range(len(used)) for n in ("dq", f"dq{k}", f"dv{k}")}
        ends = np.cumsum([len(x) for x in inputs.values()])[:-1]

        def matrices(values: KnownBlock) -> KnownBlock:
            x = dict(zip(inputs, np.split(values, ends), strict=True))
            columns = [
                formula(u.type, {**x, **resting, **dict.fromkeys(names, unit)})
                for names, _ in changed
                for unit in np.eye(len(rows))
            ]
            return np.concatenate([columns[0]["q"], *(c["dq"] for c in columns)])

        found = self.whole.apply(matrices, np.concatenate(list(inputs.values())))
        left = found[len(at) :].reshape(-1, len(rows)).T
        return found[: len(at)], self.product(left, np.concatenate([x for _, x in changed]))

    def product(self, left: KnownBlock, right: KnownBlock) -> KnownBlock:
        """Return a product of matrices; rows on the right that are known are units, and only choose."""
        known = np.array([all(isinstance(x, float) for x in row) for row in right])
        chosen = zeros(len(left), right.shape[1])
        for k in np.flatnonzero(known):
            for j in np.flatnonzero(right[k] != 0.0):
                assert right[k, j] == 1.0
                chosen[:, j] = left[:, k]
        if known.all():
            return chosen
        return self.sum([chosen, self.whole.multiply(left[:, ~known], right[~known])])

    def shown(self, dq: KnownBlock, dqd: KnownBlock) -> Code:
        """Return the code of the columns by the state and by tau."""
        whole = np.concatenate([dq, dqd])
        return self.whole.code({"A": whole[:, : 2 * self.n], "B": whole[:, 2 * self.n :]})


def _at_q(u: Unit) -> Sequence[int]:
    return u.q


def _at_qd(u: Unit) -> Sequence[int]:
    return u.qd
