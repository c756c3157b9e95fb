"""Robots of every kind, and every verb beside the book's answer to the same question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hinge import dynamics, reference, robots
from hinge.io import read_urdf
from hinge.model import Builder, Robot, at_joints, joints, merge, reroot
from hinge.spatial import Array, Transform, cross, matvec, rotation, transpose
from hinge.testing import State, random_state
from tests.oracles.data import example_urdfs
from tests.trees import richest_tree

#: The largest relative difference from the book.
BOUND = 1e-10


# Robots.


def partial_rotors() -> Robot:
    """Return a tree with rotors on some of the directions of its joints."""
    rng, b = np.random.default_rng(5), Builder("partial_rotors")
    kinds = {
        "trunk": (None, joints.Translational(), (0.1, 0, 0.3)),
        "waist": ("trunk", joints.Cylindrical((0, 0.6, 0.8)), (0.2, 0)),
        "ball": ("waist", joints.Spherical(), (0, 0.05, 0.4)),
        "arm": ("waist", joints.Universal(), (0, 0.7)),
        "hand": ("arm", joints.Revolute((1, 0, 0)), (0.3,)),
        "finger": ("hand", joints.Prismatic((0, 1, 0)), (0.0,)),
    }
    for name, (parent, kind, rotors) in kinds.items():
        b.body(
            name, parent=parent, joint=kind, inertia=robots.random_inertia(rng), rotor_inertia=rotors,
            position=rng.uniform(-1, 1, 3), rotation=rotation.from_rpy(rng.uniform(-2, 2, 3)),
        )  # fmt: skip
    b.frame("tip", "finger", position=(0.1, 0.2, 0.3), rotation=rotation.from_rpy((0.3, -0.4, 0.5)))
    return b.build()


def framed() -> Robot:
    """Return an arm whose bodies carry turned and shifted frames, one on a body fixed to another."""
    rng, b = np.random.default_rng(6), Builder("framed", gravity=(1.0, -2.0, -9.0))
    parent = None
    for name, kind in {
        "base": None,
        "upper": joints.Revolute((0, 0, 1)),
        "plate": None,
        "lower": joints.Revolute((0.6, 0, 0.8)),
        "hand": joints.Planar((0, 1, 0)),
        "tool": None,
    }.items():
        place = {"position": rng.uniform(-0.5, 0.5, 3), "rotation": rotation.from_rpy(rng.uniform(-2, 2, 3))}
        parent = b.body(name, joint=kind, parent=parent, inertia=robots.random_inertia(rng), **place)
        b.frame(
            f"{name}_mark",
            name,
            position=rng.uniform(-1, 1, 3),
            rotation=rotation.from_rpy(rng.uniform(-3, 3, 3)),
        )
    b.frame("tip", "tool", position=(0, 0, 0.2))
    return b.build()


def _real(folder: str, name: str, *, floating: bool) -> Callable[[], Robot]:
    path = next(p for p in example_urdfs() if p.name == name and folder in str(p))
    return lambda: read_urdf(path, floating=floating, strict=None)


BUILT_IN: dict[str, Callable[[], Robot]] = {
    "puma560": robots.puma560,
    "panda": robots.panda,
    "quadruped": robots.quadruped,
    "spacecraft": robots.spacecraft,
    "double_pendulum": robots.double_pendulum,
    "chain": lambda: robots.chain(6),
}
RANDOM: dict[str, Callable[[], Robot]] = {
    **{
        f"tree{seed}": lambda seed=seed, n=n: robots.random_tree(n, seed)
        for seed, n in enumerate((1, 2, 5, 9, 9))
    },
    **{f"bare_tree{seed}": lambda seed=seed: robots.random_tree(7, seed, rotors=False) for seed in (11, 12)},
    "every_joint": lambda: richest_tree(16),
    **{
        kind: lambda kind=kind: robots.random_tree(3, 3, [kind], branching=0.0)
        for kind in (
            "planar",
            "spherical",
            "spherical_angles",
            "universal",
            "screw",
            "cylindrical",
            "free",
            "rolling_ball",
            "wheeled",
        )
    },
}
SPECIAL: dict[str, Callable[[], Robot]] = {
    "partial_rotors": partial_rotors,
    "framed": framed,
    "two_roots": lambda: merge(robots.random_tree(4, 7), robots.random_tree(4, 8), prefix="other_"),
    "rerooted": lambda: reroot(robots.quadruped(), "HR_shank"),
    "at_joints": lambda: at_joints(robots.random_tree(6, 9)),
    "nothing_moves": lambda: robots.random_tree(3, 2, ["fixed"]),
}
REAL: dict[str, Callable[[], Robot]] = (
    {
        "ur5": _real("ur_description", "ur5_robot.urdf", floating=False),
        "solo12": _real("solo", "solo12.urdf", floating=True),
        "anymal": _real("anymal_b", "anymal.urdf", floating=True),
        "talos_arm": _real("talos", "talos_left_arm.urdf", floating=False),
        "talos": _real("talos", "talos_reduced.urdf", floating=True),
    }
    if example_urdfs()
    else {}
)
ZOO: dict[str, Callable[[], Robot]] = {**BUILT_IN, **RANDOM, **SPECIAL, **REAL}
#: Robots on which verbs are called in every way.
THOROUGH = ("panda", "quadruped", "chain", "tree3", "partial_rotors", "framed", "two_roots", "nothing_moves")


@cache
def robot_of(name: str) -> Robot:
    """Return a robot of the zoo, the same object each time, so that what was compiled for it is kept."""
    return ZOO[name]()


def tip_of(robot: Robot) -> str:
    """Return a frame far out on the robot: its last one, or its deepest body."""
    return robot.frames[-1].name if robot.frames else robot.bodies[int(np.argmax(robot.tree.depth))].name


def some_frames(robot: Robot) -> list[str]:
    """Return a few frames out of their order, one of them twice."""
    return [tip_of(robot), robot.bodies[0].name, robot.bodies[len(robot.bodies) // 2].name, tip_of(robot)]


# Verbs.


@dataclass(frozen=True)
class Case:
    """One way to call a verb, with the book's answer. `takes` names the vectors of a state."""

    verb: str
    takes: tuple[str, ...]
    book: Callable[..., Any]
    options: Callable[[Robot], Mapping[str, Any]] = lambda robot: {}
    label: str = ""
    measure: str = "entries"

    @property
    def name(self) -> str:
        """What the test is called."""
        return f"{self.verb}-{self.label}" if self.label else self.verb

    def arguments(self, s: State) -> list[Array]:
        """Return the vectors of a state that the verb takes."""
        return [getattr(s, name) for name in self.takes]

    def ours(self, robot: Robot, s: State, **more: Any) -> Array:
        """Return the verb's answer."""
        call = getattr(dynamics, self.verb)
        return as_array(call(robot, *self.arguments(s), **{**self.options(robot), **more}))

    def theirs(self, robot: Robot, s: State, **more: Any) -> Array:
        """Return the book's answer."""
        return as_array(self.book(robot, *self.arguments(s), **{**self.options(robot), **more}))


