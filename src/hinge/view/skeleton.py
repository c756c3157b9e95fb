"""A robot as links from joint to joint, and bodies as ellipsoids of equal inertia."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.model import Body, Robot
from hinge.spatial import Array, Inertia, Transform
from hinge.view.loops import ends_on_bodies
from hinge.view.poses import Poses

#: Shorter sticks, relative to the robot's size, are points.
SHORTEST = 1e-6


@dataclass(frozen=True)
class Sticks:
    """Lines fixed on bodies: body indices (n,) and end points (n, 2, 3) in body coordinates."""

    bodies: Array
    ends: Array

    def placed(self, poses: Poses) -> Array:
        """Return the end points (…, n, 2, 3) in the world."""
        found = [poses.points(i, ends) for i, ends in zip(self.bodies.tolist(), self.ends, strict=True)]
        return np.stack(found, axis=-3) if found else np.zeros((*poses.positions.shape[:-2], 0, 2, 3))


def sticks(robot: Robot) -> Sticks:
    """Return lines from each body's joint to the joints and closures it carries, or to frames or mass."""
    carried: dict[str | None, list[Array]] = {}
    for joint in robot.joints:
        carried.setdefault(joint.parent, []).append(joint.inner.position)
    fixed: dict[str, list[Array]] = {}
    for frame in robot.frames:
        fixed.setdefault(frame.body, []).append(frame.placement.position)
    closed: dict[int, list[Array]] = {}
    for k, end in ends_on_bodies(robot):
        closed.setdefault(k, []).append(end.position)
    found: list[tuple[int, Array]] = []
    for i, (body, joint) in enumerate(zip(robot.bodies, robot.joints, strict=True)):
        if body.flexible is not None:
            continue  # its line bends: see `flexed`
        start = joint.outer.position
        targets = (
            [*carried.get(body.name, ()), *closed.get(i, ())] or fixed.get(body.name) or [body.inertia.com]
        )
        found += [(i, np.stack([start, end])) for end in targets]
    kept = [(i, ends) for i, ends in found if np.abs(ends[1] - ends[0]).max() > SHORTEST]
    return Sticks(
        np.array([i for i, _ in kept], dtype=int),
        np.array([ends for _, ends in kept]).reshape(-1, 2, 3),
    )


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid on a body: its semi-axes (3,) in m, and its placement in the body's coordinates."""

    axes: Array
    placement: Transform


def ellipsoid(body: Body) -> Ellipsoid | None:
    """Return the homogeneous ellipsoid with a body's mass and inertia; None without extent.

    From I = m/5 (b² + c²) … the semi-axes are a² = 5/(2 m) (J + K − I); a moment that violates the triangle
    inequality gives a flat one.
    """
    inertia: Inertia = body.inertia
    mass = float(inertia.m)
    if mass <= 0:
        return None
    moments, axes = np.linalg.eigh(inertia.central)
    squares = 2.5 / mass * (moments.sum() - 2 * moments)
    lengths = np.sqrt(np.maximum(squares, 0.0))
    if not lengths.max() > 0:
        return None
    if np.linalg.det(axes) < 0:
        axes = axes * np.array([1.0, 1.0, -1.0])
    return Ellipsoid(np.maximum(lengths, 0.02 * lengths.max()), Transform.place(axes, inertia.com))


def capped(solid: Ellipsoid, points: Array, least: float) -> Ellipsoid:
    """Return an ellipsoid no longer than the points (n, 3) of its body are apart, at least `least`.

    Moments that were identified, rather than computed from a shape, may belong to a body that is far larger.
    """
    extent = float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0
    shrink = min(1.0, max(extent, least) / (2 * float(solid.axes.max())))
    return Ellipsoid(shrink * solid.axes, solid.placement)


def link_points(robot: Robot) -> list[Array]:
    """Return for each body the points (n, 3) where joints and frames sit, and its centre of mass."""
    lines = sticks(robot)
    found = [[b.inertia.com[None]] for b in robot.bodies]
    for i, ends in zip(lines.bodies.tolist(), lines.ends, strict=True):
        found[i].append(ends)
    return [np.concatenate(x) for x in found]
