from __future__ import annotations

import warnings

import numpy as np
import pytest

from hinge import dynamics, robots
from hinge.model import joints
from hinge.testing import Dynamics, check_laws, random_state
from tests.dynamics.zoo import BOUND, CASES, REAL, ZOO, difference, robot_of, state_of

#: What the room gives beside verbs.
NO_VERBS = {"CATALOGUE", "Compiled", "compile", "compiled"}

OURS = Dynamics(
    inverse=dynamics.inverse_dynamics,
    forward=dynamics.forward_dynamics,
    mass=dynamics.mass_matrix,
    kinetic=dynamics.kinetic_energy,
    potential=dynamics.potential_energy,
    momentum=dynamics.momentum,
)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ZOO)
def test_the_verb_agrees_with_the_book(name, case):
    assert difference(CASES[case], robot_of(name), state_of(name)) < BOUND


@pytest.mark.parametrize("name", ZOO)
def test_the_laws_hold_for_the_verbs(name):
    check_laws(robot_of(name), seed=2, dynamics=OURS)
