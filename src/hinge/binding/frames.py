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

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from hinge.binding.steps import Link, Shift, euler, turns
from hinge.model import Joint, Robot
from hinge.model.joints import Cylindrical, Fixed, JointType, Prismatic, Revolute, Screw
from hinge.spatial import Array, Inertia, Transform, cross

#: Types that look the same from every side of their axis, which may therefore be turned onto z.
AXIAL = (Revolute, Prismatic, Screw, Cylindrical)
#: Those of them whose own angle can take up a constant turn about the axis.
TURNING = (Revolute, Screw, Cylindrical)


@dataclass(frozen=True, eq=False)
class Place:
    """A body in the frame that is worked in: the joint type, the constant links around it, the inertia.

    `turned` is cos and sin of the constant that is added to the joint's own angle; `last` leads from the
    joint's frame to the body's, and `after` is the same as links.
    """

    joint: Joint
    type: JointType
    before: tuple[Link, ...]
    chosen: Transform
    inertia: Inertia
    turned: tuple[float, float] = (1.0, 0.0)
    after: tuple[Link, ...] = ()
    last: Transform = field(default_factory=Transform.identity)


def choose_frames(robot: Robot) -> tuple[Place, ...]:
    """Return for each body the frame that the compiler works in."""
    found: list[Place] = []
    for i, parent in enumerate(robot.tree.parents):
        above = Transform.identity() if parent < 0 else found[parent].chosen
        found.append(_placed(robot, i, above))
    return tuple(found)


def own_frames(robot: Robot) -> tuple[Place, ...]:
    """Return each body in its own frame, the one that the user knows."""
    return tuple(_own(j, b.inertia) for j, b in zip(robot.joints, robot.bodies, strict=True))


def _own(joint: Joint, inertia: Inertia) -> Place:
    here = Transform.identity()
    if isinstance(joint.type, Fixed):
        return Place(joint, joint.type, _constant_links(joint.transform(np.zeros(0))), here, inertia)
    upright, kind = _upright(joint.type)
    last = joint.outer.inv() @ upright.inv()
    before, after = _constant_links(upright @ joint.inner), _constant_links(last)
    return Place(joint, kind, before, here, inertia, after=after, last=last)


def _placed(robot: Robot, body: int, above: Transform) -> Place:
    joint, inertia = robot.joints[body], robot.bodies[body].inertia
    if isinstance(joint.type, Fixed):
        chosen = above @ joint.transform(np.zeros(0)).inv()
        return Place(joint, joint.type, (), chosen, chosen.inertia(inertia))
    upright, kind = _upright(joint.type)
    placement = upright @ joint.inner @ above.inv()
    chosen = upright @ joint.outer
    turned = (1.0, 0.0)
    if isinstance(kind, AXIAL):
        c, s = euler(placement.E)[2]
        back = _about_z(c, -s)
        placement, chosen = back @ placement, back @ chosen
    if isinstance(kind, TURNING):
        turned = _next_turn(robot, body, chosen)
        chosen = _about_z(*turned) @ chosen
    return Place(joint, kind, _constant_links(placement), chosen, chosen.inertia(inertia), turned)


def _next_turn(robot: Robot, body: int, chosen: Transform) -> tuple[float, float]:
    """Return cos and sin of the turn about z before the next hinge, where that is one with an axis."""
    following = list(_moving_children(robot, body, chosen))
    if len(following) != 1 or not isinstance(following[0][0].type, AXIAL):
        return 1.0, 0.0
    joint, above = following[0]
    return euler((_upright(joint.type)[0] @ joint.inner @ above.inv()).E)[0]


def _moving_children(robot: Robot, body: int, above: Transform) -> Iterator[tuple[Joint, Transform]]:
    """Yield the joints that move on a body and on what is fixed to it, with the frame they hang in."""
    for c in robot.tree.children[body]:
        joint = robot.joints[c]
        if isinstance(joint.type, Fixed):
            yield from _moving_children(robot, c, above @ joint.transform(np.zeros(0)).inv())
        else:
            yield joint, above


def _about_z(c: float, s: float) -> Transform:
    return Transform(np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]), np.zeros(3))


def _upright(kind: JointType) -> tuple[Transform, JointType]:
    """Return the turn that takes a joint's axis to z, and the type about z."""
    if not isinstance(kind, AXIAL):
        return Transform.identity(), kind
    z = np.array(kind.axis)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return Transform(np.stack([x, cross(z, x), z]), np.zeros(3)), replace(kind, axis=(0.0, 0.0, 1.0))


def _constant_links(placement: Transform) -> tuple[Link, ...]:
    r = tidy(placement.r)
    shift: list[Link] = [Shift(r)] if r.any() else []
    return (*shift, *turns(placement.E))


def tidy(x: Array) -> Array:
    """Return numbers with those that are zero but for rounding made zero."""
    return np.where(np.abs(x) < 1e-15 * float(np.abs(x).max(initial=0.0)), 0.0, x)
