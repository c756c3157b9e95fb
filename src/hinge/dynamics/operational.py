"""Verbs of the operational space: the dynamics of a robot as its frames see them (SOA paper, section 5).

For the spatial force F that acts at frames, and their spatial acceleration ẍ = J q̈ + bias (`accelerations`),

    Λ ẍ + μ + p = F,    Λ = (J 𝓜⁻¹ Jᵀ)⁻¹,    μ = Λ (J 𝓜⁻¹ C − bias),    p = Λ J 𝓜⁻¹ G,

where C are the Coriolis forces and G the gravity forces of the hinges. `frame` is a name, several names,
which stack the frames' rows, or None for all bodies; `expressed` says in which axes, as for `velocities`.

Where J has not full rank (fewer degrees of freedom than rows, or a singular pose) there is no Λ: what needs
it is nan or, after rounding, huge. `operational_inverse_inertia` is there always.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hinge.binding import Expressed
from hinge.dynamics.kept import Frames, Quick, checked_axes, compiled, names_of
from hinge.dynamics.verbs import refuse_world
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, as_vector, common_batch
from hinge.spatial import Array, ArrayLike

#: What chooses the code of a verb beside the robot.
_AT_FRAMES = ("frame", "expressed")
_OPERATIONAL_INVERSE_INERTIA = Quick("operational_inverse_inertia", _AT_FRAMES)
_OPERATIONAL_INERTIA = Quick("operational_inertia", _AT_FRAMES)
_CONSISTENT_INVERSE = Quick("consistent_inverse", _AT_FRAMES)
_OPERATIONAL_BIAS = Quick("operational_bias", _AT_FRAMES)
_CLASSICAL_OPERATIONAL_BIAS = Quick("classical_operational_bias", _AT_FRAMES)
_OPERATIONAL_GRAVITY = Quick("operational_gravity", _AT_FRAMES)
_FORCE_CORRECTION = Quick("force_correction", _AT_FRAMES)
_ROW_PRODUCTS = Quick("jacobian_row_products", _AT_FRAMES)
_COLUMN_PRODUCTS = Quick("jacobian_column_products", _AT_FRAMES)
_SOLVE = Quick("jacobian_solve", _AT_FRAMES)


@_OPERATIONAL_INVERSE_INERTIA.natively
def operational_inverse_inertia(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return Λ⁻¹ = J 𝓜⁻¹ Jᵀ (…, 6, 6), or (…, 6n, 6n) of n frames: accelerations per force.

    Derived to Bᵀ ψᵀ Hᵀ D⁻¹ H ψ B, SOA paper (5.5), JPL 88-11 (6.7) of part II.
    """
    return _value(_OPERATIONAL_INVERSE_INERTIA, robot, frame, expressed, q, out=out)


@_OPERATIONAL_INERTIA.natively
def operational_inertia(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return the inertia Λ = (J 𝓜⁻¹ Jᵀ)⁻¹ (…, 6n, 6n) that a hand at the frames feels; J of full rank."""
    return _value(_OPERATIONAL_INERTIA, robot, frame, expressed, q, out=out)


@_CONSISTENT_INVERSE.natively
def consistent_inverse(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return J̄ = 𝓜⁻¹ Jᵀ Λ (…, nv, 6n), the dynamically consistent inverse: J J̄ = I; J of full rank.

    Hinge forces (I − Jᵀ J̄ᵀ) τ accelerate the frames in no way.
    """
    return _value(_CONSISTENT_INVERSE, robot, frame, expressed, q, out=out)


@_OPERATIONAL_BIAS.natively
def operational_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: Frames, *, expressed: Expressed = "body"
) -> Array:
    """Return μ (…, 6), or (…, n, 6) of n frames: the force that keeps their spatial acceleration zero.

    Without gravity, which is `operational_gravity`; J of full rank.
    """
    return _OPERATIONAL_BIAS.at(robot, frame, expressed, q, qd)


