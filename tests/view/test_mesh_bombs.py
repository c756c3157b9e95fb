"""Small files that describe large meshes, or are slow to read: bounded in time and memory."""

from __future__ import annotations

import os
import sys
import time

import pytest

import hinge
from hinge.errors import ModelError
from hinge.model import Mesh, Shape, assemble
from hinge.view import mesh_reader
from hinge.view.appearance import appearance
from hinge.view.meshes import Meshes
from tests.view.mesh_bombs import BOMBS, ascii_stl, hollow_accessor, nested

pytest.importorskip("trimesh")

#: Seconds for a mesh in these tests, and what the rest may take: the start of a child on a busy machine.
LIMIT, SLACK = 2.0, 60.0


@pytest.fixture(scope="module")
def reader():
    with mesh_reader.MeshReader() as found:
        yield found


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux")
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_bounded(name, tmp_path, monkeypatch, reader):
    """Each is read or refused within the limits; this process does not grow by more than a mesh has."""
    monkeypatch.setattr(mesh_reader, "LONGEST", LIMIT)
    monkeypatch.setattr(mesh_reader, "LONGEST_ALL", 1e9)
    (tmp_path / name).write_bytes(BOMBS[name]())
    before, began, refused = own_memory(), time.monotonic(), ""
    try:
        Meshes(tmp_path, reader).surface(Mesh(name))
    except ModelError as error:
        refused = str(error)
    assert time.monotonic() - began < LIMIT + SLACK
    assert own_memory() - before < 400_000_000
    if name not in ("groups.obj", "shallow.dae", "facets.stl"):  # these are slow only
        assert "takes more than" in refused or "expected at most" in refused
    trusted(reader)


def own_memory() -> int:
    """Return the bytes of memory that this process has taken."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 (no file of a folder)
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def trusted(reader) -> None:
    """Show that the reader still reads."""
    found = reader.read("stl", ascii_stl(1), 10)
    assert found.faces.shape == (1, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux")
def test_memory_is_bounded(reader):
    with pytest.raises(ModelError, match=r"takes more than .* (bytes of memory|s) to read"):
        reader.read("glb", hollow_accessor(), 10)
    trusted(reader)


def test_time_is_bounded(reader, monkeypatch):
    reader.close()
    monkeypatch.setattr(mesh_reader, "LONGEST", 0.5)
    with pytest.raises(ModelError, match=r"takes more than 0\.5 s to read"):
        reader.read("dae", nested(10, 6), 10)


def test_all_meshes_together_are_bounded(monkeypatch):
    monkeypatch.setattr(mesh_reader, "LONGEST_ALL", -1.0)
    with pytest.raises(ModelError, match="all meshes together"):
        mesh_reader.MeshReader().read("stl", b"", 10)


def test_a_refused_mesh_is_a_link_and_a_line_of_warning(tmp_path, monkeypatch):
    """Two bodies show the same file: it is read once, the second is drawn all the same."""
    monkeypatch.setattr(mesh_reader, "LONGEST", 0.5)
    (tmp_path / "bomb.dae").write_bytes(nested(10, 8))
    plain = hinge.robots.chain(2)
    bomb = (Shape("visual", Mesh("bomb.dae")),)
    bodies = [hinge.Body(b.name, b.inertia, bomb) for b in plain.bodies]
    robot = assemble("chain", bodies, plain.joints)
    look = appearance(robot, hinge.neutral(robot), tmp_path)
    assert {p.body for p in look.pieces if p.layer == "stick"} == {0, 1}
    (line,) = look.messages
    assert line == "mesh 'bomb.dae': takes more than 0.5 s to read (body 'link1' and 1 more)"


def test_the_child_takes_no_code_from_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "trimesh.py").write_text("raise SystemExit(3)", encoding="utf-8")
    (tmp_path / "json.py").write_text("raise SystemExit(3)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [x for x in sys.path if x])
    with mesh_reader.MeshReader() as reader:
        trusted(reader)
