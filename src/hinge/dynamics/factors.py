"""The mass matrix as a product: factors, square roots, products and solves without forming it, samples.

𝓜 = (I + H φ K) D (I + H φ K)ᵀ and 𝓜⁻¹ = (I − H ψ K)ᵀ D⁻¹ (I − H ψ K), JPL 88-11 (4.11) and (4.16). Bodies are
numbered base first, so these factors are upper triangular by joints. D has a block for each joint, whose
triangular root makes square roots of them: 𝓜 = L Lᵀ with L = (I + H φ K) D½.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index

import numpy as np

from hinge.dynamics.signatures import verb
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, checked_robot
from hinge.spatial import Array, ArrayLike

__all__ = [
    "MassFactors",
    "from_quasi_velocities",
    "log_determinant",
    "mass_factors",
    "mass_root",
    "mass_root_inverse",
    "mass_solve",
    "mass_times",
    "quasi_velocities",
    "sample_velocities",
]


@dataclass(frozen=True, eq=False)
class MassFactors:
    """The innovations factors of the mass matrix, each (…, nv, nv).

    𝓜 = factor diagonal factorᵀ, JPL 88-11 (4.11); `inverse` is the inverse of `factor`, (4.15), so that
    𝓜⁻¹ = inverseᵀ diagonal⁻¹ inverse. `diagonal` has a block for each joint; the factors have ones on
    their diagonals.
    """

    factor: Array
    diagonal: Array
    inverse: Array


@verb
def mass_factors(robot: Robot, q: ArrayLike) -> MassFactors:
    """Return I + H φ K, D and I − H ψ K, whose products are the mass matrix and its inverse."""
    ...


@verb
def mass_times(robot: Robot, q: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return 𝓜 x (…, nv) without forming 𝓜: inverse dynamics at rest without gravity.

    Batches broadcast: for several vectors at one configuration x is (k, nv).
    """
    ...


@verb
def mass_solve(robot: Robot, q: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return 𝓜⁻¹ x (…, nv) without forming 𝓜: the accelerations that the forces x add."""
    ...


@verb
def mass_root(robot: Robot, q: ArrayLike, *, out: Array | None = None) -> Array:
    """Return L = (I + H φ K) D½ (…, nv, nv), with 𝓜 = L Lᵀ.

    L is upper triangular by joints, base first, and within a joint lower triangular: what no two branches
    share stays zero.
    """
    ...


@verb
def mass_root_inverse(robot: Robot, q: ArrayLike, *, out: Array | None = None) -> Array:
    """Return L⁻¹ = D⁻½ (I − H ψ K) (…, nv, nv), with 𝓜⁻¹ = L⁻ᵀ L⁻¹."""
    ...


@verb
def quasi_velocities(robot: Robot, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
    """Return ν = Lᵀ q̇ = D½ᵀ (I + H φ K)ᵀ q̇ (…, nv), in which the kinetic energy is ½ νᵀ ν."""
    ...


@verb
def from_quasi_velocities(robot: Robot, q: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the velocities q̇ = L⁻ᵀ ν = (I − H ψ K)ᵀ D⁻½ᵀ ν (…, nv) whose quasi-velocities ν are x."""
    ...


@verb
def log_determinant(robot: Robot, q: ArrayLike) -> Array:
    """Return log det 𝓜 (…): the sum of log det D over the joints, for the factors have determinant one."""
    ...


def sample_velocities(
    robot: Robot,
    q: ArrayLike,
    kT: float,
    *,
    seed: int | np.random.Generator | None = None,
    size: int | tuple[int, ...] = (),
) -> Array:
    """Return random velocities (*size, …, nv) of a robot in a heat bath: normal with covariance kT 𝓜⁻¹.

    `kT` is the mean energy of two degrees of freedom, in J; `seed` a number or a generator of NumPy; `size`
    how many samples there are for each configuration. q̇ = √kT (I − H ψ K)ᵀ D⁻½ᵀ w with w normal.
    """
    shape = _shape(size)
    try:
        energy = float(kT)
    except (TypeError, ValueError):
        raise ArgumentError(f"kT: expected an energy in J, one number, got {type(kT).__name__}") from None
    if not (np.isfinite(energy) and energy >= 0):
        raise ArgumentError(f"kT: expected a finite energy in J, not negative, got {kT}")
    batch = as_configuration(checked_robot(robot), q).shape[:-1]
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ArgumentError(f"seed: expected an integer, a NumPy generator or None, got {seed!r}") from None
    normal = rng.standard_normal((*shape, *batch, robot.nv))
    return np.sqrt(energy) * from_quasi_velocities(robot, q, normal)


def _shape(size: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the samples, or raise an ArgumentError."""
    try:
        shape = tuple(map(index, size)) if isinstance(size, Sequence) else (index(size),)
    except TypeError:
        shape = (-1,)
    if any(n < 0 for n in shape):
        raise ArgumentError(f"size: expected an integer or a tuple of integers, none negative, got {size!r}")
    return shape
