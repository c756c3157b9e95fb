"""Proofs: equality decided by normal forms, unfolded to axioms, and checked by multiplying out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from hinge.algebra import Coefficient, Expr, Polynomial, Word, combined, factored, wrapped
from hinge.errors import SpaceError
from hinge.rules.completion import (
    Axiom,
    CompletionError,
    ContradictionError,
    DegreeError,
    Rule,
    Table,
    Use,
    ancestry,
)
from hinge.rules.graded import deciding_theory
from hinge.rules.theory import ORDER, Theory

#: An axiom with its factors: left · axiom · right.
Instance = tuple[Word, Axiom, Word]


@dataclass(frozen=True, eq=False)
class Decision:
    """Whether left = right follows from the axioms of a theory.

    True when it does. `difference` is what remains of left − right in normal form.
    """

    left: Expr
    right: Expr
    theory: Theory
    difference: Polynomial
    uses: tuple[Use, ...]

    def __bool__(self) -> bool:
        return not self.difference

    @property
    def rules(self) -> list[Rule]:
        """The rules of the table that were applied, each once, oldest first."""
        return sorted({u.source for u in self.uses if isinstance(u.source, Rule)}, key=lambda r: r.number)

    @cached_property
    def certificate(self) -> dict[Instance, Coefficient]:
        """Left − right as Σ coefficient · left · axiom · right, down to the axioms alone."""
        memo: dict[Rule, dict[Instance, Coefficient]] = {}
        for rule in ancestry(self.rules):
            memo[rule] = _unfolded(rule.proof, memo)
        return _unfolded(self.uses, memo)

    def check(self) -> bool:
        """Multiply the certificate out and compare it with left − right."""
        total = combined(
            (c, wrapped(left, axiom.difference.terms, right))
            for (left, axiom, right), c in self.certificate.items()
        )
        p, _ = self.theory.multiplied_out(self.left)
        r, _ = self.theory.multiplied_out(self.right)
        return combined([(1, (p - r).terms), (-1, self.difference.terms), (-1, total)]) == {}

    def __str__(self) -> str:
        claim = f"{self.left} = {self.right}"
        if not self:
            return (
                f"{claim}\n  not a consequence of the axioms: left − right leaves {factored(self.difference)}"
            )
        if not self.uses:
            return f"{claim}\n  proved: both sides multiply out to the same, inverses as they are defined"
        axioms = Counter(str(a) for _, a, _ in self.certificate)
        assumed = "".join(f", provided that {x} exists" for x in self.theory.unknown)
        lines = [f"{claim}", f"  proved on {self.theory.holds_on}{assumed}, by"]
        lines += [f"    {rule_text(r)}" for r in self.rules]
        lines.append(f"  which unfolds to {sum(axioms.values())} instances of {len(axioms)} axioms:")
        lines += [f"    {name} × {count}" for name, count in axioms.items()]
        return "\n".join(lines)

    def unfolded(self) -> str:
        """Return the proof lemma by lemma, from the axioms up."""
        lines: list[str] = []
        for rule in ancestry(self.rules):
            sources = ", ".join(dict.fromkeys(_source_name(u) for u in rule.proof))
            lines.append(f"  {rule_text(rule)}   from {sources}")
        used = ", ".join(f"rule {r.number}" for r in self.rules)
        return "\n".join([*lines, f"  {self.left} = {self.right}   from {used}"])


def decide(
    left: Expr, right: Expr, *, axioms: Sequence[Axiom] = (), theory: Theory | None = None
) -> Decision:
    """Decide left = right by normal forms in the theory of their letters, with axioms of your own.

    Where words have a higher degree than the table decides, what it rewrites to zero is equal all the same;
    else that is an error.
    """
    if (left.range, left.domain) != (right.range, right.domain):
        raise SpaceError(
            f"prove: {left} is {left.range} ← {left.domain}, but {right} is {right.range} ← {right.domain}; "
            "equal operators share both spaces"
        )
    base = (theory or deciding_theory(left, right)).extended(tuple(axioms))
    p, base = base.multiplied_out(left)
    r, base = base.multiplied_out(right)
    try:
        remainder, uses = base.reduced(p - r)
    except ContradictionError:
        raise
    except DegreeError:
        terms, uses = base.table.normal_form((p - r).terms)
        if terms:
            raise
        remainder = Polynomial(p.range, p.domain, terms)
    except CompletionError:  # sound all the same: the added axioms as rules, without their consequences
        terms, uses = _uncompleted(base).normal_form((p - r).terms)
        remainder = Polynomial(p.range, p.domain, terms)
    return Decision(left, right, base, remainder, tuple(uses))


def _uncompleted(theory: Theory) -> Table:
    """Return the shipped table with the added axioms as rules."""
    table = Table.of(theory.root.table.rules)
    number = max(r.number for r in ancestry(table.rules))
    for k, axiom in enumerate(theory.axioms[len(theory.root.axioms) :]):
        terms = dict(axiom.difference.terms)
        lead = ORDER.leading(terms)
        c = terms.pop(lead)
        rhs = {w: Fraction(-d) / c for w, d in terms.items()}
        table.add(Rule(number + k + 1, lead, rhs, (Use(1 / Fraction(c), (), axiom, ()),)))
    return table


def rule_text(rule: Rule) -> str:
    """Return a rule of a table as its number there and an equation in Unicode."""
    first = rule.lhs[0]
    left = Polynomial(first.range, rule.lhs[-1].domain, {rule.lhs: 1})
    right = Polynomial(left.range, left.domain, rule.rhs)
    return f"rule {rule.number}: {left.expression()} = {right.expression()}"


def _unfolded(
    uses: Sequence[Use], memo: Mapping[Rule, Mapping[Instance, Coefficient]]
) -> dict[Instance, Coefficient]:
    found: dict[Instance, Coefficient] = {}
    for u in uses:
        inner = {((), u.source, ()): 1} if isinstance(u.source, Axiom) else memo[u.source]
        for (left, axiom, right), c in inner.items():
            key = (u.left + left, axiom, right + u.right)
            total = found.get(key, 0) + u.coefficient * c
            if total:
                found[key] = total
            else:
                found.pop(key, None)
    return found


def _source_name(use: Use) -> str:
    return str(use.source) if isinstance(use.source, Axiom) else f"rule {use.source.number}"
