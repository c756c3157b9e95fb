"""Tracing: a program on a binding becomes straight-line kernels, one for each pass and body.

Values cross from kernel to kernel through slots. A slot that holds a constant, or the same value as
another up to sign, is no slot at all: what is known stays known from body to body, so that zeros, unit
vectors and the pattern of a rigid inertia fold away. Dead slots are dropped from the end backwards, over
all passes: linear velocities, which nothing reads, are never computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hinge.algebra import (
    E0,
    Adjoint,
    Expr,
    Inverse,
    Leaf,
    One,
    Product,
    Space,
    Structure,
    Sum,
    World,
    Zero,
    leaf,
    leaves,
    product,
)
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.kernels import Graph, Kernel, Operations, count, finish
from hinge.kernels import Scalar as Traced
from hinge.sweeps.contract import Binding, Block, Step, zeros
from hinge.sweeps.program import (
    EDGES,
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
    is_congruence,
    operand,
)
from hinge.tree import WORLD


class Slot(NamedTuple):
    """A number that one kernel stores and others load; `negative` when it is meant with the other sign."""

    index: int
    negative: bool = False


Known: TypeAlias = float | Slot


class Column(NamedTuple):
    """One block of columns: of a source space, the block of one body (or of one node on it)."""

    space: Space
    body: int


@dataclass(frozen=True)
class Call:
    """A kernel in its place: which slots it loads and stores."""

    kernel: Kernel
    loads: tuple[int, ...]
    stores: tuple[int, ...]
    stage: int
    body: int
    column: Column | None = None


NDKnown: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class DenseCall:
    """A dense solve in its place: matrix, right sides and results as slots or constants."""

    matrix: NDKnown
    right: NDKnown
    result: NDKnown
    stage: int


@dataclass(frozen=True)
class Result:
    """An output as an array of slots and constants, in the user's order."""

    name: str
    output: ProgramOutput
    values: NDKnown


@dataclass(frozen=True)
class Code:
    """A program as straight-line code: calls in order, where inputs are, where outputs come from."""

    calls: tuple[Call | DenseCall, ...]
    inputs: Mapping[str, tuple[int, ...]]
    lengths: Mapping[str, tuple[int, ...]]
    results: tuple[Result, ...]
    slots: int

    def operations(self, stage: int | None = None) -> Operations:
        """Return the operations of one evaluation, of all stages or of one."""
        memo: dict[Kernel, Operations] = {}
        total = Operations()
        for c in self.calls:
            if isinstance(c, Call) and (stage is None or c.stage == stage):
                if c.kernel not in memo:
                    memo[c.kernel] = count(c.kernel)
                total = total + memo[c.kernel]
        return total


def trace(program: Program, binding: Binding) -> Code:
    """Return a program as straight-line code for a bound model."""
    return _Tracer(program, binding).run()


