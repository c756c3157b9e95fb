"""Rotation matrices: R turns the coordinates of the rotated frame into those of the old frame.

The columns of R are the axes of the rotated frame seen from the old one. Featherstone's E of (2.15),
which turns old coordinates into new ones, is Rᵀ.
"""

from __future__ import annotations

import numpy as np

from hinge.spatial import quaternion
from hinge.spatial.vector3 import Array, ArrayLike, as_array, dot, outer, skew, stack


def about(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Return the rotation by `angle` about the unit vector `axis`.

    R = n nᵀ + cos θ (1 − n nᵀ) + sin θ n×: each entry folds to a constant, cos θ or sin θ when n is
    a coordinate axis.
    """
    n, angle = as_array(axis), as_array(angle)
    along = outer(n, n)
    c, s = (as_array(f(angle))[..., None, None] for f in (np.cos, np.sin))
    return along + c * (np.eye(3) - along) + s * skew(n)


def from_quaternion(p: Array) -> Array:
    """Return the matrix of a unit quaternion (w, x, y, z). Featherstone (8.2), transposed."""
    w, x, y, z = p[..., 0], p[..., 1], p[..., 2], p[..., 3]
    return np.stack(
        [
            stack(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            stack(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            stack(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        ],
        axis=-2,
    )


def from_rpy(rpy: ArrayLike) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll): URDF's roll, pitch, yaw about the fixed axes."""
    a = as_array(rpy)
    roll, pitch, yaw = a[..., 0], a[..., 1], a[..., 2]
    return about((0, 0, 1), yaw) @ about((0, 1, 0), pitch) @ about((1, 0, 0), roll)


def to_rpy(r: Array) -> Array:
    """Return roll, pitch, yaw of a matrix; at pitch = ±π/2 the roll is taken as zero."""
    r = np.asarray(r, dtype=np.float64)
    cos_pitch = np.hypot(r[..., 0, 0], r[..., 1, 0])
    pitch = np.arctan2(-r[..., 2, 0], cos_pitch)
    regular = cos_pitch > 1e-10
    roll = np.where(regular, np.arctan2(r[..., 2, 1], r[..., 2, 2]), 0.0)
    yaw = np.where(
        regular,
        np.arctan2(r[..., 1, 0], r[..., 0, 0]),
        np.arctan2(-r[..., 0, 1], r[..., 1, 1]),
    )
    return stack(roll, pitch, yaw)


def exp(phi: ArrayLike) -> Array:
    """Return the rotation of the rotation vector phi (axis times angle)."""
    return from_quaternion(quaternion.exp(as_array(phi)))


def log(r: Array) -> Array:
    """Return the rotation vector of a matrix, of length at most π."""
    return quaternion.log(quaternion.from_matrix(r))


def left_jacobian(phi: Array) -> Array:
    """Return V with ∫₀¹ exp(s φ) ds, the translation part of the exponential of a screw.

    V = 1 + (1 − cos θ)/θ² φ× + (θ − sin θ)/θ³ (φ×)², with the series near θ = 0. Floats only.
    """
    phi = np.asarray(phi, dtype=np.float64)
    theta2 = dot(phi, phi)
    theta = np.sqrt(theta2)
    small = theta < 0.05
    t = np.where(small, 1.0, theta)
    half = np.sinc(theta / (2 * np.pi))  # sin(θ/2) / (θ/2)
    a = 0.5 * half * half
    series = 1 / 6 - theta2 / 120 + theta2**2 / 5040 - theta2**3 / 362880
    b = np.where(small, series, (t - np.sin(t)) / t**3)
    k = skew(phi)
    return np.eye(3) + a[..., None, None] * k + b[..., None, None] * (k @ k)


def aligning(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the smallest rotation that turns the unit vector a into the unit vector b.

    Two reflections, one across a and one across the direction m halfway between: R = (1 − 2 m mᵀ)
    (1 − 2 a aᵀ). Where a and b are opposite, m is any direction across them. Floats only.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    m = a + b
    if a @ b < 0:  # the sum is small: keep it exactly across the difference
        along = (a - b) / np.linalg.norm(a - b)
        m = np.eye(3)[int(np.abs(a).argmin())] if float(np.linalg.norm(m)) < 1e-14 else m
        m = m - along * (along @ m)
    m = m / np.linalg.norm(m)
    return (np.eye(3) - 2 * outer(m, m)) @ (np.eye(3) - 2 * outer(a, a))


def tidied(r: Array) -> Array:
    """Return a constant rotation with entries within rounding of 0 and ±1 made exact.

    cos(π/2) is 6e-17 in floats; a compiler that folds zeros wants the zero.
    """
    whole = np.round(r)
    return np.where(np.abs(r - whole) < 1e-15, whole, r) + 0.0
