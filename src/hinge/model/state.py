"""Configurations of a whole robot: neutral, by names, random, integrate, difference, carry_state.

q (…, nq) is a point, v (…, nv) a tangent vector; leading dimensions broadcast.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Literal

import numpy as np

from hinge.errors import ArgumentError, UnknownNameError
from hinge.model.checks import TOLERANCE
from hinge.model.joints import Follower, released
from hinge.model.loop_motion import LoopMotion
from hinge.model.moving_parts import all_rates, put_together, units
from hinge.model.parts import Joint
from hinge.model.robot import Robot
from hinge.model.vectors import (
    as_configuration,
    as_tangent,
    as_vector,
    checked_robot,
    common_batch,
    stacked,
)
from hinge.spatial import Array, ArrayLike, Transform, matvec, quaternion


def neutral(robot: Robot) -> Array:
    """Return the configuration (nq,) at which every joint's two frames coincide.

    Followers are at the positions given by their leaders, the joints of an embedded loop where it closes.
    """
    return put_together(robot, [u.type.neutral() for u in units(robot)])


def configuration(robot: Robot, joints: Mapping[str, ArrayLike]) -> Array:
    """Return the configuration (…, nq) with some joints, by name, at given places and all others neutral.

    The value of a joint is (…, its nq), or a number if its nq is one; leading dimensions are batches. For
    example `configuration(robot, {"shoulder": 0.5, "ball": [1, 0, 0, 0]})`. The other joints of an embedded
    loop are where it closes, found from its neutral configuration.
    """
    found = _by_names(robot, joints, "nq")
    return put_together(
        robot,
        [
            _closed_with(u.type, found)
            if isinstance(u.type, LoopMotion)
            else found.get(u.name, u.type.neutral())
            for u in units(robot)
        ],
    )


def _closed_with(motion: LoopMotion, given: Mapping[str, Array]) -> Array:
    """Return a configuration of a loop that closes, with some joints where they are given."""
    g = motion.geometry
    home = g.apart(motion.neutral())
    start = stacked([given.get(j.name, x) for j, x in zip(g.joints, home, strict=True)])
    held = {
        k for j, s in zip(g.joints, g.v_at, strict=True) if j.name in given for k in range(s.start, s.stop)
    }
    free = np.array([k for k in range(g.rates) if k not in held], dtype=int)
    if not held:
        return start
    q, error = g.closed(start, free=free, steps=100)
    if not (error <= TOLERANCE).all():
        names = ", ".join(repr(j.name) for j in g.joints if j.name in given)
        raise ArgumentError(
            f"joints: expected places of {names} at which {motion.loop} closes, got an error of "
            f"{error.max():.3g} m or rad; give its independent joints only, or start nearer with integrate"
        )
    return q


def velocity(robot: Robot, joints: Mapping[str, ArrayLike]) -> Array:
    """Return the velocity (…, nv) with some joints, by name, at given rates and all others at rest.

    Values as for `configuration`, (…, nv of the joint). Forces and gains (…, nv) can be written so as well.
    """
    found = _by_names(robot, joints, "nv")
    return stacked([found.get(j.name, np.zeros(j.nv)) for j in robot.rated])


def _by_names(robot: Robot, joints: Mapping[str, ArrayLike], size: Literal["nq", "nv"]) -> dict[str, Array]:
    """Return the values of joints as arrays (…, nq) or (…, nv), or raise an error that names the joint."""
    checked_robot(robot)
    if not isinstance(joints, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"joints: expected {{joint name: value}}, got {type(joints).__name__}")
    found: dict[str, Array] = {}
    for name, value in joints.items():
        try:
            j = robot.joint(name)
        except UnknownNameError as error:
            raise UnknownNameError(f"joints: {error}") from None
        if j.follows:
            raise ArgumentError(
                f"joints: expected joints with coordinates of their own, got {name!r}, which follows another "
                "joint; give its leader"
            )
        if size == "nv" and j.depends:
            raise ArgumentError(
                f"joints: expected joints with rates of their own, got {name!r}, which depends on others of "
                "its loop; give the independent joints of the loop"
            )
        n, label = getattr(j, size), f"joints[{name!r}]"
        given = np.asarray(value)[..., None] if n == 1 and np.ndim(value) == 0 else value
        found[name] = as_vector(given, label, n, f"a {j.type.kind} joint has {size} = {n}")
        if size == "nq" and j.type.has_quaternion:
            _refuse_long_quaternions(found[name], label)
    common_batch({f"joints[{n!r}]": x for n, x in found.items()})
    return found


def _refuse_long_quaternions(q: Array, label: str) -> None:
    norms = np.linalg.norm(q[..., :4], axis=-1)
    wrong = np.flatnonzero(np.abs(norms - 1) > TOLERANCE)
    if len(wrong):
        raise ArgumentError(
            f"{label}: expected a quaternion w x y z of length one, got length {norms.flat[wrong[0]]:.6g}; "
            "normalise it"
        )


def random_configuration(
    robot: Robot, seed: int | np.random.Generator = 0, size: int | tuple[int, ...] = ()
) -> Array:
    """Return random configurations (*size, nq), uniform within the limits of each joint.

    A coordinate without limits is drawn from ±π rad or ±1 m, a rotation evenly from all. Embedded loops
    close, each on any of its branches.
    """
    parts = units(checked_robot(robot))
    lower, upper = robot.lower, robot.upper
    try:
        shape = tuple(index(n) for n in (size if isinstance(size, tuple) else (size,)))
    except TypeError:
        raise ArgumentError(f"size: expected an integer or a tuple of integers, got {size!r}") from None
    if any(n < 0 for n in shape):
        raise ArgumentError(f"size: expected no negative numbers, got {size!r}")
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"seed: expected an integer ≥ 0 or a Generator, got {seed!r} ({error})") from None
    found = [u.type.random(rng, shape, u.q_of(lower), u.q_of(upper)) for u in parts]
    return put_together(robot, found, shape)


def integrate(robot: Robot, q: ArrayLike, v: ArrayLike) -> Array:
    """Return the configuration reached from q by the constant velocity v in unit time.

    In an embedded loop the dependent joints follow; NaN where that leads through a dead centre.
    """
    q, v = as_configuration(robot, q), as_tangent(robot, v, "v")
    batch = common_batch({"q": q, "v": v})
    return put_together(robot, [u.type.integrate(u.q_of(q), u.qd_of(v)) for u in units(robot)], batch)


def difference(robot: Robot, q0: ArrayLike, q1: ArrayLike) -> Array:
    """Return the v (…, nv) with integrate(robot, q0, v) = q1, of the same branch of embedded loops."""
    a, b = as_configuration(robot, q0, "q0"), as_configuration(robot, q1, "q1")
    batch = common_batch({"q0": a, "q1": b})
    found = [u.type.difference(u.q_of(a), u.q_of(b)) for u in units(robot)]
    return put_together(robot, found, batch, rates=True)


def carry_state(old: Robot, new: Robot, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
    """Return q and qd of `new` for the same motion of the bodies as in `old`.

    For a robot made from another by `reroot`, `lock`, `reduce`, `detach`, `attach` or `merge`,
    or by `embed_couplings`, `release_couplings`, `embed_loops` or `release_loops`:
    joints are matched by name and reversed where parent and child are exchanged. A free joint to the
    world, or between bodies that it did not connect before, takes pose and velocity of its body from
    `old`; this converts between two robots side by side (`merge`) and one robot attached by a free
    joint (`attach`). Any other new joint is at its neutral configuration and at rest; a joint fixed by
    `lock` stays at its locked configuration, whatever q says.
    """
    q, qd = as_configuration(old, q), as_tangent(old, qd, "qd")
    batch = common_batch({"q": q, "qd": qd})
    known, bodies = {j.name: j for j in old.joints}, {b.name for b in old.bodies}
    rates, parts = all_rates(old, q, qd), list[tuple[Array, Array]]()
    for joint in new.independent:
        before = known.get(joint.name)
        if _hangs_anew(joint, before) and {joint.child, joint.parent or joint.child} <= bodies:
            part = _free_state(old, joint, q, qd)
        elif before is None or joint.type.kind != released(before.type).kind:
            part = (joint.type.neutral(), np.zeros(joint.nv))
        else:
            part = _own_state(
                before, q[..., before.q_slice], rates.get(before.name, qd[..., before.qd_slice])
            )
            if joint.child == before.parent:
                part = before.type.reverse_state(*part)
        parts.append(part)
    shown = [v for j, (_, v) in zip(new.independent, parts, strict=True) if not j.depends]
    return stacked([p for p, _ in parts], batch), stacked(shown, batch)


def _own_state(joint: Joint, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return a joint's own coordinates: those given, unless it is a follower."""
    return joint.type.own(q), joint.type.ratio * qd if isinstance(joint.type, Follower) else qd


