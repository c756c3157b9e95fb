"""The parts of a robot: bodies, joints, frames, couplings. Frozen values without behaviour
beyond their own geometry.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge.errors import ModelError
from hinge.model.flexible import Flexible
from hinge.model.geometry import Shape
from hinge.model.joints import Flexure, Follower, JointType, Modes
from hinge.model.readonly import frozen, frozen_inertia, frozen_transform, numbers
from hinge.spatial import Array, Inertia, Transform

#: None stands for the default of the joint's type; a number is broadcast over the coordinates.
_UNSET: Any = None
#: Default speed at which smooth friction reaches 0.7 of Coulomb friction; rad/s or m/s.
FRICTION_SPEED = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class Body:
    """A body: its name, its inertia about its own frame, and its shapes.

    That of a `flexible` body, which a joint of type `Modes` carries, is what it has beside its points.
    """

    name: str
    inertia: Inertia = field(default_factory=Inertia.zero)
    shapes: tuple[Shape, ...] = ()
    flexible: Flexible | None = None

    def __post_init__(self) -> None:
        if self.flexible is not None and not isinstance(self.flexible, Flexible):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(
                f"body {self.name!r}: flexible: expected a hinge.Flexible, got {self.flexible!r}"
            )
        object.__setattr__(self, "inertia", frozen_inertia(self.inertia, f"body {self.name!r}"))

    def __repr__(self) -> str:
        return f"<Body {self.name!r}: {self.mass:g} kg>"

    @property
    def mass(self) -> float:
        """Its mass, that of its points included, in kg."""
        return float(self.inertia.m) + (0.0 if self.flexible is None else self.flexible.mass)


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """A named frame fixed on a body; `placement` takes body coordinates to frame coordinates."""

    name: str
    body: str
    placement: Transform = field(default_factory=Transform.identity)

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", frozen_transform(self.placement, f"frame {self.name!r}"))

    def __repr__(self) -> str:
        return f"<Frame {self.name!r} on {self.body!r}>"


@dataclass(frozen=True)
class Coupling:
    """A recorded relation q = ratio · q(master) + offset between two one-dof joints (URDF mimic).

    It is data: the joint keeps its own coordinate, and no dynamics enforces the relation, unless the robot
    is that of `embed_couplings`.
    """

    joint: str
    master: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Joint:
    """A joint between two bodies: its type, where it sits, its limits and its physics.

    `inner` places the joint's inner frame on the parent body and `outer` its outer frame on the
    child body (Featherstone section 8.2.2; `outer` is the identity where the child's frame is the
    joint's outer frame, as in URDF). The parent None is the world.

    `lower`, `upper` (nq,) bound q; `velocity`, `effort` (nv,) bound |qd| and |tau|. The joint's own
    physics, all (nv,): `rotor_inertia` is that of the rotor about its own axis, `gear_ratio` how many
    turns it makes for one of the joint; the mass matrix has gear_ratio² rotor_inertia on its diagonal.
    `damping`, `friction` and `stiffness` (about `rest`, (nq,)) make the passive force
    −damping qd − friction qd / √(qd² + friction_speed²) − stiffness difference(rest, q), in which
    Coulomb's friction is smooth: it grows from rest within a few `friction_speed` (rad/s or m/s).

    `effort_subspace` (6, nv) is Featherstone's F of (7.12) in the outer frame; None stands for the
    subspace dual to the motion, see `hinge.model.effort_subspace`.
    """

    name: str
    type: JointType
    parent: str | None
    child: str
    inner: Transform = field(default_factory=Transform.identity)
    outer: Transform = field(default_factory=Transform.identity)
    lower: Array = _UNSET
    upper: Array = _UNSET
    velocity: Array = _UNSET
    effort: Array = _UNSET
    rotor_inertia: Array = _UNSET
    gear_ratio: Array = _UNSET
    damping: Array = _UNSET
    friction: Array = _UNSET
    friction_speed: Array = _UNSET
    stiffness: Array = _UNSET
    rest: Array = _UNSET
    effort_subspace: Array | None = None
    q_slice: slice = field(default_factory=lambda: slice(0, 0))
    qd_slice: slice = field(default_factory=lambda: slice(0, 0))

    def __post_init__(self) -> None:
        t = self.type
        if not isinstance(t, JointType):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"joint {self.name!r}: expected a joint type such as Revolute(), got {t!r}")
        object.__setattr__(self, "inner", frozen_transform(self.inner, f"joint {self.name!r}: inner"))
        object.__setattr__(self, "outer", frozen_transform(self.outer, f"joint {self.name!r}: outer"))
        low, high = t.limits()
        self._fill("lower", t.nq, low)
        self._fill("upper", t.nq, high)
        self._fill("velocity", t.nv, np.full(t.nv, np.inf))
        self._fill("effort", t.nv, np.full(t.nv, np.inf))
        for name in ("rotor_inertia", "damping", "friction", "stiffness"):
            self._fill(name, t.nv, np.zeros(t.nv))
        self._fill("gear_ratio", t.nv, np.ones(t.nv))
        self._fill("friction_speed", t.nv, np.full(t.nv, FRICTION_SPEED))
        self._fill("rest", t.nq, t.neutral())
        if self.effort_subspace is not None:
            f = numbers(self.effort_subspace, f"joint {self.name!r}: effort_subspace")
            if f.shape != (6, t.nv):
                raise ModelError(
                    f"joint {self.name!r}: effort_subspace: expected shape (6, {t.nv}), got {f.shape}"
                )
            object.__setattr__(self, "effort_subspace", f)

    def __repr__(self) -> str:
        return f"<Joint {self.name!r}: {self.type!r} from {self.parent or 'the world'!r} to {self.child!r}>"

    def _fill(self, name: str, size: int, default: Array) -> None:
        """Set the default, broadcast a number, and check the size."""
        given = getattr(self, name)
        value = frozen(default)
        if given is not None:
            value = numbers(given, f"joint {self.name!r}: {name}")
            if value.ndim == 0:
                value = frozen(np.full(size, value))
            if value.shape != (size,):
                raise ModelError(
                    f"joint {self.name!r}: {name}: expected one number or shape ({size},) for a "
                    f"{self.type.kind} joint, got shape {value.shape}"
                )
        object.__setattr__(self, name, value)

    @property
    def follows(self) -> bool:
        """Whether its slices are those of another joint: a follower, or the deformation at an attachment."""
        return isinstance(self.type, Follower) or (isinstance(self.type, Flexure) and not self.type.free)

    @property
    def flexes(self) -> bool:
        """Whether it is a part of a flexible body: its modes, or the deformation at an attachment."""
        return isinstance(self.type, Modes | Flexure)

    @property
    def depends(self) -> bool:
        """Whether it is a joint of an embedded loop that has coordinates and no rates of its own."""
        return self.qd_slice.start == self.qd_slice.stop and self.q_slice.start < self.q_slice.stop

    @property
    def nq(self) -> int:
        """The number of configuration coordinates."""
        return self.type.nq

    @property
    def nv(self) -> int:
        """The number of degrees of freedom."""
        return self.type.nv

    @property
    def reflected_inertia(self) -> Array:
        """The reflected rotor inertias (nv,): gear_ratio² rotor_inertia."""
        return self.gear_ratio**2 * self.rotor_inertia

    def transform(self, q: Array) -> Transform:
        """Return the transform from parent-body to child-body coordinates for the joint's own q."""
        return self.outer.inv() @ self.type.placement(q) @ self.inner

    def subspace(self, q: Array) -> Array:
        """Return the motion subspace S (…, 6, nv) in child-body coordinates."""
        return self.outer.inv().motions(self.type.subspace(q))

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Ṡ qd (…, 6) in child-body coordinates, the derivative taken in the child."""
        return self.outer.inv().motion(self.type.bias(q, qd))
