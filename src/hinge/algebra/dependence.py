"""What letters depend on that they do not name: the configuration, and numbers of the model."""

from __future__ import annotations

from typing import TypeAlias

from hinge.algebra.configuration import Configuration
from hinge.algebra.expression import Leaf
from hinge.algebra.letters import (
    E0,
    E,
    H,
    Ha,
    Hp,
    M,
    W,
    a,
    a_m,
    b,
    b_m,
    friction,
    inertias,
    placements,
    rotors,
    tau_j,
)
from hinge.algebra.polynomials import leaf_of

#: What a derivative is taken by: the configuration, or a vector letter.
By: TypeAlias = Configuration | Leaf
#: Letters that depend on numbers of the model, which they do not name. Hinge maps depend on placements where
#: joints are coupled.
DEPENDENT: dict[By, frozenset[Leaf]] = {
    inertias: frozenset({M, b, b_m}),
    placements: frozenset({H, Hp, Ha, W, a, a_m}),
    rotors: frozenset({M}),
    friction: frozenset({tau_j}),
}


def depends_on_numbers(x: Leaf, numbers: By) -> bool:
    """Tell whether a letter depends on numbers of the model, or what it is a derivative of does."""
    if x.origin is None:
        return x in DEPENDENT.get(numbers, ())
    if x.origin.kind == "coriolis":
        return numbers is inertias
    return x.origin.kind in ("partial", "along") and depends_on_numbers(leaf_of(x.origin.of), numbers)


def varies(x: Leaf, by: By) -> bool:
    """Tell whether a letter is what a derivative is by, or depends on it itself."""
    by_q = isinstance(by, Configuration)
    propagated = x in (E, E0) and (by_q or by is placements)
    return x is by or propagated or (by_q and x.card.hinged) or depends_on_numbers(x, by)
