"""The poses of all bodies at all times, computed at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.dynamics import forward_kinematics
from hinge.model import Robot
from hinge.spatial import Array, quaternion, transpose


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of bodies in the world: positions (…, n, 3) and rotations (…, n, 3, 3)."""

    positions: Array
    rotations: Array

    @property
    def quaternions(self) -> Array:
        """The rotations as quaternions (…, n, 4), w first."""
        return quaternion.from_matrix(self.rotations)

    def points(self, body: int, points: Array) -> Array:
        """Return points (k, 3) of a body as (…, k, 3) in the world."""
        turned = points @ transpose(self.rotations[..., body, :, :])
        return turned + self.positions[..., body, None, :]


def body_poses(robot: Robot, q: Array) -> Poses:
    """Return the poses of all bodies for configurations (…, nq)."""
    found = forward_kinematics(robot, q)
    batch = q.shape[:-1]
    positions = [np.broadcast_to(x.position, (*batch, 3)) for x in found]
    rotations = [np.broadcast_to(x.rotation, (*batch, 3, 3)) for x in found]
    if not found:
        return Poses(np.zeros((*batch, 0, 3)), np.zeros((*batch, 0, 3, 3)))
    return Poses(np.stack(positions, axis=-2), np.stack(rotations, axis=-3))


def held(q: Array) -> Array:
    """Return q (…, T, nq) with NaN replaced by the last valid state."""
    good = np.isfinite(q).all(-1)
    at = np.where(good, np.arange(q.shape[-2]), 0)
    last = np.maximum.accumulate(at, axis=-1)
    return np.take_along_axis(q, last[..., None], axis=-2)


def thinned(count: int, most: int) -> Array:
    """Return at most `most` evenly spaced indices below `count`, first and last included."""
    return np.unique(np.round(np.linspace(0, count - 1, min(count, most))).astype(int))
