"""Six-dimensional algebra over any scalar type: motion, force, inertia, transform, rotation."""

from hinge.spatial import quaternion as quaternion
from hinge.spatial import rotation as rotation
from hinge.spatial.elimination import back_substituted, eliminated, solved
from hinge.spatial.forces import (
    force,
    force_at,
    force_cross,
    force_cross_matrix,
    shift_force,
)
from hinge.spatial.inertia import ArticulatedInertia, Inertia
from hinge.spatial.motions import (
    motion,
    motion_cross,
    motion_cross_matrix,
    screw,
    screw_parameters,
    shift_motion,
)
from hinge.spatial.subspace import coordinates, dual_basis, reciprocal, resolve
from hinge.spatial.transform import Transform
from hinge.spatial.vector3 import (
    Array,
    ArrayLike,
    as_array,
    cross,
    dot,
    matvec,
    outer,
    skew,
    stack,
    transpose,
    unskew,
)

__all__ = [
    "Array",
    "ArrayLike",
    "ArticulatedInertia",
    "Inertia",
    "Transform",
    "as_array",
    "back_substituted",
    "coordinates",
    "cross",
    "dot",
    "dual_basis",
    "eliminated",
    "force",
    "force_at",
    "force_cross",
    "force_cross_matrix",
    "matvec",
    "motion",
    "motion_cross",
    "motion_cross_matrix",
    "outer",
    "quaternion",
    "reciprocal",
    "resolve",
    "rotation",
    "screw",
    "screw_parameters",
    "shift_force",
    "shift_motion",
    "skew",
    "solved",
    "stack",
    "transpose",
    "unskew",
]
