"""What do more threads buy, is the default ever slower than one thread, and what does `out=` save?"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.entrants import ours
from benchmarks.fresh import fresh
from benchmarks.harness import Contender, Options, race
from benchmarks.subjects import one_thread, subject
from benchmarks.tables import Cell, Table, nanoseconds, ratio

SIZES = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
DEFAULT, VARIABLE, ALONE = "default threads", "HINGE_THREADS=1", "set_threads(1)"

#: The least time of a state in a batch, in a process of its own: it depends on where its stack happens to be.
PROCESS = """
import hinge
hinge.set_threads(1)
robot = {robot}
q, v = hinge.random_configuration(robot, 1, 1024), np.ones((1024, robot.nv))
for _ in range(50):
    hinge.{verb}(robot, q, v, v)
times = []
for _ in range(400):
    lap()
    hinge.{verb}(robot, q, v, v)
    times.append(lap() / 1024)
print(json.dumps({{"least": min(times)}}))
"""


def tables(options: Options) -> Iterator[Table]:
    """Yield the tables; the threads of the process are one again at the end."""
    yield _more_threads(options)
    yield _defaults(options)
    yield _out(options)
    yield _processes(options)
    one_thread()


def _more_threads(options: Options) -> Table:
    title = f"Threads: talos, forward dynamics, {options.states} states, float64"
    table = Table(title, ("threads", "Hinge [ns per state]", "times one thread", "results"))
    on = subject("talos")
    call = ours("", on, "forward_dynamics", on.states(options.states))
    counts = sorted({1, 2, os.cpu_count() or 1})
    values = [np.asarray(_with(n, call.run)) for n in counts]
    entries = [Contender(str(n), partial(_with, n, call.run), call.states) for n in counts]
    times = race(entries, budget=2 * options.budget)
    for n, value in zip(counts, values, strict=True):
        same: Cell = "identical" if np.array_equal(value, values[0]) else "wrong: not identical"
        table.rows.append([n, nanoseconds(times[str(n)]), ratio(times["1"], times[str(n)]), same])
    return table


def _defaults(options: Options) -> Table:
    columns = ("robot", "states", DEFAULT, VARIABLE, ALONE, "default / one")
    table = Table("Default threads beside one: forward dynamics, µs per call, float64", columns)
    ways: dict[str, Callable[[], None]] = {
        DEFAULT: partial(_environment, None),
        VARIABLE: partial(_environment, "1"),
        ALONE: partial(hinge.set_threads, 1),
    }
    for name in ("panda", "talos"):
        on = subject(name)
        for count in SIZES:
            call, repeats = ours("", on, "forward_dynamics", on.states(count)), max(1, 20000 // count)
            entries = [
                Contender(way, partial(_after, set_up, call.run, repeats), repeats)
                for way, set_up in ways.items()
            ]
            times = race(entries, budget=0.4 * options.budget)
            shown = [1e6 * times[way] for way in ways]
            table.rows.append([name, count, *shown, times[DEFAULT] / min(times[VARIABLE], times[ALONE])])
    _environment(None)
    return table


def _out(options: Options) -> Table:
    columns = ("robot", "quantity", "states", "new array", "out=", "new / out")
    table = Table("Results in an array of the caller: ns per state, float64, one thread", columns)
    one_thread()
    for name in ("panda", "talos"):
        for quantity in ("forward_dynamics", "mass_matrix"):
            for count in (1, 256, 4096, 65536):
                shown = quantity.replace("_", " ")
                table.rows.append([name, shown, count, *_into(name, quantity, count, options)])
    return table


def _into(name: str, quantity: str, count: int, options: Options) -> list[Cell]:
    on = subject(name)
    states = on.states(count)
    f, args = on.call(quantity, states[0] if count == 1 else states)
    to = np.empty_like(f(*args))
    repeats = max(1, 2000 // count)

    def many(**given: Any) -> None:
        for _ in range(repeats):
            f(*args, **given)

    ways = {"new": many, "out": partial(many, out=to)}
    times = race([Contender(n, run, repeats * count) for n, run in ways.items()], budget=0.3 * options.budget)
    return [nanoseconds(times["new"]), nanoseconds(times["out"]), ratio(times["new"], times["out"])]


def _processes(options: Options) -> Table:
    count = 3 if options.quick else 10
    title = f"The same code in {count} processes: ns per state, 1024 states, float64, one thread"
    table = Table(title, ("robot", "quantity", "least", "median", "most"))
    talos = f"hinge.load({str(subject('talos').path)!r}, floating=True, strict=None)"
    for name, robot in (("panda", "hinge.robots.panda()"), ("talos", talos)):
        for verb in ("forward_dynamics", "inverse_dynamics"):
            script = PROCESS.format(robot=robot, verb=verb)
            # The environment is as long as it is: a longer one moves the stack.
            found = [1e9 * fresh(script, {"PADDING": "x" * 16 * k})["least"] for k in range(count)]
            row = [min(found), statistics.median(found), max(found)]
            table.rows.append([name, verb.replace("_", " "), *row])
    return table


def _with(threads: int, run: Callable[[], object]) -> object:
    hinge.set_threads(threads)
    return run()


def _after(set_up: Callable[[], None], run: Callable[[], object], repeats: int) -> None:
    set_up()
    for _ in range(repeats):
        run()


def _environment(threads: str | None) -> None:
    """Let the environment say how many threads there are."""
    if threads is None:
        os.environ.pop("HINGE_THREADS", None)
    else:
        os.environ["HINGE_THREADS"] = threads
    hinge.set_threads(None)


if __name__ == "__main__":
    command.run({"threads": tables})
