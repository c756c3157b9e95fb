"""Gradients of accelerations and of projections whose results are known, for roll-outs that run back.

What closures do answers M y − Jᵀ λ = r, J y = s for a result y, J = Jc. With weights c of y, and

    𝓜 μ + Jᵀ ν = c,   J μ = 0:     Ω ν = J 𝓜⁻¹ c,   μ = 𝓜⁻¹ (c − Jᵀ ν),

the gradient by anything is that of μᵀ (r + Jᵀ λ − 𝓜 y) + νᵀ (s − J y) with μ, ν, y and λ held: the implicit
function theorem, and no derivative of Ω⁻¹. Without closures μ = 𝓜⁻¹ c.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from hinge.algebra import (
    Ac,
    Bc,
    Expr,
    H,
    Joint,
    Leaf,
    One,
    a,
    context_of,
    e_c,
    gamma,
    leaf,
    phi,
    qd,
    qdd,
    s_c,
    value,
)
from hinge.algebra import derivative as algebraic
from hinge.algebra import tau as given_forces
from hinge.dynamics.derivatives import one_expression, thing
from hinge.dynamics.expressions import (
    PROJECTION,
    Parts,
    by_closures,
    closure_compliance,
    closure_jacobian,
    expression,
    mass,
)

__all__ = ["PROJECTED", "pulled_accelerations", "pulled_closed_accelerations", "pulled_projection"]

#: The result of a projection, which its gradient takes as an input.
PROJECTED = "projected"
_result = leaf(PROJECTED, Joint, One, meaning="the result of a projection")
#: Accelerations across closures, zero where these hold.
_across = Ac @ (Bc.T @ phi.T @ (H.T @ qdd + a) + s_c) + gamma


@cache
def pulled_accelerations(by: tuple[str, ...], *, passive: bool = False, flexible: bool = False) -> Parts:
    """Return gradients of cᵀ forward_dynamics where its value is known, the letter qdd.

    With μ = 𝓜⁻¹ c, they are μ by tau and −(∂ID/∂x)ᵀ μ by all else: no sweep computes qdd again.
    """
    inverse, fd = (
        one_expression(expression(f"{n}_dynamics", passive=passive)) for n in ("inverse", "forward")
    )
    c = _weights("forward_dynamics")
    mu = value(mass.inv() @ c, context=context_of(fd))
    of = partial(algebraic, inverse, at_hinges=True, flexible=flexible)
    return Parts({f"by_{n}": mu if n == "tau" else -(of(thing(n)).T @ mu) for n in by})


@cache
def pulled_closed_accelerations(
    by: tuple[str, ...], *, passive: bool = False, flexible: bool = False
) -> Parts:
    """Return the same of a robot with closures."""
    inverse = one_expression(expression("inverse_dynamics", passive=passive))
    forces = expression("closed_dynamics", passive=passive).expressions["forces"]
    return _pulled(by, "forward_dynamics", given_forces - inverse, -_across, forces, flexible)


@cache
def pulled_projection(verb: str, by: tuple[str, ...], *, flexible: bool = False) -> Parts:
    """Return gradients of cᵀ closing_step, or of cᵀ settle, whose value is known, the letter `PROJECTED`."""
    apart = closure_jacobian @ _result
    if verb == "settle":
        forces = -(closure_compliance.inv() @ closure_jacobian @ qd)
        found = _pulled(by, verb, mass @ (qd - _result), -apart, forces, flexible)
    else:
        forces = -(closure_compliance.inv() @ e_c)
        found = _pulled(by, verb, -(mass @ _result), -(apart + e_c), forces, flexible)
    return Parts(found.expressions, all_rows=PROJECTION[verb].all_rows)


def _pulled(by: Sequence[str], verb: str, moved: Expr, apart: Expr, forces: Expr, flexible: bool) -> Parts:
    """Return gradients of μᵀ (moved + Jᵀ λ) + νᵀ apart."""
    c, J = _weights(verb), closure_jacobian
    nu = value(closure_compliance.inv() @ J @ mass.inv() @ c, context="merged")
    mu = value(mass.inv() @ c - by_closures @ nu, context="merged")
    lam = value(forces, context="merged")
    held = [lam, mu, nu]
    found: dict[str, Expr] = {}
    for n in by:
        parts = [(moved + J.T @ lam, mu), (apart, nu)]
        grads = [
            algebraic(e, thing(n), held=held, at_hinges=True, flexible=flexible).T @ weight
            for e, weight in parts
        ]
        found[f"by_{n}"] = grads[0] + grads[1]
    return Parts(found)


def _weights(verb: str) -> Leaf:
    return leaf(f"c_{verb}", Joint, One, meaning=f"weights of {verb}")
