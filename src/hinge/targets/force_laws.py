"""Forces that answer a law of contact, by the method for its friction."""

from __future__ import annotations

from collections.abc import Sequence

from hinge.sweeps import ForceLaw
from hinge.targets.arithmetic import Arithmetic, Numbers
from hinge.targets.arranged import Arranged
from hinge.targets.cones import Answer, Problem
from hinge.targets.sliding import Sliding


def answer(
    m: Arithmetic,
    law: ForceLaw,
    order: Arranged,
    factors: Sequence[Numbers],
    given: tuple[Numbers, Numbers, Numbers],
) -> Answer:
    """Return the solution for the shares of W, and b, a start and bounds at the places of an arranged law.

    Bounds are c of boxes, and μ of cones in the first of their rows. The arrays are overwritten.
    """
    kind = Sliding if law.coulomb and law.cone else Problem
    return kind(m, law, order, factors, given).answer()
