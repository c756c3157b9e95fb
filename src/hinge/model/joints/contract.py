"""The contract of joint types: all that a joint type must define.

A joint leads from its inner frame (on the parent body) to its outer frame (on the child body):
Featherstone section 8.2.2. A joint type is a frozen value that knows only its own geometry; where
it sits, its limits and its name belong to `Joint`.

All methods take q (…, nq) and v (…, nv) with any leading batch dimensions. `placement`, `subspace`,
`bias`, `rate`, `unrate`, `normalized`, `smooth_difference` and `smooth_integrate` hold for any scalar type
(see `hinge.spatial`); the others take floats.

Some facts let the compiler write better code or let editing keep more: `axial`, `upright`, `isotropic`,
`has_quaternion` and the units. Their defaults are right for any joint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

import numpy as np

from hinge.errors import ModelError
from hinge.spatial import Array, Transform, matvec, quaternion, rotation, solved

Axis: TypeAlias = tuple[float, float, float]

X: Axis = (1.0, 0.0, 0.0)
Y: Axis = (0.0, 1.0, 0.0)
Z: Axis = (0.0, 0.0, 1.0)

#: What the parts of a quaternion are called, and coordinates that are lengths.
QUATERNION = ("qw", "qx", "qy", "qz")
LENGTHS = ("x", "y", "z", "vx", "vy", "vz")
#: Half-width of the range of `random` for a coordinate without limits, in rad or m.
SPAN_ANGLE = np.pi
SPAN_LENGTH = 1.0


@dataclass(frozen=True)
class Axial:
    """A motion along one axis: a turn by the angle q[turn] and a shift by pitch · q[slide], where qd = dq/dt.

    `turn` or `slide` is None where there is none.
    """

    axis: Axis
    turn: int | None = None
    slide: int | None = None
    pitch: float = 1.0

    @property
    def pitched(self) -> bool:
        """Whether there is a shift and it is not just a coordinate."""
        return self.slide is not None and self.pitch != 1.0

    def placement(self, q: Array) -> Transform:
        """Return the turn by the angle and the shift along the axis."""
        turn = None if self.turn is None else rotation.about(self.axis, q[..., self.turn])
        shift = None if self.slide is None else self.pitch * q[..., self.slide, None] * np.array(self.axis)
        return Transform.place(turn, shift)

    def subspace(self, q: Array) -> Array:
        """Return S: the axis above where a coordinate turns, pitch times it below where one slides."""
        s = np.zeros((6, q.shape[-1]))
        if self.turn is not None:
            s[:3, self.turn] = self.axis
        if self.slide is not None:
            s[3:, self.slide] = self.pitch * np.array(self.axis)
        return constant(s, q)


class JointType(ABC):
    """The motion that a joint allows, in the coordinates of its outer frame."""

    kind: ClassVar[str]
    q_names: ClassVar[tuple[str, ...]]
    qd_names: ClassVar[tuple[str, ...]]

    #: Whether the same number for every velocity means the same seen from either side and along any path: a
    #: spring of equal stiffnesses then has an energy.
    isotropic: ClassVar[bool] = False

    @property
    def nq(self) -> int:
        """The number of configuration coordinates."""
        return len(self.q_names)

    @property
    def nv(self) -> int:
        """The number of velocity coordinates: the degrees of freedom."""
        return len(self.qd_names)

    @property
    def axial(self) -> Axial | None:
        """The motion as one along an axis, which has cheaper code; None for any other."""
        return None

    def upright(self) -> JointType:
        """Return a type with the same motion along z if it is axial: types that come out equal share code."""
        return self

    @property
    def reactions(self) -> Array | None:
        """The constraint rows (m, 6) of a closure of this type, in the outer frame, as [ωx ωy ωz vx vy vz].

        They are those of the type with its `axis`, if it has one, along z. None if they depend on q: such a
        joint closes no loop.
        """
        return None

    @property
    def has_quaternion(self) -> bool:
        """Whether q begins with a unit quaternion."""
        return self.q_names[:4] == QUATERNION

    @property
    def q_units(self) -> tuple[str, ...]:
        """The unit of each coordinate: "rad", "m", or "" for a part of a quaternion."""
        return tuple(map(_unit, self.q_names))

    @property
    def qd_units(self) -> tuple[str, ...]:
        """The unit of what each velocity is the rate of, "rad" or "m"."""
        return tuple(map(_unit, self.qd_names))

    @classmethod
    def random_type(cls, rng: np.random.Generator) -> Self:  # noqa: ARG003 (what overrides it needs it)
        """Return a type with random geometry; to be written by types that have parameters."""
        return cls()

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

    def unrate(self, q: Array, dq: Array) -> Array | None:
        """Return the velocity qd whose rate is dq (…, nq): the left inverse of `rate`, linear in dq.

        It is zero for dq along a unit quaternion itself. None where dq may be the rate of no velocity, as for
        joints that roll: q then has more independent numbers than qd. The default solves for qd; types with a
        formula of their own have cheaper code.
        """
        if self.nq - self.has_quaternion != self.nv:
            return None
        columns = np.stack([self.rate(q, e) for e in np.eye(self.nv)], axis=-1)
        rows = np.swapaxes(columns, -1, -2)
        return solved(rows @ columns, matvec(rows, dq))

    def normalized(self, q: Array) -> Array:
        """Return q with its quaternions normalised."""
        return q

    def turning(self, qd: Array) -> Array:
        """Return what velocities qd change by, beyond their own rates, because their axes turn (…, nv).

        Axes that the outer frame carries turn with it: a velocity that is constant in the inner frame has the
        rate −`turning` in them. Zero where axes stay with the inner frame.
        """
        return 0.0 * qd

    def turned_velocity(self, qd: Array, angle: Array) -> Array:
        """Return velocities qd, along the axes at the start of a step, along those at its end.

        `angle` (…, nv) is qd times the step; the turn is that of `normalized` after a step of `rate`.
        """
        del angle
        return qd

    @abstractmethod
    def neutral(self) -> Array:
        """Return the q (nq,) at which inner and outer frame coincide."""

    @abstractmethod
    def integrate(self, q: Array, v: Array) -> Array:
        """Return the q reached by the constant velocity v in unit time."""

    @abstractmethod
    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the v with integrate(q0, v) = q1."""

    def smooth_difference(self, q0: Array, q1: Array) -> Array | None:
        """Return difference(q0, q1) by a formula without branches, or None if there is none.

        Springs and feedback need it. They differ only within 1e-15 of half a turn, where `difference` jumps.
        """
        return None

    def smooth_integrate(self, q: Array, v: Array) -> Array | None:
        """Return integrate(q, v) by a formula without branches, or None if there is none."""
        return None

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

    @property
    def q_units(self) -> tuple[str, ...]:
        """The units that `lengths` says."""
        return tuple("m" if length else "rad" for length in self.lengths)

    @property
    def qd_units(self) -> tuple[str, ...]:
        """The units of q."""
        return self.q_units

    def rate(self, q: Array, qd: Array) -> Array:
        """Return qd."""
        return qd

    def unrate(self, q: Array, dq: Array) -> Array:
        """Return dq."""
        return dq

    def neutral(self) -> Array:
        """Return zero."""
        return np.zeros(self.nq)

    def integrate(self, q: Array, v: Array) -> Array:
        """Return q + v."""
        return q + v

    def smooth_integrate(self, q: Array, v: Array) -> Array:
        """Return q + v."""
        return q + v

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return q1 − q0."""
        return self.smooth_difference(q0, q1)

    def smooth_difference(self, q0: Array, q1: Array) -> Array:
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


def random_axes(rng: np.random.Generator) -> tuple[Axis, Axis, Axis]:
    """Return three random directions at right angles to each other."""
    x, y, z = rotation.from_quaternion(quaternion.random(rng)).T.tolist()
    return tuple(x), tuple(y), tuple(z)


def _unit(name: str) -> str:
    return "" if name in QUATERNION else "m" if name in LENGTHS else "rad"


def opposite(axis: Axis) -> Axis:
    """Return −axis."""
    return -axis[0], -axis[1], -axis[2]
