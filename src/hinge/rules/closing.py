"""From derivatives as the rules of differentiation give them to their closed forms, by named identities.

The steps of a route are taken one after another and only its end is weighed: forms in between cost more than
either end. Each move is a consequence of the axioms of `graded`, so `decide` proves each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hinge.algebra import (
    Body,
    Carries,
    Coefficient,
    Context,
    H,
    Joint,
    Leaf,
    Letter,
    M,
    Polynomial,
    Structure,
    Terms,
    Word,
    bar,
    block,
    composite,
    coriolis,
    factored,
    leaf_of,
    phi,
    simplest,
    word_order,
)
from hinge.rules.graded import Motion, across, forces_of, motions_of, same_vector
from hinge.rules.moves import COMMON, Move

COVARIANCE, FORCES, TWICE_B = "covariance of ad", "accumulated force", "2B of a motion"
COMPOSITES, BLOCKS = "composite bodies", "blocks at hinges"
SINGH = "Singh, Russell & Wensing 2022"


@dataclass(frozen=True, eq=False)
class Stage:
    """A step of a route: moves made one after another until none applies, or a grouping of words."""

    name: str
    source: str
    moves: tuple[Move, ...] = ()
    grouped: Callable[[Polynomial], Polynomial] | None = None

    def apply(self, p: Polynomial) -> Polynomial:
        """Return a polynomial with the step taken."""
        if self.grouped is not None:
            return self.grouped(p)
        terms: Mapping[Word, Coefficient] = p.terms
        for move in self.moves:
            terms = move.apply(terms) or terms if terms else terms
        return Polynomial(p.range, p.domain, terms)


def closing(state: Sequence[Polynomial]) -> Iterator[tuple[str, str, tuple[Polynomial, ...]]]:
    """Yield the steps to the closed form of derivatives that change something: name, source and forms."""
    state = tuple(state)
    for make in _STAGES:
        letters = sorted({leaf_of(x) for p in state for w in p.terms for x in w}, key=lambda x: x.name)
        stage = make(letters)
        new = tuple(map(stage.apply, state))
        if any(one.key != other.key for one, other in zip(state, new, strict=True)):
            state = new
            yield stage.name, stage.source, state


def _covariance(letters: Sequence[Leaf]) -> Stage:
    motions = motions_of(letters)
    hinge = [move for m in motions for move in _turned(m, letters, at_hinge=True)]
    rest = [move for m in motions for move in _turned(m, letters, at_hinge=False)]
    roots = [
        Move("no turn beyond the base", m.start @ phi.T, m.start, "nothing lies beyond the base")
        for m in motions
        if m.start is not None
    ]
    return Stage(COVARIANCE, SINGH, (*hinge, *rest, *roots))


def _turned(m: Motion, letters: Iterable[Leaf], *, at_hinge: bool) -> Iterator[Move]:
    """Yield φᵀ ad(r) φᵀ = x̂ φᵀ − φᵀ x̂λ for the letters ad(r) of a motion, before Hᵀ or anywhere."""
    for known, more in across(m):
        for x in letters:
            if x.origin is not None and x.origin.kind == "ad" and same_vector(x, known):
                left, right = phi.T @ x @ phi.T, m.own @ phi.T - phi.T @ m.parent + phi.T @ more
                if at_hinge:
                    left, right = left @ H.T, right @ H.T
                yield Move(COVARIANCE, left, right, SINGH)


def _forces(letters: Sequence[Leaf]) -> Stage:
    moves = tuple(
        Move(FORCES, phi @ f.own @ phi.T, phi @ f.total + f.total @ phi.T - f.total, SINGH)
        for f in forces_of(letters)
    )
    return Stage(FORCES, SINGH, moves)


def _twice_B(letters: Sequence[Leaf]) -> Stage:
    moves: list[Move] = []
    for m in motions_of(letters):
        (V,), context = m.own.needs, _context(m.own)
        momentum = bar(M @ V, context=context)
        if momentum in letters:
            whole = coriolis(V, context=context) + m.own.T @ M + M @ m.own
            moves.append(Move(TWICE_B, momentum, whole, SINGH))
    return Stage(TWICE_B, SINGH, tuple(moves))


def _composites(letters: Sequence[Leaf]) -> Stage:
    made = [
        (x, composite(x, context=_context(x)))
        for x in letters
        if x.origin is not None and x.origin.kind == "coriolis"
    ]
    moves = [Move("split of φ 2B φᵀ", phi @ x @ phi.T, phi @ C + C @ phi.T - C, SINGH) for x, C in made]
    return Stage(COMPOSITES, SINGH, (*moves, COMMON[0]))


def _blocks(letters: Sequence[Leaf]) -> Stage:
    contexts = [_context(x) for x in letters if x.origin is not None and x.card.degree]

    def grouped(p: Polynomial) -> Polynomial:
        return _with_blocks(p, contexts[0]) if p.domain is Joint and contexts else p

    return Stage(BLOCKS, "each is computed once", grouped=grouped)


def _with_blocks(p: Polynomial, context: Context) -> Polynomial:
    """Return a polynomial in which sums of blocks from hinges to motions are letters, each computed once."""
    groups: dict[Word, Terms] = {}
    for word, c in p.terms.items():
        cut = next((k + 1 for k in reversed(range(len(word))) if not _moves(word[k])), 0)
        groups.setdefault(word[:cut], {})[word[cut:]] = c
    found: Terms = {}
    for head, tails in groups.items():
        if len(tails) == 1 and len(next(iter(tails))) <= 1:
            found |= {head + tail: c for tail, c in tails.items()}
            continue
        size = tails[min(tails, key=word_order)]
        inside = {tail: simplest(Fraction(c) / size) for tail, c in tails.items()}
        made = block(factored(Polynomial(head[-1].domain, p.domain, inside)), context=context)
        found[*head, made] = size
    return Polynomial(p.range, p.domain, found)


def _moves(x: Letter) -> bool:
    """Tell whether a letter is block-diagonal and gives motions of bodies."""
    base = leaf_of(x)
    gives = base.card.gives if x is base else base.card.takes.dual
    return x.range is Body and base.structure is Structure.DIAGONAL and gives is Carries.MOTION


def _context(x: Leaf) -> Context:
    assert x.origin is not None
    return x.origin.context


_STAGES = (_covariance, _forces, _twice_B, _composites, _blocks)
