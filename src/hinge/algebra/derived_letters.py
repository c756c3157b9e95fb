"""The letters that differentiation makes, each once for what it is made of.

    ad(x)      x × y on motions: [ω× 0; v× ω×]
    bar(f)     x ↦ x ×* f on forces: −[n× f×; f× 0], skew
    value(e)   a vector as a letter of its own, computed once
    partial    ∂ℓ/∂nₖ of a letter that is a function of vectors at its body, or of the joint's own q; of an
               operator that depends on such, applied to a vector
    along      the rate of an operator's blocks along joint rates
    turned     what a turn of the nodes does to vectors that are shown in other axes
    coriolis   2B of a motion: bar(M V) − ad(V)ᵀ M − M ad(V)
    block      a block-diagonal operator, computed once
    composite  C = Z + E C Eᵀ of a block-diagonal Z: the blocks of all bodies that a body carries, added up
    moment     c with cᵀ x = tr Z ad(x) at each body
    contracted tr Z ∂ℓ of an operator ℓ, for each direction that its blocks depend on

Names come from what a letter is made of, so that they are the same in every process.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from hinge.algebra.card import Ask, Card, Carries, Role
from hinge.algebra.expression import Adjoint, Expr, Leaf, Product, Structure, Sum, leaf
from hinge.algebra.frame_free import carried
from hinge.algebra.letters import (
    DEFINITIONS,
    E0,
    E,
    M,
    R,
    friction,
    inertias,
    phi,
    placements,
    rotors,
)
from hinge.algebra.origin import DEFINED, Context, Origin
from hinge.algebra.polynomials import Letter, degree, leaf_of, leaves, no_inverse, polynomial
from hinge.algebra.space import Body, Constraint, Joint, Mount, Node, One, Space
from hinge.errors import ArgumentError

#: Weights of cross products in the order of words. Those of what propagation gives stay; those of what it is
#: given, and of parents, are eliminated; composites weigh what R does; blocks are written out first.
LEAST, COMPOSITE, PARENT, LOCAL, BLOCK = 1, R.card.weight, 30, 100, 1000
#: Longer texts of what a letter is made of are shortened in its name.
LONGEST = 14


def ad(x: Expr, *, context: Context = "own frames") -> Leaf:
    """Return y ↦ x × y for a vector of motions x."""
    return _made(Origin("ad", context=context), x.range, x.range, (x,), Carries.MOTION, Carries.MOTION,
                 f"⟦{_short(x)}⟧", f"{x} ×", order=(_weight(x, phi.T, LEAST), 1))  # fmt: skip


def bar(f: Expr, *, context: Context = "own frames") -> Leaf:
    """Return y ↦ y ×* f for a vector of forces f."""
    return _made(Origin("bar", context=context), f.range, f.range, (f,), Carries.FORCE, Carries.MOTION,
                 f"⟪{_short(f)}⟫", f"×* {f}", order=(_weight(f, phi, COMPOSITE), 1))  # fmt: skip


def value(e: Expr, *, context: Context = "own frames") -> Leaf:
    """Return a vector as a letter, of which formulas can be functions, whatever it is computed by."""
    found = carried(e)
    gives = Carries.UNKNOWN if found is None else found[0]
    return _made(Origin("value", context=context), e.range, One, (e,), gives, Carries.NUMBER,
                 f"⌊{_short(e)}⌋", f"the value of {_short(e)}")  # fmt: skip


def turned(r: Expr, *, context: Context = "own frames", force: bool = False) -> Leaf:
    """Return how the axes in which nodes are shown change r, per motion of the nodes."""
    slot = "force" if force else None
    gives = Carries.FORCE if force else Carries.MOTION
    return _made(Origin("turned", slot=slot, context=context), Node, Node, (r,), gives, Carries.MOTION,
                 f"⟮{_short(r)}⟯", f"the turn of axes on {_short(r)}")  # fmt: skip


#: What the blocks of partial derivatives by numbers of the model ask of a binding.
_ASKED: dict[Any, Ask] = {
    inertias: Ask.REGRESSOR,
    placements: Ask.MOUNTS,
    rotors: Ask.ROTORS,
    friction: Ask.ALL_FORCES,
}


def tangent(x: Leaf) -> Space:
    """Return the space of changes of a vector: its own, or motions of the inner frames of placements."""
    return Mount if x is placements else x.range


def partial(letter: Letter, slot: Any, at: Expr | None = None, *, context: Context = "own frames") -> Leaf:
    """Return the derivative of a letter by its need of number `slot`, or by the joint's own q if it is None.

    An operator is applied to the vector `at`. `slot` can be a parameter of the model too. By a need that is
    an operator, poses, it is the derivative by how what is posed is displaced in its own frame.
    """
    base = leaf_of(letter)
    needs = base.needs if at is None else (at, *base.needs)
    card = base.card
    source: Space = Joint if slot is None else base.range
    if isinstance(slot, Leaf):
        source = tangent(slot)
    elif slot is not None:
        source = base.needs[slot].range
    dense = base.range is Constraint
    gives = card.gives if isinstance(letter, Leaf) else card.takes.dual
    takes = Carries.NUMBER
    if isinstance(slot, int):
        found = carried(base.needs[slot])
        takes = Carries.UNKNOWN if found is None else found[0]
    by = "q" if slot is None else str(slot) if isinstance(slot, Leaf) else _short(base.needs[slot])
    what = str(letter) if at is None else f"{letter} {_short(at)}"
    asks = card.asks | ({_ASKED[slot]} if isinstance(slot, Leaf) else frozenset())
    return _made(Origin("partial", letter, slot, at is not None, context), letter.range, source, needs,
                 gives, takes, f"∂({what})/∂{by}", f"the derivative of {what} by {by}", asks,
                 hinged=card.hinged, dense=dense)  # fmt: skip


def along(letter: Letter, x: Expr, *, context: Context = "own frames") -> Leaf:
    """Return the rate of the blocks of an operator such as H along joint rates x."""
    card = leaf_of(letter).card
    adjoint = isinstance(letter, Adjoint)
    gives, takes = (card.takes.dual, card.gives.dual) if adjoint else (card.gives, card.takes)
    return _made(Origin("along", letter, None, True, context), letter.range, letter.domain,
                 (x, *leaf_of(letter).needs), gives, takes, f"δ{letter}", f"the rate of {letter} along {x}",
                 card.asks, hinged=card.hinged)  # fmt: skip


def coriolis(V: Expr, *, context: Context = "own frames") -> Leaf:
    """Return 2B = bar(M V) − ad(V)ᵀ M − M ad(V), how the forces of a motion change with the velocity.

    Of a rigid body it is [T 0; −2p× 0], p the momentum.
    """
    short = _short(V)
    return _made(Origin("coriolis", context=context), V.range, V.range, (V,), Carries.FORCE, Carries.MOTION,
                 f"2B({short})", f"⟪M {short}⟫ − ⟦{short}⟧ᵀ M − M ⟦{short}⟧",
                 order=(M.card.weight, 1))  # fmt: skip


def composite(Z: Expr, *, context: Context = "own frames") -> Leaf:
    """Return C = Z + E C Eᵀ of a block-diagonal operator on bodies: Z of a body and of all that it carries.

    φ Z φᵀ = φ C + C φᵀ − C, whether Z is self-adjoint or not. That of M is R.
    """
    if Z is M:
        return R
    if (Z.range, Z.domain) != (Body, Body) or any(x.structure is not Structure.DIAGONAL for x in leaves(Z)):
        raise ArgumentError(
            f"Z: expected a block-diagonal operator Body ← Body, of letters such as M and ad(…), got {Z}"
        )
    found = carried(Z)
    gives, takes = (Carries.UNKNOWN, Carries.UNKNOWN) if found is None else found
    p, short = polynomial(Z, no_inverse), _short(Z)
    return _made(Origin("composite", Z, context=context), Body, Body, (), gives, takes,
                 f"⟨{short}⟩", f"the composite of {short}", self_adjoint=p.T.key == p.key,
                 order=(COMPOSITE, _degree(Z)))  # fmt: skip


def block(Z: Expr, *, context: Context = "own frames") -> Leaf:
    """Return a block-diagonal operator as a letter of its own, computed once at each body."""
    found = carried(Z)
    gives, takes = (Carries.UNKNOWN, Carries.UNKNOWN) if found is None else found
    return _made(Origin("block", Z, context=context), Z.range, Z.domain, (), gives, takes,
                 f"[{_short(Z)}]", f"{Z}, computed once", order=(BLOCK, _degree(Z)))  # fmt: skip


def moment(Z: Expr, *, context: Context = "own frames") -> Leaf:
    """Return the vector c of forces with cᵀ x = tr Z ad(x) at each body, Z block-diagonal on motions."""
    made = _as_block(Z, context)
    return _made(Origin("moment", context=context), Z.range, One, (made,), Carries.FORCE, Carries.NUMBER,
                 f"tr({_short(made)} ⟦·⟧)", f"the trace of {_inside(made)} times cross products")  # fmt: skip


def contracted(letter: Leaf, slot: Any, Z: Expr, *, context: Context = "own frames") -> Leaf:
    """Return tr Z ∂ℓ for each direction of the joint's own q, slot None, or of numbers of the model."""
    made, source, by, asks = _as_block(Z, context), *_direction(letter, slot)
    return _made(Origin("contracted", letter, slot, True, context), source, One, (made, *letter.needs),
                 Carries.NUMBER, Carries.NUMBER, f"tr({_short(made)} ∂{letter}/∂{by})",
                 f"the trace of {_inside(made)} times the derivative of {letter} by {by}", asks,
                 hinged=letter.card.hinged)  # fmt: skip


