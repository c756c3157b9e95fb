"""Flexible bodies as files of arrays, .npz without pickles.

The arrays are those of `Flexible` by name: masses, positions, shapes, stiffness, damping, limit, and second
where the field is quadratic; attachments are `names` (f,), `turns` (f, 3, 3), `places` (f, 3),
`frame_shapes` (f, 6, n) and `frame_seconds` (f, 3, n, n), what pictures draw is line_positions, line_shapes,
line_second. `format` is 1. Files are untrusted: sizes are bounded before anything is read, and nothing but
numbers and names is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from hinge.errors import FormatError, HingeError
from hinge.model import Attachment, Flexible, Line
from hinge.spatial import Array, Transform

FORMAT = 1
#: Bounds on a file: bytes when unpacked, arrays, points, modes and attachments.
MOST_BYTES, MOST_ARRAYS = 256_000_000, 20
MOST_POINTS, MOST_MODES, MOST_FRAMES = 100_000, 200, 1000
_FIELDS = ("masses", "positions", "shapes", "stiffness", "damping", "limit")
_FRAMES = ("names", "turns", "places", "frame_shapes")
_OPTIONAL = ("second", "frame_seconds", "line_positions", "line_shapes", "line_second")


class _ContentError(Exception):
    """Says what a file has that no body has."""


def write_flexible(flexible: Flexible, path: str | Path) -> None:
    """Write a flexible body, exactly; `read_flexible` gives it back."""
    if not isinstance(flexible, Flexible):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise HingeError(f"flexible: expected a hinge.Flexible, got {type(flexible).__name__}")
    n, frames = flexible.modes, flexible.frames
    found: dict[str, Array] = {name: getattr(flexible, name) for name in _FIELDS}
    if flexible.second is not None:
        found["second"] = flexible.second
    found["turns"] = np.array([f.placement.E for f in frames]).reshape(-1, 3, 3)
    found["places"] = np.array([f.placement.r for f in frames]).reshape(-1, 3)
    found["frame_shapes"] = np.array([f.shapes for f in frames]).reshape(-1, 6, n)
    if any(f.second is not None for f in frames):
        nothing = np.zeros((3, n, n))
        found["frame_seconds"] = np.array([nothing if f.second is None else f.second for f in frames])
    names: Any = np.array([f.name for f in frames], dtype=np.str_)
    if flexible.line is not None:
        found["line_positions"], found["line_shapes"] = flexible.line.positions, flexible.line.shapes
        if flexible.line.second is not None:
            found["line_second"] = flexible.line.second
    with Path(path).open("wb") as file:
        np.savez_compressed(file, format=np.array(FORMAT), names=names, **found)  # pyright: ignore[reportArgumentType]


def read_flexible(path: str | Path) -> Flexible:
    """Return the flexible body of a file, or raise a FormatError."""
    source = str(path)
    try:
        _refuse_large(path)
        with np.load(path, allow_pickle=False) as data:
            given = {name: data[name] for name in data.files}
        return _made(given)
    except FileNotFoundError:
        raise
    except _ContentError as error:
        raise FormatError(str(error), source=source) from None
    except (OSError, ValueError, KeyError, BadZipFile, HingeError, EOFError, MemoryError) as error:
        raise FormatError(f"is not a flexible body: {error}", source=source) from None


def _refuse_large(path: str | Path) -> None:
    """Refuse files that unpack to more than is read."""
    with ZipFile(path) as zipped:
        members = zipped.infolist()
        size = sum(m.file_size for m in members)
    if len(members) > MOST_ARRAYS or size > MOST_BYTES:
        raise _ContentError(
            f"has {len(members)} arrays of {size} bytes; at most {MOST_ARRAYS} of {MOST_BYTES} bytes are read"
        )


def _made(given: dict[str, Any]) -> Flexible:
    if "format" not in given or given["format"].shape != () or int(given["format"]) != FORMAT:
        raise _ContentError(f"is not a flexible body: expected an array format = {FORMAT}")
    for name in (*_FIELDS, *_FRAMES):
        if name not in given:
            raise _ContentError(f"has no array {name!r}")
    for name in (*_FIELDS, *_FRAMES[1:], *(n for n in _OPTIONAL if n in given)):
        if given[name].dtype.kind not in "fiu":
            raise _ContentError(f"{name}: expected numbers, got {given[name].dtype}")
    shape = given["shapes"].shape
    if len(shape) != 3 or shape[0] > MOST_POINTS or shape[2] > MOST_MODES:
        raise _ContentError(
            f"shapes: expected at most {MOST_POINTS} points with {MOST_MODES} modes, got shape {shape}"
        )
    n, names = shape[2], given["names"]
    f = len(names) if names.ndim == 1 and names.dtype.kind == "U" else -1
    wanted = {"turns": (f, 3, 3), "places": (f, 3), "frame_shapes": (f, 6, n), "frame_seconds": (f, 3, n, n)}
    for name, size in wanted.items():
        if name in given and (given[name].shape != size or not 0 <= f <= MOST_FRAMES):
            raise _ContentError(
                f"{name}: expected shape {size} for names {names.shape}, got {given[name].shape}"
            )
    seconds = given.get("frame_seconds", [None] * f)
    frames = [
        Attachment(str(name), Transform(e, r), shapes, second)
        for name, e, r, shapes, second in zip(
            names, given["turns"], given["places"], given["frame_shapes"], seconds, strict=True
        )
    ]
    _refuse_turned(frames)
    own = {name: given[name] for name in _FIELDS}
    line = None
    if "line_positions" in given and "line_shapes" in given:
        line = Line(given["line_positions"], given["line_shapes"], given.get("line_second"))
    return Flexible(**own, second=given.get("second"), frames=tuple(frames), line=line)


def _refuse_turned(frames: list[Attachment]) -> None:
    for f in frames:
        e = f.placement.E
        if not np.abs(e @ e.T - np.eye(3)).max() < 1e-6 or np.linalg.det(e) < 0:
            raise _ContentError(f"turns: expected rotations, got none for attachment {f.name!r}")
