"""Momentum about the centre of mass, as a function of joint rates and accelerations.

The expressions give what is about the world's origin, [h; p], and beside it the composite inertia of the
robot, which holds the centre of mass c. About c the momentum is [h − c × p; p]; its rate is [ḣ − c × ṗ; ṗ],
since ċ × p = 0, so that one shift (`views.about_center`) serves the matrix, the bias and the momentum.
"""

from __future__ import annotations

from hinge.dynamics.signatures import verb
from hinge.model import Robot
from hinge.spatial import Array, ArrayLike

__all__ = ["centroidal_momentum", "centroidal_momentum_bias", "centroidal_momentum_matrix"]


@verb
def centroidal_momentum_matrix(robot: Robot, q: ArrayLike) -> Array:
    """Return A (…, 6, nv): A qd is the momentum [angular about the centre of mass; linear] in world axes."""
    ...


@verb
def centroidal_momentum_bias(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return Ȧ q̇ (…, 6): the rate of the same momentum is A qdd + Ȧ q̇."""
    ...


@verb
def centroidal_momentum(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the momentum [angular about the centre of mass; linear] (…, 6) in world axes."""
    ...
