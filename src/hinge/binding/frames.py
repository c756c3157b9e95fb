"""The frames that the compiler chooses for bodies, so that steps between them are cheap.

A hinge that turns or slides along one axis gets its body's frame at the joint, z along the axis, turned
about z so that the constant placement on the parent is a shift and two planar turns. Where a turning body
carries one such hinge only, its frame is turned about z once more, by a constant that its own angle takes
up, so that the next placement is a shift and one turn (as in Denavit–Hartenberg coordinates). A fixed body
takes its parent's frame: its step is the identity. Other bodies get their joint's outer frame.

The user's names keep their meaning: `chosen` takes coordinates of the body's own frame to those here. Where
an expression shows whole vectors of the Body space to the user, `own_frames` is used instead, dearer steps
between the frames that the user knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from hinge.binding.poses import Pose, Vector, about_z, euler, pose_of, turned
from hinge.binding.steps import Link, Shift, turns
from hinge.errors import ModelError
from hinge.model import Body, Flexible, Joint, Robot
from hinge.model.joints import JointType
from hinge.spatial import Inertia, Transform, cross

STRAIGHT = 1.0, 0.0


@dataclass(frozen=True, eq=False)
class Place:
    """A body in its working frame: the joint type, the constant links around it, the inertia.

    `turned` is cos and sin of a constant offset of the joint's angle; `last` is the transform from the
    joint's frame to the body's where they differ, and `after` the same as links. Where joint placements are
    inputs of a call, `around` are the transforms after and before a placement on the way to the joint.
    `mount` takes coordinates of the joint's inner frame to the frame where its motion begins. A flexible
    body's points are in the working frame.
    """

    joint: Joint
    type: JointType
    before: tuple[Link, ...]
    chosen: Transform
    inertia: Inertia
    turned: tuple[float, float] = STRAIGHT
    after: tuple[Link, ...] = ()
    last: Transform | None = None
    around: tuple[Transform, Transform] | None = None
    flexible: Flexible | None = None
    mount: Transform = field(default_factory=Transform.identity)


def choose_frames(robot: Robot) -> tuple[Place, ...]:
    """Return each body in the working frame that gives the cheapest step."""
    children = robot.tree.children
    placed: list[_Placed] = []
    for i, parent in enumerate(robot.tree.parents):
        above = Pose() if parent < 0 else placed[parent].chosen
        placed.append(_placed(robot, i, above, children))
    chosen = Transform(
        np.array([p.chosen.e for p in placed]).reshape(-1, 3, 3),
        np.array([p.chosen.r for p in placed]).reshape(-1, 3),
    )
    moved = chosen.inertia(_all_inertias(robot))
    return tuple(
        Place(
            j,
            p.type,
            p.before,
            Transform(e, r),
            Inertia(m, h, second),
            p.turned,
            mount=_transform(p.mount),
            flexible=_in_frame(b, Transform(e, r)),
        )
        for b, j, p, e, r, m, h, second in zip(
            robot.bodies, robot.joints, placed, chosen.E, chosen.r, moved.m, moved.h, moved.I, strict=True
        )
    )


def own_frames(robot: Robot) -> tuple[Place, ...]:
    """Return each body in its own frame, that of the model."""
    return tuple(
        replace(_own(j, b.inertia), flexible=b.flexible)
        for j, b in zip(robot.joints, robot.bodies, strict=True)
    )


def _own(joint: Joint, inertia: Inertia) -> Place:
    here = Transform.identity()
    inner, outer = pose_of(joint.inner), pose_of(joint.outer)
    if joint.nv == 0:
        links, mount = _constant_links(outer.inv() @ inner), _transform(outer.inv())
        return Place(joint, joint.type, links, here, inertia, mount=mount)
    upright, kind = _upright(joint.type)
    last = outer.inv() @ upright.inv()
    apart = None if last == Pose() else _transform(last)
    before, after = _constant_links(upright @ inner), _constant_links(last)
    mount = _transform(upright)
    return Place(joint, kind, before, here, inertia, after=after, last=apart, mount=mount)


def frames_for_given_placements(robot: Robot, own: bool) -> tuple[Place, ...]:
    """Return the bodies if joint placements are inputs of each call; no turn can be saved.

    Bodies are in their own frames, or in their joints' outer frames with the axis along z.
    """
    placed = own_frames(robot) if own else ()
    found: list[Place] = []
    for i, parent in enumerate(robot.tree.parents):
        joint = robot.joints[i]
        upright, kind = _upright(joint.type)
        outer, here = pose_of(joint.outer), Transform.identity()
        if own:
            found.append(replace(placed[i], before=(), around=(placed[i].mount, here)))
            continue
        above = here if parent < 0 else found[parent].chosen
        chosen = _transform(upright @ outer)
        inertia = chosen.inertia(robot.bodies[i].inertia)
        mount = _transform(upright)
        found.append(
            Place(
                joint,
                kind,
                (),
                chosen,
                inertia,
                around=(mount, above.inv()),
                mount=mount,
                flexible=_in_frame(robot.bodies[i], chosen),
            )
        )
    return tuple(found)


def _in_frame(body: Body, chosen: Transform) -> Flexible | None:
    """Return the points of a flexible body in its working frame."""
    if body.flexible is None or chosen.is_identity():
        return body.flexible
    return body.flexible.in_frame(chosen)


def _transform(pose: Pose) -> Transform:
    return Transform(np.array(pose.e).reshape(3, 3), np.array(pose.r))


@dataclass(frozen=True, eq=False)
class _Placed:
    """A body's frame before its inertia is moved there."""

    type: JointType
    before: tuple[Link, ...]
    chosen: Pose
    mount: Pose
    turned: tuple[float, float] = STRAIGHT


