"""Random contact problems, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hinge.reference import ForceSet
from hinge.spatial import Array


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """Find forces λ of a set with the least ½ λᵀ Ω λ + λᵀ b, where Ω = J M⁻¹ Jᵀ and b = J q̇.

    Attributes
    ----------
    jacobian : Array (m, n)
        J, the rows of the constraints; their order is that of `among`.
    mass : Array (n, n)
        M, positive definite.
    velocity : Array (n,)
        q̇ without forces.
    among : ForceSet
        The set of forces.
    """

    jacobian: Array
    mass: Array
    velocity: Array
    among: ForceSet

    @property
    def omega(self) -> Array:
        """Ω (m, m); its rank is at most n."""
        half = np.linalg.solve(np.linalg.cholesky(self.mass), self.jacobian.T)
        return half.T @ half

    @property
    def b(self) -> Array:
        """The velocities (m,) of the rows without forces."""
        return self.jacobian @ self.velocity

    @property
    def energy(self) -> float:
        """Kinetic energy without forces."""
        return 0.5 * float(self.velocity @ self.mass @ self.velocity)


def random_contact(
    seed: int | np.random.Generator = 0,
    *,
    cones: int = 4,
    free: int = 0,
    half: int = 0,
    boxes: int = 0,
    singular: bool = False,
) -> ContactProblem:
    """Return a problem with so many blocks of each kind; `singular`: more rows than velocities, by a half.

    Most contacts approach. Free rows are independent. One cone in eight has no friction, and one box in eight
    no width.
    """
    rng = np.random.default_rng(seed)
    friction = rng.uniform(0.1, 1.2, cones) * (rng.random(cones) > 1 / 8)
    widths = rng.uniform(0.0, 1.0, boxes) * (rng.random(boxes) > 1 / 8)
    among = ForceSet(friction, free=free, half=half, boxes=widths)
    rows = among.rows
    n = max(free + 1, 2 * rows // 3) if singular else rows + 3
    jacobian = rng.standard_normal((rows, n))
    spread = rng.standard_normal((n, n))
    mass = spread @ spread.T / n + 0.1 * np.eye(n)
    velocity = rng.standard_normal(n)
    normals = np.concatenate([np.arange(free, free + half), among.normals])
    away = (jacobian[normals] @ velocity > 0) & (rng.random(len(normals)) < 0.6)
    jacobian[normals[away]] *= -1
    return ContactProblem(jacobian, mass, velocity, among)


def random_contacts(count: int, *, first_seed: int = 0) -> Iterator[ContactProblem]:
    """Yield problems with all kinds of blocks among them, every second one with a singular Ω."""
    for seed in range(first_seed, first_seed + count):
        rng = np.random.default_rng([seed, 15])
        cones, half, free, boxes = (int(n) for n in rng.integers([1, 0, 0, 0], [9, 5, 4, 4]))
        yield random_contact(rng, cones=cones, free=free, half=half, boxes=boxes, singular=seed % 2 == 1)
