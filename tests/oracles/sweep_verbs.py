"""The verbs on real robots against the book, Pinocchio and MuJoCo: python -m tests.oracles.sweep_verbs."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hinge import dynamics, reference
from hinge.model import PeerMap, Robot, check
from hinge.spatial import Array, Transform, cross, matvec, transpose
from hinge.testing import State, random_state
from tests.oracles.compare import Differences
from tests.oracles.data import example, example_urdfs, package_root, packaged_mjcfs

#: The largest relative difference that passes.
BOUND = 1e-10
AXES = ("body", "world", "world-aligned")
#: Angular part first, as here, from linear part first, as in Pinocchio.
SWAPPED = [3, 4, 5, 0, 1, 2]
GRAVITY = (1.0, -2.0, -7.0)

#: Files of example-robot-data, each loaded fixed and floating.
URDFS = (
    "a1.urdf", "allegro_left_hand.urdf", "b1-z1.urdf", "bolt.urdf", "finger_edu.urdf",
    "g1_29dof_rev_1_0.urdf", "go2.urdf", "hyq_no_sensors.urdf", "icub_reduced.urdf", "kinova.urdf",
    "laikago.urdf", "panda.urdf", "simple_humanoid.urdf", "so101.urdf", "solo12.urdf", "talos_reduced.urdf",
    "tiago_no_hand.urdf", "ur5_robot.urdf", "xarm7.urdf", "z1.urdf",
)  # fmt: skip
#: Ends of the paths of MJCF files of gymnasium, dm_control and mujoco.
MJCFS = (
    "gymnasium/envs/mujoco/assets/ant.xml", "gymnasium/envs/mujoco/assets/humanoid.xml",
    "gymnasium/envs/mujoco/assets/reacher.xml", "gymnasium/envs/mujoco/assets/walker2d.xml",
    "gymnasium/envs/mujoco/assets/inverted_double_pendulum.xml", "gymnasium/envs/mujoco/assets/swimmer.xml",
)  # fmt: skip


# Differences.


def entries(ours: Array, theirs: Array) -> float:
    """Return the largest difference, each entry relative to its size over the batch.

    An entry that stays below a thousandth of the largest, or below 1e-4, counts as that.
    """
    size = np.abs(theirs).max(axis=0, initial=0.0)
    floor = max(1e-3 * float(np.max(size, initial=0.0)), 1e-4)
    return float(np.max(np.abs(ours - theirs) / np.maximum(size, floor), initial=0.0))


def overall(ours: Array, theirs: Array) -> float:
    """Return the largest difference relative to the largest entry, or to 1 if that is less."""
    return float(
        np.max(np.abs(ours - theirs), initial=0.0) / max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    )


def scaled(ours: Array, theirs: Array) -> float:
    """Return the largest difference of symmetric matrices, entry ij relative to √(m_ii m_jj)."""
    size = np.sqrt(np.abs(np.diagonal(theirs, axis1=-2, axis2=-1)))
    return float(np.max(np.abs(ours - theirs) / (size[..., :, None] * size[..., None, :]), initial=0.0))


MEASURES: dict[str, Callable[[Array, Array], float]] = {
    "mass_matrix": scaled,
    "mass_matrix_inverse": scaled,
    "forward_kinematics": overall,
    "jacobian": overall,
}


@dataclass
class Row:
    """What was found for one robot: peer → verb → difference."""

    robot: str
    base: str
    nv: int
    condition: float
    found: dict[str, Differences] = field(default_factory=dict)
    note: str = ""

    @property
    def reach(self) -> float:
        """What the condition of the mass matrix lets float64 keep of what is divided by it."""
        return max(BOUND, 100 * np.finfo(float).eps * self.condition)

    def judged(self, peer: str) -> Differences:
        """Return the differences that count: accelerations by their forces where M is ill-conditioned."""
        solved = ("forward_dynamics", "mass_matrix_inverse")
        found = self.found.get(peer, {})
        return {v: d for v, d in found.items() if v not in solved or not BOUND < d <= self.reach}

    @property
    def passed(self) -> bool:
        """Whether every difference that counts is within the bound."""
        return all(d <= BOUND for peer in self.found for d in self.judged(peer).values())

    def worst(self, peer: str) -> str:
        """Return the largest difference that counts, and its verb."""
        found = self.judged(peer)
        if not found:
            return "–"
        verb = max(found, key=lambda v: found[v])
        return f"{found[verb]:.1e} {verb}"


# Answers by verb.


def tip_of(robot: Robot) -> str:
    """Return the deepest body, the one with the most motion."""
    return robot.bodies[int(np.argmax(robot.tree.depth))].name


def pushes(tip: str) -> dict[str, Any]:
    """Return a force on a frame and a gravity of another direction."""
    return {"external": {tip: np.array([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])}, "gravity": GRAVITY}


def verbs(robot: Robot, s: State, tip: str, tau: Array, *, solvable: bool) -> dict[str, Array]:
    """Return our answers. Names with a + are of the call with a force on the tip and another gravity."""
    more = pushes(tip)
    d, q, qd, qdd = dynamics, s.q, s.qd, s.qdd
    found = {
        "inverse_dynamics": d.inverse_dynamics(robot, q, qd, qdd),
        "inverse_dynamics+": d.inverse_dynamics(robot, q, qd, qdd, **more),
        "mass_matrix": d.mass_matrix(robot, q),
        "bias_force": d.bias_force(robot, q, qd),
        "gravity_force": d.gravity_force(robot, q),
        "coriolis_force": d.coriolis_force(robot, q, qd),
        "forward_kinematics": as_rows(d.forward_kinematics(robot, q, tip)),
        "kinetic_energy": d.kinetic_energy(robot, q, qd),
        "potential_energy": d.potential_energy(robot, q, gravity=GRAVITY),
        "momentum": d.momentum(robot, q, qd),
        "center_of_mass": d.center_of_mass(robot, q),
    }
    for axes in AXES:
        found |= {
            f"velocities {axes}": d.velocities(robot, q, qd, tip, expressed=axes),
            f"accelerations {axes}": d.accelerations(robot, q, qd, qdd, tip, expressed=axes),
            f"jacobian {axes}": d.jacobian(robot, q, tip, expressed=axes),
            f"jacobian_bias {axes}": d.jacobian_bias(robot, q, qd, tip, expressed=axes),
        }
        if axes != "world":
            found |= {
                f"classical_accelerations {axes}": d.classical_accelerations(
                    robot, q, qd, qdd, tip, expressed=axes
                ),
                f"classical_jacobian_bias {axes}": d.classical_jacobian_bias(
                    robot, q, qd, tip, expressed=axes
                ),
            }
    if solvable:
        found["forward_dynamics"] = d.forward_dynamics(robot, q, qd, tau)
        found["forward_dynamics+"] = d.forward_dynamics(robot, q, qd, tau, **more)
        found["mass_matrix_inverse"] = d.mass_matrix_inverse(robot, q)
    return found


def book(robot: Robot, s: State, tip: str, tau: Array, *, solvable: bool) -> dict[str, Array]:
    """Return the reference's answers."""
    r, q, qd, qdd, more = reference, s.q, s.qd, s.qdd, pushes(tip)
    zero, body = np.zeros(robot.nv), robot.body_index(tip)
    x, mass = r.forward_kinematics(robot, q)[body], r.mass_matrix(robot, q)
    v, a = r.velocities(robot, q, qd)[body], r.accelerations(robot, q, qd, qdd)[body]
    found = {
        "inverse_dynamics": r.inverse_dynamics(robot, q, qd, qdd),
        "inverse_dynamics+": r.inverse_dynamics(robot, q, qd, qdd, **more),
        "mass_matrix": mass,
        "bias_force": r.inverse_dynamics(robot, q, qd, zero),
        "gravity_force": r.inverse_dynamics(robot, q, zero, zero),
        "coriolis_force": r.inverse_dynamics(robot, q, qd, zero, gravity=(0, 0, 0)),
        "forward_kinematics": as_rows(x),
        "kinetic_energy": r.kinetic_energy(robot, q, qd),
        "potential_energy": r.potential_energy(robot, q, gravity=GRAVITY),
        "momentum": r.momentum(robot, q, qd),
        "center_of_mass": r.center_of_mass(robot, q),
    }
    views = (Transform.identity(), x.inv(), Transform(x.rotation, np.zeros(3)))
    for axes, view in zip(AXES, views, strict=True):
        found |= {
            f"velocities {axes}": view.motion(v),
            f"accelerations {axes}": view.motion(a),
            f"jacobian {axes}": r.jacobian(robot, q, tip, expressed=axes),
            f"jacobian_bias {axes}": r.jacobian_bias(robot, q, qd, tip, expressed=axes),
        }
        if axes != "world":
            found |= {
                f"classical_accelerations {axes}": view.motion(a) + _centripetal(view.motion(v)),
                f"classical_jacobian_bias {axes}": r.classical_jacobian_bias(
                    robot, q, qd, tip, expressed=axes
                ),
            }
    if solvable:
        found["forward_dynamics"] = r.forward_dynamics(robot, q, qd, tau)
        found["forward_dynamics+"] = r.forward_dynamics(robot, q, qd, tau, **more)
        found["mass_matrix_inverse"] = np.linalg.inv(mass)
    return found


