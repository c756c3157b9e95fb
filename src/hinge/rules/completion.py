"""Completion: from axioms to a confluent table of rewriting rules, each with its provenance.

Knuth–Bendix for typed non-commutative polynomials (Buchberger's algorithm without commutation): an
axiom is oriented by a weight order on words; where the left sides of two rules overlap, rewriting one
way and the other gives a consequence, which is reduced and, unless it is 0 = 0, becomes a rule. When
no overlap gives anything new the table is confluent: two expressions are equal by the axioms exactly
when their normal forms are the same.

Every rule carries how it came about, lhs − rhs = Σ c · left · source · right with sources among the
axioms and earlier rules, so that its proof unfolds to axioms alone.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from hinge.algebra import (
    Coefficient,
    Leaf,
    Letter,
    Polynomial,
    Terms,
    Word,
    combined,
    degree,
    leaf_of,
    letter_name,
    simplest,
    wrapped,
)
from hinge.errors import HingeError


class CompletionError(HingeError):
    """Report a completion that did not end within its time."""


class DegreeError(CompletionError):
    """Report words of a higher degree than a table was completed for."""


class ContradictionError(CompletionError):
    """Report axioms from which I = 0 follows."""


@dataclass(frozen=True, eq=False)
class Axiom:
    """A definition or a stated fact: left = right, with its name and source."""

    name: str
    difference: Polynomial
    source: str

    def __str__(self) -> str:
        return f"{self.name} [{self.source}]"


@dataclass(frozen=True, eq=False)
class Use:
    """One summand c · left · (source) · right of a proof."""

    coefficient: Coefficient
    left: Word
    source: Axiom | Rule
    right: Word


Proof: TypeAlias = tuple[Use, ...]


@dataclass(frozen=True, eq=False)
class Rule:
    """A rewriting rule lhs → rhs, and the proof of lhs − rhs = 0 from axioms and earlier rules."""

    number: int
    lhs: Word
    rhs: Mapping[Word, Coefficient]
    proof: Proof

    def difference(self) -> Terms:
        """Return lhs − rhs."""
        return combined([(1, {self.lhs: 1}), (-1, self.rhs)])

    def __str__(self) -> str:
        return f"{words({self.lhs: 1})} → {words(self.rhs)}"


@dataclass(frozen=True)
class Order:
    """A weight order on words: by sum of weights, then length, then names of letters."""

    weight: Callable[[Letter], int]

    def key(self, word: Word) -> tuple[int, int, tuple[str, ...]]:
        """Return the sort key of a word."""
        return sum(map(self.weight, word)), len(word), tuple(letter_name(x) for x in word)

    def leading(self, terms: Mapping[Word, Coefficient]) -> Word:
        """Return the largest word."""
        return max(terms, key=self.key)


@dataclass
class Table:
    """A set of rewriting rules, indexed by the first letter of the left side."""

    rules: list[Rule] = field(default_factory=list[Rule])
    by_letter: dict[Letter, list[Rule]] = field(default_factory=dict[Letter, list[Rule]])

    @classmethod
    def of(cls, rules: Sequence[Rule]) -> Table:
        """Return the table of these rules."""
        table = cls()
        for rule in rules:
            table.add(rule)
        return table

    def add(self, rule: Rule) -> None:
        """Add a rule."""
        self.rules.append(rule)
        self.by_letter.setdefault(rule.lhs[0], []).append(rule)

    def drop(self, rule: Rule) -> None:
        """Remove a rule."""
        self.rules.remove(rule)
        self.by_letter[rule.lhs[0]].remove(rule)

    def match(self, word: Word, skip: Rule | None = None) -> tuple[int, Rule] | None:
        """Return the first position and rule that rewrite a word."""
        for k, letter in enumerate(word):
            for rule in self.by_letter.get(letter, ()):
                if rule is not skip and word[k : k + len(rule.lhs)] == rule.lhs:
                    return k, rule
        return None

    def normal_form(self, terms: Mapping[Word, Coefficient]) -> tuple[Terms, list[Use]]:
        """Return the terms rewritten until no rule applies, and the rules used.

        terms = normal form + Σ c · left · (lhs − rhs) · right.
        """
        todo, done, uses = dict(terms), dict[Word, Coefficient](), list[Use]()
        while todo:
            word, c = todo.popitem()
            found = self.match(word)
            if found is None:
                total = done.pop(word, 0) + c
                if total:
                    done[word] = total
                continue
            k, rule = found
            left, right = word[:k], word[k + len(rule.lhs) :]
            uses.append(Use(c, left, rule, right))
            todo = combined([(1, todo), (1, wrapped(left, rule.rhs, right, c))])
        return done, uses


@dataclass(frozen=True)
class Completed:
    """A confluent table, with the statistics of its completion."""

    table: Table
    overlaps: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{len(self.table.rules)} rules, {self.overlaps} overlaps examined, none unresolved, "
            f"{1e3 * self.seconds:.0f} ms"
        )


def complete(
    axioms: Sequence[Axiom],
    order: Order,
    *,
    start: Sequence[Rule] = (),
    seconds: float = 10.0,
    up_to: int | None = None,
) -> Completed:
    """Return the confluent table of the axioms, added to rules that are already confluent together.

    With `up_to`, overlaps of a higher degree are left out: of axioms that are homogeneous the table is
    confluent on words up to that degree, and says nothing about others.
    """
    begun = time.perf_counter()
    number = max((r.number for r in start), default=0)
    work = _Completion(order, Table.of(start), number=number, up_to=up_to)
    for axiom in axioms:
        work.take(axiom.difference.terms, (Use(1, (), axiom, ()),))
    while work.pending:
        if time.perf_counter() - begun > seconds:
            raise CompletionError(
                f"no confluent table within {seconds:g} s: {len(work.table.rules)} rules, "
                f"{len(work.pending)} overlaps open; give the new letters other weights, or fewer axioms"
            )
        _, _, first, second, size = heapq.heappop(work.pending)
        if first in work.alive and second in work.alive:
            work.overlap(first, second, size)
    return Completed(work.table, work.overlaps, time.perf_counter() - begun)


@dataclass
class _Completion:
    order: Order
    table: Table
    number: int = 0
    overlaps: int = 0
    queued: int = 0
    pending: list[tuple[int, int, Rule, Rule, int]] = field(default_factory=list[Any])
    alive: set[Rule] = field(default_factory=set[Rule])
    up_to: int | None = None

    def __post_init__(self) -> None:
        self.alive = set(self.table.rules)

    def take(self, terms: Mapping[Word, Coefficient], proof: Proof) -> None:
        """Reduce a consequence terms = 0 and make it a rule unless it is 0 = 0."""
        reduced, uses = self.table.normal_form(terms)
        if not reduced:
            return
        lead = self.order.leading(reduced)
        c = reduced.pop(lead)
        if not lead:
            raise ContradictionError(f"the axioms contradict each other: they give {c} I = 0")
        rhs = {w: _quotient(-d, c) for w, d in reduced.items()}
        whole = [*proof, *(Use(-u.coefficient, u.left, u.source, u.right) for u in uses)]
        scaled = tuple(Use(_quotient(u.coefficient, c), u.left, u.source, u.right) for u in whole)
        self.number += 1
        self._install(Rule(self.number, lead, rhs, scaled))

    def _install(self, rule: Rule) -> None:
        """Add a rule; rules whose left side it rewrites are removed and reduced again."""
        stale = [r for r in self.table.rules if _contains(r.lhs, rule.lhs)]
        for r in stale:
            self.table.drop(r)
            self.alive.discard(r)
        self.table.add(rule)
        self.alive.add(rule)
        for other in self.table.rules:
            self._queue(rule, other)
            if other is not rule:
                self._queue(other, rule)
        for r in stale:
            self.take(r.difference(), (Use(1, (), r, ()),))
        self._tidy(rule)

    def _tidy(self, rule: Rule) -> None:
        """Rewrite right sides that the new rule applies to."""
        for r in list(self.table.rules):
            if r is rule or not any(_contains(w, rule.lhs) for w in r.rhs):
                continue
            rhs, uses = self.table.normal_form(r.rhs)
            self.number += 1
            new = Rule(self.number, r.lhs, rhs, (Use(1, (), r, ()), *uses))
            self.table.drop(r)
            self.alive.discard(r)
            self.table.add(new)
            self.alive.add(new)
            for other in list(self.table.rules):
                self._queue(new, other)
                if other is not new:
                    self._queue(other, new)

    def _queue(self, first: Rule, second: Rule) -> None:
        """Queue the overlaps of two left sides, lightest words first."""
        for size in range(1, min(len(first.lhs), len(second.lhs))):
            if first.lhs[-size:] == second.lhs[:size]:
                word = first.lhs + second.lhs[size:]
                if self.up_to is not None and degree(word) > self.up_to:
                    continue
                weight = self.order.key(word)[0]
                self.queued += 1
                heapq.heappush(self.pending, (weight, self.queued, first, second, size))

    def overlap(self, first: Rule, second: Rule, size: int) -> None:
        """Reduce the critical pair of an overlap."""
        self.overlaps += 1
        left, right = first.lhs[:-size], second.lhs[size:]
        one, two = wrapped((), first.rhs, right), wrapped(left, second.rhs, ())
        proof = (Use(-1, (), first, right), Use(1, left, second, ()))
        self.take(combined([(1, one), (-1, two)]), proof)


def renamed_axiom(axiom: Axiom, letters: Mapping[Leaf, Leaf]) -> Axiom:
    """Return an axiom with other letters."""
    p = axiom.difference
    terms = {renamed_word(w, letters): c for w, c in p.terms.items()}
    return Axiom(axiom.name, Polynomial(p.range, p.domain, terms), axiom.source)


def renamed_rules(
    rules: Sequence[Rule], letters: Mapping[Leaf, Leaf], axioms: Mapping[Axiom, Axiom]
) -> list[Rule]:
    """Return rules with other letters, and their proofs from the axioms with these."""
    made: dict[Axiom | Rule, Axiom | Rule] = {**axioms}

    def word(w: Word) -> Word:
        return renamed_word(w, letters)

    for rule in ancestry(rules):
        proof = tuple(Use(u.coefficient, word(u.left), made[u.source], word(u.right)) for u in rule.proof)
        made[rule] = Rule(rule.number, word(rule.lhs), {word(w): c for w, c in rule.rhs.items()}, proof)
    return [made[rule] for rule in rules]  # pyright: ignore[reportReturnType]


def renamed_word(word: Word, letters: Mapping[Leaf, Leaf]) -> Word:
    """Return a word with other letters; those that are not named stay."""
    found = ((x, letters.get(leaf_of(x))) for x in word)
    return tuple(x if y is None else y if isinstance(x, Leaf) else y.T for x, y in found)  # pyright: ignore[reportReturnType]


def ancestry(rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules and the rules that their proofs use, oldest first."""
    found: dict[int, Rule] = {}
    todo = list(rules)
    while todo:
        rule = todo.pop()
        if rule.number not in found:
            found[rule.number] = rule
            todo += [u.source for u in rule.proof if isinstance(u.source, Rule)]
    return [found[n] for n in sorted(found)]


def _contains(word: Word, part: Word) -> bool:
    return any(word[k : k + len(part)] == part for k in range(len(word) - len(part) + 1))


def _quotient(c: Coefficient, d: Coefficient) -> Coefficient:
    return simplest(Fraction(c) / d)


def words(terms: Mapping[Word, Coefficient]) -> str:
    """Return terms in plain letters, for tables and messages."""
    if not terms:
        return "0"
    out = ""
    for k, (w, c) in enumerate(
        sorted(terms.items(), key=lambda t: (len(t[0]), t[0] and letter_name(t[0][0])))
    ):
        body = " ".join(map(letter_name, w)) or "1"
        size = "" if abs(c) == 1 else f"{abs(c)} "
        sign = "-" if c < 0 else ("" if k == 0 else "+")
        out += f" {sign} {size}{body}" if k else f"{sign}{size}{body}"
    return out
