"""How long do the dynamics of robots with closed loops take, next to Pinocchio and MuJoCo?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import hinge
from benchmarks import command
from benchmarks.agreement import BOUND, difference
from benchmarks.fresh import fresh, least
from benchmarks.harness import Contender, Options, quickest, race, repeated
from benchmarks.loops import DIFFERENT, MAKERS, Loops, loops
from benchmarks.peers import PeerMissing, build
from benchmarks.peers.closed_mujoco import ClosedMujoco
from benchmarks.peers.closed_pinocchio import ClosedNative, ClosedPinocchio
from benchmarks.subjects import States, one_thread
from benchmarks.tables import Cell, Table, ratio
from hinge.dynamics import expression
from hinge.spatial import Array

COLUMNS = (
    "robot", "dofs", "rows", "operations", "compiled [s]", "Hinge, one", "pin, one", "pin / Hinge",
    "Hinge, batch", "pin, loop", "loop / batch", "native", "native / batch", "MuJoCo", "difference",
)  # fmt: skip
#: States in a batch, at most, and in a loop of a peer.
BATCH, LOOP = 8192, 64

SCRIPT = """
import hinge
from benchmarks.loops import loops
on = loops({name!r})
v = np.zeros(on.robot.nv)
hinge.forward_dynamics
start = time.process_time()
hinge.forward_dynamics(on.robot, on.start, v, v)
print(json.dumps({{"first": time.process_time() - start}}))
"""


def tables(options: Options) -> Iterator[Table]:
    """Yield one table."""
    one_thread()
    table = Table("Forward dynamics of closed robots: µs per state, one thread, float64", COLUMNS)
    doubts = set[str]()
    for name in ("two_pandas", "leg") if options.quick else MAKERS:
        table.rows.append(_row(name, loops(name), options, doubts))
    table.notes += [
        f"A batch has at most {BATCH} states: {DIFFERENT} that close, with velocities that the closures "
        f"allow, again and again. Peers loop over {LOOP} of them, also natively: short runs, of which the "
        "least is taken, are fair on a machine with other work.",
        "compiled: processor time of the first call, of one state, in a fresh process without a cache.",
        "pin: constraintDynamics with its usual settings, and for the leg, which has a redundant row, the "
        "proximal ones (µ = 1e-10). It has universal joints as two revolute ones. native: the same in C++.",
        "MuJoCo: mj_forward in a loop; its equality constraints are soft, so only the time can be compared.",
        f"difference: of accelerations, relative to the largest; above {BOUND:g} it would be wrong.",
        *sorted(doubts),
    ]
    yield table


def _row(name: str, on: Loops, options: Options, doubts: set[str]) -> list[Cell]:
    robot = on.robot
    took = least([fresh(SCRIPT.format(name=name), {"HINGE_CACHE": "0"}) for _ in range(2)])["first"]
    f = hinge.compile(expression("forward_dynamics", closed=True), robot)
    s = on.states(min(BATCH, options.states))
    out = np.empty((len(s), robot.nv))
    batch = partial(f, s.q, s.qd, tau=s.tau, out=out)
    batch()
    single = partial(hinge.forward_dynamics, robot, s.q[0], s.qd[0], s.tau[0])
    racers = [repeated("one", single, ()), Contender("batch", batch, len(s))]
    more, judged = _peers(on, s, doubts)
    times = {name: 1e6 * t for name, t in race([*racers, *more], budget=options.budget).items()}
    off = [difference("", out[: len(x)], x) for x in judged]
    said: Cell = None if not off else max(off) if max(off) <= BOUND else f"wrong: {max(off):.0e}"
    one, many, pin_one, pin_loop, native, soft = (
        times.get(k) for k in ("one", "batch", "pin one", "pin loop", "native", "mujoco")
    )
    head: list[Cell] = [on.name, robot.nv, len(hinge.closure_rows(robot)), f.code.operations().total, took]
    return [
        *head, one, pin_one, ratio(pin_one, one), many, pin_loop, ratio(pin_loop, many),
        native, ratio(native, many), soft, said,
    ]  # fmt: skip


def _peers(on: Loops, s: States, doubts: set[str]) -> tuple[list[Contender], list[Array]]:
    """Return the peers that can, and what they compute for the first states; add why others cannot."""
    found, judged = list[Contender](), list[Array]()
    few = s[: min(LOOP, len(s))]
    try:
        at = ClosedPinocchio(on.robot, redundant=bool(hinge.mobility(on.robot, s.q[0]).redundant))
        state = [x[0] for x in at.arguments(few)]
        found += [repeated("pin one", at.single(), state), Contender("pin loop", at.loop(few), len(few))]
        judged.append(at.values(few[: min(DIFFERENT, len(few))]))
        built = [ClosedNative(at, compiler).run(few) for compiler in build.compilers()]
        for run, out in built:
            run()
            judged.append(at.back(out))
        if not built:
            raise PeerMissing("no compiler")
        found.append(quickest([Contender("native", run, len(few)) for run, _ in built]))
    except PeerMissing as why:
        doubts.add(f"{on.name}: Pinocchio: {why}.")
    try:
        found.append(Contender("mujoco", ClosedMujoco(on.robot).loop(few), len(few)))
    except PeerMissing as why:
        doubts.add(f"{on.name}: MuJoCo: {why}.")
    return found, judged


if __name__ == "__main__":
    command.run({"closed": tables})
