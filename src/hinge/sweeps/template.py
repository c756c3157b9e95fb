"""Templates: kernels that are traced once and replayed wherever tracing would give the same.

Bodies of one kind run the same code if their reads agree: the same values present or absent, zeros and ones
in the same entries, the same entries equal. Then the template is replayed: its loads and numbers are looked
up, its outputs get new slots, and its stores are filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hinge.algebra import Expr
from hinge.errors import ArgumentError
from hinge.kernels import BOUND, RUN, Graph, Kernel, Scalar, Uniform, finish, on_floats, uniform
from hinge.sweeps.code import Call, Column
from hinge.sweeps.contract import Binding, Block
from hinge.sweeps.slots import Layouts, Memory, Stored

#: A hinge inertia that is known beforehand and worse conditioned than this is taken for singular.
SINGULAR = 1e13
Pick: TypeAlias = Callable[[Sequence[Any]], tuple[Any, ...]]


class Param(NamedTuple):
    """The key of a parameter: one of the numbers of the body, or of those that were read."""

    read: bool
    number: int


class Part(NamedTuple):
    """The kernel of some outputs of a template, and the selection of its loads, parameters and stores."""

    kernel: Kernel
    loads: Pick
    params: Pick
    stores: tuple[int, ...]


class Place(NamedTuple):
    """The stage, column and body of a kernel."""

    stage: int
    body: int
    column: Column | None


class Template:
    """A traced kernel, with everything about its stores that is known at binding time.

    What it stores are outputs, loads that are passed on, uniform values and literals. `regular` are blocks of
    known and uniform values that must have an inverse; `body` is where it was traced.
    """

    def __init__(
        self,
        layouts: Layouts,
        body: int,
        graph: Graph,
        made: Mapping[Expr, Block],
        regular: Sequence[Block],
    ) -> None:
        self.body = body
        self.graph = graph
        self.regular = regular
        sources = {x: [_source(graph, v) for v in block.flat] for x, block in made.items()}
        pool = _Pool(s for found in sources.values() for s in found)
        self.outputs, self.passed, uniforms, self.literals = pool.keys
        self.stores = [_store(x, made[x].shape, sources[x], pool, layouts) for x in made]
        checked = [v.index for block in regular for v in block.flat if isinstance(v, Scalar)]
        self.uniform = UniformValues(graph, {*_frontier(graph), *uniforms, *checked})
        self.known = [self.uniform.place[i] for i in uniforms]
        self._parts: dict[bytes, Part] = {}

    @property
    def size(self) -> int:
        """The approximate number of operations."""
        return len(self.graph.nodes)

    def replay(self, memory: Memory, at: Place, slots: Sequence[int], numbers: Sequence[float]) -> None:
        """Store the outputs of the kernel for these loads and numbers, and record the call."""
        try:
            values = self.uniform(memory.constants[at.body].numbers, numbers)
            for block in self.regular:
                self._check(block, values)
        except ZeroDivisionError:
            raise no_inertia(memory.binding, at.body) from None
        start = memory.slots
        memory.slots += len(self.outputs)
        pool = [*range(start, memory.slots), *[slots[n] for n in self.passed]]
        for x, known, pick in self.stores:
            table = memory.table(x, at.column)
            if isinstance(known, Stored):
                table[at.body] = Stored(known[0], pick(pool), known[2])
            else:
                entries = pick(self._entries(pool, values))
                table[at.body] = memory.layouts.stored(known, entries)
        if self.outputs:
            memory.calls.append(OpenCall(self, start, slots, values, at))

    def _entries(self, slots: Sequence[int], values: Sequence[float]) -> list[float]:
        """Return the entries that blocks are picked from, with both signs, and the literals."""
        found: list[float] = [x for s in slots for x in (2 * s, 2 * s + 1)]
        found += [x for k in self.known for x in (values[k], 0.0 - values[k])]
        return found + self.literals

    def _check(self, block: Block, values: Sequence[float]) -> None:
        """Refuse a singular block."""
        known = np.array([self._value(x, values) for x in block.flat], dtype=float).reshape(block.shape)
        size = np.sqrt(np.abs(np.diagonal(known)))
        if not size.all() or (len(known) > 1 and np.linalg.cond(known / np.outer(size, size)) > SINGULAR):
            raise ZeroDivisionError

    def _value(self, x: Any, values: Sequence[float]) -> float:
        if not isinstance(x, Scalar):
            return float(x)
        found = values[self.uniform.place[x.index]]
        return -found if x.negative else found

    def part(self, live: bytes) -> Part:
        """Return the kernel of the outputs that are live."""
        found = self._parts.get(live)
        if found is None:
            self._parts[live] = found = self._part(tuple(k for k, x in enumerate(live) if x))
        return found

    def _part(self, stores: tuple[int, ...]) -> Part:
        kernel = finish(self.graph, {k: Scalar(self.graph, self.outputs[k], False) for k in stores})
        params = [self.uniform.place[x.node] for x in kernel.inputs if isinstance(x, Uniform)]
        loads: list[Any] = list(kernel.inputs[: len(kernel.inputs) - len(params)])
        outputs = tuple(o._replace(key=n) for n, o in enumerate(kernel.outputs))
        kernel = Kernel(tuple(range(len(kernel.inputs))), kernel.instructions, outputs)
        return Part(kernel, picker(loads), picker(params), stores)


class OpenCall(NamedTuple):
    """A call of a template whose live outputs are not known yet."""

    template: Template
    start: int
    slots: Sequence[int]
    values: Sequence[float]
    at: Place

    def close(self, live: bytearray, kernels: dict[Kernel, Kernel]) -> Call | None:
        """Return the call that stores the live slots, or None; its loads become live."""
        start = self.start
        mask = bytes(live[start : start + len(self.template.outputs)])
        if 1 not in mask:
            return None
        kernel, loads, params, stores = self.template.part(mask)
        reads = loads(self.slots)
        for s in reads:
            live[s] = 1
        written = tuple([start + k for k in stores])
        return Call(kernels.setdefault(kernel, kernel), reads, params(self.values), written, *self.at)


class UniformValues:
    """The uniform values, from the numbers of a body and those that were read.

    Numbers are floats here: a division by zero raises ZeroDivisionError.
    """

    def __init__(self, graph: Graph, nodes: Iterable[int]) -> None:
        self.place = {node: k for k, node in enumerate(sorted(nodes))}
        kernel = uniform(graph, self.place)
        params: Any = kernel.inputs
        self._params: list[Param] = list(params)
        self._run = kernel.runner(on_floats)

    def __call__(self, own: Sequence[float], read: Sequence[float]) -> list[float]:
        """Return the uniform values."""
        return self._run([read[n] if is_read else own[n] for is_read, n in self._params])


#: Where an entry of a stored block comes from: (OUTPUT, node), (PASSED, load), (UNIFORM, node), (LITERAL, x).
OUTPUT, PASSED, UNIFORM, LITERAL = range(4)
Source: TypeAlias = tuple[int, Any, bool]


class _Pool:
    """The order of the entries that blocks are picked from: keys by kind, and the index of each source."""

    def __init__(self, sources: Iterable[Source]) -> None:
        keys: tuple[dict[Any, None], ...] = ({}, {}, {}, {})
        for kind, key, _ in sources:
            keys[kind][key] = None
        self.keys = [list(found) for found in keys]
        signed = [(kind, key) for kind in (OUTPUT, PASSED, UNIFORM) for key in self.keys[kind]]
        self.place = {(*s, sign): 2 * k + sign for k, s in enumerate(signed) for sign in (False, True)}
        for x in self.keys[LITERAL]:
            self.place[LITERAL, x, False] = len(self.place)


def _store(
    x: Expr, shape: tuple[int, ...], sources: Sequence[Source], pool: _Pool, layouts: Layouts
) -> tuple[Expr, Stored | tuple[int, ...], Pick]:
    """Return the store of a block: by its layout and slots in the pool, or else by all its entries."""
    places = [pool.place[s] for s in sources]
    if any(kind == UNIFORM for kind, *_ in sources):
        return x, shape, picker(places)
    entries = [s[1] if s[0] == LITERAL else place for s, place in zip(sources, places, strict=True)]
    found = layouts.stored(shape, entries)
    return x, found, picker(found.slots)


def _source(graph: Graph, x: Any) -> Source:
    if type(x) is not Scalar:
        return LITERAL, float(x) + 0.0, False
    index = x.index
    node = graph.nodes[index]
    if node[0] == "input":
        return PASSED, node[1], x.negative
    return UNIFORM if graph.known[index] == BOUND else OUTPUT, index, x.negative


def _frontier(graph: Graph) -> set[int]:
    """Return the uniform nodes that run-time nodes read, and those that may divide by zero."""
    known, found = graph.known, set[int]()
    if BOUND not in known:
        return found
    for index, (node, when) in enumerate(zip(graph.nodes, known, strict=True)):
        if when == RUN and node[0] != "input":
            for i in node[1:]:
                if known[i] == BOUND:
                    found.add(i)
        elif node[0] == "div":
            found.add(index)
    return found


def picker(places: Sequence[int]) -> Pick:
    """Return a function that picks entries of a sequence."""
    if not places:
        return lambda _: ()
    if len(places) == 1:
        only = places[0]
        return lambda x: (x[only],)
    return itemgetter(*places)


def no_inertia(binding: Binding, body: int) -> ArgumentError:
    """Return the error for a hinge whose acceleration is undetermined."""
    return ArgumentError(binding.undetermined(body))
