"""Part I of JPL 88-11, sections 2–5, and Rodriguez, Kreutz & Jain.

In both papers f(0) is the force of the tip on its surroundings; f_ext acts on the nodes, f(0) = −f_ext.
What the papers compute block by block is stated as the step of its recursion: x = E x + y for a gather
sweep, x = Eᵀ x + y for a scatter sweep.
"""

from __future__ import annotations

from hinge.algebra import (
    E0,
    B,
    Body,
    D,
    Di,
    E,
    Es,
    Expr,
    G,
    H,
    Joint,
    M,
    Mi,
    P,
    Ups,
    a,
    a_n,
    b,
    f_ext,
    g,
    phi,
    psi,
    qd,
    qdd,
    tau,
    whole,
    zero,
)
from hinge.algebra.appendix import Dphi, Dpsi, L, Phi, Psi, S
from hinge.rules.identities.identity import NamedIdentity, bias_force, jacobian, joint, one, psi_


def _jpl(where: str, name: str, left: Expr, right: Expr) -> NamedIdentity:
    return NamedIdentity(name, left, right, f"JPL 88-11 {where}")


def _rkj(where: str, name: str, left: Expr, right: Expr) -> NamedIdentity:
    return NamedIdentity(name, left, right, f"Rodriguez, Kreutz & Jain {where}")


_tip_force = -f_ext
_load = b + B @ _tip_force
_innovate, _whiten, _rest = joint + H @ Phi @ L, joint - H @ Psi @ L, one - G @ H


# Sections 2 and 3: velocities, accelerations, forces.
_V = phi.T @ H.T @ qd
_alpha = phi.T @ H.T @ qdd + phi.T @ a
_f = phi @ (M @ _alpha + _load)
_MOTION = (
    _jpl("(2.25), (3.12)", "velocity sweep", _V, E.T @ _V + H.T @ qd),
    _jpl("(2.26), (3.15)", "acceleration sweep", _alpha, E.T @ _alpha + H.T @ qdd + a),
    _jpl("(2.27), (3.17)", "tip acceleration by the Jacobian",
         B.T @ _alpha + a_n, jacobian(B) @ qdd + (B.T @ phi.T @ a + a_n)),
    _jpl("(2.29), (3.17)", "force sweep", _f, E @ _f + M @ _alpha + _load),
    _jpl("(3.18)", "hinge forces from accelerations", H @ (E @ _f + M @ _alpha + _load),
         H @ phi @ (M @ _alpha + b + B @ _tip_force)),
    _jpl("(3.19)", "hinge forces, bias apart", H @ _f, whole.mass @ qdd + H @ phi @ (M @ phi.T @ a + _load)),
    _jpl("(3.19)", "hinge forces, accelerations together", H @ _f,
         H @ phi @ (M @ phi.T @ (H.T @ qdd + a) + _load)),
    _jpl("(3.20)", "equations of motion", H @ _f,
         whole.mass @ qdd + bias_force(H) + jacobian(B).T @ _tip_force),
    _jpl("(3.21)", "gravity as an acceleration of the base",
         bias_force(H, a + E0.T @ g), bias_force(H) + H @ phi @ M @ phi.T @ E0.T @ g),
    _jpl("(3.22)", "motion without bias", whole.mass.inv() @ (H @ _f - bias_force(H, b=_load)), qdd),
)  # fmt: skip

# Section 4: the Riccati recursion, innovations, the inverse. Signals y and innovations ε are any τ.
_forward, _backward = Phi @ L @ tau, Psi @ L @ tau
_RICCATI = (
    _jpl("(4.5)", "articulated inertia sweep", P, E @ (P - P @ H.T @ D.inv() @ H @ P) @ E.T + M),
    _jpl("(4.6)", "hinge articulated inertia", D, H @ P @ H.T),
    _jpl("(4.6)", "gain times hinge inertia", S @ L @ D, E @ P @ H.T),
    _jpl("(4.7)", "articulated step", S @ Dpsi, S @ (Dphi - L @ H)),
    _jpl("(4.7)", "articulated propagation step by step", psi, one + Es @ psi),
    _jpl("(4.11)", "innovations factorisation by L", whole.mass, _innovate @ D @ _innovate.T),
    _jpl("(4.12)", "covariance of the innovations", _whiten @ whole.mass @ _whiten.T, D),
    _jpl("(4.13)", "innovations model, state", _forward, E @ _forward + S @ L @ tau),
    _jpl("(4.13)", "innovations model, output", _innovate @ tau, H @ _forward + tau),
    _jpl("(4.14)", "inverse of the innovations operator by L", _innovate.inv(), _whiten),
    _jpl("(4.14)", "inverse of the whitening filter by L", _whiten.inv(), _innovate),
    _jpl("(4.15)", "Kalman filter, state", _backward, (E - S @ L @ H) @ _backward + S @ L @ tau),
    _jpl("(4.15)", "Kalman filter, output", _whiten @ tau, -(H @ _backward) + tau),
    _jpl("(4.15)", "Kalman filter and innovations model share the state", Phi @ L @ _whiten @ tau, _backward),
    _jpl("(4.16)", "inverse of the mass matrix by L", whole.mass.inv(), _whiten.T @ Di @ _whiten),
)  # fmt: skip

