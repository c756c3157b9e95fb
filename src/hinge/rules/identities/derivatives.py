"""Derivatives of kinematics and dynamics in closed form.

Carpentier & Mansard (Robotics: Science and Systems, 2018) give those of a recursion, Singh, Russell & Wensing
(IEEE Robotics and Automation Letters, 2022) those of entries (i, j), with sums over what body j carries. In
operators both are one line each; left sides are what the rules of differentiation give. The letters are those
of `CovariantDynamics`.
"""

from __future__ import annotations

from hinge.algebra import (
    A0,
    V0,
    B,
    Body,
    Card,
    CovariantDynamics,
    E,
    Expr,
    H,
    Leaf,
    M,
    R,
    Structure,
    ad,
    bar,
    composite,
    derivative,
    f_ext,
    leaf,
    leaves,
    phi,
    q,
    qd,
    tau,
    value,
    whole,
    x,
    zero,
)
from hinge.rules.completion import Axiom
from hinge.rules.identities.identity import NamedIdentity, phi_
from hinge.rules.theory import equation

_CARPENTIER, _SINGH = "Carpentier & Mansard 2018", "Singh, Russell & Wensing 2022"
_JAIN = "Jain & Rodriguez 2000"


def constant_hinges(*expressions: Expr) -> tuple[Axiom, ...]:
    """Return that hinge maps are constant in the bodies' frames: their rates and derivatives are zero."""
    found: list[Axiom] = []
    for y in sorted({y for e in expressions for y in leaves(e)}, key=lambda y: y.name):
        if y.origin is not None and y.origin.kind in ("partial", "along"):
            nothing = zero(y.range, y.domain)
            found += equation(f"the hinge map is constant: {y} = 0", y, nothing, "most joints")
    return tuple(found)


def _form(source: str, name: str, left: Expr, right: Expr, *, constant: bool = False) -> NamedIdentity:
    return NamedIdentity(name, left, right, source, constant_hinges(left, right) if constant else ())


# Propagation along joint rates: Ξ = ad(φᵀ Hᵀ x), ad(Hᵀ x) is that across the hinges.
_turn, _across = ad(phi.T @ H.T @ x, context="merged"), ad(H.T @ x, context="merged")
_push, _gathered, _mass_along = _turn.T, phi @ M @ phi.T, derivative(whole.mass, q, along=x)
_PROPAGATION = (
    _form(_JAIN, "step along joint rates", E.T @ _turn - _turn @ E.T, -(_across @ E.T)),
    _form(_JAIN, "propagation along joint rates",
          phi.T @ _turn - _turn @ phi.T, -(phi.T @ _across @ phi_.T)),
    _form(_JAIN, "mass matrix along joint rates", _mass_along,
          H @ (_push @ _gathered - phi @ (_push @ M + M @ _turn) @ phi.T + _gathered @ _turn) @ H.T,
          constant=True),
    _form(_JAIN, "mass matrix along joint rates, by turns across hinges", _mass_along,
          -(H @ (phi_ @ _across.T @ phi @ M @ phi.T + phi @ M @ phi.T @ _across @ phi_.T) @ H.T),
          constant=True),
)  # fmt: skip

# Kinematics, in the bodies' own frames.
_k = CovariantDynamics(context="own frames")
_KINEMATICS = (
    _form(_SINGH, "velocities turned", _k.V_hat @ phi.T @ H.T - phi.T @ _k.u_hat @ phi.T @ H.T,
          phi.T @ _k.V_parent @ H.T),
    _form(_CARPENTIER, "velocities by q", derivative(_k.V, q), phi.T @ _k.Psi),
    _form(_CARPENTIER, "accelerations by q, at hinges",
          derivative(_k.A, q), derivative(_k.A, q, at_hinges=True)),
    _form(_CARPENTIER, "accelerations by q", derivative(_k.A, q),
          phi.T @ _k.Psi_2 - _k.V_hat @ phi.T @ _k.Psi),
    _form(_CARPENTIER, "accelerations by rates", derivative(_k.A, qd),
          phi.T @ (_k.V_parent + _k.V_hat) @ H.T - _k.V_hat @ phi.T @ H.T, constant=True),
)  # fmt: skip

