"""Closures in files: MJCF equality constraints, a JSON file beside a URDF, and loops of URDF+."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import robots
from hinge.errors import FormatError, ModelWarning
from hinge.io.closures_json import closures_from_json, closures_to_json
from hinge.model import SoftFinger, joints
from hinge.testing import random_closed_robots

BODIES = """
<mujoco><worldbody>
  <site name="wall" pos="0.2 0.4 0.17320508075688773" euler="10 20 30"/> <body name="a" pos="0 0 0.1"><joint
  name="a1" type="hinge" axis="0 1 0"/><joint name="a2" type="hinge" axis="1 0 0"/> <geom type="box"
  size=".1 .02 .02" mass="1"/><site name="tip" pos="0.2 0.15 0.05" euler="0 0 40"/> <body name="b" pos="0.3
  0 0"><joint name="b1" type="hinge" axis="0 1 1"/><joint name="b2" type="hinge" axis="0 0 1"/> <geom
  type="box" size=".1 .02 .02" mass="1"/></body></body> <body name="c" pos="0.1 0.3 0"><joint name="c1"
  type="hinge" axis="0 1 0"/><joint name="c2" type="hinge" axis="1 0 1"/> <geom type="box" size=".1 .02 .02"
  mass="1"/><site name="end" pos="0 0.2 0.1" euler="50 0 0"/></body>
