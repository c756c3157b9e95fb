"""A robot as one part of something larger: what its base feels of it.

Dynamics of a base that carries robots needs of each of them only how the force that it gives to the robot
depends on how it accelerates. Since accelerations and forces depend on each other in a linear way, this is an
inertia and a force, however many joints there are.
"""

from __future__ import annotations

from dataclasses import dataclass

from hinge.dynamics.arguments import External
from hinge.dynamics.moving import BaseMotion
from hinge.dynamics.signatures import verb
from hinge.model import Robot
from hinge.spatial import Array, ArrayLike

__all__ = ["Interface", "interface"]


@dataclass(frozen=True, eq=False)
class Interface:
    """What a base feels of a robot: the force [n; f] that it gives is `inertia` @ α₀ + `force`.

    `inertia` (…, 6, 6), symmetric, `force` (…, 6) and α₀ = [ω̇; p̈] are at the base's origin, in its axes.
    """

    inertia: Array
    force: Array


@verb
def interface(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
    base: BaseMotion | None = None,
    out: Interface | None = None,
    passive: bool = False,
) -> Interface:
    """Return the inertia (…, 6, 6) and the force (…, 6) that the base feels while all joints move under tau.

    inertia = E₀ φ M φᵀ E₀ᵀ − T 𝓜⁻¹ Tᵀ and force = E₀ φ (M φᵀ a + b) + T 𝓜⁻¹ (τ − C), T = E₀ φ M φᵀ Hᵀ. They
    are derived to the articulated-body inertia and bias force of the base, two sweeps without a solve: a
    sub-structure condensed to its boundary, Featherstone section 7.1.2.

    The base is what the model calls the world; where the base accelerates by α₀ more than `base` says, it
    gives the force inertia @ α₀ + force. Without `base` that is the base at rest; for a base that turns, give
    `BaseMotion(angular_velocity=…)`, and `rotation` if gravity is in the axes of the world. Gravity is in the
    force. Once α₀ is known, the joints accelerate by `forward_dynamics(…, base=BaseMotion(…))`. `out` is an
    `Interface` for the results; `external`, `gravity`, `passive` as in `inverse_dynamics`.
    """
    ...
