"""Nothing outside the robot's folder is read."""

from __future__ import annotations

import os

import numpy as np
import pytest

from hinge.errors import ArgumentError, ModelError
from hinge.model import Mesh
from hinge.view import mesh_reader
from hinge.view import meshes as view_meshes
from hinge.view.mesh_reader import MeshReader
from hinge.view.meshes import locate

trimesh = pytest.importorskip("trimesh")


#: One child process for all tests.
READER = MeshReader()


def Meshes(folder):
    return view_meshes.Meshes(folder, READER)


@pytest.fixture(scope="module", autouse=True)
def _ended():
    yield
    READER.close()


@pytest.fixture
def folder(tmp_path):
    """Return a robot's folder with a box in meshes/, next to a secret that is none of its business."""
    root = tmp_path / "robot"
    (root / "meshes").mkdir(parents=True)
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    for kind in ("stl", "obj", "ply", "off", "glb"):
        box.export(root / "meshes" / f"box.{kind}")
    box.export(tmp_path / "secret.stl")
    return root


@pytest.mark.parametrize("kind", ["stl", "obj", "ply", "off", "glb"])
def test_meshes_are_read_and_scaled(folder, kind):
    found = Meshes(folder).surface(Mesh(f"meshes/box.{kind}", (1.0, 1.0, -0.5)))
    np.testing.assert_allclose(np.ptp(found.vertices, axis=0), (1.0, 2.0, 1.5))
    a, b, c = (found.vertices[found.faces[:, k]] for k in range(3))
    outwards = (np.cross(b - a, c - a) * (a + b + c)).sum(-1)
    assert (outwards > 0).all()  # a mirrored mesh is not inside out


@pytest.mark.parametrize(
    "name",
    [
        "meshes/box.stl",
        "./meshes/../meshes/box.stl",
        "package://robot/meshes/box.stl",
        "package://a/b/robot/meshes/box.stl",
        "package://meshes/box.stl",
        "model://robot/meshes/box.stl",
    ],
)
def test_names_that_are_found(folder, name):
    assert locate(name, folder) == (folder / "meshes" / "box.stl").resolve()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../secret.stl", "leads out"),
        ("meshes/../../secret.stl", "leads out"),
        ("package://robot/../../secret.stl", "leads out"),
        ("package://robot/%2e%2e/secret.stl", "is not in"),
        ("package://../secret.stl", "leads out"),
        ("/etc/passwd", "absolute"),
        ("package:///etc/passwd", "is not in"),
        ("package:////etc/passwd", "is not in"),
        ("file:///etc/passwd", "got an address"),
        ("http://example.invalid/box.stl", "got an address"),
        ("HTTPS://example.invalid/box.stl", "got an address"),
        ("C:/secret.stl", "got an address"),
        ("..\\secret.stl", "character"),
        ("meshes/box.stl\0", "character"),
        ("meshes", "is not in"),
        ("", "is not in"),
        ("package://", "is not in"),
        ("meshes/none.stl", "is not in"),
        ("x" * 900, "expected a path"),
        ("x" * 5000, "too long"),
    ],
)
def test_names_that_are_refused(folder, name, reason):
    with pytest.raises(ModelError, match=reason):
        locate(name, folder)


def test_links_that_lead_out_are_refused(folder):
    (folder / "link.stl").symlink_to(folder.parent / "secret.stl")
    (folder / "out").symlink_to(folder.parent)
    (folder / "round").symlink_to(folder / "round")
    for name in ("link.stl", "out/secret.stl", "package://out/secret.stl"):
        with pytest.raises(ModelError, match="leads out"):
            locate(name, folder)
    with pytest.raises(ModelError, match="expected a path"):
        locate("round", folder)
    (folder / "inside.stl").symlink_to(folder / "meshes" / "box.stl")
    assert locate("inside.stl", folder) == (folder / "meshes" / "box.stl").resolve()


def test_the_folder_itself_may_be_a_link(folder):
    (folder.parent / "alias").symlink_to(folder)
    assert Meshes(folder.parent / "alias").surface(Mesh("meshes/box.stl")).faces.shape == (12, 3)


def test_pipes_are_not_opened(folder):
    os.mkfifo(folder / "pipe.stl")
    with pytest.raises(ModelError, match="is not in"):
        Meshes(folder).surface(Mesh("pipe.stl"))


