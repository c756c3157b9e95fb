"""Flexible bodies in pictures: their lines, bent as they are, or more so."""

from __future__ import annotations

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Body, Robot
from hinge.spatial import Array
from hinge.view.poses import Poses


def flexed_lines(robot: Robot, q: Array, poses: Poses) -> Array:
    """Return the pieces (…, n, 2, 3) of the lines of all flexible bodies in the world, at q (…, nq)."""
    found = [np.zeros((*poses.positions.shape[:-2], 0, 2, 3))]
    for i, (body, joint) in enumerate(zip(robot.bodies, robot.joints, strict=True)):
        if body.flexible is not None:
            places = _places(body, q[..., joint.q_slice])
            turned = np.einsum("...ab,...kb->...ka", poses.rotations[..., i, :, :], places)
            moved = turned + poses.positions[..., i, None, :]
            ends = [(k, k + 1) for k in range(places.shape[-2] - 1)]
            if body.flexible.line is None:
                ends = [(0, k + 1) for k in range(places.shape[-2] - 1)]
            if ends:
                found.append(np.stack([moved[..., list(pair), :] for pair in ends], axis=-3))
    return np.concatenate(found, axis=-3)


def _places(body: Body, eta: Array) -> Array:
    """Return places of a body (…, s, 3): those of its line, or the origin and its attachments."""
    flexible = body.flexible
    assert flexible is not None
    if flexible.line is not None:
        return flexible.line.at(eta)
    found = [np.zeros((*eta.shape[:-1], 3))]
    for f in flexible.frames:
        shift = f.placement.r + eta @ f.shapes[3:].T
        if f.second is not None:
            shift = shift + 0.5 * np.einsum("ajk,...j,...k->...a", f.second, eta, eta)
        found.append(shift)
    return np.stack(found, axis=-2)


def exaggerated(robot: Robot, q: Array, factor: float) -> Array:
    """Return q with the modes of flexible bodies this many times as large."""
    if not (isinstance(factor, int | float) and np.isfinite(factor) and factor > 0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"exaggerate: expected a number > 0, got {factor!r}")
    if factor == 1 or not robot.is_flexible:
        return q
    found = q.copy()
    for body, joint in zip(robot.bodies, robot.joints, strict=True):
        if body.flexible is not None:
            found[..., joint.q_slice] *= factor
    return found
