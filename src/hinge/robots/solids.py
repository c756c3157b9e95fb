"""Inertias of solid bodies of uniform density, for robots given by dimensions."""

from __future__ import annotations

import numpy as np

from hinge.spatial import ArrayLike, Inertia


def solid_box(mass: float, size: tuple[float, float, float], com: ArrayLike = (0, 0, 0)) -> Inertia:
    """Return the inertia of a box with these edges, centred at `com`."""
    x, y, z = (s * s for s in size)
    return Inertia.from_com(mass, com, mass / 12 * np.diag([y + z, z + x, x + y]))


def solid_rod(mass: float, length: float, radius: float, com: ArrayLike = (0, 0, 0)) -> Inertia:
    """Return the inertia of a cylinder along z, centred at `com`."""
    across = mass * (3 * radius**2 + length**2) / 12
    return Inertia.from_com(mass, com, np.diag([across, across, mass * radius**2 / 2]))