def _hangs_anew(joint: Joint, before: Joint | None) -> bool:
    """Tell whether a free joint is new, or connects other bodies than before."""
    if joint.type.kind != "free":
        return False
    if joint.parent is not None:
        return before is None or {before.child, before.parent} != {joint.child, joint.parent}
    same = (
        before is not None
        and before.child == joint.child
        and before.parent is None
        and before.inner is joint.inner
        and before.outer is joint.outer
    )
    return not same


def _free_state(old: Robot, joint: Joint, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return q, qd of a free joint that hangs a body of `old` on the world, or on another body."""
    x, velocity = _motion(old, joint.child, q, qd)
    if joint.parent is not None:
        on, moving = _motion(old, joint.parent, q, qd)
        x = x @ on.inv()
        velocity = velocity - x.motion(moving)
    placed = joint.outer @ x @ joint.inner.inv()
    place = stacked([quaternion.from_matrix(placed.rotation), placed.position])
    return place, joint.outer.motion(velocity)


def _motion(robot: Robot, body: str, q: Array, qd: Array) -> tuple[Transform, Array]:
    """Return the transform from the world to a body, and the body's velocity."""
    x, velocity = Transform.identity(), np.zeros(6)
    rates = all_rates(robot, q, qd)
    for i in robot.tree.support(robot.body_index(body)):
        j = robot.joints[i]
        part = q[..., j.q_slice]
        step = j.transform(part)
        velocity = step.motion(velocity) + matvec(j.subspace(part), rates.get(j.name, qd[..., j.qd_slice]))
        x = step @ x
    return x, velocity
