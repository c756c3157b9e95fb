"""Objects that a robot holds."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError, ModelError, UnknownNameError
from hinge.model import Builder
from hinge.model.joints import Fixed, Free, Revolute, Spherical
from hinge.robots import chain, panda, solid_box


def tray():
    b = Builder("tray")
    b.body("tray", joint=Free(), inertia=solid_box(1.0, (0.4, 0.2, 0.02)))
    b.frame("handle_l", "tray", position=(-0.2, 0, 0))
    b.frame("handle_r", "tray", position=(0.2, 0, 0))
    return b.build()


def arms():
    return hinge.merge(panda(), panda(), prefix="right_")


def test_hold_is_merge_and_close():
    robot = hinge.hold(arms(), tray(), {"tool": "handle_l", "right_tool": ("handle_r", hinge.PointContact())})
    assert [(c.inner, c.outer, c.joint) for c in robot.closures] == [
        ("tool", "handle_l", Fixed()),
        ("right_tool", "handle_r", Spherical()),
    ]
    assert robot.nv == arms().nv + 6 and robot.name == arms().name
    assert robot.joint("tray_joint").type.kind == "free"


def test_contact_types_are_joint_types_by_another_name():
    assert (hinge.Rigid(), hinge.LineContact((1, 0, 0)), hinge.PointContact()) == (
        Fixed(),
        Revolute((1, 0, 0)),
        Spherical(),
    )


def test_a_prefix_is_put_before_the_objects_names():
    robot = hinge.hold(chain(2), tray(), {"tip": "handle_l"}, prefix="my_")
    assert robot.closures[0].outer == "my_handle_l" and robot.closures[0].name == "tip_my_handle_l"


def test_a_body_is_held_on_a_free_joint():
    robot = hinge.hold(chain(2), hinge.Body("ball", solid_box(1.0, (0.1, 0.1, 0.1))), {"tip": "ball"})
    assert robot.joint("ball_joint").type.kind == "free" and robot.closures[0].outer == "ball"


WRONG = {
    "no grip": ({}, ArgumentError, "grips: expected"),
    "a list": (["tool"], ArgumentError, "grips: expected"),
    "no contact": (
        {"tool": ("handle_l", "rigid")},
        ArgumentError,
        r"grips\['tool'\]: expected a frame of the object",
    ),
    "no such hand": ({"tol": "handle_l"}, UnknownNameError, "no frame 'tol'; did you mean"),
    "no such handle": ({"tool": "handle"}, ModelError, "its outer frame or body 'handle' does not exist"),
    "a wheel": ({"tool": ("handle_l", Free())}, ModelError, "cut another one of the loop"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_held_is_refused(what):
    grips, error, message = WRONG[what]
    with pytest.raises(error, match=message):
        hinge.hold(panda(), tray(), grips)
    with pytest.raises(ArgumentError, match="held: expected a Robot or a Body, got ndarray"):
        hinge.hold(panda(), np.zeros(3), {"tool": "x"})
