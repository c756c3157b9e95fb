"""Sign changes: negating a few slots so that an existing template fits.

Two limbs that differ only at their tips may store the same values with different signs from there on, and
would share no kernel down to the trunk. Where a template fits up to signs, the slots that differ are negated
first, once, and all later kernels are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hinge.kernels import Kernel, Output
from hinge.sweeps.code import Call, Column
from hinge.sweeps.slots import FIRST, Layout, Room, Stored


def unsigned(key: Sequence[Any]) -> tuple[Any, ...]:
    """Return the key of reads without the signs of slots."""
    return tuple([x.unsigned if isinstance(x, Layout) else x for x in key])


def flipped(blocks: Sequence[Stored | None], wanted: Sequence[Any]) -> set[int] | None:
    """Return the slots that are read with the opposite sign, given layouts that differ in signs only.

    None if a slot is read with both signs.
    """
    other, same = set[int](), set[int]()
    for block, layout in zip(blocks, wanted, strict=False):
        if block is None:
            continue
        for code, as_wanted in zip(block.layout.codes, layout.codes, strict=True):
            if code >= FIRST:
                slot = block.slots[(code - FIRST) >> 1]
                (same if code == as_wanted else other).add(slot)
    return None if other & same else other


class Negation(NamedTuple):
    """A call that stores negated slots."""

    slots: Sequence[int]
    start: int
    stage: int
    body: int
    column: Column | None

    def close(self, live: bytearray, kernels: dict[Kernel, Kernel]) -> Call | None:
        """Return the call that stores the live slots, or None; its loads become live."""
        kept = [(s, self.start + k) for k, s in enumerate(self.slots) if live[self.start + k]]
        if not kept:
            return None
        loads, stores = zip(*kept, strict=True)
        for s in loads:
            live[s] = 1
        outputs = tuple(Output(n, n, True, None) for n in range(len(kept)))
        kernel = Kernel(tuple(range(len(kept))), (), outputs)
        return Call(kernels.setdefault(kernel, kernel), loads, (), stores, self.stage, self.body, self.column)


def negate(
    memory: Room, slots: Sequence[int], wanted: set[int], stage: int, body: int, column: Column | None
) -> list[int]:
    """Return the slots, with those of the opposite sign replaced by negated slots."""
    new = [s for s in slots if s in wanted and s not in memory.negated]
    if new:
        places = memory.new_slots(len(new))
        memory.negated.update(zip(new, places, strict=True))
        memory.calls.append(Negation(new, places[0], stage, body, column))
    return [memory.negated[s] if s in wanted else s for s in slots]
