"""The requirements of expressions on a binding, as one value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hinge.algebra import Ask, Expr, Leaf, all_letters, friction, inertias, placements, rotors
from hinge.errors import ArgumentError

#: Parameters of the model that can be inputs of a call.
PARAMETERS: tuple[Leaf, ...] = (inertias, placements, rotors, friction)


@dataclass(frozen=True)
class Needs:
    """What a binding must provide: made from expressions by `hinge.dynamics.requirements.needs_of`.

    With `own_frames` vectors of the Body space are in the bodies' own frames, else in frames with cheap
    steps. With `merged` bodies on fixed joints are parts of those that carry them, which only expressions
    that hide them allow (see `hides_fixed_bodies`). `asks` are what letters ask for beyond the tree and the
    hinges. `parameters` are the names of numbers of the model that each call gives.
    """

    own_frames: bool = False
    merged: bool = False
    asks: frozenset[Ask] = frozenset(Ask) - {Ask.ROTORS, Ask.ALL_FORCES, Ask.MOUNTS}
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.merged and self.own_frames:
            raise ArgumentError(
                "merged: expected False with own_frames=True, got True; merging needs chosen frames"
            )
        if self.merged and placements.name in self.parameters:
            raise ArgumentError(f"merged: expected False with parameter {placements.name!r}, got True")

    def gives(self, parameter: Leaf) -> bool:
        """Tell whether these parameters of the model are inputs of each call."""
        return parameter.name in self.parameters


#: What any expression needs, in frames with cheap steps.
EVERYTHING = Needs()


def asks_of(expressions: Iterable[Expr]) -> frozenset[Ask]:
    """Return the requirements of the letters that expressions depend on."""
    return frozenset(ask for x in all_letters(expressions) for ask in x.card.asks)
