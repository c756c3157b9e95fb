"""Contacts of files: MuJoCo's own pairs, distances and frictions; URDF's shapes on the ground."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import reference
from hinge.errors import ArgumentError, FormatError, ModelWarning
from hinge.io import from_mujoco
from hinge.model import HeightField, fingerprint

mujoco = pytest.importorskip("mujoco")

WORLD = """<mujoco><option><flag {flag}/></option><default><geom margin="50" friction="0.5"/></default>
<asset>
  <hfield name="hills" nrow="3" ncol="4" size="2 1 0.5 0.1" elevation="0 1 0 .5  .2 0 1 0  0 0 .3 1"/>
</asset>
<worldbody>
  <geom name="floor" type="plane" size="1 1 1" friction="0.9" pos="0 0 -0.2" euler="5 0 30"/>{world}
  <body name="a" pos="0 0 1"><freejoint/><geom name="ball" size="0.1" friction="0.3"/>
    <body name="b" pos="0.4 0 0"><joint axis="0 1 0"/>
      <geom name="rod" type="capsule" size="0.05 0.2" euler="20 30 0" friction="1.2"/>
      <body name="c" pos="0.5 0 0"><joint axis="1 0 0"/>
        <geom name="block" type="box" size="0.1 0.05 0.02" euler="0 0 20"/></body>
      <body name="d" pos="0 0.5 0"><geom name="slick" size="0.07" condim="1" priority="2"/></body>
    </body>
  </body>
  <body name="e" pos="1 1 1"><freejoint/>
    <geom name="pill" type="capsule" size="0.05 0.1" priority="1" friction="0.2" condim="6"/></body>
  <body name="f" pos="2 1 1"><freejoint/><geom name="ghost" size="0.1" contype="0" conaffinity="0"/></body>
</worldbody>
<contact>{contact}</contact></mujoco>"""


def compiled(world="", contact="", flag='gravity="enable"'):
    return mujoco.MjModel.from_xml_string(WORLD.format(world=world, contact=contact, flag=flag))


def loaded(m, **options):
    """Return the robot and what was said."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        robot = from_mujoco(m, **options)
    return robot, [str(w.message) for w in told]


def mujocos(m, robot, q):
    """Return the least distance and the friction of every pair of bodies that MuJoCo finds."""
    data = mujoco.MjData(m)
    data.qpos[:] = hinge.mujoco_map(robot, m).to_q(q)
    mujoco.mj_forward(m, data)
    found = {}
    for k in range(data.ncon):
        c = data.contact[k]
        pair = frozenset(int(m.geom_bodyid[g]) for g in c.geom)
        friction = float(c.friction[0]) if c.dim > 1 else 0.0
        old = found.get(pair, (np.inf, 0.0))
        found[pair] = min(old[0], float(c.dist)), friction
    return found


def hinges(m, robot, q):
    found = {}
    number = {mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_BODY, b): b for b in range(m.nbody)} | {None: 0}
    for c, gap in zip(robot.contacts, reference.gap(robot, q), strict=True):
        pair = frozenset((number[c.frame], number[c.on]))
        found[pair] = min(found.get(pair, (np.inf, 0.0))[0], float(gap)), c.friction
    return found


CASES = {
    "plain": {},
    "excluded": {"contact": '<exclude body1="a" body2="c"/><exclude body1="e" body2="world"/>'},
    "pairs": {
        "contact": '<pair geom1="floor" geom2="ghost" friction="0.8 0.8" margin="50"/>'
        '<pair geom1="rod" geom2="ball" margin="50"/>'
    },
    "slippery pair": {"contact": '<pair geom1="ball" geom2="floor" condim="1" margin="50"/>'},
    "no parents": {"flag": 'filterparent="disable"'},
    "off": {"flag": 'contact="disable"'},
    "ball in the world": {"world": '<geom name="post" type="capsule" size="0.1 0.3" pos="1 0 0"/>'},
    "fixed body": {"world": '<body name="w" pos="0 1 0"><geom name="knob" size="0.2"/></body>'},
}


@pytest.mark.parametrize("case", CASES)
def test_pairs_distances_and_frictions_are_mujocos(case):
    m = compiled(**CASES[case])
    robot, _ = loaded(m, contacts="all")
    rng = np.random.default_rng(1)
    q = hinge.random_configuration(robot, 2)
    for body in ("a", "e", "f"):
        j = robot.joint_of(body)
        q[j.q_slice.stop - 3 : j.q_slice.stop] = rng.uniform(-1, 1, 3)
    expected, found = mujocos(m, robot, q), hinges(m, robot, q)
    block = m.body("c").id
    assert set(found) == set(expected)
    for pair, (gap, friction) in expected.items():
        assert found[pair][1] == friction, pair
        if block in pair and 0 not in pair:
            assert found[pair][0] >= gap - 1e-9  # corners only
        else:
            assert_allclose(found[pair][0], gap, atol=1e-6)
    ground, _ = loaded(m, contacts=True)
    listed = {
        frozenset(int(m.geom_bodyid[g]) for g in p) for p in zip(m.pair_geom1, m.pair_geom2, strict=True)
    }
    fixed = {b for b in range(m.nbody) if m.body_weldid[b] == 0}
    assert set(hinges(m, ground, q)) == {p for p in expected if p & fixed or p in listed}