@_CLASSICAL_OPERATIONAL_BIAS.natively
def classical_operational_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: Frames, *, expressed: Expressed = "body"
) -> Array:
    """Return the same for the classical acceleration [ω̇; p̈]; `expressed` "body" or "world-aligned"."""
    refuse_world(expressed)
    return _CLASSICAL_OPERATIONAL_BIAS.at(robot, frame, expressed, q, qd)


@_OPERATIONAL_GRAVITY.natively
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
    more = {} if gravity is None else {"gravity": gravity}
    found = _value(_OPERATIONAL_GRAVITY, robot, frame, expressed, q, more=more)
    return found[..., 0, :] if more and isinstance(frame, str) else found


@_FORCE_CORRECTION.natively
def force_correction(
    robot: Robot, q: ArrayLike, force: ArrayLike, frame: Frames, *, expressed: Expressed = "body"
) -> Array:
    """Return 𝓜⁻¹ Jᵀ f (…, nv): what a force [n; f] (…, 6) on the frame adds to qdd, SOA paper (5.3).

    With n frames the forces are (…, n, 6).
    """
    force = _at_frames(robot, q, force, "force", frame)
    return _FORCE_CORRECTION.at(robot, frame, expressed, q, force)


@_ROW_PRODUCTS.natively
def jacobian_row_products(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return J Jᵀ (…, 6n, 6n), whose determinant tells how far the pose is from a singular one."""
    return _value(_ROW_PRODUCTS, robot, frame, expressed, q, out=out)


@_COLUMN_PRODUCTS.natively
def jacobian_column_products(
    robot: Robot, q: ArrayLike, frame: Frames, *, expressed: Expressed = "body", out: Array | None = None
) -> Array:
    """Return Jᵀ J (…, nv, nv), SOA paper section 2."""
    return _value(_COLUMN_PRODUCTS, robot, frame, expressed, q, out=out)


@_SOLVE.natively
def jacobian_solve(
    robot: Robot, q: ArrayLike, velocity: ArrayLike, frame: Frames, *, expressed: Expressed = "body"
) -> Array:
    """Return the least qd (…, nv) with J qd = velocity, (…, 6) or of n frames (…, n, 6); J of full rank.

    Jᵀ (J Jᵀ)⁻¹ x, which is J⁻¹ x where the arm is not redundant.
    """
    velocity = _at_frames(robot, q, velocity, "velocity", frame)
    return _SOLVE.at(robot, frame, expressed, q, velocity)


def _value(
    table: Quick,
    robot: Robot,
    frame: Frames,
    expressed: Expressed,
    q: ArrayLike,
    *,
    more: Mapping[str, ArrayLike] | None = None,
    out: Array | None = None,
) -> Array:
    """Return the value of a verb of q alone, with what replaces gravity, or into an array."""
    if out is None and not more:
        return table.at(robot, frame, expressed, q)
    f = compiled(robot, table.verb, names_of(robot, frame), checked_axes(expressed))
    return f.evaluate(q, more or {}, out={table.verb: out})[table.verb]


def _at_frames(robot: Robot, q: ArrayLike, value: ArrayLike, name: str, frame: Frames) -> Array:
    """Return spatial vectors at one frame (…, 6), or at several (…, n, 6), checked against q."""
    single = all(isinstance(x, np.ndarray) and x.dtype == np.float32 for x in (q, value))
    dtype = np.float32 if single else np.float64
    found = as_vector(value, name, 6, "a spatial vector has six numbers", dtype=dtype)
    count = len(names_of(robot, frame))
    if not isinstance(frame, str) and (found.ndim < 2 or found.shape[-2] != count):
        raise ArgumentError(
            f"{name}: has shape {found.shape}; wanted (…, {count}, 6), a row for each of the frames"
        )
    batch = found if isinstance(frame, str) else found[..., 0] if count else found.reshape(-1)
    common_batch({"q": as_configuration(robot, q, dtype=dtype), name: batch})
    return found
