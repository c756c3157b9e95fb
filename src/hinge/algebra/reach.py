"""Which letters expressions depend on: those in them, those they are functions of, those that define them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hinge.algebra.derived_letters import definition_of
from hinge.algebra.expression import Expr, Leaf
from hinge.algebra.letters import ANSWERED
from hinge.algebra.origin import DEFINED
from hinge.algebra.polynomials import leaves


def letters_of(expressions: Iterable[Expr]) -> set[Leaf]:
    """Return the letters of expressions, those that they are functions of, and those that calls give."""
    given = tuple(expressions)
    return _reached(given, _inside) | {x for x in all_letters(given) if x.card.given}


def all_letters(expressions: Iterable[Expr]) -> set[Leaf]:
    """Return all letters that expressions depend on, with those that definitions lead to."""
    return _reached(expressions, lambda x: (*x.needs, *_meaning(x)))


def _meaning(x: Leaf) -> tuple[Expr, ...]:
    found = definition_of(x)
    return () if found is None else (found,)


def _inside(x: Leaf) -> tuple[Expr, ...]:
    """Return what a letter is a function of; that of a composite is in its blocks."""
    return (x.origin.of,) if x.origin is not None and x.origin.kind in DEFINED else x.needs


def _reached(expressions: Iterable[Expr], inside: Callable[[Leaf], Iterable[Expr]]) -> set[Leaf]:
    found: set[Leaf] = set()
    todo = [x for e in expressions for x in leaves(e)]
    while todo:
        x = todo.pop()
        if x not in found:
            found.add(x)
            todo += [y for e in inside(x) for y in leaves(e)]
            todo += ANSWERED.inputs if x is ANSWERED.forces else ()
    return found
