"""Successive rotations about given axes: what the universal and the three-angle joint share.

R = R(n₁, q₁) R(n₂, q₂) …; each axis is fixed in the frame that the rotations before it have made.
"""

from __future__ import annotations

from functools import reduce
from operator import matmul

import numpy as np

from hinge.model.joints.contract import Axis
from hinge.spatial import Array, Transform, cross, matvec, rotation, transpose


def placement(axes: tuple[Axis, ...], q: Array) -> Transform:
    """Return the product of the rotations."""
    turns = [rotation.about(n, q[..., k]) for k, n in enumerate(axes)]
    return Transform.place(reduce(matmul, turns))


def subspace(axes: tuple[Axis, ...], q: Array) -> Array:
    """Return [… (R_{k+1} … R_r)ᵀ n_k …; 0]: each axis seen from the outer frame."""
    columns: list[Array] = []
    after = np.eye(3)
    for k in reversed(range(len(axes))):
        columns.insert(0, matvec(transpose(after), np.array(axes[k])))
        after = rotation.about(axes[k], q[..., k]) @ after
    angular = np.stack(np.broadcast_arrays(*columns), axis=-1)
    return np.concatenate([angular, np.zeros_like(angular)], axis=-2)


def bias(axes: tuple[Axis, ...], q: Array, qd: Array) -> Array:
    """Return Ṡ qd = [Σ_{j<k} (S_j qd_j) × (S_k qd_k); 0].

    The axis j is carried, seen from the outer frame, by the opposite of the rotations after it.
    """
    terms = subspace(axes, q)[..., :3, :] * qd[..., None, :]
    total = terms[..., 0] * 0
    before = total
    for k in range(len(axes)):
        total = total + cross(before, terms[..., k])
        before = before + terms[..., k]
    return np.concatenate([total, np.zeros_like(total)], axis=-1)
