"""The public verbs, each an expression of the catalogue."""

from __future__ import annotations

from operator import mul
from typing import Any, Literal, TypeAlias

import numpy as np

from hinge.binding import Expressed
from hinge.dynamics.arguments import External
from hinge.dynamics.cached import Frames
from hinge.dynamics.moving import BaseMotion
from hinge.dynamics.signatures import verb
from hinge.model import Robot, common_batch, gravity_of
from hinge.spatial import Array, ArrayLike, dot

__all__ = [
    "accelerations",
    "bias_force",
    "center_of_mass",
    "classical_accelerations",
    "classical_jacobian_bias",
    "coriolis_force",
    "forward_dynamics",
    "forward_kinematics",
    "gravity_force",
    "inertial_regressor",
    "inverse_dynamics",
    "jacobian",
    "jacobian_bias",
    "kinetic_energy",
    "mass_matrix",
    "mass_matrix_inverse",
    "momentum",
    "potential_energy",
    "velocities",
]

#: Axes in which the acceleration of a point is shown.
PointAxes: TypeAlias = Literal["body", "world-aligned"]


@verb
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
    ...


@verb
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
    ...


@verb
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
    ...


@verb
def gravity_force(
    robot: Robot, q: ArrayLike, *, gravity: ArrayLike | None = None, out: Array | None = None
) -> Array:
    """Return the hinge forces (…, nv) that hold the robot against gravity at rest."""
    ...


@verb
def coriolis_force(robot: Robot, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the Coriolis and centrifugal share (…, nv) of C."""
    ...


@verb
def mass_matrix(robot: Robot, q: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the mass matrix 𝓜 = H φ M φᵀ Hᵀ (…, nv, nv), rotor inertias on its diagonal."""
    ...


@verb
def mass_matrix_inverse(robot: Robot, q: ArrayLike, *, out: Array | None = None) -> Array:
    """Return 𝓜⁻¹ = (I − H ψ K)ᵀ D⁻¹ (I − H ψ K) (…, nv, nv), JPL 88-11 (4.16)."""
    ...


@verb
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
    ...


@verb
def forward_kinematics(robot: Robot, q: ArrayLike, frame: Frames = None) -> Any:
    """Return the transform from world to frame coordinates: its `.rotation` and `.position` are the pose.

    `frame` is a name, which gives one `Transform`, or several, or None for all bodies in their order, which
    give a list of them, made when they are first looked at.
    """
    ...


@verb
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
    ...


@verb
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
    ...


@verb
def classical_accelerations(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    frame: Frames = None,
    *,
    expressed: PointAxes = "body",
) -> Array:
    """Return [ω̇; p̈]: angular acceleration, and that of the frame's origin as a point.

    `expressed` "body" or "world-aligned".
    """
    ...


@verb
def jacobian(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return J (…, 6, nv): the frame's spatial velocity is J qd, J = Bᵀ φᵀ Hᵀ, JPL 88-11 (3.13).

    Of n frames, or with None of all bodies, J is (…, 6n, nv), one below the other.
    """
    ...


@verb
def jacobian_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: Frames, *, expressed: Expressed = "body"
) -> Array:
    """Return the frame's spatial acceleration (…, 6) when qdd = 0, so that it is J qdd + bias.

    Of n frames, or with None of all bodies, it is (…, n, 6).
    """
    ...


@verb
def classical_jacobian_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: Frames, *, expressed: PointAxes = "body"
) -> Array:
    """Return the frame's classical acceleration (…, 6) when qdd = 0, or (…, n, 6) of n frames.

    `expressed` "body" or "world-aligned".
    """
    ...


@verb
def kinetic_energy(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return ½ q̇ᵀ 𝓜 q̇ (…) in J, rotors included."""
    ...


def potential_energy(robot: Robot, q: ArrayLike, *, gravity: ArrayLike | None = None) -> Array:
    """Return −Σ g · (mᵢ cᵢ) (…) in J, zero at the world's origin."""
    moment = _first_moment(robot, q)
    if gravity is None and moment.ndim == 1:
        return moment.dtype.type(-sum(map(mul, robot.gravity.tolist(), moment.tolist())))
    down = gravity_of(robot, gravity, dtype=moment.dtype)
    common_batch({"gravity": down, "q": moment})
    with np.errstate(all="ignore"):  # non-finite states of a batch must not warn
        return -dot(down, moment)


@verb
def momentum(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the momentum [angular about the world's origin; linear] (…, 6) in world axes."""
    ...


@verb
def center_of_mass(robot: Robot, q: ArrayLike) -> Array:
    """Return the centre of mass (…, 3) in world coordinates."""
    ...


@verb
def _first_moment(robot: Robot, q: ArrayLike) -> Array:
    """Return Σ mᵢ cᵢ (…, 3) in world coordinates."""
    ...
