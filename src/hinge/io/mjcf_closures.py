"""Equality constraints of a compiled MuJoCo model that are closures: connect and weld.

MuJoCo's eq_data, for bodies: connect, the anchor in body 1 and in body 2; weld, the anchor in body 2, the
same point in body 1, and the quaternion of body 2 in body 1 [mj_instantiateEqual]. With sites both are the
sites themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.io.mjcf_physics import labels, off
from hinge.model import Closure, Frame, Problem, joints, listed
from hinge.spatial import Transform, rotation

_CONNECT, _WELD = 0, 1


@dataclass(frozen=True)
class End:
    """One end of a closure: the number of its body, 0 for the world, and its frame there."""

    body: int
    placement: Transform
    site: int | None = None


@dataclass(frozen=True)
class Found:
    """The closures of a model, frames that they need, and the numbers of constraints that are left."""

    closures: list[Closure]
    frames: list[Frame]
    unread: list[int]


def closures_of(
    mujoco: Any,
    m: Any,
    equalities: Sequence[int],
    bodies: Sequence[str],
    frames: Sequence[Frame],
    sites: dict[int, str],
) -> Found:
    """Return the closures among equality constraints; `sites` are the names of the frames of sites."""
    found, names = Found([], [], []), labels(mujoco, m, "EQUALITY")
    taken, seen = {*bodies, *(f.name for f in frames)}, set[object]()
    held = not off(mujoco, m, "EQUALITY") and not off(mujoco, m, "CONSTRAINT")
    for e in equalities:
        kind = int(m.eq_type[e])
        if not held or not m.eq_active0[e] or kind not in (_CONNECT, _WELD):
            found.unread.append(e)
            continue
        inner, outer = _ends(mujoco, m, e, weld=kind == _WELD)
        if outer.body == 0:
            inner, outer = outer, inner
        mocap = any(m.body_mocapid[x.body] >= 0 for x in (inner, outer))
        same = (
            kind,
            inner.body,
            outer.body,
            *(x.placement.r.tobytes() + x.placement.E.tobytes() for x in (inner, outer)),
        )
        if mocap or inner.body == outer.body or same in seen:
            found.unread.append(e)
            continue
        seen.add(same)
        name = bodies[outer.body]
        if outer.site is not None:
            name = sites[outer.site]
        elif not outer.placement.is_identity():
            name = _free(f"{names[e]}_outer", taken)
            found.frames.append(Frame(name, bodies[outer.body], outer.placement))
        joint = joints.Fixed() if kind == _WELD else joints.Spherical()
        base = None if inner.body == 0 else bodies[inner.body]
        found.closures.append(Closure(names[e], base, name, joint, inner.placement))
    return found


def told(closures: Sequence[Closure]) -> list[Problem]:
    """Return the note that closures are rigid, where MuJoCo's constraints are soft."""
    if not closures:
        return []
    names = listed([c.name for c in closures])
    message = (
        f"{len(closures)} of connect and weld are closures here ({names}): rigid, where MuJoCo's are soft"
    )
    return [Problem("equality", "rigid", message, note=True)]


def _ends(mujoco: Any, m: Any, e: int, *, weld: bool) -> tuple[End, End]:
    """Return the ends on the first and the second object."""
    first, second, data = int(m.eq_obj1id[e]), int(m.eq_obj2id[e]), np.array(m.eq_data[e])
    if int(m.eq_objtype[e]) == int(mujoco.mjtObj.mjOBJ_SITE):
        a, b = (End(int(m.site_bodyid[s]), _site(m, s), s) for s in (first, second))
        if not weld:  # points: the sites' axes do not count
            a = End(a.body, Transform.place(position=a.placement.position), a.site)
        return a, b
    if not weld:
        return tuple(  # type: ignore[return-value]
            End(body, Transform.place(position=data[3 * k : 3 * k + 3]))
            for k, body in enumerate((first, second))
        )
    turn = data[6:10] / np.linalg.norm(data[6:10])
    place = Transform.place(rotation.tidied(rotation.from_quaternion(turn)), data[3:6])
    return End(first, place), End(second, Transform.place(position=data[:3]))


def _site(m: Any, s: int) -> Transform:
    q = np.array(m.site_quat[s])
    return Transform.place(rotation.from_quaternion(q / np.linalg.norm(q)), np.array(m.site_pos[s]))


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
