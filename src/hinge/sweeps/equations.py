"""State equations of a factored expression, in operator form.

Each φ x or ψ x becomes a state, s = x + E s or s = x + E (s − G H s); adjoints alike; K becomes E G.
Block-diagonal letters that are derived (P, D, G, R …) bring their own equations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from hinge.algebra import (
    DEFINED,
    DEFINITIONS,
    E0,
    V0,
    Adjoint,
    Answered,
    Body,
    Card,
    Di,
    Dik,
    Dip,
    E,
    Expr,
    H,
    Inverse,
    Joint,
    Leaf,
    Letter,
    One,
    Passive,
    Polynomial,
    Product,
    Root,
    Space,
    Structure,
    Sum,
    Zero,
    definition_of,
    factored,
    leaf,
    leaf_of,
    leaves_in_order,
    linear,
    no_inverse,
    phi,
    polynomial,
    product,
    qd,
    substituted,
    zero,
)
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.sweeps.contract import is_met_at_world

#: Names of states by the propagation that makes them: (plain, Unicode).
STATE_NAMES = {"phi": ("f", "f"), "psi": ("z", "z"), "phi'": ("alpha", "α"), "psi'": ("alpha", "α")}
VARIABLE = "a variable of the sweeps"
VELOCITY = "velocities of the bodies"
#: What velocities of bodies are made of, on a base that rests and on one that moves in a given way.
_RATES = (H.T @ qd, factored(polynomial(H.T @ qd + E0.T @ V0, no_inverse)))
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class DenseSolve:
    """target = X⁻¹ right, where X is the operator that a letter is the inverse of."""

    operator: Expr
    right: Leaf
    answer: Answered | None = None


@dataclass(frozen=True)
class DenseProduct:
    """target = X right, where X is a dense letter of the user's own, or its adjoint."""

    operator: Letter
    right: Leaf


