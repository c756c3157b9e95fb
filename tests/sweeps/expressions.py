"""The quantities of robot dynamics as expressions, and the shape that their programs have."""

from __future__ import annotations

from hinge.algebra import (
    E0,
    B,
    D,
    Di,
    E,
    G,
    H,
    Ha,
    Hp,
    Joint,
    K,
    M,
    Node,
    One,
    P,
    Q,
    R,
    a,
    a_n,
    b,
    f_ext,
    g,
    identity,
    leaf,
    logdet,
    passive,
    phi,
    psi,
    qd,
    qdd,
    qdd_a,
    tau,
    tau_p,
    v_n,
)
from tests.expressions import COMPLIANCE, JACOBIAN, LOADED, M_AA, M_AP, MASS, bias

mass, node, compliance = MASS, JACOBIAN, COMPLIANCE
w = identity(Joint) - H @ psi @ K


loaded = LOADED
forward = mass.inv() @ (tau - loaded)
accelerations = phi.T @ (H.T @ forward + a)
M_pp, M_ap, M_aa = passive.mass, M_AP, M_AA
S_pp, S_ap = M_pp.inv(), M_ap @ M_pp.inv()
S_aa = M_aa - M_ap @ M_pp.inv() @ M_ap.T
passive_accelerations = M_pp.inv() @ (tau_p - bias(Hp)) - S_ap.T @ qdd_a
#: Vectors of one's own.
own_force, own_node = leaf("own_force", Joint, One), leaf("own_node", Node, One)
OWN = (own_force, own_node)

#: name → (expression, stages): S base to tip, G tip to base, X a dense solve.
SHAPES = {
    "forward dynamics": (forward, "S G S"),
    "inverse dynamics": (H @ phi @ (M @ phi.T @ (H.T @ qdd + a + E0.T @ g) + b - B @ f_ext), "S G"),
    "mass matrix": (mass, "G"),
    "inverse mass matrix": (mass.inv(), "G S"),
    "bias forces": (loaded, "S G"),
    "weight": (H @ phi @ M @ phi.T @ E0.T @ g, "S G"),
    "Jacobian": (node, "G"),
    "Jacobian in the world": (Q @ node, "S G"),
    "node velocities": (Q @ node @ qd, "S"),
    "node accelerations": (Q @ (B.T @ phi.T @ (H.T @ qdd + a) + a_n - v_n), "S"),
    "node forces": (node.T @ f_ext, "G"),
    "compliance": (compliance, "G S"),
    "operational-space inertia": (compliance.inv(), "G S X"),
    "weighted pseudoinverse": (compliance.inv() @ node @ mass.inv(), "G S X"),
    "tip force correction": (mass.inv() @ node.T @ f_ext, "G S"),
    "body velocities": (phi.T @ H.T @ qd, "S"),
    "body accelerations": (accelerations, "S G S"),
    "inter-body forces": (phi @ (M @ phi.T @ (H.T @ qdd + a) + b), "S G"),
    "kinetic energy": (qd.T @ mass @ qd / 2, "S"),
    "power of the forces": (qd.T @ tau, "G"),
    "a quadratic form of the inverse": (tau.T @ mass.inv() @ tau, "G"),
    "momentum": (E0 @ phi @ M @ phi.T @ H.T @ qd, "G"),
    "momentum matrix": (E0 @ phi @ M @ phi.T @ H.T, "G"),
    "composite inertia": (E0 @ phi @ M @ phi.T @ E0.T, "G"),
    "forward kinematics": (B.T @ phi.T @ E0.T, "S"),
    "log determinant": (logdet(mass), "G"),
    "log determinants": (logdet(M_pp) - 3 * logdet(mass), "G"),
    "S_aa": (S_aa, "G S"),
    "S_ap": (S_ap, "G S"),
    "S_pp": (S_pp, "G S"),
    "passive accelerations": (passive_accelerations, "S G S"),
    "active forces": (M_aa @ qdd_a + M_ap @ passive_accelerations + bias(Ha), "S G S"),
    "a force of your own": (mass.inv() @ own_force, "G S"),
    "node forces of your own": (H @ phi @ B @ own_node, "G"),
    "a dense solve": ((H @ M @ H.T).inv() @ tau, "G X"),
    "a dense solve with columns": ((H @ M @ H.T + 2 * mass).inv() @ node.T, "G X"),
    "blocks added to the mass matrix": ((H @ M @ H.T + mass).inv() @ node.T, "G S"),
    "hinge inertia": (D, "G"),
    "a step": (H @ E @ H.T, "G"),
    "a step down": (H @ E.T @ H.T, "G"),
    "a step up and down": (H @ E @ M @ E.T @ H.T, "S G"),
    "gains": (G.T @ b - K.T @ P @ a, "G S"),
    "composite bodies": (H @ R @ phi.T @ H.T @ qd, "G S"),
    "the identity": (2 * identity(Joint), "G"),
    "what is given": (2 * tau - qdd, "G"),
    "Di": (D.inv() - Di / 2, "G"),
    "a body apart": (E0 @ M @ E0.T, "G"),
    "forces by the bias alone": (phi @ b, "S G"),
}
