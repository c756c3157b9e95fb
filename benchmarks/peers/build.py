"""Build Pinocchio's algorithms natively with each compiler that is found, and keep the libraries."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

SOURCE = Path(__file__).with_name("native.cpp")
FLAGS = (
    "-O3", "-march=native", "-DNDEBUG", "-std=c++17", "-w", "-fPIC", "-shared",
    "-fvisibility=hidden", "-fvisibility-inlines-hidden",
)  # fmt: skip

#: What the wheel's own build defines: Pinocchio's list of joint types is longer than Boost's usual limit.
DEFINED = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)


@dataclass(frozen=True)
class Compiler:
    """A compiler: its short name, where it is, and what it says of itself."""

    name: str
    path: str
    version: str


@cache
def compilers() -> tuple[Compiler, ...]:
    """Return the compilers named by $HINGE_BENCH_CXX, else clang++ and g++, that are there."""
    found: list[Compiler] = []
    for given in os.environ.get("HINGE_BENCH_CXX", "clang++ g++").split():
        path = shutil.which(given)
        if path is not None:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            name = "clang" if "clang" in said else "gcc"
            found.append(Compiler(name, path, said.splitlines()[0]))
    return tuple(found)


def eigen() -> Path | None:
    """Return the folder of Eigen's headers: of the package cmeel-eigen, or the system's."""
    given = os.environ.get("HINGE_BENCH_EIGEN")
    places = [Path(given)] if given else []
    places += [_prefix() / "include/eigen3", Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3")]
    return next((p for p in places if (p / "Eigen/Core").exists()), None)


def missing() -> str:
    """Return why nothing can be built, or an empty text."""
    if not compilers():
        return "no compiler"
    if not (_prefix() / "include/pinocchio/algorithm/aba.hpp").exists():
        return "no Pinocchio headers"
    return "" if eigen() else "no Eigen headers"


def library(compiler: Compiler) -> Path | None:
    """Return the library that the compiler makes, built now or before; None if it does not build."""
    parts = [SOURCE.read_text("utf-8"), compiler.version, version("pin"), *FLAGS, *DEFINED, _processor()]
    parts.append(_eigen_version())
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    path = _cache() / f"pinocchio-{compiler.name}-{key}.so"
    return path if path.exists() or _built(compiler, path) else None


def _built(compiler: Compiler, path: Path) -> bool:
    """Build the library; say so, since it takes minutes."""
    print(f"building Pinocchio with {compiler.version}: minutes, once …", file=sys.stderr, flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    headers = [f"-isystem{_prefix() / 'include'}", f"-isystem{eigen()}"]
    more = ["-fno-gnu-unique"] if compiler.name == "gcc" else []
    command = [compiler.path, *FLAGS, *more, *DEFINED, *headers, str(SOURCE), "-o", str(part)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print("\n".join(done.stderr.splitlines()[:20]), file=sys.stderr)
        return False
    part.replace(path)
    return True


def _prefix() -> Path:
    return Path(sysconfig.get_path("purelib")) / "cmeel.prefix"


def _cache() -> Path:
    usual = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hinge-benchmarks"
    return Path(os.environ.get("HINGE_BENCH_CACHE", usual))


def _eigen_version() -> str:
    folder = eigen()
    macros = None if folder is None else folder / "Eigen/src/Core/util/Macros.h"
    if macros is None or not macros.exists():
        return ""
    return " ".join(x for x in macros.read_text("utf-8").splitlines() if "_VERSION " in x and "define" in x)


def _processor() -> str:
    """Return what -march=native depends on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else [platform.processor()]
    return "".join(x for x in lines if x.startswith(("model name", "flags", "Features")))
