"""The loads of hinges: the force that passes through each, what its actuator gives and its bearings carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.dynamics.arguments import External, external_forces
from hinge.dynamics.cached import CALLS, compiled
from hinge.dynamics.expressions import VERBS, Parts
from hinge.dynamics.function import Compiled
from hinge.dynamics.results import filling
from hinge.dynamics.signatures import ARGUMENTS
from hinge.errors import ArgumentError
from hinge.model import Joint, Robot, as_configuration, checked_robot, reaction_force
from hinge.model.joints import JointType
from hinge.spatial import Array, ArrayLike
from hinge.sweeps import Readout

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
    given: Any = qdd if tau is None else tau
    plain = external is None and gravity is None
    key = ("hinge_forces", robot, tau is None)
    known = CALLS.look(key) if plain else None
    if known is not None:
        return known(q, qd, given)
    nodes, forces = external_forces(external)
    loads = _Loads(compiled(checked_robot(robot), _UNDER_TAU if qdd is None else _FROM_QDD, nodes))
    if plain:
        return CALLS.put(key, loads.direct)(q, qd, given)
    more = forces if gravity is None else {**forces, "gravity": gravity}
    return loads.of(q, {"qd": qd, "qdd" if tau is None else "tau": given, **more})


class _Loads:
    """The loads of one robot, as a function of arrays."""

    def __init__(self, f: Compiled) -> None:
        self.f, self.entry = f, f.entry_for(finish=_AS_LOADS)
        self.others = [k for k, j in enumerate(f.robot.joints) if not _is_constant(j)]

    @property
    def direct(self) -> Callable[..., HingeForces]:
        """The quickest function of q, qd, and qdd or tau."""
        return self._completed if self.others else self.entry

    def _completed(self, q: ArrayLike, qd: ArrayLike, given: ArrayLike) -> HingeForces:
        return self._with_others(q, self.entry(q, qd, given))

    def of(self, q: ArrayLike, vectors: Mapping[str, ArrayLike]) -> HingeForces:
        """Return the loads of a call with options."""
        return self._with_others(q, _AS_LOADS(self.f.evaluate(q, vectors, called=ARGUMENTS)))

    def _with_others(self, q: ArrayLike, found: HingeForces) -> HingeForces:
        """Split the forces through joints whose motions depend on q."""
        state = as_configuration(self.f.robot, q, dtype=found.total.dtype)
        with np.errstate(all="ignore"):  # non-finite states of a batch must not warn
            for k in self.others:
                joint, total = self.f.robot.joints[k], found.total[..., k, :]
                force = joint.outer.inv().force(total)
                part = joint.outer.force(_reaction(joint, state[..., joint.q_slice], force))
                found.reaction[..., k, :], found.effort[..., k, :] = part, total - part
        return found


_AS_LOADS = filling(HingeForces)


def _is_constant(joint: Joint) -> bool:
    """Tell whether the motions of a joint are the same at all q."""
    return type(joint.type).bias is JointType.bias


def _reaction(joint: Joint, q: Array, f: Array) -> Array:
    """Return the bearing reaction of a joint to a force f, which is not finite where q is not."""
    finite = np.isfinite(q).all(axis=-1, keepdims=True)
    return reaction_force(joint, np.where(finite, q, joint.type.neutral()), f)


def _split(robot: Robot) -> Readout:
    """Return the formula that splits forces through joints, where their motions are the same at all q."""

    def split(found: Mapping[str, Array]) -> dict[str, Array]:
        force = found["force"].reshape(len(robot.joints), 6)
        rows = [_maps(j) @ f for j, f in zip(robot.joints, force, strict=True)]
        total, effort, reaction = np.moveaxis(np.array(rows, dtype=object).reshape(-1, 3, 6), 1, 0)
        return {"total": total, "effort": effort, "reaction": reaction}

    return split


def _maps(joint: Joint) -> Array:
    """Return the matrices (3, 6, 6) from the force through a joint to total, effort and reaction.

    Of a joint with motions that depend on q they leave the split open: all is reaction.
    """
    total = joint.outer.force_matrix()
    if not _is_constant(joint):
        return np.stack([total, np.zeros((6, 6)), total])
    q = joint.type.neutral()
    reaction = total @ np.stack([reaction_force(joint, q, x) for x in np.eye(6)], axis=-1)
    return np.stack([total, total - reaction, reaction])


_FROM_QDD, _UNDER_TAU = (
    Parts(VERBS[verb].expressions, reader=_split, verb=verb)
    for verb in ("hinge_forces", "hinge_forces_under")
)
