"""Compile foreign MJCF with MuJoCo, in a process of its own.

A few bytes of MJCF can ask for any amount of work: nested repetitions, attached models, built-in meshes,
packed pictures, meshes that MuJoCo decomposes. No list of bounds on elements would be complete, and MuJoCo's
code cannot be interrupted. So a child process compiles, in bounded time and memory (`mjcf_child.py`), and
this process reads the compiled model. A crash of MuJoCo ends the child alone.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hinge.errors import FormatError, MissingExtraError
from hinge.io import mjcf_child
from hinge.io.mjcf_documents import copied

#: The most seconds (by the clock and of work) and bytes of memory that compilation may take.
SECONDS, BYTES = 20.0, 2 * 2**30

#: How to load what is refused here.
TRUST = (
    "; if you trust the file, compile it yourself: hinge.io.from_mujoco(mujoco.MjModel.from_xml_path(path))"
)


def the_mujoco() -> Any:
    """Return the package mujoco, or raise a MissingExtraError."""
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError(
            "MJCF needs MuJoCo, which is not installed; pip install 'hinge[mjcf]'"
        ) from None
    return mujoco


def compiled(path: Path, root: Path) -> Any:
    """Return the `mujoco.MjModel` of an MJCF file that names files only under `root`."""
    mujoco = the_mujoco()
    with TemporaryDirectory(prefix="hinge-mjcf-") as folder:
        model, out = copied(path, root, Path(folder)), Path(folder) / "model.mjb"
        _compile(mujoco, path, model, out)
        try:
            return mujoco.MjModel.from_binary_path(str(out))
        except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as error:
            raise FormatError(f"cannot be compiled: {error}", source=str(path)) from None


def _compile(mujoco: Any, path: Path, model: Path, out: Path) -> None:
    """Run the child process, or raise a FormatError that says why there is no model."""
    plugins = str(getattr(mujoco, "PLUGINS_DIR", ""))
    child = [sys.executable, "-I", "-S", mjcf_child.__file__]
    words = [_library(mujoco), plugins, str(model), str(out), str(SECONDS), str(BYTES)]
    try:
        if not sys.executable or getattr(sys, "frozen", False):
            raise FileNotFoundError("no Python interpreter is known")
        done = subprocess.run(
            [*child, *words],
            cwd=out.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=4 * SECONDS + 10,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FormatError(_too_much(mjcf_child.SLOW), source=str(path)) from None
    except OSError as error:
        reason = f"cannot start a process to compile it: {error}{TRUST}"
        raise FormatError(reason, source=str(path)) from None
    if done.returncode in (mjcf_child.SLOW, mjcf_child.LARGE):
        raise FormatError(_too_much(done.returncode), source=str(path))
    if done.returncode or not out.exists():
        said = done.stdout if done.returncode == mjcf_child.REFUSED else done.stderr[-1000:]
        reason = " ".join(said.decode("utf-8", "replace").split()) or f"it ended with code {done.returncode}"
        raise FormatError(f"MuJoCo does not compile it: {reason}", source=str(path))


def _too_much(code: int) -> str:
    limit = f"{SECONDS:g} s" if code == mjcf_child.SLOW else f"{BYTES / 2**30:g} GiB of memory"
    return f"takes more than {limit} to compile, the limit{TRUST}"


def _library(mujoco: Any) -> str:
    """Return the path of MuJoCo's library.

    Where it does not lie in the package (conda), a module that is linked against it does as well.
    """
    patterns = ("libmujoco*.so*", "libmujoco*.dylib", "mujoco.dll")
    found = [p for folder in mujoco.__path__ for pattern in patterns for p in Path(folder).glob(pattern)]
    return str(found[0] if found else mujoco._structs.__file__)
