"""The SOA slides: forward dynamics, gravity, external forces, hybrid dynamics, composite bodies.

Pages count from the number printed on the slides. E*g of the slides is gravity at every body,
E*g = φᵀ E₀ᵀ g; φ(B, O) f_ext acts on the bodies, so it is taken from b.
"""

from __future__ import annotations

from dataclasses import dataclass

from hinge.algebra import (
    E0,
    Articulated,
    B,
    Body,
    D,
    Di,
    E,
    Es,
    Expr,
    G,
    H,
    Ha,
    Hp,
    K,
    M,
    P,
    R,
    World,
    a,
    b,
    f_ext,
    g,
    passive,
    phi,
    psi,
    qdd,
    qdd_a,
    tau,
    tau_p,
    whole,
    zero,
)
from hinge.rules.identities.identity import NamedIdentity, bias_force, innovate, one, phi_, whiten


def _p(page: int, name: str, left: Expr, right: Expr) -> NamedIdentity:
    return NamedIdentity(name, left, right, f"SOA slides, p. {page}")


@dataclass(frozen=True)
class _Sweeps:
    """The intermediate results of the articulated-body algorithm."""

    x: Articulated
    force: Expr
    a: Expr
    b: Expr

    @property
    def z(self) -> Expr:
        return self.x.psi @ (self.x.K @ self.force + self.x.P @ self.a + self.b)

    @property
    def epsilon(self) -> Expr:
        return self.force - self.x.H @ self.z

    @property
    def nu(self) -> Expr:
        return self.x.Di @ self.epsilon

    @property
    def z_plus(self) -> Expr:
        return self.z + self.x.G @ self.epsilon

    def alpha(self, nu: Expr) -> Expr:
        return self.x.psi.T @ (self.x.H.T @ nu + self.a)

    def qdd(self, nu: Expr) -> Expr:
        return whiten(self.x).T @ nu - self.x.K.T @ self.x.psi.T @ self.a


def _rest(x: Articulated) -> Expr:
    """Return τ̄ = I − G H, what a hinge lets through."""
    return one - x.G @ x.H


_w, _tau_bar, _mass = whiten(whole), _rest(whole), whole.mass
_P_plus = _tau_bar @ P

_OPERATORS = (
    _p(8, "hinge forces from body accelerations",
       H @ phi @ (M @ phi.T @ (H.T @ qdd + a) + b), _mass @ qdd + bias_force(H)),
    _p(9, "inverse dynamics undone", _mass.inv() @ ((_mass @ qdd + bias_force(H)) - bias_force(H)), qdd),
    _p(11, "ψ⁻¹ less φ⁻¹", psi.inv() - phi.inv(), K @ H),
    _p(11, "ψ⁻¹ φ", psi.inv() @ phi, one + K @ H @ phi),
    _p(11, "φ ψ⁻¹", phi @ psi.inv(), one + phi @ K @ H),
    _p(11, "φ⁻¹ ψ", phi.inv() @ psi, one - K @ H @ psi),
    _p(11, "ψ φ⁻¹", psi @ phi.inv(), one - psi @ K @ H),
    _p(11, "whitened H φ", _w @ H @ phi, H @ psi),
    _p(11, "φ K whitened", phi @ K @ _w, psi @ K),
    _p(11, "coloured H ψ", innovate(whole) @ H @ psi, H @ phi),
    _p(11, "ψ K coloured", psi @ K @ innovate(whole), phi @ K),
    _p(12, "H ψ M ψᵀ Hᵀ collapses to D", H @ psi @ M @ psi.T @ H.T, D),
    _p(13, "innovations factorisation", _mass, innovate(whole) @ D @ innovate(whole).T),
    _p(14, "inverse of the innovations operator", innovate(whole).inv(), _w),
    _p(14, "inverse of the mass matrix", _mass.inv(), _w.T @ Di @ _w),
)  # fmt: skip

