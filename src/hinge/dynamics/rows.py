"""The rows of closures that are independent in general, found by numbers.

A planar loop that is cut at a hinge has five rows, of which three say what the plane says already. Such rows
must go before forces are solved for: a little off the exact assembly they lock the mechanism. So
configurations that close are sampled, and as many rows are kept as the Jacobian has rank, those that keep
it best conditioned.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import NamedTuple

import numpy as np

from hinge.dynamics.bound import Kept, compile_bound
from hinge.dynamics.expressions import CLOSURE_MAP
from hinge.dynamics.function import Compiled
from hinge.model import (
    Robot,
    digest,
    integrate,
    neutral,
    random_configuration,
    rows_of,
)
from hinge.spatial import Array
from hinge.targets import TARGETS, best_target

#: A singular value below this part of the largest one is zero.
RANK = 1e-7
#: The largest step of an assembly, in rad or m, and what counts as closed.
LONGEST, CLOSED = 0.5, 1e-10
#: How many configurations are sampled from random starts with how many steps, until one closes, and how
#: many along the motions of a closed one.
TRIES, WALKS = ((8, 40), (40, 200)), 6


class Assembly(NamedTuple):
    """Configurations (…, nq) and the largest error (…) that is left in each."""

    q: Array
    error: Array


@dataclass(frozen=True, eq=False)
class ClosureMap:
    """Errors and Jacobians of all rows of a robot's closures."""

    robot: Robot
    program: Compiled

    def at(self, q: Array) -> tuple[Array, Array]:
        """Return errors (…, m) and Jacobians (…, m, nv)."""
        found = self.program(q)
        return found["error"], found["jacobian"]

    @property
    def _holonomic(self) -> Array:
        """The rows that have a position: others, such as the spin of a soft finger, hold no configuration."""
        return np.array([h for c in self.robot.closures for h in rows_of(c.joint).holonomic], dtype=bool)

    def closed(self, q: Array, free: Array, tolerance: float, steps: int) -> Assembly:
        """Return configurations near q that close, by bounded steps of the `free` coordinates."""
        best, least, held = q, np.full(q.shape[:-1], np.inf), self._holonomic
        for _ in range(steps + 1):
            error, jacobian = self.at(q)
            size = np.abs(error).max(axis=-1, initial=0.0)
            better = size < least
            best, least = np.where(better[..., None], q, best), np.where(better, size, least)
            if np.all(least <= tolerance):
                break
            step = np.zeros((*q.shape[:-1], self.robot.nv))
            rows = np.where(np.isfinite(jacobian), jacobian, 0.0)[..., held, :][..., free]
            left = np.where(np.isfinite(error), error, 0.0)[..., held, None]
            step[..., free] = -(np.linalg.pinv(rows, rcond=RANK) @ left)[..., 0]
            longest = np.abs(step).max(axis=-1, keepdims=True, initial=0.0)
            q = integrate(self.robot, q, step * np.minimum(1.0, LONGEST / np.maximum(longest, LONGEST)))
        return Assembly(best, least)


_MAPS: dict[str, ClosureMap] = {}
_KEPT: dict[str, Kept] = {}
#: How many robots are remembered.
MOST = 64


def forget_rows() -> None:
    """Drop the maps and the kept rows of all robots."""
    _MAPS.clear()
    _KEPT.clear()


def _every_row(robot: Robot, switched: bool) -> Kept:
    del robot, switched


def closure_map(robot: Robot) -> ClosureMap:
    """Return errors and Jacobians of all rows of a robot's closures; the last ones are kept."""
    key = digest(robot)
    if key not in _MAPS:
        while len(_MAPS) >= MOST:
            del _MAPS[next(iter(_MAPS))]
        # Few states at a time: one piece of code for any number of them is soonest there.
        lanes = 1 if "lanes" in TARGETS[best_target()].options else None
        found = compile_bound(CLOSURE_MAP, robot, rows=_every_row, lanes=lanes)
        _MAPS[key] = ClosureMap(robot, found)
    return _MAPS[key]


def kept_rows(robot: Robot, switched: bool = False) -> Kept:
    """Return for each closure the rows that the dynamics keeps; None keeps all.

    With `switched` closures may be open: each keeps what it has alone, since it cannot count on others.
    """
    key = digest(robot) + ("/switched" if switched else "")
    if key not in _KEPT:
        while len(_KEPT) >= MOST:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = _kept(robot, switched)
    return _KEPT[key]


