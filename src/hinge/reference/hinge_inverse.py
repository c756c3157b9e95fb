"""The one small inverse of the articulated-body algorithm."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from hinge.errors import ModelError
from hinge.model import Joint
from hinge.spatial import Array, transpose


def hinge_inverse(joint: Joint, s: Array, h: Array) -> Array:
    """Return (Sᵀ I^A S + rotor inertia)⁻¹ (…, nv, nv), D⁻¹ of (6.58) and (7.19)."""
    d = transpose(s) @ h + np.diag(joint.reflected_inertia)
    if joint.nv:
        size = np.abs(np.linalg.eigvalsh(0.5 * (d + transpose(d))))
        least = 1e-13 * size.max(axis=-1) if joint.nv > 1 else 0.0
        if bool((size.min(axis=-1) <= least).any()):
            _singular(joint)
    return np.linalg.inv(d)


def _singular(joint: Joint) -> NoReturn:
    raise ModelError(
        f"joint {joint.name!r} moves no inertia in some direction, so its acceleration is not determined; "
        "give the bodies that it carries mass, lock the joint, or prescribe its motion"
    )
