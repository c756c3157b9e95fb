"""Which letters expressions depend on: those in them, those they are functions of, those that define them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hinge.algebra.expression import Expr, Leaf
from hinge.algebra.letters import ANSWERED, DEFINITIONS
from hinge.algebra.polynomials import leaves


def letters_of(expressions: Iterable[Expr]) -> set[Leaf]:
    """Return the letters of expressions, those that they are functions of, and those that calls give."""
    given = tuple(expressions)
    return _reached(given, lambda x: x.needs) | {x for x in all_letters(given) if x.card.given}


def all_letters(expressions: Iterable[Expr]) -> set[Leaf]:
    """Return all letters that expressions depend on, with those that definitions lead to."""
    return _reached(expressions, lambda x: (*x.needs, DEFINITIONS[x]) if x in DEFINITIONS else x.needs)


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
