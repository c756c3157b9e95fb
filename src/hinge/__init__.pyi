"""What `hinge` shows, by topic: the one list of public names.

Type checkers read this file, and `hinge.contents` loads names and makes the reference from it. A comment is
a topic; what is imported below it belongs there. Nothing is imported from here when a program runs.
"""

# Robots: read, write, build, look at
from hinge.io import (
    load as load,
    to_urdf as to_urdf,
    write_urdf as write_urdf,
)
from hinge.model import (
    Robot as Robot,
    Body as Body,
    Joint as Joint,
    Frame as Frame,
    Builder as Builder,
    describe as describe,
    check as check,
    neutral as neutral,
    configuration as configuration,
    velocity as velocity,
    random_configuration as random_configuration,
    limit_report as limit_report,
)
from hinge.spatial import (
    Inertia as Inertia,
    Transform as Transform,
)

# Robots: change
from hinge.model import (
    attach as attach,
    detach as detach,
    merge as merge,
    lock as lock,
    reduce as reduce,
    reroot as reroot,
    carry_state as carry_state,
    embed_couplings as embed_couplings,
    release_couplings as release_couplings,
)

# Robots: flexible bodies
from hinge.model import (
    beam as beam,
    Flexible as Flexible,
    Attachment as Attachment,
)
from hinge.io import (
    craig_bampton as craig_bampton,
    read_flexible as read_flexible,
    write_flexible as write_flexible,
)
from hinge.dynamics import (
    natural_frequencies as natural_frequencies,
    NaturalFrequencies as NaturalFrequencies,
)

# Robots: closed loops and grasps
from hinge.model import (
    close as close,
    opened as opened,
    release_loops as release_loops,
    hold as hold,
    Closure as Closure,
    SoftFinger as SoftFinger,
    Rigid as Rigid,
    LineContact as LineContact,
    PointContact as PointContact,
)
from hinge.dynamics import (
    embed_loops as embed_loops,
    loop_costs as loop_costs,
    LoopCosts as LoopCosts,
)

# Robots: contacts
from hinge.model import (
    Contact as Contact,
    Plane as Plane,
    HeightField as HeightField,
    on_ground as on_ground,
    contacts_of as contacts_of,
    contact_pairs as contact_pairs,
    with_contacts as with_contacts,
    without_contacts as without_contacts,
)

# Dynamics: robots with closures
from hinge.dynamics import (
    closed_dynamics as closed_dynamics,
    closed_inverse_dynamics as closed_inverse_dynamics,
    settle as settle,
    assemble as assemble,
    mobility as mobility,
    closure_error as closure_error,
    closure_velocity as closure_velocity,
    closure_jacobian as closure_jacobian,
    closure_bias as closure_bias,
    closure_rows as closure_rows,
    cross_inertias as cross_inertias,
    Closed as Closed,
    ClosedForces as ClosedForces,
    Assembly as Assembly,
    Mobility as Mobility,
)

# Dynamics: contacts
from hinge.dynamics import (
    gap as gap,
    contact_jacobian as contact_jacobian,
    contact_frames as contact_frames,
    contact_dynamics as contact_dynamics,
    contact_step as contact_step,
    collide as collide,
    ContactDynamics as ContactDynamics,
    ContactStep as ContactStep,
    Collision as Collision,
    ContactFrames as ContactFrames,
)

# Dynamics: grasps
from hinge.dynamics import (
    internal_forces as internal_forces,
    squeeze as squeeze,
    grasp_report as grasp_report,
    Grip as Grip,
)

# Robots: configurations and numbers
from hinge.model import (
    integrate as integrate,
    difference as difference,
    integrate_derivatives as integrate_derivatives,
    difference_derivatives as difference_derivatives,
    IntegrateDerivatives as IntegrateDerivatives,
    DifferenceDerivatives as DifferenceDerivatives,
    inertial_parameters as inertial_parameters,
    placement_parameters as placement_parameters,
    friction_parameters as friction_parameters,
    with_inertial_parameters as with_inertial_parameters,
    with_parameters as with_parameters,
    check_inertial_parameters as check_inertial_parameters,
    check_parameters as check_parameters,
    pinocchio_map as pinocchio_map,
    mujoco_map as mujoco_map,
    PeerMap as PeerMap,
)

# Dynamics: forces and accelerations
from hinge.dynamics import (
    inverse_dynamics as inverse_dynamics,
    forward_dynamics as forward_dynamics,
    hybrid_dynamics as hybrid_dynamics,
    floating_inverse_dynamics as floating_inverse_dynamics,
    bias_force as bias_force,
    gravity_force as gravity_force,
    coriolis_force as coriolis_force,
    passive_force as passive_force,
    hinge_forces as hinge_forces,
    acceleration_shares as acceleration_shares,
    filter_quantities as filter_quantities,
    BaseMotion as BaseMotion,
    interface as interface,
    Interface as Interface,
)

