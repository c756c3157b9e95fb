"""Public helpers for tests: random robots and states, and laws that any dynamics must obey."""

from hinge.testing.closed import closed_state, random_closed, random_closed_robots
from hinge.testing.contact import ContactProblem, random_contact, random_contacts
from hinge.testing.laws import (
    LAWS,
    Dynamics,
    LawError,
    check_laws,
    configuration_error,
    equation_of_motion_error,
    kinetic_energy_error,
    mass_matrix_error,
    momentum_error,
    power_error,
    round_trip_error,
)
from hinge.testing.states import State, random_robots, random_state

__all__ = [
    "LAWS",
    "ContactProblem",
    "Dynamics",
    "LawError",
    "State",
    "check_laws",
    "closed_state",
    "configuration_error",
    "equation_of_motion_error",
    "kinetic_energy_error",
    "mass_matrix_error",
    "momentum_error",
    "power_error",
    "random_closed",
    "random_closed_robots",
    "random_contact",
    "random_contacts",
    "random_robots",
    "random_state",
    "round_trip_error",
]
