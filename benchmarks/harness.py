"""Time several candidates fairly: warmed up, interleaved, minimum of many repeats."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def best_times(candidates: Mapping[str, Callable[[], object]], *, repeats: int = 15) -> dict[str, float]:
    """Return the least time in seconds of each candidate over interleaved repeats."""
    for run in candidates.values():
        run()
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(repeats):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
