"""Where the PyPI packages that ship robots keep their files."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path


def example_urdfs() -> list[Path]:
    """Return every URDF file of example-robot-data."""
    root = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
    return sorted(root.rglob("*.urdf"))


def packaged_mjcfs() -> list[Path]:
    """Return every XML file of gymnasium, dm_control and mujoco that may be MJCF."""
    found: list[Path] = []
    for package in ("gymnasium", "dm_control", "mujoco"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found.extend(Path(spec.origin).parent.rglob("*.xml"))
    return sorted(found)


def example(name: str) -> Path:
    """Return the URDF file of this name, for example "panda.urdf"."""
    return next(p for p in example_urdfs() if p.name == name)
