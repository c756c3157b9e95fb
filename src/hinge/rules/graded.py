"""Theories of derivatives: how cross products go along with propagation, completed degree by degree.

With x̂ = ad(x) of x = φᵀ r, x̂λ that of the parents, f̄ = bar(f) and F̄ = bar(φ f),

    x̂λ Eᵀ = Eᵀ x̂        ad(r) = x̂ − x̂λ        F̄ = f̄ + E F̄ Eᵀ        f̄ᵀ = −f̄        C = Z + E C Eᵀ

Nothing lies beyond the base: E Z E₀ᵀ = 0 for every product Z of block-diagonal letters, of which there is no
end. All of these are homogeneous in the number of cross products, so that a table can be confluent up to a
degree.

Tables ship for a pattern of letters: one velocity, one acceleration with gravity at the base, one force and
its sum, and a momentum. An expression has letters of its own; `deciding_theory` finds which is which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product as choices

from hinge.algebra import (
    E0,
    Body,
    Card,
    Coefficient,
    Context,
    E,
    Expr,
    G,
    H,
    Leaf,
    One,
    P,
    Product,
    R,
    Structure,
    Sum,
    World,
    Zero,
    ad,
    bar,
    definition_of,
    degree,
    in_cross_products,
    leaf,
    leaves,
    linear,
    outer_polynomial,
    phi,
    product,
    zero,
)
from hinge.rules.completion import Axiom
from hinge.rules.theory import (
    APPENDIX,
    HYBRID,
    LOADED,
    ROOTS,
    SERIAL,
    TREE,
    Theory,
    definition_axioms,
    equation,
    theory_of,
)

#: The highest degree that a table ships for: derivatives of inverse dynamics have it.
HIGHEST = 2


@dataclass(frozen=True)
class Motion:
    """Cross products with x = φᵀ r: ad(x), ad of the parents' x, ad of what the base gives root bodies."""

    own: Leaf
    parent: Leaf
    start: Leaf | None = None

    @property
    def letters(self) -> tuple[Leaf, Leaf, Leaf | None]:
        """The three letters."""
        return self.own, self.parent, self.start

    def axioms(self) -> tuple[Axiom, ...]:
        """Return how they go along with propagation."""
        source = "a change of frames keeps cross products"
        found = equation("covariance of ad", self.parent @ E.T, E.T @ self.own, source)
        at_base = zero(Body, World) if self.start is None else self.start @ E0.T
        found += equation("what root bodies start from", self.parent @ E0.T, at_base, "definition")
        return found if self.start is None else found + at_roots(self.start)


@dataclass(frozen=True)
class Force:
    """bar(f), and bar(φ f)."""

    own: Leaf
    total: Leaf

    def axioms(self) -> tuple[Axiom, ...]:
        """Return that bar(φ f) adds up bar(f) as composites do, and that both are skew."""
        found = equation("accumulated force", self.total, self.own + E @ self.total @ E.T,
                         "a change of frames keeps cross products")  # fmt: skip
        return found + skew(self.total) + skew(self.own)


def at_roots(x: Leaf) -> tuple[Axiom, ...]:
    """Return that a cross product with what the base gives is at root bodies alone, which have no parent."""
    return equation("the base is the parent of roots", x @ E.T, zero(Body, Body), "definition")


def skew(x: Leaf) -> tuple[Axiom, ...]:
    """Return that bar(f) is skew."""
    return equation("bar is skew", x.T, -x, "definition of bar")


def _cross(name: str, unicode: str, like: Leaf) -> Leaf:
    """Return a letter of the pattern, which weighs what one like it does."""
    card = Card(weight=like.card.weight, degree=1)
    return leaf(name, Body, Body, Structure.DIAGONAL, unicode=unicode, card=card)


def _pattern() -> tuple[Motion, Motion, Force, Leaf]:
    x = leaf("r", Body, One)
    motion, root = phi.T @ x, E0.T @ leaf("r0", World, One)
    own, parent, start = ad(motion), ad(E.T @ motion), ad(root)
    return (
        Motion(_cross("V_hat", "V̂", own), _cross("V_hat_parent", "V̂λ", parent)),
        Motion(_cross("A_hat", "Â", own), _cross("A_hat_parent", "Âλ", parent), _cross("g_hat", "ĝ", start)),
        Force(_cross("f_bar", "f̄", bar(x)), _cross("F_bar", "F̄", bar(phi @ x))),
        _cross("p_bar", "p̄", bar(x)),
    )


