"""How long does it take to load a URDF file, next to Pinocchio?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import hinge
from benchmarks import command
from benchmarks.harness import Options, best_times
from benchmarks.peers.pinocchio_python import pin
from benchmarks.subjects import FILES, subject
from benchmarks.tables import Cell, Table, ratio


def tables(options: Options) -> Iterator[Table]:
    """Yield one table with a row for each robot."""
    repeats = 5 if options.quick else 15
    title = f"Load a URDF file, minimum of {repeats} interleaved repeats"
    table = Table(title, ("file", "Hinge [ms]", "Pinocchio [ms]", "Hinge / Pinocchio"))
    for name in ("panda", *FILES):
        path = subject(name).path
        runs: dict[str, Callable[[], object]] = {"hinge": partial(hinge.load, path, strict=None)}
        if pin is not None:
            runs["pinocchio"] = partial(pin.buildModelFromUrdf, str(path))
        t = best_times(runs, repeats=repeats)
        cells: list[Cell] = [1e3 * t[name] if name in t else None for name in ("hinge", "pinocchio")]
        table.rows.append([path.name, *cells, ratio(*cells)])
    yield table


if __name__ == "__main__":
    command.run({"load_urdf": tables})
