"""Robots on height fields, and their geometry against the slow one."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

import hinge
from hinge import reference
from hinge.model import Builder, Contact, HeightField
from hinge.model.joints import Free
from hinge.spatial import Inertia, Transform

G = 9.81
RADIUS = 0.1


def rough(shape=(7, 5), size=(3.0, 2.0), height=0.2, seed=0):
    return HeightField(height * np.random.default_rng(seed).random(shape), size)


def ball(surface, place=None, friction=1.0, radius=RADIUS):
    b = Builder("ball", gravity=(0.0, 0.0, -G))
    b.body("ball", joint=Free(), inertia=Inertia.from_com(1.0, np.zeros(3), 0.4 * RADIUS**2 * np.eye(3)))
    place = Transform.identity() if place is None else place
    return hinge.with_contacts(
        b.build(),
        [Contact("ball", "ball", None, friction, radius=radius, surface=surface, surface_placement=place)],
    )


def check_geometry():
    """Compare gaps and rows above a field, beyond its edges and at lines between cells with the slow ones."""
    field = rough()
    robot = ball(field, radius=0.0)
    rng = np.random.default_rng(2)
    q = np.tile(hinge.neutral(robot), (60, 1))
    q[:, 4:] = rng.uniform((-2.5, -2.0, -0.5), (2.5, 2.0, 0.5), (60, 3))
    q[:4, 4:6] = [[9.0, 0.5], [-9.0, -9.0], [1.5, 1.0], [-1.5, 0.3]]
    q[4:7, 4:6] = [[9.0, 0.0], [-9.0, 0.0], [-9.0, 0.5]]  # beyond an edge, at the line between cells
    found, rows = hinge.gap(robot, q), hinge.contact_jacobian(robot, q)
    for k, x in enumerate(q):
        assert_allclose(found[k], reference.gap(robot, x), atol=1e-13)
        assert_allclose(rows[k], reference.contact_jacobian(robot, x), atol=1e-12)
    assert np.isnan(hinge.gap(robot, np.full(7, np.nan))).all()
    assert np.isfinite(hinge.gap(robot, [1, 0, 0, 0, 1e300, -1e300, 0.0])).all()
