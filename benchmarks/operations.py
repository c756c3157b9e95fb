"""How many operations do the derived algorithms take? Counted, next to Featherstone's Table 8-6."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from benchmarks import command
from benchmarks.harness import Options
from benchmarks.tables import Cell, Table
from hinge import Robot, robots
from hinge.dynamics import compiled

#: Multiplications and additions of Table 8-6, for n revolute joints of general geometry in a chain.
TABLE_8_6: dict[str, tuple[Callable[[int], int], Callable[[int], int]]] = {
    "inverse_dynamics": (lambda n: 130 * n - 68, lambda n: 101 * n - 56),
    "mass_matrix": (lambda n: 10 * n * n + 31 * n - 41, lambda n: 6 * n * n + 40 * n - 46),
    "forward_dynamics": (lambda n: 300 * n - 267, lambda n: 279 * n - 259),
}


def general_chain(n: int) -> Robot:
    """Return a chain of revolute joints with random placements and inertias."""
    return robots.random_tree(n, 3, ["revolute"], branching=0.0, rotors=False)


def tables(options: Options) -> Iterator[Table]:
    """Yield the counts, and how they grow."""
    title = "Chains of n revolute joints, general geometry: multiplications and additions"
    table = Table(title, ("verb", "n", "Hinge", "Table 8-6", "ratio"))
    for verb in TABLE_8_6:
        table.rows += [_counted(verb, n) for n in (6, 12)]
    yield table
    yield _growth(
        (10, 30) if options.quick else (10, 100, 1000), (10, 30) if options.quick else (10, 30, 100)
    )


def _counted(verb: str, n: int) -> list[Cell]:
    """Return the operations of a verb on a general chain next to the book's."""
    ours = compiled(general_chain(n), verb).code.operations()
    theirs = [count(n) for count in TABLE_8_6[verb]]
    ratio = (ours.multiplications + ours.additions + ours.divisions) / sum(theirs)
    mine = f"{ours.multiplications + ours.divisions}m + {ours.additions}a"
    return [verb, n, mine, f"{theirs[0]}m + {theirs[1]}a", ratio]


def _growth(sizes: tuple[int, ...], squares: tuple[int, ...]) -> Table:
    """Return the operations of chains of growing length; of the mass matrix, by n · depth."""
    table = Table(
        "Growth: operations of chain(n)", ("verb", "n", "operations", "for each", "compiled in [s]")
    )
    for verb in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        square = verb == "mass_matrix"
        for n in squares if square else sizes:
            start = time.perf_counter()
            total = compiled(robots.chain(n), verb).code.operations().total
            each = f"{total / n / n:.1f} a pair" if square else f"{total / n:.1f} a body"
            table.rows.append([verb, n, total, each, time.perf_counter() - start])
    return table


if __name__ == "__main__":
    command.run({"operations": tables})
