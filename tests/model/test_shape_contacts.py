"""Contacts made of shapes: where they are, what they are called, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import reference
from hinge.errors import ArgumentError, ModelError, ModelWarning, UnknownNameError
from hinge.model import Box, Builder, Capsule, Cylinder, HeightField, Mesh, Shape, Sphere
from hinge.model.joints import Fixed, Free, Revolute
from hinge.robots import panda, quadruped, random_inertia
from hinge.spatial import Transform, rotation

RNG = np.random.default_rng(2)
TURN = Transform.place(rotation.about((0.6, 0, 0.8), 0.9), (0.2, -0.1, 0.3))
SIZE = (0.3, 0.4, 0.5)
HILLS = HeightField(RNG.uniform(0, 0.1, (4, 4)), (3.0, 3.0))


def loose(name, *shapes, joint=None):
    b = Builder(name)
    b.body(name, joint=joint or Free(), inertia=random_inertia(RNG), shapes=tuple(shapes))
    return b.build()


def shape(geometry, role="collision", **more):
    return Shape(role, geometry, TURN, **more)


CAPSULE, BOX = shape(Capsule(0.1, 0.6)), shape(Box(SIZE))
BALL = shape(Sphere(0.2), name="ball")


@pytest.mark.parametrize("surface", [None, HILLS], ids=["plane", "hills"])
def test_what_touches_level_ground_is_lowest_where_the_shape_is(surface):
    robot = loose("a", BALL, CAPSULE, BOX)
    found = hinge.contacts_of(robot, surface=surface, friction=0.7, restitution=0.1)
    assert [c.name for c in found] == [
        "ball",
        "a_0",
        "a_1",
        *(f"a_{k}_2" for k in (0, 1)),
        *map("a_{}".format, range(2, 8)),
    ]
    assert {(c.friction, c.restitution, c.on, c.frame) for c in found} == {(0.7, 0.1, None, "a")}
    if surface is not None:
        assert all(c.surface is HILLS for c in found)
        return
    robot = hinge.with_contacts(robot, found)
    q = hinge.random_configuration(robot, 3)
    gaps, placed = reference.gap(robot, q), TURN @ reference.forward_kinematics(robot, q)[0]
    turn, middle = placed.rotation, placed.position[2]
    assert_allclose(gaps[0], middle - 0.2, atol=1e-14)
    assert_allclose(gaps[1:3].min(), middle - 0.3 * abs(turn[2, 2]) - 0.1, atol=1e-14)
    assert_allclose(gaps[3:].min(), middle - np.abs(turn[2]) @ SIZE / 2, atol=1e-14)
    assert_allclose(gaps[3:].max(), middle + np.abs(turn[2]) @ SIZE / 2, atol=1e-14)


def test_pairs_of_round_shapes_and_corners():
    robot = hinge.merge(loose("a", BALL, CAPSULE), loose("b", shape(Capsule(0.2, 0.3)), BOX))
    found = hinge.contact_pairs(robot, "a", "b", friction=0.4)
    kinds = {(c.shape.split()[0], type(c.surface).__name__, c.frame, c.on) for c in found}
    assert kinds == {
        ("ball", "Capsule", "a", "b"),
        ("capsule", "Capsule", "a", "b"),
        ("point", "Sphere", "b", "a"),
        ("point", "Capsule", "b", "a"),
    }
    assert len(found) == 2 + 2 * 8 and len({c.name for c in found}) == len(found)
    made = hinge.with_contacts(robot, found)
    q = hinge.random_configuration(made, 1)
    q[4:7], q[11:14] = 0.0, (1.0, 2.0, 3.0)
    x, y = (TURN @ p for p in reference.forward_kinematics(made, q))
    apart = y.E @ (x.position - y.position)
    apart[2] -= np.clip(apart[2], -0.15, 0.15)
    assert_allclose(reference.gap(made, q)[0], np.linalg.norm(apart) - 0.4, atol=1e-14)
    made = hinge.with_contacts(made, hinge.contact_pairs(made, "b", "a"))
    assert len(made.contacts) == 2 * len(found)


def test_what_is_left_out_is_named_with_what_to_do():
    robot = loose("a", shape(Cylinder(0.1, 0.2)), shape(Cylinder(0.1, 0.3)), shape(Mesh("foot.stl")), BALL)
    with pytest.warns(ModelWarning) as told:
        found = hinge.contacts_of(robot)
    assert [c.name for c in found] == ["ball"]
    (text,) = [str(w.message) for w in told]
    assert "3 pairs left out: 2 times cylinder of 'a' on plane of the world, mesh foot.stl of 'a'" in text
    assert "on_ground" in text and told[0].filename == __file__
    with pytest.warns(ModelWarning, match="box of 'a' on box of 'b'"):
        assert hinge.contact_pairs(hinge.merge(loose("a", BOX), loose("b", BOX)), "a", "b") == ()


def test_roles():
    seen = shape(Sphere(0.5), role="visual")
    robot = hinge.merge(loose("a", seen, BALL), loose("b", seen))
    sizes = {
        role: [c.radius for c in hinge.contacts_of(robot, role=role)]
        for role in ("collision", "visual", "either")
    }
    assert sizes == {"collision": [0.2], "visual": [0.5, 0.5], "either": [0.2, 0.5]}
    with pytest.warns(ModelWarning, match="no shapes for collision that move.*role='either'"):
        assert hinge.contacts_of(robot, "b") == ()
    with pytest.raises(ArgumentError, match="role: expected one of collision, visual, either, got 'seen'"):
        hinge.contacts_of(robot, role="seen")


def test_bodies_that_cannot_move_against_the_surface_have_no_contacts():
    b = Builder("arm")
    for name, parent, joint in (
        ("base", None, Fixed()),
        ("arm", "base", Revolute()),
        ("hand", "arm", Fixed()),
    ):
        b.body(name, parent=parent, joint=joint, inertia=random_inertia(RNG), shapes=(BALL,))
    robot = b.build()
    assert [c.frame for c in hinge.contacts_of(robot)] == ["arm", "hand"]
    assert [c.frame for c in hinge.contacts_of(robot, on="hand", surface=Sphere(0.1))] == ["base"]


def test_bad_arguments_are_refused():
    robot = loose("a", BALL)
    with pytest.raises(UnknownNameError, match="no body 'b'"):
        hinge.contacts_of(robot, ["b"])
    with pytest.raises(UnknownNameError, match="no frame 'b'"):
        hinge.contacts_of(robot, on="b")
    with pytest.raises(ModelError, match="surface: expected Plane"):
        hinge.contacts_of(robot, surface=Box((1, 1, 1)))
    with pytest.raises(ModelError, match="friction: expected a finite number ≥ 0, got -1"):
        hinge.contacts_of(robot, friction=-1)
    with pytest.raises(ModelError, match="restitution: expected a number from 0 to 1, got 2"):
        hinge.contact_pairs(hinge.merge(robot, loose("b", BALL)), "a", "b", restitution=2)


def test_frames_on_the_ground():
    feet = [f.name for f in quadruped().frames]
    robot = hinge.on_ground(quadruped(), feet, friction=0.8, restitution=0.1, radius=0.02, height=-0.1)
    assert [c.name for c in robot.contacts] == [c.frame for c in robot.contacts] == feet
    assert {(c.friction, c.restitution, c.radius) for c in robot.contacts} == {(0.8, 0.1, 0.02)}
    q = hinge.random_configuration(robot, 1)
    expected = [reference.frame_placement(robot, q, f).position[2] + 0.1 - 0.02 for f in feet]
    assert_allclose(reference.gap(robot, q), expected, atol=1e-14)
    robot = hinge.on_ground(robot, "trunk", surface=HILLS)
    assert robot.contacts[-1].surface is HILLS
    assert fingerprints_differ(robot)
    with pytest.raises(ModelError, match=r"frames: .* got 'trunk'; remove that one with without_contacts"):
        hinge.on_ground(robot, ["trunk"])
    with pytest.raises(ModelError, match=r"contact 'FL_fot': frame: .*did you mean 'FL_foot'"):
        hinge.on_ground(quadruped(), ["FL_fot"])
    with pytest.raises(ArgumentError, match="frames: expected names of frames or bodies, got 3"):
        hinge.on_ground(panda(), 3)
    with pytest.raises(ModelError, match="surface_placement: expected finite numbers"):
        hinge.on_ground(panda(), "tool", height=np.nan)


def fingerprints_differ(robot):
    return hinge.model.fingerprint(robot) != hinge.model.fingerprint(hinge.without_contacts(robot))
