"""The letters of spatial operator algebra: each states its facts once, on its card.

Letters and types as in JPL 88-11 part I and the SOA slides. Bodies are numbered base first here, so φ,
which gathers towards the base, is block upper triangular where the papers, numbering tip first, have it
lower triangular; nothing else changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hinge.algebra.card import Ask, Card, Carries, Role
from hinge.algebra.expression import STANDARD, Expr, Leaf, Structure, identity, leaf, root
from hinge.algebra.space import (
    Active,
    Body,
    Constraint,
    Joint,
    Link,
    Mount,
    Node,
    One,
    Parameter,
    Passive,
    Placement,
    Resistance,
    Space,
    World,
)
from hinge.errors import ArgumentError

__all__ = [
    "A0", "ANSWERED", "DEFINITIONS", "E0", "SERIAL_ONLY", "V0", "A", "Ac", "Answered", "Articulated", "B",
    "Bc", "D", "Di", "Dik", "Dip", "Dk", "Dp", "Dr", "Dri", "E", "Es", "Esk", "Esp", "G", "Gk", "Gp", "H",
    "Ha", "Hp", "K", "Kk", "Kp", "M", "Mi", "Mik", "Mip", "Na", "Np", "P", "Pk", "Pp", "Q", "R", "Ups",
    "W", "a", "a_m", "a_n", "b", "b_m", "bounce", "bounds", "c_j", "closed", "d_c", "e_c", "f_ext",
    "friction", "g", "gamma", "ground", "held", "inertias", "kappa", "lam", "lam_0", "loaded", "off_law",
    "p_c", "pace", "passive", "phi", "placements", "psi", "psik", "psip", "qd", "qdd", "qdd_a", "r_c",
    "rotors", "rounds", "s_c", "tau", "tau_j", "tau_p", "v_n", "whole", "x", "x_c", "x_n",
]  # fmt: skip

DIAGONAL, STEP, RESOLVENT, DENSE = Structure.DIAGONAL, Structure.STEP, Structure.RESOLVENT, Structure.DENSE
FORCE, MOTION, NUMBER = Carries.FORCE, Carries.MOTION, Carries.NUMBER
SEES, GATHERS, HAS, MOVES, GAIN = Role.SEES, Role.GATHERS, Role.HAS, Role.MOVES, Role.GAIN
INERTIA, NODES, SPLIT = frozenset({Ask.INERTIA}), frozenset({Ask.NODES}), frozenset({Ask.SPLIT})
CLOSURES = frozenset({Ask.CLOSURES})


@dataclass(frozen=True)
class Answered:
    """Forces that answer a law, made of two expressions by name: `operator` · forces + `right`.

    `inputs` are where the search starts and the bounds of the law's sets; `measures` are told beside the
    answer: how far it is from the law, and the number of rounds.
    """

    forces: Leaf
    inputs: tuple[Leaf, Leaf]
    measures: tuple[Leaf, Leaf]
    operator: str
    right: str


def letter(name: str, to: Space, domain: Space, meaning: str, card: Card | None = None, **more: Any) -> Leaf:
    """Return a standard letter, which states its facts on a card; options as in `leaf`."""
    if card is None:
        raise ArgumentError(f"{name}: expected a Card with the facts about a standard letter, got none")
    STANDARD[name] = leaf(name, to, domain, meaning=meaning, card=card, **more)
    return STANDARD[name]


# fmt: off
# What a robot and its state give.
H = letter("H", Joint, Body, "hinge map, (2.16), (3.5)",
           Card(NUMBER, FORCE, SEES, hinged=True), structure=DIAGONAL)
M = letter("M", Body, Body, "link spatial inertias, (2.15), (3.6)",
           Card(FORCE, MOTION, HAS, positive=True, weight=60, asks=INERTIA),
           structure=DIAGONAL, self_adjoint=True)
E = letter("E", Body, Body, "shift of a force to the parent, φ(parent, child), (2.16)",
           Card(FORCE, FORCE, weight=20), structure=STEP)
E0 = letter("E0", World, Body, "shift of a force from root bodies to the world, (3.8)",
            Card(FORCE, FORCE, SEES), structure=DIAGONAL, unicode="E₀", latex="E_0")
B = letter("B", Body, Node, "shift of a force from nodes to their bodies, (3.7)",
           Card(FORCE, FORCE, HAS, asks=NODES), structure=DIAGONAL)

W = letter("W", Mount, Body, "shift of a force from bodies to the inner frames of their joints",
           Card(NUMBER, FORCE, SEES, asks=frozenset({Ask.MOUNTS}), hinged=True), structure=DIAGONAL)

# Propagation, and the articulated-body quantities of the whole system.
phi = letter("phi", Body, Body, "propagation towards the base, (3.4)",
             Card(FORCE, FORCE, GATHERS, weight=6), structure=RESOLVENT, unicode="φ", latex=r"\phi")
Q = letter("Q", Node, Node, "axes and origin in which nodes are expressed",
           Card(MOTION, MOTION, asks=NODES), structure=DIAGONAL, needs=(phi.T @ E0.T,))
R = letter("R", Body, Body, "composite-body inertia",
           Card(FORCE, MOTION, positive=True, weight=4), structure=DIAGONAL, self_adjoint=True)
Ups = letter("Ups", Body, Body, "operational-space compliance kernel",
             Card(MOTION, FORCE, positive=True), structure=DIAGONAL, self_adjoint=True,
             unicode="Υ", latex=r"\Upsilon")
# fmt: on


@dataclass(frozen=True)
class Articulated:
    """The letters of the articulated-body (Kalman filter) factorisation for one hinge map.

    With a `load`, symmetric blocks at the hinges, it is that of the mass matrix and the load: a load is to
    the filter what measurement noise is.
    """

    H: Leaf
    P: Leaf
    D: Leaf
    Di: Leaf
    G: Leaf
    K: Leaf
    Es: Leaf
    psi: Leaf
    Mi: Leaf
    load: Leaf | None = None

    @property
    def mass(self) -> Expr:
        """The mass matrix H φ M φᵀ Hᵀ, (3.20), and the load."""
        return self._loaded(self.H @ phi @ M @ phi.T @ self.H.T)

    def _loaded(self, e: Expr) -> Expr:
        return e if self.load is None else e + self.load

    def definitions(self) -> dict[Leaf, Expr]:
        """Return the definition of each letter, (4.4)–(4.8), (5.12)."""
        a, one = self, identity(Body)
        return {
            a.P: M + a.Es @ a.P @ E.T,
            a.D: a._loaded(a.H @ a.P @ a.H.T),
            a.Di: a.D.inv(),
            a.G: a.P @ a.H.T @ a.Di,
            a.K: E @ a.G,
            a.Es: E - a.K @ a.H,
            a.psi: (one - a.Es).inv(),
            a.Mi: a.mass.inv(),
        }


def _articulated(hinge: Leaf, mark: str, what: str, load: Leaf | None = None) -> Articulated:
    """Return the letters for a hinge map; `mark` distinguishes their names."""
    space, sub = hinge.range, f"_{mark}" if mark else ""
    low, positive = {"": "", "p": "ₚ", "k": "ₖ"}[mark], load is None

    def own(name: str, to: Space, domain: Space, meaning: str, card: Card, **more: Any) -> Leaf:
        names = {"unicode": name + low, "latex": name + sub, **more}
        return letter(name + mark, to, domain, meaning.format(what), card, **names)

    blocks = {"structure": DIAGONAL, "self_adjoint": True}
    # fmt: off
    return Articulated(
        hinge,
        own("P", Body, Body, "articulated-body inertia {}, (4.4)",
            Card(FORCE, MOTION, positive=positive, weight=2), **blocks),
        own("D", space, space, f"H P Hᵀ{'' if load is None else ' + κ'} {{}}, (a.1)",
            Card(NUMBER, NUMBER, positive=positive), **blocks),
        own("Di", space, space, "the inverse of D {}", Card(NUMBER, NUMBER, positive=positive), **blocks,
            unicode=f"D{low}⁻¹", latex=f"D{sub}^{{-1}}"),
        own("G", Body, space, "Kalman gain P Hᵀ D⁻¹ {}, (a.2)",
            Card(FORCE, NUMBER, weight=2), structure=DIAGONAL),
        own("K", Body, space, "shifted gain E G {}, (a.13)",
            Card(FORCE, NUMBER, GAIN, weight=3), structure=STEP),
        own("Es", Body, Body, "articulated shift E − K H {}",
            Card(FORCE, FORCE, weight=40), structure=STEP, unicode="Eψ" + low, latex=rf"E_{{\psi{mark}}}"),
        own("psi", Body, Body, "articulated propagation {}, (5.1)",
            Card(FORCE, FORCE, GATHERS, weight=5), structure=RESOLVENT,
            unicode="ψ" + low, latex=r"\psi" + sub),
        own("Mi", space, space, "inverse of the mass matrix {}, (4.16)",
            Card(NUMBER, NUMBER, positive=positive, weight=200), structure=DENSE, self_adjoint=True,
            unicode=f"𝓜{low}⁻¹", latex=rf"\mathcal{{M}}{sub}^{{-1}}"),
        load,
    )
    # fmt: on


whole = _articulated(H, "", "of all hinges")
P, D, Di, G, K = whole.P, whole.D, whole.Di, whole.G, whole.K
Es, psi, Mi = whole.Es, whole.psi, whole.Mi

# fmt: off
# The square root of D, one triangular block for each hinge: 𝓜 = L Lᵀ with L = (I + H φ K) D½.
Dr = letter("Dr", Joint, Joint, "lower triangular square root, D = D½ D½ᵀ",
            Card(NUMBER, NUMBER), structure=DIAGONAL, unicode="D½", latex="D^{1/2}")
Dri = letter("Dri", Joint, Joint, "the inverse of D½",
             Card(NUMBER, NUMBER), structure=DIAGONAL, unicode="D⁻½", latex="D^{-1/2}")

# Hybrid dynamics: the hinge map split into rows whose force and whose acceleration is given.
Hp = letter("Hp", Passive, Body, "passive rows of the hinge map",
            Card(NUMBER, FORCE, SEES, asks=SPLIT, hinged=True), structure=DIAGONAL, unicode="Hₚ", latex="H_p")
Ha = letter("Ha", Active, Body, "active rows of the hinge map",
            Card(NUMBER, FORCE, SEES, asks=SPLIT, hinged=True), structure=DIAGONAL, unicode="Hₐ", latex="H_a")
# fmt: on
passive = _articulated(Hp, "p", "of the passive hinges")
Pp, Dp, Dip, Gp, Kp = passive.P, passive.D, passive.Di, passive.G, passive.K
Esp, psip, Mip = passive.Es, passive.psi, passive.Mi
# fmt: off
Np = letter("Np", Passive, Joint, "choice of the passive coordinates",
            Card(NUMBER, NUMBER, asks=SPLIT), structure=DIAGONAL, unicode="Nₚ", latex="N_p")
Na = letter("Na", Active, Joint, "choice of the active coordinates",
            Card(NUMBER, NUMBER, asks=SPLIT), structure=DIAGONAL, unicode="Nₐ", latex="N_a")

# The mass matrix with symmetric blocks added at the hinges: stiffness, damping, regularisation.
kappa = letter("kappa", Joint, Joint, "symmetric blocks added to the mass matrix, one for each hinge",
               Card(NUMBER, NUMBER, given=True), structure=DIAGONAL, self_adjoint=True,
               unicode="κ", latex=r"\kappa")
# fmt: on
loaded = _articulated(H, "k", "with a load at the hinges", kappa)
Pk, Dk, Dik, Gk, Kk = loaded.P, loaded.D, loaded.Di, loaded.G, loaded.K
Esk, psik, Mik = loaded.Es, loaded.psi, loaded.Mi
# fmt: off

# Vectors.
tau = letter("tau", Joint, One, "hinge forces", Card(NUMBER, NUMBER), unicode="τ", latex=r"\tau")
qd = letter("qd", Joint, One, "hinge velocities", Card(NUMBER, NUMBER), unicode="q̇", latex=r"\dot q")
qdd = letter("qdd", Joint, One, "hinge accelerations", Card(NUMBER, NUMBER), unicode="q̈", latex=r"\ddot q")
x = letter("x", Joint, One, "any vector of hinge coordinates", Card(NUMBER, NUMBER))
tau_p = letter("tau_p", Passive, One, "given forces of passive hinges",
               Card(NUMBER, NUMBER), unicode="τₚ", latex=r"\tau_p")
qdd_a = letter("qdd_a", Active, One, "given accelerations of active hinges",
               Card(NUMBER, NUMBER), unicode="q̈ₐ", latex=r"\ddot q_a")
held = letter("held", Joint, One, "1 where the acceleration is given, 0 where the force is",
              Card(NUMBER, NUMBER), unicode="σ", latex=r"\sigma")
g = letter("g", World, One, "acceleration of the world that stands for gravity, (3.21)", Card(MOTION, NUMBER))
f_ext = letter("f_ext", Node, One, "forces that act on the nodes",
               Card(FORCE, NUMBER), unicode="fₓ", latex="f_{ext}")
x_n = letter("x_n", Node, One, "given velocities of the nodes",
             Card(MOTION, NUMBER), unicode="xₙ", latex="x_n")
# The bias terms, each in terms of what it is at rest: a force or an acceleration that no origin changes.
_V = phi.T @ H.T @ qd
_force_at_rest, _node_at_rest = leaf("force_at_rest", Body, One), leaf("acceleration_at_rest", Node, One)
a = letter("a", Body, One, "bias accelerations, (2.19), (2.32)",
           Card(MOTION, NUMBER, MOVES, hinged=True), needs=(E.T @ _V, qd))
b = letter("b", Body, One, "bias forces, (2.23)",
           Card(FORCE, NUMBER, HAS, asks=INERTIA, at_rest=_force_at_rest - M @ phi.T @ a), needs=(_V,))
tau_j = letter("tau_j", Joint, One, "forces of the joints' own springs, dampers and friction",
               Card(NUMBER, NUMBER, asks=frozenset({Ask.OWN_FORCES}), hinged=True), needs=(qd,),
               unicode="τⱼ", latex=r"\tau_j")
c_j = letter("c_j", Joint, One, "turning of hinge velocities whose axes bodies carry: their rates less these "
             "leave velocities constant", Card(NUMBER, NUMBER), needs=(qd,), unicode="cⱼ", latex="c_j")
a_n = letter("a_n", Node, One, "bias accelerations from body to node, a(0) of (2.27)",
             Card(MOTION, NUMBER, asks=NODES, at_rest=_node_at_rest - B.T @ phi.T @ a), needs=(_V,),
             unicode="aₙ", latex="a_n")
v_n = letter("v_n", Node, One, "ω × v of the nodes: classical less spatial acceleration",
             Card(MOTION, NUMBER, asks=NODES), needs=(B.T @ _V,), unicode="vₙ", latex="v_n")

# Closures: joints between two bodies that the tree does not know. Values at the world are functions of both
# ends.
closed = letter("closed", Constraint, One, "1 in the rows of closures that hold, 0 in those of open ones",
                Card(NUMBER, NUMBER), unicode="σᶜ", latex=r"\sigma_c")
x_c = letter("x_c", Constraint, One, "any vector with a number for each row of the closures",
             Card(NUMBER, NUMBER), unicode="xᶜ", latex="x_c")
Bc = letter("Bc", Body, Link, "shift of a force from the ends of closures to their bodies, (3.7)",
            Card(FORCE, FORCE, HAS, asks=CLOSURES), structure=DIAGONAL, unicode="Bᶜ", latex="B_c")
_ends, _V_ends = Bc.T @ phi.T @ E0.T, Bc.T @ _V
_end_at_rest = leaf("end_at_rest", Link, One)
Ac = letter("Ac", Constraint, Link, "velocities across closures that these prevent, A of (2.1) of part II",
            Card(NUMBER, MOTION, asks=CLOSURES), structure=DENSE, needs=(_ends, closed),
            unicode="Aᶜ", latex="A_c")
s_c = letter("s_c", Link, One, "bias of the spatial accelerations of the ends of closures",
             Card(MOTION, NUMBER, asks=CLOSURES, at_rest=_end_at_rest - Bc.T @ phi.T @ a), needs=(_V,),
             unicode="sᶜ", latex="s_c")
gamma = letter("gamma", Constraint, One, "rate of A at the present velocities",
               Card(NUMBER, NUMBER, asks=CLOSURES), needs=(_ends, _V_ends, closed),
               unicode="γ", latex=r"\gamma")
e_c = letter("e_c", Constraint, One, "errors of closures: what keeps them from being closed",
             Card(NUMBER, NUMBER, asks=CLOSURES), needs=(_ends, closed), unicode="eᶜ", latex="e_c")

# Contacts: rows that push and do not pull. λ is the answer to a law, made of two other expressions.
lam = letter("lam", Constraint, One, "forces that closures and contacts answer with, within the law of each",
             Card(NUMBER, NUMBER, asks=CLOSURES), unicode="λ", latex=r"\lambda")
lam_0 = letter("lam_0", Constraint, One, "forces from which the search for the answer starts",
               Card(NUMBER, NUMBER), unicode="λ₀", latex=r"\lambda_0")
bounds = letter("bounds", Constraint, One, "coefficients of friction, and bounds of forces",
                Card(NUMBER, NUMBER), unicode="μᶜ", latex=r"\mu_c")
bounce = letter("bounce", Constraint, One, "coefficients of restitution",
                Card(NUMBER, NUMBER), unicode="εᶜ", latex=r"\epsilon_c")
ground = letter("ground", Constraint, One, "how far surfaces are raised along their normals",
                Card(NUMBER, NUMBER), unicode="hᶜ", latex="h_c")
pace = letter("pace", Constraint, One, "steps of time in a second",
              Card(NUMBER, NUMBER), unicode="νᶜ", latex=r"\nu_c")
off_law = letter("off_law", Constraint, One, "how far each row is from its law",
                 Card(NUMBER, NUMBER), unicode="ρᶜ", latex=r"\rho_c")
rounds = letter("rounds", Constraint, One, "rounds in which the answer was found",
                Card(NUMBER, NUMBER), unicode="nᶜ", latex="n_c")
d_c = letter("d_c", Link, One, "distances of joints from the nearer of their limits",
             Card(MOTION, NUMBER, asks=CLOSURES), needs=(phi.T @ E0.T,), unicode="dᶜ", latex="d_c")
r_c = letter("r_c", Constraint, One, "accelerations across contacts and closures that a step must not leave",
             Card(NUMBER, NUMBER, asks=CLOSURES), needs=(_ends, _V_ends, closed, bounce, pace, d_c, ground),
             unicode="rᶜ", latex="r_c")
p_c = letter("p_c", Constraint, One,
             "half the accelerations across closures and of closing gaps on the path of a step",
             Card(NUMBER, NUMBER, asks=CLOSURES),
             needs=(_ends, _V_ends, Bc.T @ phi.T @ (a - H.T @ c_j) + s_c, closed), unicode="pᶜ", latex="p_c")
#: What λ answers: the law of Ω λ + w, with Ω and w expressions of these names beside it.
ANSWERED = Answered(lam, (lam_0, bounds), (off_law, rounds), "compliance", "wanted")

# A base that moves in a given way: its velocity and acceleration, and the bias terms with them.
V0 = letter("V0", World, One, "velocity of a base that moves in a given way",
            Card(MOTION, NUMBER), unicode="V₀", latex="V_0")
A0 = letter("A0", World, One, "acceleration of a base that moves in a given way, less gravity",
            Card(MOTION, NUMBER), unicode="α₀", latex=r"\alpha_0")
_V_moving = phi.T @ (H.T @ qd + E0.T @ V0)
a_m = letter("a_m", Body, One, "bias accelerations on a base that moves, (2.19), (2.32)",
             Card(MOTION, NUMBER, MOVES, hinged=True), needs=(E.T @ _V_moving + E0.T @ V0, qd),
             unicode="aₘ", latex="a_m")
b_m = letter("b_m", Body, One, "bias forces on a base that moves, (2.23)",
             Card(FORCE, NUMBER, HAS, asks=INERTIA, at_rest=_force_at_rest - M @ phi.T @ a_m),
             needs=(_V_moving,), unicode="bₘ", latex="b_m")

# Ten numbers for each body: as an operator, what forces they make; as a vector, M and b for a call.
A = letter("A", Body, Parameter,
           "forces that move the bodies for each of their inertial parameters: M α + b = 𝒜 π",
           Card(FORCE, NUMBER, HAS, asks=frozenset({Ask.REGRESSOR})), structure=DIAGONAL,
           needs=(phi.T @ (H.T @ qdd + a + E0.T @ g), _V), unicode="𝒜", latex=r"\mathcal{A}")
inertias = letter("inertias", Parameter, One, "inertias of the bodies",
                  Card(NUMBER, NUMBER), unicode="π", latex=r"\pi")
# Other numbers of the model that a call can give.
placements = letter("placements", Placement, One, "where joints sit on their parents", Card(NUMBER, NUMBER))
rotors = letter("rotors", Joint, One, "reflected inertias of the rotors", Card(NUMBER, NUMBER))
friction = letter("friction", Resistance, One, "damping, friction and stiffness of the joints",
                  Card(NUMBER, NUMBER))
# fmt: on

#: What the derived letters are defined by; E, H, M and the vectors are given.
DEFINITIONS: dict[Leaf, Expr] = {
    phi: (identity(Body) - E).inv(),
    **whole.definitions(),
    R: M + E @ R @ E.T,
    Ups: H.T @ Di @ H + Es.T @ Ups @ Es,
    **passive.definitions(),
    **loaded.definitions(),
    Dr: root(D),
    Dri: Dr.inv(),
}

#: Definitions that hold on serial chains only: on a tree Eψᵀ Υ Eψ has blocks between siblings, of which
#: Υ keeps the diagonal ones.
SERIAL_ONLY = frozenset({Ups})
