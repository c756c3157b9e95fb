"""Derivatives of verbs against Pinocchio's on every URDF: python -m tests.oracles.sweep_derivatives.

Inverse and forward dynamics, the motion of a frame in three kinds of axes, the second derivatives of its
place, and the momentum. Names of files choose among them. HINGE_TARGET=numpy compiles soonest.
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
from hinge.model import PeerMap, Robot, check
from hinge.model.joints import Free
from hinge.testing import State, random_state
from tests.oracles.compare import Row, report
from tests.oracles.data import example_urdfs
from tests.oracles.pinocchio import LINEAR_FIRST, load_both

COLUMNS = ["inverse", "forward", "residual", "velocity", "acceleration", "hessian", "momentum"]
AXES = {
    "body": pin.ReferenceFrame.LOCAL,
    "world": pin.ReferenceFrame.WORLD,
    "world-aligned": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
}
STATES = 4


class Pair:
    """A robot in both packages at one state, with the map between their coordinates."""

    def __init__(self, robot: Robot, model: pin.Model, peer: PeerMap, s: State, k: int) -> None:
        self.robot, self.model, self.data = robot, model, model.createData()
        self.q, self.qd, self.qdd = s.q[k], s.qd[k], s.qdd[k]
        self.t = peer.velocity_matrix(self.q)
        self.peer = peer.to_q(self.q), self.t @ self.qd, self.t @ self.qdd
        self.floats = isinstance(robot.joints[0].type, Free)
        moved = [k for k, j in enumerate(robot.joints) if j.type.nv]
        self.tip = robot.bodies[max(moved, key=lambda i: robot.tree.depth[i])].name
        self.frame = model.getFrameId(self.tip, pin.FrameType.BODY)

    def rows(self, matrix: np.ndarray) -> np.ndarray:
        """Return rows of motions or forces, and columns of directions, in Hinge's order."""
        return matrix[LINEAR_FIRST] @ self.t

    def dynamics(self, solvable: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """Yield derivatives of inverse and forward dynamics."""
        ours = hinge.inverse_dynamics_derivatives(self.robot, self.q, self.qd, self.qdd)
        theirs = pin.computeRNEADerivatives(self.model, self.data, *self.peer)
        for mine, other in zip((ours.q, ours.qd), theirs, strict=False):
            yield "inverse", mine, self.t.T @ other @ self.t
        if not solvable:
            return
        tau = ours.tau
        mine = hinge.forward_dynamics_derivatives(self.robot, self.q, self.qd, tau)
        q, v, _ = self.peer
        found = pin.computeABADerivatives(self.model, self.data, q, v, self.t @ tau)
        inverse = np.triu(found[2]) + np.triu(found[2], 1).T
        mass, back = reference.mass_matrix(self.robot, self.q), np.linalg.inv(self.t)
        for one, other in ((mine.q, found[0]), (mine.qd, found[1])):
            shown = back @ other @ self.t
            yield "forward", one, shown
            yield "residual", mass @ one, mass @ shown
        yield "forward", mine.tau, back @ inverse @ back.T

    def motion(self) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """Yield derivatives of the velocity, the acceleration and the Jacobian of a frame."""
        pin.computeJointKinematicHessians(self.model, self.data, self.peer[0])
        pin.computeForwardKinematicsDerivatives(self.model, self.data, *self.peer)
        joint = self.model.frames[self.frame].parentJoint
        for axes, theirs in AXES.items():
            at = {"frame": self.tip, "expressed": axes}
            speed = hinge.velocity_derivatives(self.robot, self.q, self.qd, **at)
            found = pin.getFrameVelocityDerivatives(self.model, self.data, self.frame, theirs)
            yield "velocity", speed.q, self.rows(found[0]) + self.carried(axes, speed.velocity, speed.qd)
            yield "velocity", speed.qd, self.rows(found[1])
            pace = hinge.acceleration_derivatives(self.robot, self.q, self.qd, self.qdd, **at)
            found = pin.getFrameAccelerationDerivatives(self.model, self.data, self.frame, theirs)
            yield (
                "acceleration",
                pace.q,
                self.rows(found[1]) + self.carried(axes, pace.acceleration, pace.qdd),
            )
            for one, other in zip((pace.qd, pace.qdd), found[2:], strict=True):
                yield "acceleration", one, self.rows(other)
            # The array that Pinocchio returns has the memory of a tensor by columns, and strides by rows.
            given = np.asarray(pin.getJointKinematicHessian(self.model, self.data, joint, theirs))
            hessian = given.ravel(order="K").reshape(given.shape, order="F")
            shown = np.einsum("ijk,jm,kn->imn", hessian[LINEAR_FIRST], self.t, self.t)
            yield "hessian", hinge.jacobian_derivatives(self.robot, self.q, **at), shown

    def carried(self, axes: str, motion: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
        """Return what the origin of the frame adds as it goes along, which Pinocchio holds: ω × δp.

        It does so where axes are those of the world at the frame's origin.
        """
        found = np.zeros_like(jacobian)
        if axes == "world-aligned":
            found[3:] = np.cross(motion[:3], jacobian[3:].T).T
        return found

    def momentum(self) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """Yield derivatives of the momentum about the centre of mass; theirs leaves out what is fixed."""
        if not self.floats:
            return
        ours = hinge.centroidal_momentum_derivatives(self.robot, self.q, self.qd)
        found = pin.computeCentroidalDynamicsDerivatives(self.model, self.data, *self.peer)
        yield "momentum", ours.q, self.rows(found[0])
        yield "momentum", ours.qd, self.rows(found[3])


def off(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference relative to the largest entry, or to 1 if that is less."""
    size = max(1.0, float(np.abs(theirs).max(initial=0.0)))
    return float(np.abs(ours - theirs).max(initial=0.0)) / size


def compare(path: Path, *, floating: bool) -> Row:
    """Return the differences of one robot at random states, or why it was refused."""
    label = f"{path.parent.parent.name.removesuffix('_description')}/{path.name}"
    base = "floating" if floating else "fixed"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            robot, model, peer = load_both(path, floating=floating)
    except FormatError as error:
        return Row(label, base, refused=str(error).split(path.name, 1)[-1].lstrip(":"))
    if robot.nv == 0:
        return Row(label, base, note="nothing moves")
    s = random_state(robot, 1, STATES)
    massless = [p for p in check(robot) if p.condition == "carries inertia"]
    note = f"singular: {massless[0].where} moves no inertia" if massless else ""
    found: dict[str, float] = {}
    for k in range(STATES):
        pair = Pair(robot, model, peer, s, k)
        for parts in (pair.dynamics(not massless), pair.motion(), pair.momentum()):
            for name, ours, theirs in parts:
                found[name] = max(found.get(name, 0.0), off(ours, theirs))
    condition = float(np.linalg.cond(reference.mass_matrix(robot, s.q)).max())
    return Row(label, base, robot.nv, found, note=note, condition=condition)


def main(names: list[str]) -> int:
    """Print the table and the time that it took."""
    start, rows = time.perf_counter(), list[Row]()
    for path in example_urdfs():
        if names and path.name not in names:
            continue
        for floating in (False, True):
            rows.append(compare(path, floating=floating))
            print(f"{rows[-1].robot} {rows[-1].base}", file=sys.stderr, flush=True)
            forget()
    code = report(rows, COLUMNS, at_least=0 if names else 130)
    print(f"{STATES} random states each, {time.perf_counter() - start:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
