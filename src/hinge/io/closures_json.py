"""Closures as a JSON file beside a URDF, which has no place for them.

A list of objects: {"name", "inner", "outer", "joint": {"kind", "axis", …}, "placement": {"position",
"rotation"}}. `inner` null is the world; `joint`, `placement` and "rows" may be left out: fixed, at `inner`,
found by numbers. A rotation is a matrix of three rows; "rpy" in its place are three angles as in URDF.
Axis, pitch and normal are fields of the joint types; nothing else is constructed from a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

import numpy as np

from hinge.errors import FormatError, HingeError, did_you_mean
from hinge.io.numbers import LARGEST
from hinge.model import Closure, SoftFinger, joints
from hinge.spatial import Array, Transform, rotation

#: The most closures of a file, and the largest error of a rotation matrix.
MOST, ORTHOGONAL = 10_000, 1e-6
_KEYS = ("name", "inner", "outer", "joint", "placement", "rows")
_NEEDED = ("name", "inner", "outer")


def closures_to_json(closures: Sequence[Closure]) -> str:
    """Return closures as JSON; `closures_from_json` gives the same back."""
    return json.dumps([_shown(c) for c in closures], indent=2) + "\n"


def closures_from_json(text: str | bytes, *, source: str = "<string>") -> tuple[Closure, ...]:
    """Return the closures of a JSON text, or raise a FormatError."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", source=source) from None
    if not isinstance(data, list) or len(cast("list[Any]", data)) > MOST:
        raise FormatError(
            f"expected a list of at most {MOST} closures, got {type(data).__name__}", source=source
        )
    found: list[Closure] = []
    for k, x in enumerate(cast("list[Any]", data)):
        try:
            found.append(_closure(x))
        except (HingeError, TypeError, ValueError) as error:
            raise FormatError(f"closure {k}: {error}", source=source) from None
    return tuple(found)


def joint_of(kind: str, given: Mapping[str, Any]) -> joints.JointType | SoftFinger:
    """Return the joint type of a kind with these fields, or raise a ValueError."""
    types: dict[str, type[Any]] = {**joints.JOINT_TYPES, SoftFinger.kind: SoftFinger}
    if kind not in types:
        hint = did_you_mean(kind, types) or f"there are {', '.join(types)}"
        raise ValueError(f"joint: expected a kind of joint, got {kind!r}; {hint}")
    known = {f.name for f in fields(types[kind]) if f.init}
    for name in given:
        if name not in known:
            those = ", ".join(sorted(known)) or "none"
            raise ValueError(f"joint: {kind} has no field {name!r}; its fields: {those}")
    return types[kind](**{n: _number_or_axis(x, n) for n, x in given.items()})


def _shown(c: Closure) -> dict[str, Any]:
    joint = {f.name: getattr(c.joint, f.name) for f in fields(cast("Any", c.joint)) if f.init}
    found: dict[str, Any] = {"name": c.name, "inner": c.inner, "outer": c.outer}
    found["joint"] = {"kind": c.joint.kind, **{n: np.asarray(x).tolist() for n, x in joint.items()}}
    if not c.placement.is_identity():
        place = {"position": c.placement.position.tolist(), "rotation": c.placement.rotation.tolist()}
        found["placement"] = place
    return found if c.rows is None else {**found, "rows": list(c.rows)}


def _closure(x: Any) -> Closure:
    given = _object(x, "a closure", _KEYS)
    for name in _NEEDED:
        if name not in given:
            raise ValueError(f"expected {', '.join(_NEEDED)}, got no {name!r}")
    name, inner, outer = (given[n] for n in _NEEDED)
    if (
        not isinstance(name, str)
        or not isinstance(outer, str)
        or not (inner is None or isinstance(inner, str))
    ):
        raise ValueError("name, inner, outer: expected names, inner may be null for the world")
    joint = _object(given.get("joint", {"kind": "fixed"}), "joint", None)
    kind = joint.pop("kind", None)
    rows = given.get("rows")
    if rows is not None and not (
        isinstance(rows, list) and all(isinstance(r, str) for r in cast("list[Any]", rows))
    ):
        raise ValueError(f"rows: expected a list of names such as 'vx', got {rows!r}")
    kept = None if rows is None else tuple(cast("list[str]", rows))
    return Closure(
        name, inner, outer, joint_of(str(kind), joint), _placement(given.get("placement", {})), kept
    )


def _placement(x: Any) -> Transform:
    given = _object(x, "placement", ("position", "rotation", "rpy"))
    if "rotation" in given and "rpy" in given:
        raise ValueError("placement: expected rotation or rpy, got both")
    turn: Array | None = None
    if "rpy" in given:
        turn = rotation.tidied(rotation.from_rpy(_numbers(given["rpy"], (3,), "rpy")))
    elif "rotation" in given:
        turn = _numbers(given["rotation"], (3, 3), "rotation")
        if np.abs(turn @ turn.T - np.eye(3)).max() > ORTHOGONAL or np.linalg.det(turn) < 0:
            raise ValueError("rotation: expected an orthogonal matrix of determinant 1")
    return Transform.place(turn, _numbers(given.get("position", [0.0, 0.0, 0.0]), (3,), "position"))


def _object(x: Any, what: str, keys: Sequence[str] | None) -> dict[str, Any]:
    if not isinstance(x, dict):
        raise ValueError(f"{what}: expected an object, got {x!r}"[:200])
    found = dict(cast("dict[str, Any]", x))
    for key in found:
        if keys is not None and key not in keys:
            raise ValueError(f"{what}: expected {', '.join(keys)}, got {key!r}")
    return found


def _numbers(x: Any, shape: tuple[int, ...], name: str) -> Array:
    try:
        found = np.array(x, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != shape or not (np.abs(found) <= LARGEST).all():
        size = " × ".join(map(str, shape))
        raise ValueError(f"{name}: expected {size} finite numbers, got {x!r}"[:200])
    return found


def _number_or_axis(x: Any, name: str) -> Any:
    """Return a number, or three of them as a tuple."""
    if isinstance(x, list):
        a, b, c = _numbers(x, (3,), name).tolist()
        return a, b, c
    if isinstance(x, bool) or not isinstance(x, int | float):
        raise ValueError(f"{name}: expected a number or three, got {x!r}"[:200])
    return float(_numbers(x, (), name))
