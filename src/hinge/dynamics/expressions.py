"""The catalogue as mathematics: each verb as an operator expression.

Gravity enters as the acceleration g of the world, a → a + E₀ᵀ g (JPL 88-11 (3.21)), external forces as
− B f beside b (SOA slides, external forces). Options of a verb are changes of its expression: `expression`
composes any product of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from hinge.algebra import (
    A0,
    E0,
    A,
    Ac,
    B,
    Bc,
    Body,
    D,
    Di,
    Dr,
    Dri,
    E,
    Expr,
    G,
    H,
    Ha,
    Hp,
    Joint,
    K,
    Leaf,
    M,
    Na,
    Np,
    One,
    P,
    Q,
    Ups,
    a,
    a_m,
    a_n,
    b,
    b_m,
    e_c,
    f_ext,
    g,
    gamma,
    identity,
    leaves,
    logdet,
    passive,
    phi,
    psi,
    qd,
    qdd,
    s_c,
    tau,
    tau_j,
    v_n,
    x,
    x_n,
    zero,
)
from hinge.binding import Touching
from hinge.errors import ArgumentError, did_you_mean
from hinge.model import Robot
from hinge.pipeline import Derivation
from hinge.sweeps import Readout

__all__ = [
    "BODY_ACCELERATIONS",
    "CATALOGUE",
    "CLOSURES",
    "FORWARD_DYNAMICS",
    "PROJECTION",
    "SEVERAL",
    "Parts",
    "expression",
]

mass = H @ phi @ M @ phi.T @ H.T
weight = H @ phi @ M @ phi.T @ E0.T @ g
coriolis = H @ phi @ (M @ phi.T @ a + b)


@dataclass(frozen=True)
class Setting:
    """The loads on a robot besides its motors; the options of a verb enter its expression here.

    `acceleration` and `force` are those of the bodies that joint rates alone bring about, with gravity, the
    motion of the base and external forces in them; `own` are forces at the hinges beside τ.
    """

    acceleration: Expr
    force: Expr
    own: Expr

    @property
    def load(self) -> Expr:
        """The forces on the bodies where q̈ is zero."""
        return M @ phi.T @ self.acceleration + self.force


@cache
def setting(passive: bool = False, base: bool = False) -> Setting:
    """Return what acts: with `passive` the joints' own forces τⱼ, with `base` a base that moves as given.

    On such a base V = φᵀ (Hᵀ q̇ + E₀ᵀ V₀) and α = φᵀ (Hᵀ q̈ + aₘ + E₀ᵀ α₀): Featherstone section 7.5, where the
    motion of the base is what the recursions start from.
    """
    own = tau_j if passive else zero(Joint, One)
    if base:
        return Setting(a_m + E0.T @ A0, b_m - B @ f_ext, own)
    return Setting(a + E0.T @ g, b - B @ f_ext, own)


def _bias(on: Setting) -> Expr:
    return H @ phi @ on.load - on.own


def _inverse(on: Setting) -> Expr:
    return H @ phi @ (M @ phi.T @ (H.T @ qdd + on.acceleration) + on.force) - on.own


def forward(on: Setting) -> Expr:
    return mass.inv() @ (tau + on.own - H @ phi @ on.load)


#: Momentum about the world's origin per joint rate, and the inertia of all bodies there.
_momentum = E0 @ phi @ M @ phi.T @ H.T
_composite = E0 @ phi @ M @ phi.T @ E0.T

#: The Jacobian of the nodes, (3.13), in the axes that Q shows; the velocities Q … of the nodes are J q̇.
J = Q @ B.T @ phi.T @ H.T
#: J 𝓜⁻¹ Jᵀ, the inverse of the operational-space inertia; SOA paper (5.4).
compliance = J @ mass.inv() @ J.T

node_velocity = B.T @ phi.T @ H.T @ qd
node_acceleration = B.T @ phi.T @ (H.T @ qdd + a) + a_n
node_bias = B.T @ phi.T @ a + a_n

# Closures: Jc q̇ = 0 holds their ends together, JPL 88-11 part II (2.7). d/dt (Jc q̇) = Jc q̈ + `closure_bias`.
closure_jacobian = Ac @ Bc.T @ phi.T @ H.T
closure_bias = Ac @ (Bc.T @ phi.T @ a + s_c) + gamma
#: Ω = Jc 𝓜⁻¹ Jcᵀ, part II (6.7), and its inverse: forces of the closures per acceleration across them.
closure_compliance = closure_jacobian @ mass.inv() @ closure_jacobian.T
_closing = closure_compliance.inv()
#: Inverse inertias Φ that the ends of closures see, Φᵢⱼ = Jᵢ 𝓜⁻¹ Jⱼᵀ: those of an end on the diagonal,
#: inverse cross-inertias beside it. Featherstone 1987 section 9.5.3; Ω is Aᶜ Φ Aᶜᵀ, (9.27).
cross_inertias = Bc.T @ phi.T @ H.T @ mass.inv() @ H @ phi @ Bc
#: Accelerations, or jumps of velocity, by forces of the closures.
by_closures = mass.inv() @ closure_jacobian.T


def _closed(on: Setting) -> dict[str, Expr]:
    """Return the accelerations of a closed robot, its closure forces and what these answer to: part II (3.6).

    q̈ = q̈f + 𝓜⁻¹ Jcᵀ λ,  Ω λ = −(Jc q̈f + J̇c q̇),  q̈f the accelerations of the robot with its closures open.
    """
    free = forward(on)
    wanted = Ac @ (Bc.T @ phi.T @ (H.T @ free + a) + s_c) + gamma
    forces = -(_closing @ wanted)
    return {"qdd": free + by_closures @ forces, "forces": forces, "wanted": wanted}


def _interface(on: Setting) -> Parts:
    """Return what the base feels: the inertia at its origin and the force, all joints moving freely under τ.

    With T = E₀ φ M φᵀ Hᵀ the force is E₀ φ (load + M φᵀ (Hᵀ q̈ + E₀ᵀ α₀)) for 𝓜 q̈ = τ − H φ load − Tᵀ α₀.
    """
    inertia = _composite - _momentum @ mass.inv() @ _momentum.T
    return Parts({"inertia": inertia, "force": E0 @ phi @ on.load + _momentum @ forward(on)})


def closed_results(found: Mapping[str, Any]) -> dict[str, Any]:
    """Read off accelerations and forces, and how far the closures are from being kept: ‖Ω λ + wanted‖."""
    left = found["compliance"] @ found["forces"] + found["wanted"]
    residual = np.sqrt((left * left).sum() + 0.0) if len(left) else 0.0
    return {"qdd": found["qdd"], "forces": found["forces"], "residual": np.asarray(residual)}


def _closed_dynamics(on: Setting) -> Parts:
    return Parts({**_closed(on), "compliance": closure_compliance}, readout=closed_results)


#: The published forward-dynamics algorithms, JPL 88-11 sections 4 and 5, without a tip force: (4.17)–(4.18),
#: (5.8)–(5.10), (5.14)–(5.15); K stands for S L. FD2, (5.5)–(5.6), gives the accelerations α of the bodies.
_one = identity(Body)
whiten = identity(Joint) - H @ psi @ K
innovate = identity(Joint) + H @ phi @ K
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

#: Verb → expression, a function of what acts where that can be chosen. Those with Q are shown in the axes
#: that the caller asks for.
_CATALOGUE: dict[str, Expr | Callable[[Setting], Expr]] = {
    "inverse_dynamics": _inverse,
    "forward_dynamics": forward,
    "mass_matrix": mass,
    "mass_matrix_inverse": mass.inv(),
    "bias_force": _bias,
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
    "momentum": _momentum @ qd,
    "inertial_regressor": H @ phi @ A,
    "composite_inertia": _composite,
    "mass_times": mass @ x,
    "mass_solve": mass.inv() @ x,
    "mass_root": innovate @ Dr,
    "mass_root_inverse": Dri @ whiten,
    "quasi_velocities": Dr.T @ innovate.T @ qd,
    "from_quasi_velocities": whiten.T @ Dri.T @ x,
    "log_determinant": logdet(mass),
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
    "passive_force": tau_j,
}
#: Verb → expression without options.
CATALOGUE: dict[str, Expr] = {v: e if isinstance(e, Expr) else e(setting()) for v, e in _CATALOGUE.items()}


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a verb's value: expressions, and operators that are returned as blocks.

    `readout` is a formula of these that gives what the verb shows, `reader` gives one that depends on a robot
    alone. With `all_rows` closures have all their rows, else solves take the independent ones. `touch` says
    which rows of contacts there are, `coulomb` their law. `form` is how to compute it, else a search says.
    """

    expressions: dict[str, Expr]
    blocks: dict[str, Expr] = field(default_factory=dict[str, Expr])
    readout: Readout | None = None
    reader: Callable[[Robot], Readout] | None = None
    all_rows: bool = False
    verb: str = ""
    touch: Touching = ""
    coulomb: bool = False
    form: Derivation | None = None

    @cached_property
    def letters(self) -> set[Leaf]:
        """The letters of the expressions."""
        return {x for e in (*self.expressions.values(), *self.blocks.values()) for x in leaves(e)}

    @cached_property
    def splits(self) -> bool:
        """Whether coordinates are split into passive and active ones."""
        return not self.letters.isdisjoint((Hp, Ha, Np, Na))