VELOCITY, ACCELERATION, FORCE, MOMENTUM = _pattern()


def _beyond_the_base(most: int) -> Iterator[Axiom]:
    """Yield that E Z E₀ᵀ and E Z ĝ are zero for products Z of a degree, ad on both sides of one block."""
    start = ACCELERATION.start
    assert start is not None
    hats = VELOCITY.own, ACCELERATION.own
    for block in (R, P, G @ H @ P, FORCE.total, MOMENTUM):
        turned = hats if block in (R, FORCE.total, MOMENTUM) else ()
        for left, right in _sides(turned, most):
            for end in (E0.T, start):
                word = product(E, *(x.T for x in left), block, *right, end)
                (letters,) = outer_polynomial(word).terms
                if 0 < degree(letters) <= most:
                    nothing = zero(word.range, word.domain)
                    yield from equation("nothing lies beyond the base", word, nothing, "JPL 88-11 (3.8)")


def _sides(letters: Sequence[Leaf], most: int) -> Iterator[tuple[tuple[Leaf, ...], tuple[Leaf, ...]]]:
    for count in range(most + 1 if letters else 1):
        for left in range(count + 1):
            for word in choices(letters, repeat=count):
                yield word[:left], word[left:]


def _graded(most: int) -> Theory:
    axioms = TREE.axioms + VELOCITY.axioms() + ACCELERATION.axioms() + FORCE.axioms() + skew(MOMENTUM)
    axioms += tuple(_beyond_the_base(most))
    return replace(TREE, name=f"derivatives_{most}", axioms=axioms, letters=_leaves(axioms), degree=most)


def _leaves(axioms: Iterable[Axiom]) -> frozenset[Leaf]:
    return frozenset(x for a in axioms for x in leaves(a.difference.expression()))


#: Trees, with cross products: the theories up to degree 1 and up to degree 2.
DERIVATIVES: tuple[Theory, ...] = tuple(_graded(most) for most in range(1, HIGHEST + 1))
THEORIES: tuple[Theory, ...] = (TREE, APPENDIX, HYBRID, LOADED, ROOTS, SERIAL, *DERIVATIVES)


def deciding_theory(*expressions: Expr) -> Theory:
    """Return the smallest theory that decides about expressions, with cross products if they have such."""
    theory = theory_of(*expressions)
    found = _all_leaves(expressions)
    if theory is not TREE or not any(x.card.degree or _meaning(x) for x in found):
        return theory
    most = max((degree(w) for e in expressions for w in outer_polynomial(e).terms), default=1)
    return _about(frozenset(found), min(max(most, 1), HIGHEST))


def _all_leaves(expressions: Iterable[Expr]) -> set[Leaf]:
    """Return the letters of expressions, and those of what derived letters stand for."""
    found: set[Leaf] = set()
    todo = list(expressions)
    while todo:
        new = leaves(todo.pop()) - found
        found |= new
        todo += [e for x in new if (e := _meaning(x)) is not None]
    return found


def _meaning(x: Leaf) -> Expr | None:
    """Return what a letter stands for that differentiation has made."""
    return None if x.origin is None else definition_of(x) or in_cross_products(x)


def _kind(x: Leaf) -> str:
    return "" if x.origin is None or x.range is not Body else x.origin.kind


@lru_cache(maxsize=64)
def _about(letters: frozenset[Leaf], most: int) -> Theory:
    """Return the theory up to a degree about these letters: the pattern, and what it has no place for."""
    known = sorted(letters, key=lambda x: x.name)
    motions, forces, momenta = motions_of(known), forces_of(known), _momenta(known)
    places: dict[Leaf, Leaf] = {}
    rest: list[Axiom] = []
    free = [VELOCITY, ACCELERATION]
    for m in motions:
        place = next((p for p in free if (p.start is None) == (m.start is None)), None)
        if place is None:
            rest += m.axioms()
        else:
            free.remove(place)
            places |= {x: y for x, y in zip(place.letters, m.letters, strict=True) if x and y}
    for f in forces[:1]:
        places |= {FORCE.own: f.own, FORCE.total: f.total}
    for x in momenta[:1]:
        places[MOMENTUM] = x
    rest += [a for f in forces[1:] for a in f.axioms()] + [a for x in momenta[1:] for a in skew(x)]
    bars = [*(x for f in forces for x in (f.own, f.total)), *momenta]
    rest += [a for x in known for a in _by_linearity(x, motions, bars)]
    rest += definition_axioms({x: e for x in known if (e := _meaning(x)) is not None})
    return DERIVATIVES[most - 1].renamed(places).extended(tuple(rest))