# Sections 4 and 5: the algorithms FD1–FD4.
_qdd = whole.mass.inv() @ (tau - bias_force(H) - jacobian(B).T @ _tip_force)
_free = tau - H @ phi @ (M @ phi.T @ a + _load)  # T' of (4.17), (5.5)
_zeta = phi.T @ a
_fd1 = _whiten.T @ Di @ _whiten @ _free
_fd2 = psi.T @ H.T @ Di @ _whiten @ _free + phi.T @ a  # α
_fd3_epsilon = tau - H @ psi @ (S @ L @ tau + M @ _zeta + _load)
_fd3 = _whiten.T @ Di @ _fd3_epsilon
_fd4_nu = Di @ _whiten @ tau - Di @ H @ psi_ @ P @ a - Di @ H @ psi @ _load
_fd4 = _whiten.T @ _fd4_nu - L.T @ Psi.T @ _rest.T @ a - G.T @ a
# The sweeps of FD1 and FD2, and those of FD4.
_z_hat = Psi @ L @ _free
_nu = Di @ (_free - H @ _z_hat)
_lambda = psi.T @ H.T @ _nu
_z4 = Psi @ L @ tau + psi_ @ P @ a + psi @ _load
_nu4 = Di @ (tau - H @ _z4)
_lambda4 = psi.T @ H.T @ _nu4 + psi.T @ _rest.T @ a

_ALGORITHMS = (
    _jpl("(4.18)", "forward dynamics FD1", _qdd, _fd1),
    _jpl("(4.20)", "FD1, filter", _z_hat, (E - S @ L @ H) @ _z_hat + S @ L @ _free),
    _jpl("(4.20)", "FD1, innovations", D @ _nu, _whiten @ _free),
    _jpl("(4.22)", "FD1, smoother", _lambda, (E - S @ L @ H).T @ _lambda + H.T @ _nu),
    _jpl("(4.22)", "FD1, hinge accelerations", _qdd, _nu - L.T @ S.T @ _lambda),
    _jpl("(5.4)", "the whitening filter turns φ into ψ", _whiten @ H @ phi, H @ psi),
    _jpl("(5.5)", "bias-free forces", _free, tau - bias_force(H) - jacobian(B).T @ _tip_force),
    _jpl("(5.6)", "forward dynamics FD2", phi.T @ H.T @ _qdd + phi.T @ a, _fd2),
    _jpl("(5.6), proof", "FD2 before (5.4)", phi.T @ H.T @ _fd1 + phi.T @ a, _fd2),
    _jpl("(5.7)", "FD2, tip acceleration", B.T @ _fd2 + a_n, B.T @ phi.T @ (H.T @ _qdd + a) + a_n),
    _jpl("(4.22b)", "FD2, sum of λ and ζ", _fd2, _lambda + _zeta),
    _jpl("(4.22b), (5.8)", "FD2 and FD3, sweep of ζ", _zeta, E.T @ _zeta + a),
    _jpl("(5.9)", "FD3, innovations", _whiten @ _free, _fd3_epsilon),
    _jpl("(5.10)", "forward dynamics FD3", _qdd, _fd3),
    _jpl("(5.11)", "strict part of ψ by steps", psi_, psi @ Es),
    _jpl("(5.12)", "gain of FD4", G @ D, P @ H.T),
    _jpl("(5.13)", "tip velocity", B.T @ (E.T @ _V + H.T @ qd), jacobian(B) @ qd),
    _jpl("(5.14)", "FD4, innovations", _fd4_nu, _nu4),
    _jpl("(5.15)", "forward dynamics FD4", _qdd, _fd4),
    _jpl("(5.15)", "FD4 by its sweeps", _qdd, _nu4 - L.T @ S.T @ _lambda4 - G.T @ a),
    _jpl("(5.16)", "FD4, filter", _z4, Es @ _z4 + S @ L @ tau + Es @ P @ a + _load),
    _jpl("(5.17)", "FD4, smoother", _lambda4, Es.T @ _lambda4 + H.T @ _nu4 + _rest.T @ a),
    _jpl("section 5", "FD1 is FD2", phi.T @ (H.T @ _fd1 + a), _fd2),
    _jpl("section 5", "FD1 is FD3", _fd1, _fd3),
    _jpl("section 5", "FD1 is FD4", _fd1, _fd4),
    _jpl("section 5", "FD2 is FD3", _fd2, phi.T @ (H.T @ _fd3 + a)),
    _jpl("section 5", "FD2 is FD4", _fd2, phi.T @ (H.T @ _fd4 + a)),
    _jpl("section 5", "FD3 is FD4", _fd3, _fd4),
)  # fmt: skip

