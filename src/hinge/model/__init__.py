"""Robots as frozen data: bodies, joints, frames; building, editing and checking them."""

from hinge.model import joints as joints
from hinge.model.actuator import (
    actuator_effort,
    effort_subspace,
    generalized_force,
    is_properly_powered,
    reaction_force,
)
from hinge.model.beams import beam
from hinge.model.builder import Builder
from hinge.model.checks import Problem, check, enforce, listed, warn_near_lock, warn_of
from hinge.model.closing import (
    close,
    closure_ends,
    closure_of,
    closure_transform,
    every_closure,
    opened,
    with_closures,
)
from hinge.model.closures import Closure, Rows, SoftFinger, closure_error_of, rows_of
from hinge.model.contact_types import LineContact, PointContact, Rigid
from hinge.model.contacts import Contact
from hinge.model.couplings import embed_couplings, free_flexures, release_couplings
from hinge.model.description import describe
from hinge.model.digests import digest, fingerprint
from hinge.model.edit import at_joints, attach, detach, lock, merge, reduce, reroot
from hinge.model.flexible import Attachment, Flexible, Line
from hinge.model.flexible_tree import flexible_parts
from hinge.model.geometry import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere
from hinge.model.grasping import hold
from hinge.model.inertial import (
    check_inertial_parameters,
    inertial_parameters,
    with_inertial_parameters,
)
from hinge.model.limits import JointRows, LimitReport, Stops, joint_rows, limit_report, stops_of
from hinge.model.loop_motion import LoopMotion
from hinge.model.loop_ways import LoopGeometry, loop_geometry, loop_path
from hinge.model.loops import Loop
from hinge.model.moving_parts import Unit, placement_units, release_loops, units, with_loops, without_loops
from hinge.model.parameters import (
    PLACEMENT,
    check_parameters,
    friction_parameters,
    placement_parameters,
    with_parameters,
)
from hinge.model.parts import Body, Coupling, Frame, Joint
from hinge.model.peer_map import PeerMap
from hinge.model.peers import mujoco_map, pinocchio_map
from hinge.model.robot import PARTS, STANDARD_GRAVITY, Robot, make_robot, remade
from hinge.model.shape_contacts import ContactMaker, ContactSide, contact_pairs, contacts_of, moves, sides_of
from hinge.model.state import (
    carry_state,
    configuration,
    difference,
    integrate,
    neutral,
    random_configuration,
    velocity,
)
from hinge.model.surfaces import HeightField, Plane, Surface
from hinge.model.tangents import (
    DifferenceDerivatives,
    IntegrateDerivatives,
    difference_derivatives,
    integrate_derivatives,
    refuse_rolling,
)
from hinge.model.touching import contact_ends, on_ground, with_contacts, without_contacts
from hinge.model.vectors import (
    as_configuration,
    as_tangent,
    as_vector,
    checked_out,
    checked_robot,
    common_batch,
    gravity_of,
    into_arrays,
    refuse_text,
    stacked,
)
from hinge.model.weighted import ROUNDING, WeightedTree

__all__ = [
    "PARTS",
    "PLACEMENT",
    "ROUNDING",
    "STANDARD_GRAVITY",
    "Attachment",
    "Body",
    "Box",
    "Builder",
    "Capsule",
    "Closure",
    "Contact",
    "ContactMaker",
    "ContactSide",
    "Coupling",
    "Cylinder",
    "DifferenceDerivatives",
    "Flexible",
    "Frame",
    "Geometry",
    "HeightField",
    "IntegrateDerivatives",
    "Joint",
    "JointRows",
    "LimitReport",
    "Line",
    "LineContact",
    "Loop",
    "LoopGeometry",
    "LoopMotion",
    "Mesh",
    "PeerMap",
    "Plane",
    "PointContact",
    "Problem",
    "Rigid",
    "Robot",
    "Rows",
    "Shape",
    "SoftFinger",
    "Sphere",
    "Stops",
    "Surface",
    "Unit",
    "WeightedTree",
    "actuator_effort",
    "as_configuration",
    "as_tangent",
    "as_vector",
    "at_joints",
    "attach",
    "beam",
    "carry_state",
    "check",
    "check_inertial_parameters",
    "check_parameters",
    "checked_out",
    "checked_robot",
    "close",
    "closure_ends",
    "closure_error_of",
    "closure_of",
    "closure_transform",
    "common_batch",
    "configuration",
    "contact_ends",
    "contact_pairs",
    "contacts_of",
    "describe",
    "detach",
    "difference",
    "difference_derivatives",
    "digest",
    "effort_subspace",
    "embed_couplings",
    "enforce",
    "every_closure",
    "fingerprint",
    "flexible_parts",
    "free_flexures",
    "friction_parameters",
    "generalized_force",
    "gravity_of",
    "hold",
    "inertial_parameters",
    "integrate",
    "integrate_derivatives",
    "into_arrays",
    "is_properly_powered",
    "joint_rows",
    "joints",
    "limit_report",
    "listed",
    "lock",
    "loop_geometry",
    "loop_path",
    "make_robot",
    "merge",
    "moves",
    "mujoco_map",
    "neutral",
    "on_ground",
    "opened",
    "pinocchio_map",
    "placement_parameters",
    "placement_units",
    "random_configuration",
    "reaction_force",
    "reduce",
    "refuse_rolling",
    "refuse_text",
    "release_couplings",
    "release_loops",
    "remade",
    "reroot",
    "rows_of",
    "sides_of",
    "stacked",
    "stops_of",
    "units",
    "velocity",
    "warn_near_lock",
    "warn_of",
    "with_closures",
    "with_contacts",
    "with_inertial_parameters",
    "with_loops",
    "with_parameters",
    "without_contacts",
    "without_loops",
]
