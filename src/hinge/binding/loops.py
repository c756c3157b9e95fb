"""Embedded loops: the rates of an aggregate's joints as functions of the independent ones.

With J = [J_i J_d] the rows of the closures over the independent and the dependent rates, all of it relative
to the nearest body that carries both ends of a closure,

    G = [I; −J_d⁻¹ J_i],     ġ = [0; −J_d⁻¹ γ],     γ = J̇ q̇ = Rᵀ (α(s) − X α(p) + (V(s) − X V(p)) × X V(p)),

where V and α are velocities and, for q̈ = 0, spatial accelerations of the two ends. J_d is eliminated in an
order that was chosen when the loop was embedded, written out. What depends on q alone, G, the factors of J_d
and X, is part of the hinge values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.binding.site import RobotSite
from hinge.binding.steps import Chain
from hinge.spatial import back_substituted, cross, eliminated
from hinge.sweeps import Block, zeros


@dataclass(frozen=True)
class WayKind:
    """A closure without its numbers: its rows Rᵀ, and the members on the ways to its two ends, outwards."""

    rows: tuple[tuple[float, ...], ...]
    inner: tuple[int, ...]
    outer: tuple[int, ...]


@dataclass(frozen=True)
class LoopKind:
    """A loop without its numbers.

    `rows`, each a closure and a row of it, and `pivots`, each a member and a rate of it, are in the order of
    elimination; `free` are the independent rates, each a member, a rate of it, and its place in the
    aggregate.
    """

    ways: tuple[WayKind, ...]
    rows: tuple[tuple[int, int], ...]
    pivots: tuple[tuple[int, int], ...]
    free: tuple[tuple[int, int, int], ...]

    @property
    def size(self) -> int:
        """The number of values of `LoopSite.chart`."""
        d = len(self.pivots)
        return d * len(self.free) + d * d + 18 * sum(bool(w.inner) for w in self.ways)


class LoopSite:
    """A loop with its numbers: for each closure the transforms from the bodies to its ends."""

    def __init__(self, kind: LoopKind, numbers: Iterator[Any]) -> None:
        self.kind = kind
        self.ends = [(_place(numbers), _place(numbers)) for _ in kind.ways]

    def chart(self, sites: Sequence[RobotSite], hinges: Sequence[Block], chains: Sequence[Chain]) -> Block:
        """Return −J_d⁻¹ J_i, the factors of J_d, and X of each closure with joints on its inner side."""
        columns: list[dict[tuple[int, int], Block]] = []
        across: list[Block] = []
        for way, (inner, outer) in zip(self.kind.ways, self.ends, strict=True):
            rows = np.array(way.rows).astype(object)
            found = _columns(way.outer, outer, sites, hinges, chains)
            if way.inner:
                x = _across(_pose(way.inner, inner, chains), _pose(way.outer, outer, chains))
                across += [x[:3, :3].ravel(), x[3:, :3].ravel()]
                for key, s in _columns(way.inner, inner, sites, hinges, chains).items():
                    found[key] = -(x @ s)
            columns.append({key: rows @ s for key, s in found.items()})

        def entry(row: tuple[int, int], rate: tuple[int, int]) -> Any:
            return columns[row[0]][rate][row[1]] if rate in columns[row[0]] else 0.0

        factors = eliminated([[entry(r, p) for p in self.kind.pivots] for r in self.kind.rows])
        rates = [(m, k) for m, k, _ in self.kind.free]
        ahead = [back_substituted(factors, [entry(r, rate) for r in self.kind.rows]) for rate in rates]
        values = [-x for i in range(len(factors)) for x in (column[i] for column in ahead)]
        return _block([*values, *(x for row in factors for x in row), *(x for part in across for x in part)])

    def dependent(self, chart: Block) -> Block:
        """Return −J_d⁻¹ J_i."""
        d, f = len(self.kind.pivots), len(self.kind.free)
        return chart[: d * f].reshape(d, f)

    def accelerations(
        self,
        chart: Block,
        sites: Sequence[RobotSite],
        hinges: Sequence[Block],
        chains: Sequence[Chain],
        rates: Sequence[Block],
    ) -> list[Any]:
        """Return −J_d⁻¹ γ: the dependent accelerations at q̈ᵢ = 0, in the order of the pivots."""
        d, f = len(self.kind.pivots), len(self.kind.free)
        factors = chart[d * f : d * f + d * d].reshape(d, d).tolist()
        left = chart[d * f + d * d :]
        biases: list[Block] = []
        for way, (inner, outer) in zip(self.kind.ways, self.ends, strict=True):
            v, alpha = (outer @ x for x in _motion(way.outer, sites, hinges, chains, rates))
            if way.inner:
                x, left = _motion_matrix(left[:9], left[9:18]), left[18:]
                vp, before = (x @ (inner @ y) for y in _motion(way.inner, sites, hinges, chains, rates))
                alpha = alpha - before + _motion_cross(v - vp, vp)
            biases.append(np.array(way.rows).astype(object) @ alpha)
        found = back_substituted(factors, [biases[c][r] for c, r in self.kind.rows])
        return [-x for x in found]


def _columns(
    path: Sequence[int],
    end: Block,
    sites: Sequence[RobotSite],
    hinges: Sequence[Block],
    chains: Sequence[Chain],
) -> dict[tuple[int, int], Block]:
    """Return the velocities of an end for the rates of each member on the way to it."""
    keys: list[tuple[int, int]] = []
    found = zeros(6, 0)
    for m in path:
        s = sites[m].subspace(hinges[m])
        found = np.concatenate([chains[m].to_child(found)[:6], s], axis=1)
        keys += [(m, k) for k in range(s.shape[1])]
    moved = end @ found
    return {key: moved[:, k] for k, key in enumerate(keys)}


def _pose(path: Sequence[int], end: Block, chains: Sequence[Chain]) -> Block:
    """Return the motion transform to an end, from the body that carries the loop: the columns [E; −E r×]."""
    found = zeros(6, 3)
    for k in range(3):
        found[k, k] = 1.0
    for m in path:
        found = chains[m].to_child(found)[:6]
    return end @ found


def _across(inner: Block, outer: Block) -> Block:
    """Return X from the inner to the outer end."""
    e, low, f, g = outer[:3], outer[3:], inner[:3], inner[3:]
    return _motion_matrix((e @ f.T).ravel(), (low @ f.T + e @ g.T).ravel())


def _motion(
    path: Sequence[int],
    sites: Sequence[RobotSite],
    hinges: Sequence[Block],
    chains: Sequence[Chain],
    rates: Sequence[Block],
) -> tuple[Block, Block]:
    """Return velocity and spatial acceleration of the last member relative to what carries the loop."""
    v, alpha = zeros(6), zeros(6)
    for m in path:
        v, alpha = (chains[m].to_child(x)[:6] for x in (v, alpha))
        kind, site = sites[m].kind.type, sites[m]
        if not kind.nv:
            continue
        across, bias = site.subspace(hinges[m]) @ rates[m], kind.bias(hinges[m][: kind.nq], rates[m])
        alpha = alpha + _motion_cross(v, across) + (bias if site.last is None else site.last @ bias)
        v = v + across
    return v, alpha


def _motion_cross(v: Block, m: Block) -> Block:
    """Return v × m of two motions: Featherstone (2.31)."""
    return np.concatenate([cross(v[:3], m[:3]), cross(v[:3], m[3:]) + cross(v[3:], m[:3])])


def _place(numbers: Iterator[Any]) -> Block:
    """Take E and −E r× of a constant transform."""
    return _motion_matrix(*([next(numbers) for _ in range(9)] for _ in range(2)))


def _motion_matrix(turn: Sequence[Any] | Block, low: Sequence[Any] | Block) -> Block:
    found = zeros(6, 6)
    found[:3, :3].flat[:] = turn
    found[3:, 3:] = found[:3, :3]
    found[3:, :3].flat[:] = low
    return found


def _block(values: Sequence[Any]) -> Block:
    found = zeros(len(values))
    found[:] = values
    return found
