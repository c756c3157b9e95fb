"""Impact on dense matrices: Featherstone section 9.9, Poisson's law in two phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.errors import ArgumentError
from hinge.reference.contact import cones
from hinge.reference.force_sets import ForceSet
from hinge.spatial import Array, ArrayLike


@dataclass(frozen=True, eq=False)
class TwoPhases:
    """Impulses and velocities of an impact.

    Attributes
    ----------
    compression, decompression : Array (m,)
        Impulses γc and γd of the phases.
    extra : Array (m,)
        γx, the part of γd that only keeps the contact constraints.
    velocity : Array (m,)
        Velocities at the contacts after the impact.
    lost : float
        Kinetic energy before the impact less that after it, in J.
    residual : float
        The larger natural residual of the two phases.
    """

    compression: Array
    decompression: Array
    extra: Array
    velocity: Array
    lost: float
    residual: float

    @property
    def impulses(self) -> Array:
        """Impulses (m,) of both phases."""
        return self.compression + self.decompression


def poisson(
    omega: ArrayLike,
    velocity: ArrayLike,
    restitution: ArrayLike,
    friction: ArrayLike | None = None,
    *,
    free: int = 0,
) -> TwoPhases:
    """Return the impact of contacts that approach with `velocity` (m,), by Poisson's law: (9.70)–(9.83).

    The first `free` rows are those of closures, which hold in both phases. The others are one normal for each
    contact or, with `friction` (k,), three rows [n, t1, t2]: then impulses are in cones, and the same share e
    of all three rows returns. `restitution` is one number or (k,).

    No energy is gained for any e from 0 to 1. With γc and v the impulses and velocities after compression,
    γcᵀ v = 0 in each contact and energy changes by ½ γdᵀ Ω γd + γdᵀ v − ½ γcᵀ Ω γc. The first two terms are
    least for γd among all of e γc + K, K the set of impulses, and γc is one of these.
    """
    v = np.asarray(velocity, dtype=np.float64)
    one = 1 if friction is None else 3
    k = (len(v) - free) // one
    e = np.asarray(restitution, dtype=np.float64)
    if e.shape not in ((), (k,)) or not np.all((e >= 0) & (e <= 1)):
        raise ArgumentError(f"restitution: expected {k} numbers from 0 to 1 or one for all, got {e.tolist()}")
    among = ForceSet(half=k, free=free) if friction is None else ForceSet(friction, free=free)
    share = np.concatenate([np.zeros(free), np.repeat(np.broadcast_to(e, k), one)])
    omega = np.asarray(omega, dtype=np.float64)
    compression, first = cones(omega, v, among)  # (9.75), (9.76)
    returned = share * compression
    extra, second = cones(omega, v + omega @ (compression + returned), among)  # (9.81)–(9.83)
    decompression = returned + extra  # (9.77)
    whole = compression + decompression
    after = v + omega @ whole
    lost = -0.5 * float(whole @ (v + after))
    return TwoPhases(compression, decompression, extra, after, lost, max(first, second))


def two_body_impulse(
    inertias: tuple[ArrayLike, ArrayLike],
    velocities: tuple[ArrayLike, ArrayLike],
    normal: ArrayLike,
    restitution: float,
) -> float:
    """Return the impulse γ between two free bodies, on the second along the spatial force `normal`: (9.69).

    Spatial inertias (6, 6), velocities (6,) and the normal (6,), which points from the first body to the
    second, are in the axes and about the origin of one frame. Bodies that do not approach exert none.
    """
    n = np.asarray(normal, dtype=np.float64)
    mobility = sum(float(n @ np.linalg.solve(np.asarray(i, dtype=np.float64), n)) for i in inertias)
    first, second = (np.asarray(v, dtype=np.float64) for v in velocities)
    return max(0.0, -(1 + restitution) * float(n @ (second - first)) / mobility)