def test_files_that_are_too_large_are_refused(folder, monkeypatch):
    size = (folder / "meshes" / "box.stl").stat().st_size
    monkeypatch.setattr(view_meshes, "LARGEST_FILE", size - 1)
    with pytest.raises(ModelError, match="has more than"):
        Meshes(folder).surface(Mesh("meshes/box.stl"))
    monkeypatch.setattr(view_meshes, "LARGEST_FILE", size)
    Meshes(folder).surface(Mesh("meshes/box.stl"))


def test_all_files_together_have_a_limit(folder, monkeypatch):
    size = (folder / "meshes" / "box.stl").stat().st_size
    monkeypatch.setattr(view_meshes, "LARGEST_ALL", size)
    shelf = Meshes(folder)
    shelf.surface(Mesh("meshes/box.stl"))
    shelf.surface(Mesh("meshes/box.stl", (2.0, 2.0, 2.0)))  # it is read once
    with pytest.raises(ModelError, match="together"):
        shelf.surface(Mesh("meshes/box.off"))


def test_too_many_triangles_are_refused(folder, monkeypatch):
    monkeypatch.setattr(view_meshes, "MOST_FACES", 11)
    with pytest.raises(ModelError, match="expected at most 11 triangles, got 12"):
        Meshes(folder).surface(Mesh("meshes/box.stl"))


@pytest.mark.parametrize("kind", ["stl", "obj", "ply", "off", "glb", "dae"])
@pytest.mark.parametrize(
    "data", [b"", b"nonsense", b"solid\nfacet\n", b"\xff" * 200, b"v nan nan nan\nf 1 1 1\n"]
)
def test_broken_files_are_refused(folder, kind, data):
    (folder / f"broken.{kind}").write_bytes(data)
    with pytest.raises(ModelError):
        Meshes(folder).surface(Mesh(f"broken.{kind}"))


def test_collada_is_read(folder):
    pytest.importorskip("collada")
    trimesh.creation.box((1.0, 2.0, 3.0)).export(folder / "box.dae")
    found = Meshes(folder).surface(Mesh("box.dae"))
    np.testing.assert_allclose(np.ptp(found.vertices, axis=0), (1.0, 2.0, 3.0))


def test_a_missing_reader_is_named(folder, monkeypatch):
    (folder / "x.dae").write_bytes(b"<COLLADA/>")
    monkeypatch.setattr(mesh_reader, "_head", lambda _: {"missing": "collada"})
    with pytest.raises(ModelError, match=r"collada, which is not installed; pip install .hinge\[view\]"):
        view_meshes.Meshes(folder).surface(Mesh("x.dae"))


def test_a_document_type_is_not_read(folder):
    text = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]><COLLADA>&y;</COLLADA>'
    for data in (text.encode(), text.encode("utf-16")):
        (folder / "x.dae").write_bytes(data)
        with pytest.raises(ModelError, match="document type"):
            Meshes(folder).surface(Mesh("x.dae"))


def test_a_mesh_cannot_name_further_files(folder):
    """A material library next to the mesh is not opened either: a mesh is its bytes."""
    os.mkfifo(folder / "meshes" / "trap.mtl")  # to open it would take for ever
    plain = (folder / "meshes" / "box.obj").read_text(encoding="utf-8")
    (folder / "meshes" / "trapped.obj").write_text("mtllib trap.mtl\nusemtl x\n" + plain, encoding="utf-8")
    assert len(Meshes(folder).surface(Mesh("meshes/trapped.obj")).faces) == 12


def test_other_kinds_of_files_are_not_read(folder):
    (folder / "model.zip").write_bytes(b"PK")
    with pytest.raises(ModelError, match=r"expected a file of type .*, got 'zip'"):
        Meshes(folder).surface(Mesh("model.zip"))


def test_the_folder_above_that_has_it_is_named(folder):
    (folder / "urdf").mkdir()
    with pytest.raises(ModelError, match=rf"folder= \(--folder\) '{folder.resolve()}' has it"):
        locate("package://robot/meshes/box.stl", folder / "urdf")
    with pytest.raises(ModelError, match="says which that is"):
        locate("package://robot/meshes/none.stl", folder / "urdf")


def test_without_a_folder_nothing_is_read():
    with pytest.raises(ModelError, match="folder="):
        Meshes(None).surface(Mesh("meshes/box.stl"))


@pytest.mark.parametrize("bad", ["/no/such/folder", 3, __file__])
def test_a_folder_that_is_none_is_refused(bad):
    with pytest.raises(ArgumentError, match="folder: "):
        Meshes(bad)
