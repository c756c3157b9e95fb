"""Closed chains: part II of JPL 88-11, the closed chain of Rodriguez, Kreutz & Jain, and what closures obey.

Ω is no letter here: Ω⁻¹ is the inverse of an expression, so a proof says that Ω⁻¹ is taken to exist. What
defines it overlaps with no left side of the open chain's tables, which serve as they are. An identity that
needs more than definitions has these facts in `given`. In part II f(0) is the force of the tips on the
object; λ of closures acts on their outer ends, f(0) = −λ.

The sources have slips, which are mended here; the tests refute what is printed. V(C) above section 3 lacks
the transpose of A in (2.8a). (4.9h) and (6.11j) have Δα(0) for α(0). (5.13) has an inverse for an adjoint.
(6.4b) has φ for ψ. (6.4f) and (6.11g) lack a minus; (6.5a) and (6.11g) lack H. (6.9b) has Hᵀ for its last
H. (6.18e) lacks an adjoint. (b.4a) has T for Jᵀ. (b.10) and (b.11) have + J 𝓜⁻¹ C for − J 𝓜⁻¹ C. (b.14) has
θ̇ for θ̈. In Rodriguez, Kreutz & Jain the signs of (5.7) and (5.14) do not fit each other: here arm 1
carries −f(0), arm 2 carries f(0).
"""

from __future__ import annotations

from hinge.algebra import (
    Ac,
    B,
    Bc,
    Body,
    Constraint,
    Di,
    E,
    Es,
    Expr,
    H,
    Joint,
    K,
    Leaf,
    Link,
    M,
    Node,
    One,
    Space,
    Structure,
    Ups,
    a,
    a_n,
    b,
    gamma,
    identity,
    leaf,
    phi,
    psi,
    qd,
    s_c,
    tau,
    whole,
    x_c,
    zero,
)
from hinge.algebra.appendix import L, Psi, S
from hinge.rules.completion import Axiom
from hinge.rules.identities.identity import NamedIdentity, bias_force, jacobian, joint, whiten
from hinge.rules.theory import equation


def _jpl(where: str, name: str, left: Expr, right: Expr, given: tuple[Axiom, ...] = ()) -> NamedIdentity:
    return NamedIdentity(name, left, right, f"JPL 88-11 part II {where}", given)


def _rkj(where: str, name: str, left: Expr, right: Expr, given: tuple[Axiom, ...] = ()) -> NamedIdentity:
    return NamedIdentity(name, left, right, f"Rodriguez, Kreutz & Jain {where}", given)


def _book(where: str, name: str, left: Expr, right: Expr, given: tuple[Axiom, ...] = ()) -> NamedIdentity:
    return NamedIdentity(name, left, right, f"Featherstone 1987 {where}", given)


def _known(source: str, name: str, left: Expr, right: Expr, given: tuple[Axiom, ...] = ()) -> NamedIdentity:
    return NamedIdentity(name, left, right, source, given)


def _dense(name: str, to: Space, domain: Space, unicode: str, *, self_adjoint: bool = False) -> Leaf:
    return leaf(name, to, domain, Structure.DENSE, self_adjoint=self_adjoint, unicode=unicode)


# The object that the arms hold, and grasps that are not rigid. The nodes are the tips of the arms.
Object = Space("Object", "a 6-vector at a point of an object that is held")
Contact = Space("Contact", "degrees of freedom that grasps leave")
Held = Space("Held", "velocities across grasps that these prevent")
A_o = _dense("A_o", Node, Object, "A")
M_o = _dense("M_o", Object, Object, "M(C)", self_adjoint=True)
b_o = leaf("b_o", Object, One, unicode="b(C)")
a_o = leaf("a_o", Node, One, unicode="a(C)")
h = _dense("h", Contact, Node, "H(0)")
#: Ḣᵀ(0) W(0): what the rate of the axes of the grasps adds to accelerations.
w = leaf("w", Node, One)
R_h = _dense("R_h", Node, Held, "Rₕ")

