"""Contacts of convex shapes by coal, against pairs whose distance is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import Builder, Inertia
from hinge.errors import ArgumentError
from hinge.model import Box, Cylinder, Mesh, Shape, Sphere
from hinge.model.joints import Free
from hinge.sim import convex_contacts
from hinge.spatial import Transform

pytest.importorskip("coal")
SOLID = Inertia.from_com(1.0, np.zeros(3), 0.004 * np.eye(3))


def two(first, second):
    """Return two free bodies with a shape each."""
    b = Builder("two")
    for name, geometry in (("first", first), ("second", second)):
        shapes = () if geometry is None else (Shape("collision", geometry),)
        b.body(name, joint=Free(), inertia=SOLID, shapes=shapes)
    return b.build()


def at(robot, *poses):
    q = hinge.neutral(robot)
    for k, (turn, place) in enumerate(poses):
        q[7 * k : 7 * k + 7] = [*turn, *place]
    return q


def random_poses(seed, apart):
    rng = np.random.default_rng(seed)
    turns = rng.standard_normal((2, 4))
    way = rng.standard_normal(3)
    places = (0.3 * rng.standard_normal(3), apart * way / np.linalg.norm(way))
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    return (turns[0], places[0]), (turns[1], places[0] + places[1])


@pytest.mark.parametrize("apart", [0.5, 0.29])
def test_two_spheres_are_apart_by_the_distance_of_their_middles(apart):
    robot = two(Sphere(0.1), Sphere(0.2))
    for seed in range(5):
        q = at(robot, *random_poses(seed, apart))
        found = hinge.with_contacts(robot, convex_contacts(robot, q, [("first", "second")]))
        assert_allclose(hinge.gap(found, q), [apart - 0.3], atol=1e-6)
        frames = hinge.contact_frames(found, q)
        assert_allclose(frames.axes[0, 0], (q[4:7] - q[11:14]) / apart, atol=1e-5)


@pytest.mark.parametrize("gap", [0.05, -0.01])
def test_boxes_cylinders_and_hulls_meet_at_their_faces(gap):
    corners = np.array(list(np.ndindex(2, 2, 2))) * [0.2, 0.4, 0.6] - [0.1, 0.2, 0.3]
    for first, hulls in ((Box((0.2, 0.4, 0.6)), None), (Mesh("brick.stl"), {"first": corners})):
        for second, half in ((Box((0.1, 0.2, 0.2)), 0.05), (Cylinder(0.07, 0.3), 0.07)):
            robot = two(first, second)
            turned = (np.sqrt(0.5), 0, 0, np.sqrt(0.5)) if isinstance(second, Cylinder) else (1, 0, 0, 0)
            q = at(robot, ((1, 0, 0, 0), (0, 0, 0)), (turned, (0.1 + half + gap, 0.01, 0.02)))
            found = convex_contacts(robot, q, [("first", "second")], hulls=hulls, friction=0.5)
            touching = hinge.with_contacts(robot, found)
            assert len(found) == 1 and found[0].friction == 0.5
            assert_allclose(hinge.gap(touching, q), [gap], atol=1e-6)
            assert_allclose(hinge.contact_frames(touching, q).axes[0, 0], [-1, 0, 0], atol=1e-5)


def test_what_is_found_steps_as_any_contact():
    """A sphere meets the face of a box with 1 m/s: they go on together, by momentum."""
    robot = two(Sphere(0.1), Box((0.2, 0.2, 0.2)))
    q = at(robot, ((1, 0, 0, 0), (-0.2, 0, 0)), ((1, 0, 0, 0), (0, 0, 0)))
    robot = hinge.with_contacts(robot, convex_contacts(robot, q, [("first", "second")]))
    qd = np.zeros(12)
    qd[3] = 1.0
    step = hinge.contact_step(robot, q, qd, np.zeros(12), 1e-3, gravity=np.zeros(3))
    assert_allclose(step.qd[[3, 9]], [0.5, 0.5], atol=1e-6)
    assert_allclose(np.linalg.norm(step.impulses), 0.5, atol=1e-6)


def test_far_pairs_are_left_out_and_bad_input_is_told():
    robot = two(Sphere(0.1), Sphere(0.2))
    q = at(robot, ((1, 0, 0, 0), (0, 0, 0)), ((1, 0, 0, 0), (1, 0, 0)))
    assert convex_contacts(robot, q, [("first", "second")], reach=0.5) == ()
    bare = two(Sphere(0.1), None)
    with pytest.raises(ArgumentError, match=r"got 'second', which has none; give points of it, hulls="):
        convex_contacts(bare, q, [("first", "second")])
    with pytest.raises(ArgumentError, match=r"expected the points of mesh 'a\.stl' of 'second'"):
        convex_contacts(two(Sphere(0.1), Mesh("a.stl")), q, [("first", "second")])
    with pytest.raises(ArgumentError, match="points that are not in a plane"):
        convex_contacts(bare, q, [("first", "second")], hulls={"second": np.eye(4, 3) * [1, 1, 0]})
    with pytest.raises(ArgumentError, match=r"q: expected one configuration \(14,\)"):
        convex_contacts(robot, [q, q], [("first", "second")])
    with pytest.raises(ArgumentError, match="expected two bodies, got 'first' twice"):
        convex_contacts(robot, q, [("first", "first")])


def test_placed_shapes_are_where_they_are_placed():
    b = Builder("placed")
    turn = Transform.place(np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]]), (0.0, 0.0, 0.1))
    b.body("first", joint=Free(), inertia=SOLID, shapes=(Shape("collision", Box((0.2, 0.4, 0.6)), turn),))
    b.body("second", joint=Free(), inertia=SOLID, shapes=(Shape("collision", Sphere(0.1)),))
    robot = b.build()
    q = at(robot, ((1, 0, 0, 0), (0, 0, 0)), ((1, 0, 0, 0), (0.4, 0, 0.3)))
    found = hinge.with_contacts(robot, convex_contacts(robot, q, [("second", "first")]))
    assert_allclose(hinge.gap(found, q), [0.4 - 0.1 - 0.2], atol=1e-6)  # its long edge lies along x
