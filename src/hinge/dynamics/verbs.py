"""The public verbs: each a name, an expression of the catalogue, and how its value is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.binding import Expressed
from hinge.dynamics.arguments import External
from hinge.dynamics.calls import call
from hinge.dynamics.kept import Frames, Quick, checked_axes, compiled, one_name
from hinge.dynamics.moving import BaseMotion, refuse_own_forces
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot, common_batch, gravity_of
from hinge.spatial import Array, ArrayLike, Transform, dot, transpose, unskew

_INVERSE_DYNAMICS = Quick("inverse_dynamics")
_FORWARD_DYNAMICS = Quick("forward_dynamics")
_BIAS_FORCE = Quick("bias_force")
#: The same with the joints' own forces.
_PASSIVE = {v.verb: Quick(f"passive_{v.verb}") for v in (_INVERSE_DYNAMICS, _FORWARD_DYNAMICS, _BIAS_FORCE)}
_GRAVITY_FORCE = Quick("gravity_force")
_CORIOLIS_FORCE = Quick("coriolis_force")
_MASS_MATRIX = Quick("mass_matrix")
_MASS_MATRIX_INVERSE = Quick("mass_matrix_inverse")
_KINETIC_ENERGY = Quick("kinetic_energy")
_MOMENTUM = Quick("momentum")
_COMPOSITE_INERTIA = Quick("composite_inertia")
_INERTIAL_REGRESSOR = Quick("inertial_regressor")
_FORWARD_KINEMATICS = Quick("forward_kinematics")

#: What chooses the code of a verb beside the robot.
_AT_FRAMES = ("frame", "expressed")
_VELOCITIES = Quick("velocities", _AT_FRAMES)
_ACCELERATIONS = Quick("accelerations", _AT_FRAMES)
_CLASSICAL_ACCELERATIONS = Quick("classical_accelerations", _AT_FRAMES)
_JACOBIAN = Quick("jacobian", _AT_FRAMES)
_JACOBIAN_BIAS = Quick("jacobian_bias", _AT_FRAMES)
_CLASSICAL_JACOBIAN_BIAS = Quick("classical_jacobian_bias", _AT_FRAMES)


@_INVERSE_DYNAMICS.natively
def inverse_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
    base: BaseMotion | None = None,
    out: Array | None = None,
    passive: bool = False,
) -> Array:
    """Return the hinge forces tau (…, nv) for the accelerations qdd: τ = 𝓜 q̈ + C, JPL 88-11 (3.20).

    `external` maps names of frames or bodies to forces [n; f] (…, 6) in that frame's axes, n about its
    origin; `gravity` (…, 3) replaces the robot's own; `base` says how the ground that the
    robot stands on moves, if it does; `out` is an array for the result. With `passive` the
    joints' own springs, dampers and friction act beside tau, see `passive_force`.
    """
    table = _with_own_forces(_INVERSE_DYNAMICS, passive, base)
    return call(
        table, robot, q, {"qd": qd, "qdd": qdd}, external=external, gravity=gravity, base=base, out=out
    )


@_FORWARD_DYNAMICS.natively
def forward_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
    base: BaseMotion | None = None,
    out: Array | None = None,
    passive: bool = False,
) -> Array:
    """Return the accelerations qdd (…, nv) for the hinge forces tau: q̈ = 𝓜⁻¹ (τ − C).

    Derived to the articulated-body algorithm, JPL 88-11 FD4. `external`, `gravity`, `base`, `out`, `passive`
    as in `inverse_dynamics`.
    """
    table = _with_own_forces(_FORWARD_DYNAMICS, passive, base)
    return call(
        table, robot, q, {"qd": qd, "tau": tau}, external=external, gravity=gravity, base=base, out=out
    )


@_BIAS_FORCE.natively
def bias_force(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
    base: BaseMotion | None = None,
    out: Array | None = None,
    passive: bool = False,
) -> Array:
    """Return C (…, nv) of τ = 𝓜 q̈ + C: Coriolis, centrifugal, gravity and external forces.

    With `passive` the joints' own forces are in it, with the other sign: C − τⱼ.
    """
    table = _with_own_forces(_BIAS_FORCE, passive, base)
    return call(table, robot, q, {"qd": qd}, external=external, gravity=gravity, base=base, out=out)


@_GRAVITY_FORCE.natively
def gravity_force(
    robot: Robot, q: ArrayLike, *, gravity: ArrayLike | None = None, out: Array | None = None
) -> Array:
    """Return the hinge forces (…, nv) that hold the robot against gravity at rest."""
    return call(_GRAVITY_FORCE, robot, q, {}, gravity=gravity, out=out)


@_CORIOLIS_FORCE.natively
def coriolis_force(robot: Robot, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the Coriolis and centrifugal share (…, nv) of C."""
    return call(_CORIOLIS_FORCE, robot, q, {"qd": qd}, out=out)


