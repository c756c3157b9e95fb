"""Appendix A of JPL 88-11, (a.1)–(a.51), in its own letters S, Δφ, Δψ, L, Φ, Ψ, r.

Equations between blocks are stated between operators: a sum of ψ(k, i+1) x(i) over i is ψ S x, and
what relates a body to its parent goes by E = S Δφ and Eψ = S Δψ.
"""

from __future__ import annotations

from hinge.algebra import (
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
    P,
    R,
    a,
    b,
    f_ext,
    phi,
    psi,
    tau,
    whole,
    zero,
)
from hinge.algebra.appendix import Dphi, Dpsi, L, Phi, Psi, S, r
from hinge.rules.identities.identity import NamedIdentity, bias_force, joint, one, phi_, psi_


def _a(where: str, name: str, left: Expr, right: Expr) -> NamedIdentity:
    return NamedIdentity(name, left, right, f"JPL 88-11 {where}")


# T of (a.19), T' of (a.29): what telescopes.
_telescope = psi @ phi_ - psi_ @ phi
_telescope_mirrored = phi @ psi_ - phi_ @ psi
# The innovations operator of (4.11), its inverse of (4.14), I − G H and Θ of (a.49).
_innovate, _whiten, _rest = joint + H @ Phi @ L, joint - H @ Psi @ L, one - G @ H
_theta = E @ P @ H.T @ Di @ H @ P @ E.T
# Bias forces without M φᵀ a; f(0) of the paper acts from the tip on its surroundings, f_ext on the tip.
_load = b - B @ f_ext

_A1 = (
    _a("(a.1)", "hinge inertia", D, H @ P @ H.T),
    _a("(a.2)", "Kalman gain", G, P @ H.T @ Di),
    _a("(a.4)", "shift and Δφ make a step of φ", S @ Dphi, E),
    _a("(a.5)", "shift and Δψ make a step of ψ", S @ Dpsi, Es),
    _a("(a.6)", "Φ is φ shifted", Phi, phi @ S),
    _a("(a.7)", "Ψ is ψ shifted", Psi, psi @ S),
    _a("(a.8)", "strict part of ψ", Psi @ Dpsi, psi_),
    _a("(a.9)", "strict part of φ", Phi @ Dphi, phi_),
    _a("(a.10)", "inverse of ψ", psi.inv(), one - S @ Dpsi),
    _a("(a.11)", "inverse of φ", phi.inv(), one - S @ Dphi),
    _a("(a.12)", "gain at the parent", L, Dphi @ G),
    _a("(a.13)", "two ways to carry the gain", phi_ @ G, Phi @ L),
)

_A2 = (
    _a("(a.14)", "φ from ψ, gain after ψ", phi, psi @ (one + S @ L @ H @ phi)),
    _a("(a.15)", "ψ from φ, filter before φ", psi, (one - Psi @ L @ H) @ phi),
    _a("(a.16)", "Φ from Ψ, gain after Ψ", Phi, Psi @ (one + L @ H @ Phi)),
    _a("(a.17)", "Ψ from Φ, filter before Φ", Psi, (one - Psi @ L @ H) @ Phi),
    _a("(a.18)", "φ less ψ through Ψ", phi - psi, Psi @ L @ H @ phi),
    _a("(a.18)", "φ less ψ through ψ S", Psi @ L @ H @ phi, psi @ S @ L @ H @ phi),
    _a("(a.19)", "telescoping sum ψ φ by steps", _telescope, psi @ (phi_ - S @ Dpsi @ phi)),
    _a("(a.20)", "telescoping sum ψ φ, its ends", _telescope, phi - psi),
    _a("(a.21)", "telescoping sum ψ φ by gains", _telescope, psi @ S @ L @ H @ phi),
)

