"""Calls of verbs: with the robot's gravity or another, with forces at frames, with one part or several."""

from __future__ import annotations

from collections.abc import Mapping

from hinge.dynamics.arguments import External, external_forces
from hinge.dynamics.kept import Quick, compiled
from hinge.dynamics.moving import CALLED, BaseMotion, base_inputs
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
    base: BaseMotion | None = None,
    out: Array | None = None,
) -> Array:
    """Evaluate a verb, with gravity, with forces at frames and on a base that moves if there are any."""
    if base is not None:
        return _on_moving_base(f"moving_{table.verb}", robot, q, vectors, external, gravity, base, out)
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


def _on_moving_base(
    verb: str,
    robot: Robot,
    q: ArrayLike,
    vectors: Mapping[str, ArrayLike],
    external: External,
    gravity: ArrayLike | None,
    base: BaseMotion,
    out: Array | None,
) -> Array:
    """Evaluate a verb on a base that moves: its only result."""
    names, forces = external_forces(external)
    given = {**vectors, **forces}
    given |= base_inputs(base, checked_robot(robot), gravity, {"q": q, **given})
    f = compiled(robot, verb, names)
    (result,) = f.given
    return f.evaluate(q, given, called={"f_ext": "external", **CALLED}, out={result: out})[result]
