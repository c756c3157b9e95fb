"""What do more threads buy, and are the results the same?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import hinge
from benchmarks import command
from benchmarks.entrants import ours
from benchmarks.harness import Contender, Options, race
from benchmarks.subjects import one_thread, subject
from benchmarks.tables import Cell, Table, nanoseconds, ratio


def tables(options: Options) -> Iterator[Table]:
    """Yield one table: talos, forward dynamics."""
    title = f"Threads: talos, forward dynamics, {options.states} states, float64"
    table = Table(title, ("threads", "Hinge [ns per state]", "times one thread", "results"))
    if not hasattr(hinge, "set_threads"):
        table.notes.append("This version of Hinge has no set_threads.")
        yield table
        return
    on = subject("talos")
    call = ours("", on, "forward_dynamics", on.states(options.states))
    counts = sorted({1, 2, os.cpu_count() or 1})
    values = [np.asarray(_with(n, call.run)) for n in counts]
    entries = [Contender(str(n), partial(_with, n, call.run), call.states) for n in counts]
    times = race(entries, budget=2 * options.budget)
    for n, value in zip(counts, values, strict=True):
        same: Cell = "identical" if np.array_equal(value, values[0]) else "wrong: not identical"
        table.rows.append([n, nanoseconds(times[str(n)]), ratio(times["1"], times[str(n)]), same])
    one_thread()
    yield table


def _with(threads: int, run: Callable[[], object]) -> object:
    hinge.set_threads(threads)
    return run()


if __name__ == "__main__":
    command.run({"threads": tables})
