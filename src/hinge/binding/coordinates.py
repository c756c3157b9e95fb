"""Between changes of coordinates and velocities, as code: N of q̇ = N(q) v, its left inverse N⁺, adjoints.

N⁺ is zero along quaternions, so that gradients by coordinates are those of q ↦ f(q / |q|). The formulas hold
for any scalar type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from hinge.binding.joint_code import transposed
from hinge.model import Unit
from hinge.model.joints import VectorJoint
from hinge.sweeps import Joined, KnownBlock

#: Numbers of any scalar type.
Numbers: TypeAlias = Any
Formula: TypeAlias = Callable[[Unit, Numbers, Numbers], Numbers]


def unrated(u: Unit, q: Numbers, dq: Numbers) -> Numbers:
    """Return N⁺ dq, or raise a NotImplementedError."""
    found = u.type.unrate(q, dq)
    if found is None:
        raise NotImplementedError(
            f"joint {u.name!r}: derivatives by coordinates are not supported for {u.type.kind} joints"
        )
    return found


def from_velocity(u: Unit, q: Numbers, g: Numbers) -> Numbers:
    """Return N⁺ᵀ g: a gradient by coordinates, given one along velocities."""
    return transposed(partial(unrated, u), len(u.q), q, g)


def from_coordinates(u: Unit, q: Numbers, c: Numbers) -> Numbers:
    """Return Nᵀ c: a gradient along velocities, given one by coordinates."""
    return transposed(u.type.rate, len(u.qd), q, c)


def is_vector(u: Unit) -> bool:
    """Tell whether coordinates change as velocities say."""
    return isinstance(u.type, VectorJoint)


def all_unrated(whole: Joined, units: Sequence[Unit], q: KnownBlock, dq: KnownBlock) -> KnownBlock:
    """Return N⁺ dq as a part of code."""
    return _each(whole, units, unrated, (q, dq), lambda u: (u.q, u.qd))


def gradient_by_coordinates(whole: Joined, units: Sequence[Unit], q: KnownBlock, g: KnownBlock) -> KnownBlock:
    """Return N⁺ᵀ g as a part of code."""
    return _each(whole, units, from_velocity, (q, g), lambda u: (u.qd, u.q))


def gradient_along_velocities(
    whole: Joined, units: Sequence[Unit], q: KnownBlock, c: KnownBlock
) -> KnownBlock:
    """Return Nᵀ c as a part of code."""
    return _each(whole, units, from_coordinates, (q, c), lambda u: (u.q, u.qd))


def _each(
    whole: Joined,
    units: Sequence[Unit],
    formula: Formula,
    values: tuple[KnownBlock, KnownBlock],
    places: Callable[[Unit], tuple[Sequence[int], Sequence[int]]],
) -> KnownBlock:
    """Return a formula of q and another vector at each joint; vectors, and zeros, are passed on."""
    (q, x), both = values, [places(u) for u in units]
    found = np.zeros(sum(len(to) for _, to in both), dtype=object)
    for u, (at, to) in zip(units, both, strict=True):
        own, n = x[list(at)], len(u.q)
        if is_vector(u):
            found[list(to)] = own
        elif any(y != 0.0 for y in own):
            given = np.concatenate([q[list(u.q)], own])
            found[list(to)] = whole.apply(partial(_split, formula, u, n), given)
    return found


def _split(formula: Formula, u: Unit, n: int, x: KnownBlock) -> KnownBlock:
    return formula(u, x[:n], x[n:])
