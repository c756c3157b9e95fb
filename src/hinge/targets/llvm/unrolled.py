"""Shape U: every call written out, every slot a value. The fastest while the code fits into the cache."""

from __future__ import annotations

from collections.abc import Sequence

from hinge.sweeps import Call, Code, DenseCall, Slot
from hinge.targets.llvm.functions import write_circles
from hinge.targets.llvm.lanes import Rows
from hinge.targets.llvm.memory import InMemory
from hinge.targets.llvm.plan import Places, slots_read, slots_shown
from hinge.targets.llvm.solve import is_written_out
from hinge.targets.llvm.straight import angles
from hinge.targets.llvm.text import Writer


class Unrolled(InMemory):
    """A block of states: straight-line code. Only large solves need scratch."""

    def __init__(self, w: Writer, code: Code) -> None:
        places = Places()
        solves = [c for c in code.calls if isinstance(c, DenseCall)]
        large = [c for c in solves if not is_written_out(c)]
        for c in large:
            places.put([x.index for x in c.result.flat])
        places.put(list(dict.fromkeys(s for c in large for s in slots_read(c) if s not in places.of)))
        super().__init__(w, code, places)

    def load(self, arrays: Sequence[Rows]) -> None:
        """Write the loads of the inputs that are read."""
        needed = {*slots_shown(self.code), *(s for c in self.code.calls for s in slots_read(c))}
        for rows, slots in zip(arrays, self.code.inputs.values(), strict=True):
            for k, x in rows.load([k for k, s in enumerate(slots) if s in needed]).items():
                self.keep(slots[k], x)

    def run(self) -> None:
        """Write all calls."""
        if self.w.lanes.width == 1:
            write_circles(self.w, self._angles())
        for c in self.code.calls:
            if isinstance(c, DenseCall):
                self.solve(c)
            else:
                self.call(c)

    def _angles(self) -> list[str]:
        """Return the inputs of which some call takes sine or cosine."""
        calls = [c for c in self.code.calls if isinstance(c, Call)]
        slots = (c.loads[n] for c in calls for n in angles(c.kernel) if n < len(c.loads))
        return [self.values[s] for s in dict.fromkeys(slots) if s in self.values]

    def store(self, rows: Rows, values: Sequence[Slot | float]) -> None:
        """Write the stores of a result."""
        rows.store(lambda k: self.value(values[k]))
