"""The derivative of log det 𝓜: tr 𝓜⁻¹ δ𝓜 as a sum over bodies, from letters of the articulated-body sweep.

Where body k turns by ad(Hᵀ δq), what changes is how its articulated inertia P⁺ = P − G H P behind the joint
meets the parent, E P⁺ Eᵀ; and the compliance kernel Υ of the parent is how log det 𝓜 changes with inertia
that is added there, tr Υ δM. So with Y = Eᵀ Υ E, the parent's kernel seen at the body,

    δ log det 𝓜 = −2 tr Y P⁺ ad(Hᵀ δq) + 2 tr (I − P⁺ Y) G δH + tr Υ δM

at each body, of which the second term is for hinge maps that depend on q and the last for numbers of the
model: Jain 1997, with any hinge map. Everything else cancels by 𝓜⁻¹ = (I − H ψ K)ᵀ D⁻¹ (I − H ψ K).
"""

from __future__ import annotations

from typing import Any

from hinge.algebra.derived_letters import contracted, moment
from hinge.algebra.expression import Expr, Inverse, Leaf, LogDet, Product, identity
from hinge.algebra.letters import E, G, H, M, P, Ups, W, inertias, placements, rotors, whole
from hinge.algebra.origin import Context
from hinge.algebra.polynomials import inverted, no_inverse, polynomial
from hinge.algebra.space import Body


def signed_masses(argument: Expr) -> int | None:
    """Return n where log |det X| is n log det 𝓜 by what X is made of: 𝓜, D, inverses, products; else None."""
    if isinstance(argument, Inverse):
        inside = signed_masses(argument.argument)
        return None if inside is None else -inside
    if isinstance(argument, Product) and all(f.range is f.domain for f in argument.factors):
        parts = [signed_masses(f) for f in argument.factors]
        return None if None in parts else sum(n for n in parts if n is not None)
    known = {whole.D: 1, whole.Di: -1, whole.Mi: -1}
    if isinstance(argument, Leaf):
        return known.get(argument)
    if any(True for _ in inverted(argument)) or argument.range is not whole.mass.range:
        return None
    same = polynomial(argument, no_inverse).key == polynomial(whole.mass, no_inverse).key
    return 1 if same else None


def of_mass_matrix(by: Any, context: Context) -> Expr:
    """Return the gradient of log det 𝓜 by q, None, or by numbers of the model that 𝓜 depends on."""
    if by in (inertias, rotors):
        return contracted(M, by, Ups, context=context)
    above, left = E.T @ Ups @ E, P - G @ H @ P
    turned = moment(above @ left, context=context)
    varied = contracted(H, by, (identity(Body) - left @ above) @ G, context=context)
    return 2 * varied - 2 * ((W if by is placements else H) @ turned)


def refusal(e: LogDet) -> NotImplementedError:
    """Return the error of a determinant whose derivative is not known."""
    return NotImplementedError(
        f"{e}: the derivative of a log determinant is supported for that of the mass matrix H φ M φᵀ Hᵀ "
        "and of its inverse; take differences of others along hinge.integrate"
    )
