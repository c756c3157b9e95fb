"""Theories: axioms from the definitions of the letters, completed to a confluent table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from hinge.algebra import (
    DEFINITIONS,
    E0,
    Articulated,
    Body,
    Card,
    Dr,
    Dri,
    E,
    Expr,
    G,
    H,
    Inverse,
    Leaf,
    Letter,
    P,
    Polynomial,
    Product,
    R,
    Root,
    Structure,
    Ups,
    appendix,
    degree,
    identity,
    leaf,
    leaf_of,
    leaves,
    loaded,
    no_inverse,
    passive,
    phi,
    polynomial,
    whole,
    zero,
)
from hinge.rules.completion import (
    Axiom,
    Completed,
    DegreeError,
    Order,
    Table,
    Use,
    complete,
    renamed_axiom,
    renamed_rules,
)
from hinge.rules.tables_on_disk import load_rules

#: The weight of a letter for an inverse without definition: heavy, so that it is eliminated first.
UNKNOWN_INVERSE = 300


def weight(letter: Letter) -> int:
    """Return the weight of a letter in the order of words: what is to be eliminated weighs more."""
    return leaf_of(letter).card.weight


ORDER = Order(weight)


def equation(name: str, left: Expr, right: Expr, source: str) -> tuple[Axiom, ...]:
    """Return the axiom left = right and, unless it is the same, its adjoint."""
    d = polynomial(left, no_inverse) - polynomial(right, no_inverse)
    one = Axiom(name, d, source)
    return (one,) if d.T.key == d.key else (one, Axiom(f"adjoint of {name}", d.T, source))


def _cited(letter: Leaf) -> str:
    """Return the equation of JPL 88-11 that a letter's meaning names, or the slides."""
    numbers = re.findall(r"\([\dab]\.\d+\)", letter.meaning)
    return f"JPL 88-11 {numbers[-1]}" if numbers else "SOA slides"


def definition_axioms(definitions: Mapping[Leaf, Expr]) -> tuple[Axiom, ...]:
    """Return the axioms of definitions.

    They are letter = expression, X letter = letter X = I, or letter letterᵀ = X.
    """
    found: list[Axiom] = []
    for letter, e in definitions.items():
        name, source = f"definition of {letter}", _cited(letter)
        if isinstance(e, Inverse):
            one = identity(letter.range)
            found += equation(name, e.argument @ letter, one, source)
            found += equation(name, letter @ e.argument, one, source)
        elif isinstance(e, Root):
            found += equation(name, letter @ letter.T, e.argument, "linear algebra")
        else:
            found += equation(name, letter, e, source)
    return tuple(found)


def articulated_axioms(x: Articulated) -> tuple[Axiom, ...]:
    """Return the axioms of one articulated-body family; G = P Hᵀ D⁻¹ is stated as P Hᵀ = G D.

    The two say the same since D D⁻¹ = I, and from this one completion ends at once.
    """
    definitions = x.definitions()
    definitions.pop(x.G)
    gain = equation(f"definition of {x.G}", x.P @ x.H.T, x.G @ x.D, "JPL 88-11 (a.2)")
    return definition_axioms(definitions) + gain


