"""Where contacts touch: the points and the axes that their forces are given along."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.algebra import Ac
from hinge.dynamics.cached import Key, program
from hinge.dynamics.expressions import Parts
from hinge.dynamics.verbs import forward_kinematics
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot, contact_ends
from hinge.spatial import Array, ArrayLike, cross, matvec, transpose
from hinge.targets import best_target

__all__ = ["ContactFrames", "contact_frames"]

_ROWS = Parts({"rows": Ac}, touch="cones", verb="contact_frames")


@dataclass(frozen=True, eq=False)
class ContactFrames:
    """Where contacts touch, in the world: points (…, contacts, 3), and axes (…, contacts, 3, 3) as rows.

    The rows of `axes` are the normal, from the surface to the shape, and two tangents.
    """

    points: Array
    axes: Array

    def in_world(self, forces: ArrayLike) -> Array:
        """Return vectors in the world (…, contacts, 3) of forces or impulses along the axes."""
        return matvec(transpose(self.axes), np.asarray(forces))


def contact_frames(robot: Robot, q: ArrayLike) -> ContactFrames:
    """Return the points of shapes that are nearest to their surfaces, and the axes of contacts there.

    Forces of `contact_step` and of runs are along these axes; `contact_frames(robot, run.q).in_world(forces)`
    are vectors.
    """
    if not checked_robot(robot).contacts:
        raise ArgumentError(
            f"robot: expected one with contacts, got {robot.name!r}, which has none; say what may touch with "
            "hinge.with_contacts(robot, contacts), or hinge.on_ground(robot, frames)"
        )
    rows = program(Key(best_target(), robot, _ROWS, ())).evaluate(q, {})["rows"]
    ends = [contact_ends(robot, c) for c in robot.contacts]
    row = rows.shape[-2] - 3 * len(ends)  # closures come first
    column = rows.shape[-1] - 6 * sum(1 + (surface[0] >= 0) for _, surface in ends)
    bodies = forward_kinematics(robot, q)
    points, axes = list[Array](), list[Array]()
    for (body, end), surface in ends:
        column += 6 * (surface[0] >= 0)  # the end at the surface's body
        own = rows[..., row : row + 3, column : column + 6]
        row, column = row + 3, column + 6
        turns, along = own[..., :3], own[..., 3:]  # arm × d and d, for each axis d, in the shape's frame
        arm = cross(along, turns).sum(-2) / 2
        shape = end @ bodies[body]
        points.append(shape.position + matvec(shape.rotation, arm))
        axes.append(along @ transpose(shape.rotation))
    return ContactFrames(np.stack(points, axis=-2), np.stack(axes, axis=-3))
