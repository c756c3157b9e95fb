"""The catalogue: every verb an operator expression and a name."""

from hinge.dynamics.arguments import External, external_forces
from hinge.dynamics.callable import Compiled
from hinge.dynamics.centroidal import (
    centroidal_momentum,
    centroidal_momentum_bias,
    centroidal_momentum_matrix,
)
from hinge.dynamics.compiler import compile
from hinge.dynamics.estimation import (
    AccelerationShares,
    FilterQuantities,
    acceleration_shares,
    filter_quantities,
)
from hinge.dynamics.expressions import (
    BODY_ACCELERATIONS,
    CATALOGUE,
    FORWARD_DYNAMICS,
    SEVERAL,
    Parts,
    expression,
)
from hinge.dynamics.factors import (
    MassFactors,
    from_quasi_velocities,
    log_determinant,
    mass_factors,
    mass_root,
    mass_root_inverse,
    mass_solve,
    mass_times,
    quasi_velocities,
    sample_velocities,
)
from hinge.dynamics.floating import disturbance_jacobian, floating_inverse_dynamics, generalized_jacobian
from hinge.dynamics.hybrid import Partition, hybrid_dynamics, partitioned
from hinge.dynamics.identification import BaseParameters, base_parameters
from hinge.dynamics.ik import InverseKinematics, inverse_kinematics
from hinge.dynamics.impacts import Impact, impact
from hinge.dynamics.jointwise import joint_program
from hinge.dynamics.kept import compiled, forget
from hinge.dynamics.live import Live
from hinge.dynamics.loads import HingeForces, hinge_forces
from hinge.dynamics.moving import BaseMotion
from hinge.dynamics.operational import (
    classical_operational_bias,
    consistent_inverse,
    force_correction,
    jacobian_column_products,
    jacobian_row_products,
    jacobian_solve,
    operational_bias,
    operational_gravity,
    operational_inertia,
    operational_inverse_inertia,
)
from hinge.dynamics.passive import elastic_energy, passive_force
from hinge.dynamics.payloads import Payload
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
    "SEVERAL",
    "AccelerationShares",
    "BaseMotion",
    "BaseParameters",
    "Compiled",
    "External",
    "FilterQuantities",
    "HingeForces",
    "Impact",
    "InverseKinematics",
    "Live",
    "MassFactors",
    "Partition",
    "Parts",
    "Payload",
    "acceleration_shares",
    "accelerations",
    "base_parameters",
    "bias_force",
    "center_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_bias",
    "centroidal_momentum_matrix",
    "classical_accelerations",
    "classical_jacobian_bias",
    "classical_operational_bias",
    "compile",
    "compiled",
    "consistent_inverse",
    "coriolis_force",
    "disturbance_jacobian",
    "elastic_energy",
    "expression",
    "external_forces",
    "filter_quantities",
    "floating_inverse_dynamics",
    "force_correction",
    "forget",
    "forward_dynamics",
    "forward_kinematics",
    "from_quasi_velocities",
    "generalized_jacobian",
    "gravity_force",
    "hinge_forces",
    "hybrid_dynamics",
    "impact",
    "inertial_regressor",
    "inverse_dynamics",
    "inverse_kinematics",
    "jacobian",
    "jacobian_bias",
    "jacobian_column_products",
    "jacobian_row_products",
    "jacobian_solve",
    "joint_program",
    "kinetic_energy",
    "log_determinant",
    "mass_factors",
    "mass_matrix",
    "mass_matrix_inverse",
    "mass_root",
    "mass_root_inverse",
    "mass_solve",
    "mass_times",
    "momentum",
    "operational_bias",
    "operational_gravity",
    "operational_inertia",
    "operational_inverse_inertia",
    "partitioned",
    "passive_force",
    "potential_energy",
    "quasi_velocities",
    "sample_velocities",
    "velocities",
]