# Which letter of an expression is which: by what it is a cross product with, multiplied out.


def _vector(x: Leaf) -> tuple[str, Context, object]:
    """Return what tells cross products apart: two with the same are equal."""
    assert x.origin is not None
    return x.origin.kind, x.origin.context, outer_polynomial(x.needs[0]).key


def _distinct(letters: Iterable[Leaf]) -> list[Leaf]:
    return list({_vector(x): x for x in letters}.values())


def motions_of(letters: Iterable[Leaf]) -> list[Motion]:
    """Return the motions that letters are about: φᵀ r, or Eᵀ φᵀ r with what the base gives."""
    found: list[Leaf] = []
    for x in letters:
        for _, t in _terms(x.needs[0]) if _kind(x) == "ad" else ():
            inside = _after_first(t) if _first(t) is E.T else t
            if _first(inside) is phi.T and (inside is not t or t is x.needs[0]):
                found.append(ad(inside, context=_context(x)))
    return [_motion(x) for x in _distinct(found)]


def _motion(own: Leaf) -> Motion:
    (x,), context = own.needs, _context(own)
    base = _from_base(_after_first(x))
    parent = ad(E.T @ x + base, context=context)
    return Motion(own, parent, None if isinstance(base, Zero) else ad(base, context=context))


def _from_base(r: Expr) -> Expr:
    """Return the part of a sum that the base gives root bodies."""
    return linear((1, zero(Body, One)), *((c, t) for c, t in _terms(r) if _first(t) is E0.T))


def forces_of(letters: Iterable[Leaf]) -> list[Force]:
    """Return the forces whose sums towards the base letters are about."""
    sums = _distinct(x for x in letters if _kind(x) == "bar" and _first(x.needs[0]) is phi)
    return [Force(bar(_after_first(x.needs[0]), context=_context(x)), x) for x in sums]


def _momenta(letters: Iterable[Leaf]) -> list[Leaf]:
    known = {_vector(x) for f in forces_of(letters) for x in (f.own, f.total)}
    return _distinct(x for x in letters if _kind(x) == "bar" and _vector(x) not in known)


def across(m: Motion) -> Iterator[tuple[Leaf, Expr]]:
    """Yield cross products with what a motion gains at each body, and how much they exceed own − parent."""
    r, context = _after_first(m.own.needs[0]), _context(m.own)
    yield ad(r - _from_base(r), context=context), zero(Body, Body)
    if m.start is not None:
        yield ad(r, context=context), m.start


def same_vector(x: Leaf, y: Leaf) -> bool:
    """Tell whether two cross products are with the same vector, multiplied out."""
    return _vector(x) == _vector(y)


def _sums(motions: Iterable[Motion], bars: Iterable[Leaf]) -> Iterator[tuple[Leaf, Expr]]:
    """Yield cross products, and what these are in terms of the letters of motions and forces."""
    for m in motions:
        (x,), context = m.own.needs, _context(m.own)
        start = zero(Body, Body) if m.start is None else m.start
        yield from ((y, y) for y in m.letters if y is not None)
        yield from ((y, m.own - m.parent + more) for y, more in across(m))
        yield ad(E.T @ x, context=context), m.parent - start
    yield from ((x, x) for x in bars)


def _by_linearity(x: Leaf, motions: Iterable[Motion], bars: Iterable[Leaf]) -> tuple[Axiom, ...]:
    """Return what a cross product is in terms of others, unless it is one of theirs."""
    if _kind(x) not in ("ad", "bar"):
        return ()
    for known, e in _sums(motions, bars):
        if same_vector(known, x):
            return () if e is x else equation("linearity of cross products", x, e, "definition")
    return at_roots(x) if all(_first(t) is E0.T for _, t in _terms(x.needs[0])) else ()


def _context(x: Leaf) -> Context:
    assert x.origin is not None
    return x.origin.context


def _terms(e: Expr) -> tuple[tuple[Coefficient, Expr], ...]:
    return e.terms if isinstance(e, Sum) else ((1, e),)


def _first(e: Expr) -> Expr:
    return e.factors[0] if isinstance(e, Product) else e


def _after_first(e: Expr) -> Expr:
    return product(*e.factors[1:]) if isinstance(e, Product) else e
