"""Unit quaternions (w, x, y, z), the Euler parameters of Featherstone section 8.2.3.

A quaternion stands for the rotation R that turns the coordinates of the rotated frame into those
of the frame it was rotated from. `exp` and `log` branch on size and take floats only; the rest
holds for any scalar type.
"""

from __future__ import annotations

import numpy as np

from hinge.spatial.vector3 import Array, cross, dot, stack


def identity() -> Array:
    """Return the quaternion of no rotation."""
    return np.array([1.0, 0.0, 0.0, 0.0])


def conjugate(p: Array) -> Array:
    """Return the inverse rotation of a unit quaternion."""
    return np.concatenate([p[..., :1], -p[..., 1:]], axis=-1)


def multiply(p: Array, q: Array) -> Array:
    """Return the product p q: first q, then p."""
    pw, pv, qw, qv = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    w = pw * qw - (pv * qv).sum(axis=-1, keepdims=True)
    return np.concatenate([w, pw * qv + qw * pv + cross(pv, qv)], axis=-1)


def rotate(p: Array, x: Array) -> Array:
    """Return R(p) x for a unit quaternion."""
    v = p[..., 1:]
    t = 2 * cross(v, x)
    return x + p[..., :1] * t + cross(v, t)


def normalize(p: Array) -> Array:
    """Return p / |p|."""
    return p / np.sqrt((p * p).sum(axis=-1, keepdims=True))


def rate(p: Array, omega: Array) -> Array:
    """Return dp/dt for the angular velocity in the rotated frame. Featherstone (8.1): ½ p ω."""
    return 0.5 * multiply(p, np.concatenate([omega[..., :1] * 0, omega], axis=-1))


def unrate(p: Array, dp: Array) -> Array:
    """Return the angular velocity whose `rate` is dp, in the rotated frame; zero for dp along p."""
    return 2.0 * multiply(conjugate(p), dp)[..., 1:]


def exp(phi: Array) -> Array:
    """Return the quaternion of the rotation vector phi (axis times angle)."""
    half = 0.5 * np.sqrt(dot(phi, phi))
    scale = 0.5 * np.sinc(half / np.pi)
    return np.concatenate([np.cos(half)[..., None], scale[..., None] * phi], axis=-1)


def log(p: Array) -> Array:
    """Return the rotation vector of a unit quaternion, of length at most π."""
    p = np.where(p[..., :1] < 0, -p, p)
    w, v = p[..., 0], p[..., 1:]
    n = np.sqrt(dot(v, v))
    small = n < 1e-9
    safe = np.where(small, 1.0, n)
    scale = np.where(small, 2.0 / np.where(small, w, 1.0), 2.0 * np.arctan2(n, w) / safe)
    return scale[..., None] * v


def from_matrix(r: Array) -> Array:
    """Return the unit quaternion (w ≥ 0) of a rotation matrix, by its largest component."""
    r = np.asarray(r, dtype=np.float64)
    d = np.stack([r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]], axis=-1)
    trace = d.sum(axis=-1)
    squares = np.stack([trace, *(2 * d[..., i] - trace for i in range(3))], axis=-1)  # 4 p_i² − 1
    a, b, c = r[..., 2, 1], r[..., 0, 2], r[..., 1, 0]
    at, bt, ct = r[..., 1, 2], r[..., 2, 0], r[..., 0, 1]
    t = 1 + squares
    candidates = np.stack(
        [
            stack(t[..., 0], a - at, b - bt, c - ct),
            stack(a - at, t[..., 1], c + ct, b + bt),
            stack(b - bt, c + ct, t[..., 2], a + at),
            stack(c - ct, b + bt, a + at, t[..., 3]),
        ],
        axis=-2,
    )
    best = squares.argmax(axis=-1)
    p = np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :]
    p = np.where(p[..., :1] < 0, -p, p)
    return normalize(p)


def random(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
    """Return uniformly distributed random quaternions."""
    return normalize(rng.standard_normal((*shape, 4)))
