"""Tracing: a program on a binding becomes straight-line kernels, called for each pass, body and column.

Bodies that are alike share a kernel, which takes the model's numbers as parameters. Values cross from kernel
to kernel through slots. A slot that holds a constant, or the same value as another up to sign, is no slot at
all: what is known stays known from body to body, so that zeros, unit vectors and the pattern of a rigid
inertia fold away. Dead slots are dropped from the end backwards, over all passes: linear velocities, which
nothing reads, are never computed.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge.algebra import E0, Body, Leaf, One, Product, Space, Structure, World, leaf, leaves
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.kernels import Kernel, apply
from hinge.sweeps.at_world import AtWorld
from hinge.sweeps.body import COORDINATES, DERIVED, HINGE, BodyKernel
from hinge.sweeps.code import Call, Code, Column, DenseCall, KnownBlock, Result, Slot
from hinge.sweeps.code_rules import checked_code, checked_program, checked_trace
from hinge.sweeps.contract import Binding, has_blocks_at_bodies, zeros
from hinge.sweeps.factor import pivots_of
from hinge.sweeps.family import Family
from hinge.sweeps.multiply import Multiplication
from hinge.sweeps.program import (
    GATHERING,
    BlockOutput,
    Direction,
    OperatorOutput,
    Pass,
    ProductOutput,
    Program,
    ProgramOutput,
    ScalarOutput,
    Statement,
    VectorOutput,
    WorldOutput,
    edges,
    operand,
)
from hinge.sweeps.readout import Readout, read_out
from hinge.tree import WORLD

#: Sources with one column of blocks, the world's: such columns are computed beside the vectors.
SINGLE = (None, World)
#: The name of a scalar output in the memory of values.
TOTAL = leaf("total", One, One)


def trace(program: Program, binding: Binding, readout: Readout | None = None) -> Code:
    """Return a program as straight-line code for a bound model.

    Zeros and ones among the model's numbers are folded into the kernels. `readout` is a formula of the
    outputs whose values are the results in their place; what it does not read is not computed.
    """
    with without_garbage():
        code = _Tracer(checked_program(program), binding, readout=readout).run()
    return checked_trace(code, program, binding) if readout is None else checked_code(code)


@contextmanager
def without_garbage() -> Generator[None]:
    """Keep the collector of cycles from looking at the many objects of a trace, all of which are in use."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass
