"""Limbs: chains of calls with the same sequence of kernels, such as two arms or four legs.

The calls of a pass depend on each other as the bodies do. Between two branchings they form a chain; chains
that depend on earlier calls only are independent of each other, and those that agree at one end, where they
join the trunk, can be grouped: a loop then runs over the limbs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import reduce
from operator import or_

from hinge.sweeps import Call

Chain = tuple[Call, ...]
#: The least number of calls that two limbs have in common.
SHORTEST_LIMB = 3


def ordered_by_limbs(
    calls: Sequence[Call], kernel: Callable[[Call], Hashable], rolls: Callable[[Chain], bool]
) -> Iterator[tuple[Chain, int]]:
    """Yield the calls of one pass in an equivalent order: the number of limbs, and their calls.

    Chains that `rolls` says are loops by themselves are no limbs.
    """
    for wave in _waves(calls):
        whole = [c for c in wave if rolls(c)]
        others = [c for c in wave if not rolls(c)]
        heads, tails = (_alike(others, kernel, end) for end in (0, -1))
        at_head = _saved(heads) >= _saved(tails)
        groups = heads if at_head else tails
        common = [(sum((c[:n] if at_head else c[-n:] for c in found), ()), len(found)) for found, n in groups]
        taken = {id(c): n for found, n in groups for c in found}
        rests = [c[taken.get(id(c), 0) :] if at_head else c[: len(c) - taken.get(id(c), 0)] for c in others]
        parts = [(c, 1) for c in (*whole, *rests) if c]
        yield from (*common, *parts) if at_head else (*parts, *common)


def _waves(calls: Sequence[Call]) -> list[list[Chain]]:
    """Return the chains in waves: each depends on earlier waves only."""
    before = _before(calls)
    readers = Counter(k for found in before for k in found)
    chain_of: list[int] = []
    chains: list[list[Call]] = []
    wave: list[int] = []
    for c, found in zip(calls, before, strict=True):
        only = next(iter(found)) if len(found) == 1 else None
        if only is not None and readers[only] == 1:
            chain_of.append(chain_of[only])
        else:
            wave.append(1 + max((wave[chain_of[k]] for k in found), default=-1))
            chain_of.append(len(chains))
            chains.append([])
        chains[chain_of[-1]].append(c)
    found_waves: list[list[Chain]] = [[] for _ in range(max(wave, default=-1) + 1)]
    for w, chain in zip(wave, chains, strict=True):
        found_waves[w].append(tuple(chain))
    return found_waves


def _before(calls: Sequence[Call]) -> list[list[int]]:
    """Return the direct predecessors of each call, without those implied by others."""
    maker = {s: k for k, c in enumerate(calls) for s in c.stores}
    found: list[list[int]] = []
    # All predecessors of a call, as the bits of a number.
    waits: list[int] = []
    for c in calls:
        makers = sorted({maker[s] for s in c.loads if s in maker})
        behind = reduce(or_, (waits[k] for k in makers), 0)
        found.append([k for k in makers if not behind >> k & 1])
        waits.append(reduce(or_, (1 << k for k in makers), behind))
    return found


def _alike(
    chains: Sequence[Chain], kernel: Callable[[Call], Hashable], end: int
) -> list[tuple[list[Chain], int]]:
    """Return groups of chains that agree at this end (0 or −1), and the number of common calls."""
    by_kernel: dict[Hashable, list[Chain]] = {}
    for c in chains:
        by_kernel.setdefault(kernel(c[end]), []).append(c)
    groups = [(found, _agreed(found, kernel, end)) for found in by_kernel.values() if len(found) > 1]
    return [(found, n) for found, n in groups if n >= SHORTEST_LIMB]


def _agreed(chains: Sequence[Chain], kernel: Callable[[Call], Hashable], end: int) -> int:
    step = 1 if end == 0 else -1
    found = 0
    for calls in zip(*(c[::step] for c in chains), strict=False):
        if len({kernel(c) for c in calls}) > 1:
            break
        found += 1
    return found


def _saved(groups: Sequence[tuple[list[Chain], int]]) -> int:
    return sum((len(found) - 1) * n for found, n in groups)