#: Errors and Jacobians of closures, all rows: what assembles configurations.
CLOSURE_MAP = Parts({"error": e_c, "jacobian": closure_jacobian}, all_rows=True)

#: Bias accelerations and forces with gravity and external forces in them.
_acceleration, _force = setting().acceleration, setting().force

#: The filter and the smoother of JPL 86-48 (8.2)–(8.13), at all bodies at once: the predicted state z⁻, the
#: innovations ε⁻ = τ − H z⁻, the residuals ε⁺ = D⁻¹ ε⁻, and the co-states λ⁻, accelerations of the bodies.
predicted = psi @ (K @ tau + P @ _acceleration + _force) - P @ _acceleration
innovations = tau - H @ predicted
residuals = Di @ innovations
_nu = Di @ (tau - H @ psi @ (K @ tau + P @ _acceleration + _force))
costates = psi.T @ (H.T @ _nu + _acceleration)
#: The smoothed states z⁻ + P λ⁻, (8.1): the forces between bodies, φ (M λ⁻ + b).
smoothed = predicted + P @ costates

# Hybrid dynamics: 𝓜 q̈ + C = τ by passive (p) and active (a) coordinates, SOA slides, pages 55–70. Vectors are
# of full length: Nₚᵀ and Nₐᵀ put the parts into their places.
_M_ap, _M_aa = Ha @ phi @ M @ phi.T @ Hp.T, Ha @ phi @ M @ phi.T @ Ha.T
_qdd_a = Na @ qdd


