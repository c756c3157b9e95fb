"""The letters that differentiation makes, at a body: cross products, held values and partial derivatives.

A partial derivative evaluates the formula of its letter on dual numbers, once for each direction of what it
is taken by. Along the joint's own q the numbers of `hinge` vary; a site says how by `hinge_rates`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from hinge.algebra import Leaf, Letter, Origin, leaf_of
from hinge.kernels import duals, fresh_level, rates
from hinge.spatial import skew
from hinge.sweeps import Block, zeros


class Varied(Protocol):
    """A site whose letters have derivatives."""

    @property
    def spans(self) -> Sequence[slice]:
        """Where the spatial vectors of bodies stand in a block of the Body space."""
        ...

    @property
    def expressed(self) -> str:
        """The axes in which nodes are shown."""
        ...

    def value(self, leaf: Leaf, hinge: Block) -> Block | None:
        """Return the block of an operator that the model gives."""
        ...

    def formula(self, leaf: Leaf, hinge: Block, needs: Sequence[Block]) -> Block:
        """Return a leaf that is a function of the motion at the body."""
        ...

    def hinge_rates(self, hinge: Block) -> Sequence[Block]:
        """Return the rates of the values of `hinge` along each degree of freedom."""
        ...

    def coriolis(self, v: Block) -> Block:
        """Return 2B = bar(M V) − ad(V)ᵀ M − M ad(V)."""
        ...

    def directions(self, numbers: Leaf) -> int:
        """Return in how many directions numbers of the model vary here."""
        ...

    def towards(self, numbers: Leaf, n: int, hinge: Block, level: int) -> tuple[Varied, Block]:
        """Return the site, and the values of `hinge`, with numbers of the model that vary in a direction."""
        ...


def varied(site: Varied, leaf: Leaf, hinge: Block, needs: Sequence[Block]) -> Block:
    """Return the block of a letter that differentiation has made."""
    origin = leaf.origin
    assert origin is not None
    match origin.kind:
        case "ad":
            return _by_spans(_spans(site, leaf, needs[0]), needs[0], _ad)
        case "bar":
            return _by_spans(_spans(site, leaf, needs[0]), needs[0], _bar)
        case "coriolis":
            return site.coriolis(needs[0])
        case "composite" | "block":
            raise AssertionError(f"{leaf}: a block with a definition is an equation of the sweeps")
        case "turned":
            return _turned(site.expressed, needs[0], force=origin.slot == "force")
        case "along" | "partial" | "contracted":
            return _BY_RATES[origin.kind](site, origin, hinge, needs)
        case "moment":
            return _moment(site, needs[0])
        case "value":
            raise AssertionError(f"{leaf}: a held value is an equation of the sweeps")


class PosedSite(Protocol):
    """The world, whose letters are functions of poses and motions of ends."""

    @property
    def ends(self) -> Sequence[int]:
        """Where the ends stand in the stack of all ends."""
        ...

    def formula(self, leaf: Leaf, needs: Sequence[Block]) -> Block:
        """Return a leaf that is a function of the ends."""
        ...


def varied_at_world(site: PosedSite, leaf: Leaf, needs: Sequence[Block]) -> Block:
    """Return a partial derivative at the world: by vectors, or by displacements of ends that are posed."""
    origin = leaf.origin
    assert origin is not None
    assert origin.kind == "partial"
    base, k = leaf_of(origin.of), origin.slot + origin.applied
    rest = needs[1:] if origin.applied else needs

    def evaluated(given: Sequence[Block]) -> Block:
        found = site.formula(base, given)
        if not origin.applied:
            return found
        return _times(found if origin.of is base else found.T, needs[0])

    columns: list[Block] = []
    for way in _ways_of(site, needs[k]):
        level = fresh_level()
        given = list(rest)
        given[origin.slot] = duals(needs[k], way, level)
        columns.append(rates(np.asarray(evaluated(given), dtype=object), level))
    return np.stack(columns, axis=1) if columns else zeros(len(evaluated(rest)), 0)


def _ways_of(site: PosedSite, x: Block) -> Iterator[Block]:
    """Yield directions: units of a vector; for poses δP = −ad(ξ) P of each end, zero beside the ends."""
    for n in range(len(x)):
        way = zeros(*x.shape)
        if x.ndim == 1:
            way[n] = 1.0
        else:
            first = next((e for e in site.ends if e <= n < e + 6), None)
            if first is not None:
                unit = zeros(6)
                unit[n - first] = 1.0
                way[first : first + 6] = -(_ad(unit) @ x[first : first + 6])
        yield way


def _spans(site: Varied, leaf: Leaf, x: Block) -> Sequence[slice]:
    """Return where spatial vectors stand in x: those of bodies, or one for each node."""
    if leaf.range.name == "Body":
        return site.spans
    return [slice(k, k + 6) for k in range(0, len(x) // 6 * 6, 6)]


def _by_spans(spans: Iterable[slice], x: Block, block: Callable[[Block], Block]) -> Block:
    """Return a block-diagonal matrix; entries that are no spatial vectors, as those of rotors, are zero."""
    found = zeros(len(x), len(x))
    for at in spans:
        found[at, at] = block(x[at])
    return found


def _ad(x: Block) -> Block:
    """Return [ω× 0; v× ω×], Featherstone (2.31)."""
    found = zeros(6, 6)
    found[:3, :3] = found[3:, 3:] = skew(x[:3])
    found[3:, :3] = skew(x[3:])
    return found


def _bar(f: Block) -> Block:
    """Return −[n× f×; f× 0]: x ↦ x ×* f."""
    found = zeros(6, 6)
    found[:3, :3] = -skew(f[:3])
    found[:3, 3:] = found[3:, :3] = -skew(f[3:])
    return found


def _turned(expressed: str, r: Block, *, force: bool) -> Block:
    """Return for each node what Q does to r per motion of the node; see `_Rules._shown`."""

    def block(x: Block) -> Block:
        if expressed == "body":
            return zeros(6, 6)
        if expressed == "world":
            return -_bar(x) if force else _ad(x)
        found = zeros(6, 6)
        found[:3, :3], found[3:, :3] = skew(x[:3]), skew(x[3:])
        return found

    return _by_spans([slice(k, k + 6) for k in range(0, len(r), 6)], r, block)


def _evaluated(site: Varied, of: Letter, hinge: Block, needs: Sequence[Block], *, applied: bool) -> Block:
    """Return a letter, or an operator or its adjoint applied to the first of `needs`."""
    base = leaf_of(of)
    rest = needs[1:] if applied else needs
    found = None if base.needs else site.value(base, hinge)
    if found is None:
        found = site.formula(base, hinge, rest)
    if not applied:
        return found
    return _times(found if of is base else found.T, needs[0])


def _partial(site: Varied, origin: Origin, hinge: Block, needs: Sequence[Block]) -> Block:
    slot = origin.slot
    like = _evaluated(site, origin.of, hinge, needs, applied=origin.applied)
    if isinstance(slot, Leaf):
        columns = [_by_numbers(site, origin, hinge, needs, n) for n in range(site.directions(slot))]
        return np.stack(columns, axis=1) if columns else zeros(len(like), 0)
    if slot is None:
        ways = [(rate, None) for rate in site.hinge_rates(hinge)]
    else:
        k = slot + origin.applied
        ways = [(None, (k, n)) for n in range(len(needs[k]))]
    columns = [_rate(site, origin, hinge, needs, way) for way in ways]
    return np.stack(columns, axis=1) if columns else zeros(len(like), 0)


def _moment(site: Varied, z: Block) -> Block:
    """Return c with cᵀ x = tr Z ad(x): the parts of Z that are not symmetric, ω by both diagonal blocks."""
    found = zeros(len(z))
    for at in site.spans:
        own = z[at, at]
        found[at] = np.concatenate([_axial(own[:3, :3] + own[3:, 3:]), _axial(own[:3, 3:])])
    return found


def _axial(x: Block) -> Block:
    """Return a with aᵀ v = tr X v×."""
    return np.array([x[1, 2] - x[2, 1], x[2, 0] - x[0, 2], x[0, 1] - x[1, 0]], dtype=object)


def _contracted(site: Varied, origin: Origin, hinge: Block, needs: Sequence[Block]) -> Block:
    """Return tr Z ∂ℓ along each degree of freedom, or along each direction of numbers of the model."""
    z, rest, plain = needs[0], needs[1:], replace(origin, applied=False)
    if origin.slot is None:
        ways = [_rate(site, plain, hinge, rest, (rate, None)) for rate in site.hinge_rates(hinge)]
    else:
        directions = range(site.directions(origin.slot))
        ways = [_by_numbers(site, plain, hinge, rest, n) for n in directions]
    found = zeros(len(ways))
    for n, change in enumerate(ways):
        found[n] = sum((x * y for x, y in zip(z.T.flat, change.flat, strict=True)), 0.0)
    return found


def _by_numbers(site: Varied, origin: Origin, hinge: Block, needs: Sequence[Block], n: int) -> Block:
    """Return the rate of a letter along one direction of numbers of the model."""
    level = fresh_level()
    moved, there = site.towards(origin.slot, n, hinge, level)
    found = _evaluated(moved, origin.of, there, needs, applied=origin.applied)
    return rates(np.asarray(found, dtype=object), level)


def _rate(
    site: Varied,
    origin: Origin,
    hinge: Block,
    needs: Sequence[Block],
    way: tuple[Block | None, tuple[int, int] | None],
) -> Block:
    """Return the rate of a letter along one direction: of the joint, or of one entry of one need."""
    level = fresh_level()
    along, entry = way
    given = list(needs)
    if along is not None:
        hinge = duals(hinge, along, level)
    if entry is not None:
        k, n = entry
        unit = zeros(len(needs[k]))
        unit[n] = 1.0
        given[k] = duals(needs[k], unit, level)
    found = _evaluated(site, origin.of, hinge, given, applied=origin.applied)
    return rates(np.asarray(found, dtype=object), level)


def _along(site: Varied, origin: Origin, hinge: Block, needs: Sequence[Block]) -> Block:
    """Return Σ ∂Z/∂qₖ xₖ of an operator Z."""
    total: Block | None = None
    base = leaf_of(origin.of)
    for rate, x in zip(site.hinge_rates(hinge), needs[0], strict=True):
        level = fresh_level()
        block = site.value(base, duals(hinge, rate, level))
        assert block is not None
        part = rates(block, level) * x
        total = part if total is None else total + part
    if total is None:
        block = site.value(base, hinge)
        assert block is not None
        total = zeros(*block.shape)
    return total if origin.of is base else total.T


def _times(x: Block, y: Block) -> Block:
    return zeros(x.shape[0]) if x.shape[-1] == 0 else x @ y


#: What is made of the rates of a letter.
_BY_RATES = {"along": _along, "partial": _partial, "contracted": _contracted}
