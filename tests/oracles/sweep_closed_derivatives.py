"""Closed dynamics' derivatives against Pinocchio's: python -m tests.oracles.sweep_closed_derivatives [files].

A frame far out on each robot is held in the world where it is, at a point (3 rows) or as a whole (6 rows);
two arms hold each other. Rates of constraints are defined with other terms that vanish where velocities fit,
so that both sides are compared along changes of the state that keep the closures: motions, and velocities
that go on fitting. Pinocchio 4.1's derivatives for two bodies that hold each other at a point differ from
differences of its own dynamics; there these judge. HINGE_TARGET=numpy compiles soonest.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin

import hinge
from hinge import reference
from hinge.dynamics import forget
from hinge.errors import FormatError
from hinge.model import PeerMap, Robot, check, joints
from hinge.testing import random_state
from tests.dynamics.differences import by_vector
from tests.oracles.closed_arms import two_arms
from tests.oracles.compare import BOUND
from tests.oracles.data import example_urdfs
from tests.oracles.pinocchio import load_both

#: Closures whose rows are less independent than this are left out: forces are not determined there.
CONDITION = 1e-3
SETTINGS = pin.ProximalSettings(1e-14, 1e-14, 100)
KINDS = {"point": joints.Spherical(), "whole": joints.Fixed()}


class Closed:
    """A closed robot in both packages, in one state."""

    def __init__(self, robot: Robot, model: pin.Model, map_: PeerMap | None, seed: int) -> None:
        (closure,) = robot.closures
        self.robot, self.model, self.data = robot, model, model.createData()
        self.point, self.grounded = closure.joint.kind == "spherical", closure.inner is None
        s = random_state(robot, seed)
        self.q = s.q
        self.qd, self.tau = hinge.settle(robot, s.q, s.qd), s.tau
        self.t = np.eye(robot.nv) if map_ is None else map_.velocity_matrix(s.q)
        self.peer = (
            (s.q if map_ is None else map_.to_q(s.q)),
            self.t @ self.qd,
            np.linalg.inv(self.t).T @ s.tau,
        )
        one = 0 if closure.inner is None else self._joint(closure.inner)
        kind = pin.ContactType.CONTACT_3D if self.point else pin.ContactType.CONTACT_6D
        here = pin.SE3(np.array(closure.placement.rotation), np.array(closure.placement.position))
        self.contacts, self.states = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        frame, local = pin.SE3.Identity(), pin.ReferenceFrame.LOCAL
        self.contacts.append(
            pin.RigidConstraintModel(kind, model, self._joint(closure.outer), frame, one, here, local)
        )
        self.states.append(self.contacts[0].createData())

    def _joint(self, body: str) -> int:
        if self.model.existFrame(body, pin.FrameType.BODY):
            return self.model.frames[self.model.getFrameId(body, pin.FrameType.BODY)].parentJoint
        return self.model.getJointId(body)

    def solved(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return Pinocchio's accelerations."""
        pin.initConstraintDynamics(self.model, self.data, self.contacts, self.states)
        found = pin.constraintDynamics(
            self.model, self.data, q, v, self.peer[2], self.contacts, self.states, SETTINGS
        )
        return np.array(found)

    def differences(self) -> Iterator[tuple[str, float]]:
        """Yield how far accelerations, their derivatives and those of forces are apart."""
        ours = hinge.closed_dynamics_derivatives(self.robot, self.q, self.qd, self.tau)
        t, back = self.t, np.linalg.inv(self.t)
        yield "accelerations", _off(ours.qdd, back @ self.solved(*self.peer[:2]))
        given = self.model, self.data, self.contacts, self.states, SETTINGS
        found = [np.array(x) for x in pin.computeConstraintDynamicsDerivatives(*given)]
        rows = [0, 1, 2] if self.point else [3, 4, 5, 0, 1, 2]
        moves, speeds = self._directions()
        mine = ours.q @ moves + ours.qd @ speeds
        if self.point and not self.grounded:
            yield "qdd by the state, differences", _off(mine, self._by_differences(moves, speeds))
        else:
            yield "qdd by the state", _off(mine, back @ (found[0] @ t @ moves + found[1] @ t @ speeds))
            mine = ours.forces_q @ moves + ours.forces_qd @ speeds
            yield "forces by the state", _off(mine, found[3][rows] @ t @ moves + found[4][rows] @ t @ speeds)
        if len(self._jacobian()) == self.robot.nv:  # nothing can move: both are rounding of terms like 𝓜⁻¹
            free = hinge.mass_matrix_inverse(hinge.opened(self.robot), self.q)
            yield "qdd by tau is zero", float(np.abs(ours.tau).max() / np.abs(free).max())
        else:
            yield "qdd by tau", _off(ours.tau, back @ found[2] @ back.T)
        yield "forces by tau", _off(ours.forces_tau, found[5][rows] @ back.T)

    def _by_differences(self, moves: np.ndarray, speeds: np.ndarray) -> np.ndarray:
        """Return differences of Pinocchio's accelerations along motions; q is a vector here."""
        q, v, _ = self.peer

        def change(t: np.ndarray) -> np.ndarray:
            return self.solved(q + moves @ t, v + speeds @ t)

        return by_vector(change, np.zeros(moves.shape[1]))

    def _jacobian(self) -> np.ndarray:
        return hinge.closure_jacobian(self.robot, self.q)

    def _directions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return motions δq that the closure allows, and δqd with which velocities go on fitting."""
        j = self._jacobian()
        ways = np.linalg.svd(j)[2][len(j) :].T
        f = hinge.compile({"by_q": hinge.derivative("closure_velocity", "q")}, self.robot)
        fitting = -np.linalg.pinv(j) @ f(self.q, self.qd) @ ways
        still = np.zeros_like(ways)
        return np.concatenate([ways, still], axis=1), np.concatenate([fitting, ways], axis=1)


def _off(ours: np.ndarray, theirs: np.ndarray) -> float:
    size = max(1.0, float(np.abs(theirs).max(initial=0.0)))
    return float(np.abs(ours - theirs).max(initial=0.0)) / size


def held(path: Path, *, floating: bool) -> Iterator[tuple[str, Closed]]:
    """Yield a robot with the frame farthest out held in the world, at a point and as a whole."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            robot, model, peer = load_both(path, floating=floating)
    except FormatError:
        return
    if not robot.nv or any(p.condition == "carries inertia" for p in check(robot)):
        return
    moved = [k for k, j in enumerate(robot.joints) if j.type.nv]
    tip = robot.bodies[max(moved, key=lambda i: robot.tree.depth[i])].name
    q = random_state(robot, 1).q
    at = reference.frame_placement(robot, q, tip)
    for name, kind in KINDS.items():
        j = reference.jacobian(robot, q, tip)[3:] if name == "point" else reference.jacobian(robot, q, tip)
        values = np.linalg.svd(j, compute_uv=False)
        if len(j) > robot.nv or values[-1] < CONDITION * values[0]:
            continue
        place = {"rotation": at.rotation, "position": at.position}
        yield name, Closed(hinge.close(robot, None, tip, joint=kind, **place), model, peer, 1)


