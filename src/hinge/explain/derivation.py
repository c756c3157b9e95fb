"""The steps of a derivation, each with its identity, its source, and a proof that unfolds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from hinge.algebra import Expr, leaves
from hinge.explain.markup import Html, join, tag, unfolds
from hinge.explain.typeset import formula, typeset
from hinge.pipeline import Derivation, DerivationLine, Proof, prove, written
from hinge.rules import Move, moves_for
from hinge.sweeps import Cost


def derivation_section(derivation: Derivation) -> Html:
    """Return the steps from the given expression to its final form."""
    found = [*derivation.inner, *derivation.computed.values(), derivation]
    return join([x for d in found for x in _steps(d)] + [tag("p", derivation.reason(), class_="reason")])


def _steps(d: Derivation) -> Iterator[Html]:
    moves = _moves(d)
    yield _card("given", Html(""), d.given, d.lines[0].cost)
    for number, (before, line) in enumerate(pairwise(d.lines), 1):
        yield _card(f"step {number}", _why(before, line, moves.get(line.name)), line.expressions, line.cost)


def _moves(d: Derivation) -> dict[str, Move]:
    """Return the identities of the moves by name."""
    letters = {x for e in d.given.values() for x in leaves(e)}
    return {f"{m.name}: {m.left} = {m.right}": m for m in moves_for(letters, d.holds_on)}


def _card(label: str, why: Html, forms: Mapping[str, Expr], cost: Cost | None) -> Html:
    texts = [formula("\n".join(written(name, e))) for name, e in forms.items()]
    costs = tag("p", *_chips(cost), class_="chips") if cost else Html("")
    return tag("div", tag("div", label, class_="label"), tag("div", why, *texts, costs), class_="step")


def _chips(cost: Cost) -> list[Html]:
    return [tag("span", part, class_="chip") for part in str(cost).split(", ")]


def _why(before: DerivationLine, line: DerivationLine, move: Move | None) -> Html:
    """Return the identity of a step, its source and its proof."""
    name, _, identity = line.name.partition(": ")
    title = [tag("b", name), tag("span", line.source, class_="source")] if line.source else [tag("b", name)]
    parts = [tag("p", *join_spaced(title), class_="why")]
    if identity:
        parts.append(tag("div", typeset(identity), class_="identity"))
    if move is not None:
        proof = prove(move.left, move.right)
        parts.append(unfolds("why this identity holds", _proof(proof), class_="proof"))
    else:
        for output, e in line.expressions.items():
            proof = prove(before.expressions[output], e)
            parts.append(unfolds("why this step holds", _proof(proof), class_="proof"))
    return join(parts)


def join_spaced(parts: list[Html]) -> list[str]:
    """Join pieces by spaces."""
    return [x for part in parts for x in (part, " ")][:-1]


def _proof(proof: Proof) -> Html:
    """Return a proof: its summary, and the lemmas from the axioms up."""
    lines = [
        tag("div", typeset(line.strip(), titles=False), class_=_level(line))
        for line in str(proof).splitlines()
    ]
    found = [tag("div", *lines, class_="lines")]
    if proof and proof.decision.rules:
        lemmas = [
            tag("div", typeset(line.strip(), titles=False)) for line in proof.decision.unfolded().splitlines()
        ]
        found.append(unfolds("lemma by lemma, from the axioms up", tag("div", *lemmas, class_="lines")))
    return join(found)


def _level(line: str) -> str:
    return f"level{(len(line) - len(line.lstrip())) // 2}"
