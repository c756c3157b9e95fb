"""What do inertias as arguments cost, next to folding them in and to a loop that sets Pinocchio's?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Contender, Options, race
from benchmarks.subjects import one_thread
from benchmarks.tables import Table, nanoseconds, ratio

#: Pinocchio orders the second moment xx, xy, yy, xz, yz, zz.
ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
#: States of the loop in Python, and how near it must come.
LOOPED, BOUND = 500, 1e-9

COLUMNS = (
    "robot", "own inertias [ns]", "one set [ns]", "folded in [ns]", "own / folded", "Pinocchio loop [ns]",
    "loop / own", "difference",
)  # fmt: skip


def tables(options: Options) -> Iterator[Table]:
    """Yield one table: forward dynamics of panda."""
    title = (
        f"Inertias as arguments: panda, forward dynamics, {options.states} states, ns per state, one thread"
    )
    table = Table(title, COLUMNS)
    one_thread()
    robot, n = hinge.reduce(hinge.robots.panda()), options.states
    rng = np.random.default_rng(0)
    q = hinge.random_configuration(robot, 1, n)
    qd, tau = rng.normal(size=(2, n, robot.nv))
    own = hinge.inertial_parameters(robot)
    spread = own * rng.uniform(0.9, 1.1, (n, len(own), 1))
    f = hinge.compile("forward_dynamics", robot, parameters=["inertias"])
    entries = [
        Contender("own", partial(f, q, qd, tau=tau, inertias=spread), n),
        Contender("one", partial(f, q, qd, tau=tau, inertias=spread[0]), n),
        Contender("folded", partial(hinge.forward_dynamics, robot, q, qd, tau), n),
    ]
    difference: str | float | None = None
    if find_spec("pinocchio"):
        looped = min(LOOPED, n)
        loop = partial(_loop(robot), q[:looped], qd[:looped], tau[:looped], spread[:looped])
        theirs, ours = loop(), f(q[:looped], qd[:looped], tau=tau[:looped], inertias=spread[:looped])
        off = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
        difference = off if off <= BOUND else f"wrong: {off:.1e}"
        entries.append(Contender("loop", loop, looped))
    times = race(entries, budget=2 * options.budget)
    found = {name: nanoseconds(seconds) for name, seconds in times.items()}
    loop_time = found.get("loop")
    table.rows.append(
        [
            "panda", found["own"], found["one"], found["folded"], ratio(found["own"], found["folded"]),
            loop_time, ratio(loop_time, found["own"]), difference,
        ]
    )  # fmt: skip
    table.notes.append("The loop sets the inertias of Pinocchio's model before each pin.aba.")
    yield table


def _loop(robot: hinge.Robot) -> Callable[..., Any]:
    """Return Pinocchio's forward dynamics of states that each have inertias of their own."""
    import pinocchio as pin  # noqa: PLC0415 (a peer, which may be missing)

    model = pin.buildModelFromXML(hinge.to_urdf(robot))
    data = model.createData()

    def run(*states: Any) -> Any:
        found = np.empty(states[1].shape)
        for k, (q, qd, tau, inertias) in enumerate(zip(*states, strict=True)):
            for j, row in enumerate(inertias[-model.nv :], 1):
                model.inertias[j] = pin.Inertia.FromDynamicParameters(row[ORDER])
            found[k] = pin.aba(model, data, q, qd, tau)
        return found

    return run


if __name__ == "__main__":
    command.run({"inertias": tables})