# Inverse dynamics. Psi and Psi_2 are those of joints whose hinge map is constant, as the papers have them.
dynamics = CovariantDynamics()
_c = dynamics
by_q, by_qd = derivative(_c.tau, q), derivative(_c.tau, qd)
Psi = _c.V_parent @ H.T
Psi_2 = _c.A_parent @ H.T + _c.V_parent @ Psi
_momentum = bar(M @ _c.V, context=_c.context)
_turned = H @ phi_ @ _c.F_bar @ H.T
_recursion_q = M @ (phi.T @ Psi_2 - _c.V_hat @ phi.T @ Psi) + (_momentum - _c.V_hat.T @ M) @ phi.T @ Psi
_recursion_qd = (
    M @ (phi.T @ (Psi + _c.V_hat @ H.T) - _c.V_hat @ phi.T @ H.T) + (_momentum - _c.V_hat.T @ M) @ phi.T @ H.T
)
_INVERSE_DYNAMICS = (
    _form(_SINGH, "forces turned", H @ phi @ _c.f_bar @ phi.T @ H.T - H @ _c.F_bar @ phi.T @ H.T, _turned),
    _form(_CARPENTIER, "inverse dynamics by q, recursion", by_q,
          H @ phi @ _recursion_q + _turned, constant=True),
    _form(_CARPENTIER, "inverse dynamics by rates, recursion", by_qd, H @ phi @ _recursion_qd, constant=True),
    _form(_SINGH, "inverse dynamics by q", by_q,
          H @ phi @ (_c.twice_B @ phi.T @ Psi + M @ phi.T @ Psi_2) + _turned, constant=True),
    _form(_SINGH, "inverse dynamics by rates", by_qd,
          H @ phi @ (_c.twice_B @ phi.T @ H.T + M @ phi.T @ (Psi + _c.V_hat @ H.T)), constant=True),
    _form(_SINGH, "inverse dynamics by q, at hinges", by_q, derivative(_c.tau, q, at_hinges=True)),
    _form(_SINGH, "inverse dynamics by q, any hinge map", by_q, _c.by_q),
    _form(_SINGH, "inverse dynamics by rates, any hinge map", by_qd, _c.by_qd),
)  # fmt: skip

# Sums over what a body carries: entries (i, j) of the papers.
blocks = leaf("Z", Body, Body, Structure.DIAGONAL, card=Card(weight=M.card.weight, given=True))
_Z = composite(blocks)
_B = composite(_c.twice_B, context=_c.context)


def split(z: Leaf) -> Expr:
    """Return φ Z φᵀ by the composite of Z."""
    return phi @ z + z @ phi.T - z


_COMPOSITES = (
    _form(_SINGH, "φ Z φᵀ by the composite of any blocks", phi @ blocks @ phi.T, split(_Z)),
    _form(_SINGH, "composite of 2B", phi @ _c.twice_B @ phi.T, split(_B)),
    _form(_SINGH, "inverse dynamics by q, entries", by_q,
          H @ (split(_B) @ Psi + split(R) @ Psi_2) + _turned, constant=True),
    _form(_SINGH, "inverse dynamics by rates, entries", by_qd,
          H @ (split(_B) @ H.T + split(R) @ (Psi + _c.V_hat @ H.T)), constant=True),
)  # fmt: skip

# Forward dynamics, and a base that moves.
_still = CovariantDynamics(accelerations=zero(H.range, tau.domain))
_forward = whole.mass.inv() @ (tau - _still.tau)
_held = CovariantDynamics(accelerations=value(_forward, context="merged"))
_moving = CovariantDynamics(velocity=V0, gravity=A0, load=B @ f_ext)
_FORWARD = (
    _form(_CARPENTIER, "forward dynamics by q",
          derivative(_forward, q), -(whole.mass.inv() @ _held.by_q), constant=True),
    _form(_CARPENTIER, "forward dynamics by rates",
          derivative(_forward, qd), -(whole.mass.inv() @ _held.by_qd)),
    _form(_SINGH, "inverse dynamics by q on a base that moves", derivative(_moving.tau, q), _moving.by_q),
    _form(_SINGH, "inverse dynamics by rates on a base that moves",
          derivative(_moving.tau, qd), _moving.by_qd),
)  # fmt: skip

#: Closed forms of derivatives, and the steps that lead to them.
DERIVATIVE_FORMS: tuple[NamedIdentity, ...] = (
    _PROPAGATION + _KINEMATICS + _INVERSE_DYNAMICS + _COMPOSITES + _FORWARD
)