@dataclass
class Equations:
    """A system of state equations; a value of None is a formula of the binding.

    `meets` are formulas at the world, of values at all bodies, and the variables that they need. `columns`
    are operators that stand for columns which are stored at the bodies: their product with a vector at the
    world needs no sweep. `forms` are the forms in which vectors are computed that derivatives have as
    letters. `measures` are told beside an answer to a law, by the answer.
    """

    inverses: Mapping[Leaf, Expr]
    forms: Mapping[Leaf, Expr] = field(default_factory=dict[Leaf, Expr])
    values: dict[Leaf, Expr | None] = field(default_factory=dict[Leaf, Expr | None])
    needs: dict[Leaf, tuple[Expr, ...]] = field(default_factory=dict[Leaf, tuple[Expr, ...]])
    solves: dict[Leaf, DenseSolve] = field(default_factory=dict[Leaf, DenseSolve])
    products: dict[Leaf, DenseProduct] = field(default_factory=dict[Leaf, DenseProduct])
    meets: dict[Leaf, tuple[Leaf, ...]] = field(default_factory=dict[Leaf, tuple[Leaf, ...]])
    sources: dict[Space, Leaf] = field(default_factory=dict[Space, Leaf])
    columns: dict[Leaf, Leaf] = field(default_factory=dict[Leaf, Leaf])
    measures: dict[Leaf, Leaf] = field(default_factory=dict[Leaf, Leaf])
    states: dict[tuple[Expr, Expr], Leaf] = field(default_factory=dict[tuple[Expr, Expr], Leaf])
    names: Counter[str] = field(default_factory=Counter[str])

    def variable(self, range_: Space, name: str, glyph: str | None = None, meaning: str = VARIABLE) -> Leaf:
        """Return a new vector variable."""
        self.names[name] += 1
        n = self.names[name]
        plain = name if n == 1 else f"{name}_{n}"
        mark = "" if n == 1 else str(n).translate(_SUBSCRIPTS)
        return leaf(plain, range_, One, Structure.VECTOR, unicode=(glyph or name) + mark, meaning=meaning)

    def copy(self) -> Equations:
        """Return a system that can be changed without changing this one."""
        return replace(self, values=dict(self.values), needs=dict(self.needs), names=Counter(self.names))

    def column_source(self, space: Space) -> Leaf:
        """Return the unit columns of a space: what an operator is applied to, to get its columns."""
        if space not in self.sources:
            self.sources[space] = leaf(f"unit_{space.name}", space, One, unicode="1", meaning="unit columns")
        return self.sources[space]

    def vector(self, p: Polynomial) -> Expr:
        """Return a multiplied-out vector in terms of states and local letters."""
        return self.build(factored(p))

    def define(self, name: str, value: Expr, glyph: str | None = None) -> Leaf:
        """Return a new variable with this value."""
        found = self.variable(value.range, name, glyph)
        self.values[found] = value
        return found

    def build(self, e: Expr) -> Expr:
        """Return a factored vector expression in terms of states and local letters."""
        match e:
            case Leaf():
                self.formula(e)
                return e
            case Sum():
                return linear(*((c, self.build(t)) for c, t in e.terms))
            case Product():
                return self.apply(e.factors[0], self.build(product(*e.factors[1:])))
            case Zero():
                return e
            case Adjoint():
                row = e.leaf
                raise UnboundLeafError(
                    f"{row}: is {row.range} ← {row.domain}, and no value can be given for a row; expected "
                    f"the adjoint of a vector, leaf({row.name!r}, {row.domain}, One).T"
                )
            case _:
                raise AssertionError(f"{e}: not multiplied out")

    def formula(self, x: Leaf) -> None:
        """Add a leaf that is a function of the motion at its body, and the vectors that it needs."""
        if x.origin is not None and x.origin.kind in DEFINED:
            for inside in leaves_in_order(x.origin.of):
                self.formula(inside)
        if not x.needs or x in self.values or x in self.meets:
            return
        if x.origin is not None and x.origin.kind == "value":
            self.values[x] = zero(x.range, One)  # it is known while its own value is built
            self.values[x] = self.vector(polynomial(self.forms.get(x, x.needs[0]), no_inverse))
            return
        wholes = [n if n.domain is One or _is_block(n) else n @ self.column_source(n.domain) for n in x.needs]
        if is_met_at_world(x):
            self.meets[x] = tuple(self.named("end", self.vector(polynomial(w, no_inverse))) for w in wholes)
            return
        self.values[x], self.needs[x] = None, ()
        self.needs[x] = tuple(self.vector(polynomial(w, no_inverse)) for w in wholes)

    def named(self, name: str, value: Expr) -> Leaf:
        """Return a variable with this value, the same for the same value."""
        if isinstance(value, Leaf):
            return value
        known = (x for x, e in self.values.items() if e is value)
        return next(known, None) or self.define(name, value)

    def apply(self, letter: Expr, x: Expr) -> Expr:
        """Return letter · x, a propagation as a state, a step as edges."""
        assert isinstance(letter, Leaf | Adjoint), f"{letter}: not multiplied out"
        if isinstance(x, Zero):
            return zero(letter.range, x.domain)
        base = leaf_of(letter)
        if base in self.inverses:
            return self._solve(letter, x)
        if base.structure is Structure.DENSE:
            return self._product(letter, x)
        if base.structure is Structure.RESOLVENT:
            return self._state(letter, x)
        self.formula(base)
        if base.structure is Structure.STEP and base is not E:
            words = in_steps(polynomial(letter, no_inverse)).terms
            return linear(*((c, product(*w, x)) for w, c in words.items()))
        return self._each(x, lambda t: self._onto_columns(letter, t), lambda t: product(letter, t))

    # Columns that are stored: what is solved for at the world meets them again.

    def _each(self, x: Expr, special: Callable[[Expr], Expr | None], other: Callable[[Expr], Expr]) -> Expr:
        """Return a sum with `special` of the terms that have one, and `other` of the rest together."""
        terms = x.terms if isinstance(x, Sum) else ((1, x),)
        found = [(c, special(t)) for c, t in terms]
        if all(t is None for _, t in found):
            return other(x)
        rest = (
            linear(*(term for term, (_, t) in zip(terms, found, strict=True) if t is None))
            if any(t is None for _, t in found)
            else None
        )
        parts = [(c, t) for c, t in found if t is not None]
        return linear(*([] if rest is None else [(1, other(rest))]), *parts)

    def _onto_columns(self, letter: Letter, term: Expr) -> Expr | None:
        """Return letter · C y as columns letter · C, times y, or as a variable if these are no shorter.

        None if the term is not of stored columns. As a variable it is not taken into sums that an earlier
        pass needs without it.
        """
        operator = term.factors[0] if isinstance(term, Product) else term
        if letter.range is not Joint or not isinstance(operator, Leaf) or operator not in self.columns:
            return None
        assert isinstance(term, Product)
        if letter.domain is not Body:
            return self.named("x", product(letter, term))
        made = self.named("Y", product(letter, self.columns[operator]))
        return product(self._as_operator(made, term.factors[1].range), *term.factors[1:])

    def _as_operator(self, columns: Leaf, source: Space) -> Leaf:
        """Return the operator that stands for columns at the bodies."""
        found = leaf(f"{columns.name}_columns", columns.range, source, Structure.DENSE,
                     unicode=f"[{columns}]", meaning="stored columns", card=Card())  # fmt: skip
        self.columns[found] = columns
        return found

    def _from_columns(self, letter: Letter, term: Expr) -> Expr | None:
        """Return letter · B Aᵀ y as stored columns times y, where a solve for y makes them; else None."""
        shift, met = term.factors if isinstance(term, Product) and len(term.factors) == 2 else (term, None)
        given = self.products.get(met) if isinstance(met, Leaf) else None
        if given is None or given.right not in self.solves:
            return None
        beyond = (letter, shift, given.operator)
        words = polynomial(self.solves[given.right].operator, no_inverse).terms
        if not all(w[-3:] == beyond for w in words):
            return None
        unit = self._product(given.operator, self.column_source(given.operator.domain))
        made = self._propagated(letter, product(shift, unit))
        return product(self._as_operator(made, given.operator.domain), given.right)

    def _state(self, letter: Letter, x: Expr) -> Expr:
        return self._each(x, lambda t: self._from_columns(letter, t), lambda t: self._propagated(letter, t))

    def _propagated(self, letter: Letter, x: Expr) -> Leaf:
        if (letter, x) not in self.states:
            family = leaf_of(letter).name.removesuffix("p").removesuffix("k")
            plain = family if isinstance(letter, Leaf) else f"{family}'"
            velocity = letter is phi.T and any(x is rate for rate in _RATES)
            names = ("V", "V", VELOCITY) if velocity else STATE_NAMES[plain]
            found = self.variable(Body, *names)
            self.states[letter, x] = found
            shift = in_steps(polynomial(step_of(letter), no_inverse)).terms
            self.values[found] = linear((1, x), *((c, product(*w, found)) for w, c in shift.items()))
        return self.states[letter, x]

    def _solve(self, letter: Letter, x: Expr) -> Leaf:
        if (letter, x) not in self.states:
            base = leaf_of(letter)
            argument = self.inverses[base] if isinstance(letter, Leaf) else self.inverses[base].T
            right = x if isinstance(x, Leaf) and x in self.values else self.define("rhs", x)
            found = self.variable(letter.range, "y")
            self.states[letter, x] = found
            self.solves[found] = DenseSolve(argument, right)
        return self.states[letter, x]

    def answer(self, to: Answered, operator: Expr, right: Leaf) -> None:
        """Add the answer to a law, operator · answer + right, and what is told beside it."""
        self.solves[to.forces] = DenseSolve(operator, right, to)
        self.measures |= dict.fromkeys(to.measures, to.forces)

    def _product(self, letter: Letter, x: Expr) -> Leaf:
        self.formula(leaf_of(letter))
        if (letter, x) not in self.states:
            right = x if isinstance(x, Leaf) else self.define("rhs", x)
            found = self.variable(letter.range, "y")
            self.states[letter, x] = found
            self.products[found] = DenseProduct(letter, right)
        return self.states[letter, x]

    def factor(self) -> None:
        """Factor all equations again, now that states and steps stand in them."""
        for x, value in self.values.items():
            if value is not None:
                self.values[x] = factored(polynomial(value, no_inverse))
        for x, needs in self.needs.items():
            self.needs[x] = tuple(factored(polynomial(n, no_inverse)) for n in needs)

    def close(self, more: Iterable[Leaf] = ()) -> None:
        """Add the equations of the derived block-diagonal letters that the values (and `more`) use."""
        read = [v for v in self.values.values() if v is not None] + [
            n for e in self.needs.values() for n in e
        ]
        todo = [*more, *(x for e in read for x in leaves_in_order(e))]
        while todo:
            x = todo.pop()
            known = (self.values, self.solves, self.products, self.measures)
            if any(x in those for those in known) or x.needs:
                continue
            for target, value in block_equations(x).items():
                self.values[target] = value
                todo += leaves_in_order(value)