# Pages 15–21: the simplified hinge accelerations.
_qdd = _mass.inv() @ (tau - bias_force(H))
_smooth = _w.T @ Di
_whitened_bias = H @ psi @ (P @ a + b) + D @ K.T @ phi.T @ a
_ACCELERATIONS = (
    _p(15, "forward dynamics by factors", _qdd, _smooth @ _w @ (tau - bias_force(H))),
    _p(17, "forward dynamics simplified",
       _qdd, _smooth @ (tau - H @ psi @ (K @ tau + P @ a + b)) - K.T @ psi.T @ a),
    _p(18, "forward dynamics, bias apart", _qdd, _smooth @ _w @ tau - _smooth @ _w @ bias_force(H)),
    _p(19, "ψ M φᵀ in two parts", psi @ M @ phi.T, psi @ P + P @ phi_.T),
    _p(19, "whitened bias through ψ", _w @ bias_force(H), H @ psi @ (M @ phi.T @ a + b)),
    _p(19, "whitened bias split", H @ psi @ (M @ phi.T @ a + b), H @ ((psi @ P + P @ phi_.T) @ a + psi @ b)),
    _p(19, "H P φ̃ᵀ by the gain", H @ P @ phi_.T, D @ K.T @ phi.T),
    _p(19, "whitened bias simplified", _w @ bias_force(H), _whitened_bias),
    _p(20, "smoothed bias", _smooth @ _w @ bias_force(H), _smooth @ _whitened_bias),
    _p(20, "smoothed bias simplified",
       _smooth @ _w @ bias_force(H), _smooth @ H @ psi @ (P @ a + b) + K.T @ psi.T @ a),
)  # fmt: skip

# Pages 23–38: its decomposition into two sweeps.
_s = _Sweeps(whole, tau, a, b)
_alpha = _s.alpha(_s.nu)
_alpha_plus = E.T @ _alpha
_f = phi @ (M @ _alpha + b)
_f_split = phi_ @ P @ H.T @ _s.nu + phi_ @ P @ a + P @ _alpha + phi @ b
_SWEEPS = (
    _p(23, "hinge accelerations by ν", _qdd, _s.qdd(_s.nu)),
    _p(24, "z by innovations", _s.z, phi @ (K @ _s.epsilon + P @ a + b)),
    _p(24, "innovations by whitening", _s.epsilon, _w @ tau - H @ psi @ (P @ a + b)),
    _p(24, "forces from innovations", tau, _w.inv() @ (_s.epsilon + H @ psi @ (P @ a + b))),
    _p(24, "forces from innovations through φ",
       tau, innovate(whole) @ _s.epsilon + H @ phi @ (P @ a + b)),
    _p(24, "z with the forces replaced",
       _s.z, psi @ K @ innovate(whole) @ _s.epsilon + (psi @ K @ H @ phi + psi) @ (P @ a + b)),
    _p(24, "z with ψ replaced", _s.z, phi @ K @ _s.epsilon + ((phi - psi) + psi) @ (P @ a + b)),
    _p(25, "z from its far side", _s.z, E @ _s.z_plus + P @ a + b),
    _p(25, "z by steps", _s.z, E @ _s.z + (K @ _s.epsilon + P @ a + b)),
    _p(26, "far side of z by innovations", _s.z_plus, phi @ (G @ _s.epsilon + P @ a + b)),
    _p(26, "far side of z in parts",
       _s.z_plus, phi_ @ G @ _s.epsilon + phi @ (P @ a + b) + G @ _s.epsilon),
    _p(28, "body accelerations", phi.T @ (H.T @ _qdd + a), _alpha),
    _p(28, "body accelerations, hinges replaced", phi.T @ H.T @ _s.qdd(_s.nu) + phi.T @ a, _alpha),
    _p(28, "body accelerations, filter used",
       _alpha, psi.T @ H.T @ _s.nu - phi.T @ H.T @ K.T @ psi.T @ a + phi.T @ a),
    _p(29, "hinge accelerations by K", _qdd, _s.nu - K.T @ _alpha),
    _p(29, "hinge accelerations by G", _qdd, _s.nu - G.T @ _alpha_plus),
    _p(29, "hinge accelerations multiplied out",
       _s.qdd(_s.nu), _s.nu - K.T @ psi.T @ H.T @ _s.nu - K.T @ psi.T @ a),
    _p(32, "articulated inertia from its far side", P, E @ _P_plus @ E.T + M),
    _p(32, "far side of the articulated inertia", _P_plus, _tau_bar @ P @ _tau_bar.T),
    _p(32, "body accelerations by steps", _alpha, _alpha_plus + H.T @ _qdd + a),
    _p(37, "body accelerations past the hinge", _alpha, _tau_bar.T @ _alpha_plus + H.T @ _s.nu + a),
    _p(37, "body accelerations by articulated steps", _alpha, Es.T @ _alpha + H.T @ _s.nu + a),
    _p(37, "ν from body accelerations", _s.nu, G.T @ (_alpha - a)),
    _p(38, "φ M ψᵀ in two parts", phi @ M @ psi.T, phi_ @ P + P @ psi.T),
    _p(38, "inter-body forces split", _f, (phi_ @ P + P @ psi.T) @ (H.T @ _s.nu + a) + phi @ b),
    _p(38, "inter-body forces multiplied out", _f, _f_split),
    _p(38, "inter-body forces by innovations",
       _f_split, phi @ K @ _s.epsilon + phi @ P @ a - P @ a + P @ _alpha + phi @ b),
    _p(38, "inter-body forces", _f, P @ (_alpha - a) + _s.z),
    _p(38, "inter-body forces on the far side", _f, _P_plus @ _alpha_plus + _s.z_plus),
    _p(38, "hinge forces recovered", H @ _f, tau),
)  # fmt: skip

