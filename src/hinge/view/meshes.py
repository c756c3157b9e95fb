"""Meshes of a robot, read only from inside its own folder.

A robot's file is not trusted: its mesh names may be any path. A path out of the folder, by '..', as an
absolute path, as a URL or through a symbolic link, is refused, as is a file that is too large or not a
regular file. A mesh is read from its bytes alone, so that it cannot name further files, and by a child
process with limits of time and memory.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import numpy as np

from hinge.errors import ArgumentError, ModelError
from hinge.model import Mesh
from hinge.view.mesh_reader import MeshReader, Surface

#: Most bytes of a file and of all files of a robot, and most triangles of a mesh.
LARGEST_FILE, LARGEST_ALL, MOST_FACES = 50_000_000, 300_000_000, 2_000_000
#: How many folders above the robot's are looked at for advice.
ABOVE = 6
#: Most characters of a mesh's file name.
LONGEST_NAME = 1000

#: Supported formats by file extension.
FORMATS = ("stl", "obj", "ply", "off", "glb", "dae")

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):")


class AbsentError(ModelError):
    """A mesh that is not in the robot's folder, or there is no folder."""


class Meshes:
    """The meshes of one robot; each file is read once, also one that is refused."""

    def __init__(self, folder: str | Path | None, reader: MeshReader | None = None) -> None:
        self._folder = None if folder is None else checked_folder(folder)
        self._reader = reader or MeshReader()
        self._read: dict[Path, Surface | str] = {}
        self._bytes = 0

    def surface(self, mesh: Mesh) -> Surface:
        """Return a mesh in the coordinates of its shape, or raise a ModelError."""
        if self._folder is None:
            raise AbsentError(
                f"mesh {mesh.filename!r}: give folder= (--folder), the folder that the robot's files are in"
            )
        path = locate(mesh.filename, self._folder)
        if path not in self._read:
            try:
                self._read[path] = self._load(path, mesh.filename)
            except ModelError as error:
                self._read[path] = str(error)
        found = self._read[path]
        if isinstance(found, str):
            raise ModelError(found)
        faces = found.faces[:, ::-1] if np.prod(mesh.scale) < 0 else found.faces
        return Surface(found.vertices * np.array(mesh.scale), faces, found.rgb)

    def close(self) -> None:
        """End the reader."""
        self._reader.close()

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
            return self._reader.read(kind, data, MOST_FACES)
        except ModelError as error:
            raise ModelError(f"mesh {name!r}: {error}") from None


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
    likely = next((x for x in root.parents[:ABOVE] if _holds(x, candidates)), None)
    advice = "says which that is" if likely is None else f"{str(likely)!r} has it"
    raise AbsentError(f"mesh {filename!r}: is not in the robot's folder; folder= (--folder) {advice}")


def _holds(folder: Path, candidates: list[str]) -> bool:
    """Tell whether a folder holds a file by one of these paths, which do not lead out of it."""
    with contextlib.suppress(OSError, ValueError):
        return any(".." not in Path(c).parts and (folder / c).is_file() for c in candidates)
    return False


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
