"""Scheduling: state equations put into passes, each as early as its inputs allow.

Levels count up: pass m is level 2m, what is done at the world after it, a meet, a dense product or a solve,
is level 2m + 1. A variable with an edge goes into a pass of that edge's direction; what an earlier pass can
compute is computed there and stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from hinge.algebra import (
    Adjoint,
    Ask,
    Expr,
    Inverse,
    Leaf,
    One,
    Product,
    Root,
    Space,
    Structure,
    Sum,
    is_positive,
    leaf_of,
    leaves,
    no_inverse,
    polynomial,
    product,
    subterms,
    with_names,
)
from hinge.sweeps.equations import Equations, term_name
from hinge.sweeps.program import (
    EDGES,
    GATHERING,
    Apply,
    Direction,
    Meet,
    OperatorOutput,
    Pass,
    Program,
    ProgramOutput,
    Solve,
    Stage,
    Statement,
    is_congruence,
    operand,
    output_variables,
)


@dataclass
class Plan:
    """The equations of a system in passes, the first with a given direction."""

    system: Equations
    operators: Mapping[Leaf, OperatorOutput]
    start: Direction
    levels: dict[Leaf, int] = field(default_factory=dict[Leaf, int])

    def program(self, outputs: tuple[ProgramOutput, ...]) -> Program:
        """Return the program that computes the outputs."""
        s = self.system
        self.levels = dict.fromkeys((*s.values, *s.meets, *s.solves, *s.products, *s.measures), 0)
        self._settle(self.levels)
        while changed := self._hoist():
            self._settle(changed)
        used: set[Leaf] = set()
        stages: list[Stage] = []
        for level in range(1, max(self.levels.values(), default=2) + 1):
            if level % 2:
                met = [Meet(x, n) for x, n in self.system.meets.items() if self.levels[x] == level]
                used |= {x for s in met for x in s.needs}
                stages += met
                found = [self._apply(x) for x in self.system.products if self.levels[x] == level]
                used |= {x for s in found for x in (leaf_of(s.operator), s.right)}
                stages += found
                solved = [self._solve(x) for x in self.system.solves if self.levels[x] == level]
                used |= {x for s in solved if s.answer for x in s.answer.inputs}
                stages += solved
                continue
            statements = self._ordered(level)
            used |= {x for s in statements for e in s.expressions for x in leaves(e)}
            if statements:
                stages.append(Pass(self._direction(level), statements))
        used |= {x for o in outputs for x in output_variables(o)}
        targets = set(self.levels)
        targets |= set(self.system.sources.values())
        inputs = tuple(sorted((x for x in used - targets if is_input(x)), key=lambda x: x.name))
        columns = {x: y for x, y in self.system.columns.items() if x in used}
        return Program(tuple(stages), outputs, inputs, dict(self.system.sources), columns)

    def _direction(self, level: int) -> Direction:
        other = Direction.SCATTER if self.start is Direction.GATHER else Direction.GATHER
        return self.start if level % 4 == 2 else other

    def _pass(self, level: int, direction: Direction) -> int:
        level = max(level + level % 2, 2)
        return level if self._direction(level) is direction else level + 2

    def level(self, e: Expr) -> int:
        """Return the earliest stage in which a value is available."""
        match e:
            case Leaf() | Adjoint():
                x = leaf_of(e)
                return self.levels.get(self.system.columns.get(x, x), 0)
            case Sum():
                return max(self.level(t) for _, t in e.terms)
            case Product() if e.factors[0] in EDGES:
                way_ = Direction.GATHER if e.factors[0] in GATHERING else Direction.SCATTER
                return self._pass(self.level(operand(e)), way_)
            case Product():
                return max(map(self.level, _parts(e)))
            case Inverse() | Root():
                return self.level(e.argument)
            case _:
                return 0

    def _settle(self, changed: Iterable[Leaf]) -> None:
        """Find the least levels that satisfy every equation, given those before some of them changed.

        A variable in place of a term never comes earlier than the term, so that levels only grow.
        """
        readers: dict[Leaf, list[Leaf]] = {}
        for x in self.levels:
            for y in self._reads(x):
                readers.setdefault(y, []).append(x)
        todo = dict.fromkeys(changed)
        while todo:
            x = next(iter(todo))
            del todo[x]
            new = self._wanted(x)
            if new > self.levels[x]:
                self.levels[x] = new
                todo.update(dict.fromkeys(readers.get(x, ())))

    def _reads(self, x: Leaf) -> set[Leaf]:
        """Return the variables that the level of a variable depends on."""
        s = self.system
        if x in s.measures:
            return {s.measures[x]}
        if x in s.solves:
            read: tuple[Expr, ...] = (s.solves[x].right, *self.operators[x].variables)
        elif x in s.meets:
            read = s.meets[x]
        elif x in s.products:
            read = s.products[x].operator, s.products[x].right
        else:
            read = self._expressions(x)
        return {s.columns.get(y, y) for e in read for y in _leaves(e)}

    def _wanted(self, x: Leaf) -> int:
        if x in self.system.measures:
            return self.levels[self.system.measures[x]]
        if x in self.system.solves:
            below = max(map(self.level, (self.system.solves[x].right, *self.operators[x].variables)))
            return max(below, 2) // 2 * 2 + 1
        if x in self.system.meets:
            return _after(max(map(self.level, self.system.meets[x])))
        if x in self.system.products:
            operator, right = self.system.products[x].operator, self.system.products[x].right
            return max(_after(self.level(right)), self.level(operator))
        level = max((self.level(e) for e in self._expressions(x)), default=0)
        return max(level + level % 2, 2)

    def _hoist(self) -> list[Leaf]:
        """Make a variable of what an earlier pass can compute, or of what a scatter edge shifts.

        Return the variables whose equations are new, none if there is nothing left to do.
        """
        for x in self.system.values:
            for e in self._expressions(x):
                found = self._early(e, self.levels[x], top=self.system.values[x] is not None)
                if found is not None:
                    return self._name(found)
        return []

    def _name(self, term: Expr) -> list[Leaf]:
        """Replace a term by a variable in all equations, and return the variables of those that changed."""
        name = self.system.variable(term.range, *term_name(term))
        changed = [name]
        for x, value in self.system.values.items():
            if value is not None:
                self.system.values[x] = new = with_names(value, {term: name})
                changed += [x] if new is not value else []
            else:
                self.system.needs[x] = tuple(with_names(n, {term: name}) for n in self.system.needs[x])
                changed.append(x)
        self.system.values[name] = term
        self.levels[name] = 0
        return changed

    def _expressions(self, x: Leaf) -> tuple[Expr, ...]:
        """Return the expressions that an equation reads: its value, or the arguments of its formula."""
        value = self.system.values[x]
        return (value,) if value is not None else self.system.needs[x]

    def _early(self, e: Expr, level: int, *, top: bool = False) -> Expr | None:
        """Return a subterm of an earlier pass, or one that a scatter edge cannot shift."""
        if isinstance(e, Product) and e.factors[0] in EDGES:
            if self.level(e) < level:
                return e
            x = operand(e)
            if e.factors[0] not in GATHERING and not isinstance(x, Leaf):
                return x
            return None if is_congruence(e) else self._early(x, level)
        whole = not top and isinstance(e, Sum | Product) and e.domain is One
        if whole and 0 < self.level(e) < level:
            return e
        for inner in subterms(e):
            found = self._early(inner, level) if inner.domain is One else None
            if found is not None:
                return found
        return None

    def _solve(self, x: Leaf) -> Solve:
        solve = self.system.solves[x]
        if solve.answer is not None:
            return Solve(x, self.operators[x], solve.right, answer=solve.answer)
        p = polynomial(solve.operator, no_inverse)
        positive, floored = is_positive(p), any(Ask.CLOSURES in y.card.asks for y in leaves(solve.operator))
        return Solve(x, self.operators[x], solve.right, self._source(solve.right), positive, floored)

    def _apply(self, x: Leaf) -> Apply:
        operator, right = self.system.products[x].operator, self.system.products[x].right
        return Apply(x, operator, right, self._source(right))

    def _source(self, *expressions: Expr) -> Space | None:
        """Return the space whose columns a value belongs to, or None."""
        seen: set[Leaf] = set()
        todo = [x for e in expressions for x in leaves(e)]
        units = {unit: space for space, unit in self.system.sources.items()}
        found: set[Space] = set()
        while todo:
            x = todo.pop()
            if x in seen:
                continue
            seen.add(x)
            if x in units:
                found.add(units[x])
            if x.needs or x.structure is not Structure.VECTOR:
                continue
            value = self.system.values.get(x)
            todo += leaves(value) if value is not None else ()
            if x in self.system.solves:
                todo.append(self.system.solves[x].right)
            if x in self.system.products:
                todo.append(self.system.products[x].right)
        assert len(found) < 2, f"{expressions}: columns of {found} at once"
        return found.pop() if found else None

    def _ordered(self, level: int) -> tuple[Statement, ...]:
        """Return the statements of a pass in order of their dependencies at a body."""
        here = [x for x in self.system.values if self.levels[x] == level]
        done: set[Leaf] = set()
        found: list[Statement] = []
        while len(found) < len(here):
            ready = [x for x in here if x not in done and not (self._local(x) & set(here)) - done]
            assert ready, f"equations of {[str(x) for x in here if x not in done]} depend on each other"
            for x in ready:
                value = self.system.values[x]
                needs = () if value is not None else self.system.needs[x]
                source = None if value is None else self._source(value)
                found.append(Statement(x, value, needs, source))
                done.add(x)
        return tuple(found)

    def _local(self, x: Leaf) -> set[Leaf]:
        """Return the leaves that an equation reads at the body itself."""
        return set().union(*(_local_leaves(e) for e in self._expressions(x)))


def _after(level: int) -> int:
    """Return the level at which something is done at the world with a value of a level."""
    return level + 1 if level % 2 == 0 else level + 2


def is_input(x: Leaf) -> bool:
    """Tell whether a leaf is an argument of the call: a vector, an operator that the user defined, or κ."""
    own = x.domain is not One and x.card.given
    return x.structure is Structure.VECTOR or own


@lru_cache(maxsize=1 << 12)
def _leaves(e: Expr) -> frozenset[Leaf]:
    return frozenset(leaves(e))


@lru_cache(maxsize=1 << 12)
def _parts(e: Product) -> tuple[Expr, ...]:
    """Return the factors of a product up to its first edge, which takes all after it along."""
    edge = next((n for n, f in enumerate(e.factors) if f in EDGES), None)
    return e.factors if edge is None else (*e.factors[:edge], product(*e.factors[edge:]))


@lru_cache(maxsize=1 << 12)
def _local_leaves(e: Expr) -> frozenset[Leaf]:
    match e:
        case Sum():
            return frozenset[Leaf]().union(*(_local_leaves(t) for _, t in e.terms))
        case Product() if e.factors[0] in EDGES:
            return frozenset()
        case Product():
            return frozenset[Leaf]().union(*map(_local_leaves, _parts(e)))
        case _:
            return _leaves(e)