def pinocchio(
    robot: Robot, model: Any, peer: PeerMap, s: State, tip: str, tau: Array, *, solvable: bool
) -> dict[str, Array]:
    """Return Pinocchio's answers in our coordinates, where it has the verb.

    It does not count bodies fixed to the world; our centre of mass is given the same share of them.
    """
    import pinocchio as pin

    data, frame = model.createData(), model.getFrameId(tip, pin.FrameType.BODY)
    frames = (pin.ReferenceFrame.LOCAL, pin.ReferenceFrame.WORLD, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
    q, t = peer.to_q(s.q), peer.velocity_matrix(s.q)
    place, own = model.frames[frame], np.array(model.gravity.linear)
    loads = [pin.Force.Zero() for _ in range(model.njoints)]
    loads[place.parentJoint] = place.placement.act(pin.Force(pushes(tip)["external"][tip][SWAPPED]))
    rest = np.zeros(model.nv)
    found: dict[str, list[Array]] = {}

    def put(name: str, value: Any) -> None:
        found.setdefault(name, []).append(np.array(value))

    for k in range(len(q)):
        tk, qk = t[k], q[k]
        v, a, f = tk @ s.qd[k], tk @ s.qdd[k], tk @ tau[k]
        put("inverse_dynamics", tk.T @ pin.rnea(model, data, qk, v, a))
        upper = np.triu(pin.crba(model, data, qk))
        put("mass_matrix", tk.T @ (upper + np.triu(upper, 1).T) @ tk)
        put("bias_force", tk.T @ pin.nonLinearEffects(model, data, qk, v))
        put("gravity_force", tk.T @ pin.computeGeneralizedGravity(model, data, qk))
        put("coriolis_force", tk.T @ pin.computeCoriolisMatrix(model, data, qk, v) @ v)
        put("kinetic_energy", pin.computeKineticEnergy(model, data, qk, v))
        if solvable:
            put("forward_dynamics", tk.T @ pin.aba(model, data, qk, v, f))
            upper = np.triu(pin.computeMinverse(model, data, qk))
            put("mass_matrix_inverse", tk.T @ (upper + np.triu(upper, 1).T) @ tk)
        for label, acceleration in (("accelerations", a), ("jacobian_bias", rest)):
            pin.forwardKinematics(model, data, qk, v, acceleration)
            pin.updateFramePlacements(model, data)
            for axes, kind in zip(AXES, frames, strict=True):
                put(f"{label} {axes}", pin.getFrameAcceleration(model, data, frame, kind).vector[SWAPPED])
                if axes != "world":
                    row = pin.getFrameClassicalAcceleration(model, data, frame, kind).vector[SWAPPED]
                    put(f"classical_{label} {axes}", row)
        for axes, kind in zip(AXES, frames, strict=True):
            put(f"velocities {axes}", pin.getFrameVelocity(model, data, frame, kind).vector[SWAPPED])
            j = pin.computeFrameJacobian(model, data, qk, frame, kind)
            put(f"jacobian {axes}", j[SWAPPED] @ tk)
        pose = data.oMf[frame]
        put("forward_kinematics", np.concatenate([pose.rotation, pose.translation[:, None]], axis=1))
        h = pin.computeCentroidalMomentum(model, data, qk, v)
        com = pin.centerOfMass(model, data, qk)
        put("momentum", [*(h.angular + np.cross(com, h.linear)), *h.linear])
        put("center_of_mass", com * pin.computeTotalMass(model))
        model.gravity.linear = np.array(GRAVITY)
        put("inverse_dynamics+", tk.T @ pin.rnea(model, data, qk, v, a, loads))
        put("potential_energy", pin.computePotentialEnergy(model, data, qk))
        if solvable:
            put("forward_dynamics+", tk.T @ pin.aba(model, data, qk, v, f, loads))
        model.gravity.linear = own
    answers = {name: np.array(values) for name, values in found.items()}
    fixed = _fixed_moment(robot)
    answers["center_of_mass"] = (answers["center_of_mass"] + fixed) / robot.mass
    answers["potential_energy"] = answers["potential_energy"] - fixed @ np.array(GRAVITY)
    return answers


@dataclass
class MuJoCo:
    """MuJoCo's answers in our coordinates, where it has the verb. The model has no springs."""

    model: Any
    peer: PeerMap
    s: State
    tip: str
    tau: Array
    found: dict[str, list[Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        import mujoco

        self.mj, self.data = mujoco, mujoco.MjData(self.model)
        self.body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, self.tip)
        if self.body < 0:  # a body without a name is called after its number
            self.body = int(self.tip.removeprefix("body"))
        self.own = self.model.opt.gravity.copy()
        s, peer = self.s, self.peer
        self.t, self.q, self.qd = peer.velocity_matrix(s.q), peer.to_q(s.q), peer.to_qd(s.q, s.qd)
        self.qdd, self.drift = peer.to_qdd(s.q, s.qd, s.qdd), peer.to_qdd(s.q, s.qd, 0 * s.qdd)
        self.force = np.linalg.solve(transpose(self.t), self.tau[..., None])[..., 0]

    def answers(self) -> dict[str, Array]:
        """Return every answer by name."""
        for k in range(len(self.q)):
            self._inverse(k)
            self._motions(k)
            self._forward(k)
        self.model.opt.gravity[:] = self.own
        return {name: np.array(values) for name, values in self.found.items()}

    def _put(self, name: str, value: Any) -> None:
        self.found.setdefault(name, []).append(np.array(value))

    def _at(self, k: int, gravity: Any, velocity: Any, acceleration: Any = 0.0) -> None:
        self.model.opt.gravity[:], data = gravity, self.data
        data.qpos[:], data.qvel[:], data.qacc[:] = self.q[k], velocity, acceleration
        data.qfrc_applied[:], data.xfrc_applied[:] = 0, 0

    def _moving(self, kind: Callable[..., None], *, local: bool) -> Array:
        row = np.zeros(6)
        kind(self.model, self.data, self.mj.mjtObj.mjOBJ_XBODY, self.body, row, int(local))
        return row

    def _mass(self) -> Array:
        mass = np.zeros((self.model.nv, self.model.nv))
        for row, unit in zip(mass, np.eye(self.model.nv), strict=True):
            self.mj.mj_mulM(self.model, self.data, row, unit)
        return mass

    def _inverse(self, k: int) -> None:
        """Take inverse dynamics and what is left over from it."""
        mj, model, data, t = self.mj, self.model, self.data, self.t[k]
        self._at(k, self.own, self.qd[k], self.qdd[k])
        mj.mj_inverse(model, data)
        self._put("inverse_dynamics", t.T @ data.qfrc_inverse)
        mass, back = self._mass(), np.linalg.inv(t)
        self._put("mass_matrix", t.T @ mass @ t)
        self._put("mass_matrix_inverse", back @ np.linalg.inv(mass) @ back.T)
        self._put("bias_force", t.T @ (data.qfrc_bias + mass @ self.drift[k]))
        mj.mj_energyVel(model, data)
        self._put("kinetic_energy", data.energy[1])
        mj.mj_subtreeVel(model, data)
        com, p = data.subtree_com[0].copy(), data.subtree_linvel[0] * model.body_subtreemass[0]
        self._put("momentum", [*(data.subtree_angmom[0] + np.cross(com, p)), *p])
        self._put("center_of_mass", com)
        self._at(k, (0, 0, 0), self.qd[k])
        mj.mj_forward(model, data)
        self._put("coriolis_force", t.T @ (data.qfrc_bias + mass @ self.drift[k]))
        self._at(k, self.own, 0.0)
        mj.mj_forward(model, data)
        self._put("gravity_force", t.T @ data.qfrc_bias)

    def _motions(self, k: int) -> None:
        """Take the motion of the tip; MuJoCo's accelerations are classical."""
        mj, model, data = self.mj, self.model, self.data
        for label, qdd in (("accelerations", self.qdd[k]), ("jacobian_bias", self.drift[k])):
            self._at(k, (0, 0, 0), self.qd[k], qdd)
            mj.mj_inverse(model, data)
            mj.mj_rnePostConstraint(model, data)
            self._put(f"classical_{label} body", self._moving(mj.mj_objectAcceleration, local=True))
            self._put(f"classical_{label} world-aligned", self._moving(mj.mj_objectAcceleration, local=False))
        self._put("velocities body", self._moving(mj.mj_objectVelocity, local=True))
        self._put("velocities world-aligned", self._moving(mj.mj_objectVelocity, local=False))
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mj.mj_jacBody(model, data, linear, angular, self.body)
        self._put("jacobian world-aligned", np.concatenate([angular, linear]) @ self.t[k])
        pose = data.xmat[self.body].reshape(3, 3), data.xpos[self.body][:, None]
        self._put("forward_kinematics", np.concatenate(pose, axis=1))

    def _forward(self, k: int) -> None:
        """Take forward dynamics, without and with a force on the tip."""
        mj, model, data, t = self.mj, self.model, self.data, self.t[k]
        self._at(k, self.own, self.qd[k])
        data.qfrc_applied[:] = self.force[k]
        mj.mj_forward(model, data)
        self._put("forward_dynamics", np.linalg.solve(t, data.qacc - self.drift[k]))
        push, turn = pushes(self.tip)["external"][self.tip], data.xmat[self.body].reshape(3, 3)
        n, f = turn @ push[:3], turn @ push[3:]
        shift = data.xpos[self.body] - data.xipos[self.body]  # MuJoCo's forces act at the centre of mass
        self._at(k, GRAVITY, self.qd[k])
        data.qfrc_applied[:] = self.force[k]
        data.xfrc_applied[self.body] = [*f, *(n + np.cross(shift, f))]
        mj.mj_forward(model, data)
        self._put("forward_dynamics+", np.linalg.solve(t, data.qacc - self.drift[k]))
        mj.mj_energyPos(model, data)
        self._put("potential_energy", data.energy[0])


def as_rows(x: Transform) -> Array:
    """Return a pose as [rotation | position]."""
    return np.concatenate([x.rotation, x.position[..., None]], axis=-1)


def _centripetal(v: Array) -> Array:
    return np.concatenate([np.zeros_like(v[..., :3]), cross(v[..., :3], v[..., 3:])], axis=-1)


def _fixed_moment(robot: Robot) -> Array:
    """Return Σ m c of the bodies that cannot move, in the world."""
    moment, q = np.zeros(3), np.zeros(0)
    placed: dict[int, Transform] = {}
    for i, (body, joint, parent) in enumerate(
        zip(robot.bodies, robot.joints, robot.tree.parents, strict=True)
    ):
        if joint.nv == 0 and (parent < 0 or parent in placed):
            placed[i] = joint.transform(q) @ placed[parent] if parent >= 0 else joint.transform(q)
            moment = moment + body.inertia.m * placed[i].position + placed[i].rotation @ body.inertia.h
    return moment


# Robots.


def differences(
    robot: Robot, s: State, tau: Array, ours: dict[str, Array], theirs: dict[str, Array]
) -> Differences:
    """Return the largest difference of each verb, and of the forces that accelerations stand for."""
    found: Differences = {}
    for name, value in theirs.items():
        verb = name.rstrip("+").split()[0]
        assert ours[name].shape == value.shape, (name, ours[name].shape, value.shape)
        found[verb] = max(found.get(verb, 0.0), MEASURES.get(verb, entries)(ours[name], value))
        if verb == "forward_dynamics":
            forces = matvec(reference.mass_matrix(robot, s.q), ours[name] - value)
            found["residual"] = max(found.get("residual", 0.0), entries(tau + forces, tau))
    return found


def _started(robot: Robot, label: str, base: str, states: int) -> tuple[Row, State, Array, bool]:
    s = random_state(robot, 1, states)
    massless = [p for p in check(robot) if p.condition == "carries inertia"]
    row = Row(label, base, robot.nv, float(np.linalg.cond(reference.mass_matrix(robot, s.q)).max()))
    if massless:
        row.note = f"singular: {massless[0].where} moves no inertia"
    return row, s, reference.inverse_dynamics(robot, s.q, s.qd, s.qdd), not massless


def compare_urdf(path: Path, *, floating: bool, states: int = 5) -> Row:
    """Return the differences of one URDF file from the book and from Pinocchio."""
    from tests.oracles.pinocchio import load_both

    label = f"{path.parent.parent.name.removesuffix('_description')}/{path.name}"
    base = "floating" if floating else "fixed"
    return compare_pinocchio(*load_both(path, floating=floating), label=label, base=base, states=states)


def compare_pinocchio(
    robot: Robot, model: Any, peer: PeerMap, *, label: str, base: str, states: int = 5
) -> Row:
    """Return the differences of one robot from the book and from Pinocchio."""
    row, s, tau, solvable = _started(robot, label, base, states)
    tip = tip_of(robot)
    ours = verbs(robot, s, tip, tau, solvable=solvable)
    row.found["reference"] = differences(robot, s, tau, ours, book(robot, s, tip, tau, solvable=solvable))
    theirs = pinocchio(robot, model, peer, s, tip, tau, solvable=solvable)
    row.found["Pinocchio"] = differences(robot, s, tau, ours, theirs)
    return row


def compare_mjcf(path: Path, root: Path, *, states: int = 5) -> Row:
    """Return the differences of one MJCF file from the book and from MuJoCo."""
    from tests.oracles.mujoco import load_both

    robot, model, peer = load_both(path, root)
    for passive in (model.jnt_stiffness, model.dof_damping):
        passive[:] = 0
    row, s, tau, solvable = _started(robot, "/".join(path.parts[-3:]), "file", states)
    tip = tip_of(robot)
    ours = verbs(robot, s, tip, tau, solvable=solvable)
    row.found["reference"] = differences(robot, s, tau, ours, book(robot, s, tip, tau, solvable=solvable))
    row.found["MuJoCo"] = differences(robot, s, tau, ours, MuJoCo(model, peer, s, tip, tau).answers())
    return row


def mjcf(end: str) -> Path:
    """Return the MJCF file whose path ends so."""
    return next(p for p in packaged_mjcfs() if p.as_posix().endswith(end))


# The table.

PEERS = ("reference", "Pinocchio", "MuJoCo")


def table(rows: list[Row]) -> str:
    """Return the rows as text: each robot with its worst verbs, then each verb with its worst robots."""
    lines = [
        f"{'robot':40} {'base':8} {'nv':>3} {'cond(M)':>8}  " + "  ".join(f"{p:32}" for p in PEERS).rstrip()
    ]
    for r in rows:
        cells = "  ".join(f"{r.worst(p):32}" for p in PEERS)
        mark = "" if r.passed else "  ← too large"
        lines.append(
            f"{r.robot:40.40} {r.base:8} {r.nv:3} {r.condition:8.0e}  {cells}{mark} {r.note}".rstrip()
        )
    lines += ["", f"{'verb':26} " + " ".join(f"{p:>10}" for p in PEERS)]
    for verb in dict.fromkeys(v for r in rows for p in PEERS for v in r.found.get(p, {})):
        worst = [[r.judged(p)[verb] for r in rows if verb in r.judged(p)] for p in PEERS]
        lines.append(f"{verb:26} " + " ".join(f"{max(w):10.1e}" if w else f"{'–':>10}" for w in worst))
    excused = sum(len(r.found[p]) > len(r.judged(p)) for r in rows for p in r.found)
    good = sum(r.passed for r in rows)
    lines.append("")
    if excused:
        lines.append(
            f"{excused} times forward dynamics or the inverse mass matrix is judged by the residual only:"
        )
        lines.append("cond(M) is so large that float64 cannot hold them better")
    whole = "all" if good == len(rows) else f"{good} of them"
    lines.append(f"{len(rows)} robots, {whole} within {BOUND:g}")
    return "\n".join(lines)


def main() -> int:
    """Print the table; return 1 when a robot differs too much."""
    start, rows = time.perf_counter(), list[Row]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in URDFS if example_urdfs() else ():
            rows += [compare_urdf(example(name), floating=f) for f in (False, True)]
        rows += [compare_mjcf(mjcf(end), package_root(mjcf(end))) for end in MJCFS]
    print(table(rows))
    print(f"5 random states each, {time.perf_counter() - start:.0f} s")
    return 0 if all(r.passed for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
