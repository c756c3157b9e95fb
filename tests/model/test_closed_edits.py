"""Whatever makes a robot from a robot carries its closures."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import model
from hinge.errors import ModelError
from hinge.io import from_json, to_json, to_urdf
from hinge.model import Builder, Coupling, Frame, Joint, SoftFinger, closure_transform
from hinge.model.joints import Fixed, Free, Prismatic, Revolute, Spherical
from hinge.robots import chain, random_inertia
from hinge.robots.looks import dressed
from hinge.spatial import Inertia, Transform, rotation
from tests.api.law import nodes

SOURCE = Path(hinge.__file__).parent
RNG = np.random.default_rng(8)
TURN = rotation.about((0, 0.6, 0.8), 0.7)


def closed(*, root=None, coupled: bool = True):
    """Return a tree whose body frames are not at its joints, with closures of every kind of side."""
    b = Builder("closed", gravity=(0, 1.0, -3.0))
    aside = Transform.place(TURN, (0.1, 0.2, 0.3))
    b.body("base", joint=root or Free(), inertia=random_inertia(RNG))
    for name, parent, joint in (
        ("a", "base", Revolute((0, 1, 0))),
        ("b", "a", Prismatic()),
        ("c", "base", Revolute()),
        ("d", "c", Fixed()),
        ("e", "c", Revolute((1, 0, 0))),
    ):
        b.body(
            name, parent=parent, joint=joint, inertia=random_inertia(RNG), position=(0.3, 0, 0.1), outer=aside
        )
    b.frame("tip", "b", rotation=TURN, position=(0, 0.1, 0))
    if coupled:
        b.couple("e_joint", "c_joint", ratio=0.5)
    b.close("to_the_world", None, "tip", joint=SoftFinger((0, 1, 0)), position=(1, 0, 0))
    b.close("between", "a", "d", joint=Revolute((0, 1, 0)), rotation=TURN, position=(0, 0.1, 0))
    b.close("within", "c", "e", joint=Spherical(), rows=("vx", "vz"))
    return b.build()


CLOSED, UNCOUPLED = closed(), closed(coupled=False)


def seen(robot, state, prefix=""):
    """Return what each closure sees: the transform across it, its rows, its joint."""
    q = model.carry_state(CLOSED, robot, *state)[0] if not prefix else state[0]
    return {
        c.name: (closure_transform(robot, c, q).homogeneous(), repr(c.joint), c.rows) for c in robot.closures
    }


def same(robot, names=None):
    """Check that a robot made of CLOSED has its closures in the same places."""
    q = hinge.random_configuration(CLOSED, 4)
    q[CLOSED.joint("e_joint").q_slice] = 0.5 * q[CLOSED.joint("c_joint").q_slice]
    q[CLOSED.joint("b_joint").q_slice] = 0.1
    state = q, np.zeros(CLOSED.nv)
    expected, found = seen(CLOSED, state), seen(robot, state)
    assert list(found) == [n for n in expected if names is None or n in names]
    for name, (x, joint, rows) in found.items():
        assert_allclose(x, expected[name][0], atol=1e-12)
        assert (joint, rows) == expected[name][1:]


def _other():
    """Return a robot with other names than CLOSED has."""
    b = Builder("other")
    b.body("one", joint=Revolute(), inertia=random_inertia(RNG))
    return b.build()


MADE = {
    "lock": lambda r: hinge.lock(r, {"b_joint": 0.1}),
    "reduce": hinge.reduce,
    "at_joints": model.at_joints,
    "reroot": lambda r: hinge.reroot(hinge.opened(r, []), "b"),
    "reroot and back": lambda r: hinge.reroot(hinge.reroot(r, "e"), "base"),
    "embed_couplings": hinge.embed_couplings,
    "release_couplings": lambda r: hinge.release_couplings(hinge.embed_couplings(r)),
    "with_parameters": lambda r: hinge.with_parameters(r, rotors=np.ones(r.nv)),
    "with_inertial_parameters": lambda r: hinge.with_inertial_parameters(r, hinge.inertial_parameters(r)),
    "json": lambda r: from_json(to_json(r)),
    "dressed": lambda r: dressed(r, {}),
    "attach a payload": lambda r: hinge.attach(r, Inertia.from_com(1.0, (0, 0, 0.1), np.eye(3)), "tip"),
    "merge": lambda r: hinge.merge(r, _other()),
    "merge after": lambda r: hinge.merge(_other(), r),
    "opened none": lambda r: hinge.opened(r, []),
    "close more and open": lambda r: hinge.opened(hinge.close(r, None, "e", name="more"), ["more"]),
}


@pytest.mark.parametrize("what", MADE)
def test_closures_go_along(what):
    same(MADE[what](CLOSED))


#: Functions that call `assemble` or make a Robot, and what shows that closures are not lost there.
MAKERS = {
    "model/robot.py:make_robot": "all of them",
    "model/robot.py:remade": "dressed",
    "model/touching.py:with_contacts": "tests/model/test_contacts.py",
    "model/touching.py:without_contacts": "tests/model/test_contacts.py",
    "model/edit.py:_as_robot": "a payload has none",
    "model/edit.py:reduce": "reduce",
    "model/edit.py:at_joints": "at_joints",
    "model/edit.py:_part": "lock",
    "model/edit.py:_combine": "merge",
    "model/edit.py:_renamed": "test_a_prefix_goes_before_all_names",
    "model/closing.py:with_closures": "close more and open",
    "model/loops.py:renamed": "tests/dynamics/test_embedded_loops.py",
    "model/couplings.py:_with_types": "embed_couplings",
    "model/inertial.py:with_inertial_parameters": "with_inertial_parameters",
    "model/parameters.py:with_parameters": "with_parameters",
    "model/grasping.py:_as_object": "a body has none",
    "testing/closed.py:_closed": "closes the robot itself",
    "model/flexible.py:at": "a body, no robot",
    "model/flexible.py:in_frame": "a body, no robot",
    "model/builder.py:build": "builds CLOSED",
    "io/robot_json.py:from_json": "json",
    "robots/looks.py:dressed": "dressed",
    "robots/random_trees.py:random_tree": "a tree",
    "io/mjcf.py:from_mujoco": "a file",
    "io/urdf.py:robot_of": "a file",
    "io/dh.py:from_dh": "a chain",
}


def makers():
    """Return the functions of the package that make robots."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for f in nodes(path):
            if isinstance(f, ast.FunctionDef) and any(_makes(n) for n in ast.walk(f)):
                found.add(f"{path.relative_to(SOURCE).as_posix()}:{f.name}")
    return found


