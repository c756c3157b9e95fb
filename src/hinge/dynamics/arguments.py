"""Conversion of arguments and results between the shapes of a call and flat vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hinge.algebra import Body, Mount, Node, One, Parameter, Placement, Resistance, Space
from hinge.errors import ArgumentError
from hinge.model import Robot, as_vector, rows_of
from hinge.spatial import Array, ArrayLike

__all__ = ["External", "external_forces", "precision", "rows_that_hold", "shape_of"]

#: Forces [n; f] by names of the frames or bodies that they act on.
External = Mapping[str, ArrayLike] | None


def dense_blocks(value: ArrayLike) -> ArrayLike:
    """Return blocks (…, n, 6, 6) as one block-diagonal matrix, anything else as it is."""
    if not (isinstance(value, np.ndarray) and value.ndim > 2 and value.shape[-2:] == (6, 6)):
        return value
    n = value.shape[-3]
    found = np.zeros((*value.shape[:-3], n, 6, n, 6), dtype=value.dtype)
    for k in range(n):
        found[..., k, :, k, :] = value[..., k, :, :]
    return found.reshape(*value.shape[:-3], 6 * n, 6 * n)


#: Arguments in rows: spatial vectors, and parameters of bodies and joints.
ROWS = {Node: 6, Body: 6, Parameter: 10, Placement: 7, Mount: 6, Resistance: 3}
WHY = {
    6: "spatial vectors have six numbers",
    10: "an inertia has ten numbers",
    7: "a placement is a quaternion and a position",
    3: "damping, friction, stiffness",
}


def flattened(value: ArrayLike, name: str, count: int, width: int, dtype: Any) -> Array:
    """Return rows (…, count, width) as flat vectors."""
    rows = as_vector(value, name, width, WHY[width], dtype=dtype)
    if rows.ndim < 2 or rows.shape[-2] != count:
        raise ArgumentError(f"{name}: expected shape (…, {count}, {width}), got {rows.shape}")
    return rows.reshape(*rows.shape[:-2], width * count)


def shaped(x: Array, spaces: Sequence[Space]) -> Array:
    """Return a vector with several numbers for each node, body or coordinate as rows."""
    width = ROWS.get(spaces[0] if spaces[1] is One else spaces[1])
    if One not in spaces or width is None:
        return x
    return x.reshape(*x.shape[:-1], x.shape[-1] // width, width)


def shape_of(spaces: Sequence[Space], lengths: Callable[[Space], int]) -> tuple[int, ...]:
    """Return the shape of a value of a range and a domain, in one state."""
    return shaped(np.empty([lengths(s) for s in spaces if s is not One]), spaces).shape


def precision(*arrays: ArrayLike) -> Any:
    """Return float32 if every argument is a float32 array, else float64."""
    single = all(isinstance(x, np.ndarray) and x.dtype == np.float32 for x in arrays)
    return np.float32 if single else np.float64


def external_forces(external: External) -> tuple[tuple[str, ...], dict[str, ArrayLike]]:
    """Return the names of frames and their forces as one array (…, n, 6)."""
    if external is None:
        return (), {}
    if not isinstance(external, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"external: expected {{frame name: [n; f]}}, got {type(external).__name__}")
    if not external:
        return (), {}
    dtype = precision(*external.values())
    forces = [
        as_vector(f, f"external[{name!r}]", 6, "a spatial force is [n; f]", dtype=dtype)
        for name, f in external.items()
    ]
    try:
        stacked = np.stack(np.broadcast_arrays(*forces), axis=-2)
    except ValueError:
        shapes = ", ".join(f"{name!r} {f.shape[:-1]}" for name, f in zip(external, forces, strict=True))
        raise ArgumentError(f"external: batch shapes do not broadcast: {shapes}") from None
    return tuple(external), {"f_ext": stacked}


def rows_that_hold(robot: Robot, held: ArrayLike) -> Array:
    """Return ones for the rows of closures that hold (…, m), zeros for the others.

    `held` (…, closures) are booleans, or zeros and ones.
    """
    counts = [len(rows_of(c.joint).names) for c in robot.closures]
    found = np.asarray(held)
    if found.shape[-1:] != (len(counts),) or not np.isin(found, (0, 1)).all():
        names = ", ".join(c.name for c in robot.closures)
        raise ArgumentError(
            f"held: expected booleans (…, {len(counts)}), one for each closure ({names}), got {held!r}"
        )
    return np.repeat(found.astype(np.float64), counts, axis=-1)
