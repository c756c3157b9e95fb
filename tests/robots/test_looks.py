"""The built-in robots look like robots, and stay what they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hinge.io import from_json, to_json
from hinge.model import Box, Cylinder, Sphere, fingerprint, make_robot
from hinge.robots import (
    chain,
    delta,
    double_pendulum,
    four_bar,
    panda,
    puma560,
    quadruped,
    slider_crank,
    spacecraft,
    stewart_platform,
    two_pandas_with_plate,
)

OPEN = [panda(), puma560(), quadruped(), spacecraft(), double_pendulum(), chain(3)]
CLOSED = [four_bar(), slider_crank(), stewart_platform(), delta(), two_pandas_with_plate()]
ROBOTS = [*OPEN, *CLOSED]
robots = pytest.mark.parametrize("robot", ROBOTS, ids=lambda r: r.name)


def reach(shape) -> float:
    """Return the radius of a ball around a shape's centre that holds it."""
    match shape.geometry:
        case Box(size):
            return float(np.linalg.norm(size)) / 2
        case Cylinder(radius, length):
            return float(np.hypot(radius, length / 2))
        case Sphere(radius):
            return radius
    raise AssertionError("every reader of URDF knows boxes, cylinders and spheres, and no capsules")


@robots
def test_every_body_has_shapes_and_every_joint_is_in_one(robot):
    shapes = {b.name: b.shapes for b in robot.bodies}
    assert all(found and all(s.role == "visual" and s.rgba for s in found) for found in shapes.values())
    for joint in robot.joints:
        if joint.parent is not None:
            sides = (
                (shapes[joint.parent], joint.inner.position),
                (shapes[joint.child], joint.outer.position),
            )
            away = [np.linalg.norm(s.placement.position - x) - reach(s) for side, x in sides for s in side]
            assert min(away) < 0, joint.name


@robots
def test_shapes_are_no_part_of_a_fingerprint_and_go_with_the_robot(robot):
    bodies = [replace(b, shapes=()) for b in robot.bodies]
    rest = {"frames": robot.frames, "gravity": robot.gravity, "closures": robot.closures}
    bare = make_robot(robot.name, bodies, robot.joints, **rest)
    assert fingerprint(bare) == fingerprint(robot)
    again = from_json(to_json(robot))
    assert [b.shapes for b in map(simple, again.bodies)] == [b.shapes for b in map(simple, robot.bodies)]


def simple(body):
    """Return a body whose shapes can be compared."""
    rows = tuple(
        (s.role, s.geometry, s.rgba, tuple(s.placement.position), tuple(s.placement.rotation.ravel()))
        for s in body.shapes
    )
    return replace(body, shapes=rows)


def test_a_pendulum_of_any_lengths_and_masses():
    for lengths, masses in (((1.0, 0.0), (1.0, 1.0)), ((2.0, 1.0), (0.5, 3.0)), ((-1.0, 0.1), (1.0, 1.0))):
        robot = double_pendulum(lengths=lengths, masses=masses)
        assert all(reach(s) > 0 for b in robot.bodies for s in b.shapes)