def _hybrid(on: Setting) -> Parts:
    qdd_p = passive.mass.inv() @ (Np @ (tau + on.own) - Hp @ phi @ on.load - _M_ap.T @ _qdd_a)
    tau_a = _M_aa @ _qdd_a + _M_ap @ qdd_p + Ha @ phi @ on.load - Na @ on.own
    return Parts(
        {
            "accelerations": Np.T @ qdd_p + Na.T @ _qdd_a,
            "forces": Np.T @ Np @ tau + Na.T @ tau_a,
        }
    )


#: Passive rates per active rate where the passive coordinates have no momentum, 𝓜ₚₚ q̇ₚ + 𝓜ₚₐ q̇ₐ = 0: for a
#: free base, where the robot has none.
_reaction = -(passive.mass.inv() @ _M_ap.T)

# A plastic impact: active coordinates stop and impulses act at nodes. That is hybrid dynamics of velocities
# that jump, without bias, since what is finite does nothing in no time.
_blow = B @ f_ext
_jump_a = -(Na @ qd)
_jump_p = passive.mass.inv() @ (Hp @ phi @ _blow - _M_ap.T @ _jump_a)

#: Verb → the parts of its value. Λ of (9.21) is Υ; c and d of (10.3) give 𝓜⁻¹.
_SEVERAL: dict[str, Parts | Callable[[Setting], Parts]] = {
    "mass_factors": Parts({"factor": innovate, "inverse": whiten}, {"diagonal": D}),
    "acceleration_shares": Parts(
        {
            "forces": mass.inv() @ tau,
            "bias_forces": -(mass.inv() @ H @ phi @ _force),
            "bias_accelerations": -(mass.inv() @ H @ phi @ M @ phi.T @ _acceleration),
        }
    ),
    "filter_quantities": Parts(
        {
            "state": predicted,
            "innovations": innovations,
            "residuals": residuals,
            "costates": costates,
            "smoothed": smoothed,
            "qdd": _nu - K.T @ costates,
        },
        {
            "P": P,
            "P_updated": P - G @ D @ G.T,
            "D": D,
            "G": G,
            "Lambda": Ups,
            "S": P - P @ Ups @ P,
            "c": Di + K.T @ Ups @ K,
            "d": K.T @ Ups @ (E - K @ H) - Di @ H,
        },
    ),
    "hinge_forces": Parts({"force": phi @ (M @ phi.T @ (H.T @ qdd + _acceleration) + _force)}),
    "hinge_forces_under": Parts({"force": smoothed}),
    "hybrid_dynamics": _hybrid,
    "interface": _interface,
    "impact": Parts(
        {
            "jumps": Np.T @ _jump_p + Na.T @ _jump_a,
            "impulses": Na.T @ (_M_aa @ _jump_a + _M_ap @ _jump_p - Ha @ phi @ _blow),
        }
    ),
    "partitioned": Parts(
        {
            "S_aa": _M_aa - _M_ap @ passive.mass.inv() @ _M_ap.T,
            "S_ap": _M_ap @ passive.mass.inv(),
            "S_pp": passive.mass.inv(),
        }
    ),
    "generalized_jacobian": Parts({"jacobian": Q @ B.T @ phi.T @ (Ha.T + Hp.T @ _reaction)}),
    "disturbance_jacobian": Parts({"jacobian": _reaction}),
    "centroidal_momentum_matrix": Parts({"momentum": _momentum, "inertia": _composite}),
    "centroidal_momentum_bias": Parts({"momentum": E0 @ phi @ (M @ phi.T @ a + b), "inertia": _composite}),
    "centroidal_momentum": Parts({"momentum": _momentum @ qd, "inertia": _composite}),
}
#: The same without options.
SEVERAL: dict[str, Parts] = {
    verb: p if isinstance(p, Parts) else p(setting()) for verb, p in _SEVERAL.items()
}


