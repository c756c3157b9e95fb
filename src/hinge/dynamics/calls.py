"""Calls of verbs: with the robot's gravity or another, with forces at frames, with one part or several."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hinge.dynamics.arguments import precision
from hinge.dynamics.kept import Quick, compiled, compiled_parts
from hinge.errors import ArgumentError
from hinge.model import Robot, as_vector, checked_robot
from hinge.spatial import Array, ArrayLike

External = Mapping[str, ArrayLike] | None


def call(
    table: Quick,
    robot: Robot,
    q: ArrayLike,
    vectors: Mapping[str, ArrayLike],
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
    out: Array | None = None,
) -> Array:
    """Evaluate a verb, with gravity and with forces at frames if there are any."""
    if external is None and gravity is None and out is None:
        return table[checked_robot(robot)](q, *vectors.values())
    names, forces = forces_of(external)
    given = {**vectors, **forces, **({} if gravity is None else {"gravity": gravity})}
    f = compiled(robot, table.verb, names)
    return f.evaluate(q, given, called={"f_ext": "external"}, out={table.verb: out})[table.verb]


def forces_of(external: External) -> tuple[tuple[str, ...], dict[str, ArrayLike]]:
    """Return the names of frames and their forces as one array (…, n, 6)."""
    if external is None:
        return (), {}
    if not isinstance(external, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"external: {type(external).__name__} came; wanted {{frame name: [n; f]}}")
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


def call_parts(
    verb: str,
    robot: Robot,
    q: ArrayLike,
    vectors: Mapping[str, ArrayLike],
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
) -> dict[str, Array]:
    """Evaluate a verb whose value has several parts; return these by name."""
    checked_robot(robot)
    names, forces = forces_of(external)
    given = {**vectors, **forces, **({} if gravity is None else {"gravity": gravity})}
    return compiled_parts(robot, verb, names).evaluate(q, given, called={"f_ext": "external"})
