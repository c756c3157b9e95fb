"""Calls of verbs: with the robot's gravity or another, with forces at frames, with one part or several."""

from __future__ import annotations

from collections.abc import Mapping

from hinge.dynamics.arguments import External, external_forces
from hinge.dynamics.kept import Quick, compiled
from hinge.model import Robot, checked_robot
from hinge.spatial import Array, ArrayLike


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
    verb = table.verb
    return call_parts(verb, robot, q, vectors, external=external, gravity=gravity, out={verb: out})[verb]


def call_parts(
    verb: str,
    robot: Robot,
    q: ArrayLike,
    vectors: Mapping[str, ArrayLike],
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
    out: Mapping[str, Array | None] | None = None,
) -> dict[str, Array]:
    """Evaluate a verb whose value has several parts; return these by name."""
    checked_robot(robot)
    names, forces = external_forces(external)
    given = {**vectors, **forces, **({} if gravity is None else {"gravity": gravity})}
    return compiled(robot, verb, names).evaluate(q, given, called={"f_ext": "external"}, out=out)
