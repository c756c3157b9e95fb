"""Random trees with every joint type, the same for the same seed.

Each joint has its own stream of random numbers, and each kind its own draw at each joint: the largest
wins. A new joint type, or another list of kinds, changes only the joints that it wins or loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from numbers import Integral

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import (
    Attachment,
    Body,
    Flexible,
    Frame,
    Joint,
    Robot,
    flexible_parts,
    joints,
    make_robot,
)
from hinge.spatial import Inertia, Transform, quaternion, rotation


def random_tree(
    n: int,
    seed: int = 0,
    joints: Sequence[str] | None = None,
    *,
    branching: float = 0.4,
    rotors: bool = True,
    flexible: float = 0.0,
) -> Robot:
    """Return a random robot of n bodies with a frame "tip" on the last.

    `joints` are kinds to draw from (default: all but `free` anywhere, and `free` for the first body
    of every second seed). `branching` is the chance that a body hangs elsewhere than on the one
    before it; 0 makes a chain. `flexible` is the chance that a body is flexible; most of what it carries
    hangs on its attachment then. Inertias are physical; frames, axes and placements are general. The tree
    with one body more begins with the same bodies.
    """
    if not isinstance(n, Integral) or n < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"n: expected an integer ≥ 1, got {n!r}")
    kinds = _kinds(joints)
    bodies: list[Body] = []
    made: list[Joint] = []
    for i in range(n):
        floating = joints is None and i == 0 and seed % 2
        joint, body = _grown(i, seed, [_FREE] if floating else kinds, branching, rotors)
        bodies.append(body)
        made.append(joint)
    bodies, made = _flexed(bodies, made, seed, flexible) if flexible else (bodies, made)
    tip = Frame("tip", f"body{n - 1}", _placement(np.random.default_rng([seed, n])))
    return make_robot(f"random_tree({n}, seed={seed})", bodies, made, frames=[tip])


#: The chance that what a flexible body carries hangs on its attachment.
HANGING = 0.7
#: The kind of a floating base.
_FREE = joints.Free.kind


def _grown(i: int, seed: int, kinds: Sequence[str], branching: float, rotors: bool) -> tuple[Joint, Body]:
    """Return joint i and the body that it carries; what depends on the kind is drawn last."""
    rng = np.random.default_rng([seed, i])
    parent = None
    if i:
        other, elsewhere = int(rng.integers(i)), rng.random() < branching
        parent = f"body{other if elsewhere else i - 1}"
    inner, outer, moved = _placement(rng), _placement(rng), rng.random() < 0.5
    body = Body(f"body{i}", random_inertia(rng))
    drawn = joints.JOINT_TYPES[_drawn(i, seed, kinds)].random_type(rng)
    joint = Joint(
        f"joint{i}", drawn, parent, body.name, inner=inner, outer=outer if moved else Transform.identity()
    )
    if rotors and joint.nv < 6:  # where all motions are free there is no motor between the bodies
        joint = replace(joint, rotor_inertia=0.1 * rng.random(joint.nv))
    return joint, body


def _flexed(
    bodies: Sequence[Body], made: Sequence[Joint], seed: int, share: float
) -> tuple[list[Body], list[Joint]]:
    """Return bodies and joints with some of the bodies flexible."""
    found: tuple[list[Body], list[Joint]] = [], []
    bending: set[str] = set()
    for i, (body, joint) in enumerate(zip(bodies, made, strict=True)):
        rng = np.random.default_rng([seed, i, 7])
        hangs = joint.parent in bending and rng.random() < HANGING
        own = replace(joint, parent=f"{joint.parent}_end") if hangs else joint
        found[0].append(body)
        found[1].append(own)
        if rng.random() < share:
            bending.add(body.name)
            for whole, more in zip(found, flexible_parts(own, random_flexible(rng)), strict=True):
                whole.extend(more)  # pyright: ignore[reportArgumentType]
    return found


def random_flexible(rng: np.random.Generator) -> Flexible:
    """Return a random flexible body with one to three modes, damping and an attachment "end"."""
    n, k = int(rng.integers(1, 4)), 7
    second = 0.2 * rng.normal(size=(k + 1, 3, n, n)) if rng.random() < 0.5 else None
    if second is not None:
        second = second + np.swapaxes(second, -1, -2)
    a, d = rng.normal(size=(2, n, n))
    shapes = 0.3 * rng.normal(size=(k, 3, n))
    end = Attachment(
        "end", _placement(rng), 0.5 * rng.normal(size=(6, n)), None if second is None else second[k]
    )
    return Flexible(
        rng.uniform(0.1, 0.4, k),
        rng.uniform(-0.3, 0.3, (k, 3)),
        shapes,
        30.0 * a @ a.T,
        0.3 * d @ d.T,
        None if second is None else second[:k],
        (end,),
        np.full(n, 0.3),
    )


def _drawn(i: int, seed: int, kinds: Sequence[str]) -> str:
    """Return the kind of joint i: that with the largest digest; one that comes twice has two."""
    entries = [(kind, kinds[:k].count(kind)) for k, kind in enumerate(kinds)]
    return max(entries, key=lambda x: sha256(f"{seed} {i} {x[0]} {x[1]}".encode()).digest())[0]


def random_inertia(rng: np.random.Generator) -> Inertia:
    """Return the inertia of a random rigid body: a few random points with mass."""
    points, masses = rng.uniform(-0.3, 0.3, (5, 3)), rng.uniform(0.1, 1.0, 5)
    parts = [Inertia.from_com(m, c, 1e-3 * np.eye(3)) for m, c in zip(masses, points, strict=True)]
    return sum(parts[1:], parts[0])


def _kinds(given: Sequence[str] | None) -> list[str]:
    if given is None:
        return [k for k in joints.JOINT_TYPES if k != _FREE]
    unknown = [k for k in given if k not in joints.JOINT_TYPES]
    if unknown or not given:
        known = ", ".join(joints.JOINT_TYPES)
        raise ArgumentError(f"joints: expected some of {known}, got {unknown or 'none'}")
    return list(given)


def _placement(rng: np.random.Generator) -> Transform:
    return Transform.place(rotation.from_quaternion(quaternion.random(rng)), rng.uniform(-0.5, 0.5, 3))
