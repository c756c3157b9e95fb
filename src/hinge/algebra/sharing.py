"""Common subterms of factored expressions, which are printed once under a name.

Expressions are hash-consed, so a common subterm is one object that stands in several places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from hinge.algebra.expression import Expr, Identity, Leaf, Product, Sum, linear, product


def subterms(e: Expr) -> list[Expr]:
    """Return the terms of a sum, or what a product applies its first factor to."""
    match e:
        case Sum():
            return [t for _, t in e.terms]
        case Product():
            return [product(*e.factors[1:])]
        case _:
            return []


def common_terms(expressions: Iterable[Expr], worth: Callable[[Expr], bool] | None = None) -> list[Expr]:
    """Return the subterms that occur more than once, small ones first."""
    counts: Counter[Expr] = Counter()
    todo = list(expressions)
    while todo:
        e = todo.pop()
        counts[e] += 1
        if counts[e] == 1:
            todo += subterms(e)
    found = [e for e, n in counts.items() if n > 1 and not isinstance(e, Leaf | Identity)]
    found = [e for e in found if worth is None or worth(e)]
    return sorted(found, key=depth)


def depth(e: Expr) -> int:
    """Return the nesting depth of an expression."""
    return 1 + max((depth(i) for i in subterms(e)), default=0)


def with_names(e: Expr, names: Mapping[Expr, Expr], *, top: bool = False) -> Expr:
    """Return an expression with subterms replaced by their names; with `top` not as a whole."""
    if e in names and not top:
        return names[e]
    match e:
        case Sum():
            terms = [(c, with_names(t, names)) for c, t in e.terms]
            same = all(new is old for (_, new), (_, old) in zip(terms, e.terms, strict=True))
            return e if same else linear(*terms)
        case Product():
            rest = product(*e.factors[1:])
            new = with_names(rest, names)
            return e if new is rest else product(e.factors[0], new)
        case _:
            return e