def _kept(robot: Robot, switched: bool) -> Kept:
    given = [c.rows for c in robot.closures]
    names = [rows_of(c.joint).names for c in robot.closures]
    chosen = [
        range(len(n)) if g is None else [n.index(x) for x in g] for n, g in zip(names, given, strict=True)
    ]
    starts = np.cumsum([0, *map(len, names)])
    candidates = [[int(s) + k for k in rows] for s, rows in zip(starts, chosen, strict=False)]
    found = [k for rows in candidates for k in rows]
    if None in given:
        samples = _scaled(robot, _samples(robot))
        groups = candidates if switched else [found]
        if len(samples):
            found = [rows[k] for rows in groups for k in independent(samples[:, rows])]
    return tuple(tuple(k - int(s) for k in sorted(found) if s <= k < e) for s, e in pairwise(starts))


def _samples(robot: Robot) -> Array:
    """Return Jacobians (k, m, nv) at configurations that close: from starts, and along motions from there."""
    chart, every = closure_map(robot), np.arange(robot.nv)
    for count, steps in TRIES:
        starts = np.stack([neutral(robot), *random_configuration(robot, 0, size=count)])
        q, error = chart.closed(starts, every, CLOSED, steps)
        good = q[error <= CLOSED]
        if len(good):
            break
    else:
        return np.zeros((0, 0, robot.nv))
    rng, walked = np.random.default_rng(0), [good]
    at = good[:1]
    for _ in range(WALKS):
        _, jacobian = chart.at(at)
        step = rng.standard_normal(robot.nv)
        step -= np.linalg.pinv(jacobian[0], rcond=RANK) @ (jacobian[0] @ step)
        length = np.abs(step).max(initial=0.0)
        if length <= RANK:
            break
        moved = chart.closed(integrate(robot, at, 0.3 * step[None] / length), every, CLOSED, 20)
        if moved.error[0] <= CLOSED:
            at = moved.q
            walked.append(at)
    return chart.at(np.concatenate(walked))[1]


def _scaled(robot: Robot, jacobians: Array) -> Array:
    """Return Jacobians with rows that are lengths divided by the robot's size."""
    if not len(jacobians):
        return jacobians
    lengths = np.concatenate(
        [[not n.startswith("w") for n in rows_of(c.joint).names] for c in robot.closures]
    )
    sizes = [np.linalg.norm(j.inner.r) + np.linalg.norm(j.outer.r) for j in robot.joints]
    size = max(float(np.mean([s for s in sizes if s > 0] or [1.0])), 1e-3)
    return jacobians / np.where(lengths, size, 1.0)[:, None]


def is_number(x: object) -> bool:
    """Tell whether an argument is one finite real number."""
    return type(x) is not bool and isinstance(x, Real) and bool(np.isfinite(float(x)))


def rank_of(jacobian: Array) -> int:
    """Return the rank of a matrix."""
    values = np.linalg.svd(jacobian, compute_uv=False)
    return int((values > RANK * max(values.max(initial=0.0), RANK)).sum())


def largest(matrix: Array) -> Array:
    """Return the largest singular value (…) of matrices (…, m, n), and 0 of empty ones."""
    return np.linalg.svd(matrix, compute_uv=False).max(axis=-1, initial=0.0)


def pseudo_inverse(matrix: Array, scale: Array) -> Array:
    """Return the pseudo-inverse of matrices (…, m, n); singular values below RANK of `scale` (…) are zero.

    The scale of a part of a Jacobian is that of the whole: what is left of a part may be rounding alone.
    """
    u, values, v = np.linalg.svd(matrix, full_matrices=False)
    counts = values > RANK * np.asarray(scale)[..., None]
    turned = np.swapaxes(v, -1, -2) * np.where(counts, 1.0 / np.where(counts, values, 1.0), 0.0)[..., None, :]
    return turned @ np.swapaxes(u, -1, -2)


def independent(samples: Array) -> list[int]:
    """Return rows of matrices (k, m, n) that span all their rows, as many as the largest rank.

    Each sample of that rank proposes rows by elimination with the largest one first. The proposal is taken
    whose smallest singular value, over all samples of that rank, is largest.
    """
    ranks = [rank_of(x) for x in samples]
    full = [x for x, r in zip(samples, ranks, strict=True) if r == max(ranks)]
    proposals = list(dict.fromkeys(tuple(largest_rows(x, max(ranks))) for x in full))

    def worst(rows: tuple[int, ...]) -> float:
        return min(
            (np.linalg.svd(x[list(rows)], compute_uv=False).min(initial=np.inf) for x in full), default=0.0
        )

    return sorted(max(proposals, key=worst)) if proposals else []


def largest_rows(matrix: Array, count: int) -> list[int]:
    """Return rows by pivoted orthogonalisation: the largest first, among equal ones the first."""
    left, found = matrix.copy(), list[int]()
    for _ in range(count):
        norms = np.linalg.norm(left, axis=1)
        norms[found] = -1.0
        k = int(np.argmax(norms >= norms.max() * (1 - 1e-9)))
        found.append(k)
        direction = left[k] / norms[k]
        left = left - np.outer(left @ direction, direction)
    return found
