"""Platforms on many legs: the Stewart platform and the delta robot.

The layouts are the usual ones (Stewart, "A platform with six degrees of freedom", 1965, as a hexapod with
universal, prismatic and spherical joints; Clavel, "Delta, a fast robot with parallel geometry", 1988);
dimensions and masses are ours, of machines that fit on a desk. The platform flies, on a free joint, and
closures hold it.
"""

from __future__ import annotations

from math import atan2, cos, radians, sin, sqrt

import numpy as np

from hinge.model import Builder, Robot
from hinge.model.joints import Fixed, Free, Prismatic, Revolute, Spherical, Universal
from hinge.robots.looks import BLUE, DARK, ORANGE, WHITE, ball, block, drum
from hinge.robots.solids import solid_box, solid_rod
from hinge.spatial import Array, rotation

_Y, _Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

#: Stewart platform: radii of joints, half the angle within a pair, height, parts of a leg [m].
_BASE, _TOP, _PAIR, _HEIGHT, _TUBE, _ROD = 0.30, 0.20, radians(10), 0.40, 0.26, 0.28
#: Delta: radii of hips and platform, upper arm, forearm, half the distance of its rods [m].
_HIP, _HAND, _ARM, _FOREARM, _HALF = 0.20, 0.05, 0.25, 0.60, 0.04


def stewart_platform() -> Robot:
    """Return a platform of 4 kg on six legs "leg1" … "leg6" that change their lengths, closed at q = 0.

    A leg hangs on the base by a universal joint, extends by the prismatic joint "leg1_length" and carries the
    platform by the spherical closure "leg1_ball". Eighteen rows leave six degrees of freedom.
    """
    b = Builder("stewart_platform")
    b.body("base", joint=Fixed(), shapes=drum((0, 0, -0.04), (0, 0, -0.02), _BASE + 0.05, DARK))
    b.body(
        "platform",
        joint=Free(),
        position=(0, 0, _HEIGHT),
        inertia=solid_rod(4.0, 0.03, _TOP + 0.03, (0, 0, 0.015)),
        shapes=drum((0, 0, 0), (0, 0, 0.03), _TOP + 0.03, ORANGE),
    )
    for k in range(6):
        side = 1 if k % 2 == 0 else -1
        middle = radians(120 * ((k + 1) // 2))
        foot = _round(_BASE, middle + side * _PAIR)
        top = _round(_TOP, middle + side * (radians(60) - _PAIR))
        _leg(b, f"leg{k + 1}", foot, top)
    b.frame("tool", "platform", position=(0, 0, 0.03))
    return b.build()


def _leg(b: Builder, name: str, foot: Array, top: Array) -> None:
    """Add a leg from a point of the base to a point of the platform."""
    along = top - foot + np.array([0.0, 0.0, _HEIGHT])
    length = float(np.linalg.norm(along))
    b.body(
        f"{name}_tube",
        parent="base",
        joint=Universal(),
        position=foot,
        rotation=rotation.aligning(_Z, along / length),
        inertia=solid_rod(1.2, _TUBE, 0.02, (0, 0, _TUBE / 2)),
        joint_name=f"{name}_foot",
        shapes=drum((0, 0, 0), (0, 0, _TUBE), 0.018) + ball((0, 0, 0), 0.024, DARK),
    )
    b.body(
        f"{name}_rod",
        parent=f"{name}_tube",
        joint=Prismatic(_Z),
        position=(0, 0, length),
        inertia=solid_rod(0.4, _ROD, 0.008, (0, 0, -_ROD / 2)),
        joint_name=f"{name}_length",
        lower=-0.12,
        upper=0.12,
        shapes=drum((0, 0, -_ROD), (0, 0, 0), 0.01, BLUE) + ball((0, 0, 0), 0.016, DARK),
    )
    b.frame(f"{name}_top", "platform", position=top)
    b.close(f"{name}_ball", f"{name}_rod", f"{name}_top", joint=Spherical())


def delta() -> Robot:
    """Return a delta robot with arms "arm1" … "arm3" below its base, closed at q = 0, where they are level.

    Positive angles of "arm1_joint" … lower the arms. A forearm has two rods, "rod1a" and "rod1b", on
    universal joints, and each carries the platform by a spherical closure. Eighteen rows leave the three
    shifts.
    """
    b = Builder("delta")
    out = _HIP + _ARM - _HAND
    depth = sqrt(_FOREARM**2 - out**2)
    b.body("base", joint=Fixed(), shapes=drum((0, 0, 0), (0, 0, 0.03), _HIP + 0.03, DARK))
    b.body(
        "platform",
        joint=Free(),
        position=(0, 0, -depth),
        inertia=solid_rod(0.4, 0.02, _HAND + 0.02),
        shapes=drum((0, 0, -0.01), (0, 0, 0.01), _HAND + 0.02, ORANGE),
    )
    for k in range(3):
        turn = rotation.about(_Z, radians(120 * k))
        b.body(
            f"arm{k + 1}",
            parent="base",
            joint=Revolute(_Y),
            position=turn @ (_HIP, 0, 0),
            rotation=turn,
            inertia=solid_box(0.5, (_ARM, 0.03, 0.03), (_ARM / 2, 0, 0)),
            lower=-1.0,
            upper=1.2,
            shapes=drum((0, -0.03, 0), (0, 0.03, 0), 0.03, DARK)
            + block((_ARM, 0.03, 0.03), (_ARM / 2, 0, 0), BLUE)
            + drum((_ARM, -_HALF, 0), (_ARM, _HALF, 0), 0.01, DARK),
        )
        for side, y in (("a", -_HALF), ("b", _HALF)):
            _forearm_rod(b, k + 1, side, y, atan2(-out, -depth), turn)
    b.frame("tool", "platform", position=(0, 0, -0.01))
    return b.build()


def _forearm_rod(b: Builder, k: int, side: str, y: float, lean: float, turn: Array) -> None:
    """Add a rod of forearm k, beside its middle by y, which hangs on the arm at the angle `lean` from z."""
    name = f"rod{k}{side}"
    b.body(
        name,
        parent=f"arm{k}",
        joint=Universal((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)),
        position=(_ARM, y, 0),
        rotation=rotation.about(_Y, lean),
        inertia=solid_rod(0.06, _FOREARM, 0.005, (0, 0, _FOREARM / 2)),
        shapes=drum((0, 0, 0), (0, 0, _FOREARM), 0.006, WHITE) + ball((0, 0, 0), 0.011, DARK),
    )
    b.frame(f"{name}_end", name, position=(0, 0, _FOREARM))
    b.frame(f"platform_{k}{side}", "platform", position=turn @ (_HAND, y, 0))
    b.close(f"{name}_ball", f"{name}_end", f"platform_{k}{side}", joint=Spherical())


def _round(radius: float, angle: float) -> Array:
    return np.array([radius * cos(angle), radius * sin(angle), 0.0])
