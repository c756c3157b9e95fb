"""Meshes read by a child process, whose time and memory are bounded.

A small file can describe a mesh that fills the memory, or be slow to read; limits on what came out would be
too late. The child is ended when it takes too long, and started again for the next mesh.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hinge.errors import MissingExtraError, ModelError
from hinge.spatial import Array

#: Most seconds for a mesh and for all meshes of a robot, and most bytes of memory for reading.
LONGEST, LONGEST_ALL, MEMORY = 10.0, 40.0, 1_500_000_000
#: Most seconds for the start of the child.
START = 60.0

PROGRAM = Path(__file__).with_name("mesh_program.py")
#: The child finds packages where this process does; in isolated mode the current folder is not among them.
_LAUNCH = """
import json, runpy, sys
sys.path[:] = json.loads(sys.argv.pop())
runpy.run_path(sys.argv.pop(), run_name="__main__")
"""


@dataclass(frozen=True, eq=False)
class Surface:
    """A triangle mesh: vertices (n, 3) in m, faces (m, 3), and a colour if the file has one."""

    vertices: Array
    faces: Array
    rgb: tuple[float, float, float] | None = None


class MeshReader:
    """A reader of meshes from bytes; its process is started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[Any, Any] | None = None
        self._spent = 0.0

    def read(self, kind: str, data: bytes, most_faces: int) -> Surface:
        """Return the mesh in a file of this kind, or raise a ModelError."""
        if self._spent > LONGEST_ALL:
            raise ModelError(f"all meshes together take more than {LONGEST_ALL:g} s to read")
        process = self._started()
        began = time.monotonic()
        try:
            with _ended_after(process, LONGEST):
                return _asked(process, kind, data, most_faces)
        except ModelError:
            raise
        except (EOFError, OSError, ValueError):
            late = time.monotonic() - began >= LONGEST
            reason = (
                f"takes more than {LONGEST:g} s" if late else f"takes more than {MEMORY:,} bytes of memory"
            )
            self.close()
            raise ModelError(f"{reason} to read") from None
        finally:
            self._spent += time.monotonic() - began

    def close(self) -> None:
        """End the child process, if there is one."""
        if self._end is not None:
            self._end()
        self._process = self._end = None

    def __enter__(self) -> MeshReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None:
            return self._process
        places = json.dumps([str(x) for x in sys.path])
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _LAUNCH, str(MEMORY), str(PROGRAM), places],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        self._process, self._end = process, weakref.finalize(self, _ended, process)
        try:
            with _ended_after(process, START):
                _head(process)
        except (EOFError, OSError, ValueError):
            self.close()
            raise MissingExtraError(
                'meshes need trimesh, which is not installed or does not start; pip install "hinge[view]"'
            ) from None
        return process


def _asked(process: subprocess.Popen[bytes], kind: str, data: bytes, most_faces: int) -> Surface:
    assert process.stdin is not None
    job = {"kind": kind, "size": len(data), "most_faces": most_faces}
    process.stdin.write(json.dumps(job).encode() + b"\n" + data)
    process.stdin.flush()
    head = _head(process)
    if "memory" in head:
        raise EOFError
    if "missing" in head:
        raise ModelError(
            f'files of type {kind} need {head["missing"]}, which is not installed; pip install "hinge[view]"'
        )
    if "error" in head:
        raise ModelError(str(head["error"]))
    vertices = _numbers(process, np.float64, int(head["vertices"]))
    faces = _numbers(process, np.int64, int(head["faces"]))
    rgb = head["rgb"]
    return Surface(vertices, faces, None if rgb is None else (rgb[0], rgb[1], rgb[2]))


def _head(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return json.loads(line)


def _numbers(process: subprocess.Popen[bytes], dtype: Any, rows: int) -> Array:
    assert process.stdout is not None
    data = process.stdout.read(24 * rows)
    if len(data) != 24 * rows:
        raise EOFError
    return np.frombuffer(data, dtype=dtype).reshape(rows, 3)


@contextlib.contextmanager
def _ended_after(process: subprocess.Popen[bytes], seconds: float) -> Generator[None]:
    """End the process after so many seconds, so that what waits for it gets an end of file."""
    clock = threading.Timer(seconds, process.kill)
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