@dataclass
class _Tracer:
    program: Program
    binding: Binding
    slots: int = 0
    calls: list[Call | DenseCall] = field(default_factory=list[Any])
    env: dict[tuple[Expr, int, Column | None], NDKnown] = field(default_factory=dict[Any, Any])
    inputs: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    lengths: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    active: dict[Column, set[int]] = field(default_factory=dict[Column, set[int]])

    def __post_init__(self) -> None:
        #: Of variables that hold columns: the space whose columns they are.
        statements = [s for p in self.program.passes for s in p.statements]
        solves = [s for s in self.program.stages if isinstance(s, Solve)]
        self.sources = {s.target: s.source for s in (*statements, *solves) if s.source is not None}
        self.sources |= {unit: space for space, unit in self.program.sources.items()}

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
        return Code(calls, inputs, self.lengths, results, self.slots)

    def _new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    # Inputs.

    def _take_inputs(self) -> None:
        nq = sum(len(self.binding.coordinates(i)) for i in range(len(self.binding.tree)))
        self._take("q", nq)
        for x in self.program.inputs:
            self._take(x.name, self.binding.length(x.range))
            for i in self._places(x.range):
                block = np.empty(self.binding.size(x.range, i), dtype=object)
                for k, p in enumerate(self.binding.positions(x.range, i)):
                    block[k] = 0.0 if p < 0 else Slot(self.inputs[x.name][p])
                self.env[x, i, None] = block

    def _take(self, name: str, size: int) -> None:
        self.inputs[name] = [self._new_slot() for _ in range(size)]
        self.lengths[name] = (size,)

    def _places(self, space: Space) -> Sequence[int]:
        return (WORLD,) if space is World else range(len(self.binding.tree))

    def _hinges(self) -> None:
        """Trace what depends on q alone, body by body, before all passes."""
        for i in range(len(self.binding.tree)):
            slots = [self.inputs["q"][k] for k in self.binding.coordinates(i)]
            body = _Body(self, i, None, None)
            q = np.empty(len(slots), dtype=object)
            q[:] = [body.load(Slot(s)) for s in slots]
            body.store(_HINGE, self.binding.hinge(i, q))
            body.finish(-1)

    # Passes.

    def _pass(self, stage: Pass, k: int) -> None:
        plain = [s for s in stage.statements if s.source in _SINGLE]
        self._bodies(stage, plain, None, k, self._all(stage.direction))
        for space in dict.fromkeys(s.source for s in stage.statements if s.source not in _SINGLE):
            assert space is not None
            family = [s for s in stage.statements if s.source is space]
            for column in self._columns(space):
                visited = self._reached(stage, family, column, k)
                self._bodies(stage, family, column, k, visited)
                self.active.setdefault(column, {column.body}).update(visited)

    def _columns(self, space: Space | None) -> Iterator[Column]:
        for i in self._places(space) if space is not None else ():
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
        shifted = _gathered(statements) if stage.direction is Direction.GATHER else []
        for i in visited:
            body = _Body(self, i, column, stage.direction)
            for s in statements:
                if (s.target.range is World) == (i == WORLD):
                    body.run(s)
            if i != WORLD:
                for edge in shifted:
                    root = self.binding.tree.parents[i] == WORLD
                    if (edge.factors[0] is E0) == root:
                        body.send(edge)
            body.finish(k)

    def width(self, space: Space, column: Column | None) -> int:
        """Return how many columns a variable of a source space has in a kernel."""
        if space is World:
            return self.binding.size(World, WORLD)
        assert column is not None
        return self.binding.size(space, column.body)

    # Results.

    def _result(self, o: ProgramOutput) -> NDKnown:
        match o:
            case VectorOutput():
                return self._vector(o.variable)
            case WorldOutput():
                return self.env[o.variable, WORLD, None]
            case OperatorOutput():
                return self._operator(o)
            case ScalarOutput():
                return self._scalar(o)

    def _vector(self, x: Leaf) -> NDKnown:
        found = zeros(self.binding.length(x.range))
        for i in self._places(x.range):
            block = self.env.get((x, i, None))
            for k, p in enumerate(self.binding.positions(x.range, i)):
                if p >= 0 and block is not None:
                    found[p] = block[k]
        return found

    def _operator(self, o: OperatorOutput) -> NDKnown:
        rows, columns = o.variable.range, o.source
        found = zeros(self.binding.length(rows), self.binding.length(columns))
        for column in self._columns(columns):
            across = self.binding.positions(columns, column.body)
            for i in self._places(rows):
                block = self.env.get((o.variable, i, None if columns is World else column))
                if block is None or (o.mirror and i > column.body):
                    continue
                for r, p in enumerate(self.binding.positions(rows, i)):
                    for c, q in enumerate(across):
                        if p >= 0 and q >= 0:
                            found[p, q] = block[r, c]
                            if o.mirror:
                                found[q, p] = block[r, c]
        return found.T if o.transposed else found

    def _scalar(self, o: ScalarOutput) -> NDKnown:
        body = _Body(self, WORLD, None, None)
        total: Any = 0.0
        for c, x, y in o.products:
            for i in self._places(x.range):
                total = total + c * (body.at(x, i) @ body.at(y, i) if self.binding.size(x.range, i) else 0.0)
        for c, x in o.determinants:
            for i in self._places(x.range):
                for pivot in _pivots(body.at(x, i))[1]:
                    total = total + c * (pivot.log() if isinstance(pivot, Traced) else float(np.log(pivot)))
        block = np.empty(1, dtype=object)
        block[0] = total
        body.store(_TOTAL, block)
        body.finish(len(self.program.stages))
        return self.env[_TOTAL, WORLD, None].reshape(())

    def _solve(self, s: Solve, k: int) -> None:
        matrix = self._operator(s.operator)
        space = s.target.range
        columns = [None] if s.source in _SINGLE else list(self._columns(s.source))
        rights: list[NDKnown] = []
        results: list[NDKnown] = []
        for column in columns:
            width = (
                (6,) if s.source is World else () if column is None else (self.width(column.space, column),)
            )
            right, result = zeros(len(matrix), *width), zeros(len(matrix), *width)
            result.flat[:] = [Slot(self._new_slot()) for _ in range(result.size)]
            for i in self._places(space):
                where = list(self.binding.positions(space, i))
                block = self.env.get((s.right, i, column))
                if block is not None:
                    right[where] = block
                self.env[s.target, i, column] = result[where]
            rights.append(right.reshape(len(matrix), -1))
            results.append(result.reshape(len(matrix), -1))
            if column is not None:
                self.active.setdefault(column, set()).update(self._places(space))
        self.calls.append(
            DenseCall(matrix, np.concatenate(rights, axis=1), np.concatenate(results, axis=1), k)
        )

    def _living(self, live: set[int]) -> Iterator[Call | DenseCall]:
        """Yield the calls from the last to the first, without what nothing reads."""
        for call in reversed(self.calls):
            if isinstance(call, DenseCall):
                if any(x.index in live for x in call.result.flat):
                    reads = (*call.matrix.flat, *call.right.flat)
                    live |= {x.index for x in reads if isinstance(x, Slot)}
                    yield call
                continue
            keep = [n for n, s in enumerate(call.stores) if s in live]
            if not keep:
                continue
            kernel = call.kernel if len(keep) == len(call.stores) else call.kernel.restricted(keep)
            loads = tuple(call.loads[n] for n in kernel.inputs)
            live |= set(loads)
            yield replace(
                call, kernel=_renumbered(kernel), loads=loads, stores=tuple(call.stores[n] for n in keep)
            )