# Pages 41–46: gravity, external forces.
_gravity = phi.T @ E0.T @ g
_C_gravity = bias_force(H, a + E0.T @ g)
_biased = _Sweeps(whole, tau, a + E0.T @ g, b)
_nu_gravity = _s.nu - G.T @ _gravity
_alpha_gravity = _s.alpha(_nu_gravity)
_f_gravity = phi @ (M @ (_alpha_gravity + _gravity) + b)
_l = _Sweeps(whole, tau, a, b - B @ f_ext)
_qdd_loaded = _mass.inv() @ (tau - bias_force(H) + H @ phi @ B @ f_ext)
_LOADS = (
    _p(41, "gravity at every body", _C_gravity, H @ phi @ (M @ (phi.T @ a + _gravity) + b)),
    _p(41, "forward dynamics with gravity among the biases",
       _mass.inv() @ (tau - _C_gravity), _biased.qdd(_biased.nu)),
    _p(42, "body accelerations with gravity", phi.T @ (H.T @ _s.qdd(_nu_gravity) + a), _alpha_gravity),
    _p(42, "body accelerations with gravity, first step",
       phi.T @ (H.T @ _s.qdd(_nu_gravity) + a), _alpha - phi.T @ H.T @ _w.T @ G.T @ _gravity),
    _p(42, "hinge accelerations by K with gravity", _s.qdd(_nu_gravity), _nu_gravity - K.T @ _alpha_gravity),
    _p(42, "hinge accelerations by G with gravity",
       _s.qdd(_nu_gravity), _nu_gravity - G.T @ E.T @ _alpha_gravity),
    _p(43, "inter-body forces with gravity, multiplied out", _f_gravity,
       phi @ K @ _s.epsilon + phi @ P @ a - P @ a + P @ _alpha_gravity + phi @ b
       + (phi @ M - phi_ @ P @ H.T @ G.T) @ _gravity),
    _p(43, "weight in parts",
       phi @ M @ phi.T - phi_ @ P @ H.T @ G.T @ phi.T, phi_ @ P + P @ phi.T - phi_ @ P @ H.T @ G.T),
    _p(43, "weight past the hinge", phi_ @ P - phi_ @ P @ H.T @ G.T, phi_ @ _P_plus),
    _p(45, "z with external forces", _l.z, E @ _l.z_plus + P @ a + b - B @ f_ext),
    _p(45, "forward dynamics with external forces", _qdd_loaded, _l.qdd(_l.nu)),
    _p(46, "hinge accelerations with external forces", _qdd_loaded, _l.nu - G.T @ E.T @ _l.alpha(_l.nu)),
)  # fmt: skip

