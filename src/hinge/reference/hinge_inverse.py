"""The one small inverse of the articulated-body algorithm."""

from __future__ import annotations

import numpy as np

from hinge.errors import ModelError
from hinge.model import Joint
from hinge.spatial import Array, transpose


def hinge_inverse(joint: Joint, s: Array, h: Array) -> Array:
    """Return (Sᵀ I^A S + rotor inertia)⁻¹ (…, nv, nv), D⁻¹ of (6.58) and (7.19)."""
    try:
        return np.linalg.inv(transpose(s) @ h + np.diag(joint.rotor_inertia))
    except np.linalg.LinAlgError:
        raise ModelError(
            f"joint {joint.name!r} moves no inertia, so its acceleration is not determined; give the "
            "bodies that it carries mass, lock the joint, or prescribe its motion"
        ) from None