def as_array(x: Any) -> Array:
    """Return an answer as an array: a pose as [rotation | position], a list of them stacked."""
    if isinstance(x, Transform):
        return np.concatenate([x.rotation, x.position[..., None]], axis=-1)
    if isinstance(x, list):
        return np.stack([as_array(part) for part in x], axis=-3)
    return x


def pushes(robot: Robot) -> dict[str, Any]:
    """Return forces at two frames and another gravity."""
    rng = np.random.default_rng(3)
    names = dict.fromkeys([tip_of(robot), robot.bodies[0].name])
    return {"external": {n: rng.standard_normal(6) for n in names}, "gravity": np.array([1.0, 2.0, -3.0])}


def _bias(robot: Robot, q: Array, qd: Array, **more: Any) -> Array:
    return reference.inverse_dynamics(robot, q, qd, np.zeros(robot.nv), **more)


def _weight(robot: Robot, q: Array, **more: Any) -> Array:
    held = reference.inverse_dynamics(robot, q, np.zeros(robot.nv), np.zeros(robot.nv), **more)
    return held - reference.elastic_force(robot, q)


def _coriolis(robot: Robot, q: Array, qd: Array) -> Array:
    return _bias(robot, q, qd, gravity=np.zeros(3))


def _pose(robot: Robot, q: Array, frame: Any = None) -> Any:
    if isinstance(frame, str):
        x, batch = reference.frame_placement(robot, q, frame), q.shape[:-1]
        return Transform(np.broadcast_to(x.E, (*batch, 3, 3)), np.broadcast_to(x.r, (*batch, 3)))
    names = [b.name for b in robot.bodies] if frame is None else frame
    return [_pose(robot, q, n) for n in names]


