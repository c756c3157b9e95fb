"""The choice of independent rates of a loop, and of the order in which the others are eliminated.

By numbers, at configurations that close: of the rows those that are independent in general, of the joints
those whose rates determine all others well, and the pivots that are largest where they are smallest.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations, islice, pairwise

import numpy as np

from hinge.dynamics.rows import RANK, independent, rank_of
from hinge.errors import ArgumentError, ModelWarning
from hinge.model import Loop, LoopGeometry, Robot, loop_geometry, rows_of
from hinge.spatial import Array

#: What counts as closed, and how many random starts with how many steps are tried until a configuration does.
CLOSED, TRIES = 1e-11, ((8, 40), (40, 200))
#: How many walks along the motions of a loop look for dead centres, with how many steps of which length.
WALKS, PACES, PACE = 4, 60, 0.12
#: How many sets of independent joints are compared, and the share of the best conditioned one that is enough.
MOST, ENOUGH = 400, 0.4
#: A pivot below this part of the largest entry is small: the neutral configuration should have none.
SMALL = 1e-2


class Chart:
    """The choice of independent rates, rows and pivots of one loop, from samples."""

    def __init__(self, robot: Robot, places: Sequence[int], near: Array | None) -> None:
        self.robot, self.places, self.near, self.home = robot, tuple(places), near, 0
        self.closures = tuple(robot.closures[k] for k in places)
        self.name = ", ".join(c.name for c in self.closures)
        self.geometry: LoopGeometry = loop_geometry(robot, self.closures)
        self.joints = self.geometry.joints
        self.samples = self._sampled(near)
        self.jacobians = self.geometry.scaled(self.samples)
        self.rows = self._kept()
        self.null = [_null_space(x[self.rows]) for x in self._regular()]

    def loop(self, wanted: Sequence[str] | None) -> Loop:
        """Return the loop as data."""
        names = [j.name for j in self.joints]
        own = [n for n in wanted or () if n in names]
        chosen = [names.index(n) for n in own] or self._proposed()
        if own:
            self._refuse_dependent(own, chosen)
        order = self._pivots(self._rest(chosen))
        found = self._made(order)
        self._warn(found, order)
        return found

    def _rest(self, chosen: Sequence[int]) -> list[int]:
        """Return the rates of all joints but these."""
        at = self.geometry.v_at
        first = {k for i in chosen for k in range(at[i].start, at[i].stop)}
        return [k for k in range(self.geometry.rates) if k not in first]

    def _made(self, order: Sequence[tuple[int, int]]) -> Loop:
        """Return the loop with these pivots, rows and columns."""
        starts = np.cumsum([0, *(len(rows_of(c.joint).names) for c in self.closures)])
        owners = [(j.name, k) for j in self.joints for k in range(j.nv)]
        rows = [(int(np.searchsorted(starts, r, side="right")) - 1, r) for r, _ in order]
        return Loop(
            self.closures,
            tuple(j.name for j in self.joints),
            tuple(owners[c] for _, c in order),
            tuple((c, r - int(starts[c])) for c, r in rows),
            self._home(order),
            self.places,
        )

    # Other charts of the same loop.

    def others(self) -> list[Loop]:
        """Return loops with the rates that are best at samples, in the order of these."""
        found = dict.fromkeys(self.best_at(x) for x in self.jacobians)
        return [self._made(self._pivots(self._rest(p))) for p in found if p]

    def at(self, jacobian: Array) -> list[Loop]:
        """Return loops with the rates best by a scaled Jacobian, in the order of samples and in its own."""
        chosen = self.best_at(jacobian)
        if not chosen:
            return []
        rest = self._rest(chosen)
        own = [(self.given[r], rest[c]) for r, c in _complete(jacobian[np.ix_(self.given, rest)])]
        return [self._made(order) for order in (self._pivots(rest), own)]

    def best_at(self, jacobian: Array) -> tuple[int, ...]:
        """Return the joints whose rates determine the others best by a Jacobian; none if it is singular."""
        if rank_of(jacobian[self.given]) < len(self.rows):
            return ()
        null = np.linalg.svd(jacobian[self.given])[2][len(self.rows) :].T
        proposals = self._combinations() or [tuple(self._greedy(null) or ())]
        spreads = {p: self._spread(null, p) for p in proposals}
        best = min(spreads, key=lambda p: spreads[p])
        return best if spreads[best] < 1 / RANK else ()

    def _spread(self, null: Array, chosen: Sequence[int]) -> float:
        """Return ‖G‖, the size of all rates for unit rates of these joints."""
        at = self.geometry.v_at
        values = np.linalg.svd(null[[k for i in chosen for k in range(at[i].start, at[i].stop)]])[1]
        if len(values) < null.shape[1] or values.min() <= RANK:
            return np.inf
        return float(np.linalg.norm(1.0 / values))

    # Samples.

    def _sampled(self, near: Array | None) -> Array:
        """Return configurations of the loop that close, the one nearest to `near` or neutral first."""
        g, free, rng = self.geometry, np.arange(self.geometry.rates), np.random.default_rng(0)
        base = [j.type.neutral() if near is None else near[j.q_slice] for j in self.joints]
        lower, upper = (np.concatenate([getattr(j, n) for j in self.joints]) for n in ("lower", "upper"))
        start = np.concatenate(base)[None]
        for count, steps in TRIES:
            around = np.concatenate([start, g.drawn(rng, (count,), lower, upper)])
            q, error = g.closed(around, free=free, steps=steps)
            good = q[error <= CLOSED]
            if near is not None and error[0] > CLOSED:
                raise ArgumentError(
                    f"near: expected a configuration near which loop {self.name!r} closes, got an error of "
                    f"{error[0]:.3g} m or rad that is left"
                )
            if len(good):
                return good
        raise ArgumentError(
            f"robot: no configuration was found that closes loop {self.name!r}; give near=q, one nearby"
        )

    def _kept(self) -> list[int]:
        """Return the rows that are independent in general, of those that the closures keep."""
        starts = np.cumsum([0, *(len(rows_of(c.joint).names) for c in self.closures)])
        given = [
            int(s) + k
            for s, c in zip(starts, self.closures, strict=False)
            for k, n in enumerate(rows_of(c.joint).names)
            if c.rows is None or n in c.rows
        ]
        self.given = given
        return [given[k] for k in independent(self.jacobians[:, given])]

    def _regular(self) -> list[Array]:
        """Return the samples at which the kept rows are independent."""
        found = [x for x in self.jacobians if rank_of(x[self.rows]) == len(self.rows)]
        if len(self.rows) == self.geometry.rates:
            raise ArgumentError(
                f"robot: loop {self.name!r} cannot move: its {len(self.rows)} joint rates have as many "
                "constraints; lock its joints, or open it"
            )
        return found

    # Choices.

    def _proposed(self) -> list[int]:
        """Return joints whose rates determine the others well at all samples, the first such."""
        proposals = self._combinations() or sorted(
            {tuple(p) for n in self.null if (p := self._greedy(n)) is not None}
        )
        proposals = [p for p in proposals if self._worst(p) > RANK] or proposals[:0]
        if not proposals:
            raise ArgumentError(
                f"robot: the {self.geometry.rates - len(self.rows)} freedoms of loop {self.name!r} are not "
                "those of whole joints; replace a joint of several rates by single ones, or keep the loop cut"
            )
        worst = [self._worst(p) for p in proposals]
        return list(next(p for p, x in zip(proposals, worst, strict=True) if x >= ENOUGH * max(worst)))

    def _combinations(self) -> list[tuple[int, ...]]:
        """Return all sets of joints with as many rates as freedoms, if these are few; base first."""
        need, sizes = self.null[0].shape[1], [j.nv for j in self.joints]
        found = (p for k in range(1, need + 1) for p in combinations(range(len(sizes)), k))
        listed = list(islice(found, MOST + 1))
        return [] if len(listed) > MOST else [p for p in listed if sum(sizes[i] for i in p) == need]

    def _greedy(self, null: Array) -> list[int] | None:
        """Return joints by pivoted orthogonalisation of their rows of a null space, the largest first."""
        left, found, at = null.copy(), list[int](), self.geometry.v_at
        while (rank := sum(self.joints[k].nv for k in found)) < null.shape[1]:
            room = [k for k in range(len(at)) if k not in found and self.joints[k].nv <= null.shape[1] - rank]
            sizes = {k: np.linalg.svd(left[at[k]], compute_uv=False).min(initial=np.inf) for k in room}
            best = max(sizes.values(), default=0.0)
            if best <= RANK:
                return None
            chosen = next(k for k in room if sizes[k] >= best * (1 - 1e-9))
            found.append(chosen)
            left = left - left @ np.linalg.pinv(left[at[chosen]]) @ left[at[chosen]]
        return sorted(found)

    def _worst(self, chosen: Sequence[int]) -> float:
        """Return the smallest singular value, over all samples, of these joints in the null spaces."""
        dofs = [k for i in chosen for k in range(self.geometry.v_at[i].start, self.geometry.v_at[i].stop)]
        return min(float(np.linalg.svd(n[dofs], compute_uv=False).min(initial=np.inf)) for n in self.null)

    def _refuse_dependent(self, names: Sequence[str], chosen: Sequence[int]) -> None:
        """Refuse joints that are too many or too few, or whose rates depend on each other everywhere."""
        count, need = sum(self.joints[k].nv for k in chosen), self.null[0].shape[1]
        dofs = [k for i in chosen for k in range(self.geometry.v_at[i].start, self.geometry.v_at[i].stop)]
        ranks = [rank_of(n[dofs]) for n in self.null]
        if count == need and max(ranks) == need:
            return
        try:
            better = f"; use {[self.joints[k].name for k in self._proposed()]}"
        except ArgumentError:
            better = ""
        why = (
            f"{count} rates"
            if count != need
            else "rates that do not determine the others in any sampled configuration"
        )
        raise ArgumentError(
            f"independent: expected joints with {need} independent rates of loop {self.name!r}, got "
            f"{', '.join(map(repr, names))} with {why}{better}"
        )

    def _pivots(self, columns: Sequence[int]) -> list[tuple[int, int]]:
        """Return rows and columns in the order whose smallest pivot at all samples is largest."""
        samples = [x[np.ix_(self.rows, columns)] for x in self._regular()]
        proposals = list(dict.fromkeys(tuple(_complete(x)) for x in samples))

        def worst(order: tuple[tuple[int, int], ...]) -> float:
            r, c = ([x[k] for x in order] for k in (0, 1))
            return min(_smallest_pivot(x[np.ix_(r, c)]) for x in samples)

        best = max(proposals, key=worst)
        return [(self.rows[r], columns[c]) for r, c in best]

    def _home(self, order: Sequence[tuple[int, int]]) -> Array:
        """Return the first sample at which no pivot is small, the given one in any case."""
        if self.near is None:
            rows, columns = ([x[k] for x in order] for k in (0, 1))
            least = [_smallest_pivot(x[np.ix_(rows, columns)]) for x in self.jacobians]
            self.home = int(np.argmax(np.array(least) >= min(SMALL, max(least))))
        return self.samples[self.home]

    # Dead centres.

    def _warn(self, loop: Loop, order: Sequence[tuple[int, int]]) -> None:
        """Warn where the motion of the loop leads through a dead centre of its independent coordinates."""
        at = self._dead_centre(order)
        if at is None:
            return
        pairs = zip(self.joints, self.geometry.apart(at), strict=True)
        place = ", ".join(
            f"{j.name} = {np.round(x, 3).tolist()}" for j, x in pairs if j.name in loop.independent
        )
        warnings.warn(
            f"loop {self.name!r}: its independent coordinates have a dead centre near {place}, where results "
            "are NaN; choose other independent joints, or keep the loop cut where it must pass; simulations "
            "change them there",
            ModelWarning,
            stacklevel=4,
        )

    def _dead_centre(self, order: Sequence[tuple[int, int]]) -> Array | None:
        """Return a configuration on the way to which det J_d changes its sign, if one is found."""
        rows, columns = ([x[k] for x in order] for k in (0, 1))
        walked = self._walks()
        signs = np.sign(np.linalg.det(self.geometry.scaled(walked)[:, :, rows][..., columns]))
        for k in range(len(signs[0])):
            for (a, b), q in zip(pairwise(signs[:, k]), walked[1:, k], strict=True):
                if a * b <= 0:
                    return q
        return None

    def _walks(self) -> Array:
        """Return configurations (paces, walks, nq) along motions of the loop in which nothing turns back."""
        g, rng, every = self.geometry, np.random.default_rng(1), np.arange(self.geometry.rates)
        ahead = rng.standard_normal((WALKS, g.rates))
        ahead[1::2] = -ahead[::2]
        found = [np.repeat(self.samples[self.home][None], WALKS, axis=0)]
        for _ in range(PACES):
            _, _, turned = np.linalg.svd(g.jacobian(found[-1])[:, self.rows])
            null = turned[:, len(self.rows) :]
            ahead = np.swapaxes(null, 1, 2) @ (null @ ahead[..., None])
            ahead = ahead[..., 0] / np.maximum(np.abs(ahead[..., 0]).max(axis=-1, keepdims=True), RANK)
            q, error = g.closed(g.moved(found[-1], PACE * ahead), free=every, tolerance=CLOSED, steps=8)
            found.append(np.where((error <= CLOSED)[:, None], q, found[-1]))
        return np.stack(found)


def _null_space(matrix: Array) -> Array:
    """Return an orthonormal basis (n, k) of what a matrix with independent rows takes to zero."""
    return np.linalg.svd(matrix)[2][len(matrix) :].T


def _complete(matrix: Array) -> list[tuple[int, int]]:
    """Return rows and columns in the order of elimination with the largest pivot first, for all columns."""
    left, found = matrix.copy(), list[tuple[int, int]]()
    rows, columns = list(range(len(matrix))), list(range(matrix.shape[1]))
    while columns:
        part = np.abs(left[np.ix_(rows, columns)])
        flat = int(np.argmax(part >= part.max() * (1 - 1e-9)))
        r, c = rows[flat // len(columns)], columns[flat % len(columns)]
        found.append((r, c))
        rows.remove(r)
        columns.remove(c)
        if left[r, c]:
            left = left - np.outer(left[:, c] / left[r, c], left[r])
    return found


def _smallest_pivot(matrix: Array) -> float:
    """Return the smallest pivot of elimination without exchanges, as a part of the largest entry."""
    left, least = matrix.copy(), np.inf
    largest = np.abs(matrix).max(initial=0.0)
    for k in range(len(left)):
        least = min(least, abs(left[k, k]) / max(largest, RANK))
        if least <= RANK**2:
            return 0.0
        left[k + 1 :] -= np.outer(left[k + 1 :, k] / left[k, k], left[k])
    return float(least)
