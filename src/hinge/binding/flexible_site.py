"""The letters at a flexible body: points that move with modes, seen by their own hinge alone.

The block of the Body space has a number η̇ for each mode after those of rotors and rates. H sees it as it is
and E does not carry it, as rotors. M(η) and b(η, η̇) depend on J = Σ m ξ ξᵀ alone, ξ = (1, x, Φ, Φ₂), so
that rows B with BᵀB = J stand for the points, of which the first one has all mass and row k begins with k
zeros:

    c_k = ω × (ω × s_k + 2 Γ_k η̇) + Φ₂_k[η̇, η̇],    b = Σ [s_k × c_k; μ_k c_k; Γ_kᵀ c_k] + [0; 0; K η + D η̇].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from hinge.algebra import Leaf, M, b, b_m
from hinge.binding.hinge_site import Kind
from hinge.binding.site import Expressed, RobotSite, taken
from hinge.errors import UnboundLeafError
from hinge.model import Flexible
from hinge.spatial import Array, cross, skew
from hinge.sweeps import Block, zeros


class FlexibleSite(RobotSite):
    """The letters at a flexible body: those of a rigid one, with the points beside."""

    def _take_points(self, numbers: Iterator[Any]) -> None:
        """Take the rows of J, K and D from the numbers of the body."""
        k, n = self.kind.points, self.kind.modes
        pairs = n * (n + 1) // 2
        self.root = next(numbers) if k else 0.0
        self.places = taken(numbers, k, 3)
        self.shapes = taken(numbers, k, 3, n)
        self.second = _symmetric(taken(numbers, k, 3, pairs), n) if k and self.kind.second else None
        self.stiffness = _symmetric(taken(numbers, pairs), n) if k else zeros(n, n)
        self.damping = _symmetric(taken(numbers, pairs), n) if k else zeros(n, n)

    # The hinge.

    def hinge(self, q: Block) -> Block:
        """Return η, the rows s = x + Φ η + ½ Φ₂[η, η] and, if the field is quadratic, Γ = Φ + Φ₂ η."""
        if self.second is None:
            return np.concatenate([q, (self.places + self.shapes @ q).ravel()])
        slopes = self.shapes + self.second @ q
        moved = self.places + (0.5 * (self.shapes + slopes)) @ q
        return np.concatenate([q, moved.ravel(), slopes.ravel()])

    @property
    def hinge_size(self) -> int:
        """The number of values of `hinge`."""
        k, n = self.kind.points, self.kind.modes
        return n + 3 * k + (0 if self.second is None else 3 * k * n)

    def motion_links(self, hinge: Block) -> tuple[()]:
        """Return no links: the frame floats with the body."""
        del hinge
        return ()

    def subspace(self, hinge: Block) -> Block:
        """Return zeros (6, n)."""
        del hinge
        return zeros(6, self.kind.modes)

    def _hinge_rate(self, hinge: Block, k: int) -> Block:
        """Return the rate along one mode: Γ_k of the points, and Φ₂_k of Γ."""
        found, n = zeros(len(hinge)), self.kind.modes
        found[k] = 1.0
        end = n + 3 * self.kind.points
        found[n:end] = self._slopes(hinge)[:, :, k].ravel()
        if self.second is not None:
            found[end:] = self.second[:, :, :, k].ravel()
        return found

    def _moved(self, hinge: Block) -> Block:
        """Return s (k, 3)."""
        n = self.kind.modes
        return hinge[n : n + 3 * self.kind.points].reshape(-1, 3)

    def _slopes(self, hinge: Block) -> Block:
        """Return Γ (k, 3, n)."""
        if self.second is None:
            return self.shapes
        return hinge[self.kind.modes + 3 * self.kind.points :].reshape(-1, 3, self.kind.modes)

    def _hinge_map(self, hinge: Block) -> Block:
        found = super()._hinge_map(hinge)
        for k, at in enumerate(range(self._modal.start, self._modal.stop)):
            found[k, at] = 1.0
        return found

    @property
    def _modal(self) -> slice:
        """Where η̇ stands in the block."""
        start = 6 + len(self.kind.rotors) + len(self.kind.senses)
        return slice(start, start + self.kind.modes)

    # The inertia and the bias force.

    def value(self, leaf: Leaf, hinge: Block) -> Block | None:
        """Return the block of an operator that the robot gives."""
        found = super().value(leaf, hinge)
        return found if found is None or leaf is not M else found + self._points_inertia(hinge)

    def _points_inertia(self, hinge: Block) -> Block:
        """Return Σ GᵀG with the rows G = [−s× μ Γ]."""
        s, slopes, at = self._moved(hinge), self._slopes(hinge), self._modal
        found = zeros(self.size, self.size)
        squares = _gram(s)
        found[:3, :3] = -squares
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            found[k, k] = squares[i, i] + squares[j, j]
            found[3 + k, 3 + k] = self.root * self.root
        found[:3, 3:6] = skew(self.root * s[0])
        turned = zeros(3, self.kind.modes)
        for p in range(len(s)):
            turned = turned + _crossed(s[p], slopes[p])
        found[:3, at] = turned
        found[3:6, at] = self.root * slopes[0]
        flat = slopes.reshape(-1, self.kind.modes)
        found[at, at] = _gram(flat)
        found[3:6, :3], found[at, :3], found[at, 3:6] = found[:3, 3:6].T, turned.T, found[3:6, at].T
        return found

    def formula(self, leaf: Leaf, hinge: Block, needs: Sequence[Block]) -> Block:
        """Return a leaf that is a function of the motion at the body."""
        found = super().formula(leaf, hinge, needs)
        if leaf.origin is None and leaf in (b, b_m):
            return found + self._points_bias(hinge, needs[0])
        return found

    def _points_bias(self, hinge: Block, v: Block) -> Block:
        s, slopes, at = self._moved(hinge), self._slopes(hinge), self._modal
        w, rates = v[:3], v[at]
        found = zeros(len(v))
        for p in range(len(s)):
            c = cross(w, cross(w, s[p]) + 2.0 * (slopes[p] @ rates))
            if self.second is not None:
                c = c + (self.second[p] @ rates) @ rates
            found[:3] = found[:3] + cross(s[p], c)
            found[at] = found[at] + slopes[p].T @ c
            if p == 0:
                found[3:6] = self.root * c
        found[at] = found[at] + self.stiffness @ hinge[: self.kind.modes] + self.damping @ rates
        return found

    def coriolis(self, v: Block) -> Block:
        """Raise an error: 2B of rigid bodies is in closed forms, which flexible ones do not have."""
        del v
        raise UnboundLeafError(f"2B: robot {self.robot!r} has flexible bodies, whose b is no B V")

    def _with_body(self, body: Block) -> FlexibleSite:
        found = copy(self)
        found.body = body
        found.__dict__.pop("inertia", None)
        return found


def site_of(kind: Kind, numbers: Sequence[Any], expressed: Expressed, robot: str) -> RobotSite:
    """Return the letters at a body of a kind."""
    return (FlexibleSite if kind.modes else RobotSite)(kind, numbers, expressed, robot)


def points_kind(body: Flexible | None, *, asked: bool = True) -> tuple[int, int, bool]:
    """Return the number of modes, that of rows of points if they are asked for, and if the field is
    quadratic.
    """
    if body is None:
        return 0, 0, False
    return body.modes, len(body.triangular) if asked else 0, body.second is not None


def points_numbers(body: Flexible | None, *, asked: bool) -> list[float]:
    """Return the numbers of a flexible body in the order in which `FlexibleSite` takes them, if asked for."""
    if body is None or not asked:
        return []
    rows, n = body.triangular, body.modes
    j, k = np.triu_indices(n)
    found: list[float] = [float(rows[0, 0])]
    found += rows[:, 1:4].ravel().tolist()
    found += rows[:, 4 : 4 + 3 * n].ravel().tolist()
    found += rows[:, 4 + 3 * n :].ravel().tolist()
    return found + [x for m in (body.stiffness, body.damping) for x in _tidy(m)[j, k].tolist()]


def _tidy(m: Array) -> Array:
    """Return a symmetric matrix with entries that are zero up to rounding set to zero."""
    size = np.sqrt(np.diagonal(m))
    return np.where(np.abs(m) <= 1e-14 * np.outer(size, size), 0.0, m)


def _symmetric(upper: Block, n: int) -> Block:
    """Return symmetric matrices (…, n, n) from their upper triangles."""
    j, k = np.triu_indices(n)
    found = zeros(*upper.shape[:-1], n, n)
    found[..., j, k] = upper
    found[..., k, j] = upper
    return found


def _crossed(s: Block, columns: Block) -> Block:
    """Return s × each column."""
    return np.stack([cross(s, x) for x in columns.T], axis=1)


def _gram(rows: Block) -> Block:
    """Return XᵀX, each product once."""
    n = rows.shape[1]
    found = zeros(n, n)
    for j in range(n):
        for k in range(j, n):
            found[j, k] = found[k, j] = rows[:, j] @ rows[:, k]
    return found
