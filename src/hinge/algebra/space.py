"""The spaces that operators lead from and to. Every operator is typed: range ← domain."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Space:
    """A space of stacked vectors; `meaning` says what is stacked."""

    name: str
    meaning: str = ""

    def __repr__(self) -> str:
        return self.name if self in _KNOWN else f"Space({self.name!r}, {self.meaning!r})"


One = Space("One", "numbers: a vector is an operator from One, a scalar leads from One to One")
Joint = Space("Joint", "hinge coordinates of all joints, nv")
Body = Space("Body", "a 6-vector for each body, and one number for each rotor")
Node = Space("Node", "a 6-vector for each frame that is asked for")
World = Space("World", "a 6-vector at the world's origin")
Constraint = Space("Constraint", "constraint equations")
Passive = Space("Passive", "hinge coordinates whose force is given")
Active = Space("Active", "hinge coordinates whose acceleration is prescribed")

_KNOWN = frozenset({One, Joint, Body, Node, World, Constraint, Passive, Active})