def _seen(robot: Robot, q: Array, rows: list[Array], frame: Any, expressed: str) -> Array:
    """Return motions of bodies as motions of frames, in the axes asked for."""
    names = [b.name for b in robot.bodies] if frame is None else [frame] if isinstance(frame, str) else frame
    found: list[Array] = []
    for name in names:
        f = robot.frame(name)
        own = f.placement.motion(rows[robot.body_index(f.body)])
        pose = reference.frame_placement(robot, q, name)
        view = {
            "body": Transform.identity(),
            "world": pose.inv(),
            "world-aligned": Transform(pose.rotation, np.zeros(3)),
        }
        found.append(view[expressed].motion(own))
    return found[0] if isinstance(frame, str) else np.stack(found, axis=-2)


def _velocities(robot: Robot, q: Array, qd: Array, frame: Any = None, expressed: str = "body") -> Array:
    return _seen(robot, q, reference.velocities(robot, q, qd), frame, expressed)


def _accelerations(
    robot: Robot, q: Array, qd: Array, qdd: Array, frame: Any = None, expressed: str = "body"
) -> Array:
    return _seen(robot, q, reference.accelerations(robot, q, qd, qdd), frame, expressed)


def classical(
    robot: Robot, q: Array, qd: Array, qdd: Array, frame: Any = None, expressed: str = "body"
) -> Array:
    """Return the book's accelerations as those of points: [α; a + ω × v]."""
    v = _velocities(robot, q, qd, frame, expressed)
    a = _accelerations(robot, q, qd, qdd, frame, expressed).copy()
    a[..., 3:] += cross(v[..., :3], v[..., 3:])
    return a


def _mass_inverse(robot: Robot, q: Array) -> Array:
    return np.linalg.inv(reference.mass_matrix(robot, q))


def _at(**options: Any) -> Callable[[Robot], Mapping[str, Any]]:
    return lambda robot: {name: v(robot) if callable(v) else v for name, v in options.items()}


def _cases() -> Iterator[Case]:
    for label, options in (("pushed", pushes), ("", _at())):
        yield Case("inverse_dynamics", ("q", "qd", "qdd"), reference.inverse_dynamics, options, label)
        yield Case(
            "forward_dynamics", ("q", "qd", "tau"), reference.forward_dynamics, options, label, "residual"
        )
        yield Case("bias_force", ("q", "qd"), _bias, options, label)
    yield Case("gravity_force", ("q",), _weight)
    other = _at(gravity=np.array([3.0, -1.0, 2.0]))
    yield Case("gravity_force", ("q",), _weight, other, "other_gravity")
    yield Case("coriolis_force", ("q", "qd"), _coriolis)
    yield Case("mass_matrix", ("q",), reference.mass_matrix, measure="mass")
    yield Case("mass_matrix_inverse", ("q",), _mass_inverse, measure="mass_inverse")
    for label, frame in (("all", None), ("one", tip_of), ("some", some_frames)):
        yield Case("forward_kinematics", ("q",), _pose, _at(frame=frame), label, "matrix")
    for axes in ("world", "world-aligned", "body"):
        yield Case("jacobian", ("q",), reference.jacobian, _at(frame=tip_of, expressed=axes), axes, "matrix")
        yield from _motions(axes, "some", some_frames)
    for label, frame in (("all", None), ("one", tip_of)):
        yield from _motions("body", label, frame)
    yield Case("kinetic_energy", ("q", "qd"), reference.kinetic_energy)
    yield Case("potential_energy", ("q",), reference.potential_energy)
    yield Case("potential_energy", ("q",), reference.potential_energy, other, "other_gravity")
    yield Case("momentum", ("q", "qd"), reference.momentum)
    yield Case("center_of_mass", ("q",), reference.center_of_mass)


