"""Two arms that hold one plate."""

from __future__ import annotations

import numpy as np

from hinge.model import (
    Builder,
    Closure,
    Rigid,
    Robot,
    SoftFinger,
    attach,
    closure_transform,
    configuration,
    hold,
)
from hinge.model.joints import Fixed, Free, JointType
from hinge.robots.looks import DARK, ORANGE, block
from hinge.robots.panda_arm import panda
from hinge.robots.solids import solid_box
from hinge.spatial import Array, rotation

#: The pose in which the maker delivers the arm.
_READY = (0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4)
#: The distance of the arms' bases, and the plate [m].
_APART, _PLATE = 1.0, (0.50, 0.20, 0.02)
_SIDES = ("left", "right")


def two_pandas_with_plate(contact: JointType | SoftFinger | None = None) -> Robot:
    """Return two Panda arms that face each other on a table and hold a plate of 2 kg from above.

    Each flange is closed with a handle of the plate by `contact`, a rigid grip unless given. The plate is on
    a free joint. The robot is closed at `two_pandas_start(robot)`, not at q = 0, which the limits exclude.
    """
    b = Builder("two_pandas")
    table = block((_APART + 0.4, 0.6, 0.04), (0, 0, -0.02), DARK)
    b.body(
        "table",
        joint=Fixed(),
        inertia=solid_box(40.0, (_APART + 0.4, 0.6, 0.04), (0, 0, -0.02)),
        shapes=table,
    )
    robot = b.build()
    for side, x, turn in (("left", -_APART / 2, 0.0), ("right", _APART / 2, np.pi)):
        place = rotation.tidied(rotation.about((0, 0, 1), turn))
        robot = attach(robot, panda(), "table", position=(x, 0, 0), rotation=place, prefix=f"{side}_")
    start = _ready(robot)
    tools = {side: closure_transform(robot, Closure("pose", None, f"{side}_tool"), start) for side in _SIDES}
    height = float(tools["left"].position[2]) - _PLATE[2] / 2
    b = Builder("plate")
    look = block(_PLATE, (0, 0, 0), ORANGE)
    b.body("plate", joint=Free(), position=(0, 0, height), inertia=solid_box(2.0, _PLATE), shapes=look)
    for side, tool in tools.items():
        b.frame(f"{side}_handle", "plate", rotation=tool.rotation, position=tool.position - (0, 0, height))
    grip = Rigid() if contact is None else contact
    return hold(robot, b.build(), {f"{side}_tool": (f"{side}_handle", grip) for side in _SIDES})


def two_pandas_start(robot: Robot) -> Array:
    """Return the q (nq,) at which two arms in their ready poses hold the plate."""
    return _ready(robot)


def _ready(robot: Robot) -> Array:
    return configuration(
        robot, {f"{side}_joint{k}": angle for side in _SIDES for k, angle in enumerate(_READY, 1)}
    )
