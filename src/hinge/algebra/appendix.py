"""The letters that appendix A of JPL 88-11 uses beside ours, in terms of ours."""

from __future__ import annotations

from hinge.algebra.card import Card, Carries
from hinge.algebra.expression import Expr
from hinge.algebra.letters import DIAGONAL, INERTIA, STEP, E, Es, G, M, letter, phi, psi
from hinge.algebra.space import Body, Joint

# The blocks of S, Δφ, Δψ, L, Φ, Ψ stand at a body and are in the frame of its parent, so they fit no frame.
# fmt: off
S = letter("S", Body, Body, "shift of block rows, (5.2)", Card(weight=30), structure=STEP)
Dphi = letter("Dphi", Body, Body, "blocks φ(parent, child), (a.4)",
              Card(weight=30), structure=DIAGONAL, unicode="Δφ", latex=r"\Delta_\phi")
Dpsi = letter("Dpsi", Body, Body, "blocks ψ(parent, child), (a.5)",
              Card(weight=30, asks=INERTIA), structure=DIAGONAL, unicode="Δψ", latex=r"\Delta_\psi")
L = letter("L", Body, Joint, "gain shifted to the parent, (4.7)",
           Card(weight=100, asks=INERTIA), structure=DIAGONAL)
Phi = letter("Phi", Body, Body, "φ S, (4.9)", Card(weight=100), structure=STEP, unicode="Φ", latex=r"\Phi")
Psi = letter("Psi", Body, Body, "ψ S, (4.10)",
             Card(weight=100, asks=INERTIA), structure=STEP, unicode="Ψ", latex=r"\Psi")
r = letter("r", Body, Body, "mixed inertia recursion, (a.44)",
           Card(Carries.FORCE, Carries.MOTION, weight=4, asks=INERTIA), structure=DIAGONAL)
# fmt: on

#: (left, right, source): how these letters are related to E, Eψ, φ, ψ, G.
APPENDIX: tuple[tuple[Expr, Expr, str], ...] = (
    (S @ Dphi, E, "(a.4)"),
    (S @ Dpsi, Es, "(a.5)"),
    (L, Dphi @ G, "(4.7)"),
    (Phi, phi @ S, "(4.9)"),
    (Psi, psi @ S, "(4.10)"),
    (r, M + Es @ r @ E.T, "(a.44)"),
)
