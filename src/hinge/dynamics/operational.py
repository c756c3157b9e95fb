"""Verbs of the operational space: the dynamics of a robot as its frames see them (SOA paper, section 5).

For the spatial force F that acts at frames, and their spatial acceleration ẍ = J q̈ + bias (`accelerations`),

    Λ ẍ + μ + p = F,    Λ = (J 𝓜⁻¹ Jᵀ)⁻¹,    μ = Λ (J 𝓜⁻¹ C − bias),    p = Λ J 𝓜⁻¹ G,

where C are the Coriolis forces and G the gravity forces of the hinges. `frame` is a name, several names,
which stack the frames' rows, or None for all bodies; `expressed` says in which axes, as for `velocities`.

Where J has not full rank (fewer degrees of freedom than rows, or a singular pose) there is no Λ: what needs
it is nan or, after rounding, huge. `operational_inverse_inertia` is there always.
"""

from __future__ import annotations

from hinge.algebra import f_ext, x_n
from hinge.binding import Expressed
from hinge.dynamics.cached import Frames
from hinge.dynamics.signatures import verb
from hinge.dynamics.verbs import PointAxes
from hinge.model import Robot
from hinge.spatial import Array, ArrayLike

__all__ = [
    "classical_operational_bias",
    "consistent_inverse",
    "force_correction",
    "jacobian_column_products",
    "jacobian_row_products",
    "jacobian_solve",
    "operational_bias",
    "operational_gravity",
    "operational_inertia",
    "operational_inverse_inertia",
]


@verb
def operational_inverse_inertia(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return Λ⁻¹ = J 𝓜⁻¹ Jᵀ (…, 6, 6), or (…, 6n, 6n) of n frames: accelerations per force.

    Derived to Bᵀ ψᵀ Hᵀ D⁻¹ H ψ B, SOA paper (5.5), JPL 88-11 (6.7) of part II.
    """
    ...


@verb
def operational_inertia(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return the inertia Λ = (J 𝓜⁻¹ Jᵀ)⁻¹ (…, 6n, 6n) that a hand at the frames feels; J of full rank."""
    ...


@verb
def consistent_inverse(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return J̄ = 𝓜⁻¹ Jᵀ Λ (…, nv, 6n), the dynamically consistent inverse: J J̄ = I; J of full rank.

    Hinge forces (I − Jᵀ J̄ᵀ) τ accelerate the frames in no way.
    """
    ...


@verb
def operational_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: Frames, *, expressed: Expressed = "body"
) -> Array:
    """Return μ (…, 6), or (…, n, 6) of n frames: the force that keeps their spatial acceleration zero.

    Without gravity, which is `operational_gravity`; J of full rank.
    """
    ...


@verb
def classical_operational_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: Frames, *, expressed: PointAxes = "body"
) -> Array:
    """Return the same for the classical acceleration [ω̇; p̈]; `expressed` "body" or "world-aligned"."""
    ...


@verb
def operational_gravity(
    robot: Robot,
    q: ArrayLike,
    frame: Frames,
    *,
    expressed: Expressed = "body",
    gravity: ArrayLike | None = None,
) -> Array:
    """Return p (…, 6), or (…, n, 6) of n frames: the force that holds them against gravity; J of full rank.

    `gravity` (…, 3) replaces the robot's own.
    """
    ...


@verb(force=f_ext)
def force_correction(
    robot: Robot, q: ArrayLike, force: ArrayLike, frame: Frames, *, expressed: Expressed = "body"
) -> Array:
    """Return 𝓜⁻¹ Jᵀ f (…, nv): what a force [n; f] (…, 6) on the frame adds to qdd, SOA paper (5.3).

    With n frames the forces are (…, n, 6).
    """
    ...


@verb
def jacobian_row_products(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return J Jᵀ (…, 6n, 6n), whose determinant tells how far the pose is from a singular one."""
    ...


@verb
def jacobian_column_products(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return Jᵀ J (…, nv, nv), SOA paper section 2."""
    ...


@verb(velocity=x_n)
def jacobian_solve(
    robot: Robot, q: ArrayLike, velocity: ArrayLike, frame: Frames, *, expressed: Expressed = "body"
) -> Array:
    """Return the least qd (…, nv) with J qd = velocity, (…, 6) or of n frames (…, n, 6); J of full rank.

    Jᵀ (J Jᵀ)⁻¹ x, which is J⁻¹ x where the arm is not redundant.
    """
    ...
