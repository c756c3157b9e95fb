"""Successive rotations about given axes: the base of the universal and three-angle joints.

R = R(n₁, q₁) R(n₂, q₂) …; each axis is fixed in the frame after the rotations before it.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import reduce
from operator import matmul

import numpy as np

from hinge.errors import ModelError
from hinge.model.joints.contract import Axis, VectorJoint, unit
from hinge.spatial import Array, Transform, cross, matvec, rotation, transpose


class SuccessiveRotations(VectorJoint):
    """Turn by q[0], q[1], … about one axis after the other; qd holds the rates of the angles."""

    @abstractmethod
    def turns(self) -> tuple[Axis, ...]:
        """Return the axes in their order."""

    def placement(self, q: Array) -> Transform:
        """Return the rotations, one after the other."""
        return Transform.place(
            reduce(matmul, (rotation.about(n, q[..., k]) for k, n in enumerate(self.turns())))
        )

    def subspace(self, q: Array) -> Array:
        """Return [… (R_{k+1} … R_r)ᵀ n_k …; 0]: each axis seen from the outer frame."""
        columns: list[Array] = []
        after = np.eye(3)
        for k, axis in reversed(list(enumerate(self.turns()))):
            columns.insert(0, matvec(transpose(after), np.array(axis)))
            after = rotation.about(axis, q[..., k]) @ after
        angular = np.stack(np.broadcast_arrays(*columns), axis=-1)
        return np.concatenate([angular, np.zeros_like(angular)], axis=-2)

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Ṡ qd = [Σ_{j<k} (S_j qd_j) × (S_k qd_k); 0].

        The axis j is carried, seen from the outer frame, by the opposite of the rotations after it.
        """
        terms = self.subspace(q)[..., :3, :] * qd[..., None, :]
        total = before = terms[..., 0] * 0
        for k in range(self.nv):
            total = total + cross(before, terms[..., k])
            before = before + terms[..., k]
        return np.concatenate([total, np.zeros_like(total)], axis=-1)

    def reverse_state(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the coordinates in the opposite order."""
        return q[..., ::-1], qd[..., ::-1]


def crossing(axes: tuple[object, ...], names: tuple[str, ...]) -> tuple[Axis, ...]:
    """Return the axes as unit vectors; refuse parallel neighbours."""
    found = tuple(unit(n, name) for n, name in zip(axes, names, strict=True))
    for k in range(len(found) - 1):
        if np.linalg.norm(np.cross(found[k], found[k + 1])) < 1e-6:
            raise ModelError(
                f"{names[k]}, {names[k + 1]}: expected axes that are not parallel, got {found[k]} and "
                f"{found[k + 1]}"
            )
    return found
