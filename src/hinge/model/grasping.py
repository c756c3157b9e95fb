"""Grasps: an object held by a robot is an object closed with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from hinge.errors import ArgumentError
from hinge.model.closing import close
from hinge.model.closures import SoftFinger
from hinge.model.edit import merge
from hinge.model.joints import Fixed, Free, JointType
from hinge.model.parts import Body, Joint
from hinge.model.robot import Robot, make_robot
from hinge.model.vectors import checked_robot

#: A frame of the object, or such a frame and the type of contact.
Grip: TypeAlias = "str | tuple[str, JointType | SoftFinger]"


def hold(robot: Robot, held: Robot | Body, grips: Mapping[str, Grip], *, prefix: str = "") -> Robot:
    """Return the robot that holds an object: both side by side, closed at each pair of frames.

    `grips` maps frames of the robot to frames of the object, {"left_tool": "handle_l"}, or to a frame and
    the type of contact, {"right_tool": ("handle_r", PointContact())}; without one the grip is rigid.
    Contact types are `Rigid`, `LineContact`, `PointContact` and `SoftFinger`, and whatever else closes loops.
    A `Body` is held on a free joint. `prefix` is prepended to all names of the object. This is `merge` and a
    `close` for each pair; nothing moves the object to the hands.
    """
    checked_robot(robot)
    if not isinstance(grips, Mapping) or not grips:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"grips: expected {{frame of the robot: frame of the object}}, got {grips!r}")
    found = merge(robot, _as_object(held), name=robot.name, prefix=prefix)
    for hand, grip in grips.items():
        frame, contact = (grip, Fixed()) if isinstance(grip, str) else _pair(hand, grip)
        robot.frame(hand)
        found = close(found, hand, prefix + frame, joint=contact)
    return found


def _as_object(held: Robot | Body) -> Robot:
    if isinstance(held, Robot):
        return held
    if not isinstance(held, Body):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"held: expected a Robot or a Body, got {type(held).__name__}")
    return make_robot(held.name, [held], [Joint(f"{held.name}_joint", Free(), None, held.name)])


def _pair(hand: str, grip: object) -> tuple[str, JointType | SoftFinger]:
    match grip:
        case (str(frame), JointType() | SoftFinger() as contact):
            return frame, contact
        case _:
            raise ArgumentError(
                f"grips[{hand!r}]: expected a frame of the object, or a frame and a contact such as "
                f"PointContact(), got {grip!r}"
            )