# Dynamics: the mass matrix
from hinge.dynamics import (
    mass_matrix as mass_matrix,
    mass_matrix_inverse as mass_matrix_inverse,
    mass_times as mass_times,
    mass_solve as mass_solve,
    mass_factors as mass_factors,
    mass_root as mass_root,
    mass_root_inverse as mass_root_inverse,
    log_determinant as log_determinant,
    quasi_velocities as quasi_velocities,
    from_quasi_velocities as from_quasi_velocities,
    sample_velocities as sample_velocities,
    partitioned as partitioned,
)

# Dynamics: energy and momentum
from hinge.dynamics import (
    kinetic_energy as kinetic_energy,
    potential_energy as potential_energy,
    elastic_energy as elastic_energy,
    momentum as momentum,
    center_of_mass as center_of_mass,
    centroidal_momentum as centroidal_momentum,
    centroidal_momentum_matrix as centroidal_momentum_matrix,
    centroidal_momentum_bias as centroidal_momentum_bias,
)

# Dynamics: derivatives
from hinge.dynamics import (
    derivative as derivative,
    inverse_dynamics_derivatives as inverse_dynamics_derivatives,
    forward_dynamics_derivatives as forward_dynamics_derivatives,
    jvp as jvp,
    vjp as vjp,
    gradient as gradient,
    second_derivatives as second_derivatives,
    velocity_derivatives as velocity_derivatives,
    acceleration_derivatives as acceleration_derivatives,
    jacobian_derivatives as jacobian_derivatives,
    mass_matrix_derivatives as mass_matrix_derivatives,
    coriolis_matrix as coriolis_matrix,
    christoffel_symbols as christoffel_symbols,
    log_determinant_gradient as log_determinant_gradient,
    centroidal_momentum_derivatives as centroidal_momentum_derivatives,
    closed_dynamics_derivatives as closed_dynamics_derivatives,
    contact_dynamics_derivatives as contact_dynamics_derivatives,
    Derivatives as Derivatives,
    Push as Push,
    Pull as Pull,
)

# Dynamics: inertias from motion
from hinge.dynamics import (
    inertial_regressor as inertial_regressor,
    base_parameters as base_parameters,
)

# Kinematics
from hinge.dynamics import (
    forward_kinematics as forward_kinematics,
    inverse_kinematics as inverse_kinematics,
    velocities as velocities,
    accelerations as accelerations,
    classical_accelerations as classical_accelerations,
    jacobian as jacobian,
    jacobian_bias as jacobian_bias,
    classical_jacobian_bias as classical_jacobian_bias,
    jacobian_solve as jacobian_solve,
    jacobian_row_products as jacobian_row_products,
    jacobian_column_products as jacobian_column_products,
    generalized_jacobian as generalized_jacobian,
    disturbance_jacobian as disturbance_jacobian,
)

# Operational space
from hinge.dynamics import (
    operational_inertia as operational_inertia,
    operational_inverse_inertia as operational_inverse_inertia,
    operational_bias as operational_bias,
    classical_operational_bias as classical_operational_bias,
    operational_gravity as operational_gravity,
    consistent_inverse as consistent_inverse,
    force_correction as force_correction,
)

# Change at run time
from hinge.dynamics import (
    Live as Live,
    impact as impact,
)

# Simulation
from hinge.sim import (
    simulate as simulate,
    linearize as linearize,
    Linearization as Linearization,
    Rollout as Rollout,
    Stepper as Stepper,
    Run as Run,
    load_run as load_run,
    save_run as save_run,
)
from hinge.campaign import (
    Campaign as Campaign,
)

# Mathematics: derive, prove, compile
from hinge.pipeline import (
    derive as derive,
    prove as prove,
)
from hinge.dynamics import (
    compile as compile,
)
from hinge.model import (
    WeightedTree as WeightedTree,
)
from hinge.formulas import (
    symbolic as symbolic,
    Formulas as Formulas,
)
from hinge.targets import (
    set_threads as set_threads,
)

# Rooms
from hinge import (
    algebra as algebra,
    binding as binding,
    campaign as campaign,
    casadi as casadi,
    dynamics as dynamics,
    errors as errors,
    explain as explain,
    export as export,
    formulas as formulas,
    gym as gym,
    io as io,
    jax as jax,
    kernels as kernels,
    model as model,
    pipeline as pipeline,
    reference as reference,
    robots as robots,
    rules as rules,
    sim as sim,
    spatial as spatial,
    sweeps as sweeps,
    targets as targets,
    testing as testing,
    torch as torch,
    tree as tree,
    view as view,
)

__version__: str