_nu_both = _l.nu - G.T @ _gravity
_GRAVITY: tuple[NamedIdentity, ...] = (
    _p(43, "nothing of P⁺ lies beyond the base", phi_ @ _P_plus @ E0.T, zero(Body, World)),
    _p(41, "forward dynamics with gravity",
       _mass.inv() @ (tau - _C_gravity), _w.T @ (_s.nu - G.T @ _gravity) - K.T @ psi.T @ a),
    _p(43, "inter-body forces with gravity", _f_gravity, P @ (_alpha_gravity + _gravity - a) + _s.z),
    _p(43, "inter-body forces with gravity on the far side",
       _f_gravity, _P_plus @ (E.T @ _alpha_gravity + _gravity) + _s.z_plus),
    _p(46, "forward dynamics with gravity and external forces",
       _mass.inv() @ (tau - _C_gravity + H @ phi @ B @ f_ext), _nu_both - G.T @ E.T @ _l.alpha(_nu_both)),
)  # fmt: skip

# Pages 55–62: hybrid dynamics, the partitioned mass matrix.
_Pp, _Dip, _Gp, _Kp, _psip, _Esp = passive.P, passive.Di, passive.G, passive.K, passive.psi, passive.Es
_Mpp, _Map, _Maa = passive.mass, Ha @ phi @ M @ phi.T @ Hp.T, Ha @ phi @ M @ phi.T @ Ha.T
_Cp, _Ca = bias_force(Hp), bias_force(Ha)
_Spp, _Sap = _Mpp.inv(), _Map @ _Mpp.inv()
_Saa = _Maa - _Map @ _Mpp.inv() @ _Map.T
_qdd_p = _Spp @ (tau_p - _Cp) - _Sap.T @ qdd_a
_tau_a = _Saa @ qdd_a + _Sap @ (tau_p - _Cp) + _Ca
_wp, _omega, _back = whiten(passive), _psip.T @ Hp.T @ _Dip @ Hp @ _psip, _psip.T @ Hp.T @ _Dip
_psip_ = _psip - one
_PARTITION = (
    _p(56, "passive equations solved", _Map.T @ qdd_a + _Mpp @ _qdd_p + _Cp, tau_p),
    _p(56, "active equations solved", _Maa @ qdd_a + _Map @ _qdd_p + _Ca, _tau_a),
    _p(58, "passive Riccati equation", M, _Pp - _Esp @ _Pp @ E.T),
    _p(58, "passive Riccati equation on both sides", M, _Pp - _Esp @ _Pp @ _Esp.T),
    _p(58, "passive articulated step", _Esp, E @ _rest(passive)),
    _p(59, "passive innovations factorisation", _Mpp, innovate(passive) @ passive.D @ innovate(passive).T),
    _p(59, "inverse of the passive innovations operator", innovate(passive).inv(), _wp),
    _p(59, "inverse of the passive mass matrix", _Mpp.inv(), _wp.T @ _Dip @ _wp),
    _p(60, "S_pp", _Spp, _wp.T @ _Dip @ _wp),
    _p(60, "S_ap by the whitening filter", _Sap, Ha @ (_psip @ _Kp + _Pp @ _back @ _wp)),
    _p(60, "S_ap by Ω", _Sap, Ha @ ((_psip - _Pp @ _omega) @ _Kp + _Pp @ _back)),
    _p(60, "S_aa by ψ M ψᵀ", _Saa, Ha @ (_psip @ M @ _psip.T - _Pp @ _omega @ _Pp) @ Ha.T),
    _p(60, "S_aa by Ω", _Saa, Ha @ ((_psip - _Pp @ _omega) @ _Pp + _Pp @ _psip_.T) @ Ha.T),
    _p(61, "S_ap, inverse replaced", _Sap, Ha @ phi @ M @ phi.T @ Hp.T @ _wp.T @ _Dip @ _wp),
    _p(61, "S_ap, filter used", _Sap, Ha @ phi @ M @ _psip.T @ Hp.T @ _Dip @ _wp),
    _p(61, "S_ap, φ M ψᵀ split", _Sap, Ha @ (phi @ _Kp + _Pp @ _back) @ _wp),
    _p(62, "S_aa, S_ap replaced",
       _Saa, Ha @ (phi - _psip @ _Kp @ Hp @ phi - _Pp @ _back @ _wp @ Hp @ phi) @ M @ phi.T @ Ha.T),
    _p(62, "S_aa, filter used",
       _Saa, Ha @ (phi - _psip @ _Kp @ Hp @ phi - _Pp @ _back @ Hp @ _psip) @ M @ phi.T @ Ha.T),
    _p(62, "S_aa, ψ replaced", _Saa, Ha @ (phi - (phi - _psip) - _Pp @ _omega) @ M @ phi.T @ Ha.T),
    _p(62, "S_aa by one φ", _Saa, Ha @ (_psip - _Pp @ _omega) @ M @ phi.T @ Ha.T),
)  # fmt: skip

