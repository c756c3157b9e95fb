"""A process that simulates blocks of a store: it reads their numbers, and writes what became of them.

It is a process of its own that calls `main`, so that no script of a user's is run again, and ends when its
input does. Robots and specifications come from the store; nothing is pickled.
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

from hinge.campaign.functions import digest_of
from hinge.campaign.plan import Plan
from hinge.campaign.store import HEAD, Store

#: What a block has come to: its number, samples, samples that failed, and the seconds that it took.
Outcome = tuple[int, int, int, float]


def simulate_blocks(path: str, blocks: list[int], trust: bool) -> list[Outcome]:
    """Simulate and write these blocks of the store at a path; blocks that are there stay as they are."""
    store, campaign = _opened(path, digest_of(Path(path) / HEAD), trust)
    return [simulate_block(store, campaign, k) for k in blocks]


def simulate_block(store: Store, campaign: Plan, block: int) -> Outcome:
    """Simulate and write one block, unless it is there."""
    begun, (first, count) = perf_counter(), store.extent(block)
    if not store.record_file(block).exists():
        store.write(block, campaign.piece(first, count))
    failed: dict[str, Any] = store.record(block)["failed"]
    return block, count, sum(map(int, failed.values())), perf_counter() - begun


@lru_cache(maxsize=4)
def _opened(path: str, _digest: str, trust: bool) -> tuple[Store, Plan]:
    """Return a store and its campaign, made once in a process."""
    store = Store(path)
    return store, store.plan(trust=trust)


def main() -> None:
    """Answer lines until the input ends."""
    path, trust = sys.argv[1], sys.argv[2] == "1"
    answers = sys.stdout
    sys.stdout = sys.stderr  # what functions print is no answer
    for line in sys.stdin:
        try:
            found: dict[str, Any] = {"done": simulate_blocks(path, json.loads(line), trust)}
        except Exception as error:  # told to whoever asked
            found = {"error": str(error) or type(error).__name__, "kind": type(error).__name__}
            found["errno"] = getattr(error, "errno", None)
        try:
            answers.write(json.dumps(found) + "\n")
            answers.flush()
        except BrokenPipeError:  # whoever asked has gone
            return
