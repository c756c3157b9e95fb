"""The loads of hinges: the force that passes through each, what its actuator gives and its bearings carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.dynamics.arguments import External, external_forces
from hinge.dynamics.cached import Memory, compiled
from hinge.dynamics.signatures import ARGUMENTS
from hinge.errors import ArgumentError
from hinge.model import Joint, Robot, as_configuration, reaction_force
from hinge.model.joints import JointType
from hinge.spatial import Array, ArrayLike

__all__ = ["HingeForces", "hinge_forces"]


@dataclass(frozen=True, eq=False)
class HingeForces:
    """The spatial forces [n; f] (…, joints, 6) through the joints, each in its joint's outer frame.

    `total` is what the parent exerts on the child; `effort` what of it the actuator gives, in the span of
    the joint's effort subspace F; `reaction` what the bearings carry, which does no work on the joint's
    motion: Featherstone (7.15). A rotor's inertia takes its share of tau before it comes to the joint.
    """

    total: Array
    effort: Array
    reaction: Array


def hinge_forces(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike | None = None,
    *,
    tau: ArrayLike | None = None,
    external: External = None,
    gravity: ArrayLike | None = None,
) -> HingeForces:
    """Return the force through every joint, split into actuator effort and bearing reaction.

    The motion is that of the accelerations qdd, or of the hinge forces tau: give one of them. The force is
    φ (M α + b), and with tau z⁻ + P α, SOA slides, inter-body forces. `external` and `gravity` as in
    `inverse_dynamics`.
    """
    if (qdd is None) == (tau is None):
        which = "neither" if qdd is None else "both"
        raise ArgumentError(
            f"qdd, tau: expected either the accelerations qdd or the hinge forces tau=…, got {which}"
        )
    verb = "hinge_forces" if tau is None else "hinge_forces_under"
    given: dict[str, ArrayLike] = {"qd": qd, **({"qdd": qdd} if qdd is not None else {})}
    given |= {"tau": tau} if tau is not None else {}
    given |= {"gravity": gravity} if gravity is not None else {}
    nodes, forces = external_forces(external)
    f = compiled(robot, verb, nodes)
    force = f.evaluate(q, given | forces, called=ARGUMENTS)["force"]
    split = _SPLITS.get(robot) or _SPLITS.put(robot, _Split.of(robot))
    total, reaction = ((x.astype(force.dtype, copy=False) @ force[..., None])[..., 0] for x in split.maps)
    if split.others:
        state = as_configuration(robot, q, dtype=force.dtype)
        with np.errstate(all="ignore"):  # non-finite states of a batch must not warn
            for k in split.others:
                joint = robot.joints[k]
                part = _reaction(joint, state[..., joint.q_slice], force[..., k, :])
                reaction[..., k, :] = joint.outer.force(part)
    return HingeForces(total, total - reaction, reaction)


@dataclass(frozen=True, eq=False)
class _Split:
    """What forces through joints become: matrices (joints, 6, 6) to the total and to the reaction.

    `others` are the joints whose motions depend on q, for which there is no constant one.
    """

    maps: tuple[Array, Array]
    others: tuple[int, ...]

    @classmethod
    def of(cls, robot: Robot) -> _Split:
        total = np.array([j.outer.force_matrix() for j in robot.joints]).reshape(len(robot.joints), 6, 6)
        reaction, others = total.copy(), list[int]()
        for k, joint in enumerate(robot.joints):
            if type(joint.type).bias is JointType.bias:
                q = joint.type.neutral()
                columns = [reaction_force(joint, q, x) for x in np.eye(6)]
                reaction[k] = total[k] @ np.stack(columns, axis=-1)
            else:
                others.append(k)
        return cls((total, reaction), tuple(others))


_SPLITS: Memory[Robot, _Split] = Memory()


def _reaction(joint: Joint, q: Array, f: Array) -> Array:
    """Return the bearing reaction of a joint to a force f, which is not finite where q is not."""
    finite = np.isfinite(q).all(axis=-1, keepdims=True)
    return reaction_force(joint, np.where(finite, q, joint.type.neutral()), f)
