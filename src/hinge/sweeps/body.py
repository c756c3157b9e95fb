"""One kernel under construction: what the statements of a pass come to at one body."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge.algebra import (
    E0,
    Adjoint,
    Expr,
    Identity,
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
from hinge.kernels import Graph, finish
from hinge.kernels import Scalar as Traced
from hinge.sweeps.code import Call, Column, DenseCall, Known, KnownBlock, Slot, renumbered
from hinge.sweeps.contract import Binding, Block, Step, unit_block, zeros
from hinge.sweeps.factor import symmetric_inverse
from hinge.sweeps.program import EDGES, GATHERING, Program, Statement, is_congruence, operand
from hinge.tree import WORLD

#: A hinge inertia that is known beforehand and worse conditioned than this is taken for singular.
SINGULAR = 1e13
#: What depends on q alone, in the memory of values.
HINGE = leaf("hinge", One, One)


@dataclass(frozen=True)
class OpenCall:
    """A kernel whose dead code is not yet known: traced values by the slot that they are stored in."""

    graph: Graph
    outputs: Mapping[int, Any]
    stage: int
    body: int
    column: Column | None

    def close(self, live: Set[int]) -> Call | None:
        """Return the call that stores the slots that are read later, or None."""
        kept = {slot: x for slot, x in self.outputs.items() if slot in live}
        if not kept:
            return None
        kernel = finish(self.graph, kept)
        loads: tuple[Any, ...] = kernel.inputs
        return Call(renumbered(kernel), loads, tuple(kept), self.stage, self.body, self.column)


@dataclass
class Memory:
    """What kernels share while a program is traced: values in slots, and the calls so far.

    `sources` says of variables that hold columns whose columns they are.
    """

    program: Program
    binding: Binding
    sources: dict[Leaf, Space]
    slots: int = 0
    calls: list[OpenCall | DenseCall] = field(default_factory=list[Any])
    env: dict[tuple[Expr, int, Column | None], KnownBlock] = field(default_factory=dict[Any, Any])

    def new_slot(self) -> int:
        """Return a slot that nobody has."""
        self.slots += 1
        return self.slots - 1

    def width(self, space: Space, column: Column | None) -> int:
        """Return how many columns a variable of a source space has in a kernel."""
        if space is World:
            return self.binding.size(World, WORLD)
        assert column is not None
        return self.binding.size(space, column.body)


class BodyKernel:
    """One kernel under construction: what happens at a body in a pass."""

    def __init__(self, memory: Memory, body: int, column: Column | None = None) -> None:
        self.memory, self.body, self.column = memory, body, column
        self.binding = memory.binding
        self.graph = Graph()
        self.made: dict[tuple[Expr, int, Column | None], Block] = {}
        self.memo: dict[Expr, Block] = {}
        self.loaded: dict[tuple[Expr, int, Column | None], Block] = {}
        self.origin: dict[int, int] = {}
        self._step: Step | None = None

    def load(self, x: Known) -> Any:
        """Return a slot as an input of the kernel, a constant as it is."""
        if isinstance(x, Slot):
            found = self.graph.input(x.index)
            self.origin[found.index] = x.index
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
            if key in self.memory.env:
                known = self.memory.env[key]
                found = np.empty(known.shape, dtype=object)
                found.flat[:] = [self.load(v) for v in known.flat]
                self.loaded[key] = found
                return found
        raise KeyError(x)

    @property
    def hinge(self) -> Block:
        """What depends on the joint's q alone."""
        return self.at(HINGE, self.body)

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
                f"{self.binding.name(self.body)} carries no inertia, so its acceleration is not determined; "
                "give the bodies beyond it mass, or the joint rotor inertia, or make it fixed"
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
        symmetric = is_congruence(target) if isinstance(target, Product) else is_symmetric(target)
        if symmetric:
            value = _mirrored(value)
        self.made[target, self.body, self.column] = value

    def finish(self, stage: int) -> None:
        """Close the kernel: each new value gets a slot; what is constant, or equal up to sign, none."""
        slots: dict[int, int] = {}
        outputs: dict[int, Any] = {}
        for key, block in self.made.items():
            known = np.empty(block.shape, dtype=object)
            for where, x in np.ndenumerate(block):
                known[where] = self._known(x, slots, outputs)
            self.memory.env[key] = known
        if outputs:
            self.memory.calls.append(OpenCall(self.graph, outputs, stage, self.body, self.column))

    def _known(self, x: Any, slots: dict[int, int], outputs: dict[int, Any]) -> Known:
        if not isinstance(x, Traced):
            return float(x)
        if x.index in self.origin:
            return Slot(self.origin[x.index], x.negative)
        if x.index not in slots:
            slots[x.index] = self.memory.new_slot()
            outputs[slots[x.index]] = -x if x.negative else x
        return Slot(slots[x.index], x.negative)

    # Values.

    def value(self, e: Expr) -> Block:
        """Return an expression at this body."""
        if e not in self.memo:
            self.memo[e] = self._value(e)
        return self.memo[e]

    def _value(self, e: Expr) -> Block:
        match e:
            case Leaf():
                found = self._leaf(e)
            case Adjoint():
                found = self.value(e.leaf).T
            case Sum():
                found = self._sum(e)
            case Product() if e.factors[0] in EDGES:
                found = self._edge(e)
            case Product():
                found = _times(self.value(e.factors[0]), self.value(product(*e.factors[1:])))
            case Inverse():
                found = self._inverse(self.value(e.argument))
            case Identity():
                found = unit_block(self.binding.size(e.range, self.body))
            case Zero():
                found = zeros(self.binding.size(e.range, self.body))
            case _:
                raise AssertionError(f"{e} has no value at a body")
        return found

    def _inverse(self, x: Block) -> Block:
        """Return the inverse of a block; one that is known and singular is a division by zero."""
        if not any(isinstance(v, Traced) for v in x.flat):
            known = x.astype(float)
            size = np.sqrt(np.abs(np.diagonal(known)))
            scaled = known / np.outer(size, size) if size.all() else np.zeros_like(known)
            if len(x) and np.linalg.cond(scaled) > SINGULAR:
                raise ZeroDivisionError
        return symmetric_inverse(x)

    def _sum(self, e: Sum) -> Block:
        total: Any = None
        for c, t in e.terms:
            x = self.value(t)
            x = x if c == 1 else -x if c == -1 else float(c) * x
            total = x if total is None else total + x
        return total

    def _leaf(self, e: Leaf) -> Block:
        if e is self.memory.program.sources.get(e.range):
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
        spaces = {self.memory.sources[x] for e in parts for x in leaves(e) if x in self.memory.sources}
        return zeros(size, self.memory.width(spaces.pop(), self.column)) if spaces else zeros(size)

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
        if x in self.memory.program.sources.values():
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
                total = total + self.at(e, c)
            except KeyError:
                continue
        return total


def _times(x: Block, y: Block) -> Block:
    """Return x y; a sum over nothing is zero."""
    if x.shape[-1] == 0:
        return zeros(*x.shape[:-1], *y.shape[1:])
    return x @ y


def _mirrored(x: Block) -> Block:
    """Return a symmetric block with the lower triangle taken from the upper one."""
    found = x.copy()
    for i in range(len(x)):
        for j in range(i):
            found[i, j] = x[j, i]
    return found


def is_symmetric(target: Expr) -> bool:
    """Tell whether a variable is a symmetric block, of which the upper triangle is kept."""
    return isinstance(target, Leaf) and target.self_adjoint
