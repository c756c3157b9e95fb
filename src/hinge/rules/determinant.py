"""Determinants: of products, and of I plus a strictly triangular operator; so log det 𝓜 = log det D."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hinge.algebra import (
    DEFINITIONS,
    Adjoint,
    Articulated,
    Expr,
    Identity,
    Inverse,
    Leaf,
    Letter,
    LogDet,
    Product,
    Structure,
    Sum,
    Word,
    identity,
    kappa,
    leaf_of,
    leaves,
    linear,
    loaded,
    logdet,
    passive,
    phi,
    product,
    whole,
    zero,
)
from hinge.rules.theory import Theory, theory_of

#: One step of a determinant: (name, source, expression).
DeterminantStep = tuple[str, str, Expr]


def determinant_steps(e: Expr) -> Iterator[DeterminantStep]:
    """Yield the forms of a combination of log determinants, until each is of a block-diagonal letter."""
    for rule, name, source in _RULES:
        new = _mapped(e, rule)
        if new is not e:
            yield name, source, new
            yield from determinant_steps(new)
            return


def has_determinant(e: Expr) -> bool:
    """Tell whether an expression contains a log determinant."""
    match e:
        case LogDet():
            return True
        case Sum():
            return any(has_determinant(t) for _, t in e.terms)
        case _:
            return False


def split_determinants(e: Expr) -> tuple[Expr, Expr]:
    """Return the log determinants of a sum, and the rest of it."""
    terms = e.terms if isinstance(e, Sum) else ((1, e),)
    nothing = (1, zero(e.range, e.domain))
    logs = [(c, t) for c, t in terms if isinstance(t, LogDet)]
    return linear(nothing, *logs), linear(nothing, *((c, t) for c, t in terms if not isinstance(t, LogDet)))


def _mapped(e: Expr, rule: Callable[[LogDet], Expr]) -> Expr:
    match e:
        case LogDet():
            return rule(e)
        case Sum():
            return linear(*((c, _mapped(t, rule)) for c, t in e.terms))
        case _:
            return e


def _factorised(e: LogDet) -> Expr:
    for x in (loaded if kappa in leaves(e.argument) else whole, passive):
        if e.argument.range is x.H.range and is_mass(e.argument, x):
            factor = identity(x.H.range) + x.H @ phi @ x.K
            return logdet(product(factor, x.D, factor.T))
    return e


def is_mass(e: Expr, x: Articulated) -> bool:
    """Tell whether an expression equals the mass matrix of a family of letters, in any form."""
    theory: Theory = theory_of(e, x.mass)
    p, theory = theory.multiplied_out(e)
    q, theory = theory.multiplied_out(x.mass)
    return not theory.normal(p - q)


def _of_products(e: LogDet) -> Expr:
    match e.argument:
        case Product(factors=factors) if all(f.range is f.domain for f in factors):
            return linear(*((1, logdet(f)) for f in factors))
        case Inverse(argument=inner):
            return linear((-1, logdet(inner)))
        case _:
            return e


def _unit_triangular(e: LogDet) -> Expr:
    argument = e.argument
    if isinstance(argument, Identity):
        return linear((0, e))
    if isinstance(argument, Leaf | Adjoint) and _is_propagation(argument):
        return linear((0, e))
    p, _ = theory_of(argument).multiplied_out(argument)
    rest = {w: c for w, c in p.terms.items() if w}
    one = p.terms.get((), 0) == 1
    ways = {_strict_way(w) for w in rest}
    return linear((0, e)) if one and len(ways) == 1 and None not in ways else e


def _is_propagation(letter: Letter) -> bool:
    """Tell whether a letter is φ or ψ, which have identities on the diagonal."""
    return leaf_of(letter).structure is Structure.RESOLVENT and leaf_of(letter) in DEFINITIONS


def _strict_way(word: Word) -> str | None:
    """Return the side of the diagonal on which all blocks of a word lie, None if it is not strict."""
    if any(leaf_of(x).structure in (Structure.DENSE, Structure.VECTOR) for x in word):
        return None
    ways = {"up" if isinstance(x, Leaf) else "down" for x in word if leaf_of(x).structure is Structure.STEP}
    moving = {
        "up" if isinstance(x, Leaf) else "down"
        for x in word
        if leaf_of(x).structure in (Structure.STEP, Structure.RESOLVENT)
    }
    return ways.pop() if ways and len(moving) == 1 else None


_RULES = (
    (
        _factorised,
        "innovations factorisation of the mass matrix: 𝓜 = (I + H φ K) D (I + H φ K)ᵀ",
        "JPL 88-11 (4.11)",
    ),
    (_of_products, "the determinant of a product is the product of determinants", "linear algebra"),
    (
        _unit_triangular,
        "I plus a strictly triangular operator has determinant 1",
        "linear algebra; K leads one step towards the base",
    ),
)
