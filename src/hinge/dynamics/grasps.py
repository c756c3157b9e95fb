"""Forces of a grasp: those that move the object, and those that only press on it.

JPL 88-11 part II: arms that hold an object are closures between hands and a body on a free joint. Closure
forces whose sum on the object vanishes do no work and accelerate nothing; they are the internal forces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hinge.dynamics.closed import closure_jacobian
from hinge.dynamics.rows import RANK
from hinge.errors import ArgumentError
from hinge.model import Robot, as_vector, checked_robot, rows_of
from hinge.spatial import Array, ArrayLike

__all__ = ["Grip", "grasp_report", "internal_forces", "squeeze"]


def internal_forces(robot: Robot, q: ArrayLike, forces: ArrayLike, held: str) -> Array:
    """Return the part of closure forces (…, m) that presses on a held body without moving it.

    `held` is the name of the body, which is on a free joint. The internal part is the orthogonal projection
    onto the forces whose sum on that body is zero; what is left moves it.
    """
    ways = np.swapaxes(closure_jacobian(robot, q)[..., _object(robot, held)], -1, -2)
    given = _forces(robot, forces)
    return given - (np.linalg.pinv(ways, rcond=RANK) @ ways @ given[..., None])[..., 0]


def squeeze(robot: Robot, q: ArrayLike, forces: ArrayLike, held: str) -> Array:
    """Return hinge forces (…, nv) that add internal forces (…, m) to those of the closures, and move nothing.

    τ = −Jcᵀ f: the closures answer with f, and accelerations stay as they are. Forces that are not internal
    are refused, see `internal_forces`.
    """
    given, jacobian = _forces(robot, forces), closure_jacobian(robot, q)
    tau = -(np.swapaxes(jacobian, -1, -2) @ given[..., None])[..., 0]
    left = np.abs(tau[..., _object(robot, held)]).max(initial=0.0)
    if left > 1e-9 * max(1.0, float(np.abs(given).max(initial=0.0))):
        raise ArgumentError(
            f"forces: expected internal ones, which leave body {held!r} at rest, got a sum of {left:.3g} on "
            "it; pass internal_forces(robot, q, forces, held)"
        )
    tau[..., _object(robot, held)] = 0.0
    return tau


@dataclass(frozen=True, eq=False)
class Grip:
    """How a contact is loaded: normal force (…), pressing above zero, and the share of its cone in use (…).

    A share above 1 slips, a normal force below zero lets go.
    """

    normal: Array
    share: Array


def grasp_report(
    robot: Robot, forces: ArrayLike, *, friction: float | Mapping[str, float], spin: float = 0.005
) -> dict[str, Grip]:
    """Return for each closure by a contact, a point or a soft finger, how it is loaded.

    The normal is z of the closure's outer frame, into the body that is held. `friction` is the coefficient
    μ, one for all or by names of closures; `spin` (m) is the radius at which a soft finger's torque counts
    as a force.
    """
    given, found, start = _forces(robot, forces), dict[str, Grip](), 0
    for c in robot.closures:
        names = rows_of(c.joint).names
        part = given[..., start : start + len(names)]
        start += len(names)
        if {"vx", "vy", "vz"} <= {*names} and "wx" not in names:
            found[c.name] = _grip(names, part, _coefficient(friction, c.name), spin)
    return found


def _grip(names: tuple[str, ...], force: Array, friction: float, spin: float) -> Grip:
    if friction <= 0 or spin <= 0:
        raise ArgumentError(f"friction, spin: expected numbers above zero, got {friction} and {spin}")
    normal = force[..., names.index("vz")]
    sideways = force[..., names.index("vx")] ** 2 + force[..., names.index("vy")] ** 2
    if "wz" in names:
        sideways = sideways + (force[..., names.index("wz")] / spin) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.sqrt(sideways) / (friction * np.maximum(normal, 0.0))
    return Grip(normal, np.where(sideways == 0.0, 0.0, share))


def _coefficient(friction: float | Mapping[str, float], name: str) -> float:
    if not isinstance(friction, Mapping):
        return float(friction)
    if name not in friction:
        known = ", ".join(friction)
        raise ArgumentError(f"friction: expected a coefficient for closure {name!r}, got {known}")
    return float(friction[name])


def _forces(robot: Robot, forces: ArrayLike) -> Array:
    count = sum(len(rows_of(c.joint).names) for c in checked_robot(robot).closures)
    return as_vector(forces, "forces", count, f"robot {robot.name!r} has {count} rows of closures")


def _object(robot: Robot, held: str) -> slice:
    """Return the degrees of freedom of a held body."""
    joint = checked_robot(robot).joint_of(held)
    if joint.type.kind != "free" or joint.parent is not None:
        raise ArgumentError(
            f"held: expected a body on a free joint to the world, got {held!r} on a {joint.type.kind} joint"
        )
    return joint.qd_slice