_mass, _Mi, _C = whole.mass, whole.mass.inv(), bias_force(H)
_w, _load = joint - H @ Psi @ L, M @ phi.T @ a + b
_J, _tips = jacobian(B), identity(Node)
#: J̇ θ̇ of (5.1d).
_rate = B.T @ phi.T @ a + a_n
_Moi = M_o.inv()
_object = A_o @ _Moi @ A_o.T
#: Ω of (3.1), T′ and a′(C) of (2.15).
omega = _J @ _Mi @ _J.T + _object
_Oi = omega.inv()
_free = tau - _C
_given_a = a_o - A_o @ _Moi @ b_o - _rate
#: (3.6a) and (3.6b).
qdd_3_6 = (_Mi - _Mi @ _J.T @ _Oi @ _J @ _Mi) @ _free + _Mi @ _J.T @ _Oi @ _given_a
_f = _Oi @ _J @ _Mi @ _free - _Oi @ _given_a
_alpha_object = _Moi @ (A_o.T @ _f - b_o)

# Sections 2 to 4: the solution by elimination.
_X11, _X12, _X21 = _Mi - _Mi @ _J.T @ _Oi @ _J @ _Mi, _Mi @ _J.T @ _Oi, _Oi @ _J @ _Mi
_qdd_f = _Mi @ _free
_alpha_f = _J @ _qdd_f + _rate
_delta = -(_Mi @ _J.T @ _f)
_SOLUTION = (
    _jpl("(2.10a)", "arms that hold an object", _mass @ qdd_3_6 + _C + _J.T @ _f, tau),
    _jpl("(2.10b)", "tips move with the object", _J @ qdd_3_6 + _rate, A_o @ _alpha_object + a_o),
    _jpl("(2.10c)", "the object moves by the tips' forces", M_o @ _alpha_object + b_o, A_o.T @ _f),
    _jpl("(2.12)", "tip accelerations by tip forces",
         _J @ qdd_3_6 + _rate, _object @ _f - A_o @ _Moi @ b_o + a_o),
    _jpl("(2.13b)", "tips without the object's acceleration", _J @ qdd_3_6 - _object @ _f, _given_a),
    _jpl("(3.2)", "tip forces after one elimination", omega @ _f, _J @ _Mi @ _free - _given_a),
    _jpl("(3.3)", "joint accelerations after two eliminations", _mass @ qdd_3_6,
         (joint - _J.T @ _Oi @ _J @ _Mi) @ _free + _J.T @ _Oi @ _given_a),
    _jpl("(3.5a)", "block inverse, joints by joints", _mass @ _X11 + _J.T @ _X21, joint),
    _jpl("(3.5a)", "block inverse, joints by tips", _mass @ _X12 - _J.T @ _Oi, zero(Joint, Node)),
    _jpl("(3.5a)", "block inverse, tips by joints", _J @ _X11 - _object @ _X21, zero(Node, Joint)),
    _jpl("(3.5a)", "block inverse, tips by tips", _J @ _X12 + _object @ _Oi, _tips),
    _jpl("(3.5b)", "first block between inverses", _Mi @ (_mass - _J.T @ _Oi @ _J) @ _Mi, _X11),
    _jpl("(3.5b)", "last block between inverses", _Oi @ (-omega) @ _Oi, -_Oi),
    _jpl("(4.3)", "correction forces", _mass @ _delta, -(_J.T @ _f)),
    _jpl("(4.6)", "correction of tip accelerations",
         _J @ _delta, _object @ _f - A_o @ _Moi @ b_o + a_o - _alpha_f),
    _jpl("(4.8)", "tip forces from free accelerations", omega @ _f, _alpha_f + A_o @ _Moi @ b_o - a_o),
    _jpl("(4.9g)", "free accelerations and their correction", qdd_3_6, _qdd_f + _delta),
    _jpl("(4.9h)", "free tip accelerations and their correction",
         _J @ qdd_3_6 + _rate, _alpha_f + _J @ _delta),
    _jpl("(5.5c)", "arms without bias", _mass @ qdd_3_6 + H @ phi @ B @ _f, _free),
    _jpl("(5.5d)", "tips without bias", B.T @ phi.T @ H.T @ qdd_3_6 - _object @ _f, _given_a),
)  # fmt: skip

