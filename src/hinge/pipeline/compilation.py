"""The compiler on a page: its passes in order.

    derive    expressions → the cheapest form that named identities lead to
    lower     form → a program of fused sweeps
    verify    the program against its grammar and the model's tree
    trace     program, binding → straight-line kernels at each body
    order     code → code whose inputs are in the order of a call
    build     code → what a target runs

Each pass is a property that reads the one before it and is evaluated once, when it is first asked for: a
target that finds its result in a cache by `identity` asks for none of them. `Compilation.passes()` evaluates
all in order, and the value of each prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from hinge.algebra import Expr, letters_of
from hinge.errors import ArgumentError
from hinge.pipeline.building import build, in_order
from hinge.pipeline.derivations import Derivation, derive
from hinge.sweeps import Binding, Code, Program, Readout, trace
from hinge.targets import Executable


@dataclass(frozen=True, eq=False)
class Compilation:
    """The passes from expressions to code for one model.

    `blocks` are block-diagonal operators whose blocks are results too, taken as they stand; `form` is a
    derivation to use instead of the one that a search finds. `readout` is a formula of this package that
    shows the values in another form; beside them it may depend on the model.
    """

    given: Mapping[str, Expr]
    binding: Binding
    blocks: Mapping[str, Expr] = field(default_factory=dict[str, Expr])
    form: Derivation | None = None
    label: str = ""
    readout: Readout | None = None

    @cached_property
    def derived(self) -> Derivation:
        """The steps from the expressions to their cheapest form."""
        found = self.form or derive(self.given)
        for x in found.definitions.keys() & letters_of(self.blocks.values()):
            raise ArgumentError(
                f"blocks: expected operators without {x}, which stands for {found.definitions[x]} in the "
                f"expressions beside them, got one that depends on a given {x}; compile the two apart"
            )
        return replace(found, blocks=self.blocks) if self.blocks else found

    @cached_property
    def lowered(self) -> Program:
        """The form as fused sweeps, which `lower` has checked against their grammar."""
        return self.derived.program

    @cached_property
    def verified(self) -> Program:
        """The sweeps, refused where the model does not allow them."""
        if self.derived.holds_on == "serial chains" and not self.binding.tree.is_serial:
            raise ArgumentError(
                "robot: expected a serial chain, got a tree that branches; the derivation uses identities of "
                "serial chains: derive without serial=True, and without Υ"
            )
        return self.lowered

    @cached_property
    def traced(self) -> Code:
        """The kernels at each body of the model."""
        return trace(self.verified, self.binding, self.readout)

    @cached_property
    def ordered(self) -> Code:
        """The kernels with their inputs in the order of a call."""
        return in_order(self.traced)

    @property
    def code(self) -> Code:
        """The input of a target: the last pass before `build`."""
        return self.ordered

    def built(self, target: str | None = None, **options: Any) -> Executable:
        """Return the code as a target runs it; `options` are the target's own."""
        return build(self, target=target, **options)

    def passes(self) -> Iterator[tuple[str, Any]]:
        """Evaluate the passes in order; yield the name and the result of each."""
        yield "derive", self.derived
        yield "lower", self.lowered
        yield "verify", self.verified
        yield "trace", self.traced
        yield "order", self.ordered
        yield "build", self.built()

    @property
    def identity(self) -> str | None:
        """The cache key of the compilation; None if nothing may be cached."""
        model = self.binding.identity
        if model is None:
            return None
        form = {} if self.form is None else self.form.expressions
        found = repr((dict(self.given), dict(form), dict(self.blocks), model))
        return found if self.readout is None else f"{_name(self.readout)} of {found}"


def _name(readout: Readout) -> str:
    """Return the name of a formula of this package, whose text does not change while it runs."""
    return f"{readout.__module__}.{readout.__qualname__}"
