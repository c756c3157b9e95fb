"""Expressions that the tests of several rooms share."""

from __future__ import annotations

from hinge.algebra import E0, B, Expr, H, Ha, Hp, Joint, M, a, b, f_ext, g, identity, phi

ONE = identity(Joint)
MASS = H @ phi @ M @ phi.T @ H.T
JACOBIAN = B.T @ phi.T @ H.T
COMPLIANCE = JACOBIAN @ MASS.inv() @ JACOBIAN.T
#: Blocks of the mass matrix by passive and active coordinates.
M_AP, M_AA = Ha @ phi @ M @ phi.T @ Hp.T, Ha @ phi @ M @ phi.T @ Ha.T


def bias(h: Expr, acceleration: Expr = a, force: Expr = b) -> Expr:
    """Return h φ (M φᵀ a + b), the forces at hinges h under bias accelerations and forces."""
    return h @ phi @ (M @ phi.T @ acceleration + force)


BIAS = bias(H)
#: The same with gravity and external forces.
LOADED = bias(H, a + E0.T @ g, b - B @ f_ext)
