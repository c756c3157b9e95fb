"""Closures as data: rows, errors, ends, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge.errors import ModelError, UnknownNameError
from hinge.kernels import Graph, finish
from hinge.model import (
    Closure,
    Joint,
    SoftFinger,
    closure_ends,
    closure_error_of,
    fingerprint,
    make_robot,
    rows_of,
)
from hinge.model.closures import alignment_of
from hinge.model.joints import JOINT_TYPES, Cylindrical, Fixed, Revolute, Screw, Spherical
from hinge.robots import chain, panda
from hinge.spatial import Transform, quaternion, rotation
from tests.spatial.test_any_scalar import Traced

RNG = np.random.default_rng(3)
CLOSING = [k for k in JOINT_TYPES if JOINT_TYPES[k].random_type(RNG).reactions is not None]
TABLE = {
    "fixed": "wx wy wz vx vy vz",
    "revolute": "wx wy vx vy vz",
    "continuous": "wx wy vx vy vz",
    "prismatic": "wx wy wz vx vy",
    "screw": "wx wy vx vy vz-wz",
    "cylindrical": "wx wy vx vy",
    "spherical": "vx vy vz",
    "planar": "wx wy vz",
    "translational": "wx wy wz",
}


def every_joint(seed=0):
    """Return a joint of each kind that can close, with random axes."""
    rng = np.random.default_rng(seed)
    axis = rotation.from_quaternion(quaternion.random(rng))[0]
    return [*(JOINT_TYPES[k].random_type(rng) for k in CLOSING), SoftFinger(tuple(axis))]


def by_kind(joint):
    return joint.kind


def test_the_table_of_rows():
    found = {k: " ".join(rows_of(JOINT_TYPES[k].random_type(RNG)).names) for k in CLOSING}
    assert found == TABLE
    soft = rows_of(SoftFinger())
    assert soft.names == ("vx", "vy", "vz", "wz") and soft.holonomic == (True, True, True, False)
    assert rows_of(Screw(pitch=0.3)).matrix[-1].tolist() == [0, 0, -0.3, 0, 0, 1]


@pytest.mark.parametrize("joint", every_joint()[:-1], ids=by_kind)
def test_no_motion_of_the_joint_is_locked_and_none_has_an_error(joint):
    turn, rows = alignment_of(joint), rows_of(joint)
    q = joint.random(RNG, (5,), *joint.limits())
    assert_allclose(rows.matrix @ turn.motions(joint.subspace(q)), 0, atol=1e-12)
    assert_allclose(closure_error_of(rows, turn @ joint.placement(q) @ turn.inv()), 0, atol=1e-12)
    assert len(rows.names) == 6 - joint.nv


@pytest.mark.parametrize("joint", every_joint(1), ids=by_kind)
def test_where_closed_the_rate_of_the_error_is_the_velocity(joint):
    """Traced transforms carry the derivative: of (E, r) it is (−ω× E, Eᵀ v)."""
    rows = rows_of(joint)
    v = RNG.standard_normal(6)
    place = Transform.identity()
    if not isinstance(joint, SoftFinger) and joint.kind != "spherical":
        turn = alignment_of(joint)
        place = turn @ joint.placement(joint.random(RNG, (), *joint.limits())) @ turn.inv()
    moving = _moving(place, v)
    found = closure_error_of(rows, moving)
    slope = np.array([Traced.of(x).slope for x in found])
    lever = -np.cross(v[:3], place.E @ place.r)  # turns of locked rows, seen from the outer axes
    shift = [lever["xyz".index(n[1])] if n[0] == "v" else 0.0 for n in rows.names]
    expected = rows.matrix @ v + shift
    assert_allclose(slope, np.where(rows.holonomic, expected, 0), atol=1e-9)


def _moving(x, v):
    spin = -np.cross(v[:3], x.E.T).T
    slide = x.E.T @ v[3:]
    e = [[Traced(x.E[i, j], spin[i, j]) for j in range(3)] for i in range(3)]
    return Transform(np.array(e, dtype=object), np.array([Traced(*p) for p in zip(x.r, slide, strict=True)]))


def test_the_error_grows_with_the_angle_up_to_half_a_turn():
    for joint in (Fixed(), Revolute()):
        for angle in (1e-9, 0.1, 3.0, np.pi):
            x = Transform.place(rotation.about((0.6, 0.8, 0), angle))
            e = closure_error_of(rows_of(joint), x)
            assert np.isfinite(e).all()
            if angle < 3.1:
                assert_allclose(np.linalg.norm(e[:2]), 2 * np.sin(angle / 2), rtol=1e-12)
                assert_allclose(e[:2], np.linalg.norm(e[:2]) * np.array([0.6, 0.8]), rtol=1e-12)


def test_a_screw_keeps_its_pitch():
    rows = rows_of(Screw(pitch=0.2))
    for angle in (-3.1, -0.1, 0.0, 2.0, 3.1):
        x = Transform.place(rotation.about((0, 0, 1), angle), (0, 0, 0.5))
        assert_allclose(closure_error_of(rows, x)[-1], 0.5 - 0.2 * angle, atol=1e-14)


def test_errors_take_batches():
    x = Transform.place(
        rotation.from_quaternion(quaternion.random(RNG, (4, 2))), RNG.standard_normal((4, 2, 3))
    )
    for joint in every_joint():
        rows = rows_of(joint)
        found = closure_error_of(rows, x)
        assert found.shape == (4, 2, len(rows.names))
        one = closure_error_of(rows, Transform(x.E[3, 1], x.r[3, 1]))
        assert_allclose(found[3, 1], one, atol=1e-15)


@pytest.mark.parametrize("kind", sorted(set(JOINT_TYPES) - set(CLOSING)))
def test_types_that_cannot_close_say_what_to_do(kind):
    with pytest.raises(ModelError, match=r"closure 'world_tool': joint: .*cut another one of the loop"):
        hinge.close(panda(), None, "tool", joint=JOINT_TYPES[kind].random_type(RNG))


def test_close_and_open():
    robot = panda()
    closed = hinge.close(robot, None, "tool", joint=Revolute((1, 0, 0)), position=(0.5, 0, 0.3))
    (c,) = closed.closures
    assert (c.name, c.inner, c.outer, c.joint) == ("world_tool", None, "tool", Revolute((1, 0, 0)))
    twice = hinge.close(closed, "link3", "tool")
    again = hinge.close(closed, None, "tool", joint=Spherical())
    assert [c.name for c in twice.closures] == ["world_tool", "link3_tool"]
    assert [c.name for c in again.closures] == ["world_tool", "world_tool_2"]
    assert hinge.opened(twice, ["world_tool"]).closures[0].name == "link3_tool"
    assert hinge.opened(twice).closures == () == robot.closures
    assert hinge.opened(twice, "link3_tool").closures[0] is c
    with pytest.raises(UnknownNameError, match="no closure 'world_tol'; did you mean 'world_tool'"):
        hinge.opened(closed, ["world_tol"])


def test_the_ends_are_aligned():
    joint = Cylindrical((1, 0, 0))
    robot = hinge.close(panda(), "link2", "tool", joint=joint, position=(0, 0.1, 0))
    (i, x), (j, y) = closure_ends(robot, robot.closures[0])
    assert (robot.bodies[i].name, robot.bodies[j].name) == ("link2", "link7")
    assert_allclose(x.position, (0, 0.1, 0))
    assert_allclose(x.rotation[:, 2], (1, 0, 0), atol=1e-15)
    assert_allclose(y.rotation[:, 2], (1, 0, 0), atol=1e-15)
    assert_allclose(y.position, robot.frame("tool").placement.position)
    robot = hinge.close(panda(), None, "tool", position=(1, 2, 3))
    (i, x), _ = closure_ends(robot, robot.closures[0])
    assert i == -1 and x.position.tolist() == [1, 2, 3]


def test_every_field_of_a_closure_counts_in_the_fingerprint():
    robot = hinge.close(panda(), "link2", "tool", joint=Revolute())
    (c,) = robot.closures
    others = [
        replace(c, name="other"),
        replace(c, inner=None),
        replace(c, outer="link7"),
        replace(c, joint=Revolute((1, 0, 0))),
        replace(c, joint=Spherical()),
        replace(c, placement=Transform.place(None, (0, 0, 1e-15))),
        replace(c, rows=("vx",)),
    ]
    made = [panda(), robot, *(replace(robot, closures=(x,)) for x in others)]
    assert len({fingerprint(r) for r in made}) == len(made)


REFUSED = {
    "unknown frame": (
        lambda r: hinge.close(r, None, "tol"),
        r"its outer frame or body 'tol' does not exist; did you",
    ),
    "one body": (
        lambda r: hinge.close(r, "link7", "tool"),
        r"expected two bodies, got 'link7' and 'tool', both on",
    ),
    "the world outside": (lambda r: hinge.close(r, "tool", None), r"the world can be inner only"),
    "no joint": (
        lambda r: hinge.close(r, None, "tool", joint="fixed"),
        r"expected a joint type such as Spherical",
    ),
    "unknown rows": (
        lambda r: hinge.close(r, None, "tool", rows=["vx", "x"]),
        r"rows: expected some of wx, wy",
    ),
    "no rows": (lambda r: hinge.close(r, None, "tool", rows=5), r"rows: expected some of wx.* got 5"),
    "no name": (lambda r: hinge.close(r, 3, "tool"), r"inner: expected the name of a frame or body, or None"),
    "a joint's name": (
        lambda r: hinge.close(r, None, "tool", name="joint1"),
        r"joint or closure name 'joint1' is used twice",
    ),
    "a name twice": (
        lambda r: hinge.close(hinge.close(r, None, "tool", name="a"), "link2", "tool", name="a"),
        r"name 'a' is used twice",
    ),
    "a closure twice": (
        lambda r: hinge.close(hinge.close(r, None, "tool", name="a"), None, "tool", name="b"),
        r"closure 'b': the same as 'a'; keep one",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused(what):
    make, message = REFUSED[what]
    with pytest.raises(ModelError, match=message):
        make(panda())


def test_a_body_on_two_joints_hears_of_close():
    robot = chain(3)
    more = Joint("other", Revolute(), "link1", "link3")
    with pytest.raises(ModelError, match=r"child of two joints.*close the loop with close\(robot"):
        make_robot("loop", robot.bodies, [*robot.joints, more])


@dataclass(frozen=True)
class Pipe(Cylindrical):
    """A type of the user's own, with rows of its own."""

    kind: ClassVar[str] = "pipe"
    wrong: int = 0

    @property
    def reactions(self):
        return np.eye(6)[[[0, 1, 3, 4], [0, 1, 3], [0, 1, 4, 5], [0, 2, 3, 4]][self.wrong]]