# Section 6: the recursive algorithms.
_Y = H @ psi @ B
_gram = B.T @ psi.T @ H.T @ Di @ H @ psi @ B
_Oi6 = (_gram + _object).inv()
_z = psi @ B @ _f
_nu = Di @ H @ _z
_lambda = psi.T @ H.T @ _nu
_f1 = _Oi6 @ (_J @ _w.T @ Di @ _w @ _free + _rate + A_o @ _Moi @ b_o - a_o)
_f2 = _Oi6 @ (B.T @ psi.T @ H.T @ Di @ _w @ _free - _given_a)
_middle = Di - Di @ _Y @ _Oi6 @ _Y.T @ Di
#: (6.11), (6.18) and (6.22): the accelerations of the joints by the three algorithms.
rccfd1 = _w.T @ Di @ _w @ _free - _w.T @ Di @ H @ psi @ B @ _f1
rccfd2 = _w.T @ Di @ (_free - H @ psi @ (S @ L @ _free + B @ _f2))
rccfd3 = _w.T @ _middle @ _w @ _free + _w.T @ Di @ H @ psi @ B @ _Oi6 @ _given_a
_RECURSIONS = (
    _jpl("(5.13)", "free accelerations in one filter",
         _qdd_f, _w.T @ Di @ (tau - H @ psi @ (S @ L @ tau + _load))),
    _jpl("(6.2)", "correction by the factors", _delta, -(_w.T @ Di @ _w @ H @ phi @ B @ _f)),
    _jpl("(6.3)", "correction by ψ", _delta, -(_w.T @ Di @ H @ psi @ B @ _f)),
    _jpl("(6.4b)", "correction, filter by steps", _z, Es @ _z + B @ _f),
    _jpl("(6.4e)", "correction, smoother by steps", _lambda, Es.T @ _lambda + H.T @ _nu),
    _jpl("(6.4f)", "correction by its sweeps", _delta, -(_nu - L.T @ S.T @ _lambda)),
    _jpl("(6.5b)", "correction of tip accelerations by ψ", _J @ _delta, -(_gram @ _f)),
    _jpl("(6.6)", "compliance of the tips by the factors", _J @ _Mi @ _J.T,
         B.T @ phi.T @ H.T @ _w.T @ Di @ _w @ H @ phi @ B),
    _jpl("(6.7)", "compliance of the tips by ψ", _J @ _Mi @ _J.T, _gram),
    _jpl("(6.11f)", "tip forces of RCCFD1", _f1, _f),
    _jpl("(6.11)", "RCCFD1", qdd_3_6, rccfd1),
    _jpl("(6.12)", "tip accelerations by joint forces", _J @ _Mi, B.T @ psi.T @ H.T @ Di @ _w),
    _jpl("(6.13)", "tip forces of RCCFD2", _f, _f2),
    _jpl("(6.14)", "joint accelerations from tip forces", qdd_3_6, _Mi @ (_free - _J.T @ _f)),
    _jpl("(6.15)", "bias-free forces filtered once", _Mi @ _free,
         _w.T @ Di @ (_free - H @ psi @ S @ L @ _free)),
    _jpl("(6.16)", "accelerations by tip forces", _Mi @ _J.T @ _f, _w.T @ Di @ H @ psi @ B @ _f),
    _jpl("(6.17)", "tip forces and bias-free forces in one filter", qdd_3_6,
         _w.T @ Di @ (_free - H @ psi @ (S @ L @ _free + B @ _f))),
    _jpl("(6.18)", "RCCFD2", qdd_3_6, rccfd2),
    _jpl("(6.20)", "accelerations by the bias of the object", _Mi @ _J.T @ _Oi @ _given_a,
         _w.T @ Di @ H @ psi @ B @ _Oi6 @ _given_a),
    _jpl("(6.21)", "closed inverse between the factors", _X11, _w.T @ _middle @ _w),
    _jpl("(6.22e)", "tip forces of RCCFD3", _f,
         _Oi6 @ B.T @ psi.T @ H.T @ Di @ _w @ _free - _Oi6 @ _given_a),
    _jpl("(6.22)", "RCCFD3", qdd_3_6, rccfd3),
    _jpl("section 6", "RCCFD1 is RCCFD2", rccfd1, rccfd2),
    _jpl("section 6", "RCCFD1 is RCCFD3", rccfd1, rccfd3),
    _jpl("section 6", "RCCFD2 is RCCFD3", rccfd2, rccfd3),
)  # fmt: skip

