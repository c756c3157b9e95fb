"""Time several candidates fairly: warmed up, interleaved, minimum of many repeats."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from timeit import Timer
from typing import Any

#: Rounds of a race: at least this many, unless one round is already far over the budget, and at most.
LEAST, MOST = 3, 1000


@dataclass(frozen=True)
class Options:
    """What a question may be asked with: how many states, and how many seconds for each row."""

    quick: bool = False
    states: int = 65536
    budget: float = 2.5


@dataclass(frozen=True)
class Contender:
    """Something to be timed; one run covers `states` states."""

    name: str
    run: Callable[[], object]
    states: int = 1


def race(contenders: Sequence[Contender], *, budget: float, most: int = MOST) -> dict[str, float]:
    """Return the least time in seconds per state of each contender.

    All are warmed up, then run in turns until the budget, in seconds, is spent.
    """
    best = dict.fromkeys((c.name for c in contenders), float("inf"))
    with quiet():
        first = sum(clock(c.run) for c in contenders)
        least = LEAST if first < budget else 1
        end = time.perf_counter() + budget
        for done in range(most):
            if done >= least and time.perf_counter() > end:
                break
            for c in contenders:
                best[c.name] = min(best[c.name], clock(c.run) / c.states)
    return best


def best_times(candidates: Mapping[str, Callable[[], object]], *, repeats: int = 15) -> dict[str, float]:
    """Return the least time in seconds of each candidate over a fixed number of interleaved repeats."""
    return race([Contender(name, run) for name, run in candidates.items()], budget=1e9, most=repeats)


def quickest(contenders: Sequence[Contender], *, budget: float = 0.1) -> Contender:
    """Return the contender with the least time, by a short race."""
    if len(contenders) == 1:
        return contenders[0]
    unnamed = [Contender(str(k), c.run, c.states) for k, c in enumerate(contenders)]
    times = race(unnamed, budget=budget)
    return contenders[min(range(len(contenders)), key=lambda k: times[str(k)])]


def repeated(name: str, f: Callable[..., object], args: Sequence[Any], *, seconds: float = 2e-3) -> Contender:
    """Return f(*args) as a contender that calls it again and again for about `seconds`.

    The calls stand in a compiled loop of their own, so that nothing but the call is charged.
    """
    names = [f"x{k}" for k in range(len(args))]
    timer = Timer(f"f({', '.join(names)})", globals={"f": f, **dict(zip(names, args, strict=True))})
    timer.timeit(3)
    once = min(timer.repeat(5, 3)) / 3
    count = max(1, round(seconds / once))
    return Contender(name, lambda: timer.timeit(count), count)


def clock(run: Callable[[], object]) -> float:
    """Return the seconds that one run takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


@contextmanager
def quiet() -> Generator[None]:
    """Keep the garbage collector from being charged to whoever runs when it wakes."""
    was = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
