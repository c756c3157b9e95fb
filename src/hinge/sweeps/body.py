"""A kernel under construction: the statements of a pass at one body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hinge.algebra import (
    E0,
    Adjoint,
    Body,
    Expr,
    Identity,
    Inverse,
    Leaf,
    Letter,
    One,
    Product,
    Root,
    Structure,
    Sum,
    World,
    Zero,
    leaf,
    leaf_of,
    leaves,
    product,
)
from hinge.errors import UnboundLeafError
from hinge.kernels import BOUND, Graph
from hinge.kernels import Scalar as Traced
from hinge.sweeps.code import Column
from hinge.sweeps.contract import Block, Site, Step, WorldSite, block_of, unit_block, zeros
from hinge.sweeps.factor import (
    half_solved,
    inverse_factor,
    scaled_by_pivots,
    scaled_by_roots,
    solved,
    symmetric_inverse,
    triangular_inverse,
    triangular_root,
)
from hinge.sweeps.program import EDGES, GATHERING, Statement, is_congruence, operand
from hinge.sweeps.slots import Memory, Reading, Stored
from hinge.sweeps.symmetry import is_mirrored
from hinge.sweeps.template import Param, Place, Template, no_inertia
from hinge.sweeps.wide import Widened
from hinge.tree import WORLD

#: The joint's own coordinates, and what depends on them alone, in the memory of values.
COORDINATES, HINGE = leaf("coordinates", One, One), leaf("hinge", One, One)
#: Values derived from parameters of the model that are inputs of a call.
DERIVED = leaf("derived", One, One)


class Read(NamedTuple):
    """A value that a kernel reads at a neighbour: of its own column, of none, or of a given column."""

    what: Expr
    own: bool | Column
    neighbour: int

    def column(self, own: Column | None) -> Column | None:
        """Return the column that is read by a kernel of a column."""
        return self.own if isinstance(self.own, Column) else own if self.own else None

    def value(
        self, memory: Memory, near: Sequence[int], own: Column | None, widened: Widened | None
    ) -> Stored | None:
        """Return the value, widened if it is one of the kernel's own column."""
        found = memory.get(self.what, near[self.neighbour], self.column(own))
        return found if widened is None or found is None or self.own is not True else widened.of(found)