def base_axioms(*blocks: Expr) -> tuple[Axiom, ...]:
    """Return that nothing lies beyond the base: no body carries a root body as its child.

    So E E₀ᵀ = 0, and E X E₀ᵀ = 0 for a block-diagonal X.
    """
    found: list[Axiom] = []
    for block in (identity(Body), *blocks):
        word = E @ block @ E0.T
        found += equation(
            "nothing lies beyond the base", word, zero(word.range, word.domain), "JPL 88-11 (3.8)"
        )
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Theory:
    """Axioms and their confluent table.

    `holds_on` is "trees" or "serial chains". `inverses` are pairs (X, X⁻¹), each a consequence of the
    axioms; `unknown` are letters that stand for inverses which nothing gives in closed form. The table of a
    theory with a `degree` decides words up to that degree, and refuses others. One of a `pattern` has the
    axioms and the table of another theory with other letters.
    """

    name: str
    axioms: tuple[Axiom, ...]
    letters: frozenset[Leaf]
    holds_on: str = "trees"
    inverses: tuple[tuple[Expr, Expr], ...] = ()
    unknown: Mapping[Leaf, Expr] = field(default_factory=dict[Leaf, Expr])
    base: Theory | None = None
    degree: int | None = None
    pattern: tuple[Theory, Mapping[Leaf, Leaf]] | None = None

    @cached_property
    def table(self) -> Table:
        """The confluent table: frozen with the package, or completed now for axioms of your own."""
        if self.pattern is not None:
            other, letters = self.pattern
            axioms = dict(zip(other.axioms, self.axioms, strict=True))
            return Table.of(renamed_rules(other.table.rules, letters, axioms))
        frozen = None if self.base else load_rules(self.name, self.axioms)
        return Table.of(frozen) if frozen is not None else self.complete().table

    def complete(self, seconds: float = 10.0) -> Completed:
        """Return the table completed from the axioms, with counts and time."""
        if self.base is None:
            return complete(self.axioms, ORDER, seconds=seconds, up_to=self.degree)
        own = self.axioms[len(self.base.axioms) :]
        return complete(own, ORDER, start=self.base.table.rules, seconds=seconds, up_to=self.degree)

    def renamed(self, letters: Mapping[Leaf, Leaf]) -> Theory:
        """Return the theory about other letters: what holds for these holds for those."""
        axioms = tuple(renamed_axiom(a, letters) for a in self.axioms)
        return replace(self, axioms=axioms, letters=_letters(axioms), pattern=(self, letters))

    def extended(self, axioms: Sequence[Axiom], name: str = "") -> Theory:
        """Return the theory with more axioms; its table is completed from this one's."""
        if not axioms:
            return self
        letters = self.letters | {leaf_of(x) for a in axioms for w in a.difference.terms for x in w}
        return replace(
            self,
            name=name or self.name,
            axioms=(*self.axioms, *axioms),
            letters=letters,
            base=self,
            pattern=None,
        )

    def multiplied_out(self, e: Expr) -> tuple[Polynomial, Theory]:
        """Return an expression as a polynomial, and the theory extended by letters for unknown inverses."""
        theory = self

        def inverse_of(argument: Expr) -> Polynomial:
            nonlocal theory
            p = polynomial(argument, inverse_of)
            found, theory = theory._inverse(argument, p)
            return found

        return polynomial(e, inverse_of), theory

    @property
    def root(self) -> Theory:
        """The shipped theory, without added axioms."""
        return self if self.base is None else self.base.root

    def _inverse(self, argument: Expr, p: Polynomial) -> tuple[Polynomial, Theory]:
        if isinstance(argument, Product) and all(f.range is f.domain for f in argument.factors):
            return self._inverse_of_product(argument)
        known = self._known_inverses.get(self._key(p))
        if known is not None:
            return polynomial(known, no_inverse), self
        letter = _inverse_letter(argument, p, len(self.unknown))
        one, operator = identity(letter.range), p.expression()
        axioms = equation(f"definition of {letter}", operator @ letter, one, "an inverse")
        axioms += equation(f"definition of {letter}", letter @ operator, one, "an inverse")
        theory = replace(
            self.extended(axioms),
            inverses=(*self.inverses, (operator, letter)),
            unknown={**self.unknown, letter: operator},
        )
        return polynomial(letter, no_inverse), theory

    def _inverse_of_product(self, argument: Product) -> tuple[Polynomial, Theory]:
        found, theory = self.multiplied_out(argument.factors[-1].inv())
        for f in reversed(argument.factors[:-1]):
            part, theory = theory.multiplied_out(f.inv())
            found = found @ part
        return found, theory

    @cached_property
    def _known_inverses(self) -> dict[tuple[object, ...], Expr]:
        found: dict[tuple[object, ...], Expr] = {}
        for x, y in self.inverses:
            for left, right in ((x, y), (y, x), (x.T, y.T), (y.T, x.T)):
                found.setdefault(self._key(polynomial(left, no_inverse)), right)
        return found

    def _key(self, p: Polynomial) -> tuple[object, ...]:
        """Return the key of an operator: its spaces, and its normal form in the shipped theory."""
        return p.range, p.domain, self.root.normal(p).key

    def normal(self, p: Polynomial) -> Polynomial:
        """Return the normal form of a polynomial."""
        return self.reduced(p)[0]

    def reduced(self, p: Polynomial) -> tuple[Polynomial, list[Use]]:
        """Return the normal form and the rules that led to it."""
        self._check_degree(p)
        terms, uses = self.table.normal_form(p.terms)
        return Polynomial(p.range, p.domain, terms), uses

    def _check_degree(self, p: Polynomial) -> None:
        most = max(map(degree, p.terms), default=0)
        if self.degree is not None and most > self.degree:
            raise DegreeError(
                f"words of degree {most}: expected at most {self.degree} letters ad(…) and bar(…) in a word, "
                f"which is what the table of {self.name} decides"
            )


