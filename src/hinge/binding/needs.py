"""What expressions need of a binding, as one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hinge.algebra import DEFINITIONS, Ask, Expr, Leaf, friction, inertias, leaves, placements, rotors
from hinge.errors import ArgumentError

#: Numbers of the model that a call can give instead of the robot.
PARAMETERS: tuple[Leaf, ...] = (inertias, placements, rotors, friction)


@dataclass(frozen=True)
class Needs:
    """What a binding must provide: made from expressions by `hinge.dynamics.needs_of`.

    With `own_frames` vectors of the Body space are in the bodies' own frames, else in frames with cheap
    steps. With `merged` bodies on fixed joints are parts of those that carry them, which only expressions
    that hide them allow (see `hides_fixed_bodies`). `asks` are what letters ask for beyond the tree and the
    hinges. `parameters` are the names of numbers of the model that each call gives.
    """

    own_frames: bool = False
    merged: bool = False
    asks: frozenset[Ask] = frozenset(Ask)
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.merged and self.own_frames:
            raise ArgumentError(
                "merged: expected False with own_frames=True, got True; merging needs chosen frames"
            )
        if self.merged and placements.name in self.parameters:
            raise ArgumentError(f"merged: expected False with parameter {placements.name!r}, got True")

    def gives(self, parameter: Leaf) -> bool:
        """Tell whether each call gives these numbers of the model."""
        return parameter.name in self.parameters


#: What any expression needs, in frames with cheap steps.
EVERYTHING = Needs()


def asks_of(expressions: Iterable[Expr]) -> frozenset[Ask]:
    """Return what the letters of expressions ask of a binding, with those that they are defined by."""

    def inside(x: Leaf) -> Iterable[Expr]:
        return (*x.needs, DEFINITIONS[x]) if x in DEFINITIONS else x.needs

    return frozenset(ask for x in _reached(expressions, inside) for ask in x.card.asks)


def letters_of(expressions: Iterable[Expr]) -> set[Leaf]:
    """Return the letters of expressions, and those that they are functions of."""
    return _reached(expressions, lambda x: x.needs)


def _reached(expressions: Iterable[Expr], inside: Callable[[Leaf], Iterable[Expr]]) -> set[Leaf]:
    found: set[Leaf] = set()
    todo = [x for e in expressions for x in leaves(e)]
    while todo:
        x = todo.pop()
        if x not in found:
            found.add(x)
            todo += [y for e in inside(x) for y in leaves(e)]
    return found
