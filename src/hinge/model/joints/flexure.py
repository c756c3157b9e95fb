"""Flexure: the deformation of a flexible body at a place where something is attached."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

import numpy as np

from hinge.errors import ModelError
from hinge.model.joints.contract import VectorJoint
from hinge.spatial import Array, Transform, cross, matvec, skew, transpose

Numbers: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Flexure(VectorJoint):
    """The turn and the shift of a place by the modal coordinates η, which are those of the body's modes.

    With shapes [Ψ; Φ] (6, n) and second Φ₂ (3, n, n) in the axes of the inner frame, u = ½ Ψ η are Rodrigues
    parameters, without sines and roots and a rotation for every η, and κ = 1/(1 + u·u):

        E = (1 + 2κ (u× + u× u×))ᵀ      r = Φ η + ½ Φ₂[η, η]      S = [κ (1 − u×) Ψ; E (Φ + Φ₂ η)]

    Its slices of q and qd are those of the joint of type `Modes` before it, unless it is `free`.
    """

    shapes: Numbers = ((0.0,),) * 6
    second: Numbers | None = None
    free: bool = field(default=False, repr=False)

    kind = "flexure"

    def __post_init__(self) -> None:
        put = object.__setattr__
        n = len(self.shapes[0])
        put(self, "shapes", _numbers(self.shapes, "shapes", (6, n)))
        if self.second is not None:
            put(self, "second", _numbers(self.second, "second", (3, n, n)))
        names = tuple(f"mode{k + 1}" for k in range(n))
        vars(self).update(q_names=names, qd_names=names, lengths=(True,) * n, _hash=None)

    def __hash__(self) -> int:
        found = vars(self)["_hash"]
        if found is None:
            found = vars(self)["_hash"] = hash((self.shapes, self.second, self.free))
        return found

    @classmethod
    def random_type(cls, rng: np.random.Generator) -> Flexure:
        """Return a type with three modes and a quadratic field."""
        second = 0.2 * rng.normal(size=(3, 3, 3))
        return cls(0.5 * rng.normal(size=(6, 3)), second + np.swapaxes(second, 1, 2))  # pyright: ignore[reportArgumentType]

    @cached_property
    def _turn(self) -> Array:
        return np.array(self.shapes[:3])

    @cached_property
    def _shift(self) -> Array:
        return np.array(self.shapes[3:])

    @cached_property
    def _second(self) -> Array | None:
        return None if self.second is None else np.array(self.second)

    def _parameters(self, q: Array) -> tuple[Array, Array]:
        """Return u = ½ Ψ η and κ (…, 1)."""
        u = matvec(0.5 * self._turn, q)
        return u, 1.0 / (1.0 + (u * u).sum(axis=-1, keepdims=True))

    def _slopes(self, q: Array) -> Array:
        """Return Φ + Φ₂ η (…, 3, n)."""
        if self._second is None:
            return np.broadcast_to(self._shift, (*q.shape[:-1], *self._shift.shape))
        return self._shift + (self._second * q[..., None, None, :]).sum(axis=-1)

    def placement(self, q: Array) -> Transform:
        """Return the turn by the Rodrigues parameters u and the shift by Φ η + ½ Φ₂[η, η]."""
        u, k = self._parameters(q)
        ux = skew(u)
        turn = np.eye(3) + (2.0 * k)[..., None] * (ux + ux @ ux)
        half = self._shift if self._second is None else 0.5 * (self._shift + self._slopes(q))
        return Transform(transpose(turn), matvec(half, q))

    def subspace(self, q: Array) -> Array:
        """Return S = [κ (1 − u×) Ψ; E (Φ + Φ₂ η)]."""
        u, k = self._parameters(q)
        angular = k[..., None] * ((np.eye(3) - skew(u)) @ self._turn)
        return np.concatenate([angular, self.placement(q).E @ self._slopes(q)], axis=-2)

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Ṡ η̇ = [−2κ (u · u̇) ω; E Φ₂[η̇, η̇] − ω × v] with [ω; v] = S η̇, u̇ = ½ Ψ η̇."""
        u, k = self._parameters(q)
        across = matvec(self.subspace(q), qd)
        w, v = across[..., :3], across[..., 3:]
        rate = (u * matvec(0.5 * self._turn, qd)).sum(axis=-1, keepdims=True)
        linear = -cross(w, v)
        if self._second is not None:
            twice = ((self._second * qd[..., None, None, :]).sum(axis=-1) * qd[..., None, :]).sum(axis=-1)
            linear = linear + matvec(self.placement(q).E, twice)
        return np.concatenate([(-2.0 * k * rate) * w, linear], axis=-1)

    def reversed(self) -> NoReturn:
        """Raise a ModelError: a deformation has no other side."""
        raise ModelError("joint: an attachment of a flexible body cannot be reversed; keep the base")


def _numbers(given: Any, what: str, shape: tuple[int, ...]) -> Numbers:
    """Return finite numbers as nested tuples, which are hashed."""
    x = np.asarray(given, dtype=np.float64)
    if x.shape != shape or not np.isfinite(x).all():
        raise ModelError(f"{what}: expected finite numbers of shape {shape}, got shape {x.shape}")
    return _nested((x + 0.0).tolist())


def _nested(x: Any) -> Any:
    return tuple(map(_nested, x)) if isinstance(x, list) else x