#: Verbs of robots with closures alone.
CLOSURES: dict[str, Expr] = {
    "closure_error": e_c,
    "closure_velocity": closure_jacobian @ qd,
    "closure_jacobian": closure_jacobian,
    "closure_bias": closure_bias,
    "cross_inertias": cross_inertias,
    "settle": qd - by_closures @ _closing @ closure_jacobian @ qd,
}
#: What closes a robot, with all rows of its closures: rows that the dynamics drops hold the others in
#: place. The errors and the velocities across, the Newton step −𝓜⁻¹ Jcᵀ Ω⁻¹ e to configurations that close,
#: and velocities that fit.
PROJECTION: dict[str, Parts] = {
    verb: Parts({verb: e}, all_rows=True, verb=verb)
    for verb, e in {
        **{verb: CLOSURES[verb] for verb in ("closure_error", "closure_velocity", "settle")},
        "closing_step": -(by_closures @ _closing @ e_c),
    }.items()
}
#: Verbs of a robot with closures that mean something else there.
_compliance_closed = compliance - J @ by_closures @ _closing @ by_closures.T @ J.T
_CLOSED: dict[str, Callable[[Setting], Expr]] = {
    "forward_dynamics": lambda on: _closed(on)["qdd"],
    "operational_inverse_inertia": lambda _: _compliance_closed,
}
#: Those of them that show the inertia of all bodies, of joints or of nodes, as if the closures were open:
#: these have no meaning for a robot with closures. What to use instead.
OPEN_ONLY: dict[str, str] = {
    "inverse_dynamics": "closed_inverse_dynamics",
    "hybrid_dynamics": "closed_dynamics",
    "mass_matrix_inverse": "closed_dynamics",
    "mass_solve": "settle",
    "operational_inertia": "operational_inverse_inertia",
    "impact": "settle",
    **dict.fromkeys(
        (
            "interface", "partitioned", "mass_root_inverse", "from_quasi_velocities", "log_determinant",
            "consistent_inverse", "operational_bias", "classical_operational_bias", "operational_gravity",
            "force_correction", "acceleration_shares", "filter_quantities", "hinge_forces",
            "hinge_forces_under", "generalized_jacobian", "disturbance_jacobian",
        ),
        "closed_dynamics",
    ),
}  # fmt: skip