</worldbody><equality>{}</equality></mujoco>
"""
EQUALITIES = {
    "connect": '<connect name="e" body1="b" body2="c" anchor="0.1 0.2 0.3"/>',
    "connect to the world": '<connect name="e" body1="b" anchor="0.1 0.2 0.3"/>',
    "connect sites": '<connect name="e" site1="tip" site2="end"/>',
    "connect a site of the world": '<connect name="e" site1="wall" site2="end"/>',
    "connect to a site of the world": '<connect name="e" site1="end" site2="wall"/>',
    "weld": '<weld name="e" body1="b" body2="c"/>',
    "weld at an anchor": '<weld name="e" body1="b" body2="c" anchor="0.1 0 0.2"/>',
    "weld with relpose": '<weld name="e" body1="b" body2="c" relpose="0.1 0.2 0 0.8 0.6 0 0" '
    'anchor="0.1 0 0.2"/>',
    "weld to the world": '<weld name="e" body1="c" relpose="0.1 0.2 0 0.8 0.6 0 0"/>',
    "weld sites": '<weld name="e" site1="tip" site2="end"/>',
    "weld a site of the world": '<weld name="e" site1="wall" site2="end"/>',
}


def read(text, tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return hinge.load(path), [str(w.message) for w in said]


@pytest.mark.parametrize("name", EQUALITIES)
def test_equalities_have_the_errors_and_rows_of_mujoco(name, tmp_path):
    """Errors have the same size at any configuration, and rows the same span where the loop is closed."""
    mujoco = pytest.importorskip("mujoco")
    text = BODIES.format(EQUALITIES[name])
    robot, said = read(text, tmp_path)
    (closure,) = robot.closures
    weld = name.startswith("weld")
    assert closure.name == "e" and closure.joint.kind == ("fixed" if weld else "spherical")
    assert sum("rigid, where MuJoCo's are soft" in s for s in said) == 1
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def theirs(q):
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        rows = int((data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY).sum())
        matrix = np.array(data.efc_J).reshape(-1, model.nv) if not mujoco.mj_isSparse(model) else None
        assert matrix is not None
        return np.array(data.efc_pos[:rows]), matrix[:rows]

    rng = np.random.default_rng(0)
    for q in 0.4 * rng.standard_normal((5, robot.nq)):
        ours, (error, _) = hinge.closure_error(robot, q), theirs(q)
        place = ours[3:] if weld else ours
        assert_allclose(np.linalg.norm(place), np.linalg.norm(error[:3]), atol=1e-10)
        if weld:
            assert_allclose(np.linalg.norm(ours[:3]) / 2, np.linalg.norm(error[3:]), atol=1e-10)
    closed = hinge.assemble(robot, 0.4 * rng.standard_normal((40, robot.nq)))
    q = closed.q[closed.error.argmin()]
    if closed.error.min() < 1e-9:
        error, rows = theirs(q)
        assert np.abs(error).max() < 1e-9
        ours = hinge.closure_jacobian(robot, q)
        rank = np.linalg.matrix_rank(ours, tol=1e-8)
        assert (
            np.linalg.matrix_rank(np.vstack([ours, rows]), tol=1e-7)
            == rank
            == np.linalg.matrix_rank(rows, tol=1e-8)
        )
    else:
        assert weld  # six rows for six or fewer coordinates: closes at the drawn pose only, if at all


def test_a_default_weld_holds_the_drawn_pose(tmp_path):
    pytest.importorskip("mujoco")
    for name in ("weld", "weld at an anchor", "connect", "connect to the world"):
        robot, _ = read(BODIES.format(EQUALITIES[name]), tmp_path)
        assert_allclose(hinge.closure_error(robot, hinge.neutral(robot)), 0, atol=1e-12)


def test_what_is_no_closure_is_left_out_with_a_warning(tmp_path):
    pytest.importorskip("mujoco")
    off = EQUALITIES["weld"].replace("name=", 'active="false" name=')
    robot, said = read(BODIES.format(off), tmp_path)
    assert not robot.closures and any("1 inactive constraint is left out" in s for s in said)
    many = EQUALITIES["connect"] + EQUALITIES["weld sites"].replace('"e"', '"f"')
    robot, said = read(BODIES.format(many), tmp_path)
    assert [c.name for c in robot.closures] == ["e", "f"]
    assert sum("soft" in s for s in said) == 1


def test_loops_of_files_move_as_closed_robots(tmp_path):
    pytest.importorskip("mujoco")
    robot, _ = read(BODIES.format(EQUALITIES["connect"]), tmp_path)
    q = hinge.neutral(robot)
    run = hinge.simulate(robot, q, t=0.1)
    assert np.abs(hinge.closure_error(robot, run.q)).max() < 1e-12


# JSON beside a URDF.


def test_closures_come_back_from_json():
    made = [c for robot, _ in random_closed_robots(9) for c in robot.closures]
    again = closures_from_json(closures_to_json(made))
    for c, d in zip(made, again, strict=True):
        assert (c.name, c.inner, c.outer, c.joint, c.rows) == (d.name, d.inner, d.outer, d.joint, d.rows)
        assert np.array_equal(c.placement.E, d.placement.E) and np.array_equal(c.placement.r, d.placement.r)
    assert {SoftFinger.kind, "screw"} <= {c.joint.kind for c in made}


@pytest.mark.parametrize("make", [robots.four_bar, robots.slider_crank, robots.two_pandas_with_plate])
def test_a_urdf_has_its_closures_beside_it(make, tmp_path):
    robot, path = make(), tmp_path / "leg.urdf"
    with pytest.warns(ModelWarning, match=r"they are in 'leg\.closures\.json'"):
        hinge.write_urdf(robot, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert hinge.load(path).closures == ()
        again = hinge.load(path, closures=tmp_path / "leg.closures.json")
    assert again.nq == robot.nq and len(again.closures) == len(robot.closures)
    q = hinge.random_configuration(robot, 1, size=4)
    assert_allclose(hinge.closure_error(again, q), hinge.closure_error(robot, q), atol=1e-12)


def test_placements_by_angles():
    (c,) = closures_from_json(
        '[{"name": "x", "inner": null, "outer": "hand", "joint": {"kind": "revolute", "axis": [0, 2, 0]}, '
        '"placement": {"position": [1, 2, 3], "rpy": [0, 0, 1.5707963267948966]}, "rows": ["vx"]}]'
    )
    assert c.inner is None and c.joint == joints.Revolute((0, 1, 0)) and c.rows == ("vx",)
    assert_allclose(c.placement.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


GOOD = {"name": "x", "inner": "a", "outer": "b"}
BROKEN = {
    "is not JSON": "[",
    "expected a list": "{}",
    "closure 0: a closure: expected an object": "[1]",
    "got no 'outer'": json.dumps([{"name": "x", "inner": None}]),
    "expected names": json.dumps([{**GOOD, "outer": 3}]),
    "got 'axis'": json.dumps([{**GOOD, "axis": [0, 0, 1]}]),
    "expected a kind of joint, got 'bal'": json.dumps([{**GOOD, "joint": {"kind": "bal"}}]),
    "has no field 'pitch'": json.dumps([{**GOOD, "joint": {"kind": "revolute", "pitch": 1}}]),
    "axis: expected 3 finite numbers": json.dumps([{**GOOD, "joint": {"kind": "revolute", "axis": [0, 1]}}]),
    "axis: expected a number or three": json.dumps([{**GOOD, "joint": {"kind": "revolute", "axis": "x"}}]),
    "leave that joint in the tree": json.dumps([{**GOOD, "joint": {"kind": "universal"}}]),
    "expected an orthogonal matrix": json.dumps([{**GOOD, "placement": {"rotation": [[1, 0, 0]] * 3}}]),
    "expected rotation or rpy": json.dumps([{**GOOD, "placement": {"rotation": [], "rpy": []}}]),
    "position: expected 3 finite": '[{"name": "x", "inner": "a", "outer": "b", '
    '"placement": {"position": [NaN, 0, 0]}}]',
    "rows: expected a list": json.dumps([{**GOOD, "rows": "vx"}]),
}


@pytest.mark.parametrize("reason", BROKEN)
def test_broken_files_are_refused(reason):
    with pytest.raises(FormatError, match=reason):
        closures_from_json(BROKEN[reason], source="leg.closures.json")


def test_closures_of_other_robots_are_refused(tmp_path):
    path, beside = tmp_path / "leg.urdf", tmp_path / "other.json"
    hinge.write_urdf(hinge.opened(robots.four_bar()), path)
    beside.write_text(json.dumps([{**GOOD, "outer": "rockr"}]))
    with pytest.raises(
        FormatError, match=r"other\.json: closure 'x': its inner frame or body 'a' does not exist"
    ):
        hinge.load(path, closures=beside)
    with pytest.raises(FormatError, match="cannot be read"):
        hinge.load(path, closures=tmp_path / "none.json")
    with pytest.raises(hinge.errors.ArgumentError, match="closures: expected the path of a JSON file"):
        hinge.load(path, closures=[])


# URDF+.

LINKS = """
<robot name="loop"><link name="base"/> {} <joint name="j1" type="continuous"><parent link="base"/><child
link="l1"/><axis xyz="0 0 1"/></joint> <joint name="j2" type="continuous"><parent link="base"/><child
link="l2"/><axis xyz="0 0 1"/><origin xyz="1 0 0"/></joint>
{}</robot>"""
MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
TWO = "".join(f'<link name="l{k}">{MASS}</link>' for k in (1, 2))
LOOP = (
    '<loop name="pin" type="continuous"><predecessor link="l1"><origin xyz="0.5 0 0"/></predecessor>'
    '<successor link="l2"><origin xyz="-0.5 0 0"/></successor><axis xyz="0 0 1"/></loop>'
)


def test_loops_of_urdf_plus_are_closures():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = hinge.io.parse_urdf(LINKS.format(TWO, LOOP))
    (c,) = robot.closures
    assert (c.name, c.inner, c.outer, c.joint) == ("pin", "l1", "pin_outer", joints.Continuous((0, 0, 1)))
    assert_allclose(hinge.closure_error(robot, [0, 0]), 0, atol=1e-15)
    assert hinge.mobility(robot, [0, 0]).generic in (0, 1)
    with pytest.raises(FormatError, match="successor link 'l3' does not exist"):
        hinge.io.parse_urdf(LINKS.format(TWO, LOOP.replace('"l2"', '"l3"')))
    with pytest.raises(FormatError, match="unknown type 'ball'"):
        hinge.io.parse_urdf(LINKS.format(TWO, LOOP.replace("continuous", "ball")))
    with pytest.warns(ModelWarning, match="couplings of URDF\\+ are left out"):
        hinge.io.parse_urdf(LINKS.format(TWO, '<coupling name="c"/>'))
