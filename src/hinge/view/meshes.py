"""Meshes of a robot, read only from inside its own folder.

A robot's file is not trusted: its mesh names may be any path. A path out of the folder, by '..', as an
absolute path, as a URL or through a symbolic link, is refused, as is a file that is too large or not a
regular file. A mesh is read from its bytes alone, so that it cannot name further files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from hinge.errors import ArgumentError, HingeError, ModelError
from hinge.model import Mesh
from hinge.spatial import Array
from hinge.view.extras import trimesh

#: Most bytes of a file and of all files of a robot, and most triangles of a mesh.
LARGEST_FILE, LARGEST_ALL, MOST_FACES = 50_000_000, 300_000_000, 2_000_000
#: Most characters of a mesh's file name.
LONGEST_NAME = 1000

#: Supported formats by file extension.
FORMATS = ("stl", "obj", "ply", "off", "glb", "dae")

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):")


@dataclass(frozen=True, eq=False)
class Surface:
    """A triangle mesh: vertices (n, 3) in m, faces (m, 3), and a colour if the file has one."""

    vertices: Array
    faces: Array
    rgb: tuple[float, float, float] | None = None


class Meshes:
    """The meshes of one robot; each file is read once."""

    def __init__(self, folder: str | Path | None) -> None:
        self._folder = None if folder is None else checked_folder(folder)
        self._read: dict[Path, Surface] = {}
        self._bytes = 0

    def surface(self, mesh: Mesh) -> Surface:
        """Return a mesh in the coordinates of its shape, or raise a ModelError."""
        if self._folder is None:
            raise ModelError(
                f"mesh {mesh.filename!r}: give folder=, the folder that the robot's files are in"
            )
        path = locate(mesh.filename, self._folder)
        if path not in self._read:
            self._read[path] = self._load(path, mesh.filename)
        found = self._read[path]
        faces = found.faces[:, ::-1] if np.prod(mesh.scale) < 0 else found.faces
        return Surface(found.vertices * np.array(mesh.scale), faces, found.rgb)

    def _load(self, path: Path, name: str) -> Surface:
        kind = path.suffix.lower().lstrip(".")
        if kind not in FORMATS:
            raise ModelError(f"mesh {name!r}: expected a file of type {', '.join(FORMATS)}, got {kind!r}")
        data = _bytes_of(path, name)
        self._bytes += len(data)
        if self._bytes > LARGEST_ALL:
            raise ModelError(f"mesh {name!r}: the meshes have more than {LARGEST_ALL:,} bytes together")
        if kind == "dae" and (b"<!" in data.replace(b"<!--", b"") or b"\0" in data):
            raise ModelError(f"mesh {name!r}: document type declarations are not supported")
        try:
            return _surface(trimesh().load_mesh(BytesIO(data), file_type=kind))
        except HingeError:
            raise
        except ImportError:
            raise ModelError(
                f"mesh {name!r}: COLLADA files need pycollada, which is not installed; "
                'pip install "hinge[view]"'
            ) from None
        except Exception as error:  # a reader may raise anything
            raise ModelError(f"mesh {name!r}: cannot be read ({type(error).__name__}: {error})") from None


def locate(filename: str, folder: Path) -> Path:
    """Return the path of a mesh's file inside a folder, or raise a ModelError.

    `package://name/path` is resolved as name/path, then as path, and so on without leading parts: the
    folder may be that of the package, or one above or below it.
    """
    if len(filename) > LONGEST_NAME:
        raise ModelError(f"mesh {filename[:40]!r} …: its name is too long")
    scheme = _SCHEME.match(filename)
    candidates = [filename]
    if scheme is not None:
        if scheme[1].lower() not in ("package", "model") or not filename[scheme.end() :].startswith("//"):
            raise ModelError(f"mesh {filename!r}: expected a path inside the robot's folder, got an address")
        parts = filename[scheme.end() + 2 :].split("/")
        candidates = ["/".join(parts[k:]) for k in range(len(parts)) if parts[k]]
    if "\\" in filename or "\0" in filename:
        raise ModelError(f"mesh {filename!r}: expected a path, got a character that is not allowed in one")
    root = folder.resolve()
    for candidate in candidates:
        path = _inside(candidate, root, filename)
        if path is not None:
            return path
    raise ModelError(f"mesh {filename!r}: is not in the robot's folder; folder= says which that is")


def checked_folder(folder: str | Path) -> Path:
    """Return an existing folder, or raise an ArgumentError."""
    if not isinstance(folder, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"folder: expected the path of the robot's folder, got {type(folder).__name__}")
    path = Path(folder)
    if not path.is_dir():
        raise ArgumentError(
            f"folder: expected the folder with the robot's files, got {str(folder)!r}, which is no folder"
        )
    return path


def _inside(candidate: str, root: Path, filename: str) -> Path | None:
    """Return the resolved path, None if it is no regular file; refuse paths outside the folder."""
    if Path(candidate).is_absolute():
        raise ModelError(
            f"mesh {filename!r}: expected a path inside the robot's folder, got an absolute path"
        )
    try:
        path = (root / candidate).resolve()
        plain = path.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        raise ModelError(f"mesh {filename!r}: expected a path ({error})") from None
    if not path.is_relative_to(root):
        raise ModelError(f"mesh {filename!r}: leads out of the robot's folder")
    return path if plain else None


def _bytes_of(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ModelError(f"mesh {name!r}: cannot be opened ({error.strerror})") from None
    if len(data) > LARGEST_FILE:
        raise ModelError(f"mesh {name!r}: has more than {LARGEST_FILE:,} bytes")
    return data


def _surface(mesh: Any) -> Surface:
    vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
    if not len(faces) or not np.isfinite(vertices).all():
        raise ModelError("expected triangles with finite corners")
    if len(faces) > MOST_FACES:
        raise ModelError(f"expected at most {MOST_FACES:,} triangles, got {len(faces):,}")
    return Surface(vertices, faces, _color(mesh))


def _color(mesh: Any) -> tuple[float, float, float] | None:
    visual = getattr(mesh, "visual", None)
    if visual is None or not getattr(visual, "defined", False):
        return None
    try:
        found = visual if hasattr(visual, "main_color") else visual.to_color()
        r, g, b = (float(x) / 255 for x in found.main_color[:3])
    except Exception:  # an unreadable colour is ignored
        return None
    return r, g, b
