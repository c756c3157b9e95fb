"""Digests of values: that of a robot is independent of the file or function that made it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from struct import pack
from typing import Any

import numpy as np

from hinge.model.parts import Body
from hinge.model.robot import Robot
from hinge.model.surfaces import HeightField
from hinge.model.vectors import checked_robot

#: Fields left out: shapes, which do not affect dynamics, what a digest stands for, and derived fields.
LEFT_OUT = {
    "shapes",
    "tree",
    "independent",
    "nq",
    "nv",
    "_body_index",
    "_frame_index",
    "_joint_index",
    "heights",
    "size",
}


def fingerprint(robot: Robot) -> str:
    """Return the SHA-256 of everything in a robot but its shapes, 64 hexadecimal digits."""
    return digest(checked_robot(robot))


def digest(value: Any) -> str:
    """Return the SHA-256 of every field of a frozen value, and of what it holds; robots without shapes."""
    parts: list[bytes] = []
    _add(value, parts)
    return sha256(b"".join(parts)).hexdigest()


def _add(x: Any, parts: list[bytes]) -> None:
    """Hash a value unambiguously: type and size first."""
    if isinstance(x, float):
        parts.append(b"f" + pack("d", x))
    elif isinstance(x, np.ndarray):
        parts.append(f"a{x.dtype.str}{x.shape}".encode() + np.ascontiguousarray(x).tobytes())
    elif isinstance(x, str):
        data = x.encode("utf-8", "surrogatepass")
        parts.append(f"s{len(data)}:".encode() + data)
    elif isinstance(x, tuple):
        parts.append(f"t{len(x)}:".encode())
        for item in x:
            _add(item, parts)
    elif isinstance(x, frozenset):
        parts.append(f"u{len(x)}:".encode())
        for item in sorted(map(digest, x)):
            _add(item, parts)
    elif isinstance(x, Enum):
        parts.append(f"e{type(x).__qualname__}.{x.name};".encode())
    elif is_dataclass(x):
        parts.append(f"d{type(x).__module__}.{type(x).__qualname__}:".encode())
        left_out = LEFT_OUT if isinstance(x, Robot | Body | HeightField) else ()
        for f in fields(x):
            if f.name not in left_out:
                _add(getattr(x, f.name), parts)
    else:
        assert x is None or isinstance(x, int | slice), f"no way to write {type(x).__name__}"
        parts.append(f"r{x!r};".encode())
