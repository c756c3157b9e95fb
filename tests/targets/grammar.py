"""Random well-typed expressions over all letters: words are paths in a graph of spaces.

A place is a space and, where vectors are forces or motions there, which of them. A piece (a letter, its
adjoint, an inverse, a well-known product) leads from one place to another. Three styles share this:

    "hidden"  bodies are seen through φ alone, as in H φ M φᵀ Hᵀ: coupled and fixed bodies may be merged
    "strict"  what takes forces gets forces: the expression means the same in all frames of bodies
    "loose"   spaces fit, and no more: H Hᵀ
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import product as pairs
from typing import Any, Literal, TypeAlias

import numpy as np

from hinge.algebra import (
    E0,
    STANDARD,
    A,
    Active,
    Adjoint,
    B,
    Body,
    Carries,
    Constraint,
    D,
    Dp,
    Dr,
    E,
    Es,
    Expr,
    H,
    Ha,
    Hp,
    Identity,
    Joint,
    K,
    Kp,
    Leaf,
    M,
    Mi,
    Mip,
    Node,
    One,
    P,
    Parameter,
    Passive,
    R,
    Space,
    Structure,
    Ups,
    World,
    a,
    a_m,
    appendix,
    b,
    b_m,
    identity,
    leaf,
    leaves,
    logdet,
    passive,
    phi,
    psi,
    psip,
    whole,
)

Style: TypeAlias = Literal["hidden", "strict", "loose"]
#: Spaces in which vectors are forces or motions.
SPATIAL = frozenset({Body, Node, World})
Rng: TypeAlias = np.random.Generator


@dataclass(frozen=True)
class Place:
    """A space; in spatial ones `kind` is "force" or "motion"."""

    space: Space
    kind: str = ""

    @property
    def dual(self) -> Place:
        """Where vectors are that make a number with those of this place."""
        return Place(self.space, {"force": "motion", "motion": "force"}.get(self.kind, ""))


@dataclass(frozen=True, eq=False)
class Piece:
    """An operator that leads from one place to another."""

    e: Expr
    gives: Place
    takes: Place

    @cached_property
    def letters(self) -> frozenset[Leaf]:
        """The letters that occur."""
        return frozenset(leaves(self.e))

    @property
    def T(self) -> Piece:
        """The adjoint, between the dual places."""
        return Piece(self.e.T, self.takes.dual, self.gives.dual)

    @property
    def inv(self) -> Piece:
        """The inverse."""
        return Piece(self.e.inv(), self.takes, self.gives)

    @property
    def loose(self) -> Piece:
        """The same between spaces alone."""
        return Piece(self.e, Place(self.gives.space), Place(self.takes.space))


#: Where vectors lead from.
NUMBER = Place(One)


def piece(e: Expr, gives: str = "", takes: str = "") -> Piece:
    """Return an expression as a piece; spatial ends are of these kinds, forces unless told."""
    ends = [
        Place(s, (kind or "force") if s in SPATIAL else "")
        for s, kind in ((e.range, gives), (e.domain, takes))
    ]
    return Piece(e, *ends)


# Letters.

#: Letters of the user's own: vectors in every space, block-diagonal and dense operators between spaces.
OWN_VECTORS = tuple(
    leaf(f"u_{s.name.lower()}", s, One)
    for s in (Joint, Body, Node, World, Passive, Active, Parameter, Constraint)
)
#: How many numbers the space has that no robot knows.
SIZES = {Constraint: 3}
_DENSE_PAIRS = (
    (Constraint, Joint), (Joint, Joint), (Constraint, Constraint), (Node, Constraint), (World, Joint),
)  # fmt: skip
OWN_DENSE = (
    *(leaf(f"W_{to.name}_{of.name}", to, of) for to, of in _DENSE_PAIRS),
    leaf("W_Constraint", Constraint, Constraint, self_adjoint=True),
)
_PAIRS = [*pairs((Joint, Body, Node, Passive, Active), repeat=2)]
OWN_OPERATORS = tuple(
    leaf(f"U_{to.name}_{of.name}", to, of, Structure.DIAGONAL) for to, of in _PAIRS
) + tuple(leaf(f"U_{s.name}", s, s, Structure.DIAGONAL, self_adjoint=True) for s in (Joint, Body, Node))
OWN = (*OWN_VECTORS, *OWN_OPERATORS, *OWN_DENSE)
_U = {x.name: x for x in OWN}
LETTERS: tuple[Leaf, ...] = (*STANDARD.values(), *OWN)

#: What letters of the user's own give and take, where that is not "force"; the others have it on their cards.
_KINDS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("U_Body", "U_Body_Body", "U_Body_Node"), ("force", "motion")),
    **dict.fromkeys(("U_Node", "U_Node_Body"), ("motion", "force")),
    **dict.fromkeys(("U_Node_Node", "u_node"), ("motion", "motion")),
}


def letter_piece(x: Leaf) -> Piece:
    """Return a letter as a piece."""
    if x in OWN:
        return piece(x, *_KINDS.get(x.name, ("", "")))
    kinds = {Carries.FORCE: "force", Carries.MOTION: "motion"}
    return piece(x, kinds.get(x.card.gives, ""), kinds.get(x.card.takes, ""))


#: Letters of the appendix have no value alone, but together they are E, Eψ, φ − I, ψ − I, M, and K.
_STEPS = (appendix.S, appendix.Phi, appendix.Psi)
_BLOCKS_BESIDE = (appendix.Dphi, appendix.Dpsi, appendix.L)
_TOGETHER = (
    *(piece(step @ block) for step in _STEPS for block in _BLOCKS_BESIDE),
    piece(appendix.r - Es @ appendix.r @ E.T, "force", "motion"),
)
#: These letters; alone they are drawn now and then only.
TOGETHER = frozenset({*_STEPS, *_BLOCKS_BESIDE, appendix.r})
#: What sees bodies through φ.
_EYES = (H, Hp, Ha, E0)


def hidden_pieces() -> list[Piece]:
    """Return products in which bodies are seen through φ alone."""
    found = [piece(x @ phi @ M @ phi.T @ y.T, "force", "motion") for x, y in pairs(_EYES, _EYES)]
    for eye in _EYES:
        found += [piece(eye @ phi @ z) for z in (B, b, b_m, A)]
        found += [piece(eye @ phi @ M @ phi.T @ z) for z in (a, a_m)]
    found += [piece(B.T @ phi.T @ y.T, "motion", "motion") for y in _EYES]
    found += [piece(B.T @ phi.T @ z, "motion") for z in (a, a_m)]
    return [*found, piece(H @ psi @ K), piece(H @ phi @ K)]


@cache
def pieces(style: Style) -> tuple[Piece, ...]:
    """Return what words of a style are made of."""
    found = hidden_pieces()
    for x in LETTERS:
        if style != "hidden" or Body not in (x.range, x.domain):
            found.append(letter_piece(x))
    found += _TOGETHER if style != "hidden" else ()
    found += [p.T for p in found if p.e.T is not p.e or p.gives != p.takes.dual]
    return tuple(p.loose for p in found) if style == "loose" else tuple(found)


def _is_alone(e: Expr) -> bool:
    return (e.leaf if isinstance(e, Adjoint) else e) in TOGETHER


# Words.


class Grammar:
    """The pieces of a style, and others that are drawn for one expression; words are paths over them."""

    def __init__(
        self, style: Style, allowed: Collection[Leaf], more: Iterable[Piece] = (), *, alone: bool = False
    ) -> None:
        self.style, self.allowed, self.alone = style, allowed, alone
        known = frozenset(allowed)
        self.pieces = [p for p in pieces(style) if p.letters <= known and (alone or not _is_alone(p.e))]
        self.more = list(more)
        self.by_end: dict[Place, list[Piece]] = {}
        for p in (*self.pieces, *self.more):
            self.by_end.setdefault(p.gives, []).append(p)
        self._steps: dict[Place, dict[Place, int]] = {}

    def extended(self, more: Sequence[Piece]) -> Grammar:
        """Return the grammar with more pieces, each beside its adjoint."""
        known = [p.loose if self.style == "loose" else p for p in (*more, *(m.T for m in more))]
        return Grammar(self.style, self.allowed, [*self.more, *known], alone=self.alone)

    def places(self) -> list[Place]:
        """Return the places that pieces lead to or from."""
        return list(dict.fromkeys(x for p in (*self.pieces, *self.more) for x in (p.gives, p.takes)))

    def steps_to(self, takes: Place) -> dict[Place, int]:
        """Return from how many pieces a word can be made that takes this, by what it gives."""
        if takes not in self._steps:
            found, near = {takes: 0}, [takes]
            for place in near:
                if place == NUMBER and place != takes:
                    continue  # there are no programs for outer products
                for p in (*self.pieces, *self.more):
                    if p.takes == place and p.gives not in found:
                        found[p.gives] = found[place] + 1
                        near.append(p.gives)
            self._steps[takes] = found
        return self._steps[takes]

    def word(self, rng: Rng, gives: Place, takes: Place, length: int) -> Expr | None:
        """Return a random product of at most so many pieces, or as few as there must be; None without any."""
        steps = self.steps_to(takes)
        if gives not in steps:
            return None
        left = max(steps[gives], int(rng.integers(length + 1)))
        e: Expr = identity(gives.space)
        at = gives
        while at != takes or left > 0:
            last = {NUMBER} if left > 1 or takes != NUMBER else ()
            choice = [
                p for p in self.by_end.get(at, ()) if steps.get(p.takes, left) < left and p.takes not in last
            ]
            if not choice:
                break
            drawn = [p for p in choice if p in self.more]
            p = _one(rng, drawn if drawn and rng.random() < 0.3 else choice)
            e, at, left = e @ p.e, p.takes, left - 1
        return e if at == takes else None

    def through(
        self, rng: Rng, stops: Sequence[Piece], gives: Place, takes: Place, length: int
    ) -> Expr | None:
        """Return a random product with some pieces in it, in this order; None if there is none."""
        ends = [gives, *(x for p in stops for x in (p.gives, p.takes)), takes]
        if NUMBER in ends[2:-2] or (ends[1] == NUMBER != gives) or (ends[-2] == NUMBER != takes):
            return None
        e: Expr = identity(gives.space)
        for n, (left, right) in enumerate(batched_pairs(ends)):
            between = identity(left.space) if left == right == NUMBER else self.word(rng, left, right, length)
            if between is None:
                return None
            e = e @ between @ stops[n].e if n < len(stops) else e @ between
        return e


def batched_pairs(x: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """Return the first and second, third and fourth …"""
    return zip(x[::2], x[1::2], strict=True)


# Inverses.


@cache
def _seeds(style: Style) -> list[Piece]:
    """Return positive operators: those of the form L X Lᵀ may be added, and there is an inverse still."""
    one = [piece(identity(s)) for s in (Joint, Passive, Active)]
    one += [piece(identity(s), "motion", "force") for s in (Node, World)]
    found = [*one, piece(whole.mass), piece(passive.mass), piece(Mi), piece(Mip)]
    found += [piece(_U["U_Joint"]), piece(whole.mass + _U["U_Joint"])]
    found += [piece(E0 @ phi @ M @ phi.T @ E0.T, "force", "motion")]
    jacobian = B.T @ phi.T @ H.T
    found += [piece(jacobian @ Mi @ jacobian.T, "motion", "force")]
    if style != "hidden":
        found += [piece(x, "force", "motion") for x in (M, P, R)] + [piece(D), piece(Dp)]
    return found + ([piece(identity(Body))] if style == "loose" else [])


#: Others that have an inverse.
INVERTIBLE = (
    piece(identity(Body) - E),
    piece(identity(Body) - Es),
    piece(identity(Joint) + H @ phi @ K),
    piece(identity(Joint) - H @ psi @ K),
    piece(identity(Passive) - Hp @ psip @ Kp),
    piece(Dr),
    piece(Dr @ Dr.T),
    piece(whole.mass @ D),
    piece(_U["U_Joint_Joint"]),
    piece(_U["U_Passive_Passive"]),
    piece(_U["U_Node_Node"]),
)


def drawn_inverse(rng: Rng, grammar: Grammar) -> Piece | None:
    """Return the inverse of a random operator that has one by its form."""
    if grammar.style != "hidden" and rng.random() < 0.25:
        known = [p for p in INVERTIBLE if p.letters <= set(grammar.allowed)]
        return _one(rng, known).inv if known else None
    positive = [p for p in _seeds(grammar.style) if p.letters <= set(grammar.allowed)]
    if not positive:
        return None
    seed = _one(rng, positive)
    e = seed.e
    if rng.random() < 0.6 or isinstance(e, Identity):
        middle = _one(rng, positive)
        gives, to = (x if grammar.style != "loose" else Place(x.space) for x in (seed.gives, middle.gives))
        way = grammar.word(rng, gives, to, 3)
        if way is not None and not isinstance(way, Identity):
            e = e + _coefficient(rng, positive=True) * (way @ middle.e @ way.T)
    return Piece(e, seed.gives, seed.takes).inv


# Expressions.

#: What determinants are taken of.
_DETERMINANTS = (
    whole.mass,
    passive.mass,
    D,
    Dp,
    M,
    P,
    Mi,
    identity(Joint) + H @ phi @ K,
    E0 @ phi @ M @ phi.T @ E0.T,
)
_COEFFICIENTS = (1, 1, 1, 2, Fraction(1, 2), 3, Fraction(3, 10))
#: Letters that `blocks` may show, and products over an edge, which stand for what the parent has.
_BLOCKS = tuple(
    x
    for x in LETTERS
    if x.structure is Structure.DIAGONAL and {x.range, x.domain} <= {Body, Joint} and x not in TOGETHER
)
_ABOVE = (
    *(piece(E.T @ x @ E, "force", "motion") for x in (P, R)),
    piece(E.T @ Ups @ E, "motion", "force"),
    piece(K.T @ Ups @ K),
    piece(K.T @ Ups @ Es, "", "force"),
)


def expression(rng: Rng, grammar: Grammar, focus: Leaf | None, length: int) -> Expr | None:
    """Return a random expression, with a letter in it that must be there."""
    inverse = drawn_inverse(rng, grammar) if rng.random() < 0.25 else None
    grammar = grammar if inverse is None else grammar.extended([inverse])
    around = [p for p in grammar.pieces if focus is None or focus in p.letters]
    for attempt in range(40 if around else 0):
        stops = [_one(rng, around)]
        if inverse is not None and attempt < 30:
            stops.insert(int(rng.integers(2)), _one(rng, grammar.more))
        takes = NUMBER if rng.random() < 0.6 else _one(rng, grammar.places())
        gives = NUMBER if rng.random() < 0.15 else _one(rng, grammar.places())
        e = grammar.through(rng, stops, gives, takes, (length + 1) // 2)
        if e is None:
            continue
        for _ in range(int(rng.choice([0, 1, 2], p=[0.5, 0.35, 0.15]))):
            other = grammar.word(rng, gives, takes, length)
            e = e if other in (None, identity(One)) else e + _coefficient(rng) * other
        if gives == takes == NUMBER and rng.random() < 0.4:
            known = [x for x in _DETERMINANTS if leaves(x) <= set(grammar.allowed)]
            e = e + _coefficient(rng) * logdet(_one(rng, known))
        if focus is None or focus in leaves(e):
            return e.T if rng.random() < 0.1 else e
    return None


def block_operator(rng: Rng, allowed: Collection[Leaf]) -> Expr:
    """Return a random block-diagonal operator between Body and Joint."""
    grammar = Grammar("strict", [x for x in _BLOCKS if x in allowed], _ABOVE)
    while True:
        middle = _one(rng, grammar.pieces)
        ends = [_one(rng, grammar.places()) for _ in range(2)]
        e = grammar.through(rng, [middle], *ends, 2)
        if e is not None:
            other = grammar.word(rng, *ends, 2)
            return e if other is None or rng.random() < 0.5 else e + _coefficient(rng) * other


def _coefficient(rng: Rng, *, positive: bool = False) -> Fraction:
    found = Fraction(_one(rng, _COEFFICIENTS))
    return -found if not positive and rng.random() < 0.3 else found


def _one(rng: Rng, choice: Sequence[Any]) -> Any:
    return choice[int(rng.integers(len(choice)))]
