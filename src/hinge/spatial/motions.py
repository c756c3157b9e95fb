"""Spatial motion vectors [ω; v]: angular first, v the velocity of the point at the origin.

Plain arrays (…, 6). Featherstone chapter 2; screws are his section 2.8.
"""

from __future__ import annotations

import numpy as np

from hinge.spatial.vector3 import Array, ArrayLike, as_array, cross, dot, skew


def motion(angular: ArrayLike, linear: ArrayLike) -> Array:
    """Return the motion vector [ω; v] from its two halves (…, 3)."""
    w, v = np.broadcast_arrays(as_array(angular), as_array(linear))
    return np.concatenate([w, v], axis=-1)


def motion_cross(v: Array, m: Array) -> Array:
    """Return v ×̂ m, the rate of the motion vector m that is carried along by v. (2.24), (2.27)."""
    w, u = v[..., :3], v[..., 3:]
    a, b = m[..., :3], m[..., 3:]
    return motion(cross(w, a), cross(w, b) + cross(u, a))


def motion_cross_matrix(v: Array) -> Array:
    """Return the matrix v ×̂ of (2.24). (…, 6) → (…, 6, 6)."""
    w, u = skew(v[..., :3]), skew(v[..., 3:])
    top = np.concatenate([w, np.zeros_like(w)], axis=-1)
    return np.concatenate([top, np.concatenate([u, w], axis=-1)], axis=-2)


def shift_motion(v: Array, r: Array) -> Array:
    """Return v with its origin moved by r (same axes): v_P = v_O − r × ω. (2.1)."""
    w, u = v[..., :3], v[..., 3:]
    return motion(w, u - cross(r, w))


def screw(axis: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0), pitch: float = 0.0) -> Array:
    """Return the unit screw about the line through `point` along the unit vector `axis`.

    [n; p × n + h n]; a pitch of infinity gives the pure translation [0; n].
    """
    n, p = as_array(axis), as_array(point)
    if np.isinf(pitch):
        return motion(np.zeros_like(n), n)
    return motion(n, cross(p, n) + pitch * n)


def screw_parameters(s: ArrayLike) -> tuple[Array, Array, float, float]:
    """Return axis, point nearest the origin, pitch and magnitude of one motion vector.

    The inverse of `screw`: a vector without rotation has infinite pitch and its point at the
    origin; the zero vector has magnitude 0 and, by convention, axis z and pitch 0.
    """
    a = np.asarray(s, dtype=np.float64)
    w, v = a[:3], a[3:]
    size = float(np.sqrt(dot(w, w)))
    if size > 0:
        return w / size, cross(w, v) / size**2, float(dot(w, v)) / size**2, size
    speed = float(np.sqrt(dot(v, v)))
    if speed > 0:
        return v / speed, np.zeros(3), float("inf"), speed
    return np.array([0.0, 0.0, 1.0]), np.zeros(3), 0.0, 0.0
