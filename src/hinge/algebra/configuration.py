"""The configuration q, which derivatives are taken by: no letter, since it is a point and no vector."""

from __future__ import annotations


class Configuration:
    """The configuration of a robot, as what a derivative is taken by."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "q"


#: The configuration.
q = Configuration()