_A3 = (
    _a("(a.22)", "φ from ψ, filter before ψ", phi, (one + Phi @ L @ H) @ psi),
    _a("(a.23)", "ψ from φ, gain after φ", psi, phi @ (one - S @ L @ H @ psi)),
    _a("(a.24)", "Φ from Ψ, filter before Ψ", Phi, (one + Phi @ L @ H) @ Psi),
    _a("(a.25)", "Ψ from Φ, gain after Φ", Psi, Phi @ (one - L @ H @ Psi)),
    _a("(a.26)", "φ and ψ change places", Phi @ L @ H @ psi, Psi @ L @ H @ phi),
    _a("(a.27)", "Φ and Ψ change places", Phi @ L @ H @ Psi, Psi @ L @ H @ Phi),
    _a("(a.28)", "φ less ψ through Φ", phi - psi, Phi @ L @ H @ psi),
    _a("(a.28)", "φ less ψ through φ S", Phi @ L @ H @ psi, phi @ S @ L @ H @ psi),
    _a("(a.29)", "telescoping sum φ ψ by steps", _telescope_mirrored, phi @ (psi_ - S @ Dphi @ psi)),
    _a("(a.30)", "telescoping sum φ ψ, its ends", _telescope_mirrored, psi - phi),
    _a("(a.31)", "telescoping sum φ ψ by gains", _telescope_mirrored, -(phi @ S @ L @ H @ psi)),
)

_A4 = (
    _a("(a.32)", "H φ from H ψ", H @ phi, _innovate @ H @ psi),
    _a("(a.33)", "H Φ from H Ψ", H @ Phi, _innovate @ H @ Psi),
    _a("(a.34)", "H Ψ from H Φ, gain after", H @ Psi, H @ Phi @ (one - L @ H @ Psi)),
    _a("(a.35)", "H ψ from H φ", H @ psi, _whiten @ H @ phi),
    _a("(a.36)", "H Ψ from H Φ", H @ Psi, _whiten @ H @ Phi),
    _a("(a.37)", "H Φ from H Ψ, gain after", H @ Phi, H @ Psi @ (one + L @ H @ Phi)),
    _a("(a.38)", "H Φ and H Ψ change places", H @ Phi @ L @ H @ Psi, H @ Psi @ L @ H @ Phi),
    _a("(a.39)", "Φ L from Ψ L", Phi @ L, Psi @ L @ _innovate),
    _a("(a.40)", "Ψ L from Φ L, filter before", Psi @ L, (one - Psi @ L @ H) @ Phi @ L),
    _a("(a.41)", "Ψ L from Φ L", Psi @ L, Phi @ L @ _whiten),
    _a("(a.42)", "Φ L from Ψ L, filter before", Phi @ L, (one + Phi @ L @ H) @ Psi @ L),
    _a("(a.43)", "Φ L and Ψ L change places", Psi @ L @ H @ Phi @ L, Phi @ L @ H @ Psi @ L),
)

_A5 = (
    _a("(a.44)", "recursion of the mixed inertia", r, S @ Dpsi @ r @ (S @ Dphi).T + M),
    _a("(a.45)", "ψ M φᵀ splits by r", psi @ M @ phi.T, r + psi_ @ r + r @ phi_.T),
    _a("(a.45), corollary A.1", "φ M φᵀ splits by R", phi @ M @ phi.T, R + phi_ @ R + R @ phi_.T),
    _a("(a.46)", "ψ M φᵀ splits by P", psi @ M @ phi.T, P + psi_ @ P + P @ phi_.T),
    _a("(a.46), proof", "Riccati equation by G", P, E @ _rest @ P @ E.T + M),
    _a("(a.46), proof", "Riccati equation by L", P, (E - S @ L @ H) @ P @ E.T + M),
    _a("(a.46), proof", "Riccati equation by one Δψ", P, S @ Dpsi @ P @ E.T + M),
    _a("(a.47)", "ψ M ψᵀ splits by P", psi @ M @ psi.T, P + psi_ @ P + P @ psi_.T),
    _a("(a.47), proof", "the gain leaves nothing to H", _rest @ P @ H.T @ G.T, zero(Body, Body)),
    _a("(a.47), proof", "Riccati equation by G on both sides", P, E @ _rest @ P @ _rest.T @ E.T + M),
    _a("(a.47), proof", "Riccati equation by Δψ on both sides", P, S @ Dpsi @ P @ (S @ Dpsi).T + M),
)

