"""Letters that differentiation makes: what each is made of, and which frames allow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

#: What a derived letter is: x× on motions, f ↦ x ×* f, a vector that is computed apart, a partial derivative,
#: and the same along a direction; `turned` is what a turn of a node's axes does. `composite` is the sum over
#: all that a body carries, `block` a block that is computed once, `coriolis` 2B of a motion. `moment` and
#: `contracted` are traces of blocks times cross products, and times partial derivatives.
Kind: TypeAlias = Literal[
    "ad", "bar", "value", "partial", "along", "turned", "composite", "block", "coriolis", "moment",
    "contracted",
]  # fmt: skip
#: Where derived letters may be evaluated: in the bodies' own frames, in any frames, or in any frames with
#: bodies on fixed joints merged. It is that of the expression that was differentiated.
Context: TypeAlias = Literal["own frames", "any frames", "merged"]
#: The kinds of letters that stand for an expression of blocks, which `Origin.of` is.
DEFINED = ("composite", "block")


@dataclass(frozen=True)
class Origin:
    """How a letter was made.

    `of` is the letter that a partial derivative is of, an adjoint among them; of a composite, its blocks.
    `slot` is the number of the argument that the derivative is taken by, None for the joint's own q, or the
    letter of a parameter of the model. With `applied`, `of` is an operator, which acts on the first need or
    is contracted with it.
    """

    kind: Kind
    of: Any = None
    slot: Any = None
    applied: bool = False
    context: Context = "own frames"

    def call(self, needs: Sequence[Any]) -> str:
        """Return the call that makes the letter again; see `derived_letters`."""
        if self.kind in DEFINED:
            return f"{self.kind}({self.of!r}, context={self.context!r})"
        parts = [repr(needs[0])] if self.of is None else [repr(self.of), repr(self.slot)]
        parts += [repr(needs[0])] if self.applied else []
        parts += ["force=True"] if self.slot == "force" else []
        return f"{self.kind}({', '.join([*parts, f'context={self.context!r}'])})"
