"""Constraint embedding: the letters at an aggregate of bodies whose joints share coordinates or rates.

Let E = Eᵢ + Eₓ, steps between members of one aggregate and steps to another one, φᵢ = (I − Eᵢ)⁻¹, a finite
sum, and G the matrix from the rates to those of the joints, with the ratios of couplings, or of loops a
function of q (`loops`). From (3.4)

    φ = φᵢ (I − Eₓ φᵢ)⁻¹,     Gᵀ H φ = H′ φ′     with    H′ = Gᵀ H φᵢ,   E′ = Eₓ φᵢ,   φ′ = (I − E′)⁻¹:

Gᵀ H φ M φᵀ Hᵀ G = H′ φ′ M φ′ᵀ H′ᵀ has the form that it had. A block of the Body space is the stack of the
members' blocks. M, B, b and 𝒜 are those of the members, V = φ′ᵀ H′ᵀ q̇ holds their velocities, and φᵀ (a + Hᵀ
Ġ q̇) = φ′ᵀ a′ with a′ = φᵢᵀ (a + Hᵀ Ġ q̇). H′ and E′ are again a hinge map and a step to one parent, so that
every identity stays as it is, and articulated bodies of coupled hinges come out by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from hinge.algebra import (
    A,
    B,
    Bc,
    H,
    Ha,
    Hp,
    Leaf,
    M,
    Na,
    Np,
    Q,
    W,
    a,
    a_m,
    c_j,
    friction,
    placements,
    rotors,
    tau_j,
)
from hinge.binding.flexible_site import site_of
from hinge.binding.hinge_site import Kind
from hinge.binding.loops import LoopKind, LoopSite
from hinge.binding.partials import varied
from hinge.binding.site import Expressed, RobotSite
from hinge.binding.steps import Chain
from hinge.kernels import duals, fresh_level, rates
from hinge.sweeps import Block, unit_block, zeros
from hinge.tree import WORLD


@dataclass(frozen=True)
class Member:
    """A body of an aggregate, without its numbers.

    `parent` is the number of its parent in the aggregate, −1 if that is outside. `coordinates` and `dofs` are
    where its q and q̇ stand among those of the aggregate; if it `follows`, ratio and offset lead there. A
    joint of a loop that depends on others has no `dofs`.
    """

    kind: Kind
    numbers: int
    parent: int
    coordinates: tuple[int, ...]
    dofs: tuple[int, ...]
    follows: bool


@dataclass(frozen=True)
class AggregateKind:
    """Everything except numbers that determines the code at an aggregate.

    `active` tells for each degree of freedom whether it is prescribed, `switched` that each call tells.
    `start` is where the block of the body that carries it stands in that body's aggregate, which has a block
    of the size `above`. `loops` are those that its members close.
    """

    members: tuple[Member, ...]
    active: tuple[bool, ...]
    switched: bool
    start: int
    above: int
    loops: tuple[LoopKind, ...] = ()


@dataclass(frozen=True, eq=False)
class AggregateStep:
    """E′ = Eₓ φᵢ: the step from the members to the body that carries the aggregate.

    `blocks` are where the members' blocks stand; `start` and `above` as in `AggregateKind`.
    """

    chains: Sequence[Chain]
    parents: Sequence[int]
    blocks: Sequence[slice]
    size: int
    start: int
    above: int

    @property
    def factorwise(self) -> bool:
        """Whether factors of a product are shifted at less cost than their product: with several members."""
        return len(self.chains) > 1

    def scattered(self, x: Sequence[Block]) -> list[Block]:
        """Return φᵢᵀ x: from each member to its descendants."""
        found: list[Block] = []
        for chain, parent, own in zip(self.chains, self.parents, x, strict=True):
            found.append(own if parent == WORLD else own + chain.to_child(found[parent]))
        return found

    def to_child(self, x: Block) -> Block:
        """Transform motions of the carrying body to all members."""
        found: list[Block] = []
        for chain, parent in zip(self.chains, self.parents, strict=True):
            found.append(chain.to_child(x[self.start :] if parent == WORLD else found[parent]))
        return self._padded(found, x.shape[1:])

    def to_parent(self, x: Block) -> Block:
        """Transform forces on all members to the carrying body."""
        found = zeros(self.above, *x.shape[1:])
        left = [x[own] for own in self.blocks]
        for i in reversed(range(len(left))):
            moved = self.chains[i].to_parent(left[i])
            if self.parents[i] == WORLD:
                at = slice(self.start, self.start + len(moved))
                found[at] = found[at] + moved
            else:
                left[self.parents[i]] = left[self.parents[i]] + moved
        return found

    def inertia_to_parent(self, x: Block) -> Block:
        """Transform a symmetric inertia to the carrying body, member by member."""
        found = zeros(self.above, self.above)
        at = list(enumerate(self.blocks))
        left = {(i, j): x[p, q] for i, p in at for j, q in at[: i + 1]}
        below = list(range(len(self.blocks)))
        while below:
            i = below.pop()
            chain, parent = self.chains[i], self.parents[i]
            whole = chain.inertia_to_parent(left[i, i])
            rows = {j: chain.to_parent(left[i, j]) for j in below if np.any(left[i, j] != 0.0)}
            if parent == WORLD:
                own = slice(self.start, self.start + len(whole))
                for j, row in rows.items():
                    across = self._outwards(j, row.T)
                    whole = whole + across + across.T
                found[own, own] = found[own, own] + whole
                continue
            for j, row in rows.items():
                if j == parent:
                    whole = whole + row + row.T
                else:
                    key = (parent, j) if j < parent else (j, parent)
                    left[key] = left[key] + (row if j < parent else row.T)
            left[parent, parent] = left[parent, parent] + whole
        return found

    def block_to_parent(self, x: Block) -> Block:
        """Transform any block to the carrying body, as an inertia."""
        return self.to_parent(self.to_parent(x).T).T

    def _outwards(self, member: int, x: Block) -> Block:
        """Transform columns of forces on a member to the carrying body."""
        x = self.chains[member].to_parent(x)
        return x if self.parents[member] == WORLD else self._outwards(self.parents[member], x)

    def compliance_to_child(self, x: Block) -> Block:
        """Transform a symmetric compliance of the carrying body to all members."""
        found = zeros(self.size, self.size)
        for i, (chain, parent) in enumerate(zip(self.chains, self.parents, strict=True)):
            at = slice(self.start, None) if parent == WORLD else self.blocks[parent]
            source = x if parent == WORLD else found
            own = self.blocks[i]
            found[own, own] = chain.compliance_to_child(source[at, at])
            for j in range(i):
                other = self.blocks[j]
                if parent == WORLD:
                    across = chain.to_child(self._inwards(j, x[at, at]).T)
                else:
                    across = chain.to_child(found[at, other])
                found[own, other], found[other, own] = across, across.T
        return found

    def _inwards(self, member: int, x: Block) -> Block:
        """Transform columns of motions of the carrying body to a member."""
        parent = self.parents[member]
        return self.chains[member].to_child(x if parent == WORLD else self._inwards(parent, x))

    def _padded(self, parts: Sequence[Block], more: tuple[int, ...]) -> Block:
        found = zeros(self.size, *more)
        for at, x in zip(self.blocks, parts, strict=True):
            found[at] = x
        return found


class AggregateSite:
    """The letters at an aggregate: numbers of members, ratios and offsets of followers, loops."""

    def __init__(self, kind: AggregateKind, numbers: Sequence[Any], expressed: Expressed, robot: str) -> None:
        self.kind, self.expressed = kind, expressed
        left = iter(numbers)
        self.sites = [
            site_of(m.kind, [next(left) for _ in range(m.numbers)], expressed, robot) for m in kind.members
        ]
        self.ratios = [(next(left), next(left)) if m.follows else (1.0, 0.0) for m in kind.members]
        self.loops = [LoopSite(x, left) for x in kind.loops]
        self.held = zeros(self.locks)

    @property
    def nv(self) -> int:
        """The number of degrees of freedom."""
        return len(self.kind.active)

    @property
    def locks(self) -> int:
        """The number of locks, the last entries of the block; see `site`."""
        return self.nv if self.kind.switched else 0

    @cached_property
    def blocks(self) -> list[slice]:
        """The slices of the members' blocks."""
        return _slices(s.size for s in self.sites)

    @property
    def size(self) -> int:
        """The size of the block."""
        return self.blocks[-1].stop + self.locks

    # Parameters.

    def derived(self, parameters: Block) -> Block:
        """Return the derived values of the members in order, then σ."""
        count = len(parameters) - self.locks
        at = _slices(10 * m.kind.members if count else 0 for m in self.kind.members)
        own = [s.derived(parameters[p]) for s, p in zip(self.sites, at, strict=True)]
        return np.concatenate([*own, parameters[count:]])

    def with_derived(self, derived: Block) -> AggregateSite:
        """Return the site with the derived inertias and σ."""
        count = len(derived) - self.locks
        found = copy(self)
        at = _slices(10 if count else 0 for _ in self.sites)
        found.sites = [s.with_derived(derived[p]) for s, p in zip(self.sites, at, strict=True)]
        found.held = derived[count:]
        return found

    # The joints.

    def hinge(self, q: Block) -> Block:
        """Return the hinge values of the members in order, H′ᵀ, and the charts of the loops."""
        parts: list[Block] = []
        for site, m, (ratio, offset) in zip(self.sites, self.kind.members, self.ratios, strict=True):
            own = q[list(m.coordinates)]
            parts.append(site.hinge(ratio * own + offset if m.follows else own))
        return self._gathered(parts)

    def _gathered(self, parts: Sequence[Block]) -> Block:
        """Return the hinge values of the members, and what is made of them."""
        step = self._step(parts)
        charts = [loop.chart(self.sites, parts, step.chains) for loop in self.loops]
        columns = [
            _hinge_columns(site, part) @ g
            for site, part, g in zip(self.sites, parts, self._maps(charts), strict=True)
        ]
        moved = step.scattered(columns)
        return np.concatenate([*parts, *(x.ravel() for x in moved), *charts])

    def hinge_rates(self, hinge: Block) -> list[Block]:
        """Return the rates of the values of `hinge` along each degree of freedom."""
        parts, maps = self._hinges(hinge), self._maps(self._charts(hinge))
        every = [site.hinge_rates(part) for site, part in zip(self.sites, parts, strict=True)]
        found: list[Block] = []
        for k in range(self.nv):
            level = fresh_level()
            moved = [
                duals(part, sum((g[j, k] * x for j, x in enumerate(own)), zeros(len(part))), level)
                for part, own, g in zip(parts, every, maps, strict=True)
            ]
            found.append(rates(self._gathered(moved), level))
        return found

    @property
    def spans(self) -> list[slice]:
        """Where the spatial vectors of the members stand in the block."""
        return [slice(at.start, at.start + 6) for at in self.blocks]

    def coriolis(self, v: Block) -> Block:
        """Return 2B of the members."""
        found = [s.coriolis(v[at]) for s, at in zip(self.sites, self.blocks, strict=True)]
        return self._diagonal([*found, zeros(self.locks, self.locks)])

    def directions(self, numbers: Leaf) -> int:
        """Return in how many directions numbers of the model vary here: of members, or of the rates."""
        per_rate = {rotors: 1, friction: 3}.get(numbers)
        return sum(s.directions(numbers) for s in self.sites) if per_rate is None else per_rate * self.nv

    def towards(self, numbers: Leaf, n: int, hinge: Block, level: int) -> tuple[AggregateSite, Block]:
        """Return the site and `hinge` with numbers of the model that vary in a direction.

        Joints that share a rate share its numbers too. H′ varies with the placements of the members.
        """
        found = copy(self)
        found.sites = list(self.sites)
        parts = self._hinges(hinge)
        for k, own in self._at_members(numbers, n):
            found.sites[k], _ = self.sites[k].towards(numbers, own, parts[k], level)
        return found, found._gathered(parts) if numbers is placements else hinge

    def _at_members(self, numbers: Leaf, n: int) -> Iterator[tuple[int, int]]:
        """Yield the members that a direction is of, with its number there."""
        if numbers in (rotors, friction):
            width = 3 if numbers is friction else 1
            dof, kind = divmod(n, width)
            for k, m in enumerate(self.kind.members):
                if dof in m.dofs:
                    yield k, width * m.dofs.index(dof) + kind
            return
        for k, site in enumerate(self.sites):
            if n < site.directions(numbers):
                yield k, n
                return
            n -= site.directions(numbers)

    def _maps(self, charts: Sequence[Block]) -> list[Block]:
        """Return G at each member: from the rates of the aggregate to those of its joint."""
        found: list[Block] = []
        for site, m, (ratio, _) in zip(self.sites, self.kind.members, self.ratios, strict=True):
            own = zeros(site.kind.type.nv, self.nv)
            for k, dof in enumerate(m.dofs):
                own[k, dof] = ratio
            found.append(own)
        for loop, chart in zip(self.loops, charts, strict=True):
            for (m, k), row in zip(loop.kind.pivots, loop.dependent(chart), strict=True):
                for (_, _, dof), x in zip(loop.kind.free, row, strict=True):
                    found[m][k, dof] = x
        return found

    def _charts(self, hinge: Block) -> list[Block]:
        """Return the charts of the loops among the values of `hinge`."""
        start = self._parts[-1].stop + self.blocks[-1].stop * self.nv
        return [hinge[start + at.start : start + at.stop] for at in _slices(x.size for x in self.kind.loops)]

    @cached_property
    def _parts(self) -> list[slice]:
        return _slices(s.hinge_size for s in self.sites)

    def _hinges(self, hinge: Block) -> list[Block]:
        """Return the members' parts of the values of `hinge`."""
        return [hinge[at] for at in self._parts]

    def step(self, hinge: Block) -> AggregateStep:
        """Return the step to the carrying body."""
        return self._step(self._hinges(hinge))

    def _step(self, hinges: Sequence[Block]) -> AggregateStep:
        chains = [s.step(h) for s, h in zip(self.sites, hinges, strict=True)]
        parents = [m.parent for m in self.kind.members]
        return AggregateStep(chains, parents, self.blocks, self.size, self.kind.start, self.kind.above)

    # Operators.

    def value(self, leaf: Leaf, hinge: Block) -> Block | None:
        """Return the block of an operator that the robot gives."""
        if leaf is H:
            return self._hinge_map(hinge)
        if leaf in (Hp, Ha, Np, Na):
            return self._part(leaf, hinge)
        if leaf is W:
            return self._mount_map(hinge) if all(s.kind.mounted for s in self.sites) else None
        found = [s.value(leaf, h) for s, h in zip(self.sites, self._hinges(hinge), strict=True)]
        if leaf is M and all(x is not None for x in found):
            return self._diagonal([*found, unit_block(self.locks)])
        if leaf in (B, Bc):
            return self._diagonal([*found, zeros(self.locks, 0)])
        return None

    def _mount_map(self, hinge: Block) -> Block:
        """Return W φᵢ: what moves with the placement of a member."""
        parts = self._hinges(hinge)
        count = len(self.sites)
        columns: list[Block] = []
        for k, (site, part) in enumerate(zip(self.sites, parts, strict=True)):
            own = zeros(site.size, 6 * count)
            block = site.value(W, part)
            assert block is not None
            own[:, 6 * k : 6 * k + 6] = block.T
            columns.append(own)
        found = zeros(6 * count, self.size)
        moved = self._step(parts).scattered(columns)
        for at, x in zip(self.blocks, moved, strict=True):
            found[:, at] = x.T
        return found

    def _diagonal(self, blocks: Iterable[Block | None]) -> Block:
        parts = [x for x in blocks if x is not None]
        rows, columns = (_slices(x.shape[k] for x in parts) for k in (0, 1))
        found = zeros(rows[-1].stop, columns[-1].stop)
        for x, down, across in zip(parts, rows, columns, strict=True):
            found[down, across] = x
        return found

    def _hinge_map(self, hinge: Block) -> Block:
        found = zeros(self.nv, self.size)
        start, count = self._parts[-1].stop, self.blocks[-1].stop
        columns = hinge[start : start + count * self.nv].reshape(count, self.nv)
        found[:, : len(columns)] = columns.T
        return found

    def _part(self, leaf: Leaf, hinge: Block) -> Block:
        """Return passive or active rows: of the hinge map, or of the identity."""
        rows = self._hinge_map(hinge) if leaf in (Hp, Ha) else unit_block(self.nv)
        if not self.kind.switched:
            return rows[[k for k, x in enumerate(self.kind.active) if x == (leaf in (Ha, Na))]]
        active, passive = self.held, 1.0 - self.held
        found = (active if leaf in (Ha, Na) else passive)[:, None] * rows
        for k in range(self.locks if leaf is Hp else 0):
            found[k, self.size - self.locks + k] = active[k]
        return found

    # Functions of the motion.

    def formula(self, leaf: Leaf, hinge: Block, needs: Sequence[Block]) -> Block:
        """Return a leaf that is a function of the motion at the members."""
        if leaf.origin is not None:
            return varied(self, leaf, hinge, needs)
        if leaf in (a, a_m):
            return self._bias_acceleration(hinge, *needs)
        if leaf is tau_j:
            return self._own_forces(hinge, *needs)
        if leaf is c_j:
            return zeros(self.nv)  # members turn about axes that stay where they are
        hinges = self._hinges(hinge)
        across = _slices(6 * len(s.nodes) for s in self.sites) if leaf.name == "v_n" else self.blocks
        found = [
            s.formula(leaf, h, [x[at] for x in needs])
            for s, h, at in zip(self.sites, hinges, across, strict=True)
        ]
        if leaf in (Q, A):
            return self._diagonal([*found, zeros(self.locks if leaf is A else 0, 0)])
        own = leaf.range is M.range
        return np.concatenate([*found, zeros(self.locks if own else 0)])

    def _own_forces(self, hinge: Block, qd: Block) -> Block:
        """Return Gᵀ τⱼ: the members' own forces at the rates that they share."""
        found = zeros(self.nv)
        maps = self._maps(self._charts(hinge))
        for site, part, g in zip(self.sites, self._hinges(hinge), maps, strict=True):
            found = found + g.T @ site.formula(tau_j, part, [g @ qd])
        return found

    def _bias_acceleration(self, hinge: Block, above: Block, qd: Block) -> Block:
        """Return a′ = φᵢᵀ (a + Hᵀ Ġ q̇); `above` is the carrying body's velocity at each member."""
        hinges, charts = self._hinges(hinge), self._charts(hinge)
        step = self._step(hinges)
        moving = [g @ qd for g in self._maps(charts)]
        velocities: list[Block] = []
        biases: list[Block] = []
        for k, (site, m, own) in enumerate(zip(self.sites, self.kind.members, moving, strict=True)):
            before = above[self.blocks[k]]
            if m.parent != WORLD:
                before = step.chains[k].to_child(velocities[m.parent])
            velocities.append(before + _hinge_columns(site, hinges[k]) @ own if len(own) else before)
            biases.append(site.formula(a, hinges[k], [before, own]))
        for loop, chart in zip(self.loops, charts, strict=True):
            ahead = loop.accelerations(chart, self.sites, hinges, step.chains, moving)
            for (m, k), x in zip(loop.kind.pivots, ahead, strict=True):
                biases[m] = biases[m] + _hinge_columns(self.sites[m], hinges[m])[:, k] * x
        return np.concatenate([*step.scattered(biases), zeros(self.locks)])


def _hinge_columns(site: RobotSite, hinge: Block) -> Block:
    """Return Hᵀ at a member."""
    rows = site.value(H, hinge)
    assert rows is not None
    return rows.T


def _slices(sizes: Iterable[int]) -> list[slice]:
    ends = list(accumulate(sizes, initial=0))
    return [slice(i, j) for i, j in pairwise(ends)]
