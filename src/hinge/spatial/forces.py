"""Spatial force vectors [n; f]: couple about the origin first, then the force.

Plain arrays (…, 6) in coordinates dual to those of motion: the power is the ordinary product
vᵀ f, so that Featherstone's spatial transpose (3.18) is here the ordinary one.
"""

from __future__ import annotations

import numpy as np

from hinge.spatial.motions import motion_cross_matrix
from hinge.spatial.vector3 import Array, ArrayLike, as_array, cross, transpose


def force(couple: ArrayLike, linear: ArrayLike) -> Array:
    """Return the force vector [n; f] from its two halves (…, 3)."""
    n, f = np.broadcast_arrays(as_array(couple), as_array(linear))
    return np.concatenate([n, f], axis=-1)


def force_cross(v: Array, f: Array) -> Array:
    """Return v ×̂* f, the rate of the force vector f that is carried along by v: (3.10)."""
    w, u = v[..., :3], v[..., 3:]
    n, g = f[..., :3], f[..., 3:]
    return force(cross(w, n) + cross(u, g), cross(w, g))


def force_cross_matrix(v: Array) -> Array:
    """Return the matrix v ×̂* = −(v ×̂)ᵀ. (…, 6) → (…, 6, 6)."""
    return -transpose(motion_cross_matrix(v))


def shift_force(f: Array, r: Array) -> Array:
    """Return f with its origin moved by r (same axes): n_P = n_O − r × f."""
    n, g = f[..., :3], f[..., 3:]
    return force(n - cross(r, g), g)


def force_at(point: ArrayLike, linear: ArrayLike) -> Array:
    """Return the pure force `linear` whose line passes through `point`."""
    p, f = as_array(point), as_array(linear)
    return force(cross(p, f), f)