def _direction(letter: Leaf, slot: Any) -> tuple[Space, str, frozenset[Ask]]:
    """Return the space of changes by the joint's own q or by numbers, its name, and what is asked for."""
    asks = letter.card.asks
    if slot is None:
        return Joint, "q", asks
    return tangent(slot), str(slot), asks | {_ASKED[slot]}


def _inside(x: Leaf) -> Expr:
    """Return what a block is, in full."""
    return x.origin.of if x.origin is not None and x.origin.kind == "block" else x


def _as_block(Z: Expr, context: Context) -> Leaf:
    """Return a block-diagonal operator as a letter."""
    return Z if isinstance(Z, Leaf) and Z.structure is Structure.DIAGONAL else block(Z, context=context)


def definition_of(x: Leaf) -> Expr | None:
    """Return what defines a letter: an expression, in which a letter that has a recursion stands itself."""
    if x.origin is not None and x.origin.kind in DEFINED:
        return x.origin.of + E @ x @ E.T if x.origin.kind == "composite" else x.origin.of
    return DEFINITIONS.get(x)


def in_cross_products(x: Leaf) -> Expr | None:
    """Return what 2B of a motion is in terms of ad, bar and M; None for other letters."""
    if x.origin is None or x.origin.kind != "coriolis":
        return None
    (V,), context = x.needs, x.origin.context
    turn = ad(V, context=context)
    return bar(M @ V, context=context) - turn.T @ M - M @ turn


