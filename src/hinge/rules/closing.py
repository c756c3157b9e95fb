"""From derivatives as the rules of differentiation give them to their closed forms, by named identities.

The steps of a route are taken one after another and only its end is weighed: forms in between cost more than
either end. Each move is a consequence of the axioms of `graded`, so `decide` proves each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hinge.algebra import (
    E0,
    Body,
    Carries,
    Coefficient,
    Context,
    Expr,
    H,
    Joint,
    Leaf,
    Letter,
    M,
    Polynomial,
    Product,
    Space,
    Structure,
    Sum,
    Terms,
    Word,
    Zero,
    ad,
    bar,
    block,
    composite,
    coriolis,
    factored,
    leaf_of,
    linear,
    no_inverse,
    partial,
    phi,
    polynomial,
    product,
    simplest,
    word_order,
)
from hinge.rules.graded import Motion, across, forces_of, motions_of, same_vector
from hinge.rules.moves import Move

COVARIANCE, FORCES, TWICE_B = "covariance of ad", "accumulated force", "2B of a motion"
BY_VELOCITIES, COMPOSITES, BLOCKS = "forces by B V", "composite bodies", "blocks at hinges"
SINGH = "Singh, Russell & Wensing 2022"


@dataclass(frozen=True, eq=False)
class Stage:
    """A step of a route: moves made one after another until none applies, or a grouping of words."""

    name: str
    source: str
    moves: tuple[Move, ...] = ()
    grouped: Callable[[Polynomial], Polynomial] | None = None
    fewer: bool = False

    def apply(self, p: Polynomial) -> Polynomial:
        """Return a polynomial with the step taken, unless it has to make fewer words and does not."""
        if self.grouped is not None:
            return self.grouped(p)
        terms: Mapping[Word, Coefficient] = p.terms
        for move in self.moves:
            made = move.apply(terms)
            terms = terms if made is None else made
        return p if self.fewer and len(terms) >= len(p.terms) else Polynomial(p.range, p.domain, terms)


def closing_steps(state: Sequence[Polynomial]) -> Iterator[tuple[str, str, tuple[Polynomial, ...]]]:
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
    still = [move for m in motions for move in _unchanged(m)]
    hinge = [move for m in motions for move in _turned(m, letters, at_hinge=True)]
    rest = [move for m in motions for move in _turned(m, letters, at_hinge=False)]
    roots = [
        Move("no turn beyond the base", m.start @ phi.T, m.start, "nothing lies beyond the base")
        for m in motions
        if m.start is not None
    ]
    return Stage(COVARIANCE, SINGH, (*still, *hinge, *rest, *roots))


def _turned(m: Motion, letters: Iterable[Leaf], *, at_hinge: bool) -> Iterator[Move]:
    """Yield φᵀ ad(r) φᵀ = x̂ φᵀ − φᵀ x̂λ for the letters ad(r) of a motion, before Hᵀ or anywhere."""
    for known, more in across(m):
        for x in letters:
            if x.origin is not None and x.origin.kind == "ad" and same_vector(x, known):
                left, right = phi.T @ x @ phi.T, m.own @ phi.T - phi.T @ m.parent + phi.T @ more
                if at_hinge:
                    left, right = left @ H.T, right @ H.T
                yield Move(COVARIANCE, left, right, SINGH)


def _unchanged(m: Motion) -> Iterator[Move]:
    """Yield x̂ φᵀ = φᵀ x̂λ for a motion that is the base's all along, such as gravity."""
    if any(isinstance(x.needs[0], Zero) for x, _ in across(m)):
        yield Move(COVARIANCE, m.own @ phi.T, phi.T @ m.parent, SINGH)


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
    return Stage(TWICE_B, SINGH, tuple(moves), fewer=True)


def _composites(letters: Sequence[Leaf]) -> Stage:
    contexts = _contexts(letters)
    return Stage(COMPOSITES, SINGH, grouped=lambda p: _with_composites(p, contexts[0]) if contexts else p)


def _with_composites(p: Polynomial, context: Context) -> Polynomial:
    """Return a polynomial with φ Z φᵀ = φ C + C φᵀ − C for sums Z of blocks between the same words."""
    groups: dict[tuple[Word, Word], Terms] = {}
    found: Terms = {}
    for word, c in p.terms.items():
        at = _gathered(word)
        if at is None:
            found[word] = c
        else:
            first, last = at
            inside = groups.setdefault((word[:first], word[last + 1 :]), {})
            inside[word[first + 1 : last]] = c
    for (left, right), inside in groups.items():
        size, Z = _scaled(inside, Body, Body)
        C = composite(Z, context=context)
        split = polynomial(phi @ C + C @ phi.T - C, no_inverse)
        for middle, sign in split.terms.items():
            word = _at_base((*left, *middle, *right))
            found[word] = found.get(word, 0) + sign * size
    return Polynomial(p.range, p.domain, {w: c for w, c in found.items() if c})


