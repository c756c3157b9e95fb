"""Forces that answer a law of contact, by the method for its friction."""

from __future__ import annotations

from hinge.targets.arithmetic import Arithmetic
from hinge.targets.cone_problem import Given
from hinge.targets.cones import Answer, Problem
from hinge.targets.sliding import Sliding


def answer(m: Arithmetic, given: Given) -> Answer:
    """Return the solution at the places of an arranged law; the arrays given are overwritten."""
    kind = Sliding if given.law.coulomb and given.law.cone else Problem
    return kind(m, given).answer()
