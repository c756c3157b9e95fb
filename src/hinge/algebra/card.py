"""Cards: the facts about each letter, stated once and read by every other room."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum, auto
from typing import Any


class Carries(Enum):
    """The kind of a vector, which determines how it transforms under a change of the bodies' frames."""

    FORCE = auto()
    MOTION = auto()
    #: The same in all frames.
    NUMBER = auto()
    #: Fits nothing: an expression with such a letter is evaluated in the bodies' own frames.
    UNKNOWN = auto()

    @property
    def dual(self) -> Carries:
        """What the adjoint carries."""
        swapped = {Carries.FORCE: Carries.MOTION, Carries.MOTION: Carries.FORCE}
        return swapped.get(self, self)


class Role(Enum):
    """How a letter may stand beside φ when bodies on fixed joints are merged into their parents."""

    #: Reads moving bodies only: H, E₀.
    SEES = auto()
    #: Gathers over all bodies: φ, ψ.
    GATHERS = auto()
    #: Quantities of bodies that add up when bodies are merged: M, B, b.
    HAS = auto()
    #: Accelerations across hinges, zero at a fixed one: a.
    MOVES = auto()
    #: A gain, zero at a fixed hinge: K.
    GAIN = auto()
    #: Made by differentiation of an expression that hides bodies on fixed joints: what stands beside it hides
    #: them too, since a robot with merged bodies is a robot.
    VARIES = auto()
    #: Shows single bodies.
    NONE = auto()


class Ask(Enum):
    """Data that a letter requires of a binding, besides the tree and the hinges."""

    #: The bodies' inertias.
    INERTIA = auto()
    #: The regressor: forces per inertial parameter.
    REGRESSOR = auto()
    #: Springs, dampers and friction of the joints.
    OWN_FORCES = auto()
    #: The same with all terms, also of joints whose numbers are zero.
    ALL_FORCES = auto()
    #: A rotor at each degree of freedom, also where its inertia is zero.
    ROTORS = auto()
    #: Where the inner frames of the joints are. Bodies on fixed joints are not merged then.
    MOUNTS = auto()
    #: Frames that the Node space stands for.
    NODES = auto()
    #: The set of prescribed coordinates.
    SPLIT = auto()
    #: The closures of a robot with loops.
    CLOSURES = auto()


@dataclass(frozen=True)
class Card:
    """The facts about a letter.

    `gives` and `takes` are the kinds of its range and domain; `role` is its role beside φ; `positive` means
    no negative eigenvalues. `weight` is its weight in the order of words: letters to be eliminated weigh
    more. `at_rest` is an expression of the letter in terms that do not depend on the origins of the bodies'
    frames. The value of an operator that is `given` is an argument of calls. A letter that is `hinged` is a
    function of the joint's own q. `degree` is the number of cross products in it: axioms about these are
    homogeneous, so that a table can be completed degree by degree.
    """

    gives: Carries = Carries.UNKNOWN
    takes: Carries = Carries.UNKNOWN
    role: Role = Role.NONE
    positive: bool = False
    weight: int = 1
    asks: frozenset[Ask] = frozenset()
    at_rest: Any = None
    given: bool = False
    hinged: bool = False
    degree: int = 0

    def __repr__(self) -> str:
        given = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Card({', '.join(f'{f.name}={_shown(getattr(self, f.name))}' for f in given)})"


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(sorted(map(str, value)))}}})"
    return str(value) if isinstance(value, Enum) else repr(value)


#: The card of a letter of the user's own.
PLAIN = Card(given=True)
