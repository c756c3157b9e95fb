"""The letters that differentiation makes, each once for what it is made of.

    ad(x)      x × y on motions: [ω× 0; v× ω×]
    bar(f)     x ↦ x ×* f on forces: −[n× f×; f× 0], skew
    value(e)   a vector as a letter of its own, computed once
    partial    ∂ℓ/∂nₖ of a letter that is a function of vectors at its body, or of the joint's own q; of an
               operator that depends on such, applied to a vector
    along      the rate of an operator's blocks along joint rates
    turned     what a turn of the nodes does to vectors that are shown in other axes

Names come from what a letter is made of, so that they are the same in every process.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from hinge.algebra.card import Ask, Card, Carries, Role
from hinge.algebra.expression import Adjoint, Expr, Leaf, Structure, leaf
from hinge.algebra.frame_free import carried
from hinge.algebra.letters import inertias
from hinge.algebra.origin import Context, Origin
from hinge.algebra.polynomials import Letter, leaf_of
from hinge.algebra.space import Constraint, Joint, Node, One, Space

#: Longer texts of what a letter is made of are shortened in its name.
LONGEST = 14


def ad(x: Expr, *, context: Context = "own frames") -> Leaf:
    """Return y ↦ x × y for a vector of motions x."""
    return _made(Origin("ad", context=context), x.range, x.range, (x,), Carries.MOTION, Carries.MOTION,
                 f"⟦{_short(x)}⟧", f"{x} ×")  # fmt: skip


def bar(f: Expr, *, context: Context = "own frames") -> Leaf:
    """Return y ↦ y ×* f for a vector of forces f."""
    return _made(Origin("bar", context=context), f.range, f.range, (f,), Carries.FORCE, Carries.MOTION,
                 f"⟪{_short(f)}⟫", f"×* {f}")  # fmt: skip


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


def partial(letter: Letter, slot: Any, at: Expr | None = None, *, context: Context = "own frames") -> Leaf:
    """Return the derivative of a letter by its need of number `slot`, or by the joint's own q if it is None.

    An operator is applied to the vector `at`. `slot` can be a parameter of the model too. By a need that is
    an operator, poses, it is the derivative by how what is posed is displaced in its own frame.
    """
    base = leaf_of(letter)
    needs = base.needs if at is None else (at, *base.needs)
    card, parameter = base.card, isinstance(slot, Leaf)
    source: Space = Joint if slot is None else slot.range if parameter else base.needs[slot].range
    dense = base.range is Constraint
    gives = card.gives if isinstance(letter, Leaf) else card.takes.dual
    takes = Carries.NUMBER
    if isinstance(slot, int):
        found = carried(base.needs[slot])
        takes = Carries.UNKNOWN if found is None else found[0]
    by = "q" if slot is None else str(slot) if parameter else str(_short(base.needs[slot]))
    what = str(letter) if at is None else f"{letter} {_short(at)}"
    asks = card.asks | ({Ask.REGRESSOR} if slot is inertias else frozenset())
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
) -> Leaf:
    if origin.context == "own frames":
        gives = takes = Carries.UNKNOWN
    role = Role.VARIES if origin.context == "merged" else Role.NONE
    card = Card(gives, takes, role, asks=asks, hinged=hinged)
    structure = Structure.VECTOR if domain is One else Structure.DENSE if dense else Structure.DIAGONAL
    name = f"{origin.kind}_{_digest(origin, needs)}"
    return leaf(
        name,
        range_,
        domain,
        structure,
        unicode=unicode,
        meaning=meaning,
        needs=needs,
        card=card,
        origin=origin,
    )


def _digest(origin: Origin, needs: tuple[Expr, ...]) -> str:
    parts = (origin.kind, repr(origin.of), repr(origin.slot), origin.applied, origin.context, needs)
    return blake2b(repr(parts).encode(), digest_size=6).hexdigest()


def _short(e: Expr) -> str:
    """Return a text of an expression for a name: a digest where it is long."""
    text = str(e)
    return text if len(text) <= LONGEST else f"{text[:6]}…{blake2b(text.encode(), digest_size=2).hexdigest()}"
