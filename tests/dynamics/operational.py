"""The verbs of the operational space beside dense matrices of the book, and beside Pinocchio."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hinge import dynamics, reference, robots
from hinge.dynamics import CATALOGUE, compile
from hinge.model import Builder, Robot, joints
from hinge.spatial import Array, matvec, rotation, transpose
from hinge.testing import State, random_state
from tests.dynamics.zoo import matrix, tip_of

#: The largest difference from dense matrices, relative to the largest entry.
BOUND = 1e-9
#: Above this condition of J 𝓜⁻¹ Jᵀ (its rows made alike) there is no operational-space inertia to speak of.
REGULAR = 1e5
AXES = ("body", "world", "world-aligned")


@dataclass(frozen=True)
class Dense:
    """What dense matrices know of frames at a batch of states."""

    robot: Robot
    s: State
    frames: Sequence[str]
    expressed: str

    @property
    def J(self) -> Array:
        """The Jacobians of all frames, one above the other."""
        rows = [reference.jacobian(self.robot, self.s.q, f, expressed=self.expressed) for f in self.frames]
        return np.concatenate(rows, axis=-2)

    @property
    def Mi(self) -> Array:
        """The inverse of the mass matrix."""
        return np.linalg.inv(reference.mass_matrix(self.robot, self.s.q))

    @property
    def compliance(self) -> Array:
        """J 𝓜⁻¹ Jᵀ."""
        return self.J @ self.Mi @ transpose(self.J)

    @property
    def condition(self) -> Array:
        """The condition of the compliance, its diagonal made one."""
        x = self.compliance
        size = np.sqrt(np.maximum(np.diagonal(x, axis1=-2, axis2=-1), 1e-300))
        return np.linalg.cond(x / (size[..., :, None] * size[..., None, :]))

    def seen(self, x: Array) -> Array:
        """Return a vector of all frames (…, n, 6)."""
        return x.reshape(*x.shape[:-1], len(self.frames), 6)

    def bias(self, *, classical: bool) -> Array:
        """Return the accelerations of the frames where qdd is zero."""
        verb = reference.classical_jacobian_bias if classical else reference.jacobian_bias
        found = [verb(self.robot, self.s.q, self.s.qd, f, expressed=self.expressed) for f in self.frames]
        return np.concatenate(found, axis=-1)

    def forces(self, qd: Array, gravity: Any) -> Array:
        """Return 𝓜⁻¹ C for the bias forces C of a motion."""
        c = reference.inverse_dynamics(self.robot, self.s.q, qd, np.zeros(self.robot.nv), gravity=gravity)
        return matvec(self.Mi, c)

    def mu(self, *, classical: bool) -> Array:
        """Return Λ (J 𝓜⁻¹ C − bias)."""
        off = matvec(self.J, self.forces(self.s.qd, np.zeros(3))) - self.bias(classical=classical)
        return self.seen(matvec(np.linalg.inv(self.compliance), off))

    def weight(self) -> Array:
        """Return Λ J 𝓜⁻¹ G."""
        weight = self.forces(np.zeros(self.robot.nv), self.robot.gravity)
        weight = weight - matvec(self.Mi, reference.elastic_force(self.robot, self.s.q))
        pull = matvec(self.J, weight)
        return self.seen(matvec(np.linalg.inv(self.compliance), pull))

    def given(self) -> Array:
        """Return spatial vectors at the frames (…, n, 6)."""
        rng = np.random.default_rng(7)
        return rng.standard_normal((*self.s.q.shape[:-1], len(self.frames), 6))

    def stacked(self) -> Array:
        """Return the same vectors one above the other."""
        x = self.given()
        return x.reshape(*x.shape[:-2], 6 * len(self.frames))


@dataclass(frozen=True)
class Verb:
    """A verb: the arrays it takes beside q, whether it needs J of full rank, and the dense answer."""

    takes: Sequence[str]
    full_rank: bool
    book: Callable[[Dense], Array]
    vector: bool = False
    axes: Sequence[str] = AXES


def _least(d: Dense) -> Array:
    j = d.J
    return matvec(np.linalg.pinv(j), d.stacked())


#: Verb → its dense answer. `given` are vectors at the frames.
OPERATIONAL: dict[str, Verb] = {
    "operational_inverse_inertia": Verb((), False, lambda d: d.compliance),
    "operational_inertia": Verb((), True, lambda d: np.linalg.inv(d.compliance)),
    "consistent_inverse": Verb((), True, lambda d: d.Mi @ transpose(d.J) @ np.linalg.inv(d.compliance)),
    "operational_bias": Verb(("qd",), True, lambda d: d.mu(classical=False), vector=True),
    "classical_operational_bias": Verb(
        ("qd",), True, lambda d: d.mu(classical=True), vector=True, axes=("body", "world-aligned")
    ),
    "operational_gravity": Verb((), True, lambda d: d.weight(), vector=True),
    "force_correction": Verb(("given",), False, lambda d: matvec(d.Mi @ transpose(d.J), d.stacked())),
    "jacobian_row_products": Verb((), False, lambda d: d.J @ transpose(d.J)),
    "jacobian_column_products": Verb((), False, lambda d: transpose(d.J) @ d.J),
    "jacobian_solve": Verb(("given",), True, _least),
}


def states(robot: Robot, frames: Sequence[str], size: int = 4, seed: int = 2) -> State:
    """Return states at which J is as regular as can be had."""
    found = random_state(robot, seed, 12 * size)
    order = np.argsort(Dense(robot, found, frames, "body").condition)[:size]
    return State(*(x[order] for x in (found.q, found.qd, found.qdd, found.tau)))


def is_regular(robot: Robot, frames: Sequence[str], s: State) -> bool:
    """Tell whether the frames have an operational-space inertia at these states."""
    d = Dense(robot, s, frames, "body")
    return 6 * len(frames) <= robot.nv and bool((d.condition < REGULAR).all())


def difference(name: str, robot: Robot, frames: str | Sequence[str], s: State, expressed: str) -> float:
    """Return how far a verb is from dense matrices, relative to the largest entry."""
    verb, names = OPERATIONAL[name], [frames] if isinstance(frames, str) else frames
    d = Dense(robot, s, names, expressed)
    one = isinstance(frames, str)
    given = d.given()[..., 0, :] if one else d.given()
    arrays = [s.qd if x == "qd" else given for x in verb.takes]
    ours = getattr(dynamics, name)(robot, s.q, *arrays, frames, expressed=expressed)
    theirs = verb.book(d)
    theirs = theirs[..., 0, :] if one and verb.vector else theirs
    assert ours.shape == theirs.shape, (name, ours.shape, theirs.shape)
    assert np.isfinite(ours).all(), name
    return matrix(ours, theirs)


def expression_difference(
    name: str, robot: Robot, frames: Sequence[str], expressed: str, target: str
) -> float:
    """Return the same for the verb's expression, compiled for a target."""
    s = states(robot, frames)
    d = Dense(robot, s, frames, expressed)
    f = compile(CATALOGUE[name], robot, nodes=frames, expressed=expressed, target=target)
    given = {n: s.qd if n == "qd" else d.given() for n in f.inputs if n != "g"}
    ours, theirs = f(s.q, **given), OPERATIONAL[name].book(d)
    assert ours.shape == theirs.shape and np.isfinite(ours).all(), (name, ours.shape, theirs.shape)
    return matrix(ours, theirs)


