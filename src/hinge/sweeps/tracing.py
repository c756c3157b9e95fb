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

from hinge.algebra import E0, Body, Leaf, Letter, One, Product, Space, Structure, World, leaf, leaf_of, leaves
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.kernels import Kernel, apply
from hinge.sweeps.body import COORDINATES, DERIVED, HINGE, BodyKernel, Family
from hinge.sweeps.code import Call, Code, Column, DenseCall, KnownBlock, Result, Slot
from hinge.sweeps.code_rules import checked_code, checked_program, checked_trace
from hinge.sweeps.contract import Binding, has_blocks_at_bodies, zeros
from hinge.sweeps.factor import pivots_of
from hinge.sweeps.program import (
    GATHERING,
    Apply,
    BlockOutput,
    Direction,
    Meet,
    OperatorOutput,
    Pass,
    Program,
    ProgramOutput,
    ScalarOutput,
    Solve,
    Statement,
    VectorOutput,
    WorldOutput,
    edges,
    operand,
)
from hinge.sweeps.readout import Readout, read_out
from hinge.sweeps.slots import Memory, as_entry
from hinge.tree import WORLD

#: Sources with one column of blocks, the world's: such columns are computed beside the vectors.
SINGLE = (None, World)
#: The name of a scalar output in the memory of values.
TOTAL = leaf("total", One, One)
#: The name of an operator that is a sum over bodies.
GRAM = leaf("gram", One, One, Structure.DIAGONAL, self_adjoint=True)