def _makes(node):
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    parts = {"bodies", "joints", "frames"} & {k.arg for k in node.keywords}
    return node.func.id in ("make_robot", "remade", "Robot") or (node.func.id == "replace" and bool(parts))


def test_every_place_that_makes_a_robot_is_looked_at():
    assert makers() == set(MAKERS)


def test_a_prefix_goes_before_all_names():
    robot = hinge.merge(CLOSED, CLOSED, prefix="x_")
    assert [c.name for c in robot.closures][3:] == ["x_to_the_world", "x_between", "x_within"]
    assert [(c.inner, c.outer) for c in robot.closures][3:] == [
        (None, "x_tip"),
        ("x_a", "x_d"),
        ("x_c", "x_e"),
    ]
    q = np.concatenate([hinge.random_configuration(CLOSED, 1)] * 2)
    for one, two in zip(robot.closures[:3], robot.closures[3:], strict=True):
        x, y = (closure_transform(robot, c, q) for c in (one, two))
        assert_allclose(x.homogeneous(), y.homogeneous(), atol=1e-14)
    with pytest.raises(ModelError, match="prefix="):
        hinge.merge(CLOSED, CLOSED)


def test_attach_takes_inner_closures_along_and_refuses_those_with_the_world():
    with pytest.raises(ModelError, match=r"other: closure 'to_the_world' of 'closed' leads to the world"):
        hinge.attach(chain(2), CLOSED, "tip", prefix="x_")
    other = hinge.opened(CLOSED, ["to_the_world"])
    robot = hinge.attach(chain(2), other, "tip", prefix="x_")
    assert [c.name for c in robot.closures] == ["x_between", "x_within"]


def test_detach_keeps_each_parts_closures_and_refuses_those_across():
    with pytest.raises(ModelError, match=r"closure 'between' leads from .* in one part.*opened\(robot"):
        hinge.detach(CLOSED, "c")
    left, gone = hinge.detach(hinge.opened(UNCOUPLED, ["between"]), "c")
    assert [c.name for c in left.closures] == ["to_the_world"]
    assert [c.name for c in gone.closures] == ["within"]
    left, gone = hinge.detach(hinge.opened(UNCOUPLED, ["between"]), "b")
    assert [c.name for c in left.closures] == ["within"]
    assert [c.name for c in gone.closures] == ["to_the_world"]


def test_reduce_refuses_a_closure_that_would_lead_nowhere():
    robot = hinge.lock(UNCOUPLED, {"e_joint": 0.2})
    with pytest.raises(ModelError, match=r"closure 'within': expected two bodies.*remove it with opened"):
        hinge.reduce(robot)


def test_urdf_says_that_closures_are_left_out():
    robot = hinge.close(chain(2), None, "tip", joint=Spherical())
    with pytest.warns(hinge.errors.ModelWarning, match="URDF has no place for closures"):
        to_urdf(robot)


def test_tables_show_closures():
    assert CLOSED.summary.endswith("floating base, 3 closures")
    assert repr(hinge.opened(CLOSED, ["between", "within"])).endswith("floating base, 1 closure>")
    text = hinge.describe(CLOSED)
    assert "to_the_world  soft finger  the world  tip  vx vy vz wz" in text
    assert "the world" in CLOSED._repr_html_() and CLOSED._repr_html_().count("<table>") == 2
    assert "closure" not in hinge.describe(chain(2)) + chain(2)._repr_html_()


def test_check_finds_closures_that_are_open_or_out_of_shape():
    robot = hinge.close(chain(2), None, "tip", joint=Spherical(), position=(0, 0, 0.4))
    assert hinge.check(robot, np.zeros(2)) == []
    (problem,) = hinge.check(robot, [0.1, 0.0])
    assert str(problem).startswith("closure 'world_tip': q leaves it open by 0.0399 m or rad")
    (c,) = robot.closures
    bad = replace(robot, closures=(replace(c, placement=Transform(2 * np.eye(3), np.zeros(3))),))
    (problem,) = hinge.check(bad)
    assert problem.fatal and problem.where == "closure 'world_tip'"


def test_the_builder_reports_the_closure():
    b = Builder("bad")
    b.body("a", joint=Revolute())
    with pytest.raises(ModelError, match="closure 'c': position"):
        b.close("c", None, "a", position=(1, 2))


def test_coupled_and_framed_robots_stay_what_they_are():
    assert CLOSED.couplings == (Coupling("e_joint", "c_joint", 0.5),)
    assert [f.name for f in CLOSED.frames] == ["tip"] and isinstance(CLOSED.frames[0], Frame)
    assert isinstance(CLOSED.joints[0], Joint)
