"""Closed forms of derivatives that look right and are not: a sign, a term or a parent is wrong."""

from __future__ import annotations

from hinge.algebra import CovariantDynamics, E, H, M, ad, bar, composite, derivative, phi, q
from hinge.rules.identities import NamedIdentity
from hinge.rules.identities.derivatives import blocks, by_q, by_qd, dynamics
from hinge.rules.identities.identity import phi_

_c, _k = dynamics, CovariantDynamics(context="own frames")
_momentum = bar(M @ _c.V, context=_c.context)
_turned = H @ phi_ @ _c.F_bar @ H.T
_ungraded = ad(E.T @ _c.A, context=_c.context)
_Z = composite(blocks)


def _no(name, left, right):
    return NamedIdentity(name, left, right, "false")


FALSE_DERIVATIVES: tuple[NamedIdentity, ...] = (
    _no("by q, sign of bar", by_q, _c.by_q - 2 * _turned),
    _no("by q, φ in place of φ − 1", by_q, _c.by_q + H @ _c.F_bar @ H.T),
    _no("by q, a term too many", by_q, _c.by_q + H @ phi @ _momentum @ phi.T @ _c.Psi),
    _no("by q, sign of the momentum in 2B", by_q, _c.by_q - 2 * H @ phi @ _momentum @ phi.T @ _c.Psi),
    _no("by q, no gravity at the roots",
        by_q, _c.by_q + H @ phi @ M @ phi.T @ (_ungraded - _c.A_parent) @ H.T),
    _no("by q, own velocities in Ψ",
        by_q, _c.by_q + H @ phi @ _c.twice_B @ phi.T @ (_c.V_hat - _c.V_parent) @ H.T),
    _no("by q, one cross product in Ψ₂", by_q, _c.by_q - H @ phi @ M @ phi.T @ _c.V_parent @ _c.Psi),
    _no("by rates, a term missing", by_qd, _c.by_qd - H @ phi @ M @ phi.T @ _c.V_hat @ H.T),
    _no("by rates, a term too many", by_qd, _c.by_qd + H @ phi @ _c.V_hat.T @ M @ phi.T @ H.T),
    _no("velocities by q, own velocities", derivative(_k.V, q), phi.T @ _k.V_hat @ H.T),
    _no("accelerations by q, sign", derivative(_k.A, q), phi.T @ _k.Psi_2 + _k.V_hat @ phi.T @ _k.Psi),
    _no("covariance, parents on the wrong side", E.T @ _k.V_parent, _k.V_hat @ E.T),
    _no("forces turned, φ f̄ for F̄", H @ phi @ _c.f_bar @ phi.T @ H.T, H @ phi @ _c.F_bar @ H.T),
    _no("composite counted twice", phi @ blocks @ phi.T, phi @ _Z + _Z @ phi.T),
    _no("composite of an adjoint", phi @ blocks.T @ phi.T, phi @ _Z + _Z @ phi.T - _Z),
)  # fmt: skip
