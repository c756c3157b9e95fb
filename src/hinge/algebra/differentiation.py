"""Derivatives of vector expressions, as operators in the same letters and a few new ones.

One rule differentiates all propagation. With X = φᵀ Hᵀ, so that ξ = X δq is how each body is displaced in its
own frame, and Ξ = ad(ξ),

    δφᵀ = φᵀ Ξ − Ξ φᵀ,   δEᵀ = Eᵀ Ξ − Ξ Eᵀ,   δE₀ᵀ = −Ξ E₀ᵀ,   and the adjoints.

Before a vector these turn into operators on δq: Ξ r = −ad(r) X δq, and for forces −Ξᵀ f = bar(f) X δq. As
cross products go along with propagation, one word each is the same,

    δφᵀ r = φᵀ ad(Eᵀ φᵀ r) Hᵀ δq,   δEᵀ r = ad(Eᵀ r) Hᵀ δq,
    δφ f = φ E bar(φ f) Hᵀ δq,      δE f = E bar(f) Hᵀ δq:

a joint turns what its parent has, and the force across it. Gradients and changes take these; closed forms are
proved from the first. All else that depends on q is local to a joint or a body: partial derivatives of
formulas, letters of their own.

A derivative by q is taken along `integrate(q, ε d)` at ε = 0 with the components of q̇, q̈ and τ held, so that
it has a column for each degree of freedom. Inverses are not differentiated: δ(X⁻¹ r) = X⁻¹ (δr − δX y) with
y = X⁻¹ r, a letter that is computed once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hinge.algebra.configuration import Configuration, q
from hinge.algebra.dependence import By, depends_on_numbers, varies
from hinge.algebra.derived_letters import ad, along, bar, definition_of, partial, tangent, turned, value
from hinge.algebra.determinants import of_mass_matrix, refusal, signed_masses
from hinge.algebra.expression import (
    Adjoint,
    Expr,
    Identity,
    Inverse,
    Leaf,
    LogDet,
    Product,
    Structure,
    Sum,
    Zero,
    identity,
    linear,
    product,
    zero,
)
from hinge.algebra.frame_free import is_frame_free
from hinge.algebra.hiding import hides_fixed_bodies
from hinge.algebra.letters import (
    DEFINITIONS,
    E0,
    Ac,
    B,
    Dr,
    Dri,
    E,
    H,
    M,
    Q,
    W,
    b,
    b_m,
    e_c,
    gamma,
    phi,
    placements,
)
from hinge.algebra.letters import held as prescribed
from hinge.algebra.origin import Context
from hinge.algebra.polynomials import Letter, factored, inverted, leaf_of, no_inverse, polynomial
from hinge.algebra.reach import all_letters
from hinge.algebra.rest import bias_cancels
from hinge.algebra.space import Joint, One, Space
from hinge.errors import ArgumentError

#: What depends on q in flexible bodies, whose points move in their frames.
_MOVING = frozenset({M, b, b_m})


def derivative(
    e: Expr,
    by: By,
    *,
    along: Expr | None = None,
    held: Collection[Leaf] = (),
    at_hinges: bool = False,
    flexible: bool = False,
) -> Expr:
    """Return the derivative of a vector, or of a number, by q or by a vector letter.

    That of a vector is an operator: its columns are the matrix, D @ x the change along x, D.T @ c the
    gradient of cᵀ e. That of a number is a row, which is shown as a vector. With `along`, joint rates, it is
    the change of any expression along these, by q alone; an operator has no other derivative. Letters that
    are `held` are taken for constants. With `at_hinges` propagation has the rule of one word, which takes the
    fewest operations where D or its adjoint is applied to a vector.
    For robots with flexible bodies, whose M and b depend on q, the derivative must be `flexible`; it holds
    for rigid ones too, with terms that are zero.

    Derivatives by q are in the tangent space: along `integrate(q, ε d)` with the components of q̇, q̈ and τ
    held. Those by `placements` are along motions of the inner frames of the joints, six for each body, in the
    axes of these frames: a placement is a free joint before the joint. Letters such as P, D and ψ, which
    stand for results of a recursion, have none: write an expression with 𝓜⁻¹ instead, as mass.inv().
    """
    if not isinstance(e, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"e: expected an expression of hinge.algebra, got {type(e).__name__}")
    if not isinstance(by, Configuration) and not (isinstance(by, Leaf) and by.domain is One):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"by: expected q or a vector letter, such as qd, got {by!r}")
    if by is prescribed:
        raise NotImplementedError(
            f"by: derivatives by {by}, {prescribed.meaning}, are not supported: it says which coordinates "
            "are prescribed, ones and zeros"
        )
    rules = _Rules(by, context_of(e), frozenset(held), at_hinges, _MOVING if flexible else frozenset())
    if along is not None:
        return _along(rules, e, along)
    if e.domain is not One:
        raise ArgumentError(
            f"{e}: is an operator {e.range} ← {e.domain}, whose derivative has three indices; expected a "
            "vector: apply it to one, or give along=, joint rates"
        )
    return rules.of(e)


def _along(rules: _Rules, e: Expr, rates: Expr) -> Expr:
    if rules.by is not q:
        raise ArgumentError(
            f"along: expected the derivative by q, got that by {rules.by}; apply it to a vector"
        )
    if (rates.range, rates.domain) != (Joint, One):
        raise ArgumentError(f"along: expected joint rates, Joint ← One, got {rates.range} ← {rates.domain}")
    return rules.of(e) @ rates if e.domain is One else _OperatorRules(rules, rates).of(e)


def context_of(e: Expr) -> Context:
    """Return where the letters of a derivative may be evaluated: where the expression itself may."""
    if not (is_frame_free(e) and bias_cancels(e)):
        return "own frames"
    return "merged" if hides_fixed_bodies(e) else "any frames"


@dataclass
class _Rules:
    """The rules of differentiation by one thing, with some letters held; letters carry a context."""

    by: By
    context: Context
    held: frozenset[Leaf] = frozenset()
    at_hinges: bool = False
    moving: frozenset[Leaf] = frozenset()
    known: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr])

    @cached_property
    def source(self) -> Space:
        return Joint if isinstance(self.by, Configuration) else tangent(self.by)

    @cached_property
    def hinged(self) -> Expr | None:
        """How bodies are displaced by their own joints: Hᵀ if q varies, Wᵀ if placements do, else None."""
        if self.by is placements:
            return W.T
        return H.T if isinstance(self.by, Configuration) else None

    @cached_property
    def displaced(self) -> Expr | None:
        """X = φᵀ Hᵀ if q varies, φᵀ Wᵀ if placements do, else None."""
        return None if self.hinged is None else phi.T @ self.hinged

    def of(self, e: Expr) -> Expr:
        """Return the derivative of a vector, an operator; that of a number is a row."""
        if e not in self.known:
            self.known[e] = self._of(e)
        return self.known[e]

    def _zero(self, range_: Space) -> Expr:
        return zero(range_, self.source)

    def _of(self, e: Expr) -> Expr:
        match e:
            case Sum():
                return _total(self._zero(e.range), ((c, self.of(t)) for c, t in e.terms))
            case Product():
                return self._product(e.factors[0], product(*e.factors[1:]))
            case Leaf():
                return self._vector(e)
            case LogDet():
                return self._determinant(e).T
            case _:
                return self._zero(e.range)

    def _determinant(self, e: LogDet) -> Expr:
        """Return the gradient of a log determinant."""
        if not any(self._varies(x) for x in all_letters([e])):
            return self._zero(One).T
        masses = signed_masses(e.argument)
        if masses is None or self.moving:
            raise refusal(e)
        by = None if isinstance(self.by, Configuration) else self.by
        return masses * of_mass_matrix(by, self.context)

    def _varies(self, x: Leaf) -> bool:
        """Tell whether a letter itself depends on what the derivative is by."""
        return x not in self.held and varies(x, self.by)

    def _product(self, first: Expr, rest: Expr) -> Expr:
        if first.range is One:  # a number uᵀ r: u D r + rᵀ D uᵀ
            return first @ self.of(rest) + rest.T @ self.of(first.T)
        solved = _operator_of(first)
        if solved is not None and not any(True for e in (solved, rest) for _ in inverted(e)):
            return self._solved(first, solved, rest)
        return first @ self.of(rest) + self.varied(first, rest)

    def _solved(self, first: Expr, operator: Expr, rest: Expr) -> Expr:
        """Return −X⁻¹ D (X y − r) with y = X⁻¹ r held: what X y and r share is differentiated once."""
        y = value(first @ rest, context=self.context)
        left = factored(polynomial(operator @ y - rest, no_inverse))
        inside = _Rules(self.by, self.context, self.held | {y}, self.at_hinges, self.moving).of(left)
        return -(first @ inside)

    def _vector(self, x: Leaf) -> Expr:
        if x in self.held:
            return self._zero(x.range)
        if x is self.by:
            return identity(x.range)
        if x.origin is not None and x.origin.kind == "value":
            return self.of(x.needs[0])
        if x.origin is not None and x.origin.kind in ("moment", "contracted"):
            return self._traced(x)
        return self._formula(x, None)

    def _traced(self, x: Leaf) -> Expr:
        """Refuse the derivative of the gradient of a log determinant, where it is not zero."""
        if any(map(self._varies, all_letters([x]))):
            raise NotImplementedError(
                f"{x}: second derivatives of log det 𝓜 are not supported; take differences of "
                "hinge.log_determinant_gradient along hinge.integrate"
            )
        return self._zero(x.range)

    def _formula(self, letter: Letter, at: Expr | None) -> Expr:
        """Return Σ ∂ℓ/∂n D n and ∂ℓ/∂q, or that by numbers of the model, of a letter with a formula.

        An operator is applied to a vector.
        """
        base, found = leaf_of(letter), self._zero(letter.range)
        at = None if at is None else self._computed(at)
        for k, n in enumerate(base.needs):
            if n.domain is not One:
                found = found + self._posed(letter, k, at)
                continue
            inner = self.of(n)
            if not isinstance(inner, Zero):
                found = found + partial(letter, k, at, context=self.context) @ inner
        if isinstance(self.by, Configuration):
            if base.card.hinged or _moves(base, self.moving):
                found = found + partial(letter, None, at, context=self.context)
        elif depends_on_numbers(base, self.by):
            found = found + partial(letter, self.by, at, context=self.context)
        return found

    def _posed(self, letter: Letter, k: int, at: Expr | None) -> Expr:
        """Return the part of a letter that is a function of poses N φᵀ E₀ᵀ, which vary with q alone.

        What N shows is displaced by N X δq, each in its own frame.
        """
        if self.displaced is None:
            return self._zero(letter.range)
        poses = leaf_of(letter).needs[k]
        factors: tuple[Expr, ...] = poses.factors if isinstance(poses, Product) else (poses,)
        if leaf_of(letter) not in (Ac, gamma, e_c) or factors[1:] != (phi.T, E0.T):
            raise NotImplementedError(
                f"{letter}: its derivative by q is not supported; expected letters of trees and of closures. "
                "Take differences along hinge.integrate"
            )
        return partial(letter, k, at, context=self.context) @ factors[0] @ self.displaced

    # Operators before a vector that is held.

    def varied(self, operator: Expr, r: Expr) -> Expr:
        """Return the derivative of operator @ r as if r did not vary."""
        match operator:
            case Sum():
                return _total(self._zero(operator.range), ((c, self.varied(t, r)) for c, t in operator.terms))
            case Product():
                first, rest = operator.factors[0], product(*operator.factors[1:])
                return self.varied(first, rest @ r) + first @ self.varied(rest, r)
            case Inverse():
                return -(operator @ self.varied(operator.argument, value(operator @ r, context=self.context)))
            case Leaf() | Adjoint():
                return self._letter(operator, r)
            case Identity() | Zero():
                return self._zero(operator.range)
            case _:
                raise NotImplementedError(f"{operator}: is not differentiated; write it without")

    def _letter(self, x: Letter, r: Expr) -> Expr:
        base = leaf_of(x)
        if base.origin is not None and base.origin.kind in ("ad", "bar"):
            return self._cross(x, r)
        if base is Q:
            return self._shown(x, r)
        if base is not phi and definition_of(base) is not None:
            return self._defined(x, r)
        hinged = self.hinged
        if hinged is not None and base in (phi, E, E0):
            if self.at_hinges:
                return self._at_hinges(x, r, hinged)
            return self._propagated(x, r) @ phi.T @ hinged
        return self._formula(x, r)

    def _propagated(self, x: Letter, r: Expr) -> Expr:
        """Return the change of φ r, E r, E₀ r or of an adjoint, per displacement of the bodies."""
        if isinstance(x, Adjoint):
            moved = self._ad(x @ r)
            return moved if x.leaf is E0 else moved - x @ self._ad(r)
        carried = x @ self._bar(r)
        return carried if x is E0 else carried - self._bar(x @ r)

    def _at_hinges(self, x: Letter, r: Expr, hinged: Expr) -> Expr:
        """Return what `_propagated` gives times X, where only joints are displaced.

        From ad(Eᵀ x) Eᵀ = Eᵀ ad(x), the same for forces, and φ = 1 + φ E.
        """
        if isinstance(x, Adjoint):
            parents = E.T @ x @ r if x.leaf is phi else x @ r
            turned_there = self._ad(parents) @ hinged
            return x @ turned_there if x.leaf is phi else turned_there
        carried = E @ self._bar(x @ r) if x is phi else self._bar(r)
        return x @ carried @ hinged

    def _ad(self, r: Expr) -> Leaf:
        return ad(self._computed(r), context=self.context)

    def _bar(self, r: Expr) -> Leaf:
        return bar(self._computed(r), context=self.context)

    def _computed(self, r: Expr) -> Expr:
        """Return a vector with X⁻¹ s as letters, which formulas can be functions of."""
        if isinstance(r, Sum):
            return linear(*((c, self._computed(t)) for c, t in r.terms))
        if not any(True for _ in inverted(r)):
            return r
        factors = r.factors if isinstance(r, Product) else (r,)
        first = next(k for k, f in enumerate(factors) if any(True for _ in inverted(f)))
        return product(*factors[:first], value(product(*factors[first:]), context=self.context))

    def _cross(self, x: Letter, r: Expr) -> Expr:
        """Return the derivative of ad(n) r, ad(n)ᵀ r or bar(n) r, by −ad(r), −bar(r) or −ad(r)ᵀ and D n."""
        base = leaf_of(x)
        assert base.origin is not None
        inner = self.of(base.needs[0])
        if isinstance(inner, Zero):
            return self._zero(x.range)
        adjoint = isinstance(x, Adjoint)
        if base.origin.kind == "bar":
            return self._ad(r).T @ inner * (1 if adjoint else -1)
        return -((self._bar(r) if adjoint else self._ad(r)) @ inner)

    def _shown(self, x: Letter, r: Expr) -> Expr:
        """Return the derivative of Q r: axes of the world turn against those of the nodes."""
        if self.displaced is None:
            return self._zero(x.range)
        moved = B.T @ self.displaced
        if isinstance(x, Adjoint):
            return turned(self._computed(x @ r), context=self.context, force=True) @ moved
        return -(x @ turned(self._computed(r), context=self.context) @ moved)

    def _defined(self, x: Letter, r: Expr) -> Expr:
        base = leaf_of(x)
        operator = _operator_of(base)
        if operator is None:
            raise _recursion(base)
        return -(x @ self.varied(operator, value(x @ r, context=self.context)))


@dataclass
class _OperatorRules:
    """The change of an operator along joint rates: δφᵀ = φᵀ Ξ − Ξ φᵀ as it stands, Ξ = ad(X x)."""

    rules: _Rules
    rates: Expr

    @cached_property
    def turn(self) -> Leaf:
        """Ξ."""
        assert self.rules.displaced is not None
        return ad(self.rules.displaced @ self.rates, context=self.rules.context)

    def of(self, e: Expr) -> Expr:
        """Return the change of an operator."""
        match e:
            case Sum():
                return _total(zero(e.range, e.domain), ((c, self.of(t)) for c, t in e.terms))
            case Product():
                parts = [
                    (1, product(*e.factors[:k], self.of(f), *e.factors[k + 1 :]))
                    for k, f in enumerate(e.factors)
                ]
                return _total(zero(e.range, e.domain), parts)
            case Inverse():
                return -(e @ self.of(e.argument) @ e)
            case Leaf() | Adjoint():
                return self._letter(e)
            case _:
                return zero(e.range, e.domain)

    def _letter(self, x: Letter) -> Expr:
        if isinstance(x, Adjoint):
            return self._letter(x.leaf).T
        if x.domain is One:
            return self.rules.of(x) @ self.rates
        if x in (phi, E, E0):
            towards = zero(x.range, x.domain) if x is E0 else self.turn.T @ x
            return towards - x @ self.turn.T
        operator = _operator_of(x)
        if operator is not None:
            return -(x @ self.of(operator) @ x)
        if x.needs or definition_of(x) is not None:
            raise ArgumentError(f"{x}: has no derivative along joint rates; apply it to a vector first")
        hinged = x.card.hinged or x in self.rules.moving
        return along(x, self.rates, context=self.rules.context) if hinged else zero(x.range, x.domain)


def _moves(x: Leaf, moving: frozenset[Leaf]) -> bool:
    """Tell whether a letter, or what it is a derivative of, is one that depends on q in flexible bodies."""
    if x.origin is None:
        return x in moving
    return x.origin.kind in ("partial", "along") and _moves(leaf_of(x.origin.of), moving)


def _operator_of(x: Expr) -> Expr | None:
    """Return the operator that something is the inverse of, or None."""
    if isinstance(x, Inverse):
        return x.argument
    meaning = DEFINITIONS.get(x) if isinstance(x, Leaf) and x.structure is Structure.DENSE else None
    return meaning.argument if isinstance(meaning, Inverse) else None


def _recursion(x: Leaf) -> ArgumentError:
    """Return the error of a letter that stands for the result of a recursion."""
    remedy = (
        "write the expression with the mass matrix or its inverse, mass.inv(), and derive finds this form"
    )
    if x in (Dr, Dri):
        remedy = "no other letters have the roots of 𝓜: take differences along hinge.integrate"
    return ArgumentError(f"{x}: stands for the result of a recursion, which is not differentiated; {remedy}")


def _total(nothing: Expr, terms: Any) -> Expr:
    """Return a linear combination, zero if it is empty."""
    found = list(terms)
    return linear((1, nothing), *found) if found else nothing
