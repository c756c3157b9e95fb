"""Hinge: robot and multibody dynamics written as mathematics.

    import hinge
    robot = hinge.load("arm.urdf")
    q = hinge.random_configuration(robot)
    qdd = hinge.forward_dynamics(robot, q, qd, tau)

Rooms: `algebra` (operators as values), `rules` (identities, proofs, search), `sweeps` and `kernels` (what
they become), `targets` (what runs that), `dynamics` (the verbs), `sim` (motion), `view` (pictures),
`binding` (letters bound to a robot); `spatial` (six-dimensional algebra), `tree` (topology), `model` (robots
as data), `io` (files), `robots` (built-in ones), `reference` (the book's algorithms, as oracles), `testing`
(laws and random robots).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hinge import robots as robots
from hinge.io import load, to_urdf, write_urdf
from hinge.model import (
    Body,
    Builder,
    Frame,
    Joint,
    Robot,
    attach,
    carry_state,
    check,
    check_inertial_parameters,
    check_parameters,
    describe,
    detach,
    difference,
    embed_couplings,
    friction_parameters,
    inertial_parameters,
    integrate,
    limit_report,
    lock,
    merge,
    neutral,
    placement_parameters,
    random_configuration,
    reduce,
    release_couplings,
    reroot,
    with_inertial_parameters,
    with_parameters,
)
from hinge.spatial import Inertia, Transform

if TYPE_CHECKING:
    from hinge.dynamics import (
        BaseMotion,
        Live,
        acceleration_shares,
        accelerations,
        base_parameters,
        bias_force,
        center_of_mass,
        centroidal_momentum,
        centroidal_momentum_bias,
        centroidal_momentum_matrix,
        classical_accelerations,
        classical_jacobian_bias,
        classical_operational_bias,
        compile,
        consistent_inverse,
        coriolis_force,
        disturbance_jacobian,
        elastic_energy,
        filter_quantities,
        floating_inverse_dynamics,
        force_correction,
        forward_dynamics,
        forward_kinematics,
        from_quasi_velocities,
        generalized_jacobian,
        gravity_force,
        hinge_forces,
        hybrid_dynamics,
        impact,
        inertial_regressor,
        inverse_dynamics,
        inverse_kinematics,
        jacobian,
        jacobian_bias,
        jacobian_column_products,
        jacobian_row_products,
        jacobian_solve,
        kinetic_energy,
        log_determinant,
        mass_factors,
        mass_matrix,
        mass_matrix_inverse,
        mass_root,
        mass_root_inverse,
        mass_solve,
        mass_times,
        momentum,
        operational_bias,
        operational_gravity,
        operational_inertia,
        operational_inverse_inertia,
        partitioned,
        passive_force,
        potential_energy,
        quasi_velocities,
        sample_velocities,
        velocities,
    )
    from hinge.pipeline import derive, prove
    from hinge.sim import Run, load_run, save_run, simulate
    from hinge.targets import set_threads

__version__ = "0.1.0"

__all__ = [
    "BaseMotion",
    "Body",
    "Builder",
    "Frame",
    "Inertia",
    "Joint",
    "Live",
    "Robot",
    "Run",
    "Transform",
    "acceleration_shares",
    "accelerations",
    "attach",
    "base_parameters",
    "bias_force",
    "carry_state",
    "center_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_bias",
    "centroidal_momentum_matrix",
    "check",
    "check_inertial_parameters",
    "check_parameters",
    "classical_accelerations",
    "classical_jacobian_bias",
    "classical_operational_bias",
    "compile",
    "consistent_inverse",
    "coriolis_force",
    "derive",
    "describe",
    "detach",
    "difference",
    "disturbance_jacobian",
    "elastic_energy",
    "embed_couplings",
    "filter_quantities",
    "floating_inverse_dynamics",
    "force_correction",
    "forward_dynamics",
    "forward_kinematics",
    "friction_parameters",
    "from_quasi_velocities",
    "generalized_jacobian",
    "gravity_force",
    "hinge_forces",
    "hybrid_dynamics",
    "impact",
    "inertial_parameters",
    "inertial_regressor",
    "integrate",
    "inverse_dynamics",
    "inverse_kinematics",
    "jacobian",
    "jacobian_bias",
    "jacobian_column_products",
    "jacobian_row_products",
    "jacobian_solve",
    "kinetic_energy",
    "limit_report",
    "load",
    "load_run",
    "lock",
    "log_determinant",
    "mass_factors",
    "mass_matrix",
    "mass_matrix_inverse",
    "mass_root",
    "mass_root_inverse",
    "mass_solve",
    "mass_times",
    "merge",
    "momentum",
    "neutral",
    "operational_bias",
    "operational_gravity",
    "operational_inertia",
    "operational_inverse_inertia",
    "partitioned",
    "passive_force",
    "placement_parameters",
    "potential_energy",
    "prove",
    "quasi_velocities",
    "random_configuration",
    "reduce",
    "release_couplings",
    "reroot",
    "sample_velocities",
    "save_run",
    "set_threads",
    "simulate",
    "to_urdf",
    "velocities",
    "with_inertial_parameters",
    "with_parameters",
    "write_urdf",
]

#: Rooms that are loaded when they are first asked for: those of the compiler, and those for tests.
_ON_DEMAND = (
    "algebra", "binding", "dynamics", "explain", "kernels", "pipeline", "reference", "rules", "sim",
    "sweeps", "targets", "testing", "view",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load what is not needed to look at a robot when it is first asked for."""
    if name in _ON_DEMAND:
        return import_module(f"hinge.{name}")
    if name in __all__:
        for room in ("dynamics", "pipeline", "targets", "sim"):
            found = import_module(f"hinge.{room}")
            if name in found.__all__:
                globals()[name] = getattr(found, name)
                return globals()[name]
    raise AttributeError(f"module 'hinge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ON_DEMAND})
