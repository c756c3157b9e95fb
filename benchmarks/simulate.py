"""How many steps of how many states in a second, next to MuJoCo's roll-outs and a loop around Pinocchio?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Contender, Options, race
from benchmarks.subjects import States, Subject, subject
from benchmarks.tables import Table, ratio
from hinge.spatial import Array

try:
    import mujoco
    from mujoco import rollout
except ImportError:
    mujoco: Any = None
    rollout: Any = None
try:
    import pinocchio as pin
except ImportError:
    pin: Any = None

STEP, STATES = 1e-3, 4096
#: Steps of Hinge and of its peers, states of the loop in Python, and how near all must come after STEPS.
STEPS, LOOPED, BOUND = 20, 4, 1e-9

COLUMNS = ("who", "threads", "state-steps per second", "Hinge with as many threads / it", "difference")


def tables(options: Options) -> Iterator[Table]:
    """Yield panda without forces beside its peers, then what control and numbers of their own cost."""
    yield _roll_outs(options)
    yield _ways(options)


def _roll_outs(options: Options) -> Table:
    """Return the table of roll-outs: panda without forces, RK4."""
    title = f"Roll-outs: panda, no forces, RK4 of {STEP * 1e3:g} ms, {STATES} states, {STEPS} steps"
    table = Table(title, COLUMNS)
    robot = subject("panda")
    states = robot.states(STATES)
    ends = hinge.simulate(robot.robot, states.q, states.qd, t=STEPS * STEP, dt=STEP, record=0)
    exact = np.concatenate([ends.q[:, -1], ends.qd[:, -1]], axis=-1)
    entries = [Contender(f"Hinge {n}", partial(_ours, robot, states, n), STATES * STEPS) for n in (1, 2)]
    off: dict[str, float] = {}
    for name, (run, count, check) in _peers(robot, states).items():
        entries.append(Contender(name, run, count))
        off[name] = float(np.abs(check() - exact[: count // STEPS]).max())
    times = race(entries, budget=4 * options.budget)
    hinge.set_threads(None)
    for name, seconds in times.items():
        threads = name.split()[-1]
        ours = times[f"Hinge {threads}"]
        wrong = off.get(name, 0.0) > BOUND
        difference = f"wrong: {off[name]:.1e}" if wrong else off.get(name)
        ratio_ = None if name.startswith("Hinge") else ratio(seconds, ours)
        table.rows.append([name.rsplit(" ", 1)[0], threads, f"{1 / seconds:.4g}", ratio_, difference])
    table.notes.append("Contacts, constraints and limits are off in MuJoCo; Pinocchio's loop is in Python.")
    return table


#: The steps of one state, and those of a batch and how large it is.
WAYS_STEPS, WAYS_BATCH = 1000, (50, 1024)
WAYS = (
    "no forces",
    "a constant force",
    "PD",
    "a Python function",
    "a Python function, events",
    "masses of their own",
)


def _ways(options: Options) -> Table:
    """Return the time of a step by what moves the robot, for one state and for a batch."""
    steps, count = WAYS_BATCH
    title = f"Steps of panda, RK4 of {STEP * 1e3:g} ms: one state, and {count} states in one thread"
    table = Table(
        title, ("what", "µs a step, one state", "µs beyond a constant force", f"µs a step, {count} states")
    )
    robot = subject("panda")
    times: list[dict[str, float]] = []
    hinge.set_threads(1)
    for states, number in ((robot.states(1), WAYS_STEPS), (robot.states(count), steps)):
        q, qd = (states.q[0], states.qd[0]) if len(states) == 1 else (states.q, states.qd)
        entries = [Contender(way, _way(robot, q, qd, way, number), number) for way in WAYS]
        times.append(race(entries, budget=2 * options.budget))
    hinge.set_threads(None)
    for way in WAYS:
        one, many = (1e6 * found[way] for found in times)
        table.rows.append(
            [way, f"{one:.3g}", f"{one - 1e6 * times[0]['a constant force']:.3g}", f"{many:.4g}"]
        )
    table.notes.append("The function returns a constant, which takes some 0.05 µs.")
    return table


def _way(robot: Subject, q: Array, qd: Array, way: str, steps: int) -> Callable[[], object]:
    """Return a simulation over so many steps."""
    force, parameters = np.zeros(qd.shape), hinge.inertial_parameters(robot.robot)

    def control(_t: float, _q: Array, _qd: Array) -> Array:
        return force

    def event(_t: float, q: Array, _qd: Array) -> Array:
        return q[..., 0] - 9.0

    given: dict[str, Any] = {
        "no forces": {},
        "a constant force": {"control": force},
        "PD": {"control": hinge.sim.PD(q, 10.0, 1.0)},
        "a Python function": {"control": control},
        "a Python function, events": {"control": control, "events": event},
        "masses of their own": {
            "parameters": {"inertias": np.broadcast_to(parameters, (*q.shape[:-1], *parameters.shape))}
        },
    }[way]
    return partial(hinge.simulate, robot.robot, q, qd, t=steps * STEP, dt=STEP, record=0, **given)


def _ours(robot: Subject, s: States, threads: int) -> None:
    hinge.set_threads(threads)
    hinge.simulate(robot.robot, s.q, s.qd, t=STEPS * STEP, dt=STEP, record=0)


Peer = tuple[Callable[[], object], int, Callable[[], Array]]


def _peers(robot: Subject, s: States) -> dict[str, Peer]:
    found: dict[str, Peer] = {}
    if mujoco is not None:
        for threads in (1, 2):
            run = _mujoco(robot, s, threads)
            found[f"MuJoCo rollout {threads}"] = run, STATES * STEPS, lambda run=run: run()[:, -1, 1:]
    if pin is not None:
        loop = _pinocchio(robot, s[:LOOPED])
        found["Pinocchio loop 1"] = loop, LOOPED * STEPS, loop
    return found


def _mujoco(robot: Subject, s: States, threads: int) -> Callable[[], Array]:
    """Return MuJoCo's roll-out over all steps of all states."""
    from benchmarks.peers.mujoco_python import Mujoco  # noqa: PLC0415 (a peer, which may be missing)

    model = Mujoco(robot).model
    model.opt.timestep = STEP
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = [mujoco.MjData(model) for _ in range(threads)]
    start = np.concatenate([np.zeros((len(s), 1)), s.q, s.qd], axis=1)
    pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
    found = np.zeros((len(s), STEPS, start.shape[1]))

    def run() -> Array:
        pool.rollout(model, data, start, nstep=STEPS, state=found)
        return found

    return run


def _pinocchio(robot: Subject, s: States) -> Callable[[], Array]:
    """Return the same RK4 around pin.aba, state by state."""
    model = pin.buildModelFromUrdf(str(robot.path))
    data, zero = model.createData(), np.zeros(model.nv)
    aba = partial(pin.aba, model, data)

    def run() -> Array:
        found = np.empty((len(s), model.nq + model.nv))
        for k in range(len(s)):
            q, v = s.q[k], s.qd[k]
            for _ in range(STEPS):
                a1 = aba(q, v, zero).copy()
                v2 = v + STEP / 2 * a1
                a2 = aba(q + STEP / 2 * v, v2, zero).copy()
                v3 = v + STEP / 2 * a2
                a3 = aba(q + STEP / 2 * v2, v3, zero).copy()
                v4 = v + STEP * a3
                a4 = aba(q + STEP * v3, v4, zero)
                q = q + STEP / 6 * (v + 2 * v2 + 2 * v3 + v4)
                v = v + STEP / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            found[k] = np.concatenate([q, v])
        return found

    return run


if __name__ == "__main__":
    command.run({"simulate": tables})
