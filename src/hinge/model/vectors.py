"""Vector arguments of a robot: q (…, nq) and tangent vectors (…, nv)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import DTypeLike

from hinge.errors import ArgumentError
from hinge.model.robot import Robot
from hinge.spatial import Array, ArrayLike

#: The most dimensions that NumPy can broadcast.
MOST_DIMENSIONS = 32


def checked_robot(robot: Robot) -> Robot:
    """Return the robot, or raise an ArgumentError if it is none."""
    if not isinstance(robot, Robot):  # pyright: ignore[reportUnnecessaryIsInstance]
        kind, remedy = type(robot).__name__, "hinge.load(…) returns one"
        if kind == "Live":  # a class of a room above this one
            remedy = 'its verbs are methods: live.momentum(q, qd), live.call("bias_force", q, qd=qd)'
        raise ArgumentError(f"robot: expected a Robot, got {kind}; {remedy}")
    return robot


def as_configuration(robot: Robot, q: ArrayLike, name: str = "q", *, dtype: DTypeLike = np.float64) -> Array:
    """Return q as a float array (…, nq), or raise an ArgumentError."""
    nq = checked_robot(robot).nq
    return as_vector(q, name, nq, f"nq = {nq} of robot {robot.name!r}", dtype=dtype)


def as_tangent(robot: Robot, v: ArrayLike, name: str) -> Array:
    """Return v as a float array (…, nv), or raise an ArgumentError."""
    return as_vector(v, name, checked_robot(robot).nv, f"nv = {robot.nv} of robot {robot.name!r}")


def as_vector(x: ArrayLike, name: str, size: int, reason: str, *, dtype: DTypeLike = np.float64) -> Array:
    """Return x as an array (…, size) of `dtype`, or raise an ArgumentError."""
    try:
        a = np.asarray(x)
    except MemoryError:
        raise
    except Exception as error:  # `__array__` of an object may raise anything
        raise ArgumentError(
            f"{name}: expected an array of shape (…, {size}), but conversion failed: {error}"
        ) from None
    if a.dtype.kind not in "fiu":
        raise ArgumentError(f"{name}: expected real numbers of shape (…, {size}), got dtype {a.dtype}")
    if a.ndim > MOST_DIMENSIONS:
        raise ArgumentError(f"{name}: expected at most {MOST_DIMENSIONS} dimensions, got {a.ndim}")
    if a.ndim == 0 or a.shape[-1] != size:
        raise ArgumentError(f"{name}: expected shape (…, {size}), got {a.shape}; {reason}")
    return a.astype(dtype, copy=False)


def checked_out(out: object, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return `out` if it can hold the results, or raise an ArgumentError."""
    if not isinstance(out, np.ndarray):
        raise ArgumentError(f"out: expected an array of shape {shape}, got {type(out).__name__}")
    found: Array = out
    if found.shape != shape or found.dtype != dtype:
        raise ArgumentError(
            f"out: expected shape {shape} and dtype {np.dtype(dtype)}, got {found.shape} and {found.dtype}"
        )
    if not found.flags.writeable:
        raise ArgumentError("out: expected a writable array, got a read-only one")
    sizes = zip(found.strides, found.shape, strict=True)
    if found.size and any(stride == 0 and size > 1 for stride, size in sizes):
        raise ArgumentError("out: expected memory for every result, got an array with overlapping entries")
    return found


def into_arrays(out: Sequence[Array] | None, found: Sequence[Array]) -> Sequence[Array]:
    """Return results, in as many arrays of the caller's if there are such."""
    if out is None:
        return found
    if not isinstance(out, tuple | list) or len(out) != len(found):
        what = f"{len(out)} things" if isinstance(out, tuple | list) else type(out).__name__
        raise ArgumentError(f"out: expected a tuple of {len(found)} arrays, got {what}")
    to = [checked_out(x, y.shape, y.dtype) for x, y in zip(out, found, strict=True)]
    if any(np.may_share_memory(x, y) for x, y in combinations(to, 2)):
        raise ArgumentError("out: expected arrays of their own, got some that share memory")
    for x, y in zip(to, found, strict=True):
        x[...] = y
    return to


def gravity_of(robot: Robot, gravity: ArrayLike | None, *, dtype: DTypeLike = np.float64) -> Array:
    """Return the gravity (…, 3) of a call: the one given, or the robot's own."""
    own = checked_robot(robot).gravity.astype(dtype, copy=False)
    return own if gravity is None else as_vector(gravity, "gravity", 3, "it is an acceleration", dtype=dtype)


def stacked(parts: Sequence[Array], batch: tuple[int, ...] = ()) -> Array:
    """Concatenate the parts (…, nᵢ), their batch dimensions broadcast, at least to `batch`."""
    shape = np.broadcast_shapes(batch, *(p.shape[:-1] for p in parts))
    wide = [np.broadcast_to(p, (*shape, p.shape[-1])) for p in parts]
    return np.concatenate([np.zeros((*shape, 0)), *wide], axis=-1)


def common_batch(arrays: Mapping[str, Array]) -> tuple[int, ...]:
    """Return the common batch shape, or raise an ArgumentError that names the vectors."""
    shapes = {name: a.shape[:-1] for name, a in arrays.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ArgumentError(f"{', '.join(shapes)}: batch shapes do not broadcast: {listed}") from None


def refuse_text(name: str, value: object, of: str = "names") -> None:
    """Raise an ArgumentError if one text, or nothing like a list, came where a list of names is expected."""
    if isinstance(value, str):
        raise ArgumentError(
            f"{name}: expected a list of {of}, got the string {value!r}; did you mean [{value!r}]?"
        )
    if value is not None and not isinstance(value, Iterable):
        raise ArgumentError(f"{name}: expected a list of {of}, got {value!r}; write it in brackets")
