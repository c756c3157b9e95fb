from __future__ import annotations

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass

import numpy as np
import pytest

from hinge import robots
from hinge.errors import ModelError
from hinge.model import Body, Joint, joints
from hinge.spatial import Inertia, Transform


def _arrays(value: object) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _arrays(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _arrays(getattr(value, field.name))


@pytest.mark.parametrize("robot", [robots.panda(), robots.spacecraft(), robots.random_tree(12, 1)], ids=repr)
def test_no_array_of_a_robot_can_be_written(robot):
    found = list(_arrays(robot))
    assert len(found) > 50
    for a in found:
        assert not a.flags.writeable


def test_fields_cannot_be_set():
    with pytest.raises(FrozenInstanceError):
        robots.panda().joints[1].name = "x"  # type: ignore[misc]


def test_a_robot_does_not_follow_the_arrays_it_was_made_from():
    com, place, lower = np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]), np.array([-1.0])
    body = Body("b", Inertia.from_com(1.0, com, np.eye(3)))
    joint = Joint("j", joints.Revolute(), None, "b", Transform.place(position=place), lower=lower)
    com[:] = place[:] = lower[:] = 9.0
    assert np.array_equal(body.inertia.h, (0, 0, 1))
    assert np.array_equal(joint.inner.r, (1, 2, 3)) and joint.lower == [-1]


@pytest.mark.parametrize(
    "make, words",
    [
        (
            lambda: Joint("j", joints.Revolute, None, "b"),
            r"joint 'j': expected a joint type such as .*, got .*Revolute",
        ),
        (lambda: Body("b", 1.0), r"body 'b': expected an Inertia, got 1.0"),
        (lambda: Body("b", Inertia.from_com([1.0, 2.0], np.zeros((2, 3)), np.zeros((2, 3, 3)))), "no batch"),
        (
            lambda: Joint("j", joints.Fixed(), None, "b", np.eye(4)),
            r"(?s)joint 'j': inner: expected a Transform, got ",
        ),
        (
            lambda: Joint("j", joints.Fixed(), None, "b", Transform.place(position=np.zeros((2, 3)))),
            "no batch",
        ),
    ],
)
def test_parts_of_the_wrong_kind_are_named(make, words):
    with pytest.raises(ModelError, match=words):
        make()
