"""The loads of hinges: the force that passes through each, what its actuator gives and its bearings carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.dynamics.arguments import External, external_forces
from hinge.dynamics.cached import compiled
from hinge.dynamics.signatures import ARGUMENTS
from hinge.errors import ArgumentError
from hinge.model import Joint, Robot, as_configuration, reaction_force
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
    total = f.evaluate(q, given | forces, called=ARGUMENTS)["force"]
    state = as_configuration(robot, q, dtype=total.dtype)
    shown = [np.empty_like(total) for _ in range(3)]
    with np.errstate(all="ignore"):  # non-finite states of a batch must not warn
        for k, joint in enumerate(robot.joints):
            f = total[..., k, :]
            reaction = _reaction(joint, state[..., joint.q_slice], f)
            for x, part in zip(shown, (f, f - reaction, reaction), strict=True):
                x[..., k, :] = joint.outer.force(part)
    return HingeForces(*shown)


def _reaction(joint: Joint, q: Array, f: Array) -> Array:
    """Return the bearing reaction of a joint to a force f, which is not finite where q is not."""
    finite = np.isfinite(q).all(axis=-1, keepdims=True)
    return reaction_force(joint, np.where(finite, q, joint.type.neutral()), f)
