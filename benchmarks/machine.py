"""What the measurements were made on and with: processor, instruction set, versions, date."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path

from benchmarks.peers.build import compilers

PACKAGES = ("hinge", "numpy", "llvmlite", "pin", "mujoco", "casadi", "jax", "mujoco-mjx")

#: Instruction sets worth a name, the widest first, as the kernel calls them.
SETS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "asimd": "NEON", "sse2": "SSE2"}


def machine() -> dict[str, str]:
    """Return everything by name."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": processor(),
        "instruction set": instruction_set(),
        "cores": str(os.cpu_count()),
        "load at the start": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown",
        "threads": "1 unless said",
        "Python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "compilers": "; ".join(c.version for c in compilers()) or "none",
    }


def version(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def processor() -> str:
    """Return the processor's name."""
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def instruction_set() -> str:
    """Return the widest set of vector instructions."""
    flags = (_cpuinfo("flags") or _cpuinfo("Features")).split()
    return next((name for flag, name in SETS.items() if flag in flags), platform.machine())


def _cpuinfo(key: str) -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "")
