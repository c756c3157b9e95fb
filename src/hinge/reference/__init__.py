"""The book: classical algorithms, one page each, slow and plain, as oracles for tests."""

from hinge.reference.aba import forward_dynamics
from hinge.reference.closed import (
    closed_dynamics,
    closure_bias,
    closure_error,
    closure_jacobian,
    closure_velocity,
    closure_wrenches,
)
from hinge.reference.contact import cones, coulomb, figure_9_6, frictionless, natural_residual
from hinge.reference.contact_geometry import (
    Touch,
    contact_jacobian,
    contact_velocity,
    gap,
    touch,
    touches,
)
from hinge.reference.crba import mass_matrix
from hinge.reference.energy import kinetic_energy, potential_energy
from hinge.reference.flexible import (
    Field,
    dissipation,
    elastic_energy,
    elastic_force,
    flexible_force,
    flexible_mass,
)
from hinge.reference.force_sets import ForceSet
from hinge.reference.hybrid import hybrid_dynamics
from hinge.reference.impact import TwoPhases, poisson, two_body_impulse
from hinge.reference.jacobians import classical_jacobian_bias, jacobian, jacobian_bias
from hinge.reference.kinematics import forward_kinematics, frame_placement, link_transforms
from hinge.reference.momenta import center_of_mass, momentum
from hinge.reference.motions import accelerations, velocities
from hinge.reference.rnea import inverse_dynamics
from hinge.reference.smoothing import Smoothed, smoother

__all__ = [
    "Field",
    "ForceSet",
    "Smoothed",
    "Touch",
    "TwoPhases",
    "accelerations",
    "center_of_mass",
    "classical_jacobian_bias",
    "closed_dynamics",
    "closure_bias",
    "closure_error",
    "closure_jacobian",
    "closure_velocity",
    "closure_wrenches",
    "cones",
    "contact_jacobian",
    "contact_velocity",
    "coulomb",
    "dissipation",
    "elastic_energy",
    "elastic_force",
    "figure_9_6",
    "flexible_force",
    "flexible_mass",
    "forward_dynamics",
    "forward_kinematics",
    "frame_placement",
    "frictionless",
    "gap",
    "hybrid_dynamics",
    "inverse_dynamics",
    "jacobian",
    "jacobian_bias",
    "kinetic_energy",
    "link_transforms",
    "mass_matrix",
    "momentum",
    "natural_residual",
    "poisson",
    "potential_energy",
    "smoother",
    "touch",
    "touches",
    "two_body_impulse",
    "velocities",
]