class _Tracer(AtWorld):
    readout: Readout | None = None
    inputs: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    multiplication: Multiplication | None = None

    def run(self) -> Code:
        self._take_inputs()
        self._hinges()
        for k, stage in enumerate(self.program.stages):
            match stage:
                case Pass():
                    self._pass(stage, k)
                case _:
                    self.run_stage(stage, k)
        results = tuple(Result(o.name, self._result(o)) for o in self.program.outputs)
        if self.readout is not None:
            results = read_out(self.readout, results, self.memory, len(self.program.stages))
        live = bytearray(self.memory.slots)
        _mark(live, (x for r in results for x in r.values.flat))
        calls = tuple(reversed(list(self._living(live))))
        inputs = {name: tuple(s) for name, s in self.inputs.items()}
        return Code(calls, inputs, results, self.memory.slots)

    # Inputs.

    def _take_inputs(self) -> None:
        nq = sum(len(self.binding.coordinates(i)) for i in range(len(self.binding.tree)))
        self._take("q", nq)
        for x in dict.fromkeys((*self.program.inputs, *self.binding.parameters)):
            if x.domain is not One:
                self._take_operator(x)
                continue
            known = self.binding.known(x)
            if known is None:
                self._take(x.name, self.binding.length(x.range))
            for i in self.places(x.range):
                places = self.binding.positions(x.range, i)
                entries = [self._input(x.name, p) if known is None else known[p] for p in places]
                self._put(x, i, (len(places),), entries)

    def _input(self, name: str, place: int) -> float:
        """Return the entry of an input at an index of the user's vector; hidden entries are zero."""
        return 0.0 if place < 0 else 2 * self.inputs[name][place]

    def _put(self, x: Leaf, body: int, shape: tuple[int, ...], entries: Sequence[float]) -> None:
        self.memory.put(x, body, None, shape, entries)

    def _take_operator(self, x: Leaf) -> None:
        """Add an operator of the user as input, row by row: a matrix, or its diagonal blocks."""
        blocks = x.structure is Structure.DIAGONAL and self.places(x.range) == self.places(x.domain)
        if x.structure is not Structure.DENSE and not blocks:
            raise UnboundLeafError(
                f"{x}: is {x.range} ← {x.domain}, {x.structure.value}, and no value can be given for it; "
                "expected a dense operator, or a block-diagonal one between Joint, Body, Node, Passive or "
                "Active"
            )
        self._take(x.name, self.binding.length(x.range) * self.binding.length(x.domain))
        rows, across = self.order(x.range, shown=True), self.order(x.domain, shown=True)
        if blocks:
            for i in self.places(x.range):
                self._put_matrix(x, i, rows[i], across[i])
        else:
            every = ([p for places in order.values() for p in places] for order in (rows, across))
            self._put_matrix(x, WORLD, *every)

    def _put_matrix(self, x: Leaf, body: int, rows: Sequence[int], across: Sequence[int]) -> None:
        """Store entries of an input matrix, at these rows and columns of the user."""
        columns = self.binding.length(x.domain)
        places = [r * columns + c if min(r, c) >= 0 else -1 for r in rows for c in across]
        self._put(x, body, (len(rows), len(across)), [self._input(x.name, p) for p in places])

    def _take(self, name: str, size: int) -> None:
        self.inputs[name] = list(self.memory.new_slots(size))

    def _hinges(self) -> None:
        """Trace the values that depend on q alone, body by body, before all passes."""
        family = Family(self.memory, -1, _hinge)
        for i in range(len(self.binding.tree)):
            places = self.binding.coordinates(i)
            self._put(COORDINATES, i, (len(places),), [self._input("q", p) for p in places])
            family.run(i)

    # Passes.

    def _pass(self, stage: Pass, k: int) -> None:
        plain = [s for s in stage.statements if s.source in SINGLE]
        if plain:
            family = self._family(stage, plain, k)
            beyond = self._beyond(plain)
            for i in self._all(stage.direction):
                family.run(i, near=(*self.memory.near[i], *beyond))
        for space in dict.fromkeys(s.source for s in stage.statements if s.source not in SINGLE):
            assert space is not None
            statements = [s for s in stage.statements if s.source is space]
            family = self._family(stage, statements, k)
            beyond = self._beyond(statements)
            for column in self.columns(space):
                visited = self._reached(stage, statements, column, k)
                for i in visited:
                    family.run(i, column, near=(*self.memory.near[i], *beyond))
                self.reaches(column, visited)

    def _beyond(self, statements: Sequence[Statement]) -> tuple[int, ...]:
        """Return the world if statements multiply stored columns by vectors there."""
        read = {x for s in statements for e in s.expressions for x in leaves(e)}
        return () if read.isdisjoint(self.program.columns) else (WORLD,)

    def _family(self, stage: Pass, statements: Sequence[Statement], k: int) -> Family:
        """Return the family of bodies that run some statements and their gathering edges."""
        shifted = gathered_edges(statements) if stage.direction is Direction.GATHER else []

        def do(body: BodyKernel) -> None:
            for s in statements:
                if has_blocks_at_bodies(s.target.range) == (body.body != WORLD):
                    body.run(s)
            for edge in shifted if body.body != WORLD else ():
                if (edge.factors[0] is E0) == (body.near[1] == WORLD):
                    body.send(edge)

        return Family(self.memory, k, do, widens=stage.direction is Direction.SCATTER)

    def _all(self, direction: Direction) -> list[int]:
        bodies = list(range(len(self.binding.tree)))
        return [*reversed(bodies), WORLD] if direction is Direction.GATHER else [WORLD, *bodies]

    def _reached(self, stage: Pass, family: Sequence[Statement], column: Column, k: int) -> list[int]:
        """Return the bodies that a column reaches, in the order of the pass."""
        tree = self.binding.tree
        start = self.active.get(column, {column.body})
        if stage.direction is Direction.GATHER:
            reached = {WORLD} | {i for s in start if s != WORLD for i in tree.support(s)}
        else:
            wanted = self._wanted(family, column, k)
            parents = tree.parents
            reached = set(start) & (wanted | {WORLD})
            for i in range(len(tree)):
                if i in wanted and parents[i] in reached:
                    reached.add(i)
        return [i for i in self._all(stage.direction) if i in reached]

    def _wanted(self, family: Sequence[Statement], column: Column, k: int) -> set[int]:
        """Return the bodies that a scatter must visit: all, unless only some outputs read it."""
        tree = self.binding.tree
        everything = set(range(len(tree)))
        later = self.program.stages[k + 1 :]
        if any(not isinstance(s, Pass) or any(t.source is column.space for t in s.statements) for s in later):
            return everything
        variables = {s.target for s in family}
        outputs = [
            o for o in self.program.outputs if isinstance(o, OperatorOutput) and o.variable in variables
        ]
        spaces = {o.variable.range for o in outputs}
        ends = {i for i in everything for sp in spaces if self.binding.size(sp, i)}
        if all(o.mirror for o in outputs):
            ends = {i for i in ends if i <= column.body}
        parents, found = tree.parents, {WORLD}
        for i in ends:
            while i not in found:
                found.add(i)
                i = parents[i]  # noqa: PLW2901 - up to a body that is there already
        return found - {WORLD}

    # Results.

    def _result(self, o: ProgramOutput) -> KnownBlock:
        match o:
            case VectorOutput():
                return self._vector(o.variable)
            case WorldOutput():
                found = self.memory.get(o.variable, WORLD)
                assert found is not None
                return found.shown()
            case OperatorOutput():
                return self.operator(o)
            case BlockOutput():
                return self._blocks(o.variable)
            case ScalarOutput():
                return self._scalar(o)
            case ProductOutput():
                return self._product(o)

    def _product(self, o: ProductOutput) -> KnownBlock:
        """Multiply matrices, whose copies all products share."""
        if self.multiplication is None:
            self.multiplication = Multiplication(self.memory, len(self.program.stages))
        factors = [self.operator(f) for f in o.factors]
        return self.multiplication.run(factors, negative=o.negative, mirror=o.mirror)

    def _vector(self, x: Leaf) -> KnownBlock:
        found = zeros(self.binding.length(x.range))
        for i in self.places(x.range):
            block = self.memory.get(x, i)
            if block is not None:
                for p, value in zip(self.binding.positions(x.range, i), block.shown(), strict=True):
                    if p >= 0:
                        found[p] = value
        return found

    def _blocks(self, x: Leaf) -> KnownBlock:
        """Return a block-diagonal operator as blocks, see `BlockOutput`."""
        spaces, width = (x.range, x.domain), self.binding.width
        n = len(self.binding.tree)
        lengths = [width if space is Body else self.binding.length(space) for space in spaces]
        found = zeros(n if spaces == (Body, Body) else 1, *lengths)
        for i in range(n):
            block = self.memory.get(x, i)
            places = [self._within(space, i) for space in spaces]
            for (r, c), value in np.ndenumerate(() if block is None else block.shown()):
                p, q = places[0][r], places[1][c]
                if p >= 0 and q >= 0:
                    found[i if len(found) > 1 else 0, p, q] = value
        return found if spaces == (Body, Body) else found[0]

    def _within(self, space: Space, body: int) -> Sequence[int]:
        """Return the indices of a body's block in a shown block; for Body they start at zero."""
        places = self.binding.positions(space, body)
        start = min((p for p in places if p >= 0), default=0) if space is Body else 0
        return [p - start if p >= 0 else p for p in places]

    def _scalar(self, o: ScalarOutput) -> KnownBlock:
        """Sum over the bodies in order, the world first."""

        def add(body: BodyKernel) -> None:
            before = body.at(TOTAL, body.near[1])
            block = zeros(1)
            block[0] = _share(o, body, 0.0 if before is None or body.body == WORLD else before[0])
            body.store(TOTAL, block)

        self.memory.table(TOTAL, None).clear()
        family = Family(self.memory, len(self.program.stages), add)
        for i in (WORLD, *range(len(self.binding.tree))):
            family.run(i, near=(i, i - 1 if i != WORLD else i))
        total = self.memory.get(TOTAL, len(self.binding.tree) - 1)
        assert total is not None
        return total.shown().reshape(())

    def _living(self, live: bytearray) -> Iterator[Call | DenseCall]:
        """Yield the calls from last to first, without dead ones."""
        kernels: dict[Kernel, Kernel] = {}
        for call in reversed(self.memory.calls):
            if isinstance(call, DenseCall):
                if any(live[x.index] for x in call.result.flat):
                    _mark(live, (*call.matrix.flat, *call.right.flat))
                    yield call
                continue
            closed = call.close(live, kernels)
            if closed is not None:
                yield closed