# Appendix B: grasps that leave degrees of freedom.
_g1 = A_o @ _Moi @ b_o + _rate + w - a_o - _J @ _Mi @ _C
_grasp = (h @ _Oi @ h.T).inv()
_Wd = -(_grasp @ (h @ _Oi @ _J @ _Mi @ tau + h @ _Oi @ _g1))
_fh = _Oi @ (_J @ _Mi @ tau + h.T @ _Wd + _g1)
#: Π of (b.7b), and q̈ of (b.9e).
Pi = _Oi - _Oi @ h.T @ _grasp @ h @ _Oi
qdd_b_9 = (_Mi - _Mi @ _J.T @ Pi @ _J @ _Mi) @ tau - _Mi @ _J.T @ Pi @ _g1 - _Mi @ _C
_g2 = h @ _Oi @ ((_object @ Pi - _tips) @ _g1 - _J @ _Mi @ _C)
_g3 = -(_J.T @ _Oi @ _g1) - _C
_TYPES = "JPL 88-11 part II, contact types of appendix A"
#: The rows of h, which a grasp leaves, and the columns of Rₕ, which it prevents: an orthonormal basis.
COMPLEMENT: tuple[Axiom, ...] = (
    *equation("Rₕ and H(0) are complete", R_h @ R_h.T + h.T @ h, _tips, _TYPES),
    *equation("a grasp leaves what it does not prevent", h @ R_h, zero(Contact, Held), _TYPES),
    *equation("unit axes that a grasp leaves", h @ h.T, identity(Contact), _TYPES),
    *equation("unit axes that a grasp prevents", R_h.T @ R_h, identity(Held), _TYPES),
)
_Jr = R_h.T @ _J
_Or = (R_h.T @ omega @ R_h).inv()
_bias_r = R_h.T @ (A_o @ _Moi @ b_o + _rate + w - a_o)
_GRASPS = (
    _jpl("(b.1b)", "a loosely held object moves by the tips' forces",
         M_o @ (_Moi @ (A_o.T @ _fh - b_o)) + b_o, A_o.T @ _fh),
    _jpl("(b.1c)", "no force along what a grasp leaves", h @ _fh, zero(Contact, One)),
    _jpl("(b.1f)", "accelerations across a grasp", A_o @ (_Moi @ (A_o.T @ _fh - b_o)) + a_o,
         _J @ qdd_b_9 + _rate + h.T @ _Wd + w),
    _jpl("(b.4b)", "grasp forces and accelerations", omega @ _fh, _J @ _Mi @ tau + h.T @ _Wd + _g1),
    _jpl("(b.5a)", "accelerations that a grasp leaves", h @ _Oi @ h.T @ _Wd,
         -(h @ _Oi @ _J @ _Mi @ tau) - h @ _Oi @ _g1),
    _jpl("(b.6c)", "arms with loose grasps", _mass @ qdd_b_9 + _C + _J.T @ _fh, tau),
    _jpl("(b.6c), (b.9e)", "accelerations with loose grasps", _Mi @ (tau - _J.T @ _fh - _C), qdd_b_9),
    _jpl("(b.7a)", "grasp forces by Π", _fh, Pi @ (_J @ _Mi @ tau + _g1)),
    _jpl("(b.7b)", "Π takes no force along what a grasp leaves", Pi @ h.T, zero(Node, Contact)),
    _jpl("(b.7b)", "Ω is an inverse of Π where Π leads", Pi @ omega @ Pi, Pi),
    _jpl("(b.10)", "accelerations of grasps and joints", h @ _Oi @ h.T @ _Wd + h @ _Oi @ _J @ qdd_b_9,
         h @ _Oi @ _object @ Pi @ _J @ _Mi @ tau + _g2),
    _jpl("(b.10), proof", "grasps and joints before they are filtered", h.T @ _Wd + _J @ qdd_b_9,
         _object @ _fh - _g1 - _J @ _Mi @ _C),
    _jpl("(b.11)", "bias of the grasps", _g2,
         h @ _Oi @ _object @ Pi @ _g1 - h @ _Oi @ (_g1 + _J @ _Mi @ _C)),
    _jpl("(b.12), (b.13)", "joints with the accelerations of grasps",
         _mass @ qdd_b_9 + _J.T @ _Oi @ h.T @ _Wd, (joint - _J.T @ _Oi @ _J @ _Mi) @ tau + _g3),
    _jpl("(b.7b)", "Π by what a grasp prevents", Pi, R_h @ _Or @ R_h.T, COMPLEMENT),
    _jpl("(b.9e)", "a loose grasp is a rigid one with fewer rows", qdd_b_9,
         _qdd_f - _Mi @ _Jr.T @ _Or @ (_Jr @ _qdd_f + _bias_r), COMPLEMENT),
    _jpl("(b.7a)", "grasp forces by what a grasp prevents", _fh,
         R_h @ _Or @ (_Jr @ _qdd_f + _bias_r), COMPLEMENT),
)  # fmt: skip

