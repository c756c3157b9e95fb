"""Traced code as expressions of SymPy: in steps, which are short, and written out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np

from hinge.binding import LITTLE
from hinge.formulas.extras import sympy
from hinge.formulas.numbers import exact
from hinge.kernels import Kernel, operation_in
from hinge.sweeps import Call, Code, Slot

#: SymPy's names of operations that are called otherwise.
NAMES = {"abs": "Abs", "max": "Max"}


@dataclass
class Evaluation:
    """Code as expressions of its inputs, in steps: what is used more than once gets a symbol of its own."""

    code: Code
    given: Mapping[str, Sequence[Any]]
    steps: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def results(self) -> list[np.ndarray[Any, Any]]:
        """Return the results as arrays of expressions of inputs and of steps."""
        memory: list[Any] = [None] * self.code.slots
        for name, slots in self.code.inputs.items():
            for k, x in zip(slots, self.given.get(name, ()), strict=True):
                memory[k] = x
        uses = Counter(chain.from_iterable(c.loads for c in self.code.calls if isinstance(c, Call)))
        uses.update(x.index for r in self.code.results for x in r.values.flat if isinstance(x, Slot))
        for c in self.code.calls:
            assert isinstance(c, Call)
            inputs = [*(memory[k] for k in c.loads), *map(exact, c.params)]
            for k, x in zip(c.stores, self._run(c.kernel, inputs), strict=True):
                memory[k] = self._held(x) if uses[k] > 1 else x
        return [_shown(r.values, memory) for r in self.code.results]

    def _run(self, kernel: Kernel, inputs: Sequence[Any]) -> list[Any]:
        """Return the outputs of a kernel."""
        uses = Counter(chain.from_iterable(i.operands for i in kernel.instructions))
        values, little = list(inputs), False
        for i in kernel.instructions:
            if i.constant is not None:
                little |= i.constant == LITTLE
                values.append(_little() if i.constant == LITTLE else exact(i.constant))
                continue
            found = _operation(i.op)(*(values[k] for k in i.operands))
            values.append(self._held(found) if uses[len(values)] > 1 and not little else found)
        if little:
            values = [x.subs(_little(), 0) for x in values]
        return [
            exact(o.constant or 0.0)
            if o.value is None
            else -values[o.value]
            if o.negative
            else values[o.value]
            for o in kernel.outputs
        ]

    def _held(self, x: Any) -> Any:
        """Return a symbol for an expression, unless it is as short as a symbol."""
        if x.is_number or x.is_Atom or (-x).is_Atom:
            return x
        symbol = sympy().Symbol(f"t{len(self.steps)}", real=True)
        self.steps[symbol] = x
        return symbol

    def needed(self, expressions: Iterable[Any]) -> tuple[tuple[Any, Any], ...]:
        """Return the steps that expressions need, in order."""
        wanted = set[Any]().union(*(x.free_symbols for x in expressions))
        found: list[tuple[Any, Any]] = []
        for symbol, x in reversed(self.steps.items()):
            if symbol in wanted:
                wanted |= x.free_symbols
                found.append((symbol, x))
        return tuple(reversed(found))

    def sizes(self, expressions: Iterable[Any]) -> int:
        """Return how many operations expressions have when all steps are written out."""
        known: dict[Any, int] = {}
        for symbol, x in self.steps.items():
            known[symbol] = _size(x, known)
        return sum(_size(x, known) for x in expressions)

    def written_out(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return expressions without steps."""
        found = np.empty(x.shape, dtype=object)
        for k, e in enumerate(x.flat):
            found.flat[k] = e.xreplace(self._whole)
        return found

    @cached_property
    def _whole(self) -> dict[Any, Any]:
        """The steps, each written out."""
        found: dict[Any, Any] = {}
        for symbol, x in self.steps.items():
            found[symbol] = x.xreplace(found)
        return found


def _size(x: Any, known: Mapping[Any, int]) -> int:
    """Return the number of operations of an expression, with the sizes of the symbols in it."""
    if not x.args:
        return known.get(x, 0)
    own = len(x.args) - 1 if x.is_Add or x.is_Mul else 1
    return own + sum(_size(y, known) for y in x.args)


@cache
def _little() -> Any:
    """Return the symbol of what decides a turn that is otherwise free; it goes to zero."""
    return sympy().Dummy("little", positive=True)


@cache
def _operation(name: str) -> Callable[..., Any]:
    """Return what an operation of kernels is in SymPy."""
    return operation_in(
        sympy(),
        name,
        called={**NAMES, "choose": _chosen},
        where="formulas",
        instead="use hinge.compile, or hinge.export.c",
    )


def _chosen(x: Any, y: Any, a: Any, b: Any) -> Any:
    """Return a where x < y, else b."""
    return sympy().Piecewise((a, x < y), (b, True))


def _shown(values: np.ndarray[Any, Any], memory: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return a result with the expressions in place of slots."""
    found = np.empty(values.shape, dtype=object)
    for k, x in enumerate(values.flat):
        if isinstance(x, Slot):
            found.flat[k] = -memory[x.index] if x.negative else memory[x.index]
        else:
            found.flat[k] = exact(float(x))
    return found