# Pages 64–70: hybrid dynamics, the solution.
_a = Ha.T @ qdd_a + a
_h = _Sweeps(passive, tau_p, _a, b)
_h_alpha = _h.alpha(_h.nu)
_f_hybrid = _rest(passive) @ _Pp @ E.T @ _h_alpha + _h.z_plus
_HYBRID = (
    _p(64, "passive accelerations", _qdd_p, _h.qdd(_h.nu)),
    _p(64, "passive accelerations by K", _qdd_p, _h.nu - _Kp.T @ _h_alpha),
    _p(64, "hybrid body accelerations", phi.T @ (Ha.T @ qdd_a + Hp.T @ _qdd_p + a), _h_alpha),
    _p(64, "active forces by sweeps", _tau_a, Ha @ (_h.z + _Pp @ (_psip.T @ Hp.T @ _h.nu + _psip_.T @ _a))),
    _p(64, "active forces", _tau_a, Ha @ (_Pp @ (_h_alpha - _a) + _h.z)),
    _p(65, "passive accelerations, S replaced", _qdd_p,
       _wp.T @ _Dip @ (tau_p - Hp @ _psip @ (_Kp @ tau_p + b + M @ phi.T @ a))
       - (_Kp.T @ _psip.T + _wp.T @ _Dip @ Hp @ _psip @ _Pp) @ Ha.T @ qdd_a),
    _p(65, "passive accelerations, ψ M φᵀ split", _qdd_p,
       _wp.T @ _Dip @ (tau_p - Hp @ _psip @ (_Kp @ tau_p + _Pp @ a + b)) - _Kp.T @ _psip.T @ a
       - (_Kp.T @ _psip.T + _wp.T @ _Dip @ Hp @ _psip @ _Pp) @ Ha.T @ qdd_a),
    _p(65, "passive accelerations, biases gathered", _qdd_p,
       _wp.T @ _Dip @ (tau_p - Hp @ _psip @ (_Kp @ tau_p + _Pp @ _a + b)) - _Kp.T @ _psip.T @ _a),
    _p(66, "hybrid body accelerations, hinges replaced", phi.T @ Hp.T @ _h.qdd(_h.nu) + phi.T @ _a, _h_alpha),
    _p(66, "passive bias seen by active hinges", _Sap @ _Cp,
       Ha @ ((phi - _psip) + _Pp @ _omega) @ (b + M @ phi.T @ a)),
    _p(66, "active bias less the passive one", _Ca - _Sap @ _Cp,
       Ha @ (_psip - _Pp @ _omega) @ (M @ phi.T @ a + b)),
    _p(66, "active bias simplified", _Ca - _Sap @ _Cp,
       Ha @ (_psip - _Pp @ _omega) @ (_Pp @ a + b) + Ha @ _Pp @ _psip_.T @ a),
    _p(66, "Ω M φᵀ", _omega @ M @ phi.T, phi.T - _psip.T + _omega @ _Pp),
    _p(67, "active forces, S replaced", _tau_a,
       Ha @ ((_psip - _Pp @ _omega) @ _Pp + _Pp @ _psip_.T) @ Ha.T @ qdd_a
       + Ha @ ((_psip - _Pp @ _omega) @ _Kp + _Pp @ _back) @ tau_p
       + Ha @ (_psip - _Pp @ _omega) @ (_Pp @ a + b) + Ha @ _Pp @ _psip_.T @ a),
    _p(67, "active forces, biases gathered", _tau_a,
       Ha @ ((_psip - _Pp @ _omega) @ (_Pp @ _a + _Kp @ tau_p + b) + _Pp @ (_back @ tau_p + _psip_.T @ _a))),
    _p(67, "active forces by z", _tau_a,
       Ha @ ((one - _Pp @ _back @ Hp) @ _h.z + _Pp @ (_psip_.T @ _a + _back @ tau_p))),
    _p(67, "active forces by innovations", _tau_a,
       Ha @ (_h.z + _Pp @ _back @ (tau_p - Hp @ _h.z) + _Pp @ _psip_.T @ _a)),
    _p(70, "hybrid z by steps", _h.z, E @ _h.z_plus + b + _Pp @ _a),
    _p(70, "passive accelerations by G", _qdd_p, _h.nu - _Gp.T @ E.T @ _h_alpha),
    _p(70, "active forces on the far side", _tau_a, Ha @ _f_hybrid),
    _p(70, "passive forces on the far side", Hp @ _f_hybrid, tau_p),
    _p(70, "hybrid body accelerations by steps", _h_alpha, E.T @ _h_alpha + Ha.T @ qdd_a + Hp.T @ _qdd_p + a),
)  # fmt: skip

