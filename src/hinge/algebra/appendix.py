"""The letters that appendix A of JPL 88-11 uses beside ours, in terms of ours."""

from __future__ import annotations

from hinge.algebra.expression import STANDARD, Expr, Leaf, Structure, leaf
from hinge.algebra.leaves import E, Es, G, M, phi, psi
from hinge.algebra.space import Body, Joint


def _letter(name: str, structure: Structure, unicode: str, latex: str, source: str) -> Leaf:
    domain = Joint if name == "L" else Body
    made = leaf(name, Body, domain, structure, unicode=unicode, latex=latex, meaning=source)
    STANDARD[name] = made
    return made


S = _letter("S", Structure.STEP, "S", "S", "shift of block rows, (5.2)")
Dphi = _letter("Dphi", Structure.DIAGONAL, "Δφ", r"\Delta_\phi", "blocks φ(parent, child), (a.4)")
Dpsi = _letter("Dpsi", Structure.DIAGONAL, "Δψ", r"\Delta_\psi", "blocks ψ(parent, child), (a.5)")
L = _letter("L", Structure.DIAGONAL, "L", "L", "gain shifted to the parent, (4.7)")
Phi = _letter("Phi", Structure.STEP, "Φ", r"\Phi", "φ S, (4.9)")
Psi = _letter("Psi", Structure.STEP, "Ψ", r"\Psi", "ψ S, (4.10)")
r = _letter("r", Structure.DIAGONAL, "r", "r", "mixed inertia recursion, (a.44)")

#: (left, right, source): how these letters are related to E, Eψ, φ, ψ, G.
APPENDIX: tuple[tuple[Expr, Expr, str], ...] = (
    (S @ Dphi, E, "(a.4)"),
    (S @ Dpsi, Es, "(a.5)"),
    (L, Dphi @ G, "(4.7)"),
    (Phi, phi @ S, "(4.9)"),
    (Psi, psi @ S, "(4.10)"),
    (r, M + Es @ r @ E.T, "(a.44)"),
)
