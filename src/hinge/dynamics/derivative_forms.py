"""The forms in which derivatives of dynamics are computed as matrices.

With motions written covariantly the derivatives of inverse dynamics have closed forms, Carpentier and Mansard
(2018), Singh, Russell and Wensing (2022), to which named identities lead. With composites every word of these
goes one way: entries towards the base are columns of one sweep, and those away from it are rows of the same
sweep. The derivatives of forward
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
    Polynomial,
    a,
    a_m,
    b,
    b_m,
    context_of,
    coriolis,
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
from hinge.dynamics.expressions import mass, whiten
from hinge.pipeline import Derivation, DerivationLine, closed_forms, derive
from hinge.sweeps import Factors

#: The name of a verb's value beside its derivatives, which are named by_q, by_qd …
VALUE = "value"
COVARIANT = "motions written covariantly: a = V̂ Hᵀ q̇ + s, b = −V̂ᵀ M V = B V"
PRODUCT = "∂FD = −𝓜⁻¹ ∂ID, and 𝓜⁻¹ = (I − H ψ K)ᵀ D⁻¹ (I − H ψ K), as matrices"
#: Outputs with closed forms, and what each is the derivative by.
CLOSED = {"by_q": configuration, "by_qd": qd}


@dataclass(frozen=True)
class Forms:
    """The forms of dynamics and their derivatives; `given` has them as the rules of differentiation do.

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

    @cached_property
    def _names(self) -> list[str]:
        return [n for n in CLOSED if n in self.given]

    @cached_property
    def _inverse(self) -> list[DerivationLine]:
        """The derivatives of inverse dynamics: by covariant letters, and the steps to their closed forms."""
        y = self.motion.accelerations
        held = [y] if isinstance(y, Leaf) else []
        found = {n: algebraic(self.motion.tau, CLOSED[n], held=held) for n in self._names}
        own = {n: algebraic(tau_j, CLOSED[n]) for n in self._names} if self.passive else {}
        first, *steps = closed_forms(found) if found else (DerivationLine("", "", {}, None),)
        return [
            replace(line, expressions={n: e - own[n] if own else e for n, e in line.expressions.items()})
            for line in (replace(first, name=COVARIANT), *steps)
        ]

    @cached_property
    def derivation(self) -> Derivation:
        """The steps to the form that is computed."""
        if self.of == "inverse_dynamics":
            tau = H @ self.motion.F_by_velocities
            tau = tau - tau_j if self.passive else tau
            return self._steps([_with(line, {VALUE: tau}) for line in self._inverse], {})
        columns = self._inverse[-1].expressions
        products = {n: Factors((whiten.T, Di @ whiten, e), negative=True) for n, e in columns.items()}
        if "by_tau" in self.given:
            products["by_tau"] = Factors((whiten.T, Di @ whiten), mirror=True)
        split = {n: product(*x.factors) * (-1 if x.negative else 1) for n, x in products.items()}
        kept = {n: self.given[n] for n in products if n not in columns}
        lines = [
            replace(line, expressions={n: -(mass.inv() @ e) for n, e in line.expressions.items()})
            for line in self._inverse
        ]
        last = DerivationLine(PRODUCT, "JPL 88-11 (4.16)", split, None)
        found = self._steps([*(_with(line, kept) for line in lines), last], products)
        y = self.motion.accelerations
        assert isinstance(y, Leaf)
        return replace(found, computed={**found.computed, y: self._covariant(derive({self.of: self.e}))})

    def _steps(self, steps: list[DerivationLine], products: Mapping[str, Factors]) -> Derivation:
        """Return the derivation with these steps; outputs that they do not have are derived by themselves."""
        known = {VALUE, *steps[-1].expressions}
        others = {n: derive({n: e}) for n, e in self.given.items() if n not in known}
        rest = {VALUE: self.given[VALUE], **{n: d.expressions[n] for n, d in others.items()}}
        lines = [DerivationLine("given", "", self.given, None)]
        for line in steps:
            made = {**rest, **line.expressions}
            lines.append(replace(line, expressions={n: made[n] for n in self.given}))
        computed = {x: d for other in others.values() for x, d in other.computed.items()}
        inverses = {x: e for other in others.values() for x, e in other.inverses.items()}
        return Derivation(
            self.given, tuple(lines), len(lines), inverses, computed=computed, products=products
        )

    def _covariant(self, found: Derivation) -> Derivation:
        """Return the derivation of the accelerations with covariant letters in place of a and b."""
        rate = self.motion.V_hat @ H.T @ qd + self.motion.s
        force = coriolis(self.motion.V, context=self.motion.context) @ self.motion.V / 2
        by = {x: polynomial(e, no_inverse) for x, e in ((a, rate), (a_m, rate), (b, force), (b_m, force))}

        def meaning(letter: Letter) -> Polynomial | None:
            return by.get(letter) if isinstance(letter, Leaf) else None

        form = {
            n: factored(substituted(polynomial(e, no_inverse), meaning)) for n, e in found.expressions.items()
        }
        return replace(found, lines=(*found.lines, DerivationLine(COVARIANT, "", form, None)))


def _with(line: DerivationLine, more: Mapping[str, Expr]) -> DerivationLine:
    """Return a line that has other outputs too."""
    return replace(line, expressions={**more, **line.expressions})