def _motions(axes: str, label: str, frame: Any) -> Iterator[Case]:
    """Yield the verbs that are motions of frames."""
    several, one = _at(frame=frame, expressed=axes), _at(frame=tip_of, expressed=axes)
    name = f"{label}_{axes}"
    yield Case("velocities", ("q", "qd"), _velocities, several, name)
    yield Case("accelerations", ("q", "qd", "qdd"), _accelerations, several, name)
    if label == "some":
        yield Case("jacobian_bias", ("q", "qd"), reference.jacobian_bias, one, axes)
    if axes != "world":
        yield Case("classical_accelerations", ("q", "qd", "qdd"), classical, several, name)
        if label == "some":
            yield Case("classical_jacobian_bias", ("q", "qd"), reference.classical_jacobian_bias, one, axes)


#: Verb → the ways to call it; the first is the one that asks most of it.
CASES: dict[str, list[Case]] = {}
for _case in _cases():
    CASES.setdefault(_case.verb, []).append(_case)


def cases_of(robot: str, verb: str) -> list[Case]:
    """Return every way to call a verb for a few robots, the first for the others."""
    return CASES[verb] if robot in THOROUGH else CASES[verb][:1]


# Differences.


def entries(ours: Array, theirs: Array) -> float:
    """Return the largest difference, each entry relative to its size over the batch.

    An entry that stays below a thousandth of the largest, or below 1e-4, counts as that.
    """
    size = np.abs(theirs).max(axis=0, initial=0.0)
    floor = max(1e-3 * float(np.max(size, initial=0.0)), 1e-4)
    return float(np.max(np.abs(ours - theirs) / np.maximum(size, floor), initial=0.0))


def matrix(ours: Array, theirs: Array) -> float:
    """Return the largest difference relative to the largest entry."""
    off, size = np.abs(ours - theirs), float(np.max(np.abs(theirs), initial=0.0))
    return float(np.max(off, initial=0.0)) / (size or 1.0)


def mass(ours: Array, theirs: Array) -> float:
    """Return the largest difference, entry ij relative to √(M_ii M_jj)."""
    size = np.sqrt(np.abs(np.diagonal(theirs, axis1=-2, axis2=-1)))
    return float(np.max(np.abs(ours - theirs) / (size[..., :, None] * size[..., None, :]), initial=0.0))


def difference(case: Case, robot: Robot, s: State) -> float:
    """Return how far a verb is from the book over a batch of states.

    Accelerations of forward dynamics are judged by the forces that they stand for, M q̈, and an inverse
    mass matrix by M M⁻¹ between unit diagonals: what the condition of M takes away is not the verb's.
    """
    ours, theirs = case.ours(robot, s), case.theirs(robot, s)
    assert ours.shape == theirs.shape, (case.name, ours.shape, theirs.shape)
    assert ours.dtype == np.float64 and np.isfinite(ours).all()
    if case.measure == "residual":
        m = reference.mass_matrix(robot, s.q)
        driving = matvec(m, theirs)
        return entries(driving + matvec(m, ours - theirs), driving)
    if case.measure == "mass_inverse":
        m = reference.mass_matrix(robot, s.q)
        scale = np.sqrt(np.diagonal(m, axis1=-2, axis2=-1))
        even = m / (scale[..., :, None] * scale[..., None, :])
        return matrix(even @ (ours * scale[..., :, None] * scale[..., None, :]), np.eye(robot.nv))
    return {"entries": entries, "matrix": matrix, "mass": mass}[case.measure](ours, theirs)


@cache
def state_of(name: str, size: int = 4, seed: int = 1) -> State:
    """Return random states of a robot of the zoo."""
    return random_state(robot_of(name), seed, size)


def symmetric(m: Array) -> float:
    """Return how far a matrix is from symmetric, relative to its largest entry."""
    return matrix(m, transpose(m))
