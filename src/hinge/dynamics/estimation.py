"""Forward dynamics as a filter and a smoother over the bodies: JPL 86-48 sections 8 to 10.

The state of the filter is the force that a body passes on, its observations are the hinge forces; inertias
are covariances, and the accelerations of the bodies are the co-states of the smoother.
"""

from __future__ import annotations

from dataclasses import dataclass

from hinge.dynamics.arguments import External
from hinge.dynamics.signatures import verb
from hinge.model import Robot
from hinge.spatial import Array, ArrayLike

__all__ = ["AccelerationShares", "FilterQuantities", "acceleration_shares", "filter_quantities"]


@dataclass(frozen=True, eq=False)
class FilterQuantities:
    """What the filter and the smoother have at every body, in the body's own frame.

    Body by body, in their order (n bodies): `P` (…, n, 6, 6) the predicted covariance P⁻, the
    articulated-body inertia, (8.4); `P_updated` P⁺ = P − G D Gᵀ, (8.9); `state` (…, n, 6) the predicted state
    z⁻, (8.3); `costates` λ⁻, (8.13), the accelerations of the bodies, that of the world against gravity
    included; `smoothed` z⁻ + P λ⁻, (8.1), the force that each body passes to its parent; `Lambda`
    (…, n, 6, 6) the covariance Λ⁻ of the co-states, (10.31); `S` = P − P Λ P that of the smoothed state,
    (9.18).

    In hinge coordinates: `D` (…, nv, nv) the covariance of the innovations, a block for each joint, (8.5);
    `G` (…, 6, nv) the gains, each column at the body of its joint; `innovations` ε⁻ = τ − H z⁻ (…, nv),
    (8.6); `residuals` ε⁺ = D⁻¹ ε⁻, (8.8); `qdd` the accelerations, (8.12); `c` (…, nv, nv) and `d`
    (…, nv, 6) of (10.3): c = D⁻¹ + Kᵀ Λ K are the diagonal blocks of 𝓜⁻¹, and its block between a joint k
    and one i that k carries is that of d ψ K, (10.2).
    """

    state: Array
    innovations: Array
    residuals: Array
    costates: Array
    smoothed: Array
    qdd: Array
    P: Array
    P_updated: Array
    D: Array
    G: Array
    Lambda: Array
    S: Array
    c: Array
    d: Array


@dataclass(frozen=True, eq=False)
class AccelerationShares:
    """The accelerations of the joints (…, nv) by their causes, JPL 86-48 (10.1); they add up to q̈.

    `forces`: the hinge forces; `bias_forces`: gyroscopic, centrifugal and external forces on the bodies;
    `bias_accelerations`: Coriolis and centrifugal accelerations of the bodies' frames, and gravity. What is
    centrifugal of the last two depends on where a body's frame has its origin; their sum does not.
    """

    forces: Array
    bias_forces: Array
    bias_accelerations: Array

    @property
    def qdd(self) -> Array:
        """The sum of the shares: the accelerations of forward dynamics."""
        return self.forces + self.bias_forces + self.bias_accelerations


@verb
def filter_quantities(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
) -> FilterQuantities:
    """Return forward dynamics as a filter and a smoother, body by body.

    `external` and `gravity` as in `inverse_dynamics`.
    """
    ...


@verb
def acceleration_shares(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
) -> AccelerationShares:
    """Return the accelerations due to hinge forces, to bias forces and to bias accelerations, apart.

    `external` and `gravity` as in `inverse_dynamics`.
    """
    ...