# Composite bodies.
_alpha_given = phi.T @ (H.T @ qdd + a)
_y = phi @ (b + E @ R @ (H.T @ qdd + a))
_force_given = phi @ (M @ _alpha_given + b)
_COMPOSITE = (
    _p(5, "Lyapunov equation of composite bodies", M, R - E @ R @ E.T),
    _p(5, "φ M φᵀ by composite bodies", phi @ M @ phi.T, R + phi_ @ R + R @ phi_.T),
    _p(5, "mass matrix by composite bodies",
       _mass, H @ R @ H.T + H @ phi_ @ R @ H.T + H @ R @ phi_.T @ H.T),
    _p(71, "inter-body forces by composite bodies", _force_given, R @ _alpha_given + _y),
    _p(71, "remainder by steps", _y, E @ (_y + R @ (H.T @ qdd + a)) + b),
    _p(71, "inverse dynamics by composite bodies",
       _mass @ qdd + bias_force(H), H @ (R @ _alpha_given + _y)),
    _p(71, "composite bodies with gravity",
       phi @ (M @ (_alpha_given + _gravity) + b), R @ (_alpha_given + _gravity) + _y),
)  # fmt: skip

#: Every claim of the slides, and the steps of their derivations.
SLIDES: tuple[NamedIdentity, ...] = (
    _OPERATORS + _ACCELERATIONS + _SWEEPS + _LOADS + _GRAVITY + _PARTITION + _HYBRID + _COMPOSITE
)
