"""What actuators, tendons, flags and equalities do to joints, judged by MuJoCo; and what is left out."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo has no wheel for this platform")

import mujoco

from hinge import reference
from hinge.errors import FormatError, ModelWarning
from hinge.io import from_mujoco, load
from hinge.testing import random_state

ARM = """<mujoco>{head}<option gravity="0 0 -9.81"><flag contact="disable" {flags}/></option>
<worldbody><body><joint name="j1" axis="0 1 0" damping="0.1" armature="0.2" stiffness="3" {first}/>
<geom size=".1" pos=".3 0 0"/>
<body pos=".5 0 0"><joint name="j2" axis="0 1 0" damping="0.2" frictionloss="0.3"/>
<geom size=".1" pos=".2 0 0"/></body></body>{world}</worldbody>{end}</mujoco>"""
MOTOR = '<actuator><motor name="drive" joint="j1" armature="1" gear="3" damping="0.5"/></actuator>'
TENDON = (
    '<tendon><fixed name="rope" armature="2" damping="0.4"><joint joint="j2" coef="0.5"/></fixed></tendon>'
)
ROPE = (
    '<tendon><fixed name="rope" {more}><joint joint="j1" coef="1"/><joint joint="j2" coef="-1"/></fixed>'
    "</tendon>"
)


def written(path, *, first="", flags="", world="", end="", head=""):
    path.write_text(ARM.format(first=first, flags=flags, world=world, end=end, head=head))
    return path


def theirs(path, q, qd):
    """Return MuJoCo's mass matrix and passive forces."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, qd
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv))
    for k, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, full[k], unit)
    return full, np.array(data.qfrc_passive)


@pytest.mark.parametrize(
    "more",
    [
        {"end": MOTOR},
        {"end": MOTOR.replace("</actuator>", '<motor joint="j1" armature=".3" gear="-2"/></actuator>')},
        {"end": TENDON},
        {"end": TENDON + '<actuator><motor tendon="rope" armature="1" damping=".2" gear="3"/></actuator>'},
        {"flags": 'spring="disable"'},
        {"flags": 'damper="disable"', "end": MOTOR},
        {"flags": 'spring="disable" damper="disable"'},
        {"first": 'ref="20" springref="10"'},
    ],
    ids=[
        "motor",
        "two motors",
        "tendon",
        "motor on a tendon",
        "springs off",
        "dampers off",
        "both off",
        "rest",
    ],
)
def test_inertia_and_passive_forces_are_mujocos(more, tmp_path):
    path = written(tmp_path / "m.xml", **more)
    robot = load(path, strict=None)
    s = random_state(robot, 1, 3)
    for q, qd in zip(s.q, s.qd, strict=True):
        mass, passive = theirs(path, q, qd)
        assert np.allclose(reference.mass_matrix(robot, q), mass, rtol=1e-10)
        own = [-j.damping * qd[j.qd_slice] - j.stiffness * (q[j.q_slice] - j.rest) for j in robot.joints]
        assert np.allclose(np.concatenate(own), passive, atol=1e-10)


def test_flags_switch_friction_and_limits_off(tmp_path):
    limited = 'range="-10 10" limited="true"'
    robot = load(written(tmp_path / "m.xml", first=limited), strict=None)
    assert robot.joint("j2").friction == [0.3] and np.isclose(robot.joint("j1").upper, np.radians(10))
    off = 'frictionloss="disable" limit="disable"'
    robot = load(written(tmp_path / "m.xml", first=limited, flags=off), strict=None)
    assert robot.joint("j2").friction == [0.0] and robot.joint("j1").upper == [np.inf]


def equality(inside):
    return f"<equality>{inside}</equality>"


LINEAR = '<joint joint1="j2" joint2="j1" polycoef="0.1 -2 0 0 0"/>'


def test_a_linear_equality_of_joints_is_a_coupling(tmp_path):
    path = written(tmp_path / "m.xml", first='ref="30"', end=equality(LINEAR))
    with pytest.warns(ModelWarning, match="1 coupled joint: .*'j2' follows 'j1'"):
        robot = load(path)
    (c,) = robot.couplings
    assert (c.joint, c.master, c.ratio) == ("j2", "j1", -2.0)
    # MuJoCo: the relation holds between differences to the reference.
    assert np.isclose(c.offset, 0.1 + 2 * np.radians(30))
    assert load(path, couplings="embed").nv == 1


