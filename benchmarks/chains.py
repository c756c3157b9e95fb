"""Does the time grow in proportion to the links, and how long does the first call of a long chain take?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import hinge
from benchmarks import command
from benchmarks.agreement import wrong
from benchmarks.entrants import NATIVE, PYTHON, Entrants, blamed, entrants, judged, ours
from benchmarks.fresh import fresh
from benchmarks.harness import Options, race
from benchmarks.subjects import States, Subject, one_thread, written
from benchmarks.tables import Cell, Table, nanoseconds, ratio
from hinge import reference
from hinge.spatial import Array

#: Links, and states in a batch of them.
SIZES = {10: 4096, 100: 512, 1000: 64}

#: Pinocchio's Data grows with the cube of the links: 1000 of them need tens of gigabytes.
PINOCCHIO_MOST = 100

#: Chains, as text since fresh processes build them too: equal rods, and random placements and inertias.
KINDS = {
    "rods": "hinge.robots.chain({n})",
    "random": "hinge.robots.random_tree({n}, 3, ['revolute'], branching=0.0, rotors=False)",
}

#: Seconds that a first call may take, everything around it included.
LIMIT = 60.0

COLUMNS = (
    "chain", "links", "states", "Hinge", "per link", "per link, of 100", NATIVE, PYTHON,
    "native / Hinge", "pin / Hinge", "first call [s]",
)  # fmt: skip

FIRST_CALL = """
import hinge
robot = {robot}
q = hinge.random_configuration(robot, 1, {states})
v = np.ones(({states}, robot.nv))
f = hinge.{verb}
lap()
f(robot, q, v, v)
print(json.dumps({{"first": lap()}}))
"""


def tables(options: Options) -> Iterator[Table]:
    """Yield one table for forward and one for inverse dynamics."""
    one_thread()
    sizes = [n for n in SIZES if n < 1000] if options.quick else list(SIZES)
    kinds = ["rods"] if options.quick else list(KINDS)
    for verb in ("forward_dynamics", "inverse_dynamics"):
        title = f"Chains, {verb.replace('_', ' ')}: ns per state, one thread, float64"
        note = "First call: in a fresh process, without a cache, import and loading not counted."
        table = Table(title, COLUMNS, notes=[note])
        for kind in kinds:
            rows = {n: _row(kind, n, verb, options) for n in sizes}
            for row in rows.values():
                row.insert(5, ratio(row[4], rows[100][4]))
            table.rows.extend(rows.values())
        yield table


def _row(kind: str, n: int, verb: str, options: Options) -> list[Cell]:
    """Return the cells of one chain, but for the growth per link; few if it takes too long to compile."""
    first = _first_call(kind, n, verb)
    if isinstance(first, str):
        return [kind, n, SIZES[n], *[None] * 6, first]
    on = written(eval(KINDS[kind].format(n=n), {"hinge": hinge}))
    s = on.states(SIZES[n])
    field = entrants(on) if n <= PINOCCHIO_MOST else Entrants({}, {})
    mine = ours("hinge", on, verb, s)
    value = np.asarray(mine.run())
    odd = judged(value, verb, s, field.all) if field.all else _by_the_book(on, verb, s, value)
    bad = blamed(odd)
    peers = [p.contender(verb, s) for p in field.all if p.name != "MuJoCo"]
    times = race([*([] if bad else [mine]), *peers], budget=0.5 * options.budget)
    hinge_time = bad or nanoseconds(times["hinge"])
    native, pin, _ = field.cells(times, odd)
    ratios = [ratio(x, hinge_time) for x in (native, pin)]
    return [kind, n, len(s), hinge_time, ratio(hinge_time, n), native, pin, *ratios, first]


def _first_call(kind: str, n: int, verb: str) -> float | str:
    """Return the seconds of the first call, the least of two unless it is long, or that it is too long."""
    script = FIRST_CALL.format(robot=KINDS[kind].format(n=n), states=SIZES[n], verb=verb)
    try:
        found = fresh(script, {"HINGE_CACHE": "0"}, limit=LIMIT)["first"]
        return found if found > 3 else min(found, fresh(script, {"HINGE_CACHE": "0"})["first"])
    except TimeoutError:
        return f"over {LIMIT:.0f}"


def _by_the_book(on: Subject, verb: str, s: States, value: Array) -> dict[str, str]:
    """Judge a chain too long for Pinocchio by the book's algorithms, at a few states."""
    f, (robot, *arrays) = getattr(reference, verb), on.call(verb, s[:4])[1]
    how = wrong(verb, value[:4], f(robot, *arrays))
    return {"reference": how} if how else {}


if __name__ == "__main__":
    command.run({"chains": tables})
