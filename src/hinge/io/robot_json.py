"""Robots as JSON, exactly: every part by its class and fields, so that nothing is lost or rounded.

A file can name classes of the model only; nothing else is ever constructed from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np

from hinge import model
from hinge.errors import FormatError, HingeError
from hinge.model import (
    PARTS,
    Attachment,
    Body,
    Closure,
    Contact,
    Coupling,
    Flexible,
    Frame,
    HeightField,
    Joint,
    Line,
    Loop,
    Plane,
    Robot,
    SoftFinger,
    joints,
    make_robot,
)
from hinge.spatial import Inertia, Transform

#: The key under which a part's class stands, and the version of the format.
KIND, VERSION = "is", 1
#: Fields set by `assemble`.
MADE: dict[type[Any], set[str]] = {Joint: {"q_slice", "qd_slice"}}
#: The parts that a file must have.
REQUIRED = ("bodies", "joints", "frames", "couplings", "gravity")
#: The key of the height fields, which stand once for all contacts on them; such a contact has their number.
FIELDS = "height fields"
MOST_CHARACTERS = 64_000_000
LONGEST_INTEGER = 300


@cache
def _classes() -> dict[str, type[Any]]:
    """Return the allowed classes by name."""
    shapes = [getattr(model, n) for n in ("Box", "Capsule", "Cylinder", "Mesh", "Sphere", "Shape")]
    types = [getattr(joints, n) for n in joints.__all__]
    found = [
        Attachment,
        Body,
        Closure,
        Contact,
        Coupling,
        Flexible,
        Frame,
        HeightField,
        Inertia,
        Joint,
        Loop,
        Plane,
        SoftFinger,
    ]
    found += [Line]
    found += [Transform, *shapes, *types]
    return {c.__name__: c for c in found if isinstance(c, type) and is_dataclass(c)}


def to_json(robot: Robot) -> str:
    """Return a robot as JSON; `from_json` gives the same robot back."""
    grounds = list(dict.fromkeys(c.surface for c in robot.contacts if isinstance(c.surface, HeightField)))
    parts = {n: _plain(getattr(robot, n)) for n in PARTS if n != "contacts"}
    parts["contacts"] = [_plain_contact(c, grounds) for c in robot.contacts]
    more = {FIELDS: [_plain(x) for x in grounds]} if grounds else {}
    return json.dumps({"hinge robot": VERSION, "name": robot.name, **parts, **more})


def from_json(text: str | bytes, *, source: str = "<string>") -> Robot:
    """Return the robot of a JSON text, or raise a FormatError."""
    if len(text) > MOST_CHARACTERS:
        raise FormatError(f"has {len(text)} characters; at most {MOST_CHARACTERS} are read", source=source)
    try:
        data = json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", source=source) from None
    if not isinstance(data, dict) or data.get("hinge robot") != VERSION:
        raise FormatError(f'is not a robot: expected an object with "hinge robot": {VERSION}', source=source)
    given = cast("dict[str, Any]", data)
    try:
        data = {n: given[n] if n in REQUIRED else given.get(n, []) for n in PARTS}
        grounds = [_part(x) for x in given.get(FIELDS, [])]
        data["contacts"] = [_with_field(c, grounds) for c in data["contacts"]]
        parts = {n: _part(x) for n, x in data.items()}
        return make_robot(str(given["name"]), **parts)
    except KeyError as error:
        raise FormatError(f"has no {error.args[0]!r}", source=source) from None
    except (TypeError, ValueError, AttributeError, HingeError) as error:
        raise FormatError(f"is not a robot: {error}", source=source) from None


def _integer(digits: str) -> int:
    """Return an integer of a file; one that no float can hold would fail later, elsewhere."""
    if len(digits) > LONGEST_INTEGER:
        raise ValueError(f"expected integers of at most {LONGEST_INTEGER} digits, got {len(digits)}")
    return int(digits)


def _plain(x: Any) -> Any:
    """Return a value as JSON data; arrays are {"array": …}, to tell them from tuples."""
    if isinstance(x, np.ndarray):
        return {"array": x.tolist()}
    if isinstance(x, tuple):
        return [_plain(item) for item in cast("tuple[Any, ...]", x)]
    if is_dataclass(x) and not isinstance(x, type):
        left = MADE.get(type(x), set())
        shown = [f.name for f in fields(x) if f.init and f.name not in left]
        return {KIND: type(x).__name__, **{n: _plain(getattr(x, n)) for n in shown}}
    if isinstance(x, np.generic):
        return x.item()
    return x


def _plain_contact(contact: Contact, grounds: Sequence[HeightField]) -> dict[str, Any]:
    """Return a contact as JSON data, on a height field by its number."""
    s = contact.surface
    if isinstance(s, HeightField):
        return {**_plain(replace(contact, surface=Plane())), "surface": grounds.index(s)}
    return _plain(contact)


def _with_field(x: Any, grounds: Sequence[HeightField]) -> Any:
    """Return the JSON data of a contact with the height field itself in place of its number."""
    k = cast("dict[str, Any]", x).get("surface") if isinstance(x, dict) else None
    if not isinstance(k, int) or isinstance(k, bool):
        return x
    if not 0 <= k < len(grounds):
        raise ValueError(f"surface: expected one of {len(grounds)} {FIELDS}, got number {k}")
    return {**x, "surface": grounds[k]}


def _part(x: Any) -> Any:
    """Return the value of JSON data."""
    if isinstance(x, list):
        return tuple(_part(item) for item in cast("list[Any]", x))
    if not isinstance(x, dict):
        return x
    given = cast("dict[str, Any]", x)
    if given.keys() == {"array"}:
        return np.array(given["array"], dtype=np.float64)
    made = _classes().get(str(given.get(KIND)))
    if made is None:
        raise ValueError(f"expected a class of the model, got {given.get(KIND)!r}")
    return made(**{n: _part(value) for n, value in given.items() if n != KIND})
