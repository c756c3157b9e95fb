"""Routines without derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from hinge.dynamics import Compiled
from hinge.jax.primitive import changes_along
from hinge.jax.routines import Arrays, Names, Varying
from hinge.targets import Executable


class OfValues(Varying):
    """A verb with a formula of its results, or with blocks: its value alone."""

    def __init__(self, name: str, own: Compiled, inputs: Mapping[str, int]) -> None:
        super().__init__()
        self.name, self.own, self.inputs = name, own, inputs
        self.results = {n: prod(shape) for n, shape in own.signature.results.items()}

    @property
    def program(self) -> Executable:
        """The program of the value."""
        return self.own.program()

    def changes(self, xs: Arrays, ds: Arrays) -> Arrays:
        """Refuse."""
        return changes_along(self, xs, ds)

    def changing(self, wrt: Names) -> Names:
        """Refuse derivatives by name."""
        raise NotImplementedError(
            f"{self.name}: derivatives are not supported, since its results are formulas or blocks of "
            "several expressions; take one of hinge.dynamics.expression(verb).expressions, or "
            "forward_dynamics in place of closed_dynamics, or jax.lax.stop_gradient of its arguments"
        )
