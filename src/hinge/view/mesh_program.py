"""The child process that reads meshes: bytes in, triangles out, within a limit of memory.

It is run as a file of its own and imports nothing of Hinge, so that it starts at once. For each mesh it gets
a line of JSON (kind, size, most_faces) and the bytes; it answers a line of JSON and the numbers of vertices
and faces. Its parent bounds its time.
"""

from __future__ import annotations

import json
import os
import sys
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

try:
    import resource
except ImportError:  # not on every system
    resource = None


def main() -> None:
    """Answer until there is nothing more to read."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what readers print does not come between
    import trimesh  # noqa: PLC0415 (an optional package)

    bound_memory(int(sys.argv[1]))
    send(answers, {"ready": True})
    while line := sys.stdin.buffer.readline():
        job = json.loads(line)
        data = sys.stdin.buffer.read(job["size"])
        try:
            mesh = trimesh.load_mesh(BytesIO(data), file_type=job["kind"])
            head, arrays = described(mesh, job["most_faces"])
        except MemoryError:
            send(answers, {"memory": True})
            return
        except ImportError as error:
            head, arrays = {"missing": str(error.name or error)}, ()
        except Exception as error:  # a reader may raise anything
            head, arrays = {"error": f"cannot be read ({type(error).__name__}: {error})"[:500]}, ()
        send(answers, head, *arrays)


def described(mesh: Any, most_faces: int) -> tuple[dict[str, Any], tuple[bytes, ...]]:
    """Return the answer on a mesh: its sizes and colour, and the numbers of vertices and faces."""
    vertices = np.ascontiguousarray(mesh.vertices, dtype=np.float64)
    faces = np.ascontiguousarray(mesh.faces, dtype=np.int64)
    if not len(faces) or not np.isfinite(vertices).all():
        return {"error": "expected triangles with finite corners"}, ()
    if len(faces) > most_faces:
        return {"error": f"expected at most {most_faces:,} triangles, got {len(faces):,}"}, ()
    head = {"vertices": len(vertices), "faces": len(faces), "rgb": color(mesh)}
    return head, (vertices.tobytes(), faces.tobytes())


def color(mesh: Any) -> tuple[float, float, float] | None:
    """Return the colour of a mesh, None without one."""
    visual = getattr(mesh, "visual", None)
    if visual is None or not getattr(visual, "defined", False):
        return None
    try:
        found = visual if hasattr(visual, "main_color") else visual.to_color()
        r, g, b = (float(x) / 255 for x in found.main_color[:3])
    except Exception:  # an unreadable colour is ignored
        return None
    return r, g, b


def bound_memory(more: int) -> None:
    """Let this process take so many bytes more than it has, on systems that can bound it."""
    if resource is None:
        return
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError):
        return


def send(file: BinaryIO, head: dict[str, Any], *arrays: bytes) -> None:
    """Write an answer."""
    file.write(json.dumps(head).encode() + b"\n")
    for data in arrays:
        file.write(data)
    file.flush()


if __name__ == "__main__":
    main()
