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
from hinge.testing import State, random_state
from tests.oracles.compare import Differences, Row, relative

COLUMNS = ["inverse", "mass", "forward", "jacobian"]
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]


def load_both(path: Path, *, floating: bool) -> tuple[Robot, pin.Model, PeerMap]:
    """Return the robot in Hinge and in Pinocchio, and the map between their coordinates."""
    robot = read_urdf(path, floating=floating, strict=None)
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    model = pin.buildModelFromUrdf(str(path), *root)
    joints = [(model.names[i], model.idx_qs[i], model.idx_vs[i]) for i in range(1, model.njoints)]
    names, qs, vs = zip(*joints, strict=True) if joints else ((), (), ())
    return robot, model, pinocchio_map(robot, names, qs, vs, model.nq, model.nv)


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
    columns = [c for c in COLUMNS if c != "forward" or not massless]
    note = f"singular: {massless[0].where} moves no inertia" if massless else ""
    return Row(label, base, robot.nv, differences(robot, model, peer, s, columns), note=note)


def differences(
    robot: Robot, model: pin.Model, peer: PeerMap, s: State, columns: list[str] = COLUMNS
) -> Differences:
    """Return the largest relative difference of each quantity over the states."""
    tip = robot.bodies[max(range(len(robot.bodies)), key=lambda i: robot.tree.depth[i])].name
    tau = reference.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    ours = {
        "inverse": lambda: tau,
        "mass": lambda: reference.mass_matrix(robot, s.q),
        "forward": lambda: reference.forward_dynamics(robot, s.q, s.qd, tau),
        "jacobian": lambda: reference.jacobian(robot, s.q, tip),
    }
    data, frame = model.createData(), model.getFrameId(tip, pin.FrameType.BODY)
    q, t = peer.q(s.q), peer.velocity_matrix(s.q)
    theirs: dict[str, list[np.ndarray]] = {c: [] for c in COLUMNS}
    for k in range(len(s.q)):
        v, a = t[k] @ s.qd[k], t[k] @ s.qdd[k]
        force = pin.rnea(model, data, q[k], v, a)
        theirs["inverse"].append(t[k].T @ force)
        mass = pin.crba(model, data, q[k])
        mass = np.triu(mass) + np.triu(mass, 1).T
        theirs["mass"].append(t[k].T @ mass @ t[k])
        theirs["forward"].append(t[k].T @ pin.aba(model, data, q[k], v, force))
        j = pin.computeFrameJacobian(model, data, q[k], frame, pin.ReferenceFrame.LOCAL)
        theirs["jacobian"].append(j[LINEAR_FIRST] @ t[k])
    return {c: relative(ours[c](), np.array(theirs[c])) for c in columns}
