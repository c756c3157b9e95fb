"""Compare the book's algorithms with Pinocchio on one URDF file."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin

from hinge import reference
from hinge.errors import FormatError
from hinge.io import read_urdf
from hinge.model import PeerMap, Robot, check, pinocchio_map
from hinge.spatial import matvec
from hinge.testing import State, random_state
from tests.oracles.compare import Differences, Row, relative, relative_jacobian, relative_mass

COLUMNS = ["inverse", "mass", "forward", "residual", "jacobian"]
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]


def load_both(path: Path, *, floating: bool) -> tuple[Robot, pin.Model, PeerMap]:
    """Return the robot in Hinge and in Pinocchio, and the map between their coordinates."""
    robot = read_urdf(path, floating=floating, strict=None)
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    model = pin.buildModelFromUrdf(str(path), *root)
    return robot, model, pinocchio_map(robot, model)


def compare(path: Path, *, floating: bool, states: int = 20) -> Row:
    """Return the differences of one robot at random states, or why it was refused."""
    label, base = path.parent.parent.name.removesuffix("_description"), "floating" if floating else "fixed"
    label = f"{label}/{path.name}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            robot, model, peer = load_both(path, floating=floating)
    except FormatError as error:
        return Row(label, base, refused=str(error).split(path.name, 1)[-1].lstrip(":"))
    if robot.nv == 0:
        return Row(label, base, note="nothing moves")
    s = random_state(robot, 1, states)
    massless = [p for p in check(robot) if p.condition == "carries inertia"]
    note = f"singular: {massless[0].where} moves no inertia" if massless else ""
    found = differences(robot, model, peer, s, solvable=not massless)
    condition = float(np.linalg.cond(reference.mass_matrix(robot, s.q)).max())
    return Row(label, base, robot.nv, found, note=note, condition=condition)


def differences(
    robot: Robot, model: pin.Model, peer: PeerMap, s: State, *, solvable: bool = True
) -> Differences:
    """Return the largest relative difference of each quantity over the states.

    Without `solvable` forward dynamics is left out. `residual` is the difference of the forces that
    the two forward dynamics stand for, M q̈, relative to the forces given.
    """
    tip = robot.bodies[int(np.argmax(robot.tree.depth))].name
    tau, mass = reference.inverse_dynamics(robot, s.q, s.qd, s.qdd), reference.mass_matrix(robot, s.q)
    theirs = _pinocchio(model, peer, s, tip, tau)
    found = {
        "inverse": relative(tau, theirs["inverse"]),
        "mass": relative_mass(mass, theirs["mass"]),
        "jacobian": relative_jacobian(reference.jacobian(robot, s.q, tip), theirs["jacobian"]),
    }
    if solvable:
        qdd = reference.forward_dynamics(robot, s.q, s.qd, tau)
        found["forward"] = relative(qdd, theirs["forward"])
        off = matvec(mass, qdd - theirs["forward"])
        found["residual"] = relative(tau + off, tau)
    return found


def _pinocchio(model: pin.Model, peer: PeerMap, s: State, tip: str, tau: np.ndarray) -> dict[str, np.ndarray]:
    """Return Pinocchio's answers in Hinge's coordinates."""
    data, frame = model.createData(), model.getFrameId(tip, pin.FrameType.BODY)
    q, t = peer.to_q(s.q), peer.velocity_matrix(s.q)
    found: dict[str, list[np.ndarray]] = {}
    for k in range(len(s.q)):
        v, a = t[k] @ s.qd[k], t[k] @ s.qdd[k]
        mass = np.triu(pin.crba(model, data, q[k]))
        j = pin.computeFrameJacobian(model, data, q[k], frame, pin.ReferenceFrame.LOCAL)
        answers = {
            "inverse": t[k].T @ pin.rnea(model, data, q[k], v, a),
            "mass": t[k].T @ (mass + np.triu(mass, 1).T) @ t[k],
            "forward": t[k].T @ pin.aba(model, data, q[k], v, t[k] @ tau[k]),
            "jacobian": j[LINEAR_FIRST] @ t[k],
        }
        for name, value in answers.items():
            found.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in found.items()}
