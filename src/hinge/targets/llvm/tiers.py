"""Two tiers of machine code: quick code to begin with where final code takes long to make.

Quick code reads from tables what to do (shape T), and what is around that, such as solves, is compiled at
level 0. It is made in a twentieth of the time, and runs two to five times as long, with the same bits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from hinge.errors import ArgumentError
from hinge.targets.llvm.host import chosen_level
from hinge.targets.llvm.module import Shape

#: The environment variable that asks for final code at once.
VARIABLE = "HINGE_WAIT"
QUICK_SHAPE: Shape = "T"
QUICK_LEVEL = 0
#: Final code takes about so long to make, for a line of the module's text.
SECONDS_A_LINE = 6e-5
#: Quick code is made where final code would take longer.
LONGEST_SECONDS = 0.12
#: Blocks of quick code have about so many lines: level 0 takes longer than in proportion for long ones.
LONGEST_BLOCK = 400
_FROM = re.compile(r"%([\w.]+) *\]")
#: Where a function begins.
_FUNCTIONS = re.compile(r"^(?=define )", re.MULTILINE)
#: What quick code loses on an operation, in all lanes together.
SECONDS_LOST = 2.5e-9


def seconds_for(lines: int) -> float:
    """Return about how long it takes to make the final code of a module of so many lines."""
    return SECONDS_A_LINE * lines


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
    parts = _FUNCTIONS.split(text)
    cut = list(map(_in_short_blocks, parts))
    return text if cut == parts else "".join(cut)


def _in_short_blocks(text: str) -> str:
    """Cut the long blocks of a function, whose labels are its own."""
    lines = text.split("\n")
    starts = [k for k, line in enumerate(lines) if line.endswith(":")]
    found, last = lines[: starts[0]] if starts else lines, dict[str, str]()
    for start, end in pairwise([*starts, len(lines)]):
        at = start
        while end - at > LONGEST_BLOCK:
            cut = _next_cut(lines, at + LONGEST_BLOCK, end)
            found += lines[at:cut]
            at = cut
            if cut < end:
                last[lines[start][:-1]] = label = f"cut.{cut}"
                found += (f"br label %{label}", f"{label}:")
        found += lines[at:end]
    return "\n".join([_from(line, last) if " = phi " in line else line for line in found]) if last else text


def _next_cut(lines: Sequence[str], first: int, end: int) -> int:
    """Return the first line from here on that a block may begin with, or the end."""
    return next((k for k in range(first, end) if " = " in lines[k] and " = phi " not in lines[k]), end)


def _from(phi: str, last: Mapping[str, str]) -> str:
    """Return a line that chooses by the block before, where that ends in another one."""
    return _FROM.sub(lambda x: f"%{last.get(x[1], x[1])}]", phi)
