"""Tracing: a program on a binding becomes straight-line kernels, one for each pass, body and column.

Values cross from kernel to kernel through slots. A slot that holds a constant, or the same value as
another up to sign, is no slot at all: what is known stays known from body to body, so that zeros, unit
vectors and the pattern of a rigid inertia fold away. Dead slots are dropped from the end backwards, over
all passes: linear velocities, which nothing reads, are never computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge.algebra import E0, Leaf, One, Product, Space, Structure, World, leaf
from hinge.errors import UnboundLeafError
from hinge.kernels import Scalar as Traced
from hinge.sweeps.body import HINGE, BodyKernel, Memory
from hinge.sweeps.code import Call, Code, Column, DenseCall, KnownBlock, Result, Slot
from hinge.sweeps.contract import Binding, zeros
from hinge.sweeps.factor import pivots_of
from hinge.sweeps.program import (
    GATHERING,
    Direction,
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
from hinge.tree import WORLD

#: Sources with one column of blocks, the world's: such columns are computed beside the vectors.
SINGLE = (None, World)
#: The name of a scalar output in the memory of values.
TOTAL = leaf("total", One, One)


def trace(program: Program, binding: Binding) -> Code:
    """Return a program as straight-line code for a bound model."""
    return _Tracer(program, binding).run()


@dataclass
class _Tracer:
    program: Program
    binding: Binding
    inputs: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    active: dict[Column, set[int]] = field(default_factory=dict[Column, set[int]])

    def __post_init__(self) -> None:
        statements = [s for p in self.program.passes for s in p.statements]
        solves = [s for s in self.program.stages if isinstance(s, Solve)]
        sources = {s.target: s.source for s in (*statements, *solves) if s.source is not None}
        sources |= {unit: space for space, unit in self.program.sources.items()}
        self.memory = Memory(self.program, self.binding, sources)

    def run(self) -> Code:
        self._take_inputs()
        self._hinges()
        for k, stage in enumerate(self.program.stages):
            if isinstance(stage, Solve):
                self._solve(stage, k)
            else:
                self._pass(stage, k)
        results = tuple(Result(o.name, o, self._result(o)) for o in self.program.outputs)
        live = {x.index for r in results for x in r.values.flat if isinstance(x, Slot)}
        calls = tuple(reversed(list(self._living(live))))
        inputs = {name: tuple(s) for name, s in self.inputs.items()}
        return Code(calls, inputs, results, self.memory.slots)

    # Inputs.

    def _take_inputs(self) -> None:
        nq = sum(len(self.binding.coordinates(i)) for i in range(len(self.binding.tree)))
        self._take("q", nq)
        for x in self.program.inputs:
            if x.domain is not One:
                self._take_operator(x)
                continue
            self._take(x.name, self.binding.length(x.range))
            for i in self._places(x.range):
                block = np.empty(self.binding.size(x.range, i), dtype=object)
                for k, p in enumerate(self.binding.positions(x.range, i)):
                    block[k] = 0.0 if p < 0 else Slot(self.inputs[x.name][p])
                self.memory.env[x, i, None] = block

    def _take_operator(self, x: Leaf) -> None:
        """Take in an operator of the user's own: the diagonal blocks of a matrix, row by row."""
        if x.structure is not Structure.DIAGONAL or World in (x.range, x.domain):
            raise UnboundLeafError(
                f"{x}: is {x.range} ← {x.domain}, {x.structure.value}, and no value can be given for it; "
                "wanted a block-diagonal operator between Joint, Body, Node, Passive or Active"
            )
        columns = self.binding.length(x.domain)
        self._take(x.name, self.binding.length(x.range) * columns)
        for i in range(len(self.binding.tree)):
            rows, across = self.binding.positions(x.range, i), self.binding.positions(x.domain, i)
            block = np.empty((len(rows), len(across)), dtype=object)
            for (r, c), _ in np.ndenumerate(block):
                shown = rows[r] >= 0 and across[c] >= 0
                block[r, c] = Slot(self.inputs[x.name][rows[r] * columns + across[c]]) if shown else 0.0
            self.memory.env[x, i, None] = block

    def _take(self, name: str, size: int) -> None:
        self.inputs[name] = [self.memory.new_slot() for _ in range(size)]

    def _places(self, space: Space) -> Sequence[int]:
        return (WORLD,) if space is World else range(len(self.binding.tree))

    def _hinges(self) -> None:
        """Trace what depends on q alone, body by body, before all passes."""
        for i in range(len(self.binding.tree)):
            slots = [self.inputs["q"][k] for k in self.binding.coordinates(i)]
            body = BodyKernel(self.memory, i)
            q = np.empty(len(slots), dtype=object)
            q[:] = [body.load(Slot(s)) for s in slots]
            body.store(HINGE, self.binding.hinge(i, q))
            body.finish(-1)

    # Passes.

    def _pass(self, stage: Pass, k: int) -> None:
        plain = [s for s in stage.statements if s.source in SINGLE]
        self._bodies(stage, plain, None, k, self._all(stage.direction))
        for space in dict.fromkeys(s.source for s in stage.statements if s.source not in SINGLE):
            assert space is not None
            family = [s for s in stage.statements if s.source is space]
            for column in self._columns(space):
                visited = self._reached(stage, family, column, k)
                self._bodies(stage, family, column, k, visited)
                self.active.setdefault(column, {column.body}).update(visited)

    def _columns(self, space: Space) -> Iterator[Column]:
        for i in self._places(space):
            if self.binding.size(space, i):
                yield Column(space, i)

    def _all(self, direction: Direction) -> list[int]:
        bodies = list(range(len(self.binding.tree)))
        return [*reversed(bodies), WORLD] if direction is Direction.GATHER else [WORLD, *bodies]

    def _reached(self, stage: Pass, family: Sequence[Statement], column: Column, k: int) -> list[int]:
        """Return the bodies where a column is not zero by its way, in the order of the pass."""
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
        if any(isinstance(s, Solve) or any(t.source is column.space for t in s.statements) for s in later):
            return everything
        variables = {s.target for s in family}
        outputs = [
            o for o in self.program.outputs if isinstance(o, OperatorOutput) and o.variable in variables
        ]
        spaces = {o.variable.range for o in outputs}
        ends = {i for i in everything for sp in spaces if self.binding.size(sp, i)}
        if all(o.mirror for o in outputs):
            ends = {i for i in ends if i <= column.body}
        return {i for e in ends for i in tree.support(e)}

    def _bodies(
        self,
        stage: Pass,
        statements: Sequence[Statement],
        column: Column | None,
        k: int,
        visited: Sequence[int],
    ) -> None:
        if not statements:
            return
        shifted = gathered_edges(statements) if stage.direction is Direction.GATHER else []
        for i in visited:
            body = BodyKernel(self.memory, i, column)
            for s in statements:
                if (s.target.range is World) == (i == WORLD):
                    body.run(s)
            if i != WORLD:
                for edge in shifted:
                    root = self.binding.tree.parents[i] == WORLD
                    if (edge.factors[0] is E0) == root:
                        body.send(edge)
            body.finish(k)

    # Results.

    def _result(self, o: ProgramOutput) -> KnownBlock:
        match o:
            case VectorOutput():
                return self._vector(o.variable)
            case WorldOutput():
                return self.memory.env[o.variable, WORLD, None]
            case OperatorOutput():
                return self._operator(o)
            case ScalarOutput():
                return self._scalar(o)

    def _vector(self, x: Leaf) -> KnownBlock:
        found = zeros(self.binding.length(x.range))
        for i in self._places(x.range):
            block = self.memory.env.get((x, i, None))
            for k, p in enumerate(self.binding.positions(x.range, i)):
                if p >= 0 and block is not None:
                    found[p] = block[k]
        return found

    def _operator(self, o: OperatorOutput, *, shown: bool = True) -> KnownBlock:
        """Return an operator as a matrix in the user's order, or with all rows that blocks have."""
        rows, columns = self._order(o.variable.range, shown), self._order(o.source, shown)
        found = zeros(sum(map(len, rows.values())), sum(map(len, columns.values())))
        if shown:
            found = zeros(self.binding.length(o.variable.range), self.binding.length(o.source))
        for column in self._columns(o.source):
            for i, down in rows.items():
                block = self.memory.env.get((o.variable, i, None if o.source is World else column))
                if block is None or (o.mirror and i > column.body):
                    continue
                for (r, c), value in np.ndenumerate(block):
                    p, q = down[r], columns[column.body][c]
                    if p >= 0 and q >= 0:
                        found[p, q] = value
                        if o.mirror:
                            found[q, p] = value
        return found.T if o.transposed else found

    def _order(self, space: Space, shown: bool) -> dict[int, Sequence[int]]:
        """Return where the block of each body stands: for the user, or one after the other."""
        if shown:
            return {i: self.binding.positions(space, i) for i in self._places(space)}
        found: dict[int, Sequence[int]] = {}
        start = 0
        for i in self._places(space):
            found[i] = range(start, start + self.binding.size(space, i))
            start += self.binding.size(space, i)
        return found

    def _scalar(self, o: ScalarOutput) -> KnownBlock:
        body = BodyKernel(self.memory, WORLD)
        total: Any = 0.0
        for c, x, y in o.products:
            for i in self._places(x.range):
                total = total + c * (body.at(x, i) @ body.at(y, i) if self.binding.size(x.range, i) else 0.0)
        for c, x in o.determinants:
            for i in self._places(x.range):
                for pivot in pivots_of(self._block(body, x, i))[1]:
                    total = total + 0.5 * c * _log(pivot * pivot)
        block = np.empty(1, dtype=object)
        block[0] = total
        body.store(TOTAL, block)
        body.finish(len(self.program.stages))
        return self.memory.env[TOTAL, WORLD, None].reshape(())

    def _block(self, body: BodyKernel, x: Leaf, i: int) -> KnownBlock:
        """Return a block that was computed, or one that the model gives."""
        try:
            return body.at(x, i)
        except KeyError:
            found = self.binding.value(x, i, body.at(HINGE, i))
            assert found is not None, f"{x} has no value at a body"
            return found

    def _solve(self, s: Solve, k: int) -> None:
        matrix = self._operator(s.operator, shown=False)
        order = self._order(s.target.range, shown=False)
        columns = [None] if s.source is None or s.source is World else list(self._columns(s.source))
        rights: list[KnownBlock] = []
        results: list[KnownBlock] = []
        for column in columns:
            width = () if s.source is None else (self.memory.width(s.source, column),)
            right, result = zeros(len(matrix), *width), zeros(len(matrix), *width)
            result.flat[:] = [Slot(self.memory.new_slot()) for _ in range(result.size)]
            for i, where in order.items():
                block = self.memory.env.get((s.right, i, column))
                if block is not None:
                    right[list(where)] = block
                self.memory.env[s.target, i, column] = result[list(where)]
            rights.append(right.reshape(len(matrix), width[0] if width else 1))
            results.append(result.reshape(len(matrix), width[0] if width else 1))
            if column is not None:
                self.active.setdefault(column, set()).update(order)
        if rights and len(matrix):
            right, result = np.concatenate(rights, axis=1), np.concatenate(results, axis=1)
            self.memory.calls.append(DenseCall(matrix, right, result, k))

    def _living(self, live: set[int]) -> Iterator[Call | DenseCall]:
        """Yield the calls from the last to the first, without what nothing reads."""
        for call in reversed(self.memory.calls):
            if isinstance(call, DenseCall):
                if any(x.index in live for x in call.result.flat):
                    reads = (*call.matrix.flat, *call.right.flat)
                    live |= {x.index for x in reads if isinstance(x, Slot)}
                    yield call
                continue
            closed = call.close(live)
            if closed is not None:
                live |= set(closed.loads)
                yield closed


def _log(x: Any) -> Any:
    return x.log() if isinstance(x, Traced) else float(np.log(x))


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
