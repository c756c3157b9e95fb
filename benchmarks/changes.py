"""What does a change of configuration at run time cost, next to a robot that is built and compiled anew?"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.fresh import fresh, least
from benchmarks.harness import Options, clock, quiet
from benchmarks.tables import Cell, Table
from hinge.errors import ModelWarning
from hinge.spatial import Array, Inertia
from hinge.targets import code_made

#: What a change with its first call may cost, and how near Pinocchio must come.
MOST_MS, BOUND = 5.0, 1e-9
ELBOW, HAND = "left_elbow_pitch_joint", "left_hand"
PAYLOAD = Inertia.from_com(600.0, (0.05, 0.0, 0.4), np.diag((120.0, 150.0, 90.0)))

COLUMNS = (
    "change, and first dynamics after it", "least [ms]", "median [ms]", "code made", "Hinge anew, cold [ms]",
    "Pinocchio anew [ms]", "Pinocchio in place [ms]", "difference",
)  # fmt: skip

#: The robot built and compiled anew, with the compiler loaded and warm, and no cache.
ANEW = """
import hinge
from hinge.spatial import Inertia
warm = hinge.robots.double_pendulum()
v = np.zeros(warm.nv)
hinge.forward_dynamics(warm, hinge.neutral(warm), v, v)
robot = hinge.robots.spacecraft()
b = hinge.Builder("payload")
b.body("payload", inertia=Inertia.from_com(600.0, (0.05, 0.0, 0.4), np.diag((120.0, 150.0, 90.0))))
payload, found = b.build(), {}
def used(robot):
    v = np.zeros(robot.nv)
    hinge.forward_dynamics(robot, hinge.neutral(robot), v, v)
