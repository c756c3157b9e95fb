"""The spaces that operators lead from and to. Every operator is typed: range ← domain."""

from __future__ import annotations

from typing import Any


class Space:
    """A space of stacked vectors; `meaning` says what is stacked. Equal spaces are one object."""

    __slots__ = ("meaning", "name")
    name: str
    meaning: str
    _made: dict[tuple[str, str], Space] = {}  # noqa: RUF012 - the table of all spaces

    def __new__(cls, name: str, meaning: str = "") -> Space:
        """Return the space of this name and meaning."""
        if (name, meaning) not in cls._made:
            made = object.__new__(cls)
            object.__setattr__(made, "name", name)
            object.__setattr__(made, "meaning", meaning)
            cls._made[name, meaning] = made
        return cls._made[name, meaning]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self!r} is frozen")

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name if self in _KNOWN else f"Space({self.name!r}, {self.meaning!r})"


One = Space("One", "numbers: a vector is an operator from One, a scalar leads from One to One")
Joint = Space("Joint", "hinge coordinates of all joints, nv")
Body = Space("Body", "a block for each body: of a robot a 6-vector, and one number for each rotor")
Node = Space("Node", "a 6-vector for each frame that is asked for")
Link = Space("Link", "a 6-vector for each end of a closure that is on a body")
World = Space("World", "a 6-vector at the world's origin")
Constraint = Space("Constraint", "constraint equations")
Passive = Space("Passive", "hinge coordinates whose force is given")
Parameter = Space("Parameter", "ten numbers for each body: m, h, and the upper triangle of I")
Placement = Space("Placement", "seven numbers for each body: where its joint sits, as a free joint's q")
Mount = Space("Mount", "a 6-vector for each body: a motion of the inner frame of its joint, in its own axes")
Resistance = Space("Resistance", "three numbers for each hinge coordinate: damping, friction, stiffness")
Weight = Space("Weight", "the numbers of E, H and M at each node of a weighted tree that a call gives")
Active = Space("Active", "hinge coordinates whose acceleration is prescribed")

_KNOWN = frozenset(
    {One, Joint, Body, Node, Link, World, Constraint, Passive, Active, Parameter, Placement, Mount}
    | {Resistance, Weight}
)
