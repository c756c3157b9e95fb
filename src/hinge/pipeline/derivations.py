"""Derivations: expressions brought into their cheapest form, step by step, each step a named identity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from hinge.algebra import DEFINITIONS, Expr, Inverse, Leaf, One, Polynomial, Structure, leaves, letters_of
from hinge.pipeline.expressions import Expressions, determined, named, written
from hinge.pipeline.shipped import dumped, frozen_search, key, row_of
from hinge.rules import (
    APPENDIX,
    SERIAL,
    Found,
    Theory,
    closing_steps,
    has_appendix_letters,
    has_determinant,
    is_hybrid,
    moves_for,
    search,
    split_determinants,
    theory_of,
    with_load,
)
from hinge.sweeps import Cost, Factors, Program, cost, lower

#: Derivatives have many words, and weighing a form takes long: so many forms are followed, which lead from an
#: inverse of the mass matrix to sweeps.
SHORT = 2
#: Closed forms are weighed for derivatives of at most so many words. Second derivatives have hundreds,
#: and weighing one takes seconds.
CLOSABLE = 100


@dataclass(frozen=True)
class DerivationLine:
    """A form on the path: the identity that led to it, its expressions and its cost."""

    name: str
    source: str
    expressions: Mapping[str, Expr]
    cost: Cost | None


@dataclass(frozen=True, eq=False)
class Derivation:
    """Expressions brought into their cheapest form, with the steps that led there.

    `blocks` are block-diagonal operators whose blocks are shown beside the expressions, as they stand.
    `definitions` say what letters such as κ stand for; `computed` are the derivations of vectors that
    derivatives have as letters; `products` are outputs that are multiplied out of others, as matrices.
    """

    given: Mapping[str, Expr]
    lines: tuple[DerivationLine, ...]
    weighed: int
    inverses: Mapping[Leaf, Expr]
    inner: tuple[Derivation, ...] = ()
    holds_on: str = "trees"
    blocks: Mapping[str, Expr] = field(default_factory=dict[str, Expr])
    definitions: Mapping[Leaf, Expr] = field(default_factory=dict[Leaf, Expr])
    computed: Mapping[Leaf, Derivation] = field(default_factory=dict[Leaf, "Derivation"])
    products: Mapping[str, Factors] = field(default_factory=dict[str, Factors])

    @property
    def expressions(self) -> Mapping[str, Expr]:
        """The last form of each output."""
        return self.lines[-1].expressions

    @cached_property
    def program(self) -> Program:
        """The fused sweeps."""
        return lower(
            self.expressions,
            inverses={**_inverses_of(self.computed), **self.inverses},
            blocks=self.blocks,
            definitions=self.definitions,
            forms=_forms_of(self.computed),
            products=self.products,
        )

    @property
    def cost(self) -> Cost:
        """The cost of the sweeps."""
        return cost(self.program)

    def __str__(self) -> str:
        return "\n".join([*self._written(), "", self.reason(), "", str(self.program)])

    def _written(self) -> list[str]:
        """Return the steps as lines, those inside inverses first."""
        out = [line for d in (*self.inner, *self.computed.values()) for line in d._written()]
        for number, line in enumerate(self.lines):
            source = f"  [{line.source}]" if line.source else ""
            out.append(f"step {number}: {line.name}{source}" if number else "given")
            shown = self.given if number == 0 else line.expressions
            out += [f"    {text}" for name, e in shown.items() for text in written(name, e)]
            out += [f"    with {x} = {e}" for x, e in self.definitions.items() if number == 0]
            out += [f"    costs {line.cost}"] if line.cost else []
        return out

    def reason(self) -> str:
        """Return why this form was chosen."""
        first, last = self.lines[0].cost, self.cost
        if len(self.lines) == 1:
            return f"taken as given: no form among the {self.weighed} weighed is cheaper than {last}"
        given = f"; as given: {first}" if first else ""
        return f"cheapest of {self.weighed} forms weighed: {last}{given}"


def derive(expressions: Expressions, *, serial: bool = False) -> Derivation:
    """Return the cheapest form of expressions that the named identities lead to, with the steps.

    With `serial` the identities that hold on serial chains only may be used too; a result that uses them
    cannot be compiled for a robot that branches.
    """
    items = tuple(named(expressions).items())
    found = _derive(items)
    if serial and not is_hybrid({x for _, e in items for x in leaves(e)}):
        chain = _derive(items, serial=True)
        found = chain if chain.cost < found.cost else found
    return found


def as_given(expressions: Expressions) -> Derivation:
    """Return a derivation without search: the expressions as they are."""
    start = _Start.of(named(expressions))
    lines = (*start.lines, start.line("given", "", start.state))
    return start.derivation(lines, 1)


@lru_cache(maxsize=256)
def _derive(items: tuple[tuple[str, Expr], ...], serial: bool = False) -> Derivation:
    start = _Start.of(dict(items), serial=serial)
    found = None if serial else frozen_search(items, start.state, start.theory.unknown)
    found = found or _searched(start)
    first, *lines = [start.line(step.name, step.source, step.state, step.cost) for step in found.steps]
    lines = start.closed(found.best.cost) or lines
    if start.lines:  # determinants were taken apart: what that ended with is what the search began with
        *before, last = start.lines
        return start.derivation(
            (*before, replace(last, expressions=first.expressions), *lines), found.weighed
        )
    return start.derivation((first, *lines), found.weighed)


def _searched(start: _Start) -> Found[Cost]:
    letters = {x for e in start.loaded.values() for x in leaves(e)}
    moves = moves_for(letters, start.theory.holds_on)
    if any(x.origin is not None for x in letters):
        return search(start.state, moves, start.cost, limit=SHORT)
    found = search(start.state, moves, start.cost)
    # The shipped table alone: it takes no inverse for granted that may not exist.
    normal = search(start.state, moves, start.cost, normal=start.theory.root.normal, limit=1)
    return normal if normal.best.cost < found.best.cost else found


def closed_forms(expressions: Expressions) -> tuple[DerivationLine, ...]:
    """Return derivatives as they are given and the steps to their closed forms, none of them weighed."""
    start = _Start.of(named(expressions))
    lines = [DerivationLine("given", "", start.given, None)]
    for name, source, state in closing_steps(start.state):
        lines.append(DerivationLine(name, source, start.forms(state), None))
    return tuple(lines)


def frozen_table(catalogue: Iterable[Expressions]) -> str:
    """Return the text of the shipped table: the results of a new search for each of these expressions."""
    starts = [_Start.of(named(e)) for e in catalogue]
    return dumped({key(tuple(s.given.items())): row_of(_searched(s)) for s in starts})


@dataclass(frozen=True, eq=False)
class _Start:
    """Expressions multiplied out, their log determinants taken apart and set aside.

    `loaded` are the expressions with the load as a letter; `definitions` are the definitions of such letters.
    """

    given: Mapping[str, Expr]
    loaded: Mapping[str, Expr]
    definitions: Mapping[Leaf, Expr]
    determinants: Mapping[str, Expr]
    state: tuple[Polynomial, ...]
    theory: Theory
    lines: tuple[DerivationLine, ...]
    computed: Mapping[Leaf, Derivation]

    @classmethod
    def of(cls, given: Mapping[str, Expr], *, serial: bool = False) -> _Start:
        loaded, definitions = with_load(given)
        lines: list[DerivationLine] = []
        if any(has_determinant(e) for e in given.values()):
            lines.append(DerivationLine("given", "", loaded, None))
        for name, e in loaded.items():
            for rule, source, form in determined(e)[1:]:
                lines.append(DerivationLine(rule, source, {**lines[-1].expressions, name: form}, None))
        forms = lines[-1].expressions if lines else loaded
        parts = {name: split_determinants(e) for name, e in forms.items()}
        theory = SERIAL if serial else theory_of(*loaded.values())
        state: list[Polynomial] = []
        for _, rest in parts.values():
            p, theory = theory.multiplied_out(rest)
            state.append(APPENDIX.normal(p) if has_appendix_letters(leaves(rest)) else p)
        determinants = {n: d for n, (d, _) in parts.items()}
        computed = _computed(loaded.values())
        return cls(given, loaded, definitions, determinants, tuple(state), theory, tuple(lines), computed)

    def forms(self, state: Sequence[Polynomial]) -> dict[str, Expr]:
        return {
            name: self.determinants[name] + p.expression() for name, p in zip(self.given, state, strict=True)
        }

    def cost(self, state: Sequence[Polynomial]) -> Cost:
        inverses = {**_inverses_of(self.computed), **_inverses(self.theory)}
        forms = _forms_of(self.computed)
        return cost(lower(self.forms(state), inverses=inverses, definitions=self.definitions, forms=forms))

    def line(
        self, name: str, source: str, state: Sequence[Polynomial], known: Cost | None = None
    ) -> DerivationLine:
        return DerivationLine(name, source, self.forms(state), known or self.cost(state))

    def closed(self, most: Cost) -> list[DerivationLine]:
        """Return the steps to the closed form of derivatives as matrices, if it costs less; else none."""
        words = sum(len(p.terms) for p in self.state)
        if words > CLOSABLE or all(p.domain is One for p in self.state):
            return []
        steps = list(closing_steps(self.state))
        found = self.cost(steps[-1][2]) if steps else most
        if not found < most:
            return []
        lines = [DerivationLine(name, source, self.forms(s), None) for name, source, s in steps]
        return [*lines[:-1], replace(lines[-1], cost=found)]

    def derivation(self, lines: Sequence[DerivationLine], weighed: int) -> Derivation:
        inverses, inner = _inverses(self.theory), _inner(self.theory)
        weighed += len(self.lines)
        holds_on, definitions = self.theory.holds_on, self.definitions
        return Derivation(
            self.given, tuple(lines), weighed, inverses, inner, holds_on, definitions=definitions,
            computed=self.computed,
        )  # fmt: skip


def _computed(expressions: Iterable[Expr]) -> dict[Leaf, Derivation]:
    """Return the derivations of vectors that expressions, or what these are functions of, have as letters."""
    found = {x for x in letters_of(expressions) if x.origin is not None and x.origin.kind == "value"}
    return {x: _derive(((x.name, x.needs[0]),)) for x in sorted(found, key=lambda x: x.name)}


def _forms_of(computed: Mapping[Leaf, Derivation]) -> dict[Leaf, Expr]:
    return {x: next(iter(d.expressions.values())) for x, d in computed.items()}


def _inverses_of(computed: Mapping[Leaf, Derivation]) -> dict[Leaf, Expr]:
    return {x: e for d in computed.values() for x, e in d.inverses.items()}


def _inner(theory: Theory) -> tuple[Derivation, ...]:
    """Return the derivations of the operators whose inverses have no closed form."""
    serial = theory.holds_on == "serial chains"
    return tuple(_derive(((f"X{k + 1}", e),), serial) for k, e in enumerate(theory.unknown.values()))


def _inverses(theory: Theory) -> dict[Leaf, Expr]:
    """Return the operators whose inverses the dense letters are."""
    known = {
        x: e.argument
        for x, e in DEFINITIONS.items()
        if isinstance(e, Inverse) and x.structure is Structure.DENSE
    }
    inside = {x: d.expressions for x, d in zip(theory.unknown, _inner(theory), strict=True)}
    return {**known, **{x: next(iter(e.values())) for x, e in inside.items()}}
