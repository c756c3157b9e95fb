"""Loads: what is added to the mass matrix at the hinges, (𝓜 + X)⁻¹ and log det (𝓜 + X) with X block-diagonal.

Such an X is to the articulated-body filter what measurement noise is, so that the operator factors as the
mass matrix does: 𝓜 + κ = (I + H φ Kₖ) Dₖ (I + H φ Kₖ)ᵀ with Dₖ = H Pₖ Hᵀ + κ.
"""

from __future__ import annotations

from collections.abc import Mapping

from hinge.algebra import (
    Expr,
    Inverse,
    Joint,
    Leaf,
    LogDet,
    Product,
    Structure,
    Sum,
    kappa,
    leaves,
    letters_of,
    linear,
    logdet,
    no_inverse,
    polynomial,
    product,
    whole,
)
from hinge.rules.determinant import is_mass


def with_load(given: Mapping[str, Expr]) -> tuple[dict[str, Expr], dict[Leaf, Expr]]:
    """Return expressions with their first load replaced by the letter κ, and the value of κ."""
    if kappa in letters_of(given.values()):
        return dict(given), {}
    found = next((x for e in given.values() for x in _loads(e)), None)
    if found is None:
        return dict(given), {}
    return {name: _replaced(e, found) for name, e in given.items()}, {kappa: found}


def _loads(e: Expr) -> list[Expr]:
    """Return the loads X of 𝓜 + X in inverses and log determinants."""
    match e:
        case Sum():
            return [x for _, t in e.terms for x in _loads(t)]
        case Product():
            return [x for f in e.factors for x in _loads(f)]
        case Inverse() | LogDet():
            found = _load_of(e.argument)
            return _loads(e.argument) if found is None else [found]
        case _:
            return []


def _replaced(e: Expr, x: Expr) -> Expr:
    """Return an expression with a load replaced by κ wherever it is added to the mass matrix."""
    match e:
        case Sum():
            return linear(*((c, _replaced(t, x)) for c, t in e.terms))
        case Product():
            return product(*(_replaced(f, x) for f in e.factors))
        case Inverse() | LogDet():
            argument = whole.mass + kappa if _load_of(e.argument) is x else _replaced(e.argument, x)
            return argument.inv() if isinstance(e, Inverse) else logdet(argument)
        case _:
            return e


def _load_of(e: Expr) -> Expr | None:
    """Return X of 𝓜 + X: self-adjoint, block-diagonal, without terms of a negative sign."""
    if e.range is not Joint or not isinstance(e, Sum):
        return None
    local = [(c, t) for c, t in e.terms if c > 0 and all(_is_local(x) for x in leaves(t)) and _is_plain(t)]
    rest = [(c, t) for c, t in e.terms if (c, t) not in local]
    if not local or not rest:
        return None
    found = linear(*local)
    p = polynomial(found, no_inverse)
    return found if p.T.key == p.key and is_mass(linear(*rest), whole) else None


def _is_local(x: Leaf) -> bool:
    return x.structure is Structure.DIAGONAL and not x.needs


def _is_plain(e: Expr) -> bool:
    """Tell whether an expression is free of inverses."""
    return not isinstance(e, Inverse) and not (
        isinstance(e, Product) and any(not _is_plain(f) for f in e.factors)
    )
