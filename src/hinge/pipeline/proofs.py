"""Proofs: are two expressions equal on every tree?

Normal forms in a completed table decide; where they do not, random trees look for a counterexample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hinge.algebra import Expr
from hinge.errors import ArgumentError
from hinge.pipeline.expressions import determined, distinct_names
from hinge.rules import Axiom, Decision, decide
from hinge.targets import Counterexample, SingularError, counterexample


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
        raise ArgumentError(f"axioms: expected values of hinge.rules.equation, got {axioms!r}")
    for side, e in (("left", left), ("right", right)):
        if not isinstance(e, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"{side}: expected an expression of hinge.algebra, got {type(e).__name__}")
    distinct_names(left, right)
    forms = [determined(e) for e in (left, right)]
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