# Rodriguez, Kreutz & Jain, application 3: a loop cut into two arms.
Tip = Space("Tip", "a 6-vector at the point where a loop is cut")
B1, B2 = _dense("B1", Body, Tip, "B₁"), _dense("B2", Body, Tip, "B₂")
a1, a2 = leaf("a1", Tip, One, unicode="a₁(0)"), leaf("a2", Tip, One, unicode="a₂(0)")
_J1, _J2 = jacobian(B1), jacobian(B2)
_kernel = psi.T @ H.T @ Di @ H @ psi
#: Two arms that share no body do not feel each other's tip forces.
APART: tuple[Axiom, ...] = equation(
    "the arms share no body", B1.T @ _kernel @ B2, zero(Tip, Tip), "Rodriguez, Kreutz & Jain figure 1b"
)
_L1i, _L2i = _J1 @ _Mi @ _J1.T, _J2 @ _Mi @ _J2.T
_tip1 = _J1 @ _qdd_f + B1.T @ phi.T @ a + a1
_tip2 = _J2 @ _qdd_f + B2.T @ phi.T @ a + a2
_Lc = (_L1i + _L2i).inv()
_cut = _Lc @ (_tip1 - _tip2)
_loop_qdd = _qdd_f - _Mi @ (_J1 - _J2).T @ _cut
_LOOP = (
    _rkj("(5.6b)", "tips of a cut loop stay together",
         _J1 @ _loop_qdd + B1.T @ phi.T @ a + a1, _J2 @ _loop_qdd + B2.T @ phi.T @ a + a2, APART),
    _rkj("(5.7)", "two arms with the force of the cut",
         _mass @ _loop_qdd + _C, tau - _J1.T @ _cut + _J2.T @ _cut),
    _rkj("(5.14)", "tip accelerations by the force of the cut", _tip1 - _tip2, (_L1i + _L2i) @ _cut),
    _rkj("(5.15)", "compliance of each arm", _L1i + _L2i, B1.T @ _kernel @ B1 + B2.T @ _kernel @ B2),
    _rkj("(5.17)", "composite inertia of a loop",
         ((_J1 - _J2) @ _Mi @ (_J1 - _J2).T).inv(), _Lc, APART),
    _rkj("(5.17)", "compliance of a loop whose arms share bodies", (_J1 - _J2) @ _Mi @ (_J1 - _J2).T,
         (B1 - B2).T @ _kernel @ (B1 - B2)),
)  # fmt: skip