def _is_block(e: Expr) -> bool:
    """Tell whether a formula is given an operator as its block at the body."""
    return isinstance(e, Leaf) and e.structure is Structure.DIAGONAL


def term_name(e: Expr) -> tuple[str, str]:
    """Return the name of a shared term: ν for D⁻¹ …, ε for what an innovation looks like, else x."""
    if isinstance(e, Product) and e.factors[0] in (Di, Dip, Dik):
        return "nu", "ν"
    innovation = isinstance(e, Sum) and e.range in (Joint, Passive)
    return ("eps", "ε") if innovation else ("x", "x")


def step_of(letter: Letter) -> Expr:
    """Return the step of a propagation: E for φ, Eψ for ψ, adjoints alike."""
    definition = DEFINITIONS.get(leaf_of(letter))
    if definition is None:
        raise UnboundLeafError(
            f"{letter}: is {letter.range} ← {letter.domain}, all steps towards the base, and no value can be "
            "given for it; expected φ, ψ or products of them"
        )
    assert isinstance(definition, Inverse)
    assert isinstance(definition.argument, Sum)
    step = definition.argument.terms[1][1]
    return step if isinstance(letter, Leaf) else step.T


def in_steps(p: Polynomial) -> Polynomial:
    """Return a polynomial with derived steps written by E and block-diagonal letters: Eψ = E − E G H."""

    def meaning(letter: Letter) -> Polynomial | None:
        base = leaf_of(letter)
        if base.structure is not Structure.STEP or base is E:
            return None
        if base not in DEFINITIONS:
            raise UnboundLeafError(
                f"{base}: is {base.range} ← {base.domain}, one step towards the base, and no value can be "
                "given for it; expected E and block-diagonal letters"
            )
        found = polynomial(DEFINITIONS[base], no_inverse)
        return found if isinstance(letter, Leaf) else found.T

    return substituted(p, meaning)


