"""Two tiers of machine code: quick code to begin with where final code takes long to make.

Quick code reads from tables what to do (shape T). It is made in a twentieth of the time, and runs two to five
times as long, with the same bits.
"""

from __future__ import annotations

import os

from hinge.errors import ArgumentError
from hinge.targets.llvm.host import chosen_level
from hinge.targets.llvm.module import Shape

#: The environment variable that asks for final code at once.
VARIABLE = "HINGE_WAIT"
QUICK_SHAPE: Shape = "T"
#: Final code takes about so long to make, for a line of the module's text.
SECONDS_A_LINE = 6e-5
#: Quick code is made where final code would take longer.
LONGEST_SECONDS = 0.15
#: What quick code loses on an operation, in all lanes together.
SECONDS_LOST = 2.5e-9


def seconds_for(lines: int) -> float:
    """Return about how long it takes to make the final code of a module of so many lines."""
    return SECONDS_A_LINE * lines


def begins_quickly(seconds: float, shape: Shape) -> bool:
    """Tell whether quick code comes first where final code of a shape takes so long."""
    return chosen_level() > 0 and shape != QUICK_SHAPE and seconds > LONGEST_SECONDS


def loses_too_much(states: int, operations: int, width: int, seconds: float) -> bool:
    """Tell whether one call on quick code would lose more time than it takes to make final code."""
    return SECONDS_LOST * states * operations / width > seconds


def waits() -> bool:
    """Tell whether the environment asks for final code at once."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen not in ("", "0", "1"):
        raise ArgumentError(f"{VARIABLE}: expected 1 (final machine code at once) or 0, got {chosen!r}")
    return chosen == "1"
