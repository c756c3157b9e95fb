"""PUMA 560.

Kinematics (modified DH), masses, centres, central inertias and drive inertias as measured by
Armstrong, Khatib and Burdick, "The explicit dynamic model and inertial parameters of the PUMA 560
arm", ICRA 1986. They could not separate the mass of link 1 and of its Ixx, Iyy, which move nothing:
here the mass is 0 and Ixx = Iyy = Izz / 2, the least that a body with that Izz can have. The measured
moments of link 3 break the triangle inequality by a tenth, and are kept as published. Joint
ranges from Fu, Gonzalez and Lee, "Robotics", 1987. Shapes: ours; the base's frame is at the shoulder.
"""

from __future__ import annotations

import numpy as np

from hinge.io import DHRow, from_dh
from hinge.model import Robot
from hinge.robots.looks import DARK, Look, ball, block, dressed, drum, rod
from hinge.spatial import Inertia

#: alpha [deg], a [m], d [m]
_DH = (
    (0, 0.0, 0.0),
    (-90, 0.0, 0.2435),
    (0, 0.4318, -0.0934),
    (90, -0.0203, 0.4331),
    (-90, 0.0, 0.0),
    (90, 0.0, 0.0),
)
#: mass [kg], centre [m], principal moments about it [kg m²], drive inertia [kg m²], range [deg]
_LINKS = (
    (0.0, (0, 0, 0), (0.175, 0.175, 0.35), 1.14, (-160, 160)),
    (17.40, (0.068, 0.006, -0.016), (0.130, 0.524, 0.539), 4.71, (-225, 45)),
    (4.80, (0, -0.070, 0.014), (0.066, 0.0125, 0.086), 0.83, (-45, 225)),
    (0.82, (0, 0, -0.019), (1.8e-3, 1.8e-3, 1.3e-3), 0.200, (-110, 170)),
    (0.34, (0, 0, 0), (0.30e-3, 0.30e-3, 0.40e-3), 0.179, (-100, 100)),
    (0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3), 0.193, (-266, 266)),
)
#: The links as seen, each in the frame of its own joint.
_LOOKS: dict[str, Look] = {
    "base": drum((0, 0, -0.66), (0, 0, -0.63), 0.17, DARK) + drum((0, 0, -0.63), (0, 0, -0.12), 0.085),
    "link1": drum((0, 0, -0.12), (0, 0, 0.09), 0.08, DARK) + drum((0, -0.12, 0), (0, 0.18, 0), 0.095),
    "link2": (
        *block((0.46, 0.17, 0.09), (0.2, 0, 0.0)),
        *drum((0, 0, -0.045), (0, 0, 0.045), 0.115),
        *drum((0.4318, 0, -0.045), (0.4318, 0, 0.045), 0.085),
    ),
    "link3": (
        *drum((0, 0, -0.05), (0, 0, 0.05), 0.075, DARK),
        *block((0.10, 0.30, 0.09), (-0.0203, -0.13, 0)),
    ),
    "link4": drum((0, 0, -0.16), (0, 0, -0.05), 0.045, DARK) + rod((0, 0, -0.06), (0, 0, 0), 0.038),
    "link5": drum((0, 0, -0.045), (0, 0, 0.045), 0.034, DARK) + ball((0, 0, 0), 0.04),
    "link6": drum((0, 0, 0.02), (0, 0, 0.06), 0.03, DARK),
}


def puma560(*, floating: bool = False) -> Robot:
    """Return the PUMA 560 with its drive inertias as rotor inertia, on a massless base."""
    rows = [
        DHRow(
            a=a,
            alpha=np.radians(alpha),
            d=d,
            inertia=Inertia.from_com(mass, com, np.diag(moments)),
            physics={
                "rotor_inertia": drive,
                "lower": np.radians(span[0]),
                "upper": np.radians(span[1]),
            },
        )
        for (alpha, a, d), (mass, com, moments, drive, span) in zip(_DH, _LINKS, strict=True)
    ]
    arm = from_dh(rows, convention="modified", name="puma560", floating=floating, strict=None)
    return dressed(arm, _LOOKS)
