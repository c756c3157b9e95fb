"""How long does a batch of states take, next to Pinocchio and MuJoCo?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks import command
from benchmarks.agreement import BOUND, BOUND_SINGLE, few, sample, wrong
from benchmarks.entrants import MUJOCO, NATIVE, PYTHON, Entrants, blamed, doubts, entrants, judged, ours
from benchmarks.harness import Contender, Options, race
from benchmarks.subjects import NAMES, QUANTITIES, States, Subject, one_thread, subject
from benchmarks.tables import Cell, Table, nanoseconds, ratio

COLUMNS = (
    "robot", "nv", "Hinge", "in small batches", "float32", NATIVE, "by", PYTHON, MUJOCO,
    "native / Hinge", "pin / Hinge", "MuJoCo / Hinge",
)  # fmt: skip

#: States of a small batch: arguments and results stay in the cache.
SMALL = 1024

#: States that a peer's run covers, one after the other: few, so that their results stay in the cache.
PEER_STATES = 500


def tables(options: Options) -> Iterator[Table]:
    """Yield one table for each quantity."""
    one_thread()
    names = ("panda", "talos") if options.quick else NAMES
    fields = {name: entrants(subject(name)) for name in names}
    note = (
        f"Hinge: one call with {options.states} states (small batches: {SMALL}); peers: {PEER_STATES} states "
        f"in a loop. Checked: Hinge agrees with Pinocchio to {BOUND:g}, in float32 to {BOUND_SINGLE:g}."
    )
    for quantity in QUANTITIES:
        rows: list[Sequence[Cell]] = [_row(subject(name), fields[name], quantity, options) for name in names]
        title = f"Batch, {quantity.replace('_', ' ')}: ns per state, one thread, float64"
        yield Table(title, COLUMNS, rows, [note, *doubts()])


def _row(on: Subject, field: Entrants, quantity: str, options: Options) -> list[Cell]:
    """Return a robot's times, or in their place that Hinge is wrong."""
    s = on.states(options.states)
    full, small = ours("hinge", on, quantity, s), ours("small", on, quantity, s[:SMALL])
    odd = judged(np.asarray(full.run()), quantity, s, field.all)
    bad = blamed(odd | judged(np.asarray(small.run()), quantity, s[:SMALL], field.all))
    single = _single(on, quantity, s)
    mine = [] if bad else [full, small, *([single] if isinstance(single, Contender) else [])]
    right = [p for p in field.all if bad or p.name not in odd]
    times = race([*mine, *(p.contender(quantity, s[:PEER_STATES]) for p in right)], budget=options.budget)
    hinge, in_small = (bad or nanoseconds(times[name]) for name in ("hinge", "small"))
    float32 = single if isinstance(single, str) else bad or nanoseconds(times["float32"])
    native, *others = cells = field.cells(times, odd)
    ratios = [ratio(x, hinge) for x in cells]
    return [on.name, on.robot.nv, hinge, in_small, float32, native, field.builder(times), *others, *ratios]


def _single(on: Subject, quantity: str, s: States) -> Contender | str:
    """Return the call in single precision, or why there is none."""
    call, right = ours("float32", on, quantity, s.single_precision()), ours("", on, quantity, few(s)).run()
    found = np.asarray(call.run())
    if found.dtype != np.float32:
        return "–"
    return wrong(quantity, found[sample(len(s))], np.asarray(right), BOUND_SINGLE) or call


if __name__ == "__main__":
    command.run({"batch": tables})