def arms() -> Iterator[tuple[str, Closed]]:
    """Yield two arms that hold each other."""
    robot, model = two_arms(pin)
    q = random_state(robot, 5).q
    at = {b: reference.frame_placement(robot, q, b) for b in ("link7", "x_link7")}
    place = at["x_link7"] @ at["link7"].inv()
    for name, kind in KINDS.items():
        there = {"rotation": place.rotation, "position": place.position}
        yield (
            f"arms, {name}",
            Closed(hinge.close(robot, "link7", "x_link7", joint=kind, **there), model, None, 5),
        )


def main(names: list[str]) -> int:
    """Print the worst of each; exit with 1 if one is too large."""
    start, worst, counts, broken = time.perf_counter(), dict[str, float](), dict[str, int](), 0
    cases = [("two arms", arms())] if not names or "arms" in names else []
    for path in example_urdfs():
        if not names or path.name in names:
            cases += [
                (f"{path.name}, {b}", held(path, floating=b == "floating")) for b in ("fixed", "floating")
            ]
    for label, several in cases:
        for kind, case in several:
            found = dict(case.differences())
            for name, error in found.items():
                worst[name], counts[name] = max(worst.get(name, 0.0), error), counts.get(name, 0) + 1
            bad = max(found.values())
            broken += not bad <= BOUND
            print(
                f"{label} {kind}: {bad:.1e}{'' if bad <= BOUND else '  ← too large ' + str(found)}",
                flush=True,
            )
        forget()
    for name, error in worst.items():
        print(f"{name:24} {counts[name]:4} times, off by at most {error:.1e}")
    print(f"{broken} above {BOUND:g}, {time.perf_counter() - start:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
