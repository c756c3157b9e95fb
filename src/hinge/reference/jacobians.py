"""Frame Jacobians: the columns are joint axes seen from the frame, as Ĵ of Featherstone (9.42)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration
from hinge.reference.arguments import refuse_loops
from hinge.reference.kinematics import forward_kinematics, frame_placement
from hinge.reference.motions import accelerations, velocities
from hinge.spatial import Array, ArrayLike, Transform, cross, motion

Expressed: TypeAlias = Literal["body", "world", "world-aligned"]


def jacobian(robot: Robot, q: ArrayLike, frame: str, *, expressed: Expressed = "body") -> Array:
    """Return J (…, 6, nv): the frame's velocity is J qd.

    `expressed` "body": in the frame's own axes at its origin; "world": in the world's axes at the
    world's origin; "world-aligned": in the world's axes at the frame's origin.
    """
    refuse_loops(robot)
    q = as_configuration(robot, q)
    placement = forward_kinematics(robot, q)
    f = robot.frame(frame)
    body = robot.body_index(f.body)
    target = f.placement @ placement[body]
    view = _view(target, expressed)
    out = np.zeros((*q.shape[:-1], 6, robot.nv))
    for i in robot.tree.support(body):
        j = robot.joints[i]
        to_frame = target @ placement[i].inv()
        out[..., j.qd_slice] += (view @ to_frame).motions(j.subspace(q[..., j.q_slice]))
    return out


def jacobian_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: str, *, expressed: Expressed = "body"
) -> Array:
    """Return the frame's spatial acceleration (…, 6) when qdd = 0, so that a = J qdd + bias."""
    f = robot.frame(frame)
    a = accelerations(robot, q, qd, np.zeros(robot.nv))[robot.body_index(f.body)]
    return _view(frame_placement(robot, q, frame), expressed).motion(f.placement.motion(a))


def classical_jacobian_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: str, *, expressed: Expressed = "body"
) -> Array:
    """Return the bias of the classical acceleration: that of the frame's origin as a point.

    [α; a + ω × v] from the spatial [α; a], (2.29). For "body" and "world-aligned".
    """
    if expressed == "world":
        raise ArgumentError(
            "expressed: expected 'body' or 'world-aligned' for a classical acceleration, got 'world', which "
            "moves the origin away from the frame"
        )
    a = jacobian_bias(robot, q, qd, frame, expressed=expressed)
    f = robot.frame(frame)
    v = f.placement.motion(velocities(robot, q, qd)[robot.body_index(f.body)])
    v = _view(frame_placement(robot, q, frame), expressed).motion(v)
    return motion(a[..., :3], a[..., 3:] + cross(v[..., :3], v[..., 3:]))


def _view(target: Transform, expressed: Expressed) -> Transform:
    """Return the transform from the frame's coordinates to those of `expressed`."""
    if expressed == "body":
        return Transform.identity()
    if expressed == "world":
        return target.inv()
    if expressed == "world-aligned":
        return Transform(target.rotation, np.zeros(3))
    raise ArgumentError(f"expressed: expected 'body', 'world' or 'world-aligned', got {expressed!r}")
