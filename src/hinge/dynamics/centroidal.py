"""Momentum about the centre of mass, as a function of joint rates and accelerations.

The programs give what is about the world's origin, [h; p], and beside it the composite inertia of the robot,
which holds the centre of mass c. About c the momentum is [h − c × p; p]; its rate is [ḣ − c × ṗ; ṗ], since
ċ × p = 0, so that one shift serves the matrix, the bias and the momentum.
"""

from __future__ import annotations

import numpy as np

from hinge.dynamics.cached import compiled
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot
from hinge.spatial import Array, ArrayLike, cross, unskew

__all__ = ["centroidal_momentum", "centroidal_momentum_bias", "centroidal_momentum_matrix"]


def centroidal_momentum_matrix(robot: Robot, q: ArrayLike) -> Array:
    """Return A (…, 6, nv): A qd is the momentum [angular about the centre of mass; linear] in world axes."""
    found = _about_center("centroidal_momentum_matrix", robot, q, columns=True)
    return np.swapaxes(found, -1, -2)


def centroidal_momentum_bias(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return Ȧ q̇ (…, 6): the rate of the same momentum is A qdd + Ȧ q̇."""
    return _about_center("centroidal_momentum_bias", robot, q, qd)


def centroidal_momentum(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the momentum [angular about the centre of mass; linear] (…, 6) in world axes."""
    return _about_center("centroidal_momentum", robot, q, qd)


def _about_center(verb: str, robot: Robot, *arrays: ArrayLike, columns: bool = False) -> Array:
    """Return a momentum, its rate, or the columns of a matrix as rows, about the centre of mass."""
    if checked_robot(robot).mass == 0:
        raise ArgumentError(
            f"robot: expected a mass above zero, got 0 for {robot.name!r}; give its bodies mass"
        )
    found = compiled(robot, verb).entry(*arrays)
    x, inertia = found["momentum"], found["inertia"]
    with np.errstate(all="ignore"):  # non-finite states of a batch must not warn
        c = unskew(inertia[..., :3, 3:]) / inertia[..., 3, 3, None]
        if columns:
            x, c = np.swapaxes(x, -1, -2), c[..., None, :]
        return np.concatenate([x[..., :3] - cross(c, x[..., 3:]), x[..., 3:]], axis=-1)