# Closures: joints that the tree does not know, between two ends each.
_rows = identity(Constraint)
_wc = whiten(whole)
#: Jᶜ, Ωᶜ, and Y with Ωᶜ = Yᵀ D⁻¹ Y.
Jc = Ac @ Bc.T @ phi.T @ H.T
_end = Bc.T @ phi.T @ H.T
omega_c = Jc @ _Mi @ Jc.T
_Oc = omega_c.inv()
_Yc = H @ psi @ Bc @ Ac.T
_bias_c = Ac @ (Bc.T @ phi.T @ a + s_c) + gamma
_lambda_c = -(_Oc @ (Jc @ _qdd_f + _bias_c))
_qdd_c = _qdd_f + _Mi @ Jc.T @ _lambda_c
#: 𝓜ᶜ⁻¹ and the projection 𝒫.
Mci = _Mi - _Mi @ Jc.T @ _Oc @ Jc @ _Mi
projection = joint - Jc.T @ _Oc @ Jc @ _Mi
_least = joint - Jc.T @ (Jc @ Jc.T).inv() @ Jc
_settled = qd - _Mi @ Jc.T @ _Oc @ Jc @ qd
_AGHILI = "Aghili 2005, projected dynamics"
_KHATIB = "Khatib 1987, dynamically consistent inverse"
_CLOSURES = (
    _jpl("(6.7)", "Ω of closures by ψ", omega_c, Ac @ Bc.T @ _kernel @ Bc @ Ac.T),
    _jpl("(6.7)", "Ω of closures as a sum over bodies", omega_c, _Yc.T @ Di @ _Yc),
    _jpl("(6.12)", "closures' accelerations by joint forces", Jc @ _Mi, _Yc.T @ Di @ _wc),
    _jpl("(6.16)", "accelerations by closures' forces", _Mi @ Jc.T @ x_c, _wc.T @ Di @ _Yc @ x_c),
    _jpl("(3.6a)", "closures hold", Jc @ _qdd_c + _bias_c, zero(Constraint, One)),
    _jpl("(2.13a)", "closed equations of motion", _mass @ _qdd_c + _C, tau + Jc.T @ _lambda_c),
    _jpl("(3.6a)", "closed accelerations at once", _qdd_c, Mci @ _free - _Mi @ Jc.T @ _Oc @ _bias_c),
    _jpl("(6.17)", "closures in one filter", _qdd_c,
         _wc.T @ Di @ (_free - H @ psi @ (K @ _free - Bc @ Ac.T @ _lambda_c))),
    _jpl("(6.17)", "closures and bias in one filter", _qdd_c,
         _wc.T @ Di @ (tau - H @ psi @ (K @ tau + _load - Bc @ Ac.T @ _lambda_c))),
    _jpl("(3.5a)", "inverse of a closed mass matrix by Y", Mci,
         _wc.T @ (Di - Di @ _Yc @ _Oc @ _Yc.T @ Di) @ _wc),
    _jpl("(3.5a)", "a closed inverse moves no closure", Jc @ Mci, zero(Constraint, Joint)),
    _jpl("(3.5a)", "a closed inverse is an inverse where it leads", Mci @ _mass @ Mci, Mci),
    _known(_AGHILI, "𝒫 is a projection", projection @ projection, projection),
    _known(_AGHILI, "𝒫 takes no closures' forces", projection @ Jc.T, zero(Joint, Constraint)),
    _known(_AGHILI, "𝒫 and the mass matrix", projection @ _mass, _mass @ projection.T),
    _known(_AGHILI, "a closed inverse by 𝒫", _Mi @ projection, Mci),
    _known(_AGHILI, "a closed inverse by 𝒫 on both sides", projection.T @ _Mi @ projection, Mci),
    _known(_AGHILI, "projected dynamics", projection @ _mass @ _qdd_c,
           projection @ _free),
    _known(_AGHILI, "constraint inertia and the closed inverse",
           (_least @ _mass + (joint - _least)) @ Mci, _least),
    _known(_KHATIB, "joint forces that move no closure", Jc @ _Mi @ projection @ tau, zero(Constraint, One)),
    _known(_KHATIB, "consistent inverse of closures", Jc @ (_Mi @ Jc.T @ _Oc), _rows),
    _known("Featherstone 1987 section 9.9", "settled velocities fit", Jc @ _settled, zero(Constraint, One)),
    _known("Featherstone 1987 section 9.9", "settled velocities stay",
           _settled - _Mi @ Jc.T @ _Oc @ Jc @ _settled, _settled),
    _known("Carnot's theorem", "energy that settling takes",
           qd.T @ _mass @ qd - _settled.T @ _mass @ _settled,
           (qd - _settled).T @ _mass @ (qd - _settled)),
    _known("Carnot's theorem", "energy that settling takes, by Ω",
           qd.T @ _mass @ qd - _settled.T @ _mass @ _settled, qd.T @ Jc.T @ _Oc @ Jc @ qd),
)  # fmt: skip