lap()
used(hinge.attach(robot, payload, "left_hand"))
found["grasp"] = lap()
used(hinge.lock(robot, {"left_elbow_pitch_joint": 0.4}))
found["freeze"] = lap()
print(json.dumps(found))
"""


def tables(options: Options) -> Iterator[Table]:
    """Yield one table: the spacecraft with two arms."""
    times = 200 if options.quick else 2000
    robot = hinge.robots.spacecraft()
    table = Table(f"Changes at run time: {robot.name}, {robot.nv} coordinates, of {times} changes", COLUMNS)
    anew = least([fresh(ANEW, {"HINGE_CACHE": "0"}) for _ in range(1 if options.quick else 3)])
    q, qd, tau = _state(robot)
    live = hinge.Live(robot).prepare(batch=False)
    frozen, held = live.freeze([ELBOW]), live.grasp("payload", HAND, PAYLOAD)

    def caught() -> None:
        after = live.grasp("payload", HAND, PAYLOAD)
        after.forward_dynamics(q, hinge.impact(live, after, q, qd, {"payload": np.ones(6)}).qd, tau)

    ours: dict[str, Callable[[], object]] = {
        "freeze": lambda: live.freeze([ELBOW]).forward_dynamics(q, qd, tau),
        "thaw": lambda: frozen.thaw([ELBOW]).forward_dynamics(q, qd, tau),
        "grasp": lambda: live.grasp("payload", HAND, PAYLOAD).forward_dynamics(q, qd, tau),
        "release": lambda: held.release("payload").forward_dynamics(q, qd, tau),
        "grasp, with its impact": caught,
        "no change": lambda: live.forward_dynamics(q, qd, tau),
    }
    peer = _Pinocchio(robot) if find_spec("pinocchio") else None
    theirs = peer.ways(q, tau) if peer else {}
    for name, run in ours.items():
        made, (best, median) = code_made(), _cost(run, times)
        cells: list[Cell] = [best if best < MOST_MS else f"wrong: {best:.1f}", median, code_made() - made]
        built = anew.get(name)
        rivals = [theirs.get((name, way)) for way in ("anew", "in place")]
        cells += [1e3 * built if built else None, *(_cost(f, times)[0] if f else None for f in rivals)]
        difference: Cell = None
        if peer and rivals[0]:
            chosen = {"grasp": held, "freeze": frozen}[name]
            wanted = chosen.forward_dynamics(q, 0 * qd, tau)
            off = max(peer.difference(f(), wanted) for f in rivals if f)
            difference = off if off < BOUND else f"wrong: {off:.1e}"
        table.rows.append([name, *cells, difference])
    table.notes += [
        "Hinge anew: the robot edited (attach, lock) and its forward dynamics compiled, without a cache.",
        "Pinocchio anew: appendModel or buildReducedModel, data, aba; in place: inertia added, aba, undone.",
    ]
    yield table


def _state(robot: hinge.Robot) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(1)
    q = hinge.neutral(robot)
    for j in robot.joints[1:]:
        q[j.q_slice] = 0.4
    return q, 0.1 * rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def _cost(run: Callable[[], object], times: int) -> tuple[float, float]:
    """Return the least and the median time in ms."""
    with quiet():
        found = [clock(run) for _ in range(times)]
    return 1e3 * min(found), 1e3 * statistics.median(found)


class _Pinocchio:
    """The spacecraft in Pinocchio, at rest with its base at the world's origin."""

    def __init__(self, robot: hinge.Robot) -> None:
        import pinocchio as pin  # noqa: PLC0415 (a peer, which may be missing)

        self.pin: Any = pin
        self.robot = robot
        with warnings.catch_warnings(action="ignore", category=ModelWarning):  # gravity is set below
            self.model = pin.buildModelFromXML(hinge.to_urdf(robot), pin.JointModelFreeFlyer())
        self.model.gravity = pin.Motion.Zero()
        self.names = {n: i for i, n in enumerate(self.model.names) if i > 1}

    def ways(self, q: Array, tau: Array) -> dict[tuple[str, str], Callable[[], Array]]:
        """Return functions that change the model and give accelerations, in Hinge's order."""
        pin, model = self.pin, self.model
        inertia = pin.Inertia(float(PAYLOAD.m), PAYLOAD.com, PAYLOAD.central)
        payload = pin.Model()
        payload.addFrame(pin.Frame("payload", 0, 0, pin.SE3.Identity(), pin.FrameType.BODY, inertia))
        frame = model.getFrameId(HAND)
        hand, elbow, data = model.frames[frame], model.getJointId(ELBOW), model.createData()
        at, forces, still = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        forces[:3], forces[3:6] = tau[3:6], tau[:3]
        for name, i in self.names.items():
            joint = self.robot.joint(name)
            at[model.idx_qs[i]], forces[model.idx_vs[i]] = q[joint.q_slice][0], tau[joint.qd_slice][0]
        moving = np.arange(model.nv) != model.idx_vs[elbow]

        def appended() -> Array:
            other = pin.appendModel(model, payload, frame, pin.SE3.Identity())
            other.gravity = model.gravity
            return self._back(pin.aba(other, other.createData(), at, still, forces))

        def reduced() -> Array:
            other = pin.buildReducedModel(model, [elbow], at)
            found = np.zeros(model.nv)
            rest = np.delete(at, model.idx_qs[elbow])
            found[moving] = pin.aba(other, other.createData(), rest, still[moving], forces[moving])
            return self._back(found)

        def added() -> Array:
            before = model.inertias[hand.parentJoint].copy()
            model.inertias[hand.parentJoint] = before + hand.placement.act(inertia)
            found = self._back(pin.aba(model, data, at, still, forces))
            model.inertias[hand.parentJoint] = before
            return found

        return {("grasp", "anew"): appended, ("grasp", "in place"): added, ("freeze", "anew"): reduced}

    def _back(self, a: Array) -> Array:
        found = np.empty(self.robot.nv)
        found[:3], found[3:6] = a[3:6], a[:3]
        for name, i in self.names.items():
            found[self.robot.joint(name).qd_slice] = a[self.model.idx_vs[i]]
        return found

    def difference(self, theirs: Array, ours: Array) -> float:
        """Return how far the two are apart, relative to the largest entry."""
        return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


if __name__ == "__main__":
    command.run({"changes": tables})
