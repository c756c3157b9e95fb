"""What a published identity is, and the shorthand that the papers share."""

from __future__ import annotations

from dataclasses import dataclass

from hinge.algebra import Articulated, Body, Expr, H, Joint, M, a, b, identity, phi, psi
from hinge.rules.completion import Axiom


@dataclass(frozen=True)
class NamedIdentity:
    """A published equation left = right: a short English name and where it is printed.

    `given` are the facts beside the definitions that it holds under.
    """

    name: str
    left: Expr
    right: Expr
    source: str
    given: tuple[Axiom, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}: {self.left} = {self.right} [{self.source}]"


one, joint = identity(Body), identity(Joint)
#: φ̃ and ψ̃, strictly causal: (a.3), (5.11).
phi_, psi_ = phi - one, psi - one


def bias_force(h: Expr, a: Expr = a, b: Expr = b) -> Expr:
    """Return the Coriolis and gyroscopic hinge forces C = H φ (M φᵀ a + b), (3.20)."""
    return h @ phi @ (M @ phi.T @ a + b)


def innovate(x: Articulated) -> Expr:
    """Return I + H φ K, which makes hinge forces of innovations."""
    return identity(x.H.range) + x.H @ phi @ x.K


def whiten(x: Articulated) -> Expr:
    """Return I − H ψ K, which makes innovations of hinge forces."""
    return identity(x.H.range) - x.H @ x.psi @ x.K


def jacobian(b: Expr) -> Expr:
    """Return J = Bᵀ φᵀ Hᵀ for a shift B from nodes to bodies, (3.13)."""
    return b.T @ phi.T @ H.T
