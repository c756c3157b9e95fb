"""Hinge: robot and multibody dynamics written as mathematics.

    import hinge
    robot = hinge.load("arm.urdf")
    q = hinge.random_configuration(robot)

Rooms: `spatial` (six-dimensional algebra), `tree` (topology), `model` (robots as data), `io` (files),
`robots` (built-in ones), `reference` (the book's algorithms, as oracles), `testing` (laws and random
robots for tests).
"""

from hinge import robots as robots
from hinge.io import load, to_urdf, write_urdf
from hinge.model import (
    Body,
    Builder,
    Frame,
    Joint,
    Robot,
    attach,
    carry_state,
    check,
    describe,
    detach,
    difference,
    integrate,
    lock,
    merge,
    neutral,
    random_configuration,
    reduce,
    reroot,
)
from hinge.spatial import Inertia, Transform

__version__ = "0.1.0"

__all__ = [
    "Body",
    "Builder",
    "Frame",
    "Inertia",
    "Joint",
    "Robot",
    "Transform",
    "attach",
    "carry_state",
    "check",
    "describe",
    "detach",
    "difference",
    "integrate",
    "load",
    "lock",
    "merge",
    "neutral",
    "random_configuration",
    "reduce",
    "reroot",
    "to_urdf",
    "write_urdf",
]