def _gathered(word: Word) -> tuple[int, int] | None:
    """Return where φ and φᵀ stand with nothing but blocks in between, or None."""
    for first, x in enumerate(word):
        if x is phi:
            last = next((k for k in range(first + 1, len(word)) if not _is_block(word[k])), first)
            if last > first + 1 and word[last] is phi.T:
                return first, last
    return None


def _at_base(word: Word) -> Word:
    """Return a word without φ beside blocks at the base: φ C E₀ᵀ = C E₀ᵀ, and the adjoint."""
    for k in range(len(word) - 2):
        if word[k] is phi and _is_block(word[k + 1]) and word[k + 2] is E0.T:
            return word[:k] + word[k + 1 :]
        if word[k] is E0 and _is_block(word[k + 1]) and word[k + 2] is phi.T:
            return word[: k + 2] + word[k + 3 :]
    return word


def _is_block(x: Letter) -> bool:
    return (x.range, x.domain) == (Body, Body) and leaf_of(x).structure is Structure.DIAGONAL


def _scaled(terms: Terms, range_: Space, domain: Space) -> tuple[Coefficient, Expr]:
    """Return a factor and an expression that starts with 1, whose product is the sum of words."""
    size = terms[min(terms, key=word_order)]
    inside = {w: simplest(Fraction(c) / size) for w, c in terms.items()}
    return size, factored(Polynomial(range_, domain, inside))


def _by_velocities(letters: Sequence[Leaf]) -> Stage:
    """Return the step to letters that are functions of forces with B V in place of −V̂ᵀ M V.

    The two are the same, since ad(V) V = 0 and bar(M V) V = −ad(V)ᵀ M V; 2B of a rigid body has few numbers.
    """
    moves: list[Move] = []
    for twice in (x for x in letters if x.origin is not None and x.origin.kind == "coriolis"):
        (V,), context = twice.needs, _context(twice)
        old, new = ad(V, context=context).T @ M @ V, -(twice @ V) / 2
        for x in letters:
            made = _remade(x, lambda e, old=old, new=new: _exchanged(e, old, new))
            if made is not None and made is not x:
                moves.append(Move(BY_VELOCITIES, x, made, "ad(V) V = 0"))
    return Stage(BY_VELOCITIES, "ad(V) V = 0", tuple(moves))


def _remade(x: Leaf, change: Callable[[Expr], Expr]) -> Leaf | None:
    """Return a letter as a function of a changed vector; None for letters of other kinds."""
    origin = x.origin
    if origin is None or not x.needs:
        return None
    if origin.kind == "bar":
        return bar(change(x.needs[0]), context=origin.context)
    if origin.kind == "partial" and origin.applied:
        return partial(origin.of, origin.slot, change(x.needs[0]), context=origin.context)
    return None


def _exchanged(e: Expr, old: Expr, new: Expr) -> Expr:
    """Return an expression with a term replaced, wherever it stands as a whole."""
    if e is old:
        return new
    if isinstance(e, Sum):
        return linear(*((c, _exchanged(t, old, new)) for c, t in e.terms))
    return product(*(_exchanged(f, old, new) for f in e.factors)) if isinstance(e, Product) else e


def _contexts(letters: Iterable[Leaf]) -> list[Context]:
    """Return where the letters of a derivative may be evaluated, which is the same for all."""
    return [_context(x) for x in letters if x.origin is not None and x.card.degree]


def _blocks(letters: Sequence[Leaf]) -> Stage:
    contexts = _contexts(letters)

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
        size, Z = _scaled(tails, Body, p.domain)
        found[*head, block(Z, context=context)] = size
    return Polynomial(p.range, p.domain, found)


def _moves(x: Letter) -> bool:
    """Tell whether a letter is block-diagonal and gives motions of bodies."""
    base = leaf_of(x)
    gives = base.card.gives if x is base else base.card.takes.dual
    return x.range is Body and base.structure is Structure.DIAGONAL and gives is Carries.MOTION


def _context(x: Leaf) -> Context:
    assert x.origin is not None
    return x.origin.context


_STAGES = (_covariance, _forces, _twice_B, _by_velocities, _composites, _blocks)