def _inverse_letter(argument: Expr, p: Polynomial, count: int) -> Leaf:
    text = f"({argument})⁻¹"
    return leaf(
        f"inverse_{count + 1}", argument.range, argument.domain, Structure.DENSE,
        self_adjoint=p.T.key == p.key, unicode=text, latex=argument.inv().latex(), meaning="an inverse",
        card=Card(weight=UNKNOWN_INVERSE),
    )  # fmt: skip


def _family(name: str, x: Articulated, *more: Axiom) -> Theory:
    one, joint = identity(Body), identity(x.H.range)
    axioms = definition_axioms({phi: DEFINITIONS[phi]}) + articulated_axioms(x) + more
    inverses = (
        (x.mass, x.Mi),
        (x.D, x.Di),
        (one - E, phi),
        (one - x.Es, x.psi),
        (joint + x.H @ phi @ x.K, joint - x.H @ x.psi @ x.K),
    )
    return Theory(name, axioms, _letters(axioms), inverses=inverses)


def _letters(axioms: Iterable[Axiom]) -> frozenset[Leaf]:
    return frozenset(leaf_of(x) for a in axioms for w in a.difference.terms for x in w)


def _appendix_axioms() -> tuple[Axiom, ...]:
    found: list[Axiom] = []
    for left, right, source in appendix.APPENDIX:
        found += equation(f"definition of {left}", left, right, f"JPL 88-11 {source}")
    return tuple(found)


def _joined(name: str, one: Theory, axioms: tuple[Axiom, ...], *others: Theory) -> Theory:
    inverses = one.inverses + tuple(pair for o in others for pair in o.inverses)
    return Theory(name, one.axioms + axioms, _letters(one.axioms + axioms), inverses=inverses)


#: Trees of bodies: the propagation φ, the articulated family, composite bodies, the base.
TREE = _family("tree", whole, *definition_axioms({R: DEFINITIONS[R]}), *base_axioms(R, P, G @ H @ P))
_PASSIVE = _family("passive", passive)
#: Trees whose hinges are split into passive and active ones.
HYBRID = _joined("hybrid", TREE, articulated_axioms(passive), _PASSIVE)
_LOADED = _family("loads", loaded)
#: Trees, with symmetric blocks added to the mass matrix at the hinges.
LOADED = _joined("loaded", TREE, articulated_axioms(loaded), _LOADED)
#: Trees, with the letters Φ, Ψ, S, Δφ, Δψ, L, r of appendix A.
APPENDIX = _joined("appendix", TREE, _appendix_axioms())
#: Trees, with the square root of D.
ROOTS = _joined(
    "roots",
    replace(TREE, inverses=(*TREE.inverses, (Dr, Dri))),
    definition_axioms({x: DEFINITIONS[x] for x in (Dr, Dri)}),
)
#: Serial chains only: Υ, whose recursion splits ψᵀ Hᵀ D⁻¹ H ψ there.
SERIAL = replace(
    _family("serial", whole, *definition_axioms({Ups: DEFINITIONS[Ups]})), holds_on="serial chains"
)


def is_hybrid(letters: Set[Leaf]) -> bool:
    """Tell whether letters of the passive hinges are among these."""
    return bool(letters & (_PASSIVE.letters - TREE.letters))


def is_loaded(letters: Set[Leaf]) -> bool:
    """Tell whether the load, or letters of the family with it, are among these."""
    return bool(letters & (_LOADED.letters - TREE.letters))


def has_appendix_letters(letters: Set[Leaf]) -> bool:
    """Tell whether letters of appendix A alone are among these."""
    return bool(letters & (APPENDIX.letters - TREE.letters))


def has_roots(letters: Set[Leaf]) -> bool:
    """Tell whether the square root of D or its inverse is among these."""
    return bool(letters & {Dr, Dri})


def theory_of(*expressions: Expr) -> Theory:
    """Return the smallest theory that knows the letters of the expressions."""
    used = {x for e in expressions for x in leaves(e)}
    if is_hybrid(used):
        return HYBRID
    if is_loaded(used):
        return LOADED
    if Ups in used:
        return SERIAL
    if has_roots(used):
        return ROOTS
    return APPENDIX if has_appendix_letters(used) else TREE
