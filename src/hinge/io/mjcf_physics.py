"""The physics of joints in a compiled MuJoCo model: what joints, actuators and tendons add up to.

An actuator adds gear² armature and gear² damping to its joint or tendon, a tendon of one joint coef² times
its own (MuJoCo, XML reference: actuator/general, tendon/fixed). Flags of <option> that switch springs,
dampers, friction or limits off are obeyed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.spatial import Array

FREE, BALL, SLIDE, HINGE = range(4)
#: Transmissions of actuators: mjtTrn; wrap objects of tendons: mjtWrap.
TO_JOINTS, TO_TENDON, _WRAP_JOINT = (0, 1), 3, 1


@dataclass(frozen=True)
class JointPhysics:
    """Armature, damping and friction (nv,), stiffness (joints,), and whether limits hold."""

    kinds: Array
    starts: Array
    armature: Array
    damping: Array
    friction: Array
    stiffness: Array
    limited: bool

    def of(self, j: int, nv: int) -> dict[str, Array]:
        """Return the physics of joint j as arguments of `Joint`."""
        dof, kind = int(self.starts[j]), int(self.kinds[j])
        parts = {"rotor_inertia": self.armature, "damping": self.damping, "friction": self.friction}
        found = {name: _angular_first(values[dof : dof + nv], kind) for name, values in parts.items()}
        return {**found, "stiffness": np.full(nv, 0.0 if kind == FREE else self.stiffness[j])}


def joint_physics(mujoco: Any, m: Any) -> JointPhysics:
    """Return the physics of all joints of a model."""
    armature, damping = np.array(m.dof_armature), linear(m.dof_damping)
    for (dof, inertia), (_, loss) in zip(reflected(m, "armature"), reflected(m, "damping"), strict=True):
        armature[dof] += inertia
        damping[dof] += loss
    springs, dampers = not off(mujoco, m, "SPRING"), not off(mujoco, m, "DAMPER")
    rubs = not off(mujoco, m, "FRICTIONLOSS") and not off(mujoco, m, "CONSTRAINT")
    return JointPhysics(
        np.array(m.jnt_type),
        np.array(m.jnt_dofadr),
        armature,
        damping * dampers,
        np.array(m.dof_frictionloss) * rubs,
        linear(m.jnt_stiffness) * springs,
        not off(mujoco, m, "LIMIT") and not off(mujoco, m, "CONSTRAINT"),
    )


def reflected(m: Any, name: str) -> list[tuple[int, float]]:
    """Return what actuators and tendons of one joint add: indices of velocities, and amounts."""
    found: list[tuple[int, float]] = []
    own = linear(getattr(m, f"tendon_{name}", np.zeros(m.ntendon)))
    tendons = [float(x) for x in own]
    values = linear(getattr(m, f"actuator_{name}", np.zeros(len(m.actuator_trntype))))
    for a, (kind, target) in enumerate(transmissions(m)):
        amount = float(values[a]) * gear(m, a) ** 2
        if kind in TO_JOINTS and m.jnt_type[target] in (SLIDE, HINGE):
            found.append((int(m.jnt_dofadr[target]), amount))
        elif kind == TO_TENDON:
            tendons[target] += amount
    for t, amount in enumerate(tendons):
        arm = only_joint(m, t)
        if arm is not None:
            joint, coefficient = arm
            found.append((int(m.jnt_dofadr[joint]), amount * coefficient**2))
    return found


def only_joint(m: Any, t: int) -> tuple[int, float] | None:
    """Return the joint and coefficient of a fixed tendon of one joint, or None."""
    first, count = int(m.tendon_adr[t]), int(m.tendon_num[t])
    if count != 1 or m.wrap_type[first] != _WRAP_JOINT:
        return None
    return int(m.wrap_objid[first]), float(m.wrap_prm[first])


def transmissions(m: Any) -> list[tuple[int, int]]:
    """Return the kind of transmission and the target of each actuator."""
    return [(int(k), int(i[0])) for k, i in zip(m.actuator_trntype, m.actuator_trnid, strict=True)]


def gear(m: Any, a: int) -> float:
    """Return the gear of an actuator with one output."""
    rows = getattr(m, "actuator_outadr", None)
    return float(m.actuator_gear[a if rows is None else int(rows[a]), 0])


def linear(values: Any) -> Array:
    """Return a field, or its linear coefficients where it has several."""
    found = np.array(values, dtype=np.float64)
    return found if found.ndim < 2 else found[:, 0]


def off(mujoco: Any, m: Any, name: str) -> bool:
    """Tell whether a flag of <option> switches a part of the physics off."""
    return bool(m.opt.disableflags & getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", 0))


def labels(mujoco: Any, m: Any, kind: str) -> list[str]:
    """Return the names of all objects of a kind; unnamed ones are numbered."""
    code = getattr(mujoco.mjtObj, f"mjOBJ_{kind}")
    counts = {"BODY": m.nbody, "JOINT": m.njnt, "EQUALITY": m.neq, "TENDON": m.ntendon, "GEOM": m.ngeom}
    count = counts[kind] if kind in counts else len(m.actuator_trntype)
    return [mujoco.mj_id2name(m, code, k) or f"{kind.lower()}{k}" for k in range(count)]


def _angular_first(values: Array, kind: int) -> Array:
    """Put a free joint's (linear, angular) entries in Hinge's order."""
    return np.concatenate([values[3:], values[:3]]) if kind == FREE else values
