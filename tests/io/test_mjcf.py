from __future__ import annotations

import builtins

import numpy as np
import pytest

from hinge.errors import FormatError, MissingExtraError
from hinge.io import load, read_mjcf

MODEL = """<mujoco model="m">
  <option gravity="0 0 -3"/>
  <worldbody>
    <body name="cart" pos="1 2 3">
      <joint name="x" type="slide" axis="1 0 0" damping="0.3" range="-1 1" limited="true"/>
      <joint name="turn" type="hinge" axis="0 0 1" pos="0.1 0 0" armature="0.2"
        ref="30" springref="10" stiffness="2"/>
      <geom type="box" size="0.1 0.2 0.3"/>
      <site name="top" pos="0 0 0.3"/>
      <body name="ball" pos="0 0 1">
        <joint name="swing" type="ball" pos="0 0 -0.5"/>
        <geom type="capsule" size="0.05 0.2"/>
      </body>
    </body>
    <body name="loose"><freejoint name="fly"/><geom type="sphere" size="0.1"/></body>
  </worldbody>
</mujoco>"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(MODEL)
    return path


def test_bodies_joints_and_physics_are_read(model):
    robot = load(model, strict=None)
    assert [b.name for b in robot.bodies] == ["cart/x", "cart", "ball", "loose"]
    assert [j.type.kind for j in robot.joints] == ["prismatic", "revolute", "spherical", "free"]
    assert robot.joint("turn").rotor_inertia == [0.2] and robot.joint("turn").stiffness == [2]
    assert np.allclose(robot.joint("turn").rest, np.radians(10))
    assert robot.joint("x").damping == [0.3] and robot.joint("x").upper == [1]
    assert np.array_equal(robot.gravity, (0, 0, -3))
    assert robot.frame("top").body == "cart"


def test_several_joints_on_a_body_keep_their_names_and_carry_massless_bodies(model):
    robot = load(model, strict=None)
    assert float(robot.body("cart/x").inertia.m) == 0
    assert robot.joint("turn").parent == "cart/x"


@pytest.mark.parametrize("file", ["/etc/passwd", "../secret.xml", "a/../../secret.xml"])
def test_files_outside_the_folder_are_refused(tmp_path, file):
    path = tmp_path / "sub" / "m.xml"
    path.parent.mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    path.write_text(f'<mujoco><include file="{file}"/></mujoco>')
    with pytest.raises(FormatError, match=r"m\.xml:1: <include> names .* outside the folder"):
        load(path)


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path):
    path = tmp_path / "sub" / "m.xml"
    path.parent.mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    (path.parent / "inner.xml").symlink_to(tmp_path / "secret.xml")
    path.write_text('<mujoco><include file="inner.xml"/></mujoco>')
    with pytest.raises(FormatError, match="outside the folder"):
        load(path)


def test_a_trusted_root_lets_files_in(tmp_path):
    path = tmp_path / "sub" / "m.xml"
    path.parent.mkdir()
    (tmp_path / "part.xml").write_text('<mujoco><worldbody><body name="b"/></worldbody></mujoco>')
    path.write_text('<mujoco><include file="../part.xml"/></mujoco>')
    assert [b.name for b in load(path, root=tmp_path).bodies] == ["b"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("<mujoco/>", "expected at least one body in <worldbody>"),
        (
            "<mujoco><worldbody><body><joint type='odd'/></body></worldbody></mujoco>",
            "MuJoCo does not compile",
        ),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><mujoco/>", "DOCTYPE"),
        ("<mujoco>", "well-formed"),
    ],
)
def test_bad_models_are_named(tmp_path, text, words):
    path = tmp_path / "bad.xml"
    path.write_text(text)
    with pytest.raises(FormatError, match=words):
        load(path)


def test_floating_frees_a_welded_root(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text("<mujoco><worldbody><body name='b'><geom size='1'/></body></worldbody></mujoco>")
    robot = load(path, floating=True)
    assert robot.is_floating and robot.joint_names == ("root_joint",)


def test_floating_is_refused_where_no_root_is_welded(model):
    with pytest.raises(FormatError, match="floating"):
        load(model, floating=True)


def test_without_mujoco_the_extra_is_named(model, monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'hinge\[mjcf\]'"):
        read_mjcf(model)


def _outside(tmp_path):
    """Return a model's path in a folder, beside a folder that it must not reach."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.stl").write_text("solid")
    folder = tmp_path / "in"
    folder.mkdir()
    return folder / "m.xml"


@pytest.mark.parametrize(
    "files",
    [
        {"m.xml": '<mujoco><include file="c.xml"/><asset><mesh file="secret.stl"/></asset></mujoco>',
         "c.xml": '<mujoco><compiler meshdir="../out"/></mujoco>'},
        {"m.xml": '<mujoco><asset><model name="s" file="s.xml"/></asset></mujoco>',
         "s.xml": '<mujoco><asset><mesh file="/etc/secret.stl"/></asset></mujoco>'},
        {"m.xml": '<mujoco><asset><texture type="cube" fileright="../out/secret.png"/></asset></mujoco>'},
        {"m.xml": '<mujoco><compiler assetdir="/etc"/></mujoco>'},
        {"m.xml": '<mujoco><asset><mesh file="C:\\\\secret.stl"/></asset></mujoco>'},
    ],
    ids=["folder by include", "attached model", "texture side", "absolute folder", "drive letter"],
)  # fmt: skip
def test_no_way_leads_out_of_the_folder(tmp_path, files):
    path = _outside(tmp_path)
    for name, text in files.items():
        (path.parent / name).write_text(text)
    with pytest.raises(FormatError, match="outside the folder"):
        load(path)


@pytest.mark.parametrize(
    "inside, words",
    [
        ('<asset><texture name="t" builtin="flat" width="30000" height="30000"/></asset>', "width × height"),
        ('<asset><hfield name="h" nrow="20000" ncol="20000" size="1 1 1 1"/></asset>', "nrow × ncol"),
        ('<size nuser_body="500000000"/>', "nuser_body='500000000'"),
        ('<worldbody><replicate count="300000"><geom size="1"/></replicate></worldbody>', "count = 300000"),
    ],
)
def test_a_small_file_cannot_ask_for_much(tmp_path, inside, words):
    path = tmp_path / "m.xml"
    path.write_text(f"<mujoco>{inside}</mujoco>")
    with pytest.raises(FormatError, match=words):
        load(path)
