"""Files of an MJCF model are found as MuJoCo finds them, and beside the document that names them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo has no wheel for this platform")

from hinge.errors import FormatError
from hinge.io import load
from tests.errors.hostile_mjcf import MESH

BODY = '<worldbody><body name="{name}"><joint name="j{name}"/><geom size=".1"/></body></worldbody>'
SHAPE = '<worldbody><body name="b"><geom type="mesh" mesh="t"/></body></worldbody>'


def written(folder, files):
    """Write files into a folder, and return the path of the first one."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / next(iter(files))


def mujoco(inside: str) -> str:
    return f"<mujoco>{inside}</mujoco>"


def include(file: str) -> str:
    return f'<include file="{file}"/>'


TREES = {
    "nested, beside the including file": {
        "m.xml": mujoco(include("sub/a.xml")),
        "sub/a.xml": mujoco(include("b.xml")),
        "sub/b.xml": mujoco(BODY.format(name="b")),
    },
    "nested, beside the main file": {
        "m.xml": mujoco(include("sub/a.xml")),
        "sub/a.xml": mujoco(include("sub/b.xml")),
        "sub/b.xml": mujoco(BODY.format(name="b")),
    },
    "both are there, as MuJoCo does": {
        "m.xml": mujoco(include("sub/a.xml")),
        "sub/a.xml": mujoco(include("b.xml")),
        "sub/b.xml": mujoco(BODY.format(name="c")),
        "b.xml": mujoco(BODY.format(name="b")),
    },
    "mesh from a folder beside that of the document": {
        "m.xml": mujoco(include("sub/asset.xml") + SHAPE),
        "sub/asset.xml": mujoco('<asset><mesh name="t" file="../geo/t.obj"/></asset>'),
        "geo/t.obj": MESH,
    },
    "mesh from meshdir": {
        "m.xml": mujoco('<compiler meshdir="geo"/><asset><mesh file="t.obj"/></asset>' + SHAPE),
        "geo/t.obj": MESH,
    },
    "folder set by an included document": {
        "m.xml": mujoco(include("c.xml") + '<asset><mesh file="t.obj"/></asset>' + SHAPE),
        "c.xml": mujoco('<compiler assetdir="geo"/>'),
        "geo/t.obj": MESH,
    },
    "paths stripped": {
        "m.xml": mujoco('<compiler strippath="true"/><asset><mesh file="C:\\x/y/t.obj"/></asset>' + SHAPE),
        "t.obj": MESH,
    },
    "attached from a folder": {
        "m.xml": mujoco(
            '<asset><model name="p" file="part/p.xml"/></asset>'
            '<worldbody><body><attach model="p" body="b" prefix=""/></body></worldbody>'
        ),
        "part/p.xml": mujoco('<compiler meshdir="geo"/><asset><mesh file="t.obj"/></asset>' + SHAPE),
        "part/geo/t.obj": MESH,
    },
}


@pytest.mark.parametrize("files", TREES.values(), ids=TREES)
def test_files_are_found(files, tmp_path):
    robot = load(written(tmp_path, files), strict=None)
    assert robot.bodies[-1].name == "b" and float(robot.bodies[-1].inertia.m) > 0


def test_a_missing_file_is_named_with_its_line(tmp_path):
    path = written(tmp_path, {"m.xml": mujoco('\n<asset><mesh file="t.obj"/></asset>')})
    with pytest.raises(FormatError, match=r"m\.xml:2: <mesh> names 't\.obj', which is not a file in"):
        load(path)


def test_lines_of_mujoco_are_those_of_the_file(tmp_path):
    path = written(
        tmp_path, {"m.xml": mujoco("\n<worldbody>\n<body>\n<joint\n type='odd'/></body></worldbody>")}
    )
    with pytest.raises(FormatError, match=r"MuJoCo does not compile it: .*line 4"):
        load(path)


def test_text_of_attributes_is_kept(tmp_path):
    name = "a &lt; b &amp; &quot;ü&quot;"
    path = written(tmp_path, {"m.xml": mujoco(BODY.format(name=name))})
    assert load(path, strict=None).bodies[0].name == 'a < b & "ü"'


def test_arenas_of_simulations_are_not_allocated(tmp_path):
    path = written(tmp_path, {"m.xml": mujoco('<size memory="1000G"/>' + BODY.format(name="b"))})
    assert np.isclose(load(path, strict=None).nv, 1)
