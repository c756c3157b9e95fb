from __future__ import annotations

import graphlib
import sys
from pathlib import Path

import pytest

from tests.api import law
from tests.api.law import (
    LOADED_LATE,
    MAY_IMPORT,
    MAY_IMPORT_LATE,
    PACKAGE,
    THIRD_PARTY,
    breaches,
    imports,
    room_of,
    sources,
)
from tests.folding import folded


def test_every_room_is_in_the_law():
    assert {room_of(p) for p in sources()} == set(MAY_IMPORT)


def test_a_room_imports_only_what_its_row_allows():
    assert [breach for path in sources() for breach in breaches(path)] == []


@folded(path=sources())
def test_other_rooms_are_entered_through_their_door(path):
    room = room_of(path)
    doors = {
        "hinge.model.joints",
        "hinge.spatial.quaternion",
        "hinge.spatial.rotation",
        "hinge.algebra.appendix",
        "hinge.targets.llvm.cache",
    }
    for module, line, _ in imports(path):
        parts = module.split(".")
        if parts[0] == "hinge" and len(parts) > 2 and parts[1] != room:
            assert module in doors, f"{path}:{line}: reaches into {module}"


@folded(path=sources())
def test_only_optional_packages_are_imported_late(path):
    own = {package for folder, package in LOADED_LATE.items() if _module(path).startswith(folder)}
    for module, line, late in imports(path):
        top = module.split(".")[0]
        optional = any(module.startswith(folder) for folder in LOADED_LATE)
        ours = top == "hinge" and not (late and optional)
        known = ours or top in sys.stdlib_module_names | THIRD_PARTY | own
        if late:
            assert room_of(path) in MAY_IMPORT_LATE and not known, f"{path}:{line}: late import of {module}"
        else:
            assert known, f"{path}:{line}: {module} is not part of the core"


def test_what_needs_an_optional_package_is_not_loaded_by_others():
    for path in sources():
        for module, line, late in imports(path):
            needs = [f for f in LOADED_LATE if module.startswith(f) and not _module(path).startswith(f)]
            light = module in ("hinge.targets.llvm.threads", "hinge.targets.llvm.cache")
            assert late or light or not needs, f"{path}:{line}: loads {module}"


def _module(path: Path) -> str:
    return ".".join(("hinge", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def test_rooms_and_modules_have_no_cycle():
    rooms: dict[str, set[str]] = {}
    modules: dict[str, set[str]] = {}
    for path in sources():
        name = _module(path)
        wanted = {m for m, _, _ in imports(path) if m.split(".")[0] == "hinge" and m != name}
        modules[name] = {w for w in wanted if not name.startswith(w)}
        rooms.setdefault(room_of(path), set()).update(w.split(".")[1] for w in wanted if "." in w)
    for room, others in rooms.items():
        others.discard(room)
    assert list(graphlib.TopologicalSorter(rooms).static_order())
    assert list(graphlib.TopologicalSorter(modules).static_order())


@pytest.mark.parametrize(
    "line",
    ["from hinge.spatial import screw", "import hinge.model", "from hinge import load", "import hinge"],
)
def test_the_law_notices_a_breach(tmp_path, monkeypatch, line):
    (tmp_path / "tree").mkdir()
    breach = tmp_path / "tree" / "x.py"
    monkeypatch.setattr(law, "PACKAGE", tmp_path)
    breach.write_text("from hinge.errors import ModelError\nfrom hinge.tree import Tree\n")
    assert breaches(breach) == []
    breach.write_text(f"{line}\n")
    assert len(breaches(breach)) == 1
