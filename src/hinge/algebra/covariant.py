"""Inverse dynamics with motions written covariantly, and the closed forms of its derivatives.

With V̂ = ad(V) and so on,

    V = φᵀ (Hᵀ q̇ + E₀ᵀ V₀)    A = φᵀ (Hᵀ q̈ + V̂ Hᵀ q̇ + s + E₀ᵀ g)    f = M A − V̂ᵀ M V − B fₓ    τ = H φ f

where s = ∂(Hᵀ q̇)/∂q q̇ is the rate of the hinge map, zero for most joints. All of these are the same vectors
in all frames, and cross products go along with a change of frames: ad(Eᵀ x) Eᵀ = Eᵀ ad(x). From that and
bar(φ f) = f̄ + E bar(φ f) Eᵀ the derivatives follow in closed form,

    ∂τ/∂q = H φ (2B φᵀ Ψ + M φᵀ Ψ₂) + H (φ − 1) F̄ Hᵀ      ∂τ/∂q̇ = H φ (2B φᵀ Hᵀ + M φᵀ (Ψ + V̂ Hᵀ))
    Ψ = V̂λ Hᵀ,  Ψ₂ = Âλ Hᵀ + V̂λ Ψ,  2B = −V̂ᵀ M − M V̂ + bar(M V),  F̄ = bar(φ f)

with V̂λ and Âλ of the parents: Carpentier and Mansard (2018); Singh, Russell and Wensing (2022). Joints whose
hinge map depends on q have more terms, partial derivatives of it, which are there too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hinge.algebra.derived_letters import ad, bar, coriolis, partial
from hinge.algebra.expression import Adjoint, Expr, Leaf, identity, zero
from hinge.algebra.letters import E0, E, H, M, g, phi, qd, qdd
from hinge.algebra.origin import Context
from hinge.algebra.polynomials import Letter
from hinge.algebra.space import Body, One


@dataclass(frozen=True)
class CovariantDynamics:
    """Inverse dynamics by covariant letters.

    `accelerations` are those of the joints; `velocity` is that of a base that moves, `gravity` the
    acceleration of the world, both vectors of World; `load` are forces on the bodies, of Body. `context` says
    where the letters may be evaluated.
    """

    accelerations: Expr = qdd
    velocity: Expr | None = None
    gravity: Expr = g
    load: Expr | None = None
    context: Context = "merged"

    def _ad(self, x: Expr) -> Leaf:
        return ad(x, context=self.context)

    def _bar(self, f: Expr) -> Leaf:
        return bar(f, context=self.context)

    # Motions and forces.

    @cached_property
    def start(self) -> Expr:
        """What the velocity of the base gives root bodies: E₀ᵀ V₀."""
        return zero(Body, One) if self.velocity is None else E0.T @ self.velocity

    @cached_property
    def V(self) -> Expr:
        """The velocities of the bodies."""
        return phi.T @ (H.T @ qd + self.start)

    @cached_property
    def s(self) -> Expr:
        """The rate of the hinge map times q̇."""
        return self._hinge(qd) @ qd

    @cached_property
    def r(self) -> Expr:
        """What A of a body is more than A of its parent."""
        return H.T @ self.accelerations + self.V_hat @ H.T @ qd + self.s + E0.T @ self.gravity

    @cached_property
    def A(self) -> Expr:
        """The accelerations of the bodies, gravity included."""
        return phi.T @ self.r

    @cached_property
    def f(self) -> Expr:
        """The forces that move the bodies, less the load."""
        moved = M @ self.A - self.V_hat.T @ M @ self.V
        return moved if self.load is None else moved - self.load

    @cached_property
    def F(self) -> Expr:
        """The forces across the joints."""
        return phi @ self.f

    @cached_property
    def F_by_velocities(self) -> Expr:
        """F with B V for −V̂ᵀ M V, which is the same: ad(V) V = 0 and bar(M V) V = −ad(V)ᵀ M V."""
        moved = M @ self.A + coriolis(self.V, context=self.context) @ self.V / 2
        return phi @ (moved if self.load is None else moved - self.load)

    @property
    def tau(self) -> Expr:
        """Inverse dynamics."""
        return H @ self.F

    # Letters.

    @cached_property
    def V_hat(self) -> Leaf:
        """V̂."""
        return self._ad(self.V)

    @cached_property
    def V_parent(self) -> Leaf:
        """V̂λ, of the velocities of the parents, that of the base for root bodies."""
        return self._ad(E.T @ self.V + self.start)

    @cached_property
    def u_hat(self) -> Leaf:
        """Û = V̂ − V̂λ."""
        return self._ad(H.T @ qd)

    @cached_property
    def A_hat(self) -> Leaf:
        """Â."""
        return self._ad(self.A)

    @cached_property
    def A_parent(self) -> Leaf:
        """Âλ, of the accelerations of the parents, gravity for root bodies."""
        return self._ad(E.T @ self.A + E0.T @ self.gravity)

    @cached_property
    def f_bar(self) -> Leaf:
        """The letter bar(f)."""
        return self._bar(self.f)

    @cached_property
    def F_bar(self) -> Leaf:
        """The letter bar(φ f), a composite of bar(f)."""
        return self._bar(self.F)

    # Closed forms.

    @cached_property
    def twice_B(self) -> Expr:
        """2B, which makes forces of changes of velocity."""
        return self._bar(M @ self.V) - self.V_hat.T @ M - M @ self.V_hat

    @cached_property
    def Psi(self) -> Expr:
        """Ψ: ∂V/∂q = φᵀ Ψ."""
        return self.V_parent @ H.T + self._hinge(qd)

    @cached_property
    def Psi_2(self) -> Expr:
        """Ψ₂: ∂A/∂q = φᵀ (Ψ₂ − V̂λ Ψ − û φᵀ Ψ)."""
        still = (
            self._hinge(self.accelerations)
            + self.V_hat @ self._hinge(qd)
            + self._partial(self._hinge(qd), None, qd)
        )
        return self.A_parent @ H.T + self.V_parent @ self.Psi + still

    def _hinge(self, x: Expr) -> Leaf:
        """Return ∂(Hᵀ x)/∂q, zero where the hinge map is constant."""
        joint = H.T
        assert isinstance(joint, Adjoint)
        return self._partial(joint, None, x)

    def _partial(self, of: Letter, slot: int | None, at: Expr) -> Leaf:
        return partial(of, slot, at, context=self.context)

    @cached_property
    def by_q(self) -> Expr:
        """∂τ/∂q in closed form."""
        inside = self.twice_B @ phi.T @ self.Psi + M @ phi.T @ self.Psi_2
        turned = H @ (phi - identity(Body)) @ self.F_bar @ H.T
        return H @ phi @ inside + turned + self._partial(H, None, self.F)

    @cached_property
    def by_qd(self) -> Expr:
        """∂τ/∂q̇ in closed form."""
        rate = self._hinge(qd)
        moved = self.V_parent @ H.T + self.V_hat @ H.T + rate + self._partial(rate, 0, qd)
        return H @ phi @ (self.twice_B @ phi.T @ H.T + M @ phi.T @ moved)
