"""The letters of spatial operator algebra, and what the derived ones are defined by.

Letters and types as in JPL 88-11 part I and the SOA slides. Bodies are numbered base first here, so φ,
which gathers towards the base, is block upper triangular where the papers, numbering tip first, have it
lower triangular; nothing else changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hinge.algebra.expression import STANDARD, Expr, Leaf, Structure, identity, leaf, root
from hinge.algebra.space import (
    Active,
    Body,
    Joint,
    Node,
    One,
    Parameter,
    Passive,
    Placement,
    Resistance,
    Space,
    World,
)

DIAGONAL, STEP, RESOLVENT = Structure.DIAGONAL, Structure.STEP, Structure.RESOLVENT


def _letter(name: str, to: Space, domain: Space, structure: Structure | None = None, **more: Any) -> Leaf:
    STANDARD[name] = leaf(name, to, domain, structure, **more)
    return STANDARD[name]


# What a robot and its state give.
H = _letter("H", Joint, Body, DIAGONAL, meaning="hinge map, (2.16), (3.5)")
M = _letter("M", Body, Body, DIAGONAL, self_adjoint=True, meaning="link spatial inertias, (2.15), (3.6)")
E = _letter("E", Body, Body, STEP, meaning="shift of a force to the parent, φ(parent, child), (2.16)")
E0 = _letter(
    "E0",
    World,
    Body,
    DIAGONAL,
    unicode="E₀",
    latex="E_0",
    meaning="shift of a force from root bodies to the world, (3.8)",
)
B = _letter("B", Body, Node, DIAGONAL, meaning="shift of a force from nodes to their bodies, (3.7)")

# Propagation, and the articulated-body quantities of the whole system.
phi = _letter(
    "phi", Body, Body, RESOLVENT, unicode="φ", latex=r"\phi", meaning="propagation towards the base, (3.4)"
)
Q = _letter(
    "Q", Node, Node, DIAGONAL, needs=(phi.T @ E0.T,), meaning="axes and origin in which nodes are expressed"
)
R = _letter("R", Body, Body, DIAGONAL, self_adjoint=True, meaning="composite-body inertia")
Ups = _letter(
    "Ups",
    Body,
    Body,
    DIAGONAL,
    self_adjoint=True,
    unicode="Υ",
    latex=r"\Upsilon",
    meaning="operational-space compliance kernel",
)


@dataclass(frozen=True)
class Articulated:
    """The letters of the articulated-body (Kalman filter) factorisation for one hinge map."""

    H: Leaf
    P: Leaf
    D: Leaf
    Di: Leaf
    G: Leaf
    K: Leaf
    Es: Leaf
    psi: Leaf
    Mi: Leaf

    @property
    def mass(self) -> Expr:
        """The mass matrix H φ M φᵀ Hᵀ, (3.20)."""
        return self.H @ phi @ M @ phi.T @ self.H.T

    def definitions(self) -> dict[Leaf, Expr]:
        """Return what each letter is defined by, (4.4)–(4.8), (5.12)."""
        a, one = self, identity(Body)
        return {
            a.P: M + a.Es @ a.P @ E.T,
            a.D: a.H @ a.P @ a.H.T,
            a.Di: a.D.inv(),
            a.G: a.P @ a.H.T @ a.Di,
            a.K: E @ a.G,
            a.Es: E - a.K @ a.H,
            a.psi: (one - a.Es).inv(),
            a.Mi: a.mass.inv(),
        }


def _articulated(hinge: Leaf, mark: str, what: str) -> Articulated:
    """Return the letters for a hinge map; `mark` tells them from those of another."""
    space, sub = hinge.range, f"_{mark}" if mark else ""
    low = {"": "", "p": "ₚ"}[mark]

    def own(name: str, to: Space, domain: Space, structure: Structure, meaning: str, **more: Any) -> Leaf:
        names = {"unicode": name + low, "latex": name + sub, **more}
        return _letter(name + mark, to, domain, structure, meaning=meaning.format(what), **names)

    both = {"self_adjoint": True}
    return Articulated(
        hinge,
        own("P", Body, Body, DIAGONAL, "articulated-body inertia {}, (4.4)", **both),
        own("D", space, space, DIAGONAL, "H P Hᵀ {}, (a.1)", **both),
        own(
            "Di",
            space,
            space,
            DIAGONAL,
            "the inverse of D {}",
            unicode=f"D{low}⁻¹",
            latex=f"D{sub}^{{-1}}",
            **both,
        ),
        own("G", Body, space, DIAGONAL, "Kalman gain P Hᵀ D⁻¹ {}, (a.2)"),
        own("K", Body, space, STEP, "shifted gain E G {}, (a.13)"),
        own(
            "Es",
            Body,
            Body,
            STEP,
            "articulated shift E − K H {}",
            unicode="Eψ" + low,
            latex=rf"E_{{\psi{mark}}}",
        ),
        own(
            "psi",
            Body,
            Body,
            RESOLVENT,
            "articulated propagation {}, (5.1)",
            unicode="ψ" + low,
            latex=r"\psi" + sub,
        ),
        own(
            "Mi",
            space,
            space,
            Structure.DENSE,
            "inverse of the mass matrix {}, (4.16)",
            unicode=f"𝓜{low}⁻¹",
            latex=rf"\mathcal{{M}}{sub}^{{-1}}",
            **both,
        ),
    )


whole = _articulated(H, "", "of all hinges")
P, D, Di, G, K, Es, psi, Mi = (
    whole.P,
    whole.D,
    whole.Di,
    whole.G,
    whole.K,
    whole.Es,
    whole.psi,
    whole.Mi,
)

# The square root of D, one triangular block for each hinge: 𝓜 = L Lᵀ with L = (I + H φ K) D½.
Dr = _letter(
    "Dr",
    Joint,
    Joint,
    DIAGONAL,
    unicode="D½",
    latex="D^{1/2}",
    meaning="lower triangular square root, D = D½ D½ᵀ",
)
Dri = _letter(
    "Dri",
    Joint,
    Joint,
    DIAGONAL,
    unicode="D⁻½",
    latex="D^{-1/2}",
    meaning="the inverse of D½",
)

# Hybrid dynamics: the hinge map split into rows whose force and whose acceleration is given.
Hp = _letter(
    "Hp", Passive, Body, DIAGONAL, unicode="Hₚ", latex="H_p", meaning="passive rows of the hinge map"
)
Ha = _letter("Ha", Active, Body, DIAGONAL, unicode="Hₐ", latex="H_a", meaning="active rows of the hinge map")
passive = _articulated(Hp, "p", "of the passive hinges")
Pp, Dp, Dip, Gp, Kp, Esp, psip, Mip = (
    passive.P,
    passive.D,
    passive.Di,
    passive.G,
    passive.K,
    passive.Es,
    passive.psi,
    passive.Mi,
)

Np = _letter(
    "Np", Passive, Joint, DIAGONAL, unicode="Nₚ", latex="N_p", meaning="choice of the passive coordinates"
)
Na = _letter(
    "Na", Active, Joint, DIAGONAL, unicode="Nₐ", latex="N_a", meaning="choice of the active coordinates"
)

# Vectors.
tau = _letter("tau", Joint, One, unicode="τ", latex=r"\tau", meaning="hinge forces")
qd = _letter("qd", Joint, One, unicode="q̇", latex=r"\dot q", meaning="hinge velocities")
qdd = _letter("qdd", Joint, One, unicode="q̈", latex=r"\ddot q", meaning="hinge accelerations")
x = _letter("x", Joint, One, meaning="any vector of hinge coordinates")
tau_p = _letter(
    "tau_p", Passive, One, unicode="τₚ", latex=r"\tau_p", meaning="given forces of passive hinges"
)
qdd_a = _letter(
    "qdd_a", Active, One, unicode="q̈ₐ", latex=r"\ddot q_a", meaning="given accelerations of active hinges"
)
held = _letter(
    "held",
    Joint,
    One,
    unicode="σ",
    latex=r"\sigma",
    meaning="1 where the acceleration is given, 0 where the force is",
)
g = _letter("g", World, One, meaning="acceleration of the world that stands for gravity, (3.21)")
f_ext = _letter("f_ext", Node, One, unicode="fₓ", latex="f_{ext}", meaning="forces that act on the nodes")
x_n = _letter("x_n", Node, One, unicode="xₙ", latex="x_n", meaning="given velocities of the nodes")
a = _letter("a", Body, One, needs=(E.T @ phi.T @ H.T @ qd, qd), meaning="bias accelerations, (2.19), (2.32)")
b = _letter("b", Body, One, needs=(phi.T @ H.T @ qd,), meaning="bias forces, (2.23)")
tau_j = _letter(
    "tau_j",
    Joint,
    One,
    unicode="τⱼ",
    latex=r"\tau_j",
    needs=(qd,),
    meaning="forces of the joints' own springs, dampers and friction",
)
a_n = _letter(
    "a_n",
    Node,
    One,
    unicode="aₙ",
    latex="a_n",
    needs=(phi.T @ H.T @ qd,),
    meaning="bias accelerations from body to node, a(0) of (2.27)",
)
v_n = _letter(
    "v_n",
    Node,
    One,
    unicode="vₙ",
    latex="v_n",
    needs=(B.T @ phi.T @ H.T @ qd,),
    meaning="ω × v of the nodes: classical less spatial acceleration",
)

# A base that moves in a given way: its velocity and acceleration, and the bias terms with them.
V0 = _letter(
    "V0", World, One, unicode="V₀", latex="V_0", meaning="velocity of a base that moves in a given way"
)
A0 = _letter(
    "A0",
    World,
    One,
    unicode="α₀",
    latex=r"\alpha_0",
    meaning="acceleration of a base that moves in a given way, less gravity",
)
_V_moving = phi.T @ (H.T @ qd + E0.T @ V0)
a_m = _letter(
    "a_m",
    Body,
    One,
    unicode="aₘ",
    latex="a_m",
    needs=(E.T @ _V_moving + E0.T @ V0, qd),
    meaning="bias accelerations on a base that moves, (2.19), (2.32)",
)
b_m = _letter(
    "b_m",
    Body,
    One,
    unicode="bₘ",
    latex="b_m",
    needs=(_V_moving,),
    meaning="bias forces on a base that moves, (2.23)",
)

# Ten numbers for each body: as an operator, what forces they make; as a vector, M and b for a call.
A = _letter(
    "A",
    Body,
    Parameter,
    DIAGONAL,
    unicode="𝒜",
    latex=r"\mathcal{A}",
    needs=(phi.T @ (H.T @ qdd + a + E0.T @ g), phi.T @ H.T @ qd),
    meaning="forces that move the bodies for each of their inertial parameters: M α + b = 𝒜 π",
)
inertias = _letter("inertias", Parameter, One, unicode="π", latex=r"\pi", meaning="inertias of the bodies")
# Other numbers of the model that a call can give.
placements = _letter("placements", Placement, One, meaning="where joints sit on their parents")
rotors = _letter("rotors", Joint, One, meaning="reflected inertias of the rotors")
friction = _letter("friction", Resistance, One, meaning="damping, friction and stiffness of the joints")

#: What the derived letters are defined by; E, H, M and the vectors are given.
DEFINITIONS: dict[Leaf, Expr] = {
    phi: (identity(Body) - E).inv(),
    **whole.definitions(),
    R: M + E @ R @ E.T,
    Ups: H.T @ Di @ H + Es.T @ Ups @ Es,
    **passive.definitions(),
    Dr: root(D),
    Dri: Dr.inv(),
}

#: Definitions that hold on serial chains only: on a tree Eψᵀ Υ Eψ has blocks between siblings, of which
#: Υ keeps the diagonal ones.
SERIAL_ONLY = frozenset({Ups})
