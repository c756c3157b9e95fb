"""Lowering: from multiplied-out expressions to a program of fused sweeps.

1. Outputs become state equations (`equations`); operators become columns.
2. All equations are factored together again; what they share becomes a variable.
3. Each variable gets the earliest pass that its inputs allow, for either direction of the first pass.
4. What an earlier pass can compute is computed there; the better direction is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from hinge.algebra import (
    E0,
    Adjoint,
    Body,
    Di,
    Dip,
    Expr,
    Inverse,
    Joint,
    Leaf,
    Letter,
    LogDet,
    One,
    Passive,
    Polynomial,
    Product,
    Space,
    Structure,
    Sum,
    Word,
    World,
    adjoint_word,
    common_terms,
    factored,
    leaf_of,
    leaves,
    linear,
    no_inverse,
    polynomial,
    product,
    subterms,
    with_names,
)
from hinge.errors import ArgumentError
from hinge.sweeps.contract import USER_FORCE, USER_MOTION
from hinge.sweeps.equations import Equations
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
    Stage,
    Statement,
    VectorOutput,
    WorldOutput,
    is_congruence,
    operand,
    verify_program,
)


def lower(outputs: Mapping[str, Expr], *, inverses: Mapping[Leaf, Expr] | None = None) -> Program:
    """Return the program that computes the outputs, sharing work between them.

    `inverses` says of which operators the letters without closed form are the inverses.
    """
    system = Equations(dict(inverses or {}))
    found = tuple(_output(system, name, e) for name, e in outputs.items())
    operators = _dense_operators(system)
    for x, value in system.values.items():
        if value is not None:
            system.values[x] = factored(polynomial(value, no_inverse))
    system.needs.update(
        {x: tuple(factored(polynomial(n, no_inverse)) for n in e) for x, e in system.needs.items()}
    )
    _share(system)
    world = {o.variable: o for o in found if isinstance(o, WorldOutput)}
    system.values.update({x: _world_value(outputs[o.name]) for x, o in world.items()})
    system.close([x for o in found if isinstance(o, ScalarOutput) for _, x in o.determinants])
    plans = [_Plan(_copy(system), operators, start).program(found) for start in Direction]
    best = min(plans, key=lambda p: (len(p.stages), sum(len(s.statements) for s in p.passes)))
    verify_program(best)
    return best


def _copy(system: Equations) -> Equations:
    return replace(
        system, values=dict(system.values), needs=dict(system.needs), _names=Counter(system._names)
    )  # pyright: ignore[reportPrivateUsage]


def _output(system: Equations, name: str, e: Expr) -> ProgramOutput:
    if e.range is One and e.domain is One:
        return _scalar(system, name, e)
    p = polynomial(e, no_inverse)
    if not p.terms:
        raise ArgumentError(f"{name}: is zero by the identities; there is nothing to compute")
    if e.domain is One:
        return VectorOutput(name, _variable(system, name, system.vector(_shown(p))))
    if e.range is World and all(_is_world_block(w) for w in p.terms):
        return WorldOutput(name, system.variable(World, name))
    return columns(system, name, p)


def _is_world_block(word: Word) -> bool:
    inner = all(leaf_of(x).structure is Structure.DIAGONAL for x in word)
    return inner and word[:1] == (E0,) and word[-1:] == (E0.T,)


def _world_value(e: Expr) -> Expr:
    inner = {w[1:-1]: c for w, c in polynomial(e, no_inverse).terms.items()}
    return product(E0, factored(Polynomial(Body, Body, inner)), E0.T)


def _variable(system: Equations, name: str, value: Expr) -> Leaf:
    """Return the variable that has this value: itself when it is one, else a new one."""
    if isinstance(value, Leaf) and (value in system.values or value in system.solves):
        return value
    return system.define(name, value)


# Operators, column by column.


def columns(system: Equations, name: str, p: Polynomial) -> OperatorOutput:
    """Return an operator as columns: from its domain, or of the adjoint when that is the shorter way."""
    ways = {way(w) for w in p.terms}
    symmetric = p.T.key == p.key
    mirror = symmetric and "both" not in ways
    if mirror:
        p = upward_part(p)
    transposed = not symmetric and ways <= {"down", "none"} and p.domain is not World
    if transposed:
        p = p.T
    source = p.domain
    unit = Polynomial(source, One, {(system.column_source(source),): 1})
    value = system.vector(_shown(p @ unit))
    return OperatorOutput(name, _variable(system, name, value), source, transposed, symmetric)


def way(word: Word) -> str:
    """Return which way a word carries: "up" towards the base, "down", "both", or "none"."""
    found = {
        "up" if isinstance(x, Leaf) else "down"
        for x in word
        if leaf_of(x).structure in (Structure.STEP, Structure.RESOLVENT) or leaf_of(x) is E0
    }
    return "none" if not found else "both" if len(found) > 1 else found.pop()


def upward_part(p: Polynomial) -> Polynomial:
    """Return the blocks of a self-adjoint operator on the diagonal and towards the base.

    A word that carries down has blocks below, and on the diagonal those of the word with its
    propagations replaced by I and its steps by 0.
    """
    found = Polynomial(p.range, p.domain, {})
    for w, c in p.terms.items():
        if way(w) == "down":
            if any(leaf_of(x).structure is Structure.STEP for x in w):
                continue
            w = tuple(x for x in w if leaf_of(x).structure is not Structure.RESOLVENT)
        found = found + Polynomial(p.range, p.domain, {w: c})
    return found


def _dense_operators(system: Equations) -> dict[Leaf, OperatorOutput]:
    """Return how the operators of dense solves are assembled; they may ask for solves themselves."""
    found: dict[Leaf, OperatorOutput] = {}
    while len(found) < len(system.solves):
        for target in list(system.solves):
            if target not in found:
                p = polynomial(system.solves[target].operator, no_inverse)
                found[target] = columns(system, "X", p)
    return found


def _shown(p: Polynomial) -> Polynomial:
    """Return a vector of the Body space in the frames that the user knows."""
    if p.range is not Body:
        return p
    kinds = {is_motion(w[0]) for w in p.terms if w}
    if len(kinds) != 1:
        raise ArgumentError(
            f"{p.expression()}: cannot tell whether this is a motion or a force; apply B.T (motion) and ask for nodes"
        )
    shown = USER_MOTION if kinds == {True} else USER_FORCE
    return Polynomial(Body, Body, {(shown,): 1}) @ p


def is_motion(letter: Letter) -> bool:
    """Tell whether a letter gives motions (accelerations, velocities) rather than forces."""
    return isinstance(letter, Adjoint) or letter.name in ("a", "a_n", "v_n", "Ups")


# Scalars.


def _scalar(system: Equations, name: str, e: Expr) -> ScalarOutput:
    products: list[tuple[float, Leaf, Leaf]] = []
    determinants: list[tuple[float, Leaf]] = []
    for c, t in e.terms if isinstance(e, Sum) else ((1, e),):
        if isinstance(t, LogDet):
            if not (isinstance(t.argument, Leaf) and t.argument.structure is Structure.DIAGONAL):
                raise NotImplementedError(
                    f"{t}: only log det of a block-diagonal letter becomes a sum over bodies"
                )
            determinants.append((float(c), t.argument))
            continue
        for w, d in polynomial(t, no_inverse).terms.items():
            left, right = _split(w)
            x = _variable(system, "x", system.vector(_vector_polynomial(left)))
            y = _variable(system, "y", system.vector(_vector_polynomial(right)))
            products.append((float(c * d), x, y))  # pyright: ignore[reportOperatorIssue, reportUnknownArgumentType]
    return ScalarOutput(name, tuple(products), tuple(determinants))


def _split(word: Word) -> tuple[Word, Word]:
    """Return two vectors whose product is the word, cut so that the fewest propagations are needed."""
    cuts = [(adjoint_word(word[:k]), word[k:]) for k in range(1, len(word))]
    return min(cuts, key=lambda cut: len(_propagations(cut[0]) | _propagations(cut[1])))


def _propagations(word: Word) -> set[Word]:
    return {
        word[k:] for k, x in enumerate(word) if leaf_of(x).structure in (Structure.RESOLVENT, Structure.STEP)
    }


def _vector_polynomial(word: Word) -> Polynomial:
    return Polynomial(word[0].range, One, {word: 1})


# Sharing.


def _share(system: Equations) -> None:
    """Make variables of the terms that several equations (or one, twice) use."""
    values = [e for x, v in system.values.items() for e in ((v,) if v is not None else system.needs[x])]
    known = {v: x for x, v in system.values.items() if v is not None}
    names: dict[Expr, Leaf] = {}
    for e in common_terms(values, _worth_sharing):
        names[e] = known[e] if e in known else system.variable(e.range, *_share_name(e))
    for x, value in list(system.values.items()):
        if value is None:
            system.needs[x] = tuple(with_names(n, names) for n in system.needs[x])
        else:
            system.values[x] = with_names(value, names, top=value in known)
    system.values.update({x: with_names(e, names, top=True) for e, x in names.items()})


def _worth_sharing(e: Expr) -> bool:
    return not (isinstance(e, Product) and e.factors[0] in EDGES and len(e.factors) == 2)


def _share_name(e: Expr) -> tuple[str, str]:
    """Return the name of a shared term: ν for D⁻¹ …, ε for what an innovation looks like, else x."""
    if isinstance(e, Product) and e.factors[0] in (Di, Dip):
        return "nu", "ν"
    innovation = isinstance(e, Sum) and e.range in (Joint, Passive)
    return ("eps", "ε") if innovation else ("x", "x")


# Passes.


@dataclass
class _Plan:
    """The equations of a system put into passes, the first going in a given direction.

    Levels count up: pass m is level 2m, a dense solve after it is level 2m + 1.
    """

    system: Equations
    operators: Mapping[Leaf, OperatorOutput]
    start: Direction
    levels: dict[Leaf, int] = field(default_factory=dict[Leaf, int])

    def program(self, outputs: tuple[ProgramOutput, ...]) -> Program:
        self._settle()
        while self._hoist():
            self._settle()
        used: set[Leaf] = set()
        stages: list[Stage] = []
        for level in range(2, max(self.levels.values(), default=2) + 1):
            if level % 2:
                stages += [self._solve(x) for x in self.system.solves if self.levels[x] == level]
                continue
            statements = self._ordered(level)
            used |= {x for s in statements for e in _expressions(s) for x in leaves(e)}
            if statements:
                stages.append(Pass(self._direction(level), statements))
        targets = set(self.system.values) | set(self.system.solves)
        given = sorted((x for x in used - targets if x.structure is Structure.VECTOR), key=lambda x: x.name)
        inputs = tuple(x for x in given if x not in self.system.sources.values())
        return Program(tuple(stages), outputs, inputs, dict(self.system.sources))

    def _direction(self, level: int) -> Direction:
        other = Direction.SCATTER if self.start is Direction.GATHER else Direction.GATHER
        return self.start if level % 4 == 2 else other

    def _pass(self, level: int, direction: Direction) -> int:
        level = max(level + level % 2, 2)
        return level if self._direction(level) is direction else level + 2

    def level(self, e: Expr) -> int:
        """Return the earliest stage in which a value can be had."""
        match e:
            case Leaf():
                return self.levels.get(e, 0)
            case Adjoint():
                return self.levels.get(e.leaf, 0)
            case Sum():
                return max(self.level(t) for _, t in e.terms)
            case Product() if e.factors[0] in EDGES:
                way_ = Direction.GATHER if e.factors[0] in GATHERING else Direction.SCATTER
                return self._pass(self.level(operand(e)), way_)
            case Product():
                return max(self.level(e.factors[0]), self.level(product(*e.factors[1:])))
            case Inverse():
                return self.level(e.argument)
            case _:
                return 0

    def _settle(self) -> None:
        """Find the least levels that satisfy every equation."""
        self.levels = dict.fromkeys((*self.system.values, *self.system.solves), 0)
        changed = True
        while changed:
            changed = False
            for x in self.levels:
                new = self._wanted(x)
                if new > self.levels[x]:
                    self.levels[x], changed = new, True

    def _wanted(self, x: Leaf) -> int:
        if x in self.system.solves:
            below = max(self.level(self.system.solves[x].right), self.level(self.operators[x].variable))
            return max(below, 2) // 2 * 2 + 1
        value = self.system.values[x]
        needs = (value,) if value is not None else self.system.needs[x]
        level = max((self.level(e) for e in needs), default=0)
        return max(level + level % 2, 2)

    def _hoist(self) -> bool:
        """Make variables of what an earlier pass can compute, and of what a scatter edge shifts."""
        for x, value in list(self.system.values.items()):
            for e in (value,) if value is not None else self.system.needs[x]:
                found = self._early(e, self.levels[x], top=value is not None)
                if found is not None:
                    name = self.system.variable(found.range, *_share_name(found))
                    self.system.values[name] = found
                    swap: Callable[[Expr], Expr] = lambda v: _swapped(v, found, name)  # noqa: B023, E731
                    self.system.values.update(
                        {y: swap(v) for y, v in self.system.values.items() if v is not None and y is not name}
                    )
                    self.system.needs.update({y: tuple(map(swap, n)) for y, n in self.system.needs.items()})
                    return True
        return False

    def _early(self, e: Expr, level: int, *, top: bool = False) -> Expr | None:
        """Return a subterm that belongs into an earlier pass, or that a scatter edge cannot shift."""
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
        return Solve(x, self.operators[x], solve.right, self._source(solve.right))

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
        assert len(found) < 2, f"{expressions}: columns of {found} at once"
        return found.pop() if found else None

    def _ordered(self, level: int) -> tuple[Statement, ...]:
        """Return the statements of a pass so that each comes after what it uses at the same body."""
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
        """Return the leaves that an equation uses at the body itself, not over an edge."""
        value = self.system.values[x]
        return set().union(
            *(_local_leaves(e) for e in ((value,) if value is not None else self.system.needs[x]))
        )


def _local_leaves(e: Expr) -> set[Leaf]:
    match e:
        case Sum():
            return set().union(*(_local_leaves(t) for _, t in e.terms))
        case Product() if e.factors[0] in EDGES:
            return set()
        case Product():
            return _local_leaves(e.factors[0]) | _local_leaves(product(*e.factors[1:]))
        case _:
            return leaves(e)


def _expressions(s: Statement) -> tuple[Expr, ...]:
    return (s.value,) if s.value is not None else s.needs


def _swapped(e: Expr, old: Expr, new: Leaf) -> Expr:
    """Return an expression with a subterm replaced."""
    if e is old:
        return new
    match e:
        case Sum():
            return linear(*((c, _swapped(t, old, new)) for c, t in e.terms))
        case Product() if not (e.factors[0] in EDGES and is_congruence(e)):
            return product(e.factors[0], _swapped(product(*e.factors[1:]), old, new))
        case _:
            return e