def _placed(robot: Robot, body: int, above: Pose, children: Sequence[Sequence[int]]) -> _Placed:
    joint = robot.joints[body]
    inner, outer = pose_of(joint.inner), pose_of(joint.outer)
    if joint.nv == 0 or robot.bodies[body].flexible is not None:  # it stays, or floats with its parent
        there = above @ inner.inv()
        return _Placed(joint.type, (), there @ outer, there)
    upright, kind = _upright(joint.type)
    placement, chosen, mount = upright @ inner @ above.inv(), upright @ outer, upright
    turn = STRAIGHT
    if kind.axial is not None:
        c, s = euler(placement.e)[2]
        back = about_z(c, -s)
        placement, chosen, mount = back @ placement, back @ chosen, back @ upright
    if kind.axial is not None and kind.axial.turn is not None:
        turn = _next_turn(robot, body, chosen, children)
        chosen = about_z(*turn) @ chosen
    return _Placed(kind, _constant_links(placement), chosen, mount, turn)


def _next_turn(
    robot: Robot, body: int, chosen: Pose, children: Sequence[Sequence[int]]
) -> tuple[float, float]:
    """Return cos and sin of the turn about z before the next hinge, where that is one with an axis."""
    following = list(_moving_children(robot, body, chosen, children))
    if len(following) != 1 or following[0][0].type.axial is None:
        return STRAIGHT
    joint, above = following[0]
    inner = turned(_upright(joint.type)[0].e, pose_of(joint.inner).e)
    return euler(turned(inner, above.inv().e))[0]


def _moving_children(
    robot: Robot, body: int, above: Pose, children: Sequence[Sequence[int]]
) -> Iterator[tuple[Joint, Pose]]:
    """Yield the moving joints on a body and on bodies fixed to it, with the frames of their placements."""
    for c in children[body]:
        joint = robot.joints[c]
        if joint.nv == 0:
            held = above @ pose_of(joint.inner).inv() @ pose_of(joint.outer)
            yield from _moving_children(robot, c, held, children)
        else:
            yield joint, above


@lru_cache(maxsize=1024)
def _upright(kind: JointType) -> tuple[Pose, JointType]:
    """Return the turn that takes a joint's axis to z, and the type about z."""
    axial = kind.axial
    if axial is None:
        return Pose(), kind
    q = 0.5 + np.arange(kind.nq)
    stated, own = axial.placement(q).matrix(), kind.placement(q).matrix()
    if not np.allclose(stated, own) or not np.allclose(axial.subspace(q), kind.subspace(q)):
        raise ModelError(
            f"joint type {kind!r}: expected the placement and subspace that its `axial` states, got others; "
            "state the motion that it has, or None"
        )
    z = np.array(axial.axis)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    e = np.stack([x, cross(z, x), z])
    return Pose(tuple(e.ravel().tolist())), kind.upright()


def _constant_links(placement: Pose) -> tuple[Link, ...]:
    r = tidy(placement.r)
    return (*((Shift(np.array(r)),) if any(r) else ()), *turns(placement.e))


def tidy(v: Vector) -> Vector:
    """Return a vector with entries that are zero up to rounding set to zero."""
    least = 1e-15 * max(map(abs, v))
    x, y, z = (0.0 if abs(x) < least else x for x in v)
    return x, y, z


def _all_inertias(robot: Robot) -> Inertia:
    bodies = [b.inertia for b in robot.bodies]
    return Inertia(
        np.array([x.m for x in bodies], dtype=float),
        np.array([x.h for x in bodies], dtype=float).reshape(-1, 3),
        np.array([x.I for x in bodies], dtype=float).reshape(-1, 3, 3),
    )