def said(path, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ModelWarning)
        load(path, **options)
    return [str(w.message) for w in found]


FLOOR = '<geom name="floor" type="plane" size="1 1 1"/>'
KINDS = {
    "curved joint": ({"end": equality(LINEAR.replace("-2 0", "-2 1"))}, "1 joint constraint is left out"),
    "held joint": ({"end": equality('<joint joint1="j2" polycoef="1 0 0 0 0"/>')}, "1 joint constraint is"),
    "second master": ({"end": equality(LINEAR * 2)}, "1 joint constraint is left out"),
    "cycle": (
        {"end": equality(LINEAR + '<joint joint1="j1" joint2="j2"/>')},
        "1 joint constraint is left out",
    ),
    "servo": ({"end": '<actuator><position joint="j1" kp="5"/></actuator>'}, "push without being driven"),
    "spring of a tendon": ({"end": ROPE.format(more='stiffness="1"')}, "1 tendon is left out .'rope'."),
    "inertia of a tendon": ({"end": ROPE.format(more='armature="1"')}, "1 tendon is left out .'rope'."),
    "fluid": ({"head": '<option density="1.2"/>'}, "forces of the fluid are left out"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_what_changes_the_physics_is_told_and_refused_if_one_is_strict(name, tmp_path):
    more, words = KINDS[name]
    path = written(tmp_path / "m.xml", **more)
    path.write_text(path.read_text().replace("<worldbody><body>", '<worldbody><body name="a">'))
    (line,) = (line for line in said(path) if "[changes the physics]" in line)
    assert re.search(words, line), line
    with warnings.catch_warnings(), pytest.raises(FormatError, match="changes the physics"):
        warnings.simplefilter("ignore")
        load(path, strict=True)
    assert said(path, strict=None) == []


HARMLESS = {
    "inactive": ({"end": equality(LINEAR.replace("<joint", "<joint active='false'"))}, "1 inactive"),
    "motor": ({"end": MOTOR}, "1 actuator is left out .'drive'.; their forces are given as tau"),
    "idle tendon": ({"end": ROPE.format(more="")}, "1 tendon is left out, with no force"),
    "off by flag": ({"end": equality(LINEAR), "flags": 'equality="disable"'}, "1 inactive constraint"),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_what_changes_nothing_is_a_note(name, tmp_path):
    more, words = HARMLESS[name]
    path = written(tmp_path / "m.xml", **more)
    (line,) = said(path)
    assert re.search(words, line) and line.endswith("[left out]"), line
    assert said(path, strict=True) == [line]


def test_floors_and_contacts_are_told(tmp_path):
    path = written(tmp_path / "m.xml", world=FLOOR)
    assert said(path) == []  # contacts are switched off
    path.write_text(path.read_text().replace('contact="disable"', ""))
    (line,) = said(path)
    assert "1 world geom is left out that bodies can touch, 1 of them planes" in line
    loose = '<body pos="0 0 5"><freejoint/><geom size=".1"/></body>'
    path.write_text(path.read_text().replace(FLOOR, loose))
    (line,) = said(path)
    assert "contacts between bodies are left out" in line and line.endswith("[left out]")


def test_the_warning_points_at_the_line_that_loads(tmp_path):
    path = written(tmp_path / "m.xml", end=MOTOR)
    here = inspect.currentframe().f_lineno
    with pytest.warns(ModelWarning) as found:
        load(path)
    assert [(w.filename, w.lineno) for w in found] == [(__file__, here + 2)]


def test_a_quaternion_off_unit_by_rounding_is_normalised():
    body = "<body><geom size='1 2 3' type='box'/></body>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    model.body_iquat[1] = np.array([0.5, 0.5, 0.5, 0.5]) * (1 + 1e-6)
    found = from_mujoco(model, strict=None).bodies[0].inertia.I
    assert np.isclose(np.trace(found), model.body_inertia[1].sum(), rtol=1e-12)