#: Small trees whose two tips can be moved apart from each other, with every joint type between them.
SMALL = {
    "turning": [("spherical", None), ("cylindrical", 0), ("universal", 1), ("spherical", 0), ("planar", 3)],
    "sliding": [("translational", None), ("spherical_angles", 0), ("planar", 1), ("free", 0), ("screw", 3)],
    "floating": [("free", None), ("revolute", 0), ("fixed", 1), ("spherical", 0), ("continuous", 3),
                 ("prismatic", 4), ("prismatic", 2), ("spherical", 6)],
}  # fmt: skip


@cache
def small(name: str) -> Robot:
    """Return a small tree, the same object each time."""
    rng, b = np.random.default_rng(4), Builder(name)
    for k, (kind, parent) in enumerate(SMALL[name]):
        b.body(
            f"b{k}", parent=None if parent is None else f"b{parent}", joint=joints.JOINT_TYPES[kind](),
            inertia=robots.random_inertia(rng), position=rng.uniform(-0.5, 0.5, 3),
            rotation=rotation.from_rpy(rng.uniform(-2, 2, 3)),
        )  # fmt: skip
    return b.build()


def frame_sets(robot: Robot) -> list[str | list[str]]:
    """Return one frame; two on different branches, if there are; several, two of them on one body."""
    leaves = [i for i in range(len(robot.bodies)) if not robot.tree.children[i]]
    tips = [robot.bodies[i].name for i in leaves[-2:]]
    tip = tip_of(robot)
    return [tip, tips, [tip, robot.bodies[0].name, tip]]
