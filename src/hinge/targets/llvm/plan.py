"""The layout of calls: runs of calls of one kernel, and the places of slots in scratch.

A run is what can be a loop. The slots that its calls store get places at equal distances, so that a later
loop over the same bodies, in either direction, finds them by counting.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TypeGuard

from hinge.kernels import count
from hinge.sweeps import Call, Code, DenseCall, Slot, checks_passes, verify_code
from hinge.targets.llvm.limbs import SHORTEST_LIMB, ordered_by_limbs

#: A run along a chain repeats at most so many kernels in turn, and at least so often.
LONGEST_PERIOD, LEAST_REPEATS = 4, 3


@dataclass(frozen=True, eq=False)
class Run:
    """Calls of some kernels in turn, again and again: A A A …, or A B A B …, as bodies along a chain come."""

    calls: tuple[Call, ...]
    period: int = 1

    @property
    def repeats(self) -> int:
        """The number of turns."""
        return len(self.calls) // self.period

    @property
    def is_loop(self) -> bool:
        """Tell whether it is written as a loop: it has many turns, or saves much."""
        return self.repeats >= LEAST_REPEATS or (self.repeats > 1 and self.period >= SHORTEST_LIMB)

    @property
    def first(self) -> tuple[Call, ...]:
        """The calls of the first turn."""
        return self.calls[: self.period]

    def turns(self, k: int) -> tuple[Call, ...]:
        """Return the k-th call of every turn."""
        return self.calls[k :: self.period]

    def within(self, k: int, load: int) -> tuple[int, int] | None:
        """Return the earlier call of the same turn and the index of its store that a load reads, or None."""
        return self._source(range(k), self.turns(k), load, 0)

    def carried(self, k: int, load: int) -> tuple[int, int] | None:
        """Return the call of the previous turn and the index of its store that a load reads, or None."""
        return self._source(range(self.period), self.turns(k), load, 1)

    def _source(
        self, earlier: Iterable[int], calls: Sequence[Call], load: int, ago: int
    ) -> tuple[int, int] | None:
        for k in earlier:
            makers = self.turns(k)
            if len(calls) > ago and calls[ago].loads[load] in makers[0].stores:
                store = makers[0].stores.index(calls[ago].loads[load])
                pairs = zip(makers, calls[ago:], strict=False)
                if all(b.loads[load] == a.stores[store] for a, b in pairs):
                    return k, store
        return None


Segment = Run | DenseCall


def is_loop(part: Segment) -> TypeGuard[Run]:
    """Tell whether a part is written as a loop."""
    return isinstance(part, Run) and part.is_loop


def segments(code: Code, longest_period: int = LONGEST_PERIOD) -> list[Segment]:
    """Return the calls as runs and solves, in an order that makes runs long.

    Calls that depend on q alone are sorted by kernel; limbs that are alike are grouped. Columns are
    independent of each other, so all columns at one body come before the next body, and common values are
    loaded once.
    """
    found: list[Segment] = []
    for stage, group in groupby(code.calls, key=lambda c: c.stage):
        calls = list(group)
        plain = [c for c in calls if isinstance(c, DenseCall) or c.column is None]
        columns = [c for c in calls if isinstance(c, Call) and c.column is not None]
        if stage < 0:
            order = {k: n for n, k in enumerate(dict.fromkeys(kernel_of(c) for c in plain))}
            plain.sort(key=lambda c: order[kernel_of(c)])
        found += _plain(plain, longest_period) if stage >= 0 else _grouped(plain, longest_period)
        found += _grouped(_body_by_body(columns), longest_period)
    if checks_passes():
        verify_code(replace(code, calls=tuple(c for part in found for c in _calls(part))))
    return found


def _calls(part: Segment) -> Sequence[Call | DenseCall]:
    return part.calls if isinstance(part, Run) else (part,)


def written(parts: Iterable[Segment]) -> int:
    """Return the number of operations in the code, those of a loop once."""
    calls = (
        c for part in parts if isinstance(part, Run) for c in (part.first if is_loop(part) else part.calls)
    )
    return sum(count(c.kernel).total for c in calls)


def _plain(calls: Sequence[Call | DenseCall], longest_period: int) -> list[Segment]:
    """Return the calls of a pass in order, or with limbs grouped if that shortens the code."""
    as_they_come = list(_grouped(calls, longest_period))
    if longest_period == 1 or not all(isinstance(c, Call) for c in calls):
        return as_they_come
    by_limbs = list(_with_limbs([c for c in calls if isinstance(c, Call)], longest_period))
    return min(as_they_come, by_limbs, key=written)


def _with_limbs(calls: Sequence[Call], longest_period: int) -> Iterator[Segment]:
    """Yield the calls of a pass, limbs that are alike as one run."""

    def rolls(chain: Sequence[Call]) -> bool:
        return any(is_loop(part) for part in _grouped(chain, longest_period))

    for limbs, group in groupby(ordered_by_limbs(calls, kernel_of, rolls), key=itemgetter(1)):
        parts = [part for part, _ in group]
        if limbs > 1:
            yield from (Run(part, len(part) // limbs) for part in parts)
        else:
            yield from _grouped([c for part in parts for c in part], longest_period)


def kernel_of(c: Call | DenseCall) -> tuple[int, int]:
    """Return the key that the calls of a run share: the kernel, and its number of loads."""
    return (id(c.kernel), len(c.loads)) if isinstance(c, Call) else (id(c), 0)


def _body_by_body(columns: Sequence[Call]) -> list[Call]:
    """Return the calls of columns sorted by body, in the direction of the pass."""
    steps = [b.body - a.body for a, b in pairwise(columns) if a.column == b.column and a.body != b.body]
    towards_base = bool(steps) and steps[0] < 0
    order = {k: n for n, k in enumerate(dict.fromkeys(kernel_of(c) for c in columns))}
    return sorted(columns, key=lambda c: (-c.body if towards_base else c.body, order[kernel_of(c)]))


def _grouped(calls: Sequence[Call | DenseCall], longest_period: int) -> Iterator[Segment]:
    kernels = [kernel_of(c) for c in calls]
    at = 0
    while at < len(calls):
        call = calls[at]
        if isinstance(call, DenseCall):
            yield call
            at += 1
            continue
        period, repeats = _best_period(kernels, at, longest_period)
        members = calls[at : at + period * repeats]
        yield Run(tuple(c for c in members if isinstance(c, Call)), period)
        at += period * repeats


def _best_period(kernels: Sequence[tuple[int, int]], at: int, longest: int) -> tuple[int, int]:
    """Return the period that covers most calls from here on, and how often it repeats."""
    best = (1, _repeats(kernels, at, 1))
    for period in range(2, longest + 1):
        repeats = _repeats(kernels, at, period)
        if repeats >= LEAST_REPEATS and period * repeats > best[0] * best[1]:
            best = (period, repeats)
    return best


def _repeats(kernels: Sequence[tuple[int, int]], at: int, period: int) -> int:
    end = at + period
    while end < len(kernels) and kernels[end] == kernels[end - period]:
        end += 1
    return (end - at) // period if end - at >= 2 * period else 1


def slots_read(part: Call | DenseCall) -> Iterator[int]:
    """Yield the slots that a call or a solve reads."""
    if isinstance(part, Call):
        yield from part.loads
    else:
        yield from (x.index for block in (part.matrix, part.right) for x in block.flat if isinstance(x, Slot))


def slots_shown(code: Code) -> Iterator[int]:
    """Yield the slots that results are read from."""
    for r in code.results:
        yield from [x.index for x in r.values.ravel().tolist() if type(x) is Slot]


@dataclass
class Places:
    """The places of slots in scratch, counted in values.

    `free` are stretches of places whose slots are dead: (start, size) in order. `copies` are further places
    that a slot is stored at when a call that is written out makes it, and whether with the other sign.
    """

    size: int = 0
    of: dict[int, int] = field(default_factory=dict[int, int])
    free: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    copies: dict[int, list[tuple[int, bool]]] = field(default_factory=dict[int, list[tuple[int, bool]]])

    def more(self, size: int) -> int:
        """Return the first of this many new places."""
        self.size += size
        return self.size - size

    def give_back(self, start: int, size: int) -> None:
        """Let places be used again."""
        merged: list[tuple[int, int]] = []
        for at, length in sorted([*self.free, (start, size)]):
            if merged and sum(merged[-1]) == at:
                merged[-1] = merged[-1][0], merged[-1][1] + length
            else:
                merged.append((at, length))
        self.free = merged

    def again(self, size: int) -> int:
        """Return the first of this many places that were given back, or new ones."""
        for k, (at, length) in enumerate(self.free):
            if length >= size:
                self.free[k : k + 1] = [(at + size, length - size)] if length > size else []
                return at
        return self.more(size)

    def put(self, slots: Sequence[int], *, again: bool = False) -> int:
        """Give places to slots, one after the other, and return the first; perhaps `again` used ones."""
        start = self.again(len(slots)) if again else self.more(len(slots))
        self.of.update(zip(slots, range(start, start + len(slots)), strict=True))
        return start

    def put_run(self, run: Run, wanted: Container[int]) -> None:
        """Give places to the stores of a run that are read from some turn: then from all of them."""
        kept = [
            [s for s in range(len(c.stores)) if any(t.stores[s] in wanted for t in run.turns(k))]
            for k, c in enumerate(run.first)
        ]
        for n, c in enumerate(run.calls):
            self.put([x for s in kept[n % run.period] if (x := c.stores[s]) not in self.of])
