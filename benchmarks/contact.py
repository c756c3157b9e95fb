"""How many steps over contacts in a second, next to MuJoCo's roll-outs?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

import hinge
from benchmarks import command
from benchmarks.fresh import fresh, least
from benchmarks.harness import Contender, Options, quickest, race
from benchmarks.peers import PeerMissing
from benchmarks.peers.contact_mujoco import SETTINGS, ContactMujoco
from benchmarks.subjects import subject
from benchmarks.tables import Cell, Table, ratio
from hinge.spatial import Array, Transform

STEP, STATES, PEER_STATES, STEPS = 1e-3, 2048, 64, 100
#: Steps in which a robot comes to stand, and how fast it is pushed, to stand again before it is timed.
SETTLING, PUSH = 200, 0.05
COLUMNS = (
    "robot", "contacts", "rows", "touching", "compiled [s]", "threads", "Hinge, steps/s", "MuJoCo, steps/s",
    "Hinge / MuJoCo", "rounds", "MuJoCo's", "residual", "MuJoCo with",
)  # fmt: skip
SCRIPT = """
import hinge
from benchmarks.contact import standing
on = standing({name!r})
hinge.simulate
start = time.process_time()
on.run(on.q[:1], on.qd[:1], 1)
print(json.dumps({{"first": time.process_time() - start}}))
"""
FRICTION, RATE = 0.7, 40.0
#: Stiffness and damping of legs at least, which carry what is above them and not their own inertia alone; and
#: the largest share of a joint's speed that a damper takes in a step, by the inertia of what hangs on it: a
#: foot in the air that loses more than twice its speed swings up without end.
LEG, DAMPED = (4000.0, 20.0), 0.25


@dataclass(frozen=True, eq=False)
class Standing:
    """A robot with contacts, a pose in which it stands, and the rate in rad/s at which springs hold it."""

    name: str
    robot: hinge.Robot
    pose: Array
    rate: float
    legs: tuple[str, ...] = ()

    @cached_property
    def gains(self) -> tuple[Array, Array]:
        """Stiffness and damping (nv,) of the joints: critical for the inertia of each; none of the base."""
        inertia = np.diagonal(hinge.mass_matrix(self.robot, self.pose)).copy()
        inertia[:6] = 0.0
        stiffness, damping = inertia * self.rate**2, 2.0 * inertia * self.rate
        carrying = [self.robot.joint(name).qd_slice.start for name in self.legs]
        stiffness[carrying] = np.maximum(stiffness[carrying], LEG[0])
        most = DAMPED * inertia[carrying] / STEP
        damping[carrying] = np.maximum(damping[carrying], np.minimum(LEG[1], most))
        return stiffness, damping

    @property
    def control(self) -> hinge.sim.PD:
        """The law that holds the pose: springs and dampers at the joints."""
        return hinge.sim.PD(self.pose, *self.gains)

    @property
    def q(self) -> Array:
        """The pose on the ground, in a batch of one."""
        return self.pose[None]

    @property
    def qd(self) -> Array:
        """Velocities of zero, in a batch of one."""
        return np.zeros((1, self.robot.nv))

    def run(self, q: Array, qd: Array, steps: int, record: int = 0) -> hinge.sim.Run:
        """Simulate steps from states."""
        return hinge.simulate(
            self.robot,
            q,
            qd,
            t=steps * STEP,
            dt=STEP,
            control=self.control,
            integrator="stepping",
            passive=False,  # MuJoCo's model has no more than the law
            record=record,
        )

    def states(self, count: int) -> tuple[Array, Array]:
        """Return states in which it stands again, after it was pushed a little."""
        rng = np.random.default_rng(0)
        at = self.run(self.q, self.qd, SETTLING)
        q = np.tile(at.q[:, -1], (count, 1))
        after = self.run(q, at.qd[:, -1] + PUSH * rng.standard_normal((count, self.robot.nv)), SETTLING)
        return after.q[:, -1], after.qd[:, -1]


def standing(name: str) -> Standing:
    """Return a robot that stands, by name."""
    if name.startswith("quadruped"):
        return _quadruped(int(name.split()[1]))
    return _talos()


def _on_ground(
    name: str, robot: hinge.Robot, pose: Array, rate: float, legs: tuple[str, ...] = ()
) -> Standing:
    low = float(hinge.gap(robot, pose).min())
    q = pose.copy()
    q[robot.joints[0].q_slice][-1] -= low
    return Standing(name, robot, q, rate, legs)


def _quadruped(contacts: int) -> Standing:
    """Return the quadruped on four points, or on four plates of three points each."""
    robot = hinge.robots.quadruped()
    legs = ("FL", "FR", "HL", "HR")
    bent = {"hip_pitch": 0.7, "knee": -1.4}
    pose = hinge.configuration(robot, {f"{leg}_{k}": x for leg in legs for k, x in bent.items()})
    plate = [(0.02, 0.0), (-0.01, 0.02), (-0.01, -0.02)] if contacts == 12 else [(0.0, 0.0)]
    found = []
    for leg in legs:
        turned = hinge.forward_kinematics(robot, pose, f"{leg}_foot").E
        for k, (x, y) in enumerate(plate):
            place = Transform.place(position=turned @ np.array([x, y, 0.0]))
            found.append(hinge.Contact(f"{leg}{k}", f"{leg}_foot", friction=FRICTION, placement=place))
    return _on_ground(f"quadruped {contacts}", hinge.with_contacts(robot, found), pose, RATE)


def _talos() -> Standing:
    """Return the humanoid on the corners of its soles."""
    robot = subject("talos").robot
    bent = {"3": -0.4, "4": 0.8, "5": -0.4}
    pose = hinge.configuration(
        robot, {f"leg_{side}_{k}_joint": x for side in ("left", "right") for k, x in bent.items()}
    )
    corners = [(x, y) for x in (0.1, -0.1) for y in (0.05, -0.05)]
    found = [
        hinge.Contact(
            f"{side}{k}",
            f"{side}_sole_link",
            friction=FRICTION,
            placement=Transform.place(position=(x, y, 0.0)),
        )
        for side in ("left", "right")
        for k, (x, y) in enumerate(corners)
    ]
    legs = tuple(f"leg_{side}_{k}_joint" for side in ("left", "right") for k in range(1, 7))
    return _on_ground("talos 8", hinge.with_contacts(robot, found), pose, RATE, legs)


def tables(options: Options) -> Iterator[Table]:
    """Yield one table."""
    title = f"Steps over contacts: {STEP * 1e3:g} ms, {STEPS} steps, PD of the pose, state-steps a second"
    table = Table(title, COLUMNS)
    for name in ("quadruped 4",) if options.quick else ("quadruped 4", "quadruped 12", "talos 8"):
        table.rows += _rows(name, options)
    table.notes += [
        f"{STATES} states in Hinge, {PEER_STATES} in MuJoCo, settled in {SETTLING} steps, pushed by "
        f"{PUSH:g} rad/s and m/s, and left for as many steps. MuJoCo holds the pose by springs and dampers "
        "of joints; its contacts are soft, so only the time can be compared. Neither has dry friction in "
        "joints.",
        "compiled: processor time of the first step, in a fresh process without a cache.",
        "rounds: the mean of a step from the forces before, and MuJoCo's at one state; residual: the largest "
        "of all steps and states.",
    ]
    hinge.set_threads(None)
    yield table


def _rows(name: str, options: Options) -> list[list[Cell]]:
    on = standing(name)
    q, qd = on.states(STATES)
    seen = on.run(q[:64], qd[:64], STEPS, record=1)
    assert seen.contacts is not None
    touching = float((np.abs(hinge.gap(on.robot, seen.q)) < 1e-6).sum(-1).mean())
    first = None
    if not options.quick:
        took = least([fresh(SCRIPT.format(name=name), {"HINGE_CACHE": "0"}) for _ in range(2)])
        first = f"{took['first']:.2f}"
    found: list[list[Cell]] = []
    peer, with_ = _peer(on, options)
    for threads in (1, 2):
        ours = Contender("Hinge", partial(_ours, on, q, qd, threads), STATES * STEPS)
        entries = [ours]
        if peer is not None:
            start = _settled(peer, on)
            entries.append(Contender("MuJoCo", peer.roll_out(start, STEPS, threads), PEER_STATES * STEPS))
        times = race(entries, budget=4 * options.budget)
        theirs = times.get("MuJoCo")
        found.append([
            on.robot.name, len(on.robot.contacts), 3 * len(on.robot.contacts), f"{touching:.1f}", first,
            threads,
            f"{1 / times['Hinge']:.4g}", None if theirs is None else f"{1 / theirs:.4g}",
            None if theirs is None else ratio(theirs, times["Hinge"]), _rounds(on, seen),
            None if peer is None else peer.contacts(_settled(peer, on)[0])[1],
            float(seen.contacts.residual.max()), with_,
        ])  # fmt: skip
    return found


def _ours(on: Standing, q: Array, qd: Array, threads: int) -> None:
    hinge.set_threads(threads)
    on.run(q, qd, STEPS)


def _rounds(on: Standing, seen: hinge.sim.Run) -> str:
    """Return the mean number of rounds of steps that start from the forces before."""
    assert seen.contacts is not None
    k = len(seen.t) // 2
    step = hinge.contact_step(
        on.robot, seen.q[:, k], seen.qd[:, k], seen.tau[:, k], STEP, start=seen.contacts.forces[:, k] * STEP
    )
    return f"{float(step.rounds.mean()):.2f}"


def _peer(on: Standing, options: Options) -> tuple[ContactMujoco | None, str]:
    """Return the quickest of MuJoCo's suitable settings."""
    try:
        made = {n: ContactMujoco(on.robot, on.pose, on.gains, STEP, s) for n, s in SETTINGS.items()}
    except PeerMissing as missing:
        return None, str(missing)
    runs = [Contender(n, m.roll_out(_settled(m, on), STEPS, 1)) for n, m in made.items()]
    best = quickest(runs, budget=options.budget)
    return made[best.name], best.name


def _settled(peer: ContactMujoco, on: Standing) -> Array:
    """Return states in which the robot stands again in MuJoCo, after it was pushed a little."""
    start = peer.roll_out(peer.states(on.q, on.qd), SETTLING, 1)()[:, -1]
    found = np.tile(start, (PEER_STATES, 1))
    push = PUSH * np.random.default_rng(0).standard_normal((PEER_STATES, on.robot.nv))
    nq = 1 + peer.model.nq
    found[:, nq : nq + peer.model.nv] += push
    return peer.roll_out(found, SETTLING, 1)()[:, -1].copy()


if __name__ == "__main__":
    command.run({"contact": tables})
