"""Small vibrations about a state: frequencies and shapes from 𝓜 and the derivative of the forces by q."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hinge.dynamics.arguments import External
from hinge.dynamics.cached import refuse_closures
from hinge.dynamics.derivatives import inverse_dynamics_derivatives
from hinge.dynamics.verbs import mass_matrix
from hinge.model import Robot, as_configuration, as_tangent, checked_robot, refuse_text
from hinge.spatial import Array, ArrayLike, transpose

__all__ = ["NaturalFrequencies", "natural_frequencies"]

#: What is asymmetric below this part of the largest entry is rounding.
ASYMMETRY = 1e-9


@dataclass(frozen=True, eq=False)
class NaturalFrequencies:
    """The small vibrations of a robot about a state, slowest first.

    `frequencies` (…, n) in rad/s; `squares` (…, n) are ω², below zero where the state is unstable, and the
    frequency is zero there; `shapes` (…, nv, n) has a column for each, along the velocities, with xᵀ 𝓜 x = 1.
    n is the number of coordinates that may vibrate.
    """

    robot: Robot
    frequencies: Array
    squares: Array
    shapes: Array

    @property
    def hertz(self) -> Array:
        """The frequencies in Hz."""
        return self.frequencies / (2.0 * np.pi)


def natural_frequencies(
    robot: Robot,
    q: ArrayLike,
    *,
    qd: ArrayLike | None = None,
    held: Sequence[str] = (),
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = True,
) -> NaturalFrequencies:
    """Return the frequencies and shapes of small vibrations about q: eigenvalues of 𝓜⁻¹ ∂C/∂q.

    tau is what holds the robot there, and stays as it is. `held` names joints that do not vibrate, such as
    those that motors hold. With qd (…, nv) the stiffness is that of a robot that moves so, a turning blade
    for one; damping, and the gyroscopic forces of the vibration itself, are left out: `hinge.sim.linearize`
    has them. `passive` adds the springs of joints; flexible bodies have theirs always.
    """
    refuse_closures(checked_robot(robot), "natural_frequencies", "sim.linearize")
    q = as_configuration(robot, q)
    v = np.zeros(robot.nv) if qd is None else as_tangent(robot, qd, "qd")
    still = np.zeros(robot.nv)
    stiffness = inverse_dynamics_derivatives(
        robot, q, v, still, wrt=("q",), external=external, gravity=gravity, passive=passive
    ).q
    free = _free(robot, held)
    at = np.ix_(free, free)
    m, k = mass_matrix(robot, q)[..., *at], stiffness[..., *at]
    squares, x = _modes(*np.broadcast_arrays(m, k))
    shapes = np.zeros((*squares.shape[:-1], robot.nv, len(free)))
    shapes[..., free, :] = x
    return NaturalFrequencies(robot, np.sqrt(np.maximum(squares, 0.0)), squares, shapes)


def _free(robot: Robot, held: Sequence[str]) -> Array:
    """Return the indices of the degrees of freedom that may vibrate."""
    refuse_text("held", held, "joint names")
    found = np.ones(robot.nv, dtype=bool)
    for name in held:
        found[robot.joint(name).qd_slice] = False
    return np.flatnonzero(found)


def _modes(m: Array, k: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of 𝓜⁻¹ K, ascending, and eigenvectors of unit modal mass."""
    root = np.linalg.inv(np.linalg.cholesky(m))
    a = root @ k @ transpose(root)
    skewed = np.abs(a - transpose(a)).max(initial=0.0)
    if skewed <= ASYMMETRY * np.abs(a).max(initial=1.0):
        squares, y = np.linalg.eigh(0.5 * (a + transpose(a)))
    else:  # joints that turn about moving axes, and motion
        values, vectors = (np.real(x) for x in np.linalg.eig(a))
        order = np.argsort(values, axis=-1)
        squares = np.take_along_axis(values, order, axis=-1)
        y = np.take_along_axis(vectors, order[..., None, :], axis=-1)
        size = np.linalg.norm(y, axis=-2, keepdims=True)
        y = y / np.where(size > 0, size, 1.0)
    return squares, transpose(root) @ y
