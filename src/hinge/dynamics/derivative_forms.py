"""The forms in which derivatives of dynamics are computed as matrices.

With motions written covariantly the derivatives of inverse dynamics have closed forms, Carpentier and Mansard
(2018), Singh, Russo and Wensing (2022). With composites every word of these goes one way: entries towards the
base are columns of one sweep, and those away from it are rows of the same sweep. The derivatives of forward
dynamics are these times −𝓜⁻¹ = −(I − H ψ K)ᵀ D⁻¹ (I − H ψ K), multiplied as matrices with their zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from hinge.algebra import (
    A0,
    V0,
    B,
    CovariantDynamics,
    Di,
    Expr,
    H,
    Leaf,
    Letter,
    M,
    Polynomial,
    a,
    a_m,
    b,
    b_m,
    context_of,
    f_ext,
    factored,
    g,
    no_inverse,
    polynomial,
    product,
    qd,
    qdd,
    substituted,
    tau_j,
    value,
)
from hinge.algebra import derivative as algebraic
from hinge.algebra import q as configuration
from hinge.dynamics.expressions import VALUE, mass, whiten
from hinge.pipeline import Derivation, DerivationLine, derive
from hinge.sweeps import Factors

SOURCES = "Carpentier and Mansard 2018; Singh, Russo and Wensing 2022"
COVARIANT = "motions written covariantly: a = V̂ Hᵀ q̇ + s, b = −V̂ᵀ M V"
SPLIT = "composites: φ Z φᵀ = φ C + C φᵀ − C"
PRODUCT = "∂FD = −𝓜⁻¹ ∂ID, and 𝓜⁻¹ = (I − H ψ K)ᵀ D⁻¹ (I − H ψ K), as matrices"
#: Outputs with closed forms, and what each is the derivative by.
CLOSED = {"by_q": configuration, "by_qd": qd}


@dataclass(frozen=True)
class Forms:
    """The forms of dynamics and their derivatives, which `given` has as the rules of differentiation give them.

    `of` is the verb, `e` its expression; `passive` and `base` are its options.
    """

    of: str
    e: Expr
    given: Mapping[str, Expr]
    passive: bool
    base: bool

    @cached_property
    def motion(self) -> CovariantDynamics:
        """Inverse dynamics by covariant letters; of forward dynamics, its own accelerations are in it."""
        context = context_of(self.e)
        ahead = qdd if self.of == "inverse_dynamics" else value(self.e, context=context)
        start, weight = (V0, A0) if self.base else (None, g)
        return CovariantDynamics(ahead, start, weight, B @ f_ext, context)

    def _closed(self, name: str) -> Expr:
        return self.motion.by_q if name == "by_q" else self.motion.by_qd

    def _columns(self, name: str) -> Expr:
        """Return the derivative of inverse dynamics, each word of which goes one way."""
        found = self.motion.columns_by_q if name == "by_q" else self.motion.columns_by_qd
        return found - algebraic(tau_j, CLOSED[name]) if self.passive else found

    @cached_property
    def derivation(self) -> Derivation:
        """The steps to the form that is computed."""
        names = [n for n in CLOSED if n in self.given]
        if self.of == "inverse_dynamics":
            tau = self.motion.tau - tau_j if self.passive else self.motion.tau
            closed = {n: self._closed(n) for n in names}
            split = {n: self._columns(n) for n in names}
            return self._steps({VALUE: tau, **closed}, {VALUE: tau, **split}, {})
        products = {n: Factors((whiten.T, Di @ whiten, self._columns(n)), negative=True) for n in names}
        closed = {n: -(mass.inv() @ self._closed(n)) for n in names}
        if "by_tau" in self.given:
            products["by_tau"] = Factors((whiten.T, Di @ whiten), mirror=True)
            closed["by_tau"] = self.given["by_tau"]
        split = {n: product(*x.factors) * (-1 if x.negative else 1) for n, x in products.items()}
        found = self._steps(closed, split, products)
        y = self.motion.accelerations
        assert isinstance(y, Leaf)
        return replace(found, computed={**found.computed, y: self._covariant(derive({self.of: self.e}))})

    def _steps(
        self, closed: Mapping[str, Expr], split: Mapping[str, Expr], products: Mapping[str, Factors]
    ) -> Derivation:
        """Return the derivation with two steps; outputs without closed forms are derived by themselves."""
        others = {n: derive({n: e}) for n, e in self.given.items() if n not in closed and n != VALUE}
        rest = {n: d.expressions[n] for n, d in others.items()}
        lines = [DerivationLine("given", "", self.given, None)]
        for name, source, forms in ((COVARIANT, SOURCES, closed), (SPLIT, "", split)):
            made = {VALUE: self.given[VALUE], **forms, **rest}
            lines.append(DerivationLine(name, source, {n: made[n] for n in self.given}, None))
        computed = {x: d for other in others.values() for x, d in other.computed.items()}
        inverses = {x: e for other in others.values() for x, e in other.inverses.items()}
        return Derivation(
            self.given, tuple(lines), len(lines), inverses, computed=computed, products=products
        )

    def _covariant(self, found: Derivation) -> Derivation:
        """Return the derivation of the accelerations with covariant letters in place of a and b."""
        rate = self.motion.V_hat @ H.T @ qd + self.motion.s
        force = -(self.motion.V_hat.T @ M @ self.motion.V)
        by = {x: polynomial(e, no_inverse) for x, e in ((a, rate), (a_m, rate), (b, force), (b_m, force))}

        def meaning(letter: Letter) -> Polynomial | None:
            return by.get(letter) if isinstance(letter, Leaf) else None

        form = {
            n: factored(substituted(polynomial(e, no_inverse), meaning)) for n, e in found.expressions.items()
        }
        return replace(found, lines=(*found.lines, DerivationLine(COVARIANT, "", form, None)))
