"""A free-flying servicing spacecraft with two seven-joint arms.

Arms: link masses, inertias and centres of the SSRMS-type manipulator in "Kinematic and dynamic
characteristics of the free-floating space manipulator with free-swinging joint failure",
International Journal of Aerospace Engineering 2019, article 2679152, table 2. Its order of axes is
that of the station's arm: roll, yaw, pitch, pitch, pitch, yaw, roll. The spacecraft between the arms
is ours, a solid cube of 20 t and 4 m. No gravity.
"""

from __future__ import annotations

import numpy as np

from hinge.model import Builder, Robot
from hinge.model.joints import Axis, Free, Revolute
from hinge.robots.looks import DARK, WHITE, Look, Rgba, block, drum
from hinge.robots.solids import solid_box
from hinge.spatial import Inertia, rotation

_BUS_MASS, _BUS_EDGE = 20_000.0, 4.0
_FOIL: Rgba = (0.80, 0.68, 0.40, 1.0)
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
#: name, axis, mass [kg], principal moments [kg m²], centre [m], place of the next joint [m]
_ARM: tuple[tuple[str, Axis, float, tuple[float, ...], tuple[float, ...], tuple[float, ...]], ...] = (
    ("shoulder_roll", _Y, 42.5, (0.8854, 0.0531, 0.8854), (0, 0.25, 0), (0, 0.5, 0)),
    ("shoulder_yaw", _X, 42.5, (0.8854, 0.0531, 0.8854), (0, 0.25, 0), (0, 0.5, 0)),
    ("shoulder_pitch", _Z, 70.0, (0.0875, 145.8333, 145.8333), (2.5, 0, 0), (5, 0, 0)),
    ("elbow_pitch", _Z, 70.0, (0.0875, 145.8333, 145.8333), (2.5, 0, 0), (5, 0, 0)),
    ("wrist_pitch", _Z, 42.5, (0.8854, 0.8854, 0.0531), (0, 0, 0.25), (0, 0, 0.5)),
    ("wrist_yaw", _Y, 42.5, (0.8854, 0.8854, 0.0531), (0, 0, 0.25), (0, 0, 0.5)),
    ("wrist_roll", _X, 42.5, (1.2750, 1.2750, 0.0531), (0, 0, 0.55), (0, 0, 1.1)),
)


def spacecraft() -> Robot:
    """Return the spacecraft with arms "left" and "right" and a frame "<arm>_hand" at each end."""
    b = Builder("spacecraft", gravity=(0, 0, 0))
    edges = (_BUS_EDGE, _BUS_EDGE, _BUS_EDGE)
    look = block(edges, (0, 0, 0), _FOIL)
    bus = solid_box(_BUS_MASS, edges)
    b.body("bus", joint=Free(), inertia=bus, joint_name="bus_free", shapes=look)
    for arm, side in (("left", 1.0), ("right", -1.0)):
        parent, place = "bus", (0.0, side * _BUS_EDGE / 2, 0.0)
        turn = rotation.about(_X, 0.0 if side > 0 else np.pi)
        for name, axis, mass, moments, com, following in _ARM:
            parent = b.body(
                f"{arm}_{name}",
                joint=Revolute(axis),
                parent=parent,
                inertia=Inertia.from_com(mass, com, np.diag(moments)),
                rotation=turn,
                position=place,
                shapes=_link(axis, following),
            )
            place, turn = following, np.eye(3)
        b.frame(f"{arm}_hand", parent, position=place)
    return b.build()


def _link(axis: Axis, following: tuple[float, ...]) -> Look:
    """Return a drum about the joint's axis and a tube to the next joint."""
    half = 0.24 * np.array(axis)
    return drum(-half, half, 0.23, DARK) + drum((0, 0, 0), following, 0.17, WHITE)
