"""Non-holonomic joints: fewer velocity than configuration coordinates.

Featherstone section 7.4.4. A non-holonomic joint reaches more configurations than it has directions to
move in: qd holds independent velocity variables, S(q) qd is the velocity across the joint, and q follows
from qd by `rate`. The forces that keep the constraint do no work on any velocity S qd (d'Alembert's
principle in Lagrange's form), so that Sᵀ takes them away as it does for other joints, and the acceleration
is S q̈ + Ṡ q̇ with q̈ the derivative of qd. Nothing here asks for qd to be the derivative of some q: the
operator expressions of the dynamics hold as they stand.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from hinge.errors import ArgumentError
from hinge.model.joints.contract import JointType
from hinge.spatial import Array, Transform

#: Largest miss of `difference`, in rad or m.
MISS = 1e-9


@dataclass(frozen=True)
class Nonholonomic(JointType):
    """A joint with more configuration than velocity coordinates; `turned` if reversed.

    Both directions have the same q and qd.
    """

    turned: bool = field(default=False, kw_only=True)

    @abstractmethod
    def forth(self, q: Array) -> Transform:
        """Return the placement of the moving frame."""

    @abstractmethod
    def motions(self, q: Array) -> Array:
        """Return the moving frame's motion subspace in its own coordinates."""

    @abstractmethod
    def motions_rate(self, q: Array, qd: Array) -> Array:
        """Return the rate of `motions`, times qd."""

    @abstractmethod
    def step(self, q0: Array, q1: Array) -> Array:
        """Return the candidate v from q0 to q1; exact if any constant v is."""

    def placement(self, q: Array) -> Transform:
        """Return the placement of the moving frame, or its inverse if turned."""
        return self.forth(q).inv() if self.turned else self.forth(q)

    def subspace(self, q: Array) -> Array:
        """Return S, or −X⁻¹ S seen from the other side."""
        s = self.motions(q)
        return -self.forth(q).inv().motions(s) if self.turned else s

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Ṡ q̇, or −X⁻¹ Ṡ q̇: S q̇ × S q̇, which the rate of X⁻¹ adds, is zero."""
        rate = self.motions_rate(q, qd)
        return -self.forth(q).inv().motion(rate) if self.turned else rate

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the v with integrate(q0, v) = q1, or raise an ArgumentError if there is none."""
        v = self.step(q0, q1)
        there = self.integrate(q0, v)
        off = np.abs(there[..., -2:] - q1[..., -2:]).max(axis=-1, initial=0.0)
        if (off > MISS * (1 + np.abs(q1[..., -2:] - q0[..., -2:]).max(axis=-1, initial=0.0))).any():
            raise ArgumentError(
                f"q1: no constant velocity of a {self.kind} joint leads from q0 to q1 (the nearest misses by "
                f"{float(np.max(off)):.3g} m); take differences along its motion only"
            )
        return v

    def reversed(self) -> Nonholonomic:
        """Return the reversed joint, with the same coordinates."""
        return replace(self, turned=not self.turned)
