"""Closures in pictures: the points of their two ends, and their forces as arrows."""

from __future__ import annotations

import numpy as np

from hinge.model import Robot, closure_ends, rows_of
from hinge.spatial import Array, Transform, matvec
from hinge.view.forces import Arrows
from hinge.view.poses import Poses


def closure_lines(robot: Robot, poses: Poses) -> Array:
    """Return the inner and the outer end of each closure (…, n, 2, 3) in the world; points if closed."""
    found = [
        np.stack([_point(poses, body, end.position) for body, end in closure_ends(robot, c)], axis=-2)
        for c in robot.closures
    ]
    return np.stack(found, axis=-3) if found else np.zeros((*poses.positions.shape[:-2], 0, 2, 3))


def closure_efforts(robot: Robot, poses: Poses, forces: Array) -> tuple[Arrows, Arrows]:
    """Return moments in N m and forces in N on the outer ends, from closure forces (…, m)."""
    starts, moments, pushes = list[Array](), list[Array](), list[Array]()
    first = 0
    for c in robot.closures:
        rows = rows_of(c.joint).matrix
        f = forces[..., first : first + len(rows)] @ rows
        first += len(rows)
        body, end = closure_ends(robot, c)[1]
        turn = poses.rotations[..., body, :, :] @ end.rotation
        starts.append(_point(poses, body, end.position))
        moments.append(matvec(turn, f[..., :3]))
        pushes.append(matvec(turn, f[..., 3:]))
    if not starts:
        none = np.zeros((*poses.positions.shape[:-2], 0, 3))
        return Arrows(none, none), Arrows(none, none)
    at = np.stack(starts, axis=-2)
    return Arrows(at, np.stack(moments, axis=-2)), Arrows(at, np.stack(pushes, axis=-2))


def ends_on_bodies(robot: Robot) -> list[tuple[int, Transform]]:
    """Return the ends of closures on bodies, not on the world: the body and the transform to the end."""
    return [(body, end) for c in robot.closures for body, end in closure_ends(robot, c) if body >= 0]


def _point(poses: Poses, body: int, point: Array) -> Array:
    """Return a point of a body (…, 3) in the world; that of the world itself is there already."""
    if body < 0:
        return np.broadcast_to(point, (*poses.positions.shape[:-2], 3))
    return poses.points(body, point[None])[..., 0, :]
