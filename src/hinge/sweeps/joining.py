"""Several pieces of code as one: what one gives is what the next one takes.

A block of values, slots and numbers, goes from piece to piece. Formulas between them are traced for the
values that they meet, so that zeros and signs stay known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np

from hinge.kernels import Graph, Kernel, Scalar, finish
from hinge.sweeps.code import Call, Code, DenseCall, KnownBlock, Result, Slot
from hinge.sweeps.code_rules import checked_code
from hinge.sweeps.multiply import Multiplication
from hinge.sweeps.slots import Open

#: What a piece of code takes and gives, by name.
Blocks = Mapping[str, KnownBlock]
#: Entries of arrays that one call works on, by a kernel that all such calls share.
TOGETHER = 8


@dataclass
class _Room:
    """Slots and calls of a product, before it is known which are needed."""

    slots: int
    negated: dict[int, int] = field(default_factory=dict[int, int])
    calls: list[Open | DenseCall] = field(default_factory=list[Any])

    def new_slots(self, count: int) -> range:
        """Return new slots."""
        self.slots += count
        return range(self.slots - count, self.slots)


class Joined:
    """Code under construction from pieces. Each piece has stages of its own, after those before it."""

    def __init__(self) -> None:
        self._calls: list[Call | DenseCall] = []
        self._inputs: dict[str, tuple[int, ...]] = {}
        self._kernels: dict[Kernel, Kernel] = {}
        self._slots = self._stages = 0

    def input(self, name: str, size: int) -> KnownBlock:
        """Return an input of the whole as a vector."""
        self._inputs[name] = tuple(self._fresh(size))
        return _vector([Slot(s) for s in self._inputs[name]])

    def add(self, code: Code, given: Blocks) -> dict[str, KnownBlock]:
        """Add code with these values as its inputs, and return its results."""
        places: dict[int, int] = {}
        for name, slots in code.inputs.items():
            places |= zip(slots, self._places(given[name]), strict=True)
        fresh = iter(self._fresh(code.slots - len(places)))
        places |= {s: next(fresh) for s in range(code.slots) if s not in places}
        first = min((c.stage for c in code.calls), default=0)
        shift = self._stages - first
        self._calls += [self._moved(c, places, shift) for c in code.calls]
        self._stages = max((c.stage + shift + 1 for c in code.calls), default=self._stages)
        return {r.name: _each(r.values, places) for r in code.results}

    def apply(self, formula: Callable[[KnownBlock], Any], values: KnownBlock) -> KnownBlock:
        """Return a formula of a vector, written for any scalar type, as an array of its own shape."""
        graph = Graph()
        traced = [_scalar(graph, x) for x in values.flat]
        shown = np.asarray(formula(_vector(traced)), dtype=object)
        return self._called(graph, shown)

    def each(
        self, formula: Callable[..., Any], blocks: Sequence[KnownBlock], shared: KnownBlock
    ) -> KnownBlock:
        """Return a formula of the entries of arrays of one shape, and of numbers that all entries share.

        It is traced once for each way in which entries are known; many entries share a kernel.
        """
        found = np.empty(blocks[0].shape, dtype=object)
        alike: dict[tuple[Any, ...], list[int]] = {}
        entries = list(zip(*(b.ravel().tolist() for b in blocks), strict=True))
        for k, given in enumerate(entries):
            alike.setdefault(tuple([_known(x) for x in given]), []).append(k)
        numbers = shared.ravel().tolist()
        for places in alike.values():
            for at in (places[k : k + TOGETHER] for k in range(0, len(places), TOGETHER)):
                graph = Graph()
                traced = [
                    formula(*(_scalar(graph, x) for x in entries[k]), *(_scalar(graph, x) for x in numbers))
                    for k in at
                ]
                found.flat[at] = self._called(graph, _vector(traced))
        return found

    def multiply(self, left: KnownBlock, right: KnownBlock) -> KnownBlock:
        """Return the product of two matrices, by tiles, with their zeros."""
        room = _Room(self._slots)
        found = Multiplication(room, self._stages).run([left, right], negative=False, mirror=False)
        live = bytearray(room.slots)
        for x in found.flat:
            if isinstance(x, Slot):
                live[x.index] = 1
        kept: list[Call | DenseCall] = []
        for call in reversed(room.calls):
            closed = call if isinstance(call, DenseCall) else call.close(live, self._kernels)
            kept += [] if closed is None else [closed]
        self._calls += reversed(kept)
        self._slots, self._stages = room.slots, self._stages + 1
        return found

    def code(self, results: Blocks) -> Code:
        """Return the whole, with these results, and without what they do not need."""
        shown = tuple(Result(name, x) for name, x in results.items())
        needed = {x.index for r in shown for x in r.values.flat if isinstance(x, Slot)}
        kept = [c for call in reversed(self._calls) if (c := _needed(call, needed)) is not None]
        return checked_code(Code(tuple(reversed(kept)), self._inputs, shown, self._slots))

    def _fresh(self, count: int) -> range:
        self._slots += count
        return range(self._slots - count, self._slots)

    def _called(self, graph: Graph, shown: KnownBlock) -> KnownBlock:
        """Add the kernel of traced values; what is only passed on, or a number, stays what it is."""
        found = np.empty(shown.shape, dtype=object)
        made: dict[int, Any] = {}
        for k, x in enumerate(shown.flat):
            if not isinstance(x, Scalar):
                found.flat[k] = float(x)
            elif graph.nodes[x.index][0] == "input":
                found.flat[k] = Slot(graph.nodes[x.index][1], x.negative)
            else:
                made[k] = x
        if made:
            for k, slot in zip(made, self._call(finish(graph, made)), strict=True):
                found.flat[k] = Slot(slot)
        return found

    def _call(self, kernel: Kernel) -> Sequence[int]:
        """Add a call of a kernel whose inputs are named by slots, and return the slots of its outputs."""
        loads = tuple(int(str(s)) for s in kernel.inputs)
        named = replace(kernel, inputs=tuple(range(len(loads))))
        stores = self._fresh(len(kernel.outputs))
        shared = self._kernels.setdefault(named, named)
        self._calls.append(Call(shared, loads, (), tuple(stores), self._stages, 0))
        self._stages += 1
        return stores

    def _places(self, values: KnownBlock) -> list[int]:
        """Return slots that hold these values; numbers, and slots with a sign, get new ones."""
        flat: list[Any] = values.ravel().tolist()
        odd = [k for k, x in enumerate(flat) if not isinstance(x, Slot) or x.negative]
        if odd:
            graph = Graph()
            given = {
                k: -graph.input(flat[k].index) if isinstance(flat[k], Slot) else float(flat[k]) for k in odd
            }
            for k, slot in zip(odd, self._call(finish(graph, given)), strict=True):
                flat[k] = Slot(slot)
        return [x.index for x in flat]

    def _moved(self, call: Call | DenseCall, places: Mapping[int, int], shift: int) -> Call | DenseCall:
        """Return a call with its slots and its stage in the whole."""
        if isinstance(call, DenseCall):
            blocks = {n: _each(getattr(call, n), places) for n in ("matrix", "right", "result")}
            return replace(call, stage=call.stage + shift, **blocks)
        loads, stores = (tuple(places[s] for s in x) for x in (call.loads, call.stores))
        kernel = self._kernels.setdefault(call.kernel, call.kernel)
        return replace(call, kernel=kernel, loads=loads, stores=stores, stage=call.stage + shift)


def _needed(call: Call | DenseCall, needed: set[int]) -> Call | DenseCall | None:
    """Return what is needed of a call, None if nothing is, and add the slots that it reads."""
    if isinstance(call, DenseCall):
        if needed.isdisjoint(x.index for x in call.result.flat):
            return None
        needed |= {x.index for part in (call.matrix, call.right) for x in part.flat if isinstance(x, Slot)}
        return call
    used = [s in needed for s in call.stores]
    if not any(used):
        return None
    if not all(used):
        call = _restricted(call, used)
    needed |= set(call.loads)
    return call


def _restricted(call: Call, used: Sequence[bool]) -> Call:
    """Return a call with some of its outputs alone."""
    kernel = call.kernel.restricted(
        [o.key for o, is_used in zip(call.kernel.outputs, used, strict=True) if is_used]
    )
    wanted, count = set(kernel.inputs), len(call.loads)
    taken = [key in wanted for key in call.kernel.inputs]
    return replace(
        call,
        kernel=kernel,
        loads=tuple(compress(call.loads, taken)),
        params=tuple(compress(call.params, taken[count:])),
        stores=tuple(compress(call.stores, used)),
    )


def _each(values: KnownBlock, places: Mapping[int, int]) -> KnownBlock:
    found = np.empty(values.shape, dtype=object)
    for k, x in enumerate(values.flat):
        found.flat[k] = Slot(places[x.index], x.negative) if isinstance(x, Slot) else float(x)
    return found


def _scalar(graph: Graph, x: Any) -> Scalar | float:
    """Return an entry as a traced scalar with its sign, or as a number."""
    if not isinstance(x, Slot):
        return float(x)
    return -graph.input(x.index) if x.negative else graph.input(x.index)


def _known(x: Any) -> Any:
    """Return what is known of an entry: its number, or whether it is read with the other sign."""
    return x.negative if isinstance(x, Slot) else ("is", float(x))


def _vector(values: Sequence[Any]) -> KnownBlock:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