def trace(program: Program, binding: Binding, readout: Readout | None = None) -> Code:
    """Return a program as straight-line code for a bound model.

    Zeros and ones among the model's numbers are folded into the kernels. `readout` is a formula of the
    outputs whose values are the results in their place; what it does not read is not computed.
    """
    with without_garbage():
        code = _Tracer(checked_program(program), binding, readout).run()
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
class _Tracer:
    program: Program
    binding: Binding
    readout: Readout | None = None
    inputs: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    active: dict[Column, set[int]] = field(default_factory=dict[Column, set[int]])
    grams: dict[tuple[Leaf, ...], KnownBlock] = field(default_factory=dict[Any, Any])

    def __post_init__(self) -> None:
        statements = [s for p in self.program.passes for s in p.statements]
        dense = [s for s in self.program.stages if isinstance(s, Solve | Apply)]
        sources = {s.target: s.source for s in (*statements, *dense) if s.source is not None}
        sources |= {unit: space for space, unit in self.program.sources.items()}
        self.memory = Memory(self.program, self.binding, sources)

    def run(self) -> Code:
        self._take_inputs()
        self._hinges()
        for k, stage in enumerate(self.program.stages):
            match stage:
                case Pass():
                    self._pass(stage, k)
                case Solve():
                    self._solve(stage, k)
                case Apply():
                    self._apply(stage, k)
                case Meet():
                    self._meet(stage, k)
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
            for i in self._places(x.range):
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
        blocks = x.structure is Structure.DIAGONAL and self._places(x.range) == self._places(x.domain)
        if x.structure is not Structure.DENSE and not blocks:
            raise UnboundLeafError(
                f"{x}: is {x.range} ← {x.domain}, {x.structure.value}, and no value can be given for it; "
                "expected a dense operator, or a block-diagonal one between Joint, Body, Node, Passive or "
                "Active"
            )
        self._take(x.name, self.binding.length(x.range) * self.binding.length(x.domain))
        rows, across = self._order(x.range, shown=True), self._order(x.domain, shown=True)
        if blocks:
            for i in self._places(x.range):
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

    def _places(self, space: Space) -> Sequence[int]:
        return range(len(self.binding.tree)) if has_blocks_at_bodies(space) else (WORLD,)

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
            for column in self._columns(space):
                visited = self._reached(stage, statements, column, k)
                for i in visited:
                    family.run(i, column, near=(*self.memory.near[i], *beyond))
                self._reaches(column, visited)

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

        return Family(self.memory, k, do)

    def _reaches(self, column: Column, bodies: Iterable[int]) -> None:
        """Note where a column is not zero; at its own body it never is."""
        self.active.setdefault(column, {column.body}).update(bodies)

    def _columns(self, space: Space) -> Iterator[Column]:
        for i in self._places(space):
            if self.binding.size(space, i):
                yield Column(space, i)

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
                return self._operator(o)
            case BlockOutput():
                return self._blocks(o.variable)
            case ScalarOutput():
                return self._scalar(o)

    def _vector(self, x: Leaf) -> KnownBlock:
        found = zeros(self.binding.length(x.range))
        for i in self._places(x.range):
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

    def _operator(self, o: OperatorOutput, *, shown: bool = True, stage: int | None = None) -> KnownBlock:
        """Return an operator as a matrix in the user's order, or with hidden rows."""
        if o.other is not None:
            return self._gram(o, o.other, shown, len(self.program.stages) if stage is None else stage)
        rows, columns = self._order(o.variable.range, shown), self._order(o.source, shown)
        found = zeros(sum(map(len, rows.values())), sum(map(len, columns.values())))
        if shown:
            found = zeros(self.binding.length(o.variable.range), self.binding.length(o.source))
        for column in self._columns(o.source):
            for i, down in rows.items():
                block = self.memory.get(o.variable, i, None if o.source is World else column)
                if block is None or (o.mirror and i > column.body):
                    continue
                for (r, c), value in np.ndenumerate(block.shown()):
                    p, q = down[r], columns[column.body][c]
                    if p >= 0 and q >= 0:
                        found[p, q] = value
                        if o.mirror:
                            found[q, p] = value
        return found.T if o.transposed else found

    def _gram(self, o: OperatorOutput, other: Leaf, shown: bool, stage: int) -> KnownBlock:
        """Return the sum over bodies of variableᵀ other, columns of a space at the world."""
        if o.variables not in self.grams:
            self.grams[o.variables] = self._sum_of_products(o, other, stage)
        whole = self.grams[o.variables]
        if not shown:
            return whole
        places = list(self.binding.positions(o.source, WORLD))
        result = zeros(self.binding.length(o.source), self.binding.length(o.source))
        result[np.ix_(places, places)] = whole
        return result

    def _sum_of_products(self, o: OperatorOutput, other: Leaf, stage: int) -> KnownBlock:
        column = Column(o.source, WORLD)
        self.memory.table(GRAM, None).clear()

        def add(body: BodyKernel) -> None:
            before, (left, right) = body.at(GRAM, body.near[1]), (body.column_of(x, column) for x in o.variables)
            assert left is not None
            assert right is not None
            found = left.T @ right
            body.store(GRAM, found if before is None else before + found)

        family, last = Family(self.memory, stage, add), WORLD
        for i in self.memory.table(other, column):
            if i != WORLD and self.binding.size(o.variable.range, i):
                family.run(i, near=(i, last))
                last = i
        total, size = self.memory.get(GRAM, last), self.binding.size(o.source, WORLD)
        return zeros(size, size) if total is None else total.shown()

    def _order(self, space: Space, shown: bool) -> dict[int, Sequence[int]]:
        """Return the indices of each body's block: in the user's order, or consecutive."""
        if shown:
            return {i: self.binding.positions(space, i) for i in self._places(space)}
        found: dict[int, Sequence[int]] = {}
        start = 0
        for i in self._places(space):
            found[i] = range(start, start + self.binding.size(space, i))
            start += self.binding.size(space, i)
        return found

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

    def _solve(self, s: Solve, k: int) -> None:
        matrix = self._operator(s.operator, shown=False, stage=k)
        order = self._order(s.target.range, shown=False)
        columns = [None] if s.source is None or s.source is World else list(self._columns(s.source))
        rights: list[KnownBlock] = []
        results: list[KnownBlock] = []
        for column in columns:
            width = () if s.source is None else (self.memory.width(s.source, column),)
            right, result = zeros(len(matrix), *width), zeros(len(matrix), *width)
            slots = np.array(self.memory.new_slots(result.size), dtype=int).reshape(result.shape)
            result.flat[:] = [Slot(k) for k in slots.flat]
            for i, where in order.items():
                block = self.memory.get(s.right, i, column)
                if block is not None:
                    right[list(where)] = block.shown()
                taken = slots[list(where)]
                self.memory.put(s.target, i, column, taken.shape, (2 * taken).ravel().tolist())
            rights.append(right.reshape(len(matrix), width[0] if width else 1))
            results.append(result.reshape(len(matrix), width[0] if width else 1))
            if column is not None:
                self._reaches(column, order)
        if rights and len(matrix):
            right, result = np.concatenate(rights, axis=1), np.concatenate(results, axis=1)
            self.memory.calls.append(DenseCall(matrix, right, result, k, s.positive, s.floored))

    def _apply(self, s: Apply, k: int) -> None:
        """Multiply by a dense matrix, in a kernel at the world that reads from all bodies."""
        places = [i for i in self._places(s.right.range) if self.binding.size(s.right.range, i)]
        order = {i: at for i, at in self._order(s.target.range, shown=False).items() if len(at)}

        def multiply(world: BodyKernel) -> None:
            world.store(s.target, world.dense_product(s.operator, s.right, places))

        family = Family(self.memory, k, multiply)
        for column in [None] if s.source is None or s.source is World else list(self._columns(s.source)):
            if s.right is self.program.sources.get(s.right.range):
                whole = self._columns_of(s.operator, column)
            else:
                family.run(WORLD, column, near=(WORLD, WORLD, *places))
                whole = self.memory.table(s.target, column).pop(WORLD).shown()
            for i, where in order.items():
                block = whole[list(where)]
                self.memory.put(s.target, i, column, block.shape, [as_entry(x) for x in block.flat])
            if column is not None:
                self._reaches(column, order)

    def _meet(self, s: Meet, k: int) -> None:
        """Evaluate a formula at the world, in a kernel that reads from all bodies with ends of closures."""
        at = {n: [i for i in self._places(n.range) if self.binding.size(n.range, i)] for n in s.needs}

        def meet(world: BodyKernel) -> None:
            needs = [world.stack(n, places) for n, places in at.items()]
            world.store(s.target, world.site.formula(s.target, zeros(0), needs))

        near = dict.fromkeys(i for places in at.values() for i in places)
        Family(self.memory, k, meet).run(WORLD, near=(WORLD, WORLD, *near))

    def _columns_of(self, operator: Letter, column: Column | None) -> KnownBlock:
        """Return a dense matrix times unit columns: its columns, without arithmetic."""
        given = self.memory.get(leaf_of(operator), WORLD)
        assert given is not None
        matrix = given.shown() if isinstance(operator, Leaf) else given.shown().T
        home = WORLD if column is None else column.body
        return matrix[:, list(self._order(operator.domain, shown=False)[home])]

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
            f"{body.binding.name(body.body)}; give its body mass and moments of inertia"
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
