"""How long does one state take, called from Python?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import command
from benchmarks.entrants import NATIVE, Entrants, blamed, entrants, judged
from benchmarks.harness import Contender, Options, quickest, race, repeated
from benchmarks.peers import Peer
from benchmarks.peers.pinocchio_python import Pinocchio
from benchmarks.subjects import QUANTITIES, States, Subject, one_thread, subject
from benchmarks.tables import Cell, Table, nanoseconds, ratio
from hinge.spatial import Array

COLUMNS = (
    "robot", "quantity", "Hinge", "pin call", "MuJoCo", NATIVE,
    "pin / Hinge", "MuJoCo / Hinge", "native / Hinge",
)  # fmt: skip

#: States that the peers' own loops cover.
PEER_STATES = 500


def tables(options: Options) -> Iterator[Table]:
    """Yield one table."""
    one_thread()
    table = Table("One state: ns per call from Python, float64", COLUMNS)
    for name in ("panda", "talos"):
        field = entrants(subject(name))
        for quantity in QUANTITIES:
            table.rows.append(_row(subject(name), field, quantity, options))
    table.notes.append("native: a loop in C++, no Python in it. MuJoCo: the calls that the quantity needs.")
    yield table


def _row(on: Subject, field: Entrants, quantity: str, options: Options) -> list[Cell]:
    s = on.states(PEER_STATES)
    odd = judged(_one_by_one(on, quantity, s[:4]), quantity, s[:4], field.all)
    bad = blamed(odd)
    f, args = on.call(quantity, s[0])
    mine = [] if bad else [repeated("hinge", f, args)]
    theirs = [_call(p, quantity, s) for p in field.all if bad or p.name not in odd]
    times = race([*mine, *theirs], budget=0.4 * options.budget)
    hinge = bad or nanoseconds(times["hinge"])
    native, pin, mujoco = field.cells(times, odd)
    ratios = [ratio(x, hinge) for x in (pin, mujoco, native)]
    return [on.name, quantity.replace("_", " "), hinge, pin, mujoco, native, *ratios]


def _one_by_one(on: Subject, quantity: str, s: States) -> Array:
    """Return Hinge's results of single calls, stacked."""
    calls = [on.call(quantity, s[k]) for k in range(len(s))]
    return np.stack([f(*args) for f, args in calls])


def _call(peer: Peer, quantity: str, s: States) -> Contender:
    """Return a peer's call for one state: Pinocchio's by itself, others' in their loops."""
    if not isinstance(peer, Pinocchio):
        return peer.contender(quantity, s)
    return quickest([repeated(peer.name, f, args) for f, args in peer.single(quantity, s)])


if __name__ == "__main__":
    command.run({"single": tables})
