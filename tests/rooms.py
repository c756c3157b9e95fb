"""Which tests a change in one room can break: those of the room and of all rooms above it."""

from __future__ import annotations

import pytest

from tests.api.law import MAY_IMPORT

#: Folders and files of tests that judge all rooms, or are not called after one.
EVERYWHERE = {"api", "test_tiny.py"}
#: Rooms → tests that are not called after a room.
OTHERS = {
    "reference": {"laws", "oracles"},
    "testing": {"laws"},
    "io": {"errors", "oracles"},
    "pipeline": {"golden", "test_pipeline.py"},
    "dynamics": {"oracles", "golden"},
    "__init__": {
        "examples",
        "test_notebook.py",
        "test_pages.py",
        "test_readme.py",
        "test_site.py",
        "test_tour.py",
    },
    "__main__": {"cli"},
}


def above(room: str) -> set[str]:
    """Return a room and the rooms that import it, directly or through others."""
    if room not in MAY_IMPORT:
        raise pytest.UsageError(f"--room: expected one of {', '.join(sorted(MAY_IMPORT))}; got {room!r}")
    if room in ("errors", "forks"):
        return set(MAY_IMPORT)
    found, todo = set[str](), [room]
    while todo:
        here = todo.pop()
        found.add(here)
        todo += [other for other, below in MAY_IMPORT.items() if here in below and other not in found]
    return found


def folders_of(rooms: set[str]) -> set[str]:
    """Return the first parts, below tests/, of the paths of all tests of rooms."""
    return EVERYWHERE.union(rooms, *(OTHERS.get(room, set()) for room in rooms))