@_MASS_MATRIX.natively
def mass_matrix(robot: Robot, q: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the mass matrix 𝓜 = H φ M φᵀ Hᵀ (…, nv, nv), rotor inertias on its diagonal."""
    return call(_MASS_MATRIX, robot, q, {}, out=out)


@_MASS_MATRIX_INVERSE.natively
def mass_matrix_inverse(robot: Robot, q: ArrayLike, *, out: Array | None = None) -> Array:
    """Return 𝓜⁻¹ = (I − H ψ K)ᵀ D⁻¹ (I − H ψ K) (…, nv, nv), JPL 88-11 (4.16)."""
    return call(_MASS_MATRIX_INVERSE, robot, q, {}, out=out)


@_INERTIAL_REGRESSOR.natively
def inertial_regressor(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    gravity: ArrayLike | None = None,
    out: Array | None = None,
) -> Array:
    """Return Y (…, nv, 10 bodies): τ = Y π + J q̈, π the `inertial_parameters` row by row, J rotor inertias.

    Y = H φ 𝒜; the forces of a motion are linear in the inertias of bodies.
    """
    return call(_INERTIAL_REGRESSOR, robot, q, {"qd": qd, "qdd": qdd}, gravity=gravity, out=out)


def forward_kinematics(robot: Robot, q: ArrayLike, frame: Frames = None) -> Any:
    """Return the transform from world to frame coordinates: its `.rotation` and `.position` are the pose.

    `frame` is a name, which gives one `Transform`, or several, or None for all bodies in their order, which
    give a list of them.
    """
    x = _FORWARD_KINEMATICS.at(robot, frame, "body", q)
    found = [_pose(x[..., k : k + 6, :]) for k in range(0, x.shape[-2], 6)]
    return found[0] if isinstance(frame, str) else found


@_VELOCITIES.natively
def velocities(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    frame: Frames = None,
    *,
    expressed: Expressed = "body",
) -> Array:
    """Return the spatial velocity [ω; v] of a frame (…, 6), or of several or all bodies (…, n, 6).

    `expressed` "body": in the frame's own axes at its origin; "world": in the world's axes at the world's
    origin; "world-aligned": in the world's axes at the frame's origin.
    """
    return _VELOCITIES.at(robot, frame, expressed, q, qd)


@_ACCELERATIONS.natively
def accelerations(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    frame: Frames = None,
    *,
    expressed: Expressed = "body",
) -> Array:
    """Return the spatial acceleration of a frame (…, 6), or of several or all bodies (…, n, 6).

    The derivative of the spatial velocity as a field; see `classical_accelerations` for that of points.
    """
    return _ACCELERATIONS.at(robot, frame, expressed, q, qd, qdd)


@_CLASSICAL_ACCELERATIONS.natively
def classical_accelerations(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    frame: Frames = None,
    *,
    expressed: Expressed = "body",
) -> Array:
    """Return [ω̇; p̈]: angular acceleration, and that of the frame's origin as a point.

    `expressed` "body" or "world-aligned".
    """
    refuse_world(expressed)
    return _CLASSICAL_ACCELERATIONS.at(robot, frame, expressed, q, qd, qdd)


@_JACOBIAN.natively
def jacobian(
    robot: Robot, q: ArrayLike, frame: str, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return J (…, 6, nv): the frame's spatial velocity is J qd, J = Bᵀ φᵀ Hᵀ, JPL 88-11 (3.13)."""
    name = one_name(frame)
    if out is None:
        return _JACOBIAN.at(robot, name, expressed, q)
    return compiled(robot, "jacobian", (name,), expressed).evaluate(q, {}, out={"jacobian": out})["jacobian"]


@_JACOBIAN_BIAS.natively
def jacobian_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: str, *, expressed: Expressed = "body"
) -> Array:
    """Return the frame's spatial acceleration (…, 6) when qdd = 0, so that it is J qdd + bias."""
    return _JACOBIAN_BIAS.at(robot, one_name(frame), expressed, q, qd)


