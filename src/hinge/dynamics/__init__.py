"""The catalogue: every verb an operator expression and a name."""

from hinge.dynamics.compiled import Compiled, compile
from hinge.dynamics.expressions import BODY_ACCELERATIONS, CATALOGUE, FORWARD_DYNAMICS
from hinge.dynamics.identification import BaseParameters, base_parameters
from hinge.dynamics.kept import compiled, forget
from hinge.dynamics.verbs import (
    accelerations,
    bias_force,
    center_of_mass,
    classical_accelerations,
    classical_jacobian_bias,
    coriolis_force,
    forward_dynamics,
    forward_kinematics,
    gravity_force,
    inertial_regressor,
    inverse_dynamics,
    jacobian,
    jacobian_bias,
    kinetic_energy,
    mass_matrix,
    mass_matrix_inverse,
    momentum,
    potential_energy,
    velocities,
)

__all__ = [
    "BODY_ACCELERATIONS",
    "CATALOGUE",
    "FORWARD_DYNAMICS",
    "BaseParameters",
    "Compiled",
    "accelerations",
    "base_parameters",
    "bias_force",
    "center_of_mass",
    "classical_accelerations",
    "classical_jacobian_bias",
    "compile",
    "compiled",
    "coriolis_force",
    "forget",
    "forward_dynamics",
    "forward_kinematics",
    "gravity_force",
    "inertial_regressor",
    "inverse_dynamics",
    "jacobian",
    "jacobian_bias",
    "kinetic_energy",
    "mass_matrix",
    "mass_matrix_inverse",
    "momentum",
    "potential_energy",
    "velocities",
]
