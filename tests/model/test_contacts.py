"""Contacts as data: what they may be, what is refused, and that whatever makes a robot carries them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge import model
from hinge.errors import FormatError, ModelError, ModelWarning, UnknownNameError
from hinge.io import from_json, to_json, to_urdf
from hinge.model import Capsule, Contact, HeightField, Plane, Sphere, contact_ends, fingerprint
from hinge.robots import chain, four_bar, panda
from hinge.spatial import Transform, rotation
from tests.model.test_closed_edits import MADE, UNCOUPLED, closed

TURN = rotation.about((0, 0.6, 0.8), 0.7)
HILLS = HeightField(np.random.default_rng(3).uniform(0, 0.1, (4, 5)), (2.0, 3.0))
ASIDE = Transform.place(TURN, (0.1, -0.2, 0.3))
CONTACTS = (
    Contact("toe", "tip", friction=0.8, restitution=0.2, radius=0.02, placement=ASIDE),
    Contact("hill", "d", surface=HILLS, surface_placement=ASIDE),
    Contact("hill too", "tip", surface=HILLS),
    Contact("pair", "a", "d", radius=0.1, length=0.3, surface=Capsule(0.1, 0.2), surface_placement=ASIDE),
    Contact("within", "e", "c", radius=0.1, surface=Sphere(0.2)),
)
ROBOT = hinge.with_contacts(closed(), CONTACTS)


def places(robot, q):
    """Return where the two sides of each contact are, in the world, and the other fields."""
    found = {}
    for c in robot.contacts:
        ends = [x @ model.closing._pose(robot, k, q) for k, x in contact_ends(robot, c)]
        numbers = c.friction, c.restitution, c.radius, c.length, c.surface
        found[c.name] = [x.homogeneous() for x in ends], numbers
    return found


@pytest.mark.parametrize("what", MADE)
def test_contacts_go_along(what):
    q = hinge.random_configuration(ROBOT, 4)
    q[ROBOT.joint("e_joint").q_slice] = 0.5 * q[ROBOT.joint("c_joint").q_slice]
    q[ROBOT.joint("b_joint").q_slice] = 0.1
    robot = MADE[what](ROBOT)
    expected = places(ROBOT, q)
    found = places(robot, model.carry_state(ROBOT, robot, q, np.zeros(ROBOT.nv))[0])
    assert list(found) == list(expected)
    for name, (ends, numbers) in found.items():
        assert_allclose(ends, expected[name][0], atol=1e-12)
        assert numbers == expected[name][1]


def test_embedded_loops_keep_contacts():
    robot = hinge.with_contacts(four_bar(), [Contact("touch", four_bar().body_names[-1])])
    embedded = hinge.embed_loops(robot)
    assert [c.name for c in embedded.contacts] == ["touch"]
    assert fingerprint(hinge.release_loops(embedded)) == fingerprint(robot)
    assert hinge.embed_loops(robot).nv < robot.nv


def test_contacts_are_added_and_taken_away():
    robot = hinge.with_contacts(panda(), Contact("a", "tool"))
    robot = hinge.with_contacts(robot, [Contact("b", "tool", "link2"), Contact("c", "link3")])
    assert [c.name for c in robot.contacts] == ["a", "b", "c"]
    assert [c.name for c in hinge.without_contacts(robot, "b").contacts] == ["a", "c"]
    assert [c.name for c in hinge.without_contacts(robot, ["a", "b"]).contacts] == ["c"]
    assert fingerprint(hinge.without_contacts(robot)) == fingerprint(panda())
    with pytest.raises(UnknownNameError, match="names: robot 'panda' has no contact 'd'"):
        hinge.without_contacts(robot, ["d"])


def test_a_prefix_goes_before_all_names():
    robot = hinge.merge(chain(2), ROBOT, prefix="x_")
    assert [(c.name, c.frame, c.on) for c in robot.contacts][2:] == [
        ("x_hill too", "x_tip", None),
        ("x_pair", "x_a", "x_d"),
        ("x_within", "x_e", "x_c"),
    ]
    other = hinge.opened(ROBOT, ["to_the_world"])
    robot = hinge.attach(chain(2), other, "tip", prefix="x_")
    assert [c.name for c in robot.contacts] == [f"x_{c.name}" for c in CONTACTS]


def test_detach_keeps_each_parts_contacts_and_refuses_those_across():
    robot = hinge.with_contacts(hinge.opened(UNCOUPLED), CONTACTS)
    with pytest.raises(
        ModelError, match=r"contact 'pair' leads from .* in one part.*without_contacts\(robot"
    ):
        hinge.detach(robot, "c")
    left, gone = hinge.detach(hinge.without_contacts(robot, "pair"), "c")
    assert [c.name for c in left.contacts] == ["toe", "hill too"]
    assert [c.name for c in gone.contacts] == ["hill", "within"]


def test_reduce_refuses_a_contact_within_what_became_one_body():
    robot = hinge.lock(hinge.with_contacts(hinge.opened(UNCOUPLED), CONTACTS), {"e_joint": 0.2})
    with pytest.raises(ModelError, match=r"contact 'within': expected two bodies.*without_contacts"):
        hinge.reduce(robot)


def test_every_field_counts_in_the_fingerprint():
    c = Contact("a", "tool", radius=0.1)
    steeper = HeightField(HILLS.heights * 2, HILLS.size)
    others = [
        replace(c, name="b"),
        replace(c, frame="link7"),
        replace(c, on="link2"),
        replace(c, friction=0.1),
        replace(c, restitution=0.1),
        replace(c, radius=0.2),
        replace(c, placement=Transform.place(None, (0, 0, 1e-15))),
        replace(c, surface_placement=Transform.place(None, (0, 0, 1e-15))),
        *(replace(c, surface=s) for s in (Sphere(0.1), Capsule(0.1, 0.2), Capsule(0.1, 0.3), HILLS, steeper)),
        replace(c, surface=HeightField(HILLS.heights, (2.0, 3.1))),
        replace(c, surface=Sphere(0.1), length=0.1),
    ]
    made = [panda(), *(hinge.with_contacts(panda(), x) for x in (c, *others))]
    assert len({fingerprint(r) for r in made}) == len(made)


def test_json_gives_the_same_back_with_each_field_once():
    text = to_json(ROBOT)
    again = from_json(text)
    assert fingerprint(again) == fingerprint(ROBOT)
    assert len(json.loads(text)["height fields"]) == 1
    assert again.contacts[1].surface is again.contacts[2].surface
    assert_array_equal(again.contacts[1].surface.heights, HILLS.heights)
    data = json.loads(to_json(chain(2)))
    assert "height fields" not in data
    del data["contacts"]
    assert from_json(json.dumps(data)).contacts == ()


BROKEN = {
    "an unknown frame": {"frame": "elsewhere"},
    "a number for a frame": {"frame": 3},
    "a field that is not there": {"surface": 1},
    "a field before the first": {"surface": -1},
    "a class that is no surface": {"surface": {"is": "Box", "size": [1.0, 1.0, 1.0]}},
    "friction below zero": {"friction": -1.0},
    "an unknown field": {"spring": 1.0},
    "NaN": {"radius": float("nan")},
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_contacts_in_json_are_refused(what):
    data = json.loads(to_json(hinge.with_contacts(panda(), Contact("a", "tool", surface=HILLS))))
    data["contacts"][0] |= BROKEN[what]
    with pytest.raises(FormatError, match="is not a robot"):
        from_json(json.dumps(data))


def test_huge_height_fields_of_files_are_refused():
    data = json.loads(to_json(hinge.with_contacts(panda(), Contact("a", "tool", surface=HILLS))))
    data["height fields"][0]["heights"]["array"] = [[0] * 1001] * 1000
    with pytest.raises(FormatError, match=r"at most 1_000_000 numbers, got shape \(1000, 1001\)"):
        from_json(json.dumps(data))


def _give(**fields):
    return lambda: hinge.with_contacts(panda(), Contact(**({"name": "a", "frame": "tool"} | fields)))


REFUSED = {
    "no name": (_give(name=""), r"contact: name: expected a text, got ''"),
    "no frame": (
        _give(frame=None),
        r"frame: expected the name of a frame or body, got None; the world can carry",
    ),
    "on a number": (_give(on=3), r"on: expected the name of a frame or body, or None, the world, got 3"),
    "unknown frame": (
        _give(frame="tol"),
        r"frame: expected a frame or body of the robot, got 'tol'; did you mean",
    ),
    "unknown on": (
        _give(on="link22"),
        r"on: expected a frame or body of the robot, got 'link22'; did you mean",
    ),
    "one body": (
        _give(on="link7"),
        r"expected two bodies, got 'tool' and 'link7', both on body 'link7'; remove",
    ),
    "friction": (_give(friction=-0.1), r"friction: expected a finite number ≥ 0, got -0.1; 0 has none"),
    "endless friction": (_give(friction=np.inf), r"friction: expected a finite number ≥ 0, got inf"),
    "text": (_give(friction="much"), r"friction: expected a finite number ≥ 0, got 'much'"),
    "an array": (_give(friction=np.zeros(2)), r"friction: expected a finite number ≥ 0, got array"),
    "restitution": (
        _give(restitution=1.1),
        r"restitution: expected a number from 0 to 1, got 1.1; 0 does not",
    ),
    "NaN": (_give(restitution=np.nan), r"restitution: expected a number from 0 to 1, got nan"),
    "radius": (_give(radius=-1), r"radius: expected a finite number ≥ 0, got -1; 0 is a point"),
    "length": (
        _give(length=0.2),
        r"length: expected 0 against a plane, got 0.2; take two balls, at z = ±0.1",
    ),
    "length on hills": (_give(length=0.2, surface=HILLS), r"length: expected 0 against a height field 4 × 5"),
    "no surface": (_give(surface=model.Box((1, 1, 1))), r"surface: expected Plane\(\), Sphere.*got Box"),
    "points": (_give(surface=Sphere(0.0)), r"radius: expected one above 0 .* got 0 and 0, which never touch"),
    "sphere": (_give(surface=Sphere(-1.0)), r"surface.radius: expected a finite number ≥ 0, got -1"),
    "capsule": (
        _give(surface=Capsule(1.0, np.nan)),
        r"surface.length: expected a finite number ≥ 0, got nan",
    ),
    "placement": (_give(placement=np.eye(4)), r"placement: expected a Transform, got"),
    "NaN placement": (
        _give(placement=Transform.place(None, (0, 0, np.nan))),
        r"placement: expected finite numbers",
    ),
    "skewed": (_give(placement=Transform(2 * np.eye(3), np.zeros(3))), r"placement: expected a rotation"),
    "mirror": (
        _give(surface_placement=Transform(-np.eye(3), np.zeros(3))),
        r"surface_placement: expected a rot",
    ),
    "twice": (
        lambda: hinge.with_contacts(_give()(), Contact("a", "link3")),
        r"contact 'a': expected a name for each contact, got it twice",
    ),
    "no contact": (
        lambda: hinge.with_contacts(panda(), ["tool"]),
        r"contacts: expected Contact values, got 'tool'",
    ),
    "flat heights": (lambda: HeightField([1.0, 2.0], (1, 1)), r"heights: expected an array \(nx, ny\)"),
    "one row": (lambda: HeightField(np.zeros((1, 5)), (1, 1)), r"got shape \(1, 5\); take Plane"),
    "a hole": (lambda: HeightField([[0, 1], [np.nan, 0]], (1, 1)), r"got nan at \(1, 0\); fill holes"),
    "no size": (lambda: HeightField(np.zeros((2, 2)), (1, 0)), r"size: expected two lengths above zero"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused(what):
    make, message = REFUSED[what]
    with pytest.raises(ModelError, match=message):
        make()
    with pytest.raises(hinge.errors.ArgumentError, match="contacts: expected Contact values, got 3"):
        hinge.with_contacts(panda(), 3)


def test_height_fields_are_values_that_nobody_can_write_to():
    heights = np.zeros((3, 3))
    field = HeightField(heights, (1, 2))
    heights[0, 0] = 5.0
    assert field.heights[0, 0] == 0.0 and field.size == (1.0, 2.0)
    with pytest.raises(ValueError, match="read-only"):
        field.heights[0, 0] = 1.0
    assert field == HeightField(np.zeros((3, 3)), (1.0, 2.0)) != HeightField(np.ones((3, 3)), (1, 2))
    assert len({field, HeightField(np.zeros((3, 3)), (1.0, 2.0)), Plane(), Plane()}) == 2


def test_tables_show_contacts():
    assert ROBOT.summary.endswith("floating base, 3 closures, 5 contacts")
    assert repr(hinge.without_contacts(ROBOT, [c.name for c in CONTACTS[1:]])).endswith("1 contact>")
    line = next(x for x in hinge.describe(ROBOT).splitlines() if x.startswith("toe"))
    assert line.split() == ["toe", "ball", "0.02", "m", "tip", "plane", "the", "world", "0.8", "0.2"]
    assert "height field 4 × 5" in ROBOT._repr_html_() and "contact" not in hinge.describe(chain(2))
    assert repr(CONTACTS[3]).startswith(
        "<Contact 'pair': capsule 0.1 m, 0.3 m of 'a' on capsule 0.1 m, 0.2 m of 'd'"
    )


def test_urdf_says_that_contacts_are_left_out():
    with pytest.warns(ModelWarning, match="URDF has no place for contacts"):
        to_urdf(hinge.with_contacts(chain(2), Contact("a", "tip")))


def test_the_builder_takes_contacts():
    b = model.Builder("ball")
    b.body("ball", joint=model.joints.Free(), inertia=hinge.Inertia.from_com(1.0, np.zeros(3), np.eye(3)))
    b.contact("touch", "ball", radius=0.1, friction=0.5)
    (c,) = b.build().contacts
    assert (c.name, c.frame, c.on, c.radius, c.friction) == ("touch", "ball", None, 0.1, 0.5)
    with pytest.raises(ModelError, match="contact 'more': expected fields of a Contact, got radios"):
        b.contact("more", "ball", radios=0.1)