@_CLASSICAL_JACOBIAN_BIAS.natively
def classical_jacobian_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: str, *, expressed: Expressed = "body"
) -> Array:
    """Return the frame's classical acceleration (…, 6) when qdd = 0; "body" or "world-aligned"."""
    refuse_world(expressed)
    return _CLASSICAL_JACOBIAN_BIAS.at(robot, one_name(frame), expressed, q, qd)


@_KINETIC_ENERGY.natively
def kinetic_energy(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return ½ q̇ᵀ 𝓜 q̇ (…) in J, rotors included."""
    return call(_KINETIC_ENERGY, robot, q, {"qd": qd})


def potential_energy(robot: Robot, q: ArrayLike, *, gravity: ArrayLike | None = None) -> Array:
    """Return −Σ g · (mᵢ cᵢ) (…) in J, zero at the world's origin."""
    moment = _first_moment(robot, q)
    down = gravity_of(robot, gravity, dtype=moment.dtype)
    common_batch({"gravity": down, "q": moment})
    with np.errstate(all="ignore"):  # a state that is not finite stays its own
        return -dot(down, moment)


@_MOMENTUM.natively
def momentum(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the momentum [angular about the world's origin; linear] (…, 6) in world axes."""
    return call(_MOMENTUM, robot, q, {"qd": qd})


def center_of_mass(robot: Robot, q: ArrayLike) -> Array:
    """Return the centre of mass (…, 3) in world coordinates."""
    if checked_robot(robot).mass == 0:
        raise ArgumentError(f"robot: {robot.name!r} has no mass, so no centre of mass; give its bodies mass")
    return _first_moment(robot, q) / robot.mass


def _with_own_forces(table: Quick, passive: bool, base: BaseMotion | None) -> Quick:
    """Return a verb, or the one with the joints' own forces beside it."""
    if not isinstance(passive, bool | np.bool_):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"passive: {passive!r} came; wanted True or False")
    if base is not None:
        refuse_own_forces(passive)
    return _PASSIVE[table.verb] if passive else table


def _first_moment(robot: Robot, q: ArrayLike) -> Array:
    """Read Σ mᵢ cᵢ off the composite inertia [I h×; −h× m] of everything at the world."""
    x = _COMPOSITE_INERTIA[checked_robot(robot)](q)
    return unskew(x[..., :3, 3:])


def _pose(x: Array) -> Transform:
    """Read (E, r) off a motion transform [E 0; −E r× E]."""
    e = x[..., :3, :3]
    with np.errstate(all="ignore"):  # a state that is not finite stays its own
        return Transform(e, -unskew(transpose(e) @ x[..., 3:, :3]))


def refuse_world(expressed: Expressed) -> None:
    """Raise an ArgumentError if a classical acceleration is asked for at the world's origin."""
    if checked_axes(expressed) == "world":
        raise ArgumentError(
            "expressed: 'world' moves the origin away from the frame; a classical acceleration wants 'body' "
            "or 'world-aligned'"
        )
