"""What does the linearisation of a step cost, next to finite differences and MuJoCo's mjd_transitionFD?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Contender, Options, race, repeated
from benchmarks.subjects import States, Subject, one_thread, subject
from benchmarks.tables import Table, ratio
from hinge.spatial import Array

STEP, EPSILON = 1e-3, 1e-6
#: States of a batch, and of loops in Python.
BATCH, LOOPED = 256, 16
ROBOTS = ("panda", "solo12")
#: How near differences come to derivatives that are exact, at best.
BOUND = 1e-5

COLUMNS = (
    "robot", "nv", "batch [µs]", "one state [µs]", "differences, batch [µs]", "mjd_transitionFD [µs]",
    "differences / batch", "MuJoCo / batch", "MuJoCo / one", "off differences", "off MuJoCo",
)  # fmt: skip


def tables(options: Options) -> Iterator[Table]:
    """Yield one table: A and B of a step of semi-implicit Euler."""
    title = f"Linearisation of a step: A and B, semi-implicit Euler, {BATCH} states, µs per state, one thread"
    table = Table(title, COLUMNS)
    one_thread()
    for name in ROBOTS:
        table.rows.append(_row(subject(name), options))
    table.notes.append(
        "Differences are one-sided, of hinge.forward_dynamics and hinge.integrate, all directions in one "
        "batch. MuJoCo's are one-sided too, of its step, and give A alone: the model has no motors. Its "
        "velocities of a free base are along axes of the world, so that A is compared for fixed bases."
    )
    yield table


def _row(on: Subject, options: Options) -> list[Any]:
    robot, s = on.robot, on.states(BATCH)
    few = s[:LOOPED]
    exact = hinge.linearize(robot, few.q, few.qd, few.tau, STEP)
    near = _differences(robot, few)
    entries = [
        Contender("batch", partial(hinge.linearize, robot, s.q, s.qd, s.tau, STEP), BATCH),
        repeated("one", hinge.linearize, (robot, s.q[0], s.qd[0], s.tau[0], STEP)),
        Contender("differences", partial(_differences, robot, few), LOOPED),
    ]
    told: dict[str, Any] = {"differences": _off(near, np.concatenate(exact, axis=-1))}
    if find_spec("mujoco"):
        loop = _mujoco(on, few)
        entries.append(Contender("MuJoCo", loop, LOOPED))
        told["MuJoCo"] = None if on.floating else _off(loop(), exact.A)
    times = {name: 1e6 * t for name, t in race(entries, budget=2 * options.budget).items()}
    shown = [times.get(n) for n in ("batch", "one", "differences", "MuJoCo")]
    ratios = [ratio(times.get(n), times["batch"]) for n in ("differences", "MuJoCo")]
    ratios.append(ratio(times.get("MuJoCo"), times["one"]))
    return [robot.name, robot.nv, *shown, *ratios, told["differences"], told.get("MuJoCo")]


def _off(found: Array, wanted: Array) -> str | float:
    off = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    return off if off <= BOUND else f"wrong: {off:.1e}"


def _differences(robot: hinge.Robot, s: States) -> Array:
    """Return [A B] by one-sided differences: a step of every direction, of all states at once."""
    n = robot.nv
    ways = EPSILON * np.eye(3 * n)

    def end(q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
        fast = qd + STEP * hinge.forward_dynamics(robot, q, qd, tau)
        return hinge.integrate(robot, q, STEP * fast), fast

    q, v = end(s.q, s.qd, s.tau)
    moved = hinge.integrate(robot, s.q[:, None], ways[:, :n])
    there, fast = end(moved, s.qd[:, None] + ways[:, n : 2 * n], s.tau[:, None] + ways[:, 2 * n :])
    change = np.concatenate([hinge.difference(robot, q[:, None], there), fast - v[:, None]], axis=-1)
    return np.swapaxes(change, -1, -2) / EPSILON


def _mujoco(on: Subject, s: States) -> Callable[[], Array]:
    """Return mjd_transitionFD state by state."""
    import mujoco  # noqa: PLC0415 (a peer, which may be missing)

    from benchmarks.peers.mujoco_python import Mujoco  # noqa: PLC0415
    from hinge.model import mujoco_map  # noqa: PLC0415

    model = Mujoco(on).model
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_EULER
    data, to, n = mujoco.MjData(model), mujoco_map(on.robot, model), model.nv
    rows = list(zip(to.to_q(s.q), to.to_qd(s.q, s.qd), to.to_tau(s.q, s.tau), strict=True))
    found = np.zeros((len(s), 2 * n, 2 * n))

    def run() -> Array:
        for k, (data.qpos[:], data.qvel[:], data.qfrc_applied[:]) in enumerate(rows):
            data.qacc_warmstart[:] = 0.0
            mujoco.mjd_transitionFD(model, data, EPSILON, False, found[k], None, None, None)
        return found

    return run


if __name__ == "__main__":
    command.run({"linearize": tables})
