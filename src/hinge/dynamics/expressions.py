"""The catalogue as mathematics: what each verb computes, as an operator expression.

Gravity enters as the acceleration g of the world, a → a + E₀ᵀ g (JPL 88-11 (3.21)), external forces as
− B f beside b (SOA slides, external forces).
"""

from __future__ import annotations

from hinge.algebra import (
    E0,
    B,
    Body,
    Di,
    Expr,
    G,
    H,
    Joint,
    K,
    M,
    P,
    Q,
    a,
    a_n,
    b,
    f_ext,
    g,
    identity,
    phi,
    psi,
    qd,
    qdd,
    tau,
    v_n,
    x_n,
)

mass = H @ phi @ M @ phi.T @ H.T
weight = H @ phi @ M @ phi.T @ E0.T @ g
coriolis = H @ phi @ (M @ phi.T @ a + b)
bias = H @ phi @ (M @ phi.T @ (a + E0.T @ g) + b - B @ f_ext)

#: The Jacobian of the nodes, (3.13), in the axes that Q shows; the velocities Q … of the nodes are J q̇.
J = Q @ B.T @ phi.T @ H.T
#: J 𝓜⁻¹ Jᵀ, the inverse of the operational-space inertia; SOA paper (5.4).
compliance = J @ mass.inv() @ J.T

node_velocity = B.T @ phi.T @ H.T @ qd
node_acceleration = B.T @ phi.T @ (H.T @ qdd + a) + a_n
node_bias = B.T @ phi.T @ a + a_n

#: The published forward-dynamics algorithms, JPL 88-11 sections 4 and 5, without a tip force: (4.17)–(4.18),
#: (5.8)–(5.10), (5.14)–(5.15); K stands for S L. FD2, (5.5)–(5.6), gives the accelerations α of the bodies.
_one = identity(Body)
whiten = identity(Joint) - H @ psi @ K
FORWARD_DYNAMICS: dict[str, Expr] = {
    "FD1": whiten.T @ Di @ whiten @ (tau - coriolis),
    "FD3": whiten.T @ Di @ (tau - H @ psi @ (K @ tau + M @ phi.T @ a + b)),
    "FD4": whiten.T @ Di @ (whiten @ tau - H @ (psi - _one) @ P @ a - H @ psi @ b)
    - K.T @ psi.T @ (_one - G @ H).T @ a
    - G.T @ a,
}
BODY_ACCELERATIONS: dict[str, Expr] = {
    "FD2": psi.T @ H.T @ Di @ whiten @ (tau - coriolis) + phi.T @ a,
}

#: Verb → expression. Those with Q are shown in the axes that the caller asks for.
CATALOGUE: dict[str, Expr] = {
    "inverse_dynamics": H @ phi @ (M @ phi.T @ (H.T @ qdd + a + E0.T @ g) + b - B @ f_ext),
    "forward_dynamics": mass.inv() @ (tau - bias),
    "mass_matrix": mass,
    "mass_matrix_inverse": mass.inv(),
    "bias_force": bias,
    "gravity_force": weight,
    "coriolis_force": coriolis,
    "forward_kinematics": B.T @ phi.T @ E0.T,
    "velocities": Q @ node_velocity,
    "accelerations": Q @ (node_acceleration - v_n),
    "classical_accelerations": Q @ node_acceleration,
    "jacobian": J,
    "jacobian_bias": Q @ (node_bias - v_n),
    "classical_jacobian_bias": Q @ node_bias,
    "kinetic_energy": qd.T @ mass @ qd / 2,
    "momentum": E0 @ phi @ M @ phi.T @ H.T @ qd,
    "composite_inertia": E0 @ phi @ M @ phi.T @ E0.T,
    "operational_inverse_inertia": compliance,
    "operational_inertia": compliance.inv(),
    "consistent_inverse": mass.inv() @ J.T @ compliance.inv(),
    "operational_bias": compliance.inv() @ (J @ mass.inv() @ coriolis - Q @ (node_bias - v_n)),
    "classical_operational_bias": compliance.inv() @ (J @ mass.inv() @ coriolis - Q @ node_bias),
    "operational_gravity": compliance.inv() @ J @ mass.inv() @ weight,
    "force_correction": mass.inv() @ J.T @ f_ext,
    "jacobian_row_products": J @ J.T,
    "jacobian_column_products": J.T @ J,
    "jacobian_solve": J.T @ (J @ J.T).inv() @ x_n,
}
