"""Compile an MJCF file in a process of its own, with bounds on memory and time.

Started by `mjcf_compiler.py` as a script, without the package and without site-packages, so that it takes
little longer than MuJoCo itself:

    python -I -S mjcf_child.py LIBRARY PLUGINS MODEL OUT SECONDS BYTES

MuJoCo's library is called by ctypes, which frees the interpreter for the thread that watches the bounds: the
same way on every system, also where the system has no limit of its own to set (macOS, Windows).
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from pathlib import Path

if sys.platform != "win32":
    import resource

#: Exit codes: refused by MuJoCo, with its reason on standard output; the bounds.
REFUSED, SLOW, LARGE = 3, 4, 5
#: Seconds between two looks at memory and time.
LOOK = 0.005


def main(words: list[str]) -> int:
    """Compile the model and save it in MuJoCo's binary format."""
    library, plugins, model, out, seconds, most = words
    bounds = time.monotonic(), float(seconds), int(most)
    threading.Thread(target=_watch, args=bounds, daemon=True).start()
    mujoco = ctypes.CDLL(library)
    _load_plugins(plugins)
    text = ctypes.c_char_p
    mujoco.mj_loadXML.restype = ctypes.c_void_p
    mujoco.mj_loadXML.argtypes = [text, ctypes.c_void_p, text, ctypes.c_int]
    mujoco.mj_saveModel.restype = None
    mujoco.mj_saveModel.argtypes = [ctypes.c_void_p, text, ctypes.c_void_p, ctypes.c_int64]
    reason = ctypes.create_string_buffer(1000)
    found = mujoco.mj_loadXML(os.fsencode(model), None, reason, len(reason))
    if not found:
        sys.stdout.buffer.write(reason.value)
        sys.stdout.buffer.flush()
        return REFUSED
    mujoco.mj_saveModel(found, os.fsencode(out), None, 0)
    _look(*bounds)  # a small model is done before the thread looks
    return 0


def _load_plugins(folder: str) -> None:
    """Load the plugins that come with MuJoCo; each registers itself."""
    for path in sorted(Path(folder).iterdir()) if folder and Path(folder).is_dir() else ():
        if path.suffix in (".so", ".dylib", ".dll"):
            ctypes.CDLL(str(path))


def _watch(start: float, seconds: float, most: int) -> None:
    while True:
        _look(start, seconds, most)
        time.sleep(LOOK)


def _look(start: float, seconds: float, most: int) -> None:
    """End the process if it has taken too long or too much memory.

    Neither a busy machine, on which the clock runs ahead, nor many threads, which spend time faster, are
    held against a model.
    """
    if min(time.monotonic() - start, time.process_time()) > seconds:
        os._exit(SLOW)
    if resident() > most:
        os._exit(LARGE)


def resident() -> int:
    """Return the bytes of memory that this process uses."""
    if sys.platform == "linux":
        # Not getrusage: its maximum begins at that of the parent process.
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "win32":
        return _committed()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _committed() -> int:
    """Return the committed bytes of this process on Windows (PROCESS_MEMORY_COUNTERS, PagefileUsage)."""

    class Counters(ctypes.Structure):
        _fields_ = (("size", ctypes.c_uint32), ("faults", ctypes.c_uint32), ("bytes", ctypes.c_size_t * 8))

    kernel = ctypes.CDLL("kernel32")
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    kernel.K32GetProcessMemoryInfo.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32]
    found = Counters(ctypes.sizeof(Counters))
    kernel.K32GetProcessMemoryInfo(kernel.GetCurrentProcess(), ctypes.byref(found), found.size)
    return int(found.bytes[6])


if __name__ == "__main__":
    code = main(sys.argv[1:])
    os._exit(code)  # the system frees memory faster
