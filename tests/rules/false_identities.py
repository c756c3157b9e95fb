"""Equations that look right and are not: a sign, an adjoint, a letter or a term is wrong."""

from __future__ import annotations

from hinge.algebra import (
    E0,
    B,
    D,
    Di,
    Dip,
    E,
    Es,
    G,
    H,
    Ha,
    Hp,
    K,
    Kp,
    M,
    P,
    Pp,
    R,
    Ups,
    a,
    b,
    f_ext,
    g,
    passive,
    phi,
    psi,
    psip,
    qdd,
    qdd_a,
    tau,
    tau_p,
    whole,
)
from hinge.algebra.appendix import L, Phi, Psi, S
from hinge.rules.identities import NamedIdentity
from hinge.rules.identities.identity import bias_force, innovate, jacobian, joint, one, phi_, psi_, whiten

_w, _wp, _mass = whiten(whole), whiten(passive), whole.mass
_qdd = _mass.inv() @ (tau - bias_force(H))
_z = psi @ (K @ tau + P @ a + b)
_epsilon = tau - H @ _z
_nu = Di @ _epsilon
_alpha = psi.T @ (H.T @ _nu + a)
_f = phi @ (M @ _alpha + b)
_kernel = psi.T @ H.T @ Di @ H @ psi
_Map, _Maa = Ha @ phi @ M @ phi.T @ Hp.T, Ha @ phi @ M @ phi.T @ Ha.T
_Sap, _Saa = _Map @ passive.mass.inv(), _Maa - _Map @ passive.mass.inv() @ _Map.T
_omega = psip.T @ Hp.T @ Dip @ Hp @ psip
_given = Ha.T @ qdd_a + a
_z_p = psip @ (Kp @ tau_p + Pp @ _given + b)
_nu_p = Dip @ (tau_p - Hp @ _z_p)
_alpha_p = psip.T @ (Hp.T @ _nu_p + _given)
_qdd_p = passive.mass.inv() @ (tau_p - bias_force(Hp)) - _Sap.T @ qdd_a
_tau_a = _Maa @ qdd_a + _Map @ _qdd_p + bias_force(Ha)


def _no(why: str, left, right) -> NamedIdentity:
    return NamedIdentity(why, left, right, "false")


FALSE: tuple[NamedIdentity, ...] = (
    # signs
    _no("ψ⁻¹ − φ⁻¹ = K H, sign", psi.inv() - phi.inv(), -(K @ H)),
    _no("(a.14), sign", phi, psi @ (one - S @ L @ H @ phi)),
    _no("(a.31), sign", phi @ psi_ - phi_ @ psi, phi @ S @ L @ H @ psi),
    _no("Riccati equation, sign", M, P + Es @ P @ E.T),
    _no("tip force correction, sign", _mass.inv() @ jacobian(B).T @ f_ext,
        -(_w.T @ Di @ H @ psi @ B @ f_ext)),
    _no("external forces, sign", _mass.inv() @ (tau - bias_force(H) + H @ phi @ B @ f_ext),
        _w.T @ Di @ (tau - H @ psi @ (K @ tau + P @ a + b + B @ f_ext)) - K.T @ psi.T @ a),
    _no("S_aa, sign", _Saa, Ha @ (psip @ M @ psip.T + Pp @ _omega @ Pp) @ Ha.T),
    _no("passive accelerations, sign", _qdd_p, _nu_p + Kp.T @ _alpha_p),
    # adjoints and order
    _no("inverse of the mass matrix, factors exchanged", _mass.inv(), _w @ Di @ _w.T),
    _no("innovations factorisation, factors exchanged", _mass, innovate(whole).T @ D @ innovate(whole)),
    _no("FD3 as its proof prints it, inverse for adjoint", _qdd,
        (joint - H @ Psi @ L).inv() @ Di @ (tau - H @ psi @ (S @ L @ tau + M @ phi.T @ a + b))),
    _no("φ K whitened on the wrong side", phi @ K @ _w, (one - phi @ K @ H) @ phi @ K),
    # φ for ψ and ψ for φ
    _no("(a.46), ψ̃ for φ̃", psi @ M @ phi.T, P + psi_ @ P + P @ psi_.T),
    _no("inverse of the innovations operator, φ for ψ", innovate(whole).inv(), joint - H @ phi @ K),
    _no("H φ M φᵀ Hᵀ = D, φ for ψ", _mass, D),
    _no("(a.35), φ and ψ exchanged", H @ phi, (joint - H @ Psi @ L) @ H @ psi),
    _no("body accelerations, φ for ψ", phi.T @ (H.T @ _qdd + a), phi.T @ (H.T @ _nu + a)),
    _no("z by innovations, ψ for φ", _z, psi @ (K @ _epsilon + P @ a + b)),
    _no("operational-space compliance, φ for ψ", jacobian(B) @ _mass.inv() @ jacobian(B).T,
        B.T @ phi.T @ H.T @ Di @ H @ phi @ B),
    # K for G and the like
    _no("far side of z, K for G", _z + G @ _epsilon, phi @ (K @ _epsilon + P @ a + b)),
    _no("hinge accelerations, G for K", _qdd, _nu - G.T @ _alpha),
    _no("ν from body accelerations, K for G", _nu, K.T @ (_alpha - a)),
    _no("(4.4) as printed, D for its inverse", S @ L, E @ P @ H.T @ D),
    _no("(a.13), G for L", phi_ @ G, Phi @ G),
    # missing terms
    _no("φ M φᵀ by composite bodies, −R missing", phi @ M @ phi.T, phi @ R + R @ phi.T),
    _no("(a.48), last term missing", phi @ M @ phi.T, P + phi_ @ P + P @ phi_.T),
    _no("composite recursion for P", P, E @ P @ E.T + M),
    _no("inter-body forces, −a missing", _f, P @ _alpha + _z),
    _no("(a.50), Gᵀ missing", (joint - H @ Psi @ L).T @ Di @ H @ psi @ M @ phi.T,
        (joint - H @ Psi @ L).T @ Di @ H @ psi_ @ P + L.T @ Psi.T @ (one - G @ H).T),
    _no("S_ap, whitening missing", _Sap, Ha @ (psip @ Kp + Pp @ psip.T @ Hp.T @ Dip)),
    _no("S_ap by Ω, first term unreduced", _Sap, Ha @ (psip @ Kp + Pp @ psip.T @ Hp.T @ Dip @ _wp.T)),
    _no("active forces, −a missing", _tau_a, Ha @ (Pp @ _alpha_p + _z_p)),
    _no("composite inverse dynamics, remainder without its shift", phi @ (M @ phi.T @ H.T @ qdd + b),
        R @ phi.T @ H.T @ qdd + phi @ (b + R @ H.T @ qdd)),
    _no("compliance on a chain, −Υ missing", _kernel, Ups @ psi + psi.T @ Ups),
    _no("gravity at root bodies only", _mass.inv() @ (tau - bias_force(H, a + E0.T @ g)),
        _w.T @ (_nu - G.T @ E0.T @ g) - K.T @ psi.T @ a),
)  # fmt: skip