class BodyKernel:
    """A kernel under construction: the statements of a pass at one body.

    `near` are the bodies that it may read from, itself the first. What it reads is noted, in order, so that
    a body that reads alike can do without.
    """

    def __init__(self, memory: Memory, at: Place, near: tuple[int, ...], widened: Widened | None) -> None:
        self.memory, self.near, self.widened = memory, near, widened
        self.body, self.column = at.body, at.column
        self.binding = memory.binding
        self.graph = Graph()
        self.made: dict[Expr, Block] = {}
        self.memo: dict[Expr, Block] = {}
        self.loaded: dict[tuple[Expr, int], Block | None] = {}
        self.reads: list[Read] = []
        self.regular: list[Block] = []
        self.reading = Reading()
        self.slots: dict[int, int] = {}  # the numbers of slots that are read, and of numbers, as in `Reading`
        self.numbers: dict[float, tuple[int, float]] = {}
        self._site: Site | None = None
        self._step: Step | None = None

    @property
    def world(self) -> WorldSite:
        """The values of letters at the world, over parameters."""
        return self.binding.world(self._numbers)

    @property
    def _numbers(self) -> list[Any]:
        constants = self.memory.constants[self.body]
        return constants.entries(self._input, lambda k, negative: self._param(False, k, negative))

    @property
    def site(self) -> Site:
        """The values of letters at this body, over parameters."""
        if self._site is None:
            self._site = self.binding.site(self.body, self._numbers)
            derived = self.at(DERIVED, self.body) if self.binding.parameters else None
            if derived is not None:
                self._site = self._site.with_derived(derived)
        return self._site

    def _input(self, number: int, negative: bool) -> Any:
        found = self.graph.input(number)
        return -found if negative else found

    def _param(self, read: bool, number: int, negative: bool) -> Any:
        found = self.graph.param(Param(read, number))
        return -found if negative else found

    def at(self, x: Expr, body: int) -> Block | None:
        """Return a value of this kernel or of an earlier one, or None."""
        if body == self.body and x in self.made:
            return self.made[x]
        key = x, self.near.index(body)
        if key not in self.loaded:
            tries = (self._load(Read(x, own, key[1])) for own in self._columns(x))
            self.loaded[key] = next((found for found in tries if found is not None), None)
        return self.loaded[key]

    def _columns(self, x: Expr) -> tuple[bool, ...]:
        """Return the columns in which a value may be: the kernel's own, none, or either."""
        if self.column is None:
            return (False,)
        if isinstance(x, Leaf):
            return (self.memory.sources.get(x) not in (None, World),)
        return True, False

    def _load(self, read: Read) -> Block | None:
        stored = read.value(self.memory, self.near, self.column, self.widened)
        self.reads.append(read)
        self.reading.add(stored)
        if stored is None:
            return None
        order, known = self.slots, self.numbers
        slots = [order.setdefault(x, len(order)) for x in stored.slots]
        firsts = [(*known.setdefault(abs(x), (len(known), x)), x) for x in stored.numbers]
        numbers = [(k, x != first) for k, first, x in firsts]
        entries = stored.entries(
            lambda k, negative: self._input(slots[k], negative),
            lambda k, negative: self._param(True, numbers[k][0], negative is not numbers[k][1]),
        )
        return block_of(entries, *stored.layout.shape)

    def template(self) -> Template:
        """Return the finished kernel."""
        return Template(self.memory.layouts, self.body, self.graph, self.made, self.regular)

    @property
    def hinge(self) -> Block:
        """The values that depend on the joint's q alone."""
        found = self.at(HINGE, self.body)
        assert found is not None
        return found

    @property
    def step(self) -> Step:
        """The step to the parent."""
        if self._step is None:
            self._step = self.site.step(self.hinge)
        return self._step

    def run(self, s: Statement) -> None:
        """Evaluate a statement and store its target."""
        try:
            if s.value is None:
                needs = [self.value(n) for n in s.needs]
                found = self.site.formula(s.target, self.hinge, needs)
            else:
                found = self.value(s.value)
                self._factor(s)
        except ZeroDivisionError:
            raise no_inertia(self.binding, self.body) from None
        self.store(s.target, found)

    def send(self, edge: Product) -> None:
        """Evaluate the contribution of this body to its parent over an edge, and store it."""
        x = operand(edge)
        if not is_congruence(edge):
            moved = self.step.to_parent(self.value(x))
        elif not is_mirrored(edge):
            moved = self.step.block_to_parent(self.value(x))
        elif not self.step.factorwise:
            moved = self.step.inertia_to_parent(self.value(x))
        else:
            terms = x.terms if isinstance(x, Sum) else ((1, x),)
            moved = _total((c, self._factorwise(t)) for c, t in terms)
        self.store(edge, moved)

    def _factorwise(self, x: Expr) -> Block:
        """Return E X Eᵀ, as (E A) (B Eᵀ) for a product X = A B through a smaller space."""
        factors = x.factors if isinstance(x, Product) else (x,)
        for n, f in enumerate(factors[:-1], 1):
            if f.domain is not Body:
                left, right = self.value(product(*factors[:n])), self.value(product(*factors[n:]))
                return _times(self.step.to_parent(left), self.step.to_parent(right.T).T)
        return self.step.inertia_to_parent(self.value(x))

    def dense_product(self, operator: Letter, right: Leaf, places: Iterable[int]) -> Block:
        """Return a dense matrix of the user's, or its transpose, times a vector that has blocks at places."""
        whole = self.at(leaf_of(operator), WORLD)
        assert whole is not None
        return _times(whole if isinstance(operator, Leaf) else whole.T, self.stack(right, places))

    def stack(self, x: Leaf, places: Iterable[int]) -> Block:
        """Return the blocks of a vector at some places as one."""
        return np.concatenate([self._blank(0, x), *(self._above(x, i) for i in places)])

    def store(self, target: Expr, value: Block) -> None:
        """Store a value for this kernel and for later ones."""
        value = np.asarray(value, dtype=object)
        symmetric = is_mirrored(target) if isinstance(target, Product) else is_symmetric(target)
        if symmetric:
            value = _mirrored(value)
        self.made[target] = value

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
            case Product() if e.factors[0] in self.memory.program.columns:
                found = self._stored_columns(e)
            case Product():
                found = self._applied(e.factors[0], product(*e.factors[1:]))
            case Inverse() if is_symmetric(e.argument):
                found = self._inverse(self.value(e.argument))
            case Inverse():
                found = triangular_inverse(self.value(e.argument))
            case Root():
                found = triangular_root(self.value(e.argument))
            case Identity():
                found = unit_block(self.binding.size(e.range, self.body))
            case Zero():
                found = zeros(self.binding.size(e.range, self.body))
            case _:
                raise AssertionError(f"{e} has no value at a body")
        return found

    def _stored_columns(self, e: Product) -> Block:
        """Return columns that an earlier pass has stored at this body, times a vector at the world."""
        operator, y = e.factors
        assert isinstance(operator, Leaf)
        assert isinstance(y, Leaf)
        stored = self.memory.program.columns[operator]
        columns, vector = self.column_of(stored, Column(operator.domain, WORLD)), self.at(y, WORLD)
        if columns is None or vector is None:
            return self._blank(self.binding.size(e.range, self.body), y)
        return _times(columns, vector)

    def column_of(self, x: Leaf, column: Column) -> Block | None:
        """Return columns of a variable that are stored at this body, or None."""
        return self._load(Read(x, column, 0))

    # Inverses of blocks with more than one row: products with them go by their factors.

    def _factor(self, s: Statement) -> None:
        """Store the factors of an inverse beside it."""
        if self._goes_by_factors(s.target):
            assert isinstance(s.value, Inverse)
            self.store(factor_of(s.target), inverse_factor(self.value(s.value.argument)))

    def _goes_by_factors(self, x: Expr) -> bool:
        return x in self.memory.inverted and self.binding.size(x.range, self.body) > 1

    def _factors(self, x: Expr) -> Block | None:
        """Return the factors of an inverse at this body, or None if it has none."""
        if not self._goes_by_factors(x):
            return None
        assert isinstance(x, Leaf)
        return self.at(factor_of(x), self.body)

    def _applied(self, letter: Expr, x: Expr) -> Block:
        """Return letter · x."""
        factors = self._factors(letter)
        return (
            _times(self.value(letter), self.value(x)) if factors is None else solved(factors, self.value(x))
        )

    def congruence(self, letter: Leaf, x: Block) -> Block:
        """Return xᵀ letter x for columns x; by half of the factors of an inverse."""
        factors = self._factors(letter)
        if factors is None:
            return x.T @ _times(self.value(letter), x)
        half = half_solved(factors, x)
        return half.T @ scaled_by_pivots(factors, half)

    def root_of_congruence(self, letter: Leaf, x: Block) -> Block:
        """Return W with Wᵀ W = xᵀ letter x for columns x and a positive letter."""
        factors = self._factors(letter)
        if factors is None:
            return triangular_root(self.value(letter)).T @ x
        return scaled_by_roots(factors, half_solved(factors, x))

    def _inverse(self, x: Block) -> Block:
        """Return the inverse of a block; a constant block must not be singular."""
        known = self.graph.known
        if len(x) and all(known[v.index] == BOUND for v in x.flat if isinstance(v, Traced)):
            self.regular.append(x)
        return symmetric_inverse(x)

    def _sum(self, e: Sum) -> Block:
        return _total((c, self.value(t)) for c, t in e.terms)

    def _leaf(self, e: Leaf) -> Block:
        if e is self.memory.program.sources.get(e.range):
            return self._unit(e, self.body)
        found = self.at(e, self.body)
        if found is not None:
            return found
        if e.structure is Structure.VECTOR:
            return self._blank(self.binding.size(e.range, self.body), e)
        found = self.site.value(e, self.hinge)
        if found is None:
            raise UnboundLeafError(
                f"{e}: is {e.range} ← {e.domain}, and the model gives no value for it; replace it by letters "
                "that the model knows"
            )
        return found

    def _blank(self, size: int, *parts: Expr) -> Block:
        """Return zeros for a vector, or for columns."""
        spaces = {self.memory.sources[x] for e in parts for x in leaves(e) if x in self.memory.sources}
        return zeros(size, self.memory.width(spaces.pop(), self.column)) if spaces else zeros(size)

    def _unit(self, unit: Leaf, body: int) -> Block:
        found = self._blank(self.binding.size(unit.range, body), unit)
        home = WORLD if unit.range is World or self.column is None else self.column.body
        for k in range(found.shape[1] if body == home else 0):
            found[k, k] = 1.0
        return found

    def _edge(self, e: Product) -> Block:
        """Return the value of an edge: the sum over the children, or the parent's."""
        if e.factors[0] in GATHERING:
            return self._from_children(e)
        x = operand(e)
        parent = self.near[1]
        if (e.factors[0] is E0.T) != (parent == WORLD):
            size = self.binding.size(e.range, self.body)
            return zeros(size, size) if is_congruence(e) else self._blank(size, x)
        assert isinstance(x, Leaf)
        above = self._above(x, parent)
        return self.step.compliance_to_child(above) if is_congruence(e) else self.step.to_child(above)

    def _above(self, x: Leaf, parent: int) -> Block:
        if x in self.memory.program.sources.values():
            return self._unit(x, parent)
        found = self.at(x, parent)
        return self._blank(self.binding.size(x.range, parent), x) if found is None else found

    def _from_children(self, e: Product) -> Block:
        size = self.binding.size(e.range, self.body)
        total: Any = zeros(size, size) if is_congruence(e) else self._blank(size, e)
        for c in self.near[2:]:
            found = self.at(e, c) if c != WORLD else None
            total = total if found is None else total + found
        return total


