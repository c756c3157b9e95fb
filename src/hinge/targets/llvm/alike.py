"""Kernels of one state whose outputs are computed alike: sums of products in lanes of their own.

The entries of a row of a tile, in `hinge.sweeps.multiply`, are such outputs: each is the same sum, of the
same entries on the left and of neighbours on the right. One state alone has lanes to spare for them. Each
lane does what the kernel says for its output, so that bits are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from hinge.kernels import Kernel, fused
from hinge.targets.llvm.text import Writer

#: Outputs that are tried together, most first.
WIDTHS = 4, 2
SUMS = {"mul", "add", "fma"}

#: Where a number lies: a base, and its place from there.
Address: TypeAlias = tuple[str, int]
#: Values of a kernel in lanes.
Pack: TypeAlias = tuple[int, ...]


class Alike:
    """A kernel without parameters, with the addresses of its loads and stores."""

    def __init__(self, kernel: Kernel, loads: Sequence[Address], stores: Sequence[Address]) -> None:
        self.kernel, self.loads, self.stores = kernel, loads, stores
        self.steps = {s.value: s for s in fused(kernel)}
        self.groups: list[range] = []
        self.packs: dict[Pack, None] = {}

    @classmethod
    def of(cls, kernel: Kernel, loads: Sequence[Address], stores: Sequence[Address]) -> Alike | None:
        """Return a kernel whose outputs are all in groups, or None."""
        plain = len(loads) == len(kernel.inputs) and all(o.value is not None for o in kernel.outputs)
        if not plain or any(s.op not in SUMS for s in fused(kernel)):
            return None
        found = cls(kernel, loads, stores)
        return found if found._group() else None

    def _group(self) -> bool:
        """Put all outputs in groups that are computed alike, or return False."""
        at = 0
        while at < len(self.stores):
            groups = (range(at, at + width) for width in WIDTHS if at + width <= len(self.stores))
            group = next((g for g in groups if self._take(g)), None)
            if group is None:
                return False
            self.groups.append(group)
            at = group.stop
        return True

    def _take(self, group: range) -> bool:
        """Take all packs that a group needs, or return False."""
        signs = {self.kernel.outputs[k].negative for k in group}
        if len(signs) > 1 or not _side_by_side([self.stores[k] for k in group]):
            return False
        found = {self._values(group): None}
        todo = list(found)
        while todo:
            given = self._given(todo.pop())
            if given is None:
                return False
            todo += [p for p in given if p not in found]
            found |= dict.fromkeys(given)
        self.packs |= found
        return True

    def _values(self, group: range) -> Pack:
        return tuple(o.value for o in (self.kernel.outputs[k] for k in group) if o.value is not None)

    def _given(self, pack: Pack) -> list[Pack] | None:
        """Return the packs that the step of a pack takes, none for loads; None if it cannot be in lanes."""
        if all(v < len(self.loads) for v in pack):
            one = len(set(pack)) == 1
            return [] if one or _side_by_side([self.loads[v] for v in pack]) else None
        if len({v >= len(self.loads) and self.steps[v].op for v in pack}) > 1:
            return None
        return list(zip(*(self.steps[v].operands for v in pack), strict=True))

    def write(self, w: Writer) -> None:
        """Write the loads, the sums in the kernel's order, and the stores."""
        made: dict[Pack, str] = {}
        for pack in sorted(self.packs, key=max):
            if pack[0] >= len(self.loads):
                self._step(w, pack, made)
        for group in self.groups:
            self._store(w, group, made)

    def _step(self, w: Writer, pack: Pack, made: dict[Pack, str]) -> None:
        """Write one step; what it loads is loaded now."""
        given = self._given(pack) or []
        for p in given:
            if p not in made:
                made[p] = self._load(w, p)
        op, x = self.steps[pack[0]].op, [made[p] for p in given]
        with w.packed(len(pack)):
            made[pack] = w.fma(*x) if op == "fma" else w.binary(f"f{op}", *x)

    def _load(self, w: Writer, pack: Pack) -> str:
        base, place = self.loads[pack[0]]
        if len(set(pack)) == 1:
            x = w.load(base, place)
            with w.packed(len(pack)):
                return w.spread(x)
        at = w.at(base, place)
        with w.packed(len(pack)):
            return w.load(at)

    def _store(self, w: Writer, group: range, made: dict[Pack, str]) -> None:
        base, place = self.stores[group[0]]
        values, at = self._values(group), w.at(base, place)
        x = made[values] if values in made else self._load(w, values)
        with w.packed(len(group)):
            w.store(w.negative(x) if self.kernel.outputs[group[0]].negative else x, at)


def _side_by_side(places: Sequence[Address]) -> bool:
    base, first = places[0]
    return all(place == (base, first + k) for k, place in enumerate(places))
