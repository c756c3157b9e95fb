"""Wide reads: columns that differ in their zeros share a kernel that knows none of them.

What is known stays known from body to body, so that columns which start at different bodies come with
different zeros, and each would have a kernel of its own. That is quick to run but long to compile: in large
programs, from a number of traced operations on, entries that are known are read like all others, from slots
that hold constants. Only on the way from base to tip: there zeros fill up within a body or two, while towards
the base they stay, and save half of the operations.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from hinge.kernels import Kernel, Output
from hinge.sweeps.code import Call
from hinge.sweeps.signs import negate
from hinge.sweeps.slots import Memory, Stored

#: Columns are traced with their zeros up to so many operations.
MOST_TRACED = 28000
_COPY = Kernel((0,), (), (Output(0, 0, False, None),))


class Constant(NamedTuple):
    """A call that stores a number in a slot."""

    number: float
    slot: int
    stage: int
    body: int

    def close(self, live: bytearray, kernels: dict[Kernel, Kernel]) -> Call | None:
        """Return the call if its slot is live, or None."""
        if not live[self.slot]:
            return None
        kernel = kernels.setdefault(_COPY, _COPY)
        return Call(kernel, (), (self.number,), (self.slot,), self.stage, self.body)


class Widened:
    """Values as they are read wide: every known entry is a slot of its own, and so is one with a sign.

    `real` are the slots that the others stand for. Numbers, and slots of earlier passes with the other sign,
    are stored where they are first read.
    """

    def __init__(self, memory: Memory) -> None:
        self.real: dict[int, int] = {}
        self.place: tuple[int, int] = (0, 0)
        self._memory, self._earlier = memory, memory.slots
        self._known: dict[int, tuple[Stored, Stored]] = {}
        self._constants: dict[float, int] = {}

    def of(self, value: Stored) -> Stored:
        """Return a value as it is read."""
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = value, self._widened(value)
        return found[1]

    def _widened(self, value: Stored) -> Stored:
        entries = value.entries(lambda k, negative: 2 * value.slots[k] + negative, partial(_number, value))
        wanted = {x >> 1 for x in entries if type(x) is int and x & 1 and x >> 1 < self._earlier}
        negated = dict(
            zip(wanted, negate(self._memory, list(wanted), wanted, *self.place, None), strict=True)
        )
        found: list[int] = []
        for x in entries:
            if type(x) is not int:
                found.append(2 * self._alias(self._constant(x)))
            else:
                found.append(2 * self._alias(negated[x >> 1]) if x & 1 and x >> 1 in negated else x)
        return self._memory.layouts.stored(value.layout.shape, found)

    def _alias(self, slot: int) -> int:
        """Return a new name of a slot."""
        name = -1 - len(self.real)
        self.real[name] = slot
        return name

    def _constant(self, number: float) -> int:
        """Return the slot of a number."""
        if number not in self._constants:
            (slot,) = self._memory.new_slots(1)
            self._constants[number] = slot
            self._memory.calls.append(Constant(number, slot, *self.place))
        return self._constants[number]


def _number(value: Stored, k: int, negative: bool) -> float:
    return -value.numbers[k] if negative else value.numbers[k]
