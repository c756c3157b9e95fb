"""Compare the book's algorithms with MuJoCo on one MJCF file.

Contacts, constraints, actuators, tendons, fluid and gravity compensation are switched off in the
MuJoCo model, since Hinge leaves them out. Armature is Hinge's rotor inertia. MuJoCo's joint damping
and springs act inside its dynamics; Hinge records them, so the comparison adds the documented
passive force −damping q̇ − stiffness (q − rest) to Hinge's side.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np

from hinge import reference
from hinge.errors import FormatError
from hinge.io import load
from hinge.model import PeerMap, Robot, mujoco_map
from hinge.spatial import Array, matvec, transpose
from hinge.testing import State, random_state
from tests.oracles.compare import Differences, Row, relative, relative_jacobian, relative_mass

COLUMNS = ["inverse", "mass", "forward", "residual", "jacobian"]


def load_both(path: Path, root: Path) -> tuple[Robot, mujoco.MjModel, PeerMap]:
    """Return the robot in Hinge and in MuJoCo, and the map between their coordinates."""
    robot = load(path, strict=None, root=root)
    model = mujoco.MjModel.from_xml_path(str(path))
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_CONSTRAINT | flags.mjDSBL_ACTUATION
    model.opt.density = model.opt.viscosity = 0
    for values in (model.body_gravcomp, model.tendon_stiffness):
        values[:] = 0
    for values in (model.tendon_damping, model.tendon_armature):
        values[model.tendon_num != 1] = 0  # those of one joint are read
    return robot, model, mujoco_map(robot, model)


def compare(path: Path, root: Path, *, states: int = 20) -> Row:
    """Return the differences of one robot at random states, or why it was refused."""
    label = str(path.relative_to(root.parent))[-44:]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            robot, model, peer = load_both(path, root)
    except FormatError as error:
        return Row(label, "file", refused=str(error).split(path.name, 1)[-1].lstrip(":"))
    if robot.nv == 0:
        return Row(label, "file", note="nothing moves")
    s = random_state(robot, 1, states)
    condition = float(np.linalg.cond(reference.mass_matrix(robot, s.q)).max())
    return Row(label, "file", robot.nv, differences(robot, model, peer, s), condition=condition)


def passive_force(robot: Robot, q: Array, qd: Array) -> Array:
    """Return −damping q̇ − stiffness (q − rest) for each joint."""
    parts: list[Array] = []
    for j in robot.joints:
        spring = j.stiffness * j.type.difference(j.rest, q[..., j.q_slice])
        parts.append(-j.damping * qd[..., j.qd_slice] - spring)
    return np.concatenate(parts, axis=-1)


def differences(robot: Robot, model: mujoco.MjModel, peer: PeerMap, s: State) -> Differences:
    """Return the largest relative difference of each quantity over the states."""
    tip = max(range(1, model.nbody), key=lambda b: _depth(model, b))
    name = _name(model, "BODY", tip) or f"body{tip}"
    passive = passive_force(robot, s.q, s.qd)
    tau = reference.inverse_dynamics(robot, s.q, s.qd, s.qdd) - passive
    mass = reference.mass_matrix(robot, s.q)
    t = peer.velocity_matrix(s.q)
    theirs = _mujoco(model, peer, s, tip, peer.to_tau(s.q, tau))
    qdd = reference.forward_dynamics(robot, s.q, s.qd, tau + passive)
    qacc = peer.to_qdd(s.q, s.qd, qdd)
    off = matvec(transpose(t) @ theirs["mass"], qacc - theirs["forward"])
    return {
        "inverse": relative(tau, peer.from_tau(s.q, theirs["inverse"])),
        "mass": relative_mass(mass, transpose(t) @ theirs["mass"] @ t),
        "forward": relative(qacc, theirs["forward"]),
        "residual": relative(tau + off, tau),
        "jacobian": relative_jacobian(
            reference.jacobian(robot, s.q, name, expressed="world-aligned"), theirs["jacobian"] @ t
        ),
    }


def _mujoco(model: mujoco.MjModel, peer: PeerMap, s: State, tip: int, tau: Array) -> dict[str, np.ndarray]:
    """Return MuJoCo's answers in its own coordinates; `tau` too is in these."""
    data, found = mujoco.MjData(model), dict[str, list[np.ndarray]]()
    q, qd, qdd = peer.to_q(s.q), peer.to_qd(s.q, s.qd), peer.to_qdd(s.q, s.qd, s.qdd)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], qd[k], qdd[k]
        mujoco.mj_inverse(model, data)
        inverse = data.qfrc_inverse.copy()
        data.qfrc_applied[:] = tau[k]
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        for row, unit in zip(mass, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, row, unit)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, tip)
        answers = {
            "inverse": inverse,
            "mass": mass,
            "forward": data.qacc.copy(),
            "jacobian": np.concatenate([angular, linear]),
        }
        for name, value in answers.items():
            found.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in found.items()}


def _name(model: mujoco.MjModel, kind: str, index: int) -> str:
    return mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), index)


def _depth(model: mujoco.MjModel, body: int) -> int:
    depth = 0
    while body:
        body, depth = model.body_parentid[body], depth + 1
    return depth