# Rodriguez, Kreutz & Jain: tip forces, operational space, and their shorter proofs.
_tip_qdd = -(whole.mass.inv() @ jacobian(B).T @ _tip_force)
_compliance = jacobian(B) @ whole.mass.inv() @ jacobian(B).T
_kernel = psi.T @ H.T @ Di @ H @ psi
_TIP = (
    _rkj("(3.1)", "equations of motion with a tip force",
         whole.mass @ qdd + bias_force(H) + jacobian(B).T @ _tip_force,
         H @ phi @ (M @ phi.T @ (H.T @ qdd + a) + b + B @ _tip_force)),
    _rkj("section 4", "Riccati equation by ψ", P, Es @ P @ Es.T + M),
    _rkj("section 4", "articulated step by G", S @ Dpsi, S @ Dphi @ _rest),
    _rkj("(4.1)", "articulated step by L", Es, E - S @ L @ H),
    _rkj("(4.5)", "forward dynamics with a tip force", _qdd, _whiten.T @ Di @ _whiten @ _free),
    _rkj("(5.2)", "accelerations by a tip force", _tip_qdd,
         -(_whiten.T @ Di @ _whiten @ H @ phi @ B @ _tip_force)),
    _rkj("(5.3)", "accelerations by a tip force, simplified", _tip_qdd,
         -(_whiten.T @ Di @ H @ psi @ B @ _tip_force)),
    _rkj("section 5", "tip force apart", _qdd, whole.mass.inv() @ (tau - bias_force(H)) + _tip_qdd),
    _rkj("(5.4)", "operational-space compliance", _compliance,
         jacobian(B) @ _whiten.T @ Di @ _whiten @ H @ phi @ B),
    _rkj("(5.5)", "operational-space compliance, simplified", _compliance, B.T @ _kernel @ B),
    _rkj("(5.5)", "operational-space inertia",
         (jacobian(B) @ Mi @ jacobian(B).T).inv(), (B.T @ _kernel @ B).inv()),
    _rkj("(5.5), recursion", "compliance sweep on a chain", Ups, Es.T @ Ups @ Es + H.T @ Di @ H),
    _rkj("(5.5), recursion", "compliance splits on a chain", _kernel, Ups + psi_.T @ Ups + Ups @ psi_),
    _rkj("(5.14)", "tip acceleration by a tip force",
         jacobian(B) @ _tip_qdd, -(B.T @ _kernel @ B @ _tip_force)),
)  # fmt: skip

_PROOFS = (
    _rkj("(A.1)", "inverses differ by the gain", psi.inv() - phi.inv(), S @ L @ H),
    _rkj("(A.2)", "φ over ψ on the right", phi @ psi.inv(), one + Phi @ L @ H),
    _rkj("(A.2)", "φ over ψ on the left", psi.inv() @ phi, one + S @ L @ H @ phi),
    _rkj("(A.3)", "nothing passes the filter", psi_ @ P @ H.T, zero(Body, Joint)),
    _rkj("(A.4)", "ψ M ψᵀ in three parts", psi @ M @ psi.T, P + psi_ @ P + P @ psi_.T),
    _rkj("(A.5)", "filtered mass matrix", H @ psi @ M @ psi.T @ H.T, D),
    _rkj("(A.5), proof", "filtered mass matrix in parts", H @ (P + psi_ @ P + P @ psi_.T) @ H.T, H @ P @ H.T),
    _rkj("(A.6)", "φ from its steps", phi.inv(), one - S @ Dphi),
    _rkj("(A.7)", "strict part of ψ without gain", psi_ @ P @ H.T, Psi @ Dphi @ _rest @ P @ H.T),
    _rkj("lemma 4.1, proof", "mass matrix through ψ", whole.mass,
         H @ (phi @ psi.inv()) @ psi @ M @ psi.T @ (phi @ psi.inv()).T @ H.T),
    _rkj("lemma 4.1, proof", "mass matrix through the filter", whole.mass,
         _innovate @ H @ psi @ M @ psi.T @ H.T @ _innovate.T),
    _rkj("lemma 4.2, proof", "matrix inversion lemma", _innovate.inv(),
         joint - H @ phi @ (one + S @ L @ H @ phi).inv() @ S @ L),
    _rkj("lemma 4.2, proof", "matrix inversion lemma by ψ", _innovate.inv(),
         joint - H @ phi @ (psi.inv() @ phi).inv() @ S @ L),
    _rkj("lemma 4.2, proof", "whitening filter by S", _innovate.inv(), joint - H @ psi @ S @ L),
    _rkj("identity 5.1, proof", "ψ over φ on the right", psi @ phi.inv(), one - Psi @ L @ H),
    _rkj("identity 5.1, proof", "filter moved past H", _whiten @ H @ phi, H @ (one - Psi @ L @ H) @ phi),
)  # fmt: skip

#: Numbered equations of the two papers outside appendix A of JPL 88-11.
PAPERS: tuple[NamedIdentity, ...] = _MOTION + _RICCATI + _ALGORITHMS + _TIP + _PROOFS
