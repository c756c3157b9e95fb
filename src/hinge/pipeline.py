"""The compiler on one page: what turns an operator expression into code, pass by pass.

prove     left = right?       normal forms in a completed table; else a numerical counterexample
derive    expressions         → multiplied out → search by named identities → program of fused sweeps
build     program, binding    → traced kernels → target
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TypeAlias

from hinge.algebra import (
    DEFINITIONS,
    Expr,
    Inverse,
    Leaf,
    Polynomial,
    Structure,
    common_terms,
    factored,
    leaf,
    leaves,
    with_names,
)
from hinge.errors import ArgumentError
from hinge.rules import (
    APPENDIX,
    SERIAL,
    Axiom,
    Decision,
    Theory,
    decide,
    determinant_steps,
    has_appendix_letters,
    has_determinant,
    is_hybrid,
    moves_for,
    search,
    split_determinants,
    theory_of,
)
from hinge.sweeps import Binding, Code, Cost, Program, cost, lower, trace
from hinge.targets import Counterexample, NumpyProgram, SingularError, counterexample

Expressions: TypeAlias = Expr | Sequence[Expr] | Mapping[str, Expr]

__all__ = [
    "Derivation",
    "DerivationLine",
    "Expressions",
    "Proof",
    "as_given",
    "build",
    "derive",
    "named",
    "prove",
    "written",
]

#: Sums of at most this many words are printed as they are, longer ones factored.
FLAT_WORDS = 4


# Proofs.


@dataclass(frozen=True, eq=False)
class Proof:
    """Whether two expressions are equal: true when proved; prints as the proof or the counterexample.

    `judged` tells whether numbers could judge a claim that was not proved; `before` are the steps that take
    log determinants apart.
    """

    decision: Decision
    counterexample: Counterexample | None = None
    judged: bool = True
    before: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.decision)

    def __str__(self) -> str:
        return "\n".join([*(self.before if self.decision else ()), self._verdict()])

    def _verdict(self) -> str:
        if self.decision:
            return str(self.decision)
        if self.counterexample is not None:
            return f"{self.decision.left} = {self.decision.right}\n  refuted: {self.counterexample}"
        if not self.judged:
            return f"{self.decision}\n  and no random tree can judge it: an inverse exists on none of them"
        return (
            f"{self.decision}\n  but it holds in numbers on every random tree tried: the axioms given do not "
            "decide it; add what is missing with axioms="
        )


def prove(left: Expr, right: Expr, *, axioms: Sequence[Axiom | Sequence[Axiom]] = ()) -> Proof:
    """Decide whether two operators are equal on every tree (on every serial chain, if Υ occurs).

    `axioms` are further facts: what `hinge.rules.equation` returns, or a list of such.
    """
    facts = [x for item in axioms for x in ((item,) if isinstance(item, Axiom) else item)]
    if not all(isinstance(x, Axiom) for x in facts):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"axioms: {axioms!r} came; wanted what hinge.rules.equation returns")
    for side, e in (("left", left), ("right", right)):
        if not isinstance(e, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"{side}: {type(e).__name__} came; wanted an expression of hinge.algebra")
    distinct_names(left, right)
    forms = [_determined(e) for e in (left, right)]
    before = tuple(
        f"{old[2]} = {new[2]}   by {new[0]}  [{new[1]}]" for f in forms for old, new in pairwise(f)
    )
    decision = decide(forms[0][-1][2], forms[1][-1][2], axioms=facts)
    if decision:
        return Proof(decision, before=before)
    try:
        serial = decision.theory.holds_on == "serial chains"
        return Proof(decision, counterexample(left, right, serial=serial), before=before)
    except SingularError:
        return Proof(decision, judged=False, before=before)


def distinct_names(*expressions: Expr) -> None:
    """Refuse two letters of one name: arguments, words and proofs go by names."""
    seen: dict[str, Leaf] = {}
    letters = {x for e in expressions for x in leaves(e)}
    letters |= {y for x in letters for need in x.needs for y in leaves(need)}
    for x in letters:
        if seen.setdefault(x.name, x) is not x:
            raise ArgumentError(
                f"{x.name}: two different letters have this name, {seen[x.name].range} ← "
                f"{seen[x.name].domain} and {x.range} ← {x.domain}; give yours another name"
            )


# Derivations.


@dataclass(frozen=True)
class DerivationLine:
    """One form on the way: by which identity, what it looks like, what it costs."""

    name: str
    source: str
    expressions: Mapping[str, Expr]
    cost: Cost | None


@dataclass(frozen=True, eq=False)
class Derivation:
    """Expressions brought into their cheapest form, with the steps that led there."""

    given: Mapping[str, Expr]
    lines: tuple[DerivationLine, ...]
    weighed: int
    inverses: Mapping[Leaf, Expr]
    inner: tuple[Derivation, ...] = ()
    holds_on: str = "trees"

    @property
    def expressions(self) -> Mapping[str, Expr]:
        """The last form of each output."""
        return self.lines[-1].expressions

    @cached_property
    def program(self) -> Program:
        """The fused sweeps."""
        return lower(self.expressions, inverses=self.inverses)

    @property
    def cost(self) -> Cost:
        """What the sweeps cost."""
        return cost(self.program)

    def __str__(self) -> str:
        return "\n".join([*self._written(), "", self.reason(), "", str(self.program)])

    def _written(self) -> list[str]:
        """Return the steps as lines, those inside inverses first."""
        out = [line for d in self.inner for line in d._written()]
        for number, line in enumerate(self.lines):
            source = f"  [{line.source}]" if line.source else ""
            out.append(f"step {number}: {line.name}{source}" if number else "given")
            shown = self.given if number == 0 else line.expressions
            out += [f"    {text}" for name, e in shown.items() for text in written(name, e)]
            out += [f"    costs {line.cost}"] if line.cost else []
        return out

    def reason(self) -> str:
        """Return why this form was taken."""
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
    """Return expressions without a search: the algorithm that they are as they stand."""
    start = _Start.of(named(expressions))
    lines = (*start.lines, start.line("given", "", start.state))
    return start.derivation(lines, 1)


@lru_cache(maxsize=256)
def _derive(items: tuple[tuple[str, Expr], ...], serial: bool = False) -> Derivation:
    start = _Start.of(dict(items), serial=serial)
    moves = moves_for({x for _, e in items for x in leaves(e)}, start.theory.holds_on)
    found = search(start.state, moves, start.cost)
    # The shipped table alone: it takes no inverse for granted that may not exist.
    normal = search(start.state, moves, start.cost, normal=start.theory.root.normal, limit=1)
    if normal.best.cost < found.best.cost:
        found = normal
    lines = [start.line(step.name, step.source, step.state, step.cost) for step in found.steps]
    # Where determinants were taken apart first, the form that the search began with is the last of those.
    return start.derivation((*start.lines, *lines[1 if start.lines else 0 :]), found.weighed)


@dataclass(frozen=True, eq=False)
class _Start:
    """Expressions multiplied out, their log determinants taken apart and set aside."""

    given: Mapping[str, Expr]
    determinants: Mapping[str, Expr]
    state: tuple[Polynomial, ...]
    theory: Theory
    lines: tuple[DerivationLine, ...]

    @classmethod
    def of(cls, given: Mapping[str, Expr], *, serial: bool = False) -> _Start:
        """Return where a derivation begins."""
        lines: list[DerivationLine] = []
        if any(has_determinant(e) for e in given.values()):
            lines.append(DerivationLine("given", "", given, None))
        for name, e in given.items():
            for rule, source, form in _determined(e)[1:]:
                lines.append(DerivationLine(rule, source, {**lines[-1].expressions, name: form}, None))
        forms = lines[-1].expressions if lines else given
        parts = {name: split_determinants(e) for name, e in forms.items()}
        theory = SERIAL if serial else theory_of(*given.values())
        state: list[Polynomial] = []
        for _, rest in parts.values():
            p, theory = theory.multiplied_out(rest)
            state.append(APPENDIX.normal(p) if has_appendix_letters(leaves(rest)) else p)
        return cls(given, {n: d for n, (d, _) in parts.items()}, tuple(state), theory, tuple(lines))

    def forms(self, state: Sequence[Polynomial]) -> dict[str, Expr]:
        """Return the outputs of a state."""
        return {
            name: self.determinants[name] + p.expression() for name, p in zip(self.given, state, strict=True)
        }

    def cost(self, state: Sequence[Polynomial]) -> Cost:
        """Return what the program of a state costs."""
        return cost(lower(self.forms(state), inverses=_inverses(self.theory)))

    def line(
        self, name: str, source: str, state: Sequence[Polynomial], known: Cost | None = None
    ) -> DerivationLine:
        """Return a state as a line of a derivation."""
        return DerivationLine(name, source, self.forms(state), known or self.cost(state))

    def derivation(self, lines: Sequence[DerivationLine], weighed: int) -> Derivation:
        """Return the derivation with these lines."""
        inverses, inner = _inverses(self.theory), _inner(self.theory)
        weighed += len(self.lines)
        return Derivation(self.given, tuple(lines), weighed, inverses, inner, self.theory.holds_on)


def _inner(theory: Theory) -> tuple[Derivation, ...]:
    """Return the derivations of the operators whose inverses have no closed form."""
    serial = theory.holds_on == "serial chains"
    return tuple(_derive(((f"X{k + 1}", e),), serial) for k, e in enumerate(theory.unknown.values()))


def _determined(e: Expr) -> list[tuple[str, str, Expr]]:
    return [("given", "", e), *determinant_steps(e)]


def _inverses(theory: Theory) -> dict[Leaf, Expr]:
    """Return what the dense letters are the inverses of."""
    known = {
        x: e.argument
        for x, e in DEFINITIONS.items()
        if isinstance(e, Inverse) and x.structure is Structure.DENSE
    }
    inside = {x: d.expressions for x, d in zip(theory.unknown, _inner(theory), strict=True)}
    return {**known, **{x: next(iter(e.values())) for x, e in inside.items()}}


def named(expressions: Expressions) -> dict[str, Expr]:
    """Return expressions by name; without names they are y, or y1, y2 …"""
    if isinstance(expressions, Expr):
        expressions = {"y": expressions}
    if isinstance(expressions, Mapping):
        found = dict(expressions)
    elif isinstance(expressions, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        found = {f"y{k + 1}": e for k, e in enumerate(expressions)}
    else:
        raise ArgumentError(
            f"expressions: {type(expressions).__name__} came; wanted an expression of hinge.algebra, a list "
            "of them, or a dict by name"
        )
    for name, e in found.items():
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"expressions: the key {name!r} came; wanted names as text")
        if not isinstance(e, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"{name}: {type(e).__name__} came; wanted an expression of hinge.algebra")
        if not name.isidentifier():
            raise ArgumentError(f"name {name!r}: wanted a Python identifier, since outputs become variables")
    if not found:
        raise ArgumentError("expressions: none came; give at least one")
    distinct_names(*found.values())
    return found


def written(name: str, e: Expr) -> list[str]:
    """Return an expression as lines of text: common subterms under names of their own."""
    if has_determinant(e):
        return [f"{name} = {e}"]
    p, _ = theory_of(e).multiplied_out(e)
    if len(p.terms) <= FLAT_WORDS:
        return [f"{name} = {e}"]
    whole = factored(p)
    names: dict[Expr, Expr] = {}
    letters = iter("νμελκ")
    for term in (t for t in common_terms([whole]) if len(str(t)) > 8):
        glyph = next(letters, f"x{len(names)}")
        names[term] = leaf(f"n{len(names)}", term.range, term.domain, unicode=glyph, meaning="a common term")
    lines = [f"{name} = {with_names(whole, names, top=True)}"]
    lines += [f"    {x} = {with_names(t, names, top=True)}" for t, x in reversed(names.items())]
    return lines


# Code.


def build(derivation: Derivation, binding: Binding) -> tuple[Code, NumpyProgram]:
    """Return the traced code of a derivation for a bound model, and what runs it."""
    code = trace(derivation.program, binding)
    return code, NumpyProgram(code)
