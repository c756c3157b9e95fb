"""The contract of joint types: all that a joint type must define.

A joint leads from its inner frame (on the parent body) to its outer frame (on the child body):
Featherstone section 8.2.2. A joint type is a frozen value that knows only its own geometry; where
it sits, its limits and its name belong to `Joint`.

All methods take q (…, nq) and v (…, nv) with any leading batch dimensions. `placement`, `subspace`,
`bias`, `rate` and `normalized` hold for any scalar type (see `hinge.spatial`); the others take floats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, TypeAlias

import numpy as np

from hinge.errors import ModelError
from hinge.spatial import Array, Transform

Axis: TypeAlias = tuple[float, float, float]

X: Axis = (1.0, 0.0, 0.0)
Y: Axis = (0.0, 1.0, 0.0)
Z: Axis = (0.0, 0.0, 1.0)

#: Half-width of the range of `random` for a coordinate without limits, in rad or m.
SPAN_ANGLE = np.pi
SPAN_LENGTH = 1.0


class JointType(ABC):
    """The motion that a joint allows, in the coordinates of its outer frame."""

    kind: ClassVar[str]
    q_names: ClassVar[tuple[str, ...]]
    qd_names: ClassVar[tuple[str, ...]]

    @property
    def nq(self) -> int:
        """The number of configuration coordinates."""
        return len(self.q_names)

    @property
    def nv(self) -> int:
        """The number of velocity coordinates: the degrees of freedom."""
        return len(self.qd_names)

    def own(self, q: Array) -> Array:
        """Return the joint's own coordinates: q itself, unless the joint is a follower."""
        return q

    @abstractmethod
    def placement(self, q: Array) -> Transform:
        """Return the transform from the inner to the outer frame, Table 8-1."""

    @abstractmethod
    def subspace(self, q: Array) -> Array:
        """Return the motion subspace S (…, 6, nv): velocity across the joint = S qd, (7.10)."""

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Ṡ qd (…, 6), the derivative taken in the outer frame: (7.11).

        Zero unless S depends on q.
        """
        return np.zeros((*np.broadcast_shapes(q.shape[:-1], qd.shape[:-1]), 6))

    @abstractmethod
    def rate(self, q: Array, qd: Array) -> Array:
        """Return dq/dt (…, nq) for the velocity qd."""

    def normalized(self, q: Array) -> Array:
        """Return q with its quaternions normalised."""
        return q

    @abstractmethod
    def neutral(self) -> Array:
        """Return the q (nq,) at which inner and outer frame coincide."""

    @abstractmethod
    def integrate(self, q: Array, v: Array) -> Array:
        """Return the q reached by the constant velocity v in unit time."""

    @abstractmethod
    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the v with integrate(q0, v) = q1."""

    @abstractmethod
    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return random q (*shape, nq), within the limits where they are finite."""

    @abstractmethod
    def limits(self) -> tuple[Array, Array]:
        """Return the widest lower and upper limits (nq,) that make sense for this type."""

    @abstractmethod
    def reversed(self) -> JointType:
        """Return the type that leads from the outer to the inner frame."""

    def reverse_state(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the coordinates of the same state in the reversed type."""
        return q, qd


class VectorJoint(JointType):
    """A joint whose q is a vector with derivative qd: angles and lengths, each on its own."""

    #: True for each coordinate that is a length, not an angle.
    lengths: ClassVar[tuple[bool, ...]]

    def rate(self, q: Array, qd: Array) -> Array:
        """Return qd."""
        return qd

    def neutral(self) -> Array:
        """Return zero."""
        return np.zeros(self.nq)

    def integrate(self, q: Array, v: Array) -> Array:
        """Return q + v."""
        return q + v

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return q1 − q0."""
        return q1 - q0

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return q uniform within the limits; without limits within ±π rad or ±1 m."""
        return uniform(rng, shape, lower, upper, np.where(self.lengths, SPAN_LENGTH, SPAN_ANGLE))

    def limits(self) -> tuple[Array, Array]:
        """Return no limits."""
        return np.full(self.nq, -np.inf), np.full(self.nq, np.inf)


def uniform(
    rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array, span: Array
) -> Array:
    """Return uniform random numbers (*shape, n) between the limits, or within ±span where there are none.

    With one limit only, they lie within 2 span of it, or on its side of ±span.
    """
    low = np.where(np.isfinite(lower), lower, np.minimum(-span, upper - 2 * span))
    high = np.where(np.isfinite(upper), upper, np.maximum(span, low + 2 * span))
    return low + (high - low) * rng.random((*shape, len(span)))


def constant(columns: Array, q: Array) -> Array:
    """Return a subspace (6, nv) that does not depend on q, with q's batch dimensions."""
    return np.broadcast_to(columns, (*q.shape[:-1], *columns.shape))


def unit(axis: object, what: str = "axis") -> Axis:
    """Return three finite numbers as a unit vector, or raise a ModelError."""
    try:
        a = np.asarray(axis, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected three numbers, got {axis!r}") from None
    if a.shape != (3,) or not np.isfinite(a).all():
        raise ModelError(f"{what}: expected three finite numbers, got {axis!r}")
    largest = float(np.abs(a).max())
    if largest < 1e-12:
        raise ModelError(f"{what}: expected a nonzero vector, got {axis!r}")
    if largest > 1e100:
        a = a / largest
    size = float(np.linalg.norm(a))
    if abs(size - 1) > 1e-15:
        a = a / size
    return float(a[0]), float(a[1]), float(a[2])


def opposite(axis: Axis) -> Axis:
    """Return −axis."""
    return -axis[0], -axis[1], -axis[2]