def _hinge(body: BodyKernel) -> None:
    q = body.at(COORDINATES, body.body)
    assert q is not None
    body.store(HINGE, body.site.hinge(q))
    given = [body.at(x, body.body) for x in body.binding.parameters]
    if given:
        body.store(DERIVED, body.site.derived(np.concatenate([x for x in given if x is not None])))


def _share(o: ScalarOutput, body: BodyKernel, total: Any) -> Any:
    """Add the term of a body to a sum."""
    for c, x, y in o.products:
        one, other = body.at(x, body.body), body.at(y, body.body)
        if one is not None and other is not None and len(one):
            total = total + c * (one @ other)
    for c, x in o.determinants if body.body != WORLD else ():
        for pivot in _pivots(body, x):
            total = total + 0.5 * c * apply("log", pivot * pivot)
    return total


def _pivots(body: BodyKernel, x: Leaf) -> list[Any]:
    """Return the pivots of a block for its determinant; refuse a constant singular one."""
    try:
        found = pivots_of(body.value(x))[1]
    except ZeroDivisionError:
        found = [0.0]
    if any(isinstance(pivot, float) and pivot == 0.0 for pivot in found):
        raise ArgumentError(
            f"log det {x}: expected a block with an inverse at every body, got a singular one at "
            f"{body.binding.name(body.body)}; {body.binding.remedy}"
        )
    return found


def _mark(live: bytearray, values: Iterable[float | Slot]) -> None:
    for x in values:
        if isinstance(x, Slot):
            live[x.index] = 1


def gathered_edges(statements: Sequence[Statement]) -> list[Product]:
    """Return the edges over which bodies send something towards the base."""
    found: dict[Product, None] = {}
    for s in statements:
        todo = [edge for e in s.expressions for edge in edges(e, GATHERING)]
        while todo:
            edge = todo.pop()
            found[edge] = None
            todo += edges(operand(edge), GATHERING)
    return list(found)
