"""Random trees with every joint type, the same for the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Body, Frame, Joint, Robot, assemble, joints
from hinge.spatial import Inertia, Transform, quaternion, rotation


def random_tree(
    n: int,
    seed: int = 0,
    joints: Sequence[str] | None = None,
    *,
    branching: float = 0.4,
    rotors: bool = True,
) -> Robot:
    """Return a random robot of n bodies with a frame "tip" on the last.

    `joints` are kinds to draw from (default: all but `free` anywhere, and `free` for the first body
    of every second seed). `branching` is the chance that a body hangs elsewhere than on the one
    before it; 0 makes a chain. Inertias are physical; frames, axes and placements are general.
    """
    rng = np.random.default_rng(seed)
    if not isinstance(n, Integral) or n < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"n: expected an integer ≥ 1, got {n!r}")
    kinds = _kinds(joints)
    bodies: list[Body] = []
    made: list[Joint] = []
    for i in range(n):
        kind = kinds[int(rng.integers(len(kinds)))]
        if joints is None and i == 0 and seed % 2:
            kind = "free"
        parent = None
        if i:
            parent = f"body{int(rng.integers(i)) if rng.random() < branching else i - 1}"
        joint = Joint(
            f"joint{i}",
            _random_type(kind, rng),
            parent,
            f"body{i}",
            inner=_placement(rng),
            outer=_placement(rng) if rng.random() < 0.5 else Transform.identity(),
        )
        if rotors and kind != "free":  # a free joint has no motor between its bodies
            joint = replace(joint, rotor_inertia=0.1 * rng.random(joint.nv))
        bodies.append(Body(f"body{i}", random_inertia(rng)))
        made.append(joint)
    tip = Frame("tip", f"body{n - 1}", _placement(rng))
    return assemble(f"random_tree({n}, seed={seed})", bodies, made, frames=[tip])


def random_inertia(rng: np.random.Generator) -> Inertia:
    """Return the inertia of a random rigid body: a few random points with mass."""
    points, masses = rng.uniform(-0.3, 0.3, (5, 3)), rng.uniform(0.1, 1.0, 5)
    parts = [Inertia.from_com(m, c, 1e-3 * np.eye(3)) for m, c in zip(masses, points, strict=True)]
    return sum(parts[1:], parts[0])


def _kinds(given: Sequence[str] | None) -> list[str]:
    if given is None:
        return [k for k in joints.JOINT_TYPES if k != "free"]
    unknown = [k for k in given if k not in joints.JOINT_TYPES]
    if unknown or not given:
        known = ", ".join(joints.JOINT_TYPES)
        raise ArgumentError(f"joints: expected some of {known}, got {unknown or 'none'}")
    return list(given)


def _random_type(kind: str, rng: np.random.Generator) -> joints.JointType:
    a, b, c = (tuple(v) for v in rotation.from_quaternion(quaternion.random(rng)).T)
    if kind == "screw":
        return joints.Screw(a, float(rng.uniform(-0.3, 0.3)))
    if kind == "rolling_ball":
        return joints.RollingBall(float(rng.uniform(0.1, 0.5)), a)
    if kind == "universal":
        return joints.Universal(a, b)
    if kind == "spherical_angles":
        return joints.SphericalAngles((a, b, c))
    return joints.JOINT_TYPES[kind](*([a] if kind in _WITH_AXIS else []))


_WITH_AXIS = ("revolute", "continuous", "prismatic", "cylindrical", "planar", "wheeled")


def _placement(rng: np.random.Generator) -> Transform:
    return Transform.place(rotation.from_quaternion(quaternion.random(rng)), rng.uniform(-0.5, 0.5, 3))
