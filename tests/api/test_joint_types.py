"""A joint type is known by what it states: past its own room nobody names one."""

from __future__ import annotations

import ast
from pathlib import Path

import hinge
from hinge.model.joints import JOINT_TYPES
from tests.api.law import nodes

SOURCE = Path(hinge.__file__).parent
#: Rooms that build robots or know other people's formats name types by nature.
FREE_TO_NAME = ("model", "io", "robots")
ROOMS = sorted(
    p.name for p in SOURCE.iterdir() if p.is_dir() and p.name not in (*FREE_TO_NAME, "__pycache__")
)
TYPES = {t.__name__ for t in JOINT_TYPES.values()}


def named(path: Path) -> set[str]:
    """Return the joint types that a file imports."""
    found = [x for x in nodes(path) if isinstance(x, ast.ImportFrom) and "joints" in (x.module or "")]
    return TYPES & {a.name for x in found for a in x.names}


def test_no_room_names_a_joint_type():
    files = [p for room in ROOMS for p in (SOURCE / room).rglob("*.py")]
    assert len(files) > 100
    assert {str(p): named(p) for p in files if named(p)} == {}


def test_names_are_found_where_they_are():
    assert named(SOURCE / "robots" / "chains.py") == {"Free", "Revolute"}
