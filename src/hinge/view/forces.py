"""Forces as arrows: weights of bodies, and joint efforts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.model import Joint, Robot, effort_subspace
from hinge.spatial import Array, matvec, transpose
from hinge.view.poses import Poses

#: Longest arrow relative to the robot's size, and shortest relative to the longest.
LONGEST, SHORTEST = 0.25, 0.02


@dataclass(frozen=True, eq=False)
class Arrows:
    """Vectors (…, n, 3) at points (…, n, 3) in the world."""

    starts: Array
    vectors: Array

    def ends(self, frame: int | None, size: float, largest: float | None = None) -> Array:
        """Return the end points (k, 2, 3) of the visible arrows of one frame.

        An arrow of length `LONGEST` × size means `largest`, by default the largest vector of all frames.
        """
        top = self.largest if largest is None else largest
        if not top > 0:
            return np.zeros((0, 2, 3))
        starts = self.starts if frame is None else self.starts[frame]
        vectors = self.vectors if frame is None else self.vectors[frame]
        scaled = vectors * (LONGEST * size / top)
        seen = np.linalg.norm(scaled, axis=-1) > SHORTEST * LONGEST * size
        return np.stack([starts, starts + scaled], axis=-2)[seen]

    @property
    def largest(self) -> float:
        """The norm of the largest vector, 0 if there is none."""
        sizes = np.linalg.norm(self.vectors, axis=-1)
        return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def weights(robot: Robot, poses: Poses, gravity: Array) -> Arrows:
    """Return the weight of each body, at its centre of mass, in N."""
    bodies = [i for i, b in enumerate(robot.bodies) if float(b.inertia.m) > 0]
    batch = poses.positions.shape[:-2]
    if not bodies:
        return Arrows(np.zeros((*batch, 0, 3)), np.zeros((*batch, 0, 3)))
    starts = np.stack(
        [poses.points(i, robot.bodies[i].inertia.com[None])[..., 0, :] for i in bodies], axis=-2
    )
    masses = np.array([float(robot.bodies[i].inertia.m) for i in bodies])
    return Arrows(starts, np.broadcast_to(masses[:, None] * gravity, starts.shape))


def joint_efforts(robot: Robot, poses: Poses, q: Array, tau: Array) -> tuple[Arrows, Arrows]:
    """Return the actuator moments in N m and forces in N at the joints, as exerted on the child bodies.

    Bearing forces are not included.
    """
    starts, moments, pushes = list[Array](), list[Array](), list[Array]()
    for i, joint in enumerate(robot.joints):
        own, tau_of_it = q[..., joint.q_slice], tau[..., joint.qd_slice]
        if not tau_of_it.any():
            continue
        f = _effort(joint, own, tau_of_it)
        turn = poses.rotations[..., i, :, :] @ joint.outer.rotation
        starts.append(poses.points(i, joint.outer.position[None])[..., 0, :])
        moments.append(matvec(turn, f[..., :3]))
        pushes.append(matvec(turn, f[..., 3:]))
    if not starts:
        none = np.zeros((*poses.positions.shape[:-2], 0, 3))
        return Arrows(none, none), Arrows(none, none)
    at = np.stack(starts, axis=-2)
    return Arrows(at, np.stack(moments, axis=-2)), Arrows(at, np.stack(pushes, axis=-2))


def _effort(joint: Joint, q: Array, tau: Array) -> Array:
    """Return the spatial force (…, 6) of a joint's actuators in its outer frame; 0 where it is singular."""
    power = transpose(joint.subspace(q))
    try:
        spanned = effort_subspace(joint, q)
        effort = np.linalg.solve(power @ spanned, tau[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return np.zeros((*tau.shape[:-1], 6))
    return matvec(joint.outer.force_matrix() @ spanned, effort)
