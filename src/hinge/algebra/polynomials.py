"""Typed non-commutative polynomials: sums of words of letters with exact coefficients.

A letter is a leaf or the adjoint of one. The empty word is the identity of the polynomial's space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

from hinge.algebra.expression import (
    Adjoint,
    Coefficient,
    Expr,
    Identity,
    Inverse,
    Leaf,
    LogDet,
    Product,
    Root,
    Sum,
    Zero,
    identity,
    leaf,
    linear,
    product,
    zero,
)
from hinge.algebra.space import One, Space

Letter: TypeAlias = Leaf | Adjoint
Word: TypeAlias = tuple[Letter, ...]
Terms: TypeAlias = dict[Word, Coefficient]


@dataclass(frozen=True, eq=False)
class Polynomial:
    """Σ coefficient · word, range ← domain; no coefficient is zero."""

    range: Space
    domain: Space
    terms: Mapping[Word, Coefficient]

    @cached_property
    def key(self) -> frozenset[tuple[Word, Coefficient]]:
        """The terms as a set: two polynomials of the same spaces are equal when their keys are."""
        return frozenset(self.terms.items())

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial(self.range, self.domain, combined([(1, self.terms), (1, other.terms)]))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return Polynomial(self.range, self.domain, combined([(1, self.terms), (-1, other.terms)]))

    def __matmul__(self, other: Polynomial) -> Polynomial:
        found: Terms = {}
        for u, c in self.terms.items():
            for w, d in other.terms.items():
                _add(found, u + w, c * d)
        return Polynomial(self.range, other.domain, found)

    @property
    def T(self) -> Polynomial:
        """The adjoint."""
        return Polynomial(self.domain, self.range, {adjoint_word(w): c for w, c in self.terms.items()})

    def expression(self) -> Expr:
        """Return the sum of words as an expression, not factored."""
        if not self.terms:
            return zero(self.range, self.domain)
        return linear(*((c, word_expression(w, self.range)) for w, c in self.terms.items()))


def adjoint_word(word: Word) -> Word:
    """Return the adjoint of a word: the adjoints of its letters, reversed."""
    return tuple(letter.T for letter in reversed(word))  # pyright: ignore[reportReturnType]


def word_expression(word: Word, space: Space) -> Expr:
    """Return a word as an expression; the empty word is the identity of the space."""
    return product(*word) if word else identity(space)


def combined(parts: Iterable[tuple[Coefficient, Mapping[Word, Coefficient]]]) -> Terms:
    """Return the linear combination of terms."""
    found: Terms = {}
    for c, terms in parts:
        for w, d in terms.items():
            _add(found, w, c * d)
    return found


def wrapped(left: Word, terms: Mapping[Word, Coefficient], right: Word, factor: Coefficient = 1) -> Terms:
    """Return factor · left · terms · right."""
    return {left + w + right: factor * c for w, c in terms.items()}


#: Gives the polynomial that stands for the inverse of an expression.
InverseOf: TypeAlias = Callable[[Expr], Polynomial]


def polynomial(e: Expr, inverse_of: InverseOf) -> Polynomial:
    """Return an expression multiplied out; `inverse_of` gives the polynomial of an inverse."""
    match e:
        case Leaf() | Adjoint():
            terms: Terms = {(e,): 1}
        case Identity():
            terms = {(): 1}
        case Zero():
            terms = {}
        case Sum():
            terms = combined((c, polynomial(t, inverse_of).terms) for c, t in e.terms)
        case Product():
            whole = polynomial(e.factors[0], inverse_of)
            for f in e.factors[1:]:
                whole = whole @ polynomial(f, inverse_of)
            return whole
        case Inverse():
            return inverse_of(e.argument)
        case LogDet():
            terms = {(_scalar_letter(e),): 1}
        case Root():
            raise NotImplementedError(
                f"{e}: a square root is a letter's definition; write the letter, such as Dr"
            )
        case _:
            raise AssertionError(type(e))
    return Polynomial(e.range, e.domain, terms)


@lru_cache(maxsize=256)
def outer_polynomial(e: Expr) -> Polynomial:
    """Return an expression multiplied out except for its inverses, each of which becomes a letter.

    The last results are cached, since several questions about an expression need them.
    """
    return polynomial(e, _opaque_inverse)


def _opaque_inverse(argument: Expr) -> Polynomial:
    found = leaf("inverse", argument.domain, argument.range, meaning=repr(argument))
    return Polynomial(found.range, found.domain, {(found,): 1})


def inverted(e: Expr) -> Iterator[Expr]:
    """Yield the arguments of inverses and determinants, nested ones included."""
    match e:
        case Sum():
            parts = [t for _, t in e.terms]
        case Product():
            parts = list(e.factors)
        case Inverse() | LogDet():
            yield e.argument
            parts = [e.argument]
        case _:
            parts = []
    for part in parts:
        yield from inverted(part)


def _scalar_letter(e: LogDet) -> Leaf:
    plain = "".join(c if c.isalnum() else "_" for c in e.ascii())
    return leaf(plain, One, One, unicode=str(e), latex=e.latex(), meaning=repr(e))


def factored(p: Polynomial) -> Expr:
    """Return the polynomial with common left factors taken out (Horner), signs normalised.

    Equal subterms become one object, since expressions are hash-consed: that is all the sharing that the
    sweeps need. A sum in brackets has a positive first coefficient.
    """
    if not p.terms:
        return zero(p.range, p.domain)
    return linear(_horner(p.terms, p.range, p.domain))


def _horner(terms: Mapping[Word, Coefficient], range_: Space, domain: Space) -> tuple[Coefficient, Expr]:
    """Return a sign and an expression whose product is the polynomial; its first coefficient is positive."""
    groups: dict[Letter | None, Terms] = {}
    for w in sorted(terms, key=word_order):
        groups.setdefault(w[0] if w else None, {})[w[1:]] = terms[w]
    parts: list[tuple[Coefficient, Expr]] = []
    for letter, rest in groups.items():
        if letter is None:
            parts.append((rest[()], identity(range_)))
        else:
            sign, inner = _horner(rest, letter.domain, domain)
            parts.append((sign, product(letter, inner)))
    if parts[0][0] > 0:
        return 1, linear(*parts)
    return -1, linear(*((-c, e) for c, e in parts))


def word_order(word: Word) -> tuple[int, tuple[str, ...]]:
    """Return the sort key of a word in print: shorter first, then by letters."""
    return len(word), tuple(letter_name(x) for x in word)


def substituted(p: Polynomial, meaning: Callable[[Letter], Polynomial | None]) -> Polynomial:
    """Return the polynomial with defined letters replaced by their definitions, recursively."""
    found: Terms = {}
    again = False
    for word, c in p.terms.items():
        meanings = [meaning(x) for x in word]
        if not any(m is not None for m in meanings):
            _add(found, word, c)
            continue
        again = True
        terms: Terms = {(): c}
        for x, m in zip(word, meanings, strict=True):
            inner: Mapping[Word, Coefficient] = {(x,): 1} if m is None else m.terms
            terms = combined((d, {u + w: e for w, e in inner.items()}) for u, d in terms.items())
        for w, d in terms.items():
            _add(found, w, d)
    whole = Polynomial(p.range, p.domain, found)
    return substituted(whole, meaning) if again else whole


def leaf_of(letter: Letter) -> Leaf:
    """Return the leaf of a letter, without the adjoint."""
    return letter if isinstance(letter, Leaf) else letter.leaf


def degree(word: Word) -> int:
    """Return the number of cross products in a word; see `Card`."""
    return sum(leaf_of(x).card.degree for x in word)


def leaves(e: Expr) -> set[Leaf]:
    """Return the leaves of an expression."""
    return set(leaves_in_order(e))


def leaves_in_order(e: Expr) -> list[Leaf]:
    """Return the leaves of an expression in order of appearance, with repetitions."""
    match e:
        case Leaf():
            return [e]
        case Adjoint():
            return [e.leaf]
        case Sum():
            return [x for _, t in e.terms for x in leaves_in_order(t)]
        case Product():
            return [x for f in e.factors for x in leaves_in_order(f)]
        case Inverse() | LogDet() | Root():
            return leaves_in_order(e.argument)
        case _:
            return []


def no_inverse(argument: Expr) -> Polynomial:
    """Refuse an inverse where none is expected."""
    raise AssertionError(f"the inverse of {argument} where none is expected")


def letter_name(letter: Letter) -> str:
    """Return a letter in plain text: its name, and ' for an adjoint."""
    return letter.name if isinstance(letter, Leaf) else letter.leaf.name + "'"


def _add(terms: Terms, word: Word, c: Coefficient) -> None:
    total = terms.get(word, 0) + c
    if total:
        terms[word] = total
    else:
        terms.pop(word, None)