# Cross-inertias: Ω by ends, where A = Aₛ − Aₚ takes the outer and the inner ones.
A_s, A_p = _dense("A_s", Constraint, Link, "Aₛ"), _dense("A_p", Constraint, Link, "Aₚ")
ENDS: tuple[Axiom, ...] = equation("closures are between two ends", Ac, A_s - A_p, "Featherstone 1987 (9.24)")
_cross = _end @ _Mi @ _end.T
_CROSS = (
    _book("section 9.5.3", "inverse cross-inertias by ψ", _cross, Bc.T @ _kernel @ Bc),
    _book("(9.27)", "Ω by pairs of ends", omega_c,
          A_s @ _cross @ A_s.T - A_p @ _cross @ A_s.T - A_s @ _cross @ A_p.T + A_p @ _cross @ A_p.T, ENDS),
    _book("(9.18)", "accelerations of the ends by closures' forces",
          _end @ _Mi @ Jc.T @ x_c, Bc.T @ _kernel @ Bc @ Ac.T @ x_c),
)  # fmt: skip

# Closures with contacts, closures that are switched, and solves with a proximal term.
Touch = Space("Touch", "rows of contacts")
A_t = _dense("A_t", Touch, Node, "Aₜ")
N = _dense("N", Constraint, Constraint, "N", self_adjoint=True)
Sw = _dense("Sw", Constraint, Constraint, "Σ", self_adjoint=True)
_Jt = A_t @ B.T @ phi.T @ H.T
_Yt = H @ psi @ B @ A_t.T
_Wtt, _Wct = _Jt @ _Mi @ _Jt.T, Jc @ _Mi @ _Jt.T
_schur = _Jt @ Mci @ _Jt.T
_both = Mci - Mci @ _Jt.T @ _schur.inv() @ _Jt @ Mci
_prox = (omega_c + N).inv()
#: Rows that hold are chosen by Σ, a projection: ones and zeros on a diagonal.
CHOICE: tuple[Axiom, ...] = equation("Σ chooses rows", Sw @ Sw, Sw, "by choice")
_Os = (Sw @ omega_c @ Sw + _rows - Sw).inv()
_CARPENTIER = "Carpentier, Budhiraja & Mansard 2021, proximal steps"
_SCHUR = "Schur complement"
_TOGETHER = (
    _known(_SCHUR, "contacts of a closed robot", _schur, _Wtt - _Wct.T @ _Oc @ _Wct),
    _known(_SCHUR, "contacts of a closed robot by columns", _schur,
           _Yt.T @ Di @ _Yt - _Yt.T @ Di @ _Yc @ _Oc @ _Yc.T @ Di @ _Yt),
    _known(_SCHUR, "closures and contacts: closures are kept", Jc @ _both, zero(Constraint, Joint)),
    _known(_SCHUR, "closures and contacts: contacts are kept", _Jt @ _both, zero(Touch, Joint)),
    _known(_SCHUR, "closures and contacts: joints move as closures allow", projection.T @ _both, _both),
    _known(_CARPENTIER, "fixed point of proximal steps", _prox @ (x_c + N @ _Oc @ x_c), _Oc @ x_c),
    _known(_CARPENTIER, "what a proximal step leaves", _prox @ (omega_c @ _Oc @ x_c + N @ gamma) - _Oc @ x_c,
           _prox @ N @ (gamma - _Oc @ x_c)),
    _known("rows that are switched", "open closures bear nothing", (_rows - Sw) @ _Os @ Sw,
           zero(Constraint, Constraint), CHOICE),
    _known("rows that are switched", "closures that hold", Sw @ omega_c @ Sw @ _Os @ Sw, Sw, CHOICE),
    _known("rows that are switched", "switched accelerations keep what holds",
           Sw @ Jc @ (_Mi - _Mi @ Jc.T @ Sw @ _Os @ Sw @ Jc @ _Mi), zero(Constraint, Joint), CHOICE),
)  # fmt: skip