#: Every verb, without options.
VERBS: dict[str, Parts] = {
    **{verb: Parts({verb: e}, verb=verb) for verb, e in (CATALOGUE | CLOSURES).items()},
    **{verb: replace(p, verb=verb) for verb, p in SEVERAL.items()},
    "closed_dynamics": replace(_closed_dynamics(setting()), verb="closed_dynamics"),
}
#: Verbs whose options change what acts.
WITH_OPTIONS: dict[str, Callable[[Setting], Expr | Parts]] = {
    **{verb: e for verb, e in {**_CATALOGUE, **_SEVERAL}.items() if not isinstance(e, Expr | Parts)},
    "closed_dynamics": _closed_dynamics,
}


def expression(verb: str, *, passive: bool = False, base: bool = False, closed: bool = False) -> Parts:
    """Return what a verb computes, as operator expressions; `hinge.compile` takes them for a robot.

    With `passive` the joints' own forces τⱼ act beside τ; with `base` the base moves in a given way, whose
    velocity V₀ and acceleration α₀ (…, 6), gravity included, are the inputs V0 and A0 in place of gravity.
    The verbs of the same options, `base=BaseMotion(…)`, compute V0 and A0. With `closed` it is the verb of
    a robot with closures, where that is another expression.
    """
    return _composed(verb, _flag("passive", passive), _flag("base", base), _flag("closed", closed))


_BOOLS: tuple[type, ...] = (bool, np.bool_)


def _flag(name: str, value: bool) -> bool:
    if not isinstance(value, _BOOLS):
        raise ArgumentError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


@cache
def _composed(verb: str, passive: bool, base: bool, closed: bool = False) -> Parts:
    if verb not in VERBS:
        raise ArgumentError(f"verb: expected the name of a verb, got {verb!r}; {_instead(verb)}")
    if base and (closed or verb == "closed_dynamics"):
        raise NotImplementedError(f"base: {verb} of a robot with closures is not supported on a moving base")
    if closed and verb in _CLOSED:
        return Parts({verb: _CLOSED[verb](setting(passive, base))}, verb=verb)
    if not (passive or base):
        return VERBS[verb]
    if verb not in WITH_OPTIONS:
        option, those = "passive" if passive else "base", ", ".join(WITH_OPTIONS)
        raise ArgumentError(f"{option}: {verb} does not depend on it; expected one of {those}")
    found = WITH_OPTIONS[verb](setting(passive, base))
    return replace(found if isinstance(found, Parts) else Parts({verb: found}), verb=verb)


def _instead(verb: str) -> str:
    """Return the remedy for an unknown name."""
    for prefix, option in {"passive_": "passive", "moving_": "base"}.items():
        bare = str(verb).removeprefix(prefix)
        if bare != verb and bare in WITH_OPTIONS:
            return f"use hinge.dynamics.expression({bare!r}, {option}=True)"
    return did_you_mean(verb, VERBS) or f"use one of {', '.join(VERBS)}"


def every_expression() -> Iterator[Parts]:
    """Yield the expressions of every verb, with every product of options."""
    yield from VERBS.values()
    for verb in WITH_OPTIONS:
        for own, moving in ((True, False), (False, True), (True, True)):
            if not (moving and verb == "closed_dynamics"):
                yield expression(verb, passive=own, base=moving)
    yield CLOSURE_MAP
    yield PROJECTION["closing_step"]
    for verb in _CLOSED:
        for own in (False, True):
            yield expression(verb, passive=own, closed=True)
