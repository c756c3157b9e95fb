"""Small files that describe large meshes, or are slow to read: bounded in time and memory."""

from __future__ import annotations

import json
import os
import struct
import sys
import time

import numpy as np
import pytest

import hinge
from hinge.errors import ModelError
from hinge.model import Mesh, Shape, assemble
from hinge.view import mesh_reader
from hinge.view.appearance import appearance
from hinge.view.meshes import Meshes

pytest.importorskip("trimesh")

#: Seconds for a mesh in these tests, and what the rest may take: the start of a child on a busy machine.
LIMIT, SLACK = 2.0, 60.0
NS = 'xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"'


def glb(tree: dict, binary: bytes = b"") -> bytes:
    """Return a GLB file of this JSON and binary chunk."""
    text = json.dumps({"asset": {"version": "2.0"}, **tree}).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    if binary:
        chunks += struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


def hollow_accessor() -> bytes:
    """Zeros that are not in the file: 400 million corners in 304 bytes."""
    accessors = [{"componentType": 5126, "count": 400_000_000, "type": "VEC3"}]
    mesh = {"primitives": [{"attributes": {"POSITION": 0}}]}
    scene = {"meshes": [mesh], "nodes": [{"mesh": 0}], "scenes": [{"nodes": [0]}]}
    return glb({"bufferViews": [], "accessors": accessors, **scene})


def shown_often(triangles: int, times: int) -> bytes:
    """One mesh, shown many times."""
    corners = np.random.default_rng(0).random((triangles * 3, 3), np.float32).tobytes()
    tree = {
        "buffers": [{"byteLength": len(corners)}],
        "bufferViews": [{"buffer": 0, "byteLength": len(corners)}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": triangles * 3, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0, "translation": [k, 0, 0]} for k in range(times)],
        "scenes": [{"nodes": list(range(times))}],
    }
    return glb(tree, corners)


def nested(times: int, levels: int) -> bytes:
    """COLLADA nodes that contain the level below many times."""
    geometry = (
        '<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="f" count="9">'
        "0 0 0 1 0 0 0 1 0</float_array><technique_common><accessor source='#f' count='3' stride='3'>"
        '<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>'
        "</accessor>"
        '</technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        '<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>'
        "</mesh></geometry></library_geometries>"
    )
    nodes = '<node id="n0"><instance_geometry url="#g"/></node>'
    for k in range(levels):
        nodes += f'<node id="n{k + 1}">' + f'<instance_node url="#n{k}"/>' * times + "</node>"
    scene = (
        f'<library_nodes>{nodes}</library_nodes><library_visual_scenes><visual_scene id="s"><node>'
        f'<instance_node url="#n{levels}"/></node></visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#s"/></scene>'
    )
    return f'<?xml version="1.0"?><COLLADA {NS}><asset/>{geometry}{scene}</COLLADA>'.encode()


def groups(count: int) -> bytes:
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
    return (corners + "".join(f"g part{k}\nusemtl m{k}\nf 1 2 3\n" for k in range(count))).encode()


def ascii_stl(facets: int) -> bytes:
    facet = b"facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    return b"solid x\n" + facet * facets + b"endsolid x\n"


BOMBS = {
    "hollow.glb": hollow_accessor,
    "nested.dae": lambda: nested(10, 8),
    "often.glb": lambda: shown_often(600_000, 100),
    "nodes.glb": lambda: shown_often(1, 100_000),
    "groups.obj": lambda: groups(20_000),
    "shallow.dae": lambda: nested(10, 4),
    "facets.stl": lambda: ascii_stl(400_000),
}


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