# Embedded closures: q̇ = Gᵢ v with the rates v that closures leave independent. Gᵢ spans what Jᶜ leaves:
# each q̇ is a sum Gᵢ Xᵢ q̇ + Uᶜ Jᶜ q̇.
Independent = Space("Independent", "rates that closures leave independent")
G_i, X_i = _dense("G_i", Joint, Independent, "Gᵢ"), _dense("X_i", Independent, Joint, "Xᵢ")
U_c = _dense("U_c", Joint, Constraint, "Uᶜ")
SPANS: tuple[Axiom, ...] = (
    *equation("Gᵢ moves no closure", Jc @ G_i, zero(Constraint, Independent), "by choice of Gᵢ"),
    *equation("Gᵢ is all that moves no closure", G_i @ X_i + U_c @ Jc, joint, "by choice of Gᵢ"),
)
_reduced = G_i.T @ _mass @ G_i
_lifted = -(_Mi @ Jc.T @ _Oc @ _bias_c)
_EMBEDDING = "Jain 2012, constraint embedding"
_EMBEDDED = (
    _known(_EMBEDDING, "a closed inverse by independent rates", Mci, G_i @ _reduced.inv() @ G_i.T, SPANS),
    _known(_EMBEDDING, "cut is embedded", _qdd_c,
           G_i @ _reduced.inv() @ G_i.T @ (_free - _mass @ _lifted) + _lifted, SPANS),
    _known(_EMBEDDING, "independent rates do not feel closures' forces",
           G_i.T @ Jc.T @ x_c, zero(Independent, One), SPANS),
)  # fmt: skip

# The compliance of an arm's tip on a serial chain. No body is beyond the last one: Bₜᵀ Υ E = 0.
B_t = _dense("B_t", Body, Tip, "Bₜ")
LAST: tuple[Axiom, ...] = equation(
    "the tip is on the last body", B_t.T @ Ups @ E, zero(Tip, Body), "JPL 88-11 figure 1.1"
)
_CHAIN = (
    _jpl("(6.8)–(6.10)", "compliance of a tip by its recursion",
         jacobian(B_t) @ _Mi @ jacobian(B_t).T, B_t.T @ Ups @ B_t, LAST),
    _jpl("(6.10b)", "compliance of the last link by steps", B_t.T @ Ups @ B_t,
         B_t.T @ (Es.T @ Ups @ Es + H.T @ Di @ H) @ B_t),
)  # fmt: skip

#: Every numbered equation of part II about the solution, and what closures, grasps and contacts obey.
CLOSED_CHAINS: tuple[NamedIdentity, ...] = (
    _SOLUTION + _RECURSIONS + _GRASPS + _LOOP + _CLOSURES + _CROSS + _TOGETHER + _EMBEDDED + _CHAIN
)
