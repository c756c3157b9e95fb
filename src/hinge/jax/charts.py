"""Coordinates and tangents: from changes of q (…, nq) to velocities (…, nv), d = N⁺(q) dq, and their adjoint.

N⁺ is the left inverse of q̇ = N(q) v that is zero along quaternions. It is a formula of a joint's type, which holds for
any scalar: as traced code beside a program, and on arrays of JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hinge.jax.extras import jax
from hinge.jax.scalars import Element, elements
from hinge.model import Robot, units
from hinge.model.joints import Free, JointType, VectorJoint
from hinge.sweeps import Joined, KnownBlock


@dataclass(frozen=True)
class Piece:
    """A part of an input: its type as a joint, and the indices of coordinates and of velocities."""

    name: str
    type: JointType
    q: tuple[int, ...]
    v: tuple[int, ...]

    def unrate(self, q: Any, dq: Any) -> Any:
        """Return N⁺ dq, or raise a NotImplementedError."""
        found = self.type.unrate(q, dq)
        if found is None:
            raise NotImplementedError(
                f"joint {self.name!r}: derivatives by coordinates are not supported for {self.type.kind} joints, "
                "which roll; use hinge.jvp and hinge.vjp, which are in the tangent space"
            )
        return found

    def back(self, q: Any, g: Any) -> Any:
        """Return N⁺ᵀ g."""
        columns = [self.unrate(q, e) for e in np.eye(len(self.q))]
        found = np.empty(len(columns), dtype=object)
        found[:] = [sum(c * x for c, x in zip(column, g, strict=True)) for column in columns]
        return found


class Chart:
    """The coordinates of an input, whose changes have `size` numbers in coordinates and `tangent` in velocities."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = tuple(p for p in pieces if p.q)
        self.size, self.tangent = (sum(len(x) for x in xs) for xs in zip(*((p.q, p.v) for p in self.pieces), strict=True)) if self.pieces else (0, 0)

    @classmethod
    def of(cls, robot: Robot, name: str) -> Chart | None:
        """Return the chart of an input, None if its changes are vectors."""
        if name == "q":
            found = cls([Piece(u.name, u.type, u.q, u.qd) for u in units(robot)])
        elif name == "placements":
            rows = range(len(robot.bodies))
            found = cls([Piece(b.name, Free(), _row(k, 7), _row(k, 6)) for k, b in zip(rows, robot.bodies, strict=True)])
        else:
            return None
        return None if found.is_flat else found

    @cached_property
    def curved(self) -> tuple[Piece, ...]:
        """The pieces whose changes are no vectors."""
        return tuple(p for p in self.pieces if not isinstance(p.type, VectorJoint))

    @property
    def is_flat(self) -> bool:
        """Whether changes are the same in coordinates and in velocities."""
        return not self.curved and all(p.q == p.v for p in self.pieces)

    # In traced code.

    def code_to_tangent(self, whole: Joined, q: KnownBlock, dq: KnownBlock) -> KnownBlock:
        """Return N⁺ dq as a part of code."""
        return self._joined(whole, q, dq, Piece.unrate, forward=True)

    def code_to_coordinates(self, whole: Joined, q: KnownBlock, g: KnownBlock) -> KnownBlock:
        """Return N⁺ᵀ g as a part of code."""
        return self._joined(whole, q, g, Piece.back, forward=False)

    def _joined(
        self, whole: Joined, q: KnownBlock, x: KnownBlock, formula: Callable[..., Any], *, forward: bool
    ) -> KnownBlock:
        found = np.zeros(self.tangent if forward else self.size, dtype=object)
        for p in self.pieces:
            here, there = (p.q, p.v) if forward else (p.v, p.q)
            if p not in self.curved:
                found[list(there)] = x[list(here)]
                continue
            n = len(p.q)
            given = np.concatenate([q[list(p.q)], x[list(here)]])
            found[list(there)] = whole.apply(lambda y, p=p, n=n: formula(p, y[:n], y[n:]), given)
        return found

    # On arrays of JAX.

    def to_tangent(self, q: Any, dq: Any) -> Any:
        """Return N⁺ dq of arrays."""
        return self._arrays(q, dq, Piece.unrate, forward=True)

    def to_coordinates(self, q: Any, g: Any) -> Any:
        """Return N⁺ᵀ g of arrays."""
        return self._arrays(q, g, Piece.back, forward=False)

    def _arrays(self, q: Any, x: Any, formula: Callable[..., Any], *, forward: bool) -> Any:
        jnp = jax().numpy
        columns: list[Any] = [None] * (self.tangent if forward else self.size)
        for p in self.pieces:
            here, there = (p.q, p.v) if forward else (p.v, p.q)
            given = elements(x, here)
            shown = formula(p, elements(q, p.q), given) if p in self.curved else given
            for k, y in zip(there, shown, strict=True):
                columns[k] = y.array if isinstance(y, Element) else y
        batch = jnp.broadcast_shapes(q.shape[:-1], x.shape[:-1])
        return jnp.stack([jnp.broadcast_to(jnp.asarray(c, x.dtype), batch) for c in columns], axis=-1)


def _row(k: int, width: int) -> tuple[int, ...]:
    return tuple(range(width * k, width * k + width))
