"""Two tiers of machine code: quick code to begin with where final code takes long to make.

LLVM's level 0 takes a quarter of the time of level 1, and its code runs half as fast, with the same bits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from hinge.errors import ArgumentError
from hinge.targets.llvm.host import chosen_level

#: The environment variable that asks for final code at once.
VARIABLE = "HINGE_WAIT"
QUICK_LEVEL = 0
#: Final code takes about so long to make, for a line of the module's text.
SECONDS_A_LINE = 6e-5
#: Quick code is made where final code would take longer.
LONGEST_SECONDS = 0.15
#: Blocks of quick code have about so many lines: level 0 takes longer than in proportion for long ones.
LONGEST_BLOCK = 400
_FROM = re.compile(r"%([\w.]+) *\]")
#: Where a function begins: labels before it are those of another one.
_FUNCTIONS = re.compile(r"^(?=define )", re.MULTILINE)
#: What quick code loses on an operation, in one lane.
SECONDS_LOST = 2e-10


def seconds_for(text: str) -> float:
    """Return about how long it takes to make the final code of a module."""
    return SECONDS_A_LINE * text.count("\n")


def begins_quickly(seconds: float) -> bool:
    """Tell whether quick code comes first where final code takes so long."""
    return chosen_level() > QUICK_LEVEL and seconds > LONGEST_SECONDS


def loses_too_much(states: int, operations: int, width: int, seconds: float) -> bool:
    """Tell whether one call on quick code would lose more time than it takes to make final code."""
    return SECONDS_LOST * states * operations / width > seconds


def waits() -> bool:
    """Tell whether the environment asks for final code at once."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen not in ("", "0", "1"):
        raise ArgumentError(f"{VARIABLE}: expected 1 (final machine code at once) or 0, got {chosen!r}")
    return chosen == "1"


def in_short_blocks(text: str) -> str:
    """Return a module whose long blocks are cut into short ones, each of which leads to the next."""
    return "".join(_cut(part, k) for k, part in enumerate(_FUNCTIONS.split(text)))


def _cut(text: str, number: int) -> str:
    """Cut the long blocks of a function; labels are its own."""
    lines: list[str] = []
    label, length, last = "", 0, dict[str, str]()
    for line in text.split("\n"):
        found = _LABEL.match(line)
        if found:
            label, length = found[1], 0
        elif label and length >= LONGEST_BLOCK and " = " in line and " = phi " not in line:
            last[label] = cut = f"cut.{number}.{len(lines)}"
            lines += (f"br label %{cut}", f"{cut}:")
            length = 0
        length += 1
        lines.append(line)
    if not last:
        return text

    def renamed(phi: re.Match[str]) -> str:
        return _FROM.sub(lambda x: f"%{last.get(x[1], x[1])}]", phi[0])

    return _PHI.sub(renamed, "\n".join(lines))
