"""Equations that look right and are not: a sign, an adjoint, a letter or a term is wrong."""

from __future__ import annotations

from hinge.algebra import (
    E0,
    Ac,
    B,
    Bc,
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
    Node,
    P,
    Pp,
    R,
    Ups,
    a,
    a_n,
    b,
    f_ext,
    g,
    identity,
    passive,
    phi,
    psi,
    psip,
    qd,
    qdd,
    qdd_a,
    tau,
    tau_p,
    whole,
    x_c,
)
from hinge.algebra.appendix import L, Phi, Psi, S
from hinge.rules.identities import NamedIdentity, closed
from hinge.rules.identities.closed import A_o, M_o, Pi, a_o, b_o, h
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

# Part II of JPL 88-11 as it is printed, and what looks like its equations.
_J, _Mi, _C = jacobian(B), _mass.inv(), bias_force(H)
_wl = joint - H @ Psi @ L
_rate = B.T @ phi.T @ a + a_n
_Moi = M_o.inv()
_object = A_o @ _Moi @ A_o.T
_Oi = closed.omega.inv()
_free = tau - _C
_held = a_o - A_o @ _Moi @ b_o - _rate
_f = _Oi @ (_J @ _Mi @ _free - _held)
_delta = -(_Mi @ _J.T @ _f)
_alpha_f = _J @ _Mi @ _free + _rate
_z6 = psi @ B @ _f
_nu6 = Di @ H @ _z6
_g1 = A_o @ _Moi @ b_o + _rate + closed.w - a_o - _J @ _Mi @ _C
_Wd = -((h @ _Oi @ h.T).inv() @ (h @ _Oi @ (_J @ _Mi @ tau + _g1)))
_fh = _Oi @ (_J @ _Mi @ tau + h.T @ _Wd + _g1)
_g2_printed = h @ _Oi @ ((_object @ Pi - identity(Node)) @ _g1 + _J @ _Mi @ _C)
_g3 = -(_J.T @ _Oi @ _g1) - _C
_J1, _J2 = jacobian(closed.B1), jacobian(closed.B2)
_tips = [x @ _Mi @ _free + y.T @ phi.T @ a + z
         for x, y, z in ((_J1, closed.B1, closed.a1), (_J2, closed.B2, closed.a2))]  # fmt: skip
_cut = (_J1 @ _Mi @ _J1.T + _J2 @ _Mi @ _J2.T).inv() @ (_tips[0] - _tips[1])
_by_cut = _Mi @ (_J1 - _J2).T @ _cut
_Oc = closed.omega_c.inv()

MISPRINTS: tuple[NamedIdentity, ...] = (
    _no("part II (4.9h) as printed, Δα for α", _J @ _delta, _alpha_f + _J @ _delta),
    _no("part II (5.13) as printed, inverse for adjoint", _Mi @ _free,
        _wl.inv() @ Di @ (tau - H @ psi @ (S @ L @ tau + M @ phi.T @ a + b))),
    _no("part II (6.4b) as printed, φ for ψ", _z6, E @ _z6 + B @ _f),
    _no("part II (6.4f) as printed, sign", _delta, _nu6 - L.T @ S.T @ psi.T @ H.T @ _nu6),
    _no("part II (6.11g) as printed but for H, sign", _delta, _wl.T @ Di @ H @ psi @ B @ _f),
    _no("part II (6.11i) with (6.11g) as printed but for H", closed.qdd_3_6,
        _wl.T @ Di @ _wl @ _free + _wl.T @ Di @ H @ psi @ B @ _f),
    _no("part II (6.18e) as printed, adjoint missing", closed.qdd_3_6,
        _wl @ Di @ (_free - H @ psi @ (S @ L @ _free + B @ _f))),
    _no("part II (b.10), proof, as printed, sign of the bias", h.T @ _Wd + _J @ closed.qdd_b_9,
        _object @ _fh - _g1 + _J @ _Mi @ _C),
    _no("part II (b.10) as printed, sign of the bias", h @ _Oi @ h.T @ _Wd + h @ _Oi @ _J @ closed.qdd_b_9,
        h @ _Oi @ _object @ Pi @ (_J @ _Mi @ tau + _g1) + h @ _Oi @ (_J @ _Mi @ _C - _g1)),
    _no("part II (b.11) as printed, sign of the bias", h @ _Oi @ h.T @ _Wd + h @ _Oi @ _J @ closed.qdd_b_9,
        h @ _Oi @ _object @ Pi @ _J @ _Mi @ tau + _g2_printed),
    _no("part II (b.14) as printed, rates for accelerations", _mass @ qd + _J.T @ _Oi @ h.T @ _Wd,
        (joint - _J.T @ _Oi @ _J @ _Mi) @ tau + _g3),
    _no("Rodriguez, Kreutz & Jain (5.7) and (5.14) as printed, signs", _tips[0] + _J1 @ _by_cut,
        _tips[1] + _J2 @ _by_cut),
)  # fmt: skip

FALSE += (
    *MISPRINTS,
    _no("Ω of closures, φ for ψ", closed.omega_c, Ac @ Bc.T @ phi.T @ H.T @ Di @ H @ phi @ Bc @ Ac.T),
    _no("𝒫 on the wrong side", _Mi @ closed.projection.T, closed.Mci),
    _no("a closed inverse is an inverse", closed.Mci @ _mass, joint),
    _no("proximal step, its term missing", (closed.omega_c + closed.N).inv() @ x_c, _Oc @ x_c),
)  # fmt: skip

#: Misprints that are refused before they are compared: the factors do not fit.
UNTYPED = {
    "V(C) before section 3, transpose of A missing": lambda: (A_o.T @ A_o).inv() @ A_o,
    "section 5, J as Bᵀ Hᵀ φᵀ": lambda: B.T @ H.T @ phi.T,
    "(6.5a), (6.11g), H missing": lambda: _wl.T @ Di @ psi @ B,
    "(6.9b), Hᵀ for H": lambda: psi.T @ H.T @ Di @ H.T @ psi,
    "(b.4a), T for Jᵀ": lambda: _J @ _Mi @ tau + _object,
}
