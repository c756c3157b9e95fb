"""Closed-chain forward dynamics as mathematics: the published algorithms beside FD1–FD4.

JPL 88-11 part II, with closures for its grasps: Jᶜ = Aᶜ Bᶜᵀ φᵀ Hᵀ has a row for each velocity across a
closure that the closure prevents, and an object that arms hold is a body on a free joint, so that Ω = Jᶜ
𝓜⁻¹ Jᶜᵀ is all of (3.1). The paper's f(0) is −λ: λ acts on the outer ends. K stands for S L.
"""

from __future__ import annotations

from hinge.algebra import Ac, Bc, Di, Expr, H, Joint, K, a, gamma, identity, phi, psi, s_c, tau
from hinge.dynamics.expressions import (
    closure_bias,
    closure_compliance,
    closure_jacobian,
    coriolis,
    cross_inertias,
    mass,
    whiten,
)

__all__ = ["CLOSED_DYNAMICS", "CLOSURE_FORCES", "CROSS_INERTIAS", "PROJECTED_DYNAMICS"]

#: T′ of (2.15a), the hinge forces without bias.
_free = tau - coriolis
_J, _Mi, _Oi = closure_jacobian, mass.inv(), closure_compliance.inv()
_qdd_free = _Mi @ _free

#: λ of (3.6b), the forces of the closures on their outer ends.
CLOSURE_FORCES: Expr = -(_Oi @ (_J @ _qdd_free + closure_bias))

# The same with Ω by (6.7) and J 𝓜⁻¹ by (6.12); the columns Y = H ψ Bᶜ Aᶜᵀ lead from closures to innovations.
_Y = H @ psi @ Bc @ Ac.T
_O6 = (_Y.T @ Di @ _Y).inv()
_qdd_f = whiten.T @ Di @ whiten @ _free
_force_1 = -(_O6 @ (Ac @ (Bc.T @ phi.T @ (H.T @ _qdd_f + a) + s_c) + gamma))
_force_2 = -(_O6 @ (_Y.T @ Di @ whiten @ _free + closure_bias))

#: The published algorithms: the analytical solution (3.6a), the general algorithm with recursions (6.11), one
#: filter for hinge and closure forces (6.18), and the closed inverse between the factors of 𝓜⁻¹ (6.22).
CLOSED_DYNAMICS: dict[str, Expr] = {
    "3.6": (_Mi - _Mi @ _J.T @ _Oi @ _J @ _Mi) @ _free - _Mi @ _J.T @ _Oi @ closure_bias,
    "RCCFD1": _qdd_f + whiten.T @ Di @ _Y @ _force_1,
    "RCCFD2": whiten.T @ Di @ (_free - H @ psi @ (K @ _free - Bc @ Ac.T @ _force_2)),
    "RCCFD3": whiten.T @ (Di - Di @ _Y @ _O6 @ _Y.T @ Di) @ whiten @ _free
    - whiten.T @ Di @ _Y @ _O6 @ closure_bias,
}

#: 𝒫 = I − Jᶜᵀ Ω⁻¹ Jᶜ 𝓜⁻¹ takes out of hinge forces what only loads closures (Aghili 2005).
projection = identity(Joint) - _J.T @ _Oi @ _J @ _Mi
PROJECTED_DYNAMICS: Expr = _Mi @ (projection @ _free - _J.T @ _Oi @ closure_bias)

#: Φᵢⱼ = Jᵢ 𝓜⁻¹ Jⱼᵀ of the ends of closures.
CROSS_INERTIAS: Expr = cross_inertias