#: Sources with one column of blocks, the world's: such columns are computed beside the vectors.
_SINGLE = (None, World)
#: What depends on q alone, and a scalar output, in the environment of values.
_HINGE = leaf("hinge", One, One)
_TOTAL = leaf("total", One, One)


class _Body:
    """One kernel under construction: what happens at a body in a pass."""

    def __init__(
        self, tracer: _Tracer, body: int, column: Column | None, direction: Direction | None
    ) -> None:
        self.tracer, self.body, self.column, self.direction = tracer, body, column, direction
        self.binding = tracer.binding
        self.graph = Graph()
        self.made: dict[tuple[Expr, int, Column | None], Block] = {}
        self.memo: dict[Expr, Block] = {}
        self.loaded: dict[tuple[Expr, int, Column | None], Block] = {}
        self._step: Step | None = None

    def load(self, x: Known) -> Any:
        """Return a slot as an input of the kernel, a constant as it is."""
        if isinstance(x, Slot):
            found = self.graph.input(x.index)
            return -found if x.negative else found
        return x

    def at(self, x: Expr, body: int) -> Block:
        """Return a value that another kernel stored, or this one just made; zero where there is none."""
        for column in (self.column, None):
            key = (x, body, column)
            if key in self.made:
                return self.made[key]
            if key in self.loaded:
                return self.loaded[key]
            if key in self.tracer.env:
                known = self.tracer.env[key]
                found = np.empty(known.shape, dtype=object)
                found.flat[:] = [self.load(v) for v in known.flat]
                self.loaded[key] = found
                return found
        raise KeyError(x)

    @property
    def hinge(self) -> Block:
        """What depends on the joint's q alone."""
        return self.at(_HINGE, self.body)

    @property
    def step(self) -> Step:
        """The way to the parent."""
        if self._step is None:
            self._step = self.binding.step(self.body, self.hinge)
        return self._step

    def run(self, s: Statement) -> None:
        """Evaluate a statement and store its target."""
        try:
            if s.value is None:
                needs = [self.value(n) for n in s.needs]
                found = self.binding.formula(s.target, self.body, self.hinge, needs)
            else:
                found = self.value(s.value)
        except ZeroDivisionError:
            raise ArgumentError(
                f"{s.target}: the hinge of body {self.body} carries no inertia, so its acceleration is not "
                "determined; give the bodies beyond it mass, or its rotor inertia, or make the joint fixed"
            ) from None
        self.store(s.target, found)

    def send(self, edge: Product) -> None:
        """Evaluate what this body sends to its parent over an edge, and store it."""
        x = self.value(operand(edge))
        moved = self.step.inertia_to_parent(x) if is_congruence(edge) else self.step.to_parent(x)
        self.store(edge, moved)

    def store(self, target: Expr, value: Block) -> None:
        """Keep a value for the rest of this kernel and for others."""
        value = np.asarray(value, dtype=object)
        if (
            isinstance(target, Leaf)
            and target.self_adjoint
            or (isinstance(target, Product) and is_congruence(target))
        ):
            value = _mirrored(value)
        self.made[target, self.body, self.column] = value

    def finish(self, stage: int) -> None:
        """Close the kernel: give each new value a slot, and those that are known or equal none."""
        tracer = self.tracer
        slots: dict[tuple[int, bool], int] = {}
        outputs: dict[int, Any] = {}
        stores: list[int] = []
        origin = {key: node for node, key in self._input_nodes()}
        for key, block in self.made.items():
            known = np.empty(block.shape, dtype=object)
            for where, x in np.ndenumerate(block):
                known[where] = self._known(x, slots, outputs, stores, origin)
            tracer.env[key] = known
        if outputs:
            kernel = finish(self.graph, outputs)
            loads = kernel.inputs
            tracer.calls.append(
                Call(_renumbered(kernel), tuple(loads), tuple(stores), stage, self.body, self.column)
            )

    def _input_nodes(self) -> list[tuple[int, int]]:
        return [
            (key, n)
            for n, key in ((n, node[1]) for n, node in enumerate(self.graph.nodes) if node[0] == "input")
        ]

    def _known(
        self,
        x: Any,
        slots: dict[tuple[int, bool], int],
        outputs: dict[int, Any],
        stores: list[int],
        origin: dict[int, int],
    ) -> Known:
        if not isinstance(x, Traced):
            return float(x)
        if x.index in origin:
            return Slot(origin[x.index], x.negative)
        if (x.index, True) not in slots:
            slot = self.tracer._new_slot()  # pyright: ignore[reportPrivateUsage]
            slots[x.index, True] = slot
            outputs[len(stores)] = -x if x.negative else x
            stores.append(slot)
        return Slot(slots[x.index, True], x.negative)

    # Values.

    def value(self, e: Expr) -> Block:
        """Return an expression at this body."""
        if e not in self.memo:
            self.memo[e] = self._value(e)
        return self.memo[e]

    def _value(self, e: Expr) -> Block:
        match e:
            case Leaf():
                return self._leaf(e)
            case Adjoint():
                return self.value(e.leaf).T
            case Sum():
                total: Any = None
                for c, t in e.terms:
                    x = self.value(t)
                    x = x if c == 1 else -x if c == -1 else float(c) * x
                    total = x if total is None else _added(total, x)
                return total
            case Product() if e.factors[0] in EDGES:
                return self._edge(e)
            case Product():
                return _times(self.value(e.factors[0]), self.value(_rest(e)))
            case Inverse():
                return symmetric_inverse(self.value(e.argument))
            case Zero():
                return zeros(self.binding.size(e.range, self.body))
            case _:
                raise AssertionError(f"{e} has no value at a body")

    def _leaf(self, e: Leaf) -> Block:
        if e is self.tracer.program.sources.get(e.range):
            return self._unit(e, self.body)
        try:
            return self.at(e, self.body)
        except KeyError:
            pass
        if e.structure is Structure.VECTOR:
            return self._blank(self.binding.size(e.range, self.body), e)
        found = self.binding.value(e, self.body, self.hinge)
        if found is None:
            raise UnboundLeafError(
                f"{e}: is {e.range} ← {e.domain}, and the model gives no value for it; replace it by letters "
                "that the model knows"
            )
        return found

    def _blank(self, size: int, *parts: Expr) -> Block:
        """Return zeros for a vector, or for columns when the parts hold columns."""
        spaces = {self.tracer.sources[x] for e in parts for x in leaves(e) if x in self.tracer.sources}
        return zeros(size, self.tracer.width(spaces.pop(), self.column)) if spaces else zeros(size)

    def _unit(self, unit: Leaf, body: int) -> Block:
        found = self._blank(self.binding.size(unit.range, body), unit)
        home = WORLD if unit.range is World or self.column is None else self.column.body
        for k in range(found.shape[1] if body == home else 0):
            found[k, k] = 1.0
        return found

    def _edge(self, e: Product) -> Block:
        """Return what comes over an edge: from the children, or from the parent."""
        if e.factors[0] in GATHERING:
            return self._from_children(e)
        x = operand(e)
        parent = self.binding.tree.parents[self.body]
        if (e.factors[0] is E0.T) != (parent == WORLD):
            size = self.binding.size(e.range, self.body)
            return zeros(size, size) if is_congruence(e) else self._blank(size, x)
        assert isinstance(x, Leaf)
        above = self._above(x, parent)
        return self.step.compliance_to_child(above) if is_congruence(e) else self.step.to_child(above)

    def _above(self, x: Leaf, parent: int) -> Block:
        if x in self.tracer.program.sources.values():
            return self._unit(x, parent)
        try:
            return self.at(x, parent)
        except KeyError:
            return self._blank(self.binding.size(x.range, parent), x)

    def _from_children(self, e: Product) -> Block:
        tree = self.binding.tree
        senders = tree.roots if self.body == WORLD else tree.children[self.body]
        size = self.binding.size(e.range, self.body)
        total: Any = zeros(size, size) if is_congruence(e) else self._blank(size, e)
        for c in senders:
            try:
                total = _added(total, self.at(e, c))
            except KeyError:
                continue
        return total


