"""A seven-axis arm: the Franka Emika Panda.

Kinematics: the maker's modified DH table. Inertial parameters identified by Gaz, Cognetti, Oliva,
Robuffo Giordano and De Luca, "Dynamic identification of the Franka Emika Panda robot with retrieval
of feasible parameters using penalty-based optimization", IEEE RA-L 2019, in the form that the
maker's robot description carries. Limits: the maker's data sheet. Shapes: ours, after its outlines.
"""

from __future__ import annotations

import numpy as np

from hinge.io import DHRow, from_dh
from hinge.model import Robot
from hinge.robots.looks import DARK, Look, ball, block, dressed, drum, rod
from hinge.spatial import Inertia, Transform

#: a [m], alpha [quarter turns], d [m]
_DH = (
    (0.0, 0, 0.333),
    (0.0, -1, 0.0),
    (0.0, 1, 0.316),
    (0.0825, 1, 0.0),
    (-0.0825, -1, 0.384),
    (0.0, 1, 0.0),
    (0.088, 1, 0.0),
)
#: mass [kg], centre [m], central inertia xx yy zz xy xz yz [kg m²]
_INERTIA = (
    (4.970684, (3.875e-3, 2.081e-3, -0.04762), (0.70337, 0.70661, 9.117e-3, -1.39e-4, 6.772e-3, 0.019169)),
    (0.646926, (-3.141e-3, -0.02872, 3.495e-3), (7.962e-3, 0.02811, 0.025995, -3.925e-3, 0.010254, 7.04e-4)),
    (
        3.228604,
        (0.027518, 0.039252, -0.066502),
        (0.037242, 0.036155, 0.01083, -4.761e-3, -0.011396, -0.012805),
    ),
    (3.587895, (-0.05317, 0.104419, 0.027454), (0.025853, 0.019552, 0.028323, 7.796e-3, -1.332e-3, 8.641e-3)),
    (
        1.225946,
        (-0.011953, 0.041065, -0.038437),
        (0.035549, 0.029474, 8.627e-3, -2.117e-3, -4.037e-3, 2.29e-4),
    ),
    (1.666555, (0.060149, -0.014117, -0.010517), (1.964e-3, 4.354e-3, 5.433e-3, 1.09e-4, -1.158e-3, 3.41e-4)),
    (
        0.735522,
        (0.010517, -4.252e-3, 0.061597),
        (0.012516, 0.010027, 4.815e-3, -4.28e-4, -1.196e-3, -7.41e-4),
    ),
)
#: lower, upper [rad], velocity [rad/s], effort [N m]
_LIMITS = (
    (-2.8973, 2.8973, 2.175, 87),
    (-1.7628, 1.7628, 2.175, 87),
    (-2.8973, 2.8973, 2.175, 87),
    (-3.0718, -0.0698, 2.175, 87),
    (-2.8973, 2.8973, 2.61, 12),
    (-0.0175, 3.7525, 2.61, 12),
    (-2.8973, 2.8973, 2.61, 12),
)
_FLANGE = 0.107
#: The links as seen, each in the frame of its own joint.
_LOOKS: dict[str, Look] = {
    "base": block((0.20, 0.15, 0.07), (-0.04, 0, 0.035)) + drum((0, 0, 0), (0, 0, 0.14), 0.07),
    "link1": (
        *drum((0, 0, -0.19), (0, 0, 0), 0.06),
        *drum((0, -0.07, 0), (0, 0.07, 0), 0.065, DARK),
        *ball((0, 0, -0.005), 0.07),
    ),
    "link2": rod((0, -0.02, 0), (0, -0.19, 0), 0.06),
    "link3": (
        *drum((0, 0, -0.125), (0, 0, -0.03), 0.06),
        *rod((0, 0, -0.04), (0.0825, 0, 0), 0.055),
        *drum((0.0825, -0.066, 0), (0.0825, 0.066, 0), 0.058, DARK),
    ),
    "link4": rod((0, 0, 0), (-0.0825, 0.075, 0), 0.054)
    + drum((-0.0825, 0.075, 0), (-0.0825, 0.13, 0), 0.056),
    "link5": (
        *drum((0, 0, -0.253), (0, 0, -0.20), 0.056),
        *rod((0, 0, -0.20), (0, 0.03, -0.04), 0.048),
        *drum((0, -0.056, 0), (0, 0.056, 0), 0.052, DARK),
    ),
    "link6": rod((0, 0, 0), (0.088, 0, 0), 0.046),
    "link7": drum((0, 0, -0.02), (0, 0, 0.085), 0.044) + drum((0, 0, 0.085), (0, 0, _FLANGE), 0.032, DARK),
}


def panda(*, floating: bool = False) -> Robot:
    """Return the arm without hand, its frame "tool" at the flange, on a massless base."""
    rows: list[DHRow] = []
    for (a, turns, d), (mass, com, moments), limits in zip(_DH, _INERTIA, _LIMITS, strict=True):
        xx, yy, zz, xy, xz, yz = moments
        central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        physics: dict[str, float] = dict(zip(("lower", "upper", "velocity", "effort"), limits, strict=True))
        inertia = Inertia.from_com(mass, com, central)
        rows.append(DHRow(a=a, alpha=turns * np.pi / 2, d=d, inertia=inertia, physics=physics))
    tool = Transform.place(position=(0, 0, _FLANGE))
    arm = from_dh(rows, convention="modified", name="panda", tool=tool, floating=floating)
    return dressed(arm, _LOOKS)
