"""Joint types, one file each; `contract` lists what a type must define."""

from hinge.model.joints.axial import AxialJoint
from hinge.model.joints.continuous import Continuous
from hinge.model.joints.contract import Axial, Axis, JointType, VectorJoint
from hinge.model.joints.cylindrical import Cylindrical
from hinge.model.joints.fixed import Fixed
from hinge.model.joints.flexure import Flexure
from hinge.model.joints.follower import Follower, released
from hinge.model.joints.free import Free
from hinge.model.joints.modes import Modes
from hinge.model.joints.nonholonomic import Nonholonomic
from hinge.model.joints.planar import Planar
from hinge.model.joints.prismatic import Prismatic
from hinge.model.joints.revolute import Revolute
from hinge.model.joints.rolling_ball import RollingBall
from hinge.model.joints.screw import Screw
from hinge.model.joints.spherical import Spherical
from hinge.model.joints.spherical_angles import SphericalAngles
from hinge.model.joints.translational import Translational
from hinge.model.joints.universal import Universal
from hinge.model.joints.wheeled import Wheeled

#: Joint types by kind; `Follower`, which wraps one of these, is not among them, nor are the parts of flexible
#: bodies, `Modes` and `Flexure`.
JOINT_TYPES: dict[str, type[JointType]] = {
    t.kind: t
    for t in (
        Revolute,
        Continuous,
        Prismatic,
        Screw,
        Cylindrical,
        Planar,
        Universal,
        Spherical,
        SphericalAngles,
        Free,
        Translational,
        Fixed,
        RollingBall,
        Wheeled,
    )
}

__all__ = [
    "JOINT_TYPES",
    "Axial",
    "AxialJoint",
    "Axis",
    "Continuous",
    "Cylindrical",
    "Fixed",
    "Flexure",
    "Follower",
    "Free",
    "JointType",
    "Modes",
    "Nonholonomic",
    "Planar",
    "Prismatic",
    "Revolute",
    "RollingBall",
    "Screw",
    "Spherical",
    "SphericalAngles",
    "Translational",
    "Universal",
    "VectorJoint",
    "Wheeled",
    "released",
]