def test_nothing_is_added_unless_asked_for():
    m = compiled()
    robot, told = loaded(m)
    assert robot.contacts == () and sum("contacts=True reads them" in t for t in told) == 1
    touching, told = loaded(m, contacts=True)
    assert fingerprint(hinge.without_contacts(touching)) == fingerprint(robot)
    assert [c.name for c in touching.contacts][:3] == ["ball", "rod_0", "rod_1"]
    assert not any("floors" in t for t in told)
    assert any("14 contacts are rigid here" in t and "rolling friction are left out" in t for t in told)
    assert loaded(m, contacts="all", strict=None)[1] == []
    strict = loaded(m, contacts=True, strict=True)[0]
    assert fingerprint(strict) == fingerprint(touching)


def test_height_fields_of_the_world():
    m = compiled(world='<geom name="ground" type="hfield" hfield="hills" pos="0.1 0 0"/>')
    robot, _ = loaded(m, contacts=True)
    (field,) = {c.surface for c in robot.contacts if isinstance(c.surface, HeightField)}
    assert field.heights.shape == (4, 3) and field.size == (4.0, 2.0)
    assert_allclose(field.heights[:, -1], 0.5 * np.array([0, 1, 0, 0.5]), atol=1e-6)
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    for x, y in ((-1.3, -0.4), (0.3, 0.6), (1.5, 0.1), (-0.2, -0.1)):
        start, way, hit = np.array([x + 0.1, y, 5.0]), np.array([0, 0, -1.0]), np.zeros(1, np.int32)
        only = np.zeros(6, np.uint8)
        m.geom_group[:] = 5
        m.geom_group[m.geom("ground").id] = 0
        only[0] = 1
        height = 5.0 - mujoco.mj_ray(m, data, start, way, only, 1, -1, hit, None)
        lower, upper = np.sort([heights(field, x, y), heights(field, x, y, other=True)])
        assert lower - 1e-6 <= height <= upper + 1e-6


def heights(field, x, y, *, other=False):
    """Return the height with cells divided along one diagonal or along the other."""
    h = HeightField(field.heights[:, ::-1], field.size) if other else field
    return reference.height_fields.height_and_slopes(h, x, -y if other else y)[0]


def test_other_kinds_are_named_as_left_out():
    world = '<geom name="step" type="box" size="1 1 0.1"/><geom name="pole" type="cylinder" size="0.1 1"/>'
    robot, told = loaded(compiled(world=world), contacts=True)
    (text,) = [t for t in told if "[left out]" in t and "pairs left out" in t]
    assert "sphere of 'a' on cylinder of the world" in text
    assert any(c.name == "block_step" or c.name.startswith("ball_") for c in robot.contacts)


def test_a_floated_root_touches_the_ground(tmp_path):
    path = tmp_path / "m.xml"
    text = '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="base"><geom size="0.1"/></body>'
    path.write_text(f"{text}</worldbody></mujoco>")
    with pytest.warns(ModelWarning):
        assert hinge.load(path, contacts=True).contacts == ()
        (c,) = hinge.load(path, contacts=True, floating=True).contacts
    assert (c.frame, c.friction, c.radius) == ("base", 1.0, 0.1)


URDF = """<robot name="r">
<link name="base"><collision><geometry><sphere radius="1"/></geometry></collision></link><link name="leg">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>{more}
<collision name="shin"><origin xyz="0 0 1"/>
<geometry><capsule radius="0.1" length="0.4"/></geometry></collision>
<collision><geometry><mesh filename="foot.stl"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="leg"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def test_urdf_on_the_ground(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(URDF.format(more=""))
    assert hinge.load(path).contacts == ()
    with pytest.warns(ModelWarning) as told:
        robot = hinge.load(path, contacts=True)
    words = [str(w.message) for w in told]
    assert [(c.name, c.frame, c.on, c.radius, c.friction) for c in robot.contacts] == [
        ("shin_0", "leg", None, 0.1, 0.0),
        ("shin_1", "leg", None, 0.1, 0.0),
    ]
    assert_allclose(reference.gap(robot, [0.0]), [0.7, 1.1], atol=1e-15)
    assert any("no <lateral_friction>" in w for w in words) and any(
        "mesh foot.stl of 'leg'" in w for w in words
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        floating = hinge.load(path, contacts=True, floating=True, strict=None)
    assert [c.frame for c in floating.contacts] == ["base", "leg", "leg"]
    path.write_text(URDF.format(more='<contact><lateral_friction value="0.6"/></contact>'))
    assert {c.friction for c in hinge.load(path, contacts=True, strict=None).contacts} == {0.6}
    path.write_text(URDF.format(more='<contact><lateral_friction value="-1"/></contact>'))
    with pytest.raises(FormatError, match=r"r.urdf:3: link 'leg': expected a friction ≥ 0, got -1"):
        hinge.load(path, contacts=True)
    with pytest.raises(ArgumentError, match="contacts: expected True or False for URDF, got 'all'"):
        hinge.load(path, contacts="all")
    with pytest.raises(ArgumentError, match="contacts: expected True, False or 'all', got 'ground'"):
        hinge.load(path, contacts="ground")
