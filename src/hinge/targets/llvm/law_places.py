"""Where the numbers of a law of contact stand in scratch: the calls that make them store them there at once.

A number of W is read by the law alone, as a rule, and once. What is made by a call that is written out is
stored where the law reads it, with the law's sign; what a loop stores gets its place there if the sign is
the same. The rest is copied before the law is answered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from hinge.sweeps import DenseCall, ForceLaw, Slot
from hinge.targets.arranged import Arranged, arranged
from hinge.targets.llvm.plan import Places

#: So many numbers are copied without a loop.
COPIED_ONE_BY_ONE = 500


@dataclass(frozen=True)
class LawPlaces:
    """The arrays of a law: values and the first place of each share, and of the right side, start and bounds.

    `there` are the places that need no copy.
    """

    order: Arranged
    factors: list[tuple[list[Slot | float], int]]
    columns: list[tuple[list[Slot | float], int]]
    there: set[int] = field(default_factory=set[int])

    @classmethod
    def of(cls, c: DenseCall, law: ForceLaw, places: Places) -> LawPlaces:
        """Return new places for the numbers of a law."""
        order = arranged(law, c.matrix)
        factors = [order.values(c.matrix, share) for share in order.shares]
        columns = [[c.right[i, k] if i >= 0 else float(k == 2) for i in order.places] for k in range(3)]
        arrays = [(x, places.more(len(x))) for x in (*factors, *columns)]
        return cls(order, arrays[: len(factors)], arrays[len(factors) :])

    def fill(self, places: Places, once: Collection[int], repeated: Collection[int]) -> set[int]:
        """Let calls store here what they make, `once` or `repeated` in a loop.

        Returned is what needs no other place for the law. The arrays of the right side are overwritten, so
        that they are no place for a number itself.
        """
        found = set[int]()
        if any(len(values) > COPIED_ONE_BY_ONE for values, _ in self.factors):
            return found
        for values, start in (*self.factors, *self.columns):
            for place, slot in _slots(values, start):
                if slot.index in once:
                    places.copies.setdefault(slot.index, []).append((place, slot.negative))
                    self.there.add(place)
                    found.add(slot.index)
        for values, start in self.factors:
            for place, slot in _slots(values, start):
                if slot.index in repeated and slot.index not in places.of and not slot.negative:
                    places.of[slot.index] = place
                    self.there.add(place)
        return found


def _slots(values: Sequence[Slot | float], start: int) -> list[tuple[int, Slot]]:
    """Return the places of slots."""
    return [(start + k, x) for k, x in enumerate(values) if isinstance(x, Slot)]