def _total(terms: Iterable[tuple[Any, Block]]) -> Block:
    total: Any = None
    for c, term in terms:
        x = term if c == 1 else -term if c == -1 else float(c) * term
        total = x if total is None else total + x
    return total


def _times(x: Block, y: Block) -> Block:
    """Return x y, what `@` gives, without a look at products with zeros; a sum over nothing is zero."""
    columns: list[list[Any]] = y.T.tolist() if y.ndim > 1 else [y.tolist()]
    entries: list[Any] = []
    for row in x.tolist():
        filled = [(k, a) for k, a in enumerate(row) if type(a) is not float or a]
        for column in columns:
            total: Any = 0.0
            for k, a in filled:
                b = column[k]
                if type(b) is not float or b:
                    total = total + a * b
            entries.append(total)
    return block_of(entries, len(x), *y.shape[1:])


def _mirrored(x: Block) -> Block:
    """Return a symmetric block with the lower triangle taken from the upper one."""
    found = x.copy()
    for i in range(len(x)):
        for j in range(i):
            found[i, j] = x[j, i]
    return found


def factor_of(x: Leaf) -> Leaf:
    """Return the variable for the factors of an inverse."""
    return leaf(f"{x.name}_factor", x.range, x.range, Structure.DIAGONAL)


def is_symmetric(target: Expr) -> bool:
    """Tell whether a variable is a symmetric block, of which the upper triangle is kept."""
    return isinstance(target, Leaf) and target.self_adjoint
