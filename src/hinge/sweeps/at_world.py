"""The stages at the world: formulas of values at all bodies, dense products and dense solves.

Here are also operators as matrices, which solves take and results show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge.algebra import Answered, Leaf, Letter, One, Space, Structure, World, leaf, leaf_of
from hinge.sweeps.body import BodyKernel
from hinge.sweeps.code import Column, DenseCall, KnownBlock, Slot
from hinge.sweeps.contract import Binding, has_blocks_at_bodies, zeros
from hinge.sweeps.family import Family
from hinge.sweeps.program import Apply, Meet, OperatorOutput, Program, Solve
from hinge.sweeps.slots import Memory, as_entry
from hinge.tree import WORLD

#: The name of an operator that is a sum over bodies.
GRAM = leaf("gram", One, One, Structure.DIAGONAL, self_adjoint=True)
#: The name of the rows of its root.
ROOT = leaf("root", One, One, Structure.DIAGONAL)


@dataclass
class AtWorld:
    """The part of a trace that happens at the world; `active` is where columns are not zero."""

    program: Program
    binding: Binding
    active: dict[Column, set[int]] = field(default_factory=dict[Column, set[int]])
    grams: dict[tuple[Leaf, Leaf, float], KnownBlock] = field(default_factory=dict[Any, Any])

    def __post_init__(self) -> None:
        statements = [s for p in self.program.passes for s in p.statements]
        dense = [s for s in self.program.stages if isinstance(s, Solve | Apply)]
        sources = {s.target: s.source for s in (*statements, *dense) if s.source is not None}
        sources |= {unit: space for space, unit in self.program.sources.items()}
        self.memory = Memory(self.program, self.binding, sources)

    def run_stage(self, stage: Solve | Apply | Meet, k: int) -> None:
        """Trace a stage at the world."""
        match stage:
            case Solve():
                self._solve(stage, k)
            case Apply():
                self._apply(stage, k)
            case Meet():
                self._meet(stage, k)

    # Places.

    def places(self, space: Space) -> Sequence[int]:
        """Return the bodies at which a space has blocks, or the world."""
        return range(len(self.binding.tree)) if has_blocks_at_bodies(space) else (WORLD,)

    def reaches(self, column: Column, bodies: Iterable[int]) -> None:
        """Note where a column is not zero; at its own body it never is."""
        self.active.setdefault(column, {column.body}).update(bodies)

    def columns(self, space: Space) -> Iterator[Column]:
        """Yield the columns of a source space."""
        for i in self.places(space):
            if self.binding.size(space, i):
                yield Column(space, i)

    # Operators as matrices.

    def operator(self, o: OperatorOutput, *, shown: bool = True, stage: int | None = None) -> KnownBlock:
        """Return an operator as a matrix in the user's order, or with hidden rows."""
        if o.middle is not None:
            return self._gram(o, o.middle, shown, len(self.program.stages) if stage is None else stage)
        rows, columns = self.order(o.variable.range, shown), self.order(o.source, shown)
        found = zeros(sum(map(len, rows.values())), sum(map(len, columns.values())))
        if shown:
            found = zeros(self.binding.length(o.variable.range), self.binding.length(o.source))
        for column in self.columns(o.source):
            for i, down in rows.items():
                if o.below is not None and i != column.body:
                    self._put_below(found, o.below, column, i, columns)
                block = self.memory.get(o.variable, i, None if o.source is World else column)
                if block is None or (o.mirror and i > column.body):
                    continue
                across = columns[column.body]
                for p, row in zip(down, block.shown().tolist(), strict=True):
                    for q, value in zip(across, row, strict=True):
                        if p >= 0 and q >= 0:
                            found[p, q] = value
                            if o.mirror:
                                found[q, p] = value
        return found.T if o.transposed else found

    def _put_below(
        self, found: KnownBlock, below: Leaf, column: Column, i: int, order: Mapping[int, Sequence[int]]
    ) -> None:
        """Put the transposed block of a column at a body beyond the diagonal."""
        block = self.memory.get(below, i, column)
        for (r, c), value in np.ndenumerate(() if block is None else block.shown()):
            p, q = order[column.body][c], order[i][r]
            if p >= 0 and q >= 0:
                found[p, q] = value

    def _gram(self, o: OperatorOutput, middle: Leaf, shown: bool, stage: int) -> KnownBlock:
        """Return the sum over bodies of variableᵀ middle variable, columns of a space at the world."""
        key = o.variable, middle, o.scale
        if key not in self.grams:
            self.grams[key] = self._sum_of_products(o, middle, stage)
        whole = self.grams[key]
        if not shown:
            return whole
        places = list(self.binding.positions(o.source, WORLD))
        result = zeros(self.binding.length(o.source), self.binding.length(o.source))
        result[np.ix_(places, places)] = whole
        return result

    def _sum_of_products(self, o: OperatorOutput, middle: Leaf, stage: int) -> KnownBlock:
        column = Column(o.source, WORLD)
        self.memory.table(GRAM, None).clear()

        def add(body: BodyKernel) -> None:
            before, columns = body.at(GRAM, body.near[1]), body.column_of(o.variable, column)
            assert columns is not None
            found = body.congruence(middle, columns)
            found = found if o.scale == 1 else o.scale * found
            body.store(GRAM, found if before is None else before + found)

        family, last = Family(self.memory, stage, add), WORLD
        for i in self.memory.table(o.variable, column):
            if i != WORLD and self.binding.size(o.variable.range, i):
                family.run(i, near=(i, last))
                last = i
        total, size = self.memory.get(GRAM, last), self.binding.size(o.source, WORLD)
        return zeros(size, size) if total is None else total.shown()

    def _root_of(self, o: OperatorOutput, stage: int) -> KnownBlock:
        """Return W with Wᵀ W = the operator, a sum over bodies: the rows of one body below another's."""
        assert o.middle is not None and o.scale > 0, "a law answers operators that are sums over bodies"
        column, middle = Column(o.source, WORLD), o.middle
        self.memory.table(ROOT, None).clear()

        def root(body: BodyKernel) -> None:
            columns = body.column_of(o.variable, column)
            assert columns is not None
            found = body.root_of_congruence(middle, columns)
            body.store(ROOT, found if o.scale == 1 else o.scale**0.5 * found)

        family, rows = Family(self.memory, stage, root), list[KnownBlock]()
        for i in self.memory.table(o.variable, column):
            if i != WORLD and self.binding.size(o.variable.range, i):
                family.run(i, near=(i, i))
                found = self.memory.get(ROOT, i)
                rows += [] if found is None else [found.shown()]
        return np.concatenate(rows) if rows else zeros(0, self.binding.size(o.source, WORLD))

    def order(self, space: Space, shown: bool) -> dict[int, Sequence[int]]:
        """Return the indices of each body's block: in the user's order, or consecutive."""
        if shown:
            return {i: self.binding.positions(space, i) for i in self.places(space)}
        found: dict[int, Sequence[int]] = {}
        start = 0
        for i in self.places(space):
            found[i] = range(start, start + self.binding.size(space, i))
            start += self.binding.size(space, i)
        return found

    # Stages.

    def _answer(self, s: Solve, answer: Answered, k: int) -> None:
        """Answer a law: λ and its measures, each a column of the result."""
        matrix = self._root_of(s.operator, k)
        size = matrix.shape[1]
        right, result = zeros(size, 3), zeros(size, 3)
        result.flat[:] = [Slot(n) for n in self.memory.new_slots(result.size)]
        for c, x in enumerate((s.right, *answer.inputs)):
            given = self.memory.get(x, WORLD)
            assert given is not None, f"{x} has no value at the world"
            right[:, c] = given.shown()
        for c, x in enumerate((s.target, *answer.measures)):
            self.memory.put(x, WORLD, None, (size,), [2 * y.index for y in result[:, c]])
        if size:
            self.memory.calls.append(DenseCall(matrix, right, result, k, law=self.binding.law))

    def _solve(self, s: Solve, k: int) -> None:
        if s.answer is not None:
            self._answer(s, s.answer, k)
            return
        matrix = self.operator(s.operator, shown=False, stage=k)
        order = self.order(s.target.range, shown=False)
        columns = [None] if s.source is None or s.source is World else list(self.columns(s.source))
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
                self.reaches(column, order)
        if rights and len(matrix):
            right, result = np.concatenate(rights, axis=1), np.concatenate(results, axis=1)
            self.memory.calls.append(DenseCall(matrix, right, result, k, s.positive, s.floored))

    def _apply(self, s: Apply, k: int) -> None:
        """Multiply by a dense matrix, in a kernel at the world that reads from all bodies."""
        places = [i for i in self.places(s.right.range) if self.binding.size(s.right.range, i)]
        order = {i: at for i, at in self.order(s.target.range, shown=False).items() if len(at)}

        def multiply(world: BodyKernel) -> None:
            world.store(s.target, world.dense_product(s.operator, s.right, places))

        family = Family(self.memory, k, multiply)
        for column in [None] if s.source is None or s.source is World else list(self.columns(s.source)):
            if s.right is self.program.sources.get(s.right.range):
                whole = self._columns_of(s.operator, column)
            else:
                family.run(WORLD, column, near=(WORLD, WORLD, *places))
                whole = self.memory.table(s.target, column).pop(WORLD).shown()
            for i, where in order.items():
                block = whole[list(where)]
                self.memory.put(s.target, i, column, block.shape, [as_entry(x) for x in block.flat])
            if column is not None:
                self.reaches(column, order)

    def _meet(self, s: Meet, k: int) -> None:
        """Evaluate a formula at the world, in a kernel that reads from all bodies with ends of closures."""
        at = {n: [i for i in self.places(n.range) if self.binding.size(n.range, i)] for n in s.needs}

        def meet(world: BodyKernel) -> None:
            needs = [world.stack(n, places) for n, places in at.items()]
            world.store(s.target, world.world.formula(s.target, needs))

        near = dict.fromkeys(i for places in at.values() for i in places)
        Family(self.memory, k, meet).run(WORLD, near=(WORLD, WORLD, *near))

    def _columns_of(self, operator: Letter, column: Column | None) -> KnownBlock:
        """Return a dense matrix times unit columns: its columns, without arithmetic."""
        given = self.memory.get(leaf_of(operator), WORLD)
        assert given is not None
        matrix = given.shown() if isinstance(operator, Leaf) else given.shown().T
        home = WORLD if column is None else column.body
        return matrix[:, list(self.order(operator.domain, shown=False)[home])]
