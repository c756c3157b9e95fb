"""Subspaces of motion and force: joint freedoms, constraint forces, and dual bases.

A subspace is the matrix (…, 6, r) of a basis: Featherstone section 3.10. Motion and force live in
dual coordinates, so his spatial transpose is the ordinary one.
"""

from __future__ import annotations

import numpy as np

from hinge.errors import ArgumentError
from hinge.spatial.vector3 import Array, matvec, transpose


def reciprocal(s: Array) -> Array:
    """Return an orthonormal basis T (…, 6, 6 − r) of the reciprocal of s: sᵀ T = 0, (3.25).

    For a motion subspace these are the constraint forces, which do no work on it, and vice versa.
    """
    s = np.asarray(s, dtype=np.float64)
    r = s.shape[-1]
    u, values, _ = np.linalg.svd(s, full_matrices=True)
    if r and bool((values[..., -1] <= 1e-12 * values[..., 0]).any()):
        raise ArgumentError(
            f"s: its {r} columns are linearly dependent, so they are not a basis; pass independent columns"
        )
    return u[..., :, r:]


def dual_basis(s: Array) -> Array:
    """Return the basis F of the dual space spanned like s with sᵀ F = 1, (3.28).

    F = s (sᵀ s)⁻¹. With six columns it is the reciprocal basis s⁻ᵀ; with fewer it is the one whose
    members are combinations of the columns of s.
    """
    return s @ np.linalg.inv(transpose(s) @ s)


def coordinates(s: Array, t: Array, a: Array) -> Array:
    """Return α with s α = a up to what t does not see: (tᵀ s)⁻¹ tᵀ a, (3.27)."""
    tt = transpose(t)
    return np.linalg.solve(tt @ s, (tt @ a[..., None]))[..., 0]


def resolve(s: Array, f: Array, a: Array) -> tuple[Array, Array]:
    """Split the force a into the part f (sᵀ f)⁻¹ sᵀ a in f and the rest, which does no work on s."""
    part = matvec(f, coordinates(f, s, a))
    return part, a - part
