"""A quadruped: the MIT Mini Cheetah.

Dimensions, masses and inertias as its makers published them with the robot (Katz, Di Carlo and Kim,
"Mini Cheetah: a platform for pushing the limits of dynamic quadruped control", ICRA 2019, and the
model that accompanies it, from CAD). The maker turns the thigh's frame half round z; here it is not
turned, so that q = 0 is the same pose with all frames parallel.
The thigh's published moments (1983, 2103, 408, xy 245, all in 1e-6 kg m²) break the triangle inequality by
4 %: no rigid body has them. Taken instead are the nearest that a body can have, those without the negative
eigenvalue of the matrix of second moments, rounded.
Shapes are ours, after photographs.
"""

from __future__ import annotations

import numpy as np

from hinge.model import Builder, Robot, configuration
from hinge.model.joints import Free, Revolute
from hinge.robots.looks import BLUE, DARK, Look, ball, block, drum, rod
from hinge.spatial import Array, Inertia

_BODY = Inertia.from_com(3.3, (0, 0, 0), np.diag([11253e-6, 36203e-6, 42673e-6]))
_LENGTH, _WIDTH = 0.38, 0.098
_ABAD, _THIGH, _SHANK, _KNEE_OFFSET = 0.062, 0.209, 0.195, 0.004
_LEGS = ("FL", "FR", "HL", "HR")
#: Radius of a foot [m], about the frame "<leg>_foot".
FOOT_RADIUS = 0.019
#: The angle of thigh and shank from the vertical when it stands [rad].
_BENT = 0.8
#: rotor inertia [kg m²], gear ratio
_ABAD_DRIVE, _HIP_DRIVE, _KNEE_DRIVE = (63e-6, 6.0), (63e-6, 6.0), (63e-6, 9.33)
_TRUNK: Look = (
    *block((0.31, 0.16, 0.09), (0, 0, 0.005), BLUE),
    *block((0.012, 0.13, 0.06), (0.158, 0, 0.01), DARK),
)


def quadruped(*, floating: bool = True) -> Robot:
    """Return the robot with legs FL, FR, HL, HR, three joints each, and a frame "<leg>_foot"."""
    b = Builder("mini_cheetah")
    b.body("trunk", joint=Free() if floating else None, inertia=_BODY, joint_name="root_joint", shapes=_TRUNK)
    for leg, front, left in (("FL", 1, 1), ("FR", 1, -1), ("HL", -1, 1), ("HR", -1, -1)):
        b.body(
            f"{leg}_hip",
            parent="trunk",
            joint=Revolute((1, 0, 0)),
            position=(front * _LENGTH / 2, left * _WIDTH / 2, 0),
            inertia=_mirrored(
                0.54, (0, 0.036, 0), [[381, 58, 0.45], [58, 560, 0.95], [0.45, 0.95, 444]], left
            ),
            rotor_inertia=_ABAD_DRIVE[0],
            gear_ratio=_ABAD_DRIVE[1],
            joint_name=f"{leg}_abduction",
            shapes=drum((-0.03 * front, 0, 0), (0.03 * front, 0, 0), 0.045, DARK)
            + drum((0, 0, 0), (0, left * _ABAD, 0), 0.04, DARK),
        )
        b.body(
            f"{leg}_thigh",
            parent=f"{leg}_hip",
            joint=Revolute((0, -1, 0)),
            position=(0, left * _ABAD, 0),
            inertia=_mirrored(
                0.634, (0, -0.016, -0.02), [[2014, 222, -13], [222, 2121, -1.5], [-13, -1.5, 457]], left
            ),
            rotor_inertia=_HIP_DRIVE[0],
            gear_ratio=_HIP_DRIVE[1],
            joint_name=f"{leg}_hip_pitch",
            shapes=drum((0, -0.018, 0), (0, 0.018, 0), 0.045, BLUE)
            + rod((0, 0, -0.01), (0, 0, -_THIGH), 0.02, BLUE),
        )
        b.body(
            f"{leg}_shank",
            parent=f"{leg}_thigh",
            joint=Revolute((0, -1, 0)),
            position=(0, 0, -_THIGH),
            inertia=_mirrored(0.064, (0, 0, -0.061), np.diag([245, 248, 6]), left),
            rotor_inertia=_KNEE_DRIVE[0],
            gear_ratio=_KNEE_DRIVE[1],
            joint_name=f"{leg}_knee",
            shapes=_shank(left),
        )
        b.frame(f"{leg}_foot", f"{leg}_shank", position=(0, -left * _KNEE_OFFSET, -_SHANK))
    return b.build()


def quadruped_stance(robot: Robot) -> Array:
    """Return the q (nq,) at which a quadruped stands on z = 0 with its knees bent and its trunk level.

    A foot is a ball of `FOOT_RADIUS` about its frame.
    """
    bent = {f"{leg}_{name}": x for leg in _LEGS for name, x in (("hip_pitch", -_BENT), ("knee", 2 * _BENT))}
    q = configuration(robot, bent)
    root = robot.joint("root_joint")
    if root.nq:
        q[root.q_slice][6] = (_THIGH + _SHANK) * np.cos(_BENT) + FOOT_RADIUS
    return q


def _shank(left: int) -> Look:
    foot = (0, -left * _KNEE_OFFSET, -_SHANK)
    return (
        drum((0, -0.024, 0), (0, 0.024, 0), 0.024, DARK)
        + rod((0, 0, 0), foot, 0.011)
        + ball(foot, FOOT_RADIUS, DARK)
    )


def _mirrored(
    mass: float, com: tuple[float, float, float], micro: list[list[float]] | Array, left: int
) -> Inertia:
    """Return the inertia of a left leg's part, or of its mirror image in the xz plane."""
    flip = np.diag([1.0, float(left), 1.0])
    return Inertia.from_com(mass, flip @ np.array(com), flip @ (1e-6 * np.array(micro)) @ flip)
