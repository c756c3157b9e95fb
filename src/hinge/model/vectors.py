"""Arguments that are vectors of a robot: q (…, nq) and what lives in its tangent space (…, nv)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import DTypeLike

from hinge.errors import ArgumentError
from hinge.model.robot import Robot
from hinge.spatial import Array, ArrayLike

#: What NumPy can broadcast.
MOST_DIMENSIONS = 32


def checked_robot(robot: Robot) -> Robot:
    """Return the robot, or raise an ArgumentError that says what came instead."""
    if not isinstance(robot, Robot):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"robot: {type(robot).__name__} came; wanted a Robot, such as hinge.load(…) gives"
        )
    return robot


def as_configuration(robot: Robot, q: ArrayLike, name: str = "q", *, dtype: DTypeLike = np.float64) -> Array:
    """Return q as a float array (…, nq), or raise an ArgumentError that says what came."""
    nq = checked_robot(robot).nq
    return as_vector(q, name, nq, f"nq = {nq} of robot {robot.name!r}", dtype=dtype)


def as_tangent(robot: Robot, v: ArrayLike, name: str) -> Array:
    """Return v as a float array (…, nv), or raise an ArgumentError that says what came."""
    return as_vector(v, name, checked_robot(robot).nv, f"nv = {robot.nv} of robot {robot.name!r}")


def as_vector(x: ArrayLike, name: str, size: int, wanted: str, *, dtype: DTypeLike = np.float64) -> Array:
    """Return x as an array of floats, doubles unless `dtype` says else, whose last dimension is `size`."""
    try:
        a = np.asarray(x)
    except MemoryError:
        raise
    except Exception as error:  # an object may raise what it likes when it is asked to be an array
        raise ArgumentError(f"{name}: is not an array ({error}); wanted shape (…, {size})") from None
    if a.dtype.kind in "iub" and isinstance(x, np.ndarray):
        raise ArgumentError(
            f"{name}: has dtype {a.dtype}, which cannot hold what it should; wanted floats of shape "
            f"(…, {size}): make it one with {name}.astype(float)"
        )
    if a.dtype.kind not in "fiu":
        raise ArgumentError(f"{name}: has dtype {a.dtype}; wanted real numbers of shape (…, {size})")
    if a.ndim > MOST_DIMENSIONS:
        raise ArgumentError(f"{name}: has {a.ndim} dimensions; wanted at most {MOST_DIMENSIONS}")
    if a.ndim == 0 or a.shape[-1] != size:
        raise ArgumentError(f"{name}: has shape {a.shape}; wanted (…, {size}), since {wanted}")
    return a.astype(dtype, copy=False)


def checked_out(out: object, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return an array for results, or raise an ArgumentError that says why it cannot take them."""
    if not isinstance(out, np.ndarray):
        raise ArgumentError(f"out: {type(out).__name__} came; wanted an array of shape {shape}")
    found: Array = out
    if found.shape != shape or found.dtype != dtype:
        raise ArgumentError(
            f"out: has shape {found.shape} and dtype {found.dtype}; wanted {shape} and {np.dtype(dtype)}"
        )
    if not found.flags.writeable:
        raise ArgumentError("out: is read-only; wanted an array that can be written")
    if any(stride == 0 and size > 1 for stride, size in zip(found.strides, found.shape, strict=True)):
        raise ArgumentError("out: shows the same memory several times; wanted room for all results")
    return found


def gravity_of(robot: Robot, gravity: ArrayLike | None, *, dtype: DTypeLike = np.float64) -> Array:
    """Return the gravity (…, 3) of a call: the one given, or the robot's own."""
    own = checked_robot(robot).gravity.astype(dtype, copy=False)
    return own if gravity is None else as_vector(gravity, "gravity", 3, "it is an acceleration", dtype=dtype)


def stacked(parts: Sequence[Array], batch: tuple[int, ...] = ()) -> Array:
    """Return the parts (…, nᵢ) side by side, their batch dimensions broadcast, at least to `batch`."""
    shape = np.broadcast_shapes(batch, *(p.shape[:-1] for p in parts))
    wide = [np.broadcast_to(p, (*shape, p.shape[-1])) for p in parts]
    return np.concatenate([np.zeros((*shape, 0)), *wide], axis=-1)


def common_batch(arrays: Mapping[str, Array]) -> tuple[int, ...]:
    """Return the batch shape that vectors have together, or name those that clash."""
    shapes = {name: a.shape[:-1] for name, a in arrays.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ArgumentError(f"{', '.join(shapes)}: batch shapes do not broadcast: {listed}") from None
