"""The joints' own forces: springs, dampers and friction. See `Joint` for their numbers."""

from __future__ import annotations

import numpy as np

from hinge.dynamics.signatures import verb
from hinge.errors import ArgumentError
from hinge.model import Joint, Robot, as_configuration, checked_robot
from hinge.model.joints import VectorJoint
from hinge.spatial import Array, ArrayLike, matvec

__all__ = ["elastic_energy", "passive_force"]


@verb
def passive_force(robot: Robot, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
    """Return τⱼ (…, nv), what springs, dampers and friction of the joints add to tau.

    −damping q̇ − friction q̇/√(q̇² + friction_speed²) − stiffness difference(rest, q), each coordinate on its
    own. Friction is Coulomb's made smooth: it has no jump at rest, so it does not hold a joint still, which
    creeps below `friction_speed` instead. `passive=True` puts these forces into `forward_dynamics`,
    `inverse_dynamics`, `bias_force` and `hybrid_dynamics`.
    """
    ...


def elastic_energy(robot: Robot, q: ArrayLike, *, passive: bool = True) -> Array:
    """Return ½ Σ stiffness difference(rest, q)² + ½ Σ ηᵀ K η (…) in J: in springs of joints and flexible
    bodies.

    Springs that have one: not those of planar and free joints, nor of a spherical one with stiffnesses that
    differ, whose forces do work on a round trip. Without `passive` only flexible bodies count.
    """
    whole = as_configuration(checked_robot(robot), q)
    total = np.zeros(whole.shape[:-1])
    for j in robot.joints if passive else ():
        if j.stiffness.any():
            _refuse_without_energy(j)
            stretch = j.type.difference(j.rest, whole[..., j.q_slice])
            total = total + 0.5 * (j.stiffness * stretch**2).sum(axis=-1)
    for b, j in zip(robot.bodies, robot.joints, strict=True):
        if b.flexible is not None:
            eta = whole[..., j.q_slice]
            total = total + 0.5 * (eta * matvec(b.flexible.stiffness, eta)).sum(axis=-1)
    return total


def _refuse_without_energy(joint: Joint) -> None:
    even = joint.type.isotropic and np.ptp(joint.stiffness) == 0
    if not (isinstance(joint.type, VectorJoint) or even):
        raise ArgumentError(
            "robot: expected springs on joints of angles and lengths, or equal stiffnesses on a spherical "
            f"joint, got {joint.stiffness} on joint {joint.name!r} ({joint.type.kind}), which have no energy"
        )
