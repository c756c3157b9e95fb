"""Where contacts touch: nearest points, gaps and frames of one configuration, by enumeration.

c is the nearest point of the shape's core (the centre of a ball, a point of a capsule's axis), s the nearest
point of the surface, n the unit normal from the surface to the shape, all in world axes:

    gap = n · (c − s) − radius,      x = c − radius n

x is the point of the shape's body that touches. t1, t2, n are right-handed. On a plane and a height field t1
is the x axis of the surface's frame made orthogonal to n; on a sphere and a capsule both follow from n alone
(Duff et al., Building an Orthonormal Basis, Revisited, 2017).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hinge.model import Capsule, Contact, HeightField, Plane, Robot, Sphere, as_configuration, contact_ends
from hinge.reference.height_fields import foot_below, nearest_foot
from hinge.reference.kinematics import forward_kinematics
from hinge.reference.motions import velocities
from hinge.spatial import Array, ArrayLike, Transform


class Touch(NamedTuple):
    """Where a contact touches or would: see this module."""

    c: Array
    s: Array
    n: Array
    gap: float
    x: Array
    t1: Array
    t2: Array


def touches(robot: Robot, q: ArrayLike, *, exact: bool = False) -> list[Touch]:
    """Return where each contact touches in a configuration (nq,); see `touch`."""
    placed = forward_kinematics(robot, as_configuration(robot, q))
    found: list[Touch] = []
    for c in robot.contacts:
        (i, shape), (j, surface) = contact_ends(robot, c)
        found.append(touch(c, shape @ placed[i], surface if j < 0 else surface @ placed[j], exact=exact))
    return found


def touch(contact: Contact, shape: Transform, surface: Transform, *, exact: bool = False) -> Touch:
    """Return where a contact touches; `shape` and `surface` lead from the world to the two sides' frames.

    On a height field s is the foot of c on the plane of the triangle that c is above or below, with `exact`
    the nearest point of the whole field. Where the cores of two round shapes meet n is the surface's z axis.
    """
    axes = surface.rotation
    c, on = shape.position, contact.surface
    if isinstance(on, Sphere | Capsule):
        reach = on.length / 2 if isinstance(on, Capsule) else 0.0
        c, core = _nearest(c, shape.rotation[:, 2], contact.length / 2, surface.position, axes[:, 2], reach)
        apart = float(np.linalg.norm(c - core))
        n = (c - core) / apart if apart else axes[:, 2]
        s = core + on.radius * n
        t1, t2 = _around(n)
    else:
        point = surface.E @ (c - surface.position)
        s, n = _foot(on, point, exact=exact)
        s, n = surface.position + axes @ s, axes @ n
        along = axes[:, 0] - (axes[:, 0] @ n) * n
        t1 = along / np.linalg.norm(along)
        t2 = np.cross(n, t1)
    gap = float(n @ (c - s)) - contact.radius
    return Touch(c, s, n, gap, c - contact.radius * n, t1, t2)


def gap(robot: Robot, q: ArrayLike) -> Array:
    """Return the signed distances (contacts,)."""
    return np.array([t.gap for t in touches(robot, q)])


def contact_velocity(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the velocity of the shape's body against the surface's at x, along n, t1, t2 (contacts, 3)."""
    q = as_configuration(robot, q)
    placed, moving = forward_kinematics(robot, q), velocities(robot, q, qd)
    found = np.zeros((len(robot.contacts), 3))
    for k, (c, t) in enumerate(zip(robot.contacts, touches(robot, q), strict=True)):
        (i, _), (j, _) = contact_ends(robot, c)
        u = _at_point(placed[i], moving[i], t.x)
        if j >= 0:
            u = u - _at_point(placed[j], moving[j], t.x)
        found[k] = t.n @ u, t.t1 @ u, t.t2 @ u
    return found


def contact_jacobian(robot: Robot, q: ArrayLike) -> Array:
    """Return J (contacts, 3, nv): the velocities of all contacts along n, t1 and t2 are J qd."""
    columns = [contact_velocity(robot, q, unit) for unit in np.eye(robot.nv)]
    return np.stack(columns, axis=-1) if columns else np.zeros((len(robot.contacts), 3, 0))


def _at_point(placed: Transform, moving: Array, x: Array) -> Array:
    """Return the velocity, in world axes, of the point of a body that is at x."""
    w, v = moving[:3], moving[3:]
    return placed.rotation @ (v + np.cross(w, placed.E @ (x - placed.position)))


def _foot(on: Plane | HeightField, point: Array, *, exact: bool) -> tuple[Array, Array]:
    """Return the foot of a point and the normal there, in the surface's frame."""
    if isinstance(on, Plane):
        return point * (1.0, 1.0, 0.0), np.array([0.0, 0.0, 1.0])
    return nearest_foot(on, point) if exact else foot_below(on, point)


def _nearest(p: Array, u: Array, a: float, o: Array, w: Array, b: float) -> tuple[Array, Array]:
    """Return the nearest points of the segments p + i u, |i| ≤ a, and o + j w, |j| ≤ b.

    The squared distance is convex: its least value is where its gradient is zero if that is on both segments,
    else at one of the four ends. Of parallel segments any such pair is as good as another.
    """
    d, cosine = p - o, float(u @ w)
    pairs: list[tuple[float, float]] = []
    if 1 - cosine**2 > 1e-12:
        i, j = np.linalg.solve([[1.0, -cosine], [-cosine, 1.0]], [-(u @ d), w @ d])
        pairs += [(i, j)] if abs(i) <= a and abs(j) <= b else []
    pairs += [(i, float(np.clip(w @ (d + i * u), -b, b))) for i in (-a, a)]
    pairs += [(float(np.clip(-(u @ (d - j * w)), -a, a)), j) for j in (-b, b)]
    i, j = min(pairs, key=lambda at: float(np.linalg.norm(d + at[0] * u - at[1] * w)))
    return p + i * u, o + j * w


def _around(n: Array) -> tuple[Array, Array]:
    """Return two unit vectors that are orthogonal to n and to each other."""
    x, y, z = n
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    return np.array([1.0 + sign * x * x * a, sign * b, -sign * x]), np.array([b, sign + y * y * a, -y])
