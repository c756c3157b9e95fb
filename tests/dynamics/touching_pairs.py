"""A robot with a contact of every pair of shapes, in the world and between its bodies."""

from __future__ import annotations

import numpy as np

import hinge
from hinge.model import Capsule, Contact, Plane, Sphere
from hinge.robots import random_tree
from hinge.spatial import Transform, rotation

SHAPES = {"point": (0.0, 0.0), "ball": (0.1, 0.0), "capsule": (0.1, 0.7)}
SURFACES = {"plane": Plane(), "sphere": Sphere(0.3), "capsule": Capsule(0.2, 0.9)}


def placed(rng) -> Transform:
    axis = rng.standard_normal(3)
    return Transform.place(
        rotation.about(axis / np.linalg.norm(axis), rng.uniform(-3, 3)), rng.uniform(-1, 1, 3)
    )


def every_pair(seed=0, bodies=6):
    """Return a random tree with contacts named "shape on surface, world" and "…, body"."""
    robot, rng = random_tree(bodies, seed), np.random.default_rng(seed)
    names, found = [b.name for b in robot.bodies], []
    for shape, (radius, length) in SHAPES.items():
        for surface, at in SURFACES.items():
            if shape == "capsule" and surface == "plane":
                continue
            for on in ("world", "body"):
                one, two = rng.choice(len(names), 2, replace=False)
                found.append(
                    Contact(
                        f"{shape} on {surface}, {on}",
                        names[one],
                        names[two] if on == "body" else None,
                        radius=radius,
                        length=length,
                        placement=placed(rng),
                        surface=at,
                        surface_placement=placed(rng),
                        friction=float(rng.uniform(0.2, 1.0)),
                        restitution=float(rng.uniform(0.0, 1.0)),
                    )
                )
    return hinge.with_contacts(robot, found)
