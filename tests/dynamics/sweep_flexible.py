"""Every verb of the catalogue on robots with flexible bodies: python -m tests.dynamics.sweep_flexible
[trees].

The judges are those of the catalogue: `hinge.reference`, which goes point by point, explicit matrices, and
differences. Each verb is either right, or refused with a message that says what to do instead.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hinge import dynamics, reference
from hinge.errors import HingeError
from hinge.model import Builder, Robot, beam, close, joints, lock, random_configuration
from hinge.robots import random_tree
from hinge.spatial import Array, Inertia, matvec, rotation, transpose
from tests.dynamics import judges_derivatives
from tests.dynamics.catalogue import CLOSED, ITEMS, ROWS, Row
from tests.dynamics.differences import by_q
from tests.dynamics.judges import Judge
from tests.dynamics.subjects import Subject
from tests.dynamics.sweep_fuzz import target
from tests.dynamics.test_inverse_kinematics import left

BOUND, TREES = 1e-9, 8
#: Modes are of the size of a tenth of a body: differences take smaller steps than for angles.
STEP = 1e-3
#: Refusals that are no errors: they name what is missing, or what to take instead.
REFUSED = (NotImplementedError, HingeError)


def arm(modes: int = 2, *, planar: bool = True, stiffening: bool = True) -> Robot:
    """Return the arm of two flexible links with a load at its tip."""
    b = Builder("arm", gravity=(0.0, -9.81, 0.0))
    bending = (30.0, None) if planar else (30.0, 20.0)
    link = beam(
        1.0,
        mass_per_length=0.5,
        bending=bending,
        modes=modes,
        ends="craig-bampton",
        stiffening=stiffening,
        damping=0.01,
    )
    flange = Inertia.from_com(0.2, (0.0, 0.0, 0.0), 1e-3 * np.eye(3))
    axis = (0, 0, 1) if planar else (0, 0.6, 0.8)
    b.body("upper", joint=joints.Revolute((0, 0, 1)), inertia=flange, flexible=link)
    b.body("lower", parent="upper_tip", joint=joints.Revolute(axis), inertia=flange, flexible=link)
    b.body("mass", parent="lower_tip", inertia=Inertia.from_com(0.3, (0.05, 0.0, 0.0), 1e-3 * np.eye(3)))
    b.frame("tool", "mass", position=(0.1, 0.0, 0.0))
    return b.build()


def spacecraft() -> Robot:
    """Return a free bus with two panels, one of them on a joint."""
    b = Builder("panels")
    panel = beam(3.0, mass_per_length=2.0, bending=(None, 40.0), torsion=20.0, polar=0.3, modes=2)
    root = Inertia.from_com(0.5, (0.0, 0.0, 0.0), 0.01 * np.eye(3))
    b.body(
        "bus", joint=joints.Free(), inertia=Inertia.from_com(80.0, (0, 0, 0.1), np.diag([20.0, 15.0, 18.0]))
    )
    b.body(
        "right",
        parent="bus",
        position=(0.5, 0, 0),
        joint=joints.Revolute((1, 0, 0)),
        inertia=root,
        flexible=panel,
    )
    turned = np.diag([-1.0, -1.0, 1.0])
    b.body("left", parent="bus", position=(-0.5, 0, 0), rotation=turned, inertia=root, flexible=panel)
    b.frame("camera", "right_tip")
    return b.build()


def loop() -> Robot:
    """Return a four-bar linkage whose coupler bends, closed at an attachment."""
    b = Builder("flexible_four_bar", gravity=(0.0, -9.81, 0.0))
    rod = Inertia.from_com(0.5, (0.25, 0, 0), np.diag([0.001, 0.02, 0.02]))
    link = beam(1.0, mass_per_length=0.6, bending=(8.0, None), modes=3, ends="craig-bampton", damping=0.02)
    z = joints.Revolute((0, 0, 1))
    up, back = (rotation.about((0, 0, 1), a) for a in (np.pi / 2, -np.pi / 2))
    b.body("crank", joint=z, inertia=rod, rotation=up)
    b.body(
        "coupler", parent="crank", position=(0.5, 0, 0), rotation=back, joint=z, flexible=link, inertia=rod
    )
    b.body("rocker", position=(1.0, -0.3, 0), joint=z, inertia=rod, rotation=up)
    b.frame("pin", "rocker", position=(0.8, 0, 0), rotation=back)
    return close(b.build(), "pin", "coupler_tip", joint=z)


def _factors() -> dict[str, Judge]:
    """Return judges of the factors of the mass matrix by the matrix of the reference."""

    def off(ours: Array, theirs: Array) -> float:
        return float(np.abs(ours - theirs).max() / np.abs(theirs).max())

    def root(x: Subject) -> float:
        found = dynamics.mass_root(x.robot, x.s.q)
        return off(found @ transpose(found), x.mass)

    def inverse(x: Subject) -> float:
        found = dynamics.mass_root_inverse(x.robot, x.s.q)
        return off(found @ dynamics.mass_root(x.robot, x.s.q), np.eye(x.robot.nv))

    def quasi(x: Subject) -> float:
        v = dynamics.quasi_velocities(x.robot, x.s.q, x.s.qd)
        return off(0.5 * (v * v).sum(axis=-1), reference.kinetic_energy(x.robot, x.s.q, x.s.qd))

    def back(x: Subject) -> float:
        v = dynamics.quasi_velocities(x.robot, x.s.q, x.s.qd)
        return off(dynamics.from_quasi_velocities(x.robot, x.s.q, v), x.s.qd)

    def times(x: Subject) -> float:
        return off(dynamics.mass_times(x.robot, x.s.q, x.s.qdd), matvec(x.mass, x.s.qdd))

    def solve(x: Subject) -> float:
        return off(matvec(x.mass, dynamics.mass_solve(x.robot, x.s.q, x.s.tau)), x.s.tau)

    def logdet(x: Subject) -> float:
        return off(dynamics.log_determinant(x.robot, x.s.q), np.linalg.slogdet(x.mass)[1])

    def reached(x: Subject) -> float | None:
        """Judge at targets that the joints reach while no mode is moved, if the locked robot finds them."""
        at = {j.name: np.zeros(j.nq) for j in x.robot.joints if j.flexes and not j.follows}
        rigid = lock(x.robot, at)
        goal = dynamics.forward_kinematics(rigid, random_configuration(rigid, x.seed, 6), x.tip)
        rest: list[float] = []
        for robot in (rigid, x.robot):
            near = {"position_tolerance": 1e-10, "rotation_tolerance": 1e-10}
            found = dynamics.inverse_kinematics(robot, x.tip, goal, **near)
            rest.append(float(np.quantile(np.maximum(*left(robot, found, goal)), 0.5, method="lower")))
        return rest[1] if rest[0] < BOUND else None

    return {
        "inverse_kinematics": reached,
        "mass_times": times,
        "mass_solve": solve,
        "mass_root": root,
        "mass_root_inverse": inverse,
        "quasi_velocities": quasi,
        "from_quasi_velocities": back,
        "log_determinant": logdet,
    }


#: Judges of verbs whose own in the catalogue ask for values at single bodies, which these robots refuse.
OWN = _factors()


@dataclass
class Found:
    """The largest error by each oracle, how many comparisons, and what was refused."""

    worst: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])
    count: int = 0
    refused: dict[str, int] = field(default_factory=dict[str, int])
    above: int = 0

    def add(self, oracle: str, error: float, where: str) -> None:
        """Take in one comparison."""
        error = float("inf") if np.isnan(error) else error
        self.count += 1
        self.above += not error <= BOUND
        self.worst[oracle] = max(self.worst.get(oracle, (-1.0, "")), (error, where))


def subjects(trees: int = TREES) -> list[Subject]:
    """Return arms, a spacecraft, a linkage, and random trees with every joint type."""
    found = [
        Subject("arm", arm, "llvm"),
        Subject("arm in space", lambda: arm(3, planar=False), "numpy"),
        Subject("panels", spacecraft, "llvm"),
        Subject("four_bar", loop, "numpy"),
    ]
    for n in range(trees):
        found.append(
            Subject(
                f"random {n}",
                lambda n=n: random_tree(2 + n % 4, 200 + n, flexible=0.6),
                "llvm" if n % 4 == 0 else "numpy",
            )
        )
    return found


def judged(rows: Sequence[Row], robots: Iterable[Subject], *, quiet: bool = False) -> list[Found]:
    """Return what the judges of all rows say of all robots."""
    found = [Found() for _ in rows]
    for x in robots:
        start = time.process_time()
        with target(x.target):
            for row, result in zip(rows, found, strict=True):
                if (row.item == CLOSED) != bool(x.robot.closures):
                    continue
                judges = {"mass matrix": OWN[row.verb]} if row.verb in OWN else row.judges
                for oracle, judge in judges.items():
                    try:
                        error = judge(x)
                    except REFUSED as why:
                        result.refused[str(why)] = result.refused.get(str(why), 0) + 1
                        continue
                    if error is None:
                        continue
                    result.add(oracle, error, x.name)
                    if not error <= BOUND:
                        print(f"{x.name}, {row.verb}, {oracle}: {error:.1e}", file=sys.stderr, flush=True)
        dynamics.forget()
        if not quiet:
            print(f"{x.name}, {x.target}: {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    return found


def main(trees: int = TREES) -> int:
    """Print the table; the exit code is 1 when an error is too large."""
    start = time.perf_counter()
    judges_derivatives.by_q = partial(by_q, step=STEP)  # pyright: ignore[reportPrivateImportUsage]
    found = judged(ROWS, subjects(trees))
    print(f"{'item':24} {'verb':42} {'number':>6}  largest error, oracle, robot; or refusal")
    for row, f in zip(ROWS, found, strict=True):
        item = f"{row.item} {ITEMS[row.item]}".removeprefix("0 ")
        said = "; ".join(f"{e:.0e} {oracle} ({where})" for oracle, (e, where) in f.worst.items())
        refusals = "; ".join(f"refused {n}: {why[:150]}" for why, n in f.refused.items())
        print(f"{item:24} {row.verb:42} {f.count:6}  {'; '.join(filter(None, (said, refusals)))}")
    count, above = sum(f.count for f in found), sum(f.above for f in found)
    print(f"{count} comparisons, {above} above {BOUND:g}, {time.perf_counter() - start:.0f} s")
    return int(above > 0)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main(*map(int, sys.argv[1:])))