def _degree(Z: Expr) -> int:
    return max(map(degree, polynomial(Z, no_inverse).terms), default=0)


def _made(
    origin: Origin,
    range_: Space,
    domain: Space,
    needs: tuple[Expr, ...],
    gives: Carries,
    takes: Carries,
    unicode: str,
    meaning: str,
    asks: frozenset[Ask] = frozenset(),
    *,
    hinged: bool = False,
    dense: bool = False,
    self_adjoint: bool = False,
    order: tuple[int, int] = (1, 0),
) -> Leaf:
    if origin.context == "own frames":
        gives = takes = Carries.UNKNOWN
    role = Role.VARIES if origin.context == "merged" else Role.NONE
    card = Card(gives, takes, role, asks=asks, hinged=hinged, weight=order[0], degree=order[1])
    structure = Structure.VECTOR if domain is One else Structure.DENSE if dense else Structure.DIAGONAL
    name = f"{origin.kind}_{_digest(origin, needs)}"
    return leaf(
        name,
        range_,
        domain,
        structure,
        self_adjoint=self_adjoint,
        unicode=unicode,
        meaning=meaning,
        needs=needs,
        card=card,
        origin=origin,
    )


def _weight(x: Expr, propagation: Expr, propagated: int) -> int:
    """Return the weight of a cross product with x in the order of words."""
    terms = [t for _, t in x.terms] if isinstance(x, Sum) else [x]
    first = [t.factors[0] if isinstance(t, Product) else t for t in terms]
    if E.T in first:
        return PARENT
    return propagated if len(first) == 1 and first[0] in (propagation, E0.T) else LOCAL


def _digest(origin: Origin, needs: tuple[Expr, ...]) -> str:
    parts = (origin.kind, repr(origin.of), repr(origin.slot), origin.applied, origin.context, needs)
    return blake2b(repr(parts).encode(), digest_size=6).hexdigest()


def _short(e: Expr) -> str:
    """Return a text of an expression for a name: a digest where it is long."""
    text = str(e)
    return text if len(text) <= LONGEST else f"{text[:6]}…{blake2b(text.encode(), digest_size=2).hexdigest()}"