_A6 = (
    _a("(a.48)", "φ M φᵀ splits by P",
       phi @ M @ phi.T, P + phi_ @ P + P @ phi_.T + phi_ @ P @ H.T @ Di @ H @ P @ phi_.T),
    _a("(a.49)", "Riccati equation", P, E @ (P - P @ H.T @ Di @ H @ P) @ E.T + M),
    _a("(a.49)", "Riccati equation by Θ", P, E @ P @ E.T + M - _theta),
    _a("(a.49), consequence", "φ π φᵀ splits by P", phi @ (M - _theta) @ phi.T, P + phi_ @ P + P @ phi_.T),
    _a("(a.49), consequence", "φ M φᵀ splits by P and Θ",
       phi @ M @ phi.T, P + phi_ @ P + P @ phi_.T + phi @ _theta @ phi.T),
    _a("(a.49), consequence", "Θ propagated",
       phi @ _theta @ phi.T, phi_ @ P @ H.T @ Di @ H @ P @ phi_.T),
)  # fmt: skip

_smooth = _whiten.T @ Di @ H
_A7 = (
    _a("(a.50)", "smoothed bias without φ",
       _smooth @ psi @ M @ phi.T, _smooth @ psi_ @ P + L.T @ Psi.T @ _rest.T + G.T),
    _a("(a.50), proof", "smoothed bias split",
       _smooth @ psi @ M @ phi.T, _smooth @ psi_ @ P + _smooth @ P + _smooth @ P @ phi_.T),
    _a("(a.51)", "anticausal part of the smoothed bias",
       _smooth @ P + _smooth @ P @ phi_.T, L.T @ Psi.T @ _rest.T + G.T),
    _a("(a.51), proof", "anticausal part by G",
       _smooth @ P + _smooth @ P @ phi_.T, _whiten.T @ G.T + _whiten.T @ G.T @ phi_.T),
    _a("(a.51), proof", "anticausal part by L",
       _whiten.T @ G.T + _whiten.T @ G.T @ phi_.T, _whiten.T @ G.T + _whiten.T @ L.T @ Phi.T),
    _a("(a.51), proof", "whitened Φ L", _whiten.T @ L.T @ Phi.T, (Phi @ (one - L @ H @ Psi) @ L).T),
    _a("(a.51), proof", "whitened Φ L is Ψ L", (Phi @ (one - L @ H @ Psi) @ L).T, L.T @ Psi.T),
    _a("(a.51), proof", "anticausal part gathered",
       _whiten.T @ G.T + L.T @ Psi.T, L.T @ Psi.T @ _rest.T + G.T),
)  # fmt: skip

_gained = joint + H @ phi_ @ G
_FACTS = (
    _a("appendix A, proof of fact 4.1", "innovations factors by G", whole.mass, _gained @ D @ _gained.T),
    _a("appendix A, proof of fact 4.1", "innovations factors multiplied out", _gained @ D @ _gained.T,
       H @ (P + phi_ @ P + P @ phi_.T + phi_ @ P @ H.T @ Di @ H @ P @ phi_.T) @ H.T),
    _a("appendix A, proof of fact 4.2", "innovations operator times its inverse",
       _innovate @ _whiten, joint + H @ (Phi - Psi - Psi @ L @ H @ Phi) @ L),
    _a("appendix A, proof of fact 4.2", "nothing is left of it",
       H @ (Phi - Psi - Psi @ L @ H @ Phi) @ L, zero(Joint, Joint)),
    _a("appendix A, proof of FD4", "forward dynamics before (a.50)",
       whole.mass.inv() @ (tau - bias_force(H, b=_load)),
       _whiten.T @ Di @ _whiten @ tau - _smooth @ psi @ _load - _smooth @ psi @ M @ phi.T @ a),
    _a("appendix A, proof of FD4", "forward dynamics after (a.50)",
       whole.mass.inv() @ (tau - bias_force(H, b=_load)),
       _whiten.T @ Di @ _whiten @ tau - _smooth @ psi @ _load
       - (_smooth @ psi_ @ P + L.T @ Psi.T @ _rest.T + G.T) @ a),
)  # fmt: skip

#: Every numbered equation of appendix A from (a.6) on, and the steps of its proofs.
APPENDIX_A: tuple[NamedIdentity, ...] = _A1 + _A2 + _A3 + _A4 + _A5 + _A6 + _A7 + _FACTS