def test_own_types_close_with_rows_that_fit():
    robot = hinge.close(panda(), None, "tool", joint=Pipe((0, 1, 0)))
    assert robot.closures[0].constraints.names == ("wx", "wy", "vx", "vy")
    for wrong in (1, 2):
        with pytest.raises(ModelError, match="expected 6 − nv = 4 reactions that no motion"):
            hinge.close(panda(), None, "tool", joint=Pipe(wrong=wrong))
    with pytest.raises(ModelError, match="turns about none, x and y, or all axes"):
        hinge.close(panda(), None, "tool", joint=Pipe(wrong=3))


def test_a_closure_is_frozen_and_says_what_it_is():
    c = Closure("grip", None, "tool")
    assert repr(c) == "<Closure 'grip': Fixed() from 'the world' to 'tool'>"
    with pytest.raises(ValueError, match="read-only"):
        c.placement.r[0] = 1.0
    assert Closure("a", None, "b", rows=("vx", "wx")).rows == ("wx", "vx")


@pytest.mark.parametrize("joint", every_joint(2), ids=by_kind)
def test_the_error_can_be_traced_to_a_kernel(joint):
    """Also where some entries are known numbers, as in a planar loop."""
    rows = rows_of(joint)
    x = Transform.place(rotation.about((0, 0, 1), 0.7), RNG.standard_normal(3))
    graph = Graph()
    known = np.array([[False, False, True], [False, False, True], [True, True, True]])
    e = np.where(known, x.E, 0.0).astype(object)
    for i, j in np.argwhere(~known):
        e[i, j] = graph.input(f"e{i}{j}")
    r = np.array([graph.input(f"r{i}") for i in range(3)], dtype=object)
    found = closure_error_of(rows, Transform(e, r))
    kernel = finish(graph, dict(zip(rows.names, found, strict=True)))
    given = {f"e{i}{j}": x.E[i, j] for i, j in np.argwhere(~known)} | {f"r{i}": x.r[i] for i in range(3)}
    values = kernel.evaluate(given)
    assert_allclose([values[n] for n in rows.names], closure_error_of(rows, x), atol=1e-14)
