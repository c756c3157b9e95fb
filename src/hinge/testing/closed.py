"""Random closed robots with a configuration that closes them, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hinge.model import Closure, Frame, Robot, SoftFinger, joints, random_configuration, with_closures
from hinge.reference import closure_jacobian, frame_placement
from hinge.robots import random_tree
from hinge.spatial import Array, Transform, quaternion, rotation
from hinge.testing.states import State, random_state

#: How often a pair of bodies is drawn before a closure is given up.
TRIES = 20
#: Smallest singular value that counts.
RANK = 1e-6


def random_closed(seed: int = 0, *, bodies: int = 12, redundant: bool = False) -> tuple[Robot, Array]:
    """Return a random tree with up to three closures, of all types in turn, and a q (nq,) that closes them.

    Their rows are independent and leave two or more degrees of freedom. With `redundant` two bodies are held
    together in one more point, which adds three dependent rows.
    """
    rng = np.random.default_rng([seed, 77])
    robot = random_tree(bodies, seed)
    q = random_configuration(robot, rng)
    for k in range(3):
        joint, at = _drawn(rng, seed + 4 * k)
        if redundant and k == 0:
            joint, at = joints.JOINT_TYPES["fixed"](), Transform.identity()
        for _ in range(TRIES):
            inner, outer = (int(i) for i in rng.choice(len(robot.bodies) + 1, 2, replace=False) - 1)
            made = _closed(f"loop{k}", robot, q, joint, at, (inner, max(outer, 0)), rng)
            if made is not None and _is_independent(made, q):
                robot = made
                break
    if redundant:
        ball = joints.JOINT_TYPES["spherical"]()
        held = robot.closures[0]
        ends = (
            -1 if held.inner is None else robot.body_index(held.inner),
            robot.body_index(robot.frame(held.outer).body),
        )
        made = _closed("again", robot, q, ball, Transform.identity(), ends, rng)
        assert made is not None
        robot = made
    return robot, q


def random_closed_robots(
    count: int, *, bodies: int = 12, first_seed: int = 0
) -> Iterator[tuple[Robot, Array]]:
    """Yield random closed robots with a q that closes them; every third has redundant rows."""
    for seed in range(first_seed, first_seed + count):
        yield random_closed(seed, bodies=bodies, redundant=seed % 3 == 2)


def closed_state(robot: Robot, q: Array, seed: int = 0) -> State:
    """Return a random state at q (nq,) whose velocity the closures allow; qdd and tau are any."""
    s = random_state(robot, seed)
    kept = np.linalg.pinv(closure_jacobian(robot, q), rcond=RANK)
    return replace(s, q=np.asarray(q), qd=s.qd - kept @ (closure_jacobian(robot, q) @ s.qd))


def _drawn(rng: np.random.Generator, k: int) -> tuple[joints.JointType | SoftFinger, Transform]:
    """Return a joint of the k-th type that can close, and a random transform across it."""
    types = [t for t in joints.JOINT_TYPES.values() if t().reactions is not None]
    if k % (len(types) + 1) == len(types):
        return SoftFinger(_axis(rng)), joints.JOINT_TYPES["spherical"]().placement(quaternion.random(rng))
    joint = types[k % (len(types) + 1)].random_type(rng)
    return joint, joint.placement(joint.random(rng, (), *joint.limits()))


def _closed(
    name: str,
    robot: Robot,
    q: Array,
    joint: joints.JointType | SoftFinger,
    at: Transform,
    ends: tuple[int, int],
    rng: np.random.Generator,
) -> Robot | None:
    """Return the robot closed between two bodies, with `at` across the closure at q; None if they are one."""
    inner, outer = ends
    if outer == inner:
        return None
    tip = Frame(f"{name}_outer", robot.bodies[outer].name, _placement(rng))
    framed = replace(robot, frames=(*robot.frames, tip))
    base = None if inner < 0 else robot.bodies[inner].name
    on = Transform.identity() if base is None else frame_placement(framed, q, base)
    place = at.inv() @ frame_placement(framed, q, tip.name) @ on.inv()
    return with_closures(framed, [*robot.closures, Closure(name, base, tip.name, joint, place)])


def _is_independent(robot: Robot, q: Array) -> bool:
    """Tell whether the rows are independent and two degrees of freedom are left."""
    j = closure_jacobian(robot, q)
    return len(j) <= robot.nv - 2 and float(np.linalg.svd(j, compute_uv=False).min()) > 1e-2


def _axis(rng: np.random.Generator) -> tuple[float, float, float]:
    x, y, z = rotation.from_quaternion(quaternion.random(rng))[0].tolist()
    return x, y, z


def _placement(rng: np.random.Generator) -> Transform:
    return Transform.place(rotation.from_quaternion(quaternion.random(rng)), rng.uniform(-0.5, 0.5, 3))
