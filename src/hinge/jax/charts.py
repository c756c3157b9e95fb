"""Coordinates and tangents: from changes of q (…, nq) to velocities (…, nv), d = N⁺(q) dq, and their adjoint.

N⁺ is the left inverse of q̇ = N(q) v that is zero along quaternions. It is a formula of a joint's type, which
holds for any scalar: as traced code beside a program, and on arrays of JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from hinge.binding import from_velocity, is_vector, unrated
from hinge.jax.extras import jax
from hinge.jax.scalars import Element, elements, taken
from hinge.model import Robot, Unit, placement_units, units


class Chart:
    """The coordinates of an input: `size` numbers, whose changes are `tangent` numbers in velocities."""

    def __init__(self, pieces: Sequence[Unit]) -> None:
        self.pieces = tuple(p for p in pieces if p.q)
        self.size = sum(len(p.q) for p in self.pieces)
        self.tangent = sum(len(p.qd) for p in self.pieces)

    @classmethod
    def of(cls, robot: Robot, name: str) -> Chart | None:
        """Return the chart of an input, None if its changes are vectors."""
        if name == "q":
            found = cls(units(robot))
        elif name == "placements":
            found = cls(placement_units(robot))
        else:
            return None
        return None if found.is_flat else found

    @cached_property
    def curved(self) -> frozenset[Unit]:
        """The pieces whose changes are no vectors."""
        return frozenset(p for p in self.pieces if not is_vector(p))

    @property
    def is_flat(self) -> bool:
        """Whether changes are the same in coordinates and in velocities."""
        return not self.curved and all(p.q == p.qd for p in self.pieces)

    def refuse(self) -> None:
        """Raise a NotImplementedError if there are no velocities for changes of coordinates."""
        for p in self.curved:
            unrated(p, p.type.neutral(), np.zeros(len(p.q)))

    # On arrays of JAX.

    def to_tangent(self, q: Any, dq: Any) -> Any:
        """Return N⁺ dq of arrays."""
        return self._arrays(q, dq, unrated, _Q, _V)

    def to_coordinates(self, q: Any, g: Any) -> Any:
        """Return N⁺ᵀ g of arrays."""
        return self._arrays(q, g, from_velocity, _V, _Q)

    def normalized(self, q: Any) -> Any:
        """Return coordinates with quaternions of length one."""
        if not any(p.type.has_quaternion for p in self.pieces):
            return q
        return self._arrays(q, q, _normalized, _Q, _Q)

    def moved(self, q: Any, dq: Any) -> Any:
        """Return normalized(q + N(q) dq), q moved along a change in the tangent space."""
        return self.normalized(q + self._arrays(q, dq, lambda p, x, v: p.type.rate(x, v), _V, _Q))

    def _arrays(self, q: Any, x: Any, formula: Formula, here: Indices, there: Indices) -> Any:
        """Return what a formula of pieces gives; alike pieces are worked on together."""
        jnp, blocks, order = jax().numpy, list[Any](), list[int]()
        batch = jnp.broadcast_shapes(q.shape[:-1], x.shape[:-1])
        for pieces in self._alike:
            order += [k for p in pieces for k in there(p)]
            if pieces[0] not in self.curved:
                blocks.append(
                    jnp.broadcast_to(
                        taken(x, [k for p in pieces for k in here(p)]),
                        (*batch, sum(len(here(p)) for p in pieces)),
                    )
                )
                continue
            at, given = (elements(y, np.array([i(p) for p in pieces])) for y, i in ((q, _Q), (x, here)))
            columns = [
                y.array if isinstance(y, Element) else jnp.asarray(y, x.dtype)
                for y in formula(pieces[0], at, given)
            ]
            wide = jnp.stack([jnp.broadcast_to(c, (*batch, len(pieces))) for c in columns], axis=-1)
            blocks.append(wide.reshape((*batch, -1)))
        whole = jnp.concatenate(blocks, axis=-1)
        return whole if order == list(range(len(order))) else whole[..., np.argsort(order)]

    @cached_property
    def _alike(self) -> list[list[Unit]]:
        """The pieces by type, all vectors together."""
        found: dict[Any, list[Unit]] = {}
        for p in self.pieces:
            found.setdefault(p.type if p in self.curved else None, []).append(p)
        return list(found.values())


Indices: TypeAlias = Callable[[Unit], tuple[int, ...]]
Formula: TypeAlias = Callable[[Unit, Any, Any], Any]


def _Q(p: Unit) -> tuple[int, ...]:
    return p.q


def _V(p: Unit) -> tuple[int, ...]:
    return p.qd


def _normalized(p: Unit, q: Any, _: Any) -> Any:
    return p.type.normalized(q) if p.type.has_quaternion else q
