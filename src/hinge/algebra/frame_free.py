"""Frame independence: expressions whose value does not depend on the frames of the bodies.

Motions and forces transform in dual ways. An expression in which the kinds of all factors match (H takes
forces, M takes motions and gives forces …) does not depend on the frames of bodies; one such as H Hᵀ does,
and is evaluated in the frames of the model.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

from hinge.algebra.card import Carries
from hinge.algebra.expression import Adjoint, Expr, Identity, Inverse, Leaf, LogDet, Product, Sum
from hinge.algebra.space import Body

#: What an operator gives and takes in the Body space, NUMBER elsewhere; None if it depends on frames.
Carried: TypeAlias = tuple[Carries, Carries] | None


def is_frame_free(e: Expr) -> bool:
    """Tell whether the value of an expression is independent of the frames of the bodies.

    One that leads from or to the Body space does not. Vectors of other spaces are in frames of their own,
    those of the nodes or of the world, whatever those of the bodies are.
    """
    return Body not in (e.range, e.domain) and carried(e) is not None


def carried(e: Expr) -> Carried:
    """Return what an operator gives and takes, or None if its value depends on the bodies' frames."""
    match e:
        case Leaf():
            return _at(e, e.card.gives, e.card.takes)
        case Adjoint():
            return _at(e, e.leaf.card.takes.dual, e.leaf.card.gives.dual)
        case Product():
            return _of_product(e)
        case Sum():
            return _of_sum(e)
        case Inverse():
            inside = carried(e.argument)
            return inside and (inside[1], inside[0])
        case _:
            hidden = isinstance(e, LogDet) and not is_frame_free(e.argument)
            return None if hidden else _at(e, Carries.UNKNOWN, Carries.UNKNOWN)


def _at(e: Expr, gives: Carries, takes: Carries) -> tuple[Carries, Carries]:
    number = Carries.NUMBER
    return gives if e.range is Body else number, takes if e.domain is Body else number


def _of_product(e: Product) -> Carried:
    parts = [carried(f) for f in e.factors]
    for left, right in pairwise(parts):
        if left is None or right is None or left[1] is not right[0] or left[1] is Carries.UNKNOWN:
            return None
    first, last = parts[0], parts[-1]
    return first and last and (first[0], last[1])


def _of_sum(e: Sum) -> Carried:
    """Return the kind that all terms share; an identity has the kind of its argument."""
    terms = [t for _, t in e.terms]
    others = {carried(t) for t in terms if not isinstance(t, Identity)}
    if len(others) != 1:
        return None if others else carried(terms[0])
    found = next(iter(others))
    has_identity = any(isinstance(t, Identity) for t in terms)
    return None if has_identity and found is not None and found[0] is not found[1] else found
