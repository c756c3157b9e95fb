"""The actuator model of Featherstone section 7.4.2: efforts, their subspace, and bearing forces.

All spatial quantities are in the coordinates of the joint's child body; q is the joint's own.
"""

from __future__ import annotations

import numpy as np

from hinge.errors import ModelError
from hinge.model.parts import Joint
from hinge.spatial import Array, as_array, coordinates, dual_basis, matvec, resolve, transpose


def effort_subspace(joint: Joint, q: Array) -> Array:
    """Return F (…, 6, nv) of (7.12): the spatial force of a unit effort of each actuator.

    Without an F of its own, a joint has the dual F = S (SᵀS)⁻¹ of its motion: a pure couple for
    revolute, a pure force for prismatic, and for a screw the force of pitch 1/ρ of section 7.3.
    """
    if joint.effort_subspace is not None:
        return joint.outer.inv().forces(as_array(joint.effort_subspace))
    natural = dual_basis(joint.type.subspace(q))
    return joint.outer.inv().forces(natural)


def is_properly_powered(joint: Joint, q: Array | None = None) -> bool:
    """Tell whether SᵀF is regular at q: every motion can be driven, none twice."""
    q = joint.type.neutral() if q is None else q
    if joint.nv == 0:
        return True
    power = transpose(joint.subspace(q)) @ effort_subspace(joint, q)
    return bool((np.linalg.svd(power, compute_uv=False)[..., -1] > 1e-9).all())


def actuator_effort(joint: Joint, q: Array, f: Array) -> Array:
    """Return the efforts Qᵃ (…, nv) when the joint transmits the spatial force f: (7.14)."""
    _need_power(joint, q)
    return coordinates(effort_subspace(joint, q), joint.subspace(q), f)


def generalized_force(joint: Joint, q: Array, effort: Array) -> Array:
    """Return tau = SᵀF Qᵃ (…, nv) for actuator efforts Qᵃ."""
    return matvec(transpose(joint.subspace(q)) @ effort_subspace(joint, q), effort)


def reaction_force(joint: Joint, q: Array, f: Array) -> Array:
    """Return the part of the transmitted force f (…, 6) that the bearings carry: (7.15)."""
    _need_power(joint, q)
    return resolve(joint.subspace(q), effort_subspace(joint, q), f)[1]


def _need_power(joint: Joint, q: Array) -> None:
    if not is_properly_powered(joint, q):
        raise ModelError(
            f"joint {joint.name!r} is not properly powered: its effort subspace leaves a motion "
            "undriven (SᵀF is singular); give a (6, nv) effort_subspace that does not"
        )
