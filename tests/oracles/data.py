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
    """Return every XML file of gymnasium, dm_control and mujoco that may be MJCF; MJX is a package inside."""
    found = (path for root in _package_roots() for path in root.rglob("*.xml"))
    return sorted(path for path in found if "mjx" not in path.parts)


def package_root(path: Path) -> Path:
    """Return the folder of the package that a file belongs to."""
    return next(root for root in _package_roots() if path.is_relative_to(root))


def _package_roots() -> list[Path]:
    specs = [importlib.util.find_spec(name) for name in ("gymnasium", "dm_control", "mujoco")]
    return [Path(s.origin).parent for s in specs if s is not None and s.origin is not None]


def example(name: str) -> Path:
    """Return the URDF file of this name, for example "panda.urdf"."""
    return next(p for p in example_urdfs() if p.name == name)