def _gathered(statements: Sequence[Statement]) -> list[Product]:
    """Return the edges over which bodies send something towards the base."""
    found: dict[Product, None] = {}
    for s in statements:
        for e in (s.value,) if s.value is not None else s.needs:
            found.update(dict.fromkeys(edges(e, GATHERING)))
    return list(found)


def _rest(e: Product) -> Expr:
    return product(*e.factors[1:])


def _times(x: Block, y: Block) -> Block:
    """Return x y; a sum over nothing is zero."""
    if x.shape[-1] == 0:
        return zeros(*x.shape[:-1], *y.shape[1:])
    return x @ y


def _added(x: Block, y: Block) -> Block:
    return x + y


def _mirrored(x: Block) -> Block:
    """Return a symmetric block with the lower triangle taken from the upper one."""
    found = x.copy()
    for i in range(len(x)):
        for j in range(i):
            found[i, j] = x[j, i]
    return found


def symmetric_inverse(x: Block) -> Block:
    """Return the inverse of a symmetric positive definite block by L D Lᵀ, without pivoting."""
    n = len(x)
    low, pivots = _pivots(x)
    inverse = zeros(n, n)
    for j in range(n):
        inverse[j, j] = 1.0
        for i in range(j + 1, n):
            inverse[i, j] = -sum((low[i, k] * inverse[k, j] for k in range(j, i)), start=0.0)
    scaled = zeros(n, n)
    for k in range(n):
        reciprocal = 1.0 / pivots[k]
        for j in range(k + 1):
            scaled[k, j] = reciprocal * inverse[k, j]
    found = zeros(n, n)
    for i in range(n):
        for j in range(i, n):
            found[i, j] = found[j, i] = sum((inverse[k, i] * scaled[k, j] for k in range(j, n)), start=0.0)
    return found


def _pivots(x: Block) -> tuple[Block, list[Any]]:
    """Return L (unit lower triangular) and the pivots D of x = L D Lᵀ."""
    n = len(x)
    low, pivots = zeros(n, n), list[Any]()
    for j in range(n):
        pivot = x[j, j]
        for k in range(j):
            pivot = pivot - low[j, k] * low[j, k] * pivots[k]
        pivots.append(pivot)
        for i in range(j + 1, n):
            rest = x[i, j]
            for k in range(j):
                rest = rest - low[i, k] * low[j, k] * pivots[k]
            low[i, j] = rest / pivot
    return low, pivots


def _renumbered(kernel: Kernel) -> Kernel:
    """Return a kernel whose inputs and outputs are numbered, so that equal ones are shared."""
    outputs = tuple(o._replace(key=n) for n, o in enumerate(kernel.outputs))
    return Kernel(tuple(range(len(kernel.inputs))), kernel.instructions, outputs)