def block_equations(x: Leaf) -> dict[Leaf, Expr]:
    """Return the equations of a derived block-diagonal letter, its edges as E X Eᵀ or Eᵀ X E."""
    definition = definition_of(x)
    if definition is None:
        return {}
    if isinstance(definition, Inverse | Root):
        return {x: definition}
    p = in_steps(polynomial(definition, no_inverse))
    gathered = {w[1:-1]: c for w, c in p.terms.items() if w[:1] == (E,) and w[-1:] == (E.T,)}
    if gathered:
        rest = Polynomial(x.range, x.domain, {w: c for w, c in p.terms.items() if w[:1] != (E,)})
        moved = product(E, factored(Polynomial(Body, Body, gathered)), E.T)
        return {x: linear((1, factored(rest)), (1, moved))}
    p, above = _with_above(p)
    return {x: factored(p), **above}


def block_value(e: Expr) -> tuple[Expr, dict[Leaf, Expr]]:
    """Return the diagonal blocks of an expression in local letters, and equations that these need.

    Eᵀ X E (and so Kᵀ X K) stands for the parent's X, seen at the body. Where bodies are siblings it has
    blocks between them too, so the diagonal blocks of a product of two are not the products of theirs.
    """
    p = in_steps(polynomial(e, no_inverse))
    if not p.terms:
        raise ArgumentError(f"{e}: is zero; there are no blocks to compute")
    p, more = _with_above(p)
    seen = {_above(x) for x in DEFINITIONS}
    for word in p.terms:
        if sum(y in seen for y in word) > 1:
            raise ArgumentError(
                f"{e}: expected at most one Eᵀ X E in a product, got several; on a tree that branches their "
                "product has blocks between siblings"
            )
        if not all(leaf_of(x).structure is Structure.DIAGONAL for x in word):
            raise ArgumentError(f"{e}: expected block-diagonal letters, or Eᵀ X E of derived ones")
    return factored(p), more


def _with_above(p: Polynomial) -> tuple[Polynomial, dict[Leaf, Expr]]:
    """Return a polynomial with each Eᵀ X E as a letter of its own, and the equations of these."""
    more: dict[Leaf, Expr] = {}
    for x in sorted({leaf_of(y) for w in p.terms for y in w}, key=lambda x: x.name):
        if x.self_adjoint and x.range is Body and x in DEFINITIONS:
            more |= _from_above(p, x)
            p = _seen_from_above(p, x)
    return p, more


def _above(x: Leaf) -> Leaf:
    return leaf(f"{x.name}_above", Body, Body, Structure.DIAGONAL, self_adjoint=True,
                unicode=f"{x}⁺", meaning=f"{x} of the parent, seen at the body")  # fmt: skip


def _from_above(p: Polynomial, x: Leaf) -> dict[Leaf, Expr]:
    """Return the equation of the parent's X, seen at the body, if a polynomial has it."""
    part = (E.T, x, E)
    has = any(part == w[k : k + 3] for w in p.terms for k in range(len(w)))
    return {_above(x): product(*part)} if has else {}


def _seen_from_above(p: Polynomial, x: Leaf) -> Polynomial:
    """Return a polynomial with Eᵀ X E as a letter of its own."""
    terms = {_replaced(w, (E.T, x, E), _above(x)): c for w, c in p.terms.items()}
    return Polynomial(p.range, p.domain, terms)


def _replaced(word: tuple[Letter, ...], part: tuple[Expr, ...], by: Leaf) -> tuple[Letter, ...]:
    for k in range(len(word)):
        if word[k : k + len(part)] == part:
            return (*word[:k], by, *word[k + len(part) :])
    return word
