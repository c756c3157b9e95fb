import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge.errors import ModelError, ModelWarning
from hinge.model import Box, Builder, Shape
from hinge.model.joints import Fixed, Prismatic, Revolute
from hinge.reference import frame_placement
from hinge.spatial import Inertia, Transform, rotation

ROD = Inertia.from_com(1.0, (0, 0, -0.5), np.diag([0.1, 0.1, 0.01]))


def pendulum():
    b = Builder("pendulum", gravity=(0, 0, -1.62))
    b.body("rod", joint=Revolute((0, 1, 0)), inertia=ROD, position=(1, 2, 3), damping=0.1, lower=-1, upper=2)
    b.body(
        "slider", parent="rod", joint=Prismatic(), inertia=ROD, joint_name="slide", outer=Transform.identity()
    )
    b.frame("tip", "slider", position=(0, 0, -1))
    return b


def test_what_is_collected_is_built():
    r = pendulum().build()
    assert [x.name for x in r.bodies] == ["rod", "slider"]
    assert [j.name for j in r.joints] == ["rod_joint", "slide"]
    assert [j.type for j in r.joints] == [Revolute((0, 1, 0)), Prismatic()]
    assert_allclose(r.gravity, (0, 0, -1.62))
    j = r.joint("rod_joint")
    assert (j.damping, j.lower, j.upper) == (0.1, -1, 2)


def test_placements_are_those_of_the_inner_frame():
    b = Builder("r")
    b.body("a", rotation=rotation.from_rpy((0, 0, np.pi / 2)), position=(1, 0, 0))
    b.body("b", parent="a", position=(1, 0, 0))
    b.frame("f", "b", position=(0, 0, 1))
    x = frame_placement(b.build(), np.zeros(0), "f")
    assert_allclose(x.position, (1, 1, 1), atol=1e-15)


def test_a_body_is_fixed_unless_a_joint_is_given():
    b = Builder("r")
    b.body("a")
    assert b.build().joint("a_joint").type == Fixed()


def test_verbs_return_the_names():
    b = Builder("r")
    assert b.body("a") == "a"
    assert b.frame("f", "a") == "f"


def test_couplings_and_shapes_are_kept():
    b = pendulum()
    shape = Shape("visual", Box((1, 1, 1)))
    b.body("grip", parent="slider", joint=Prismatic(), inertia=ROD, shapes=(shape,))
    b.couple("grip_joint", "slide", ratio=-1, offset=0.1)
    r = b.build()
    (c,) = r.couplings
    assert (c.joint, c.master, c.ratio, c.offset) == ("grip_joint", "slide", -1, 0.1)
    assert r.body("grip").shapes == (shape,)


def test_an_unknown_field_is_refused_by_name():
    with pytest.raises(ModelError, match=r"body 'a': expected fields of a joint, got dampening; .*damping"):
        Builder("r").body("a", dampening=1.0)


@pytest.mark.parametrize("wrong", [{"dampening": 1.0}, {"lower": (1, 2)}])
def test_a_refused_body_is_not_kept(wrong):
    b = Builder("r")
    with pytest.raises(ModelError):
        b.body("a", joint=Revolute(), inertia=ROD, **wrong)
    b.body("a", joint=Revolute(), inertia=ROD)
    assert len(b.build().bodies) == 1


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ({"position": (1, 2)}, "position"),
        ({"position": "here"}, "position"),
        ({"position": 1.0}, "position"),
        ({"rotation": (1, 2, 3)}, "rotation"),
        ({"rotation": np.eye(4)}, "rotation"),
    ],
    ids=["two numbers", "letters", "one number", "three angles", "homogeneous"],
)
def test_a_placement_of_the_wrong_shape_is_refused_by_name(place, name):
    b = Builder("r")
    b.body("base")
    with pytest.raises(ModelError, match=f"'a'.*{name}"):
        b.body("a", **place)
    with pytest.raises(ModelError, match=f"'f'.*{name}"):
        b.frame("f", "base", **place)


@pytest.mark.parametrize("wrong", ["parent", "frame"])
def test_an_unknown_body_is_refused_when_built(wrong):
    b = Builder("r")
    b.body("a", parent="ghost" if wrong == "parent" else None)
    b.frame("f", "ghost" if wrong == "frame" else "a")
    with pytest.raises(ModelError, match="'ghost'"):
        b.build()


def test_a_parent_may_be_added_after_its_child():
    b = Builder("r")
    b.body("hand", parent="arm", joint=Revolute(), inertia=ROD)
    b.body("arm", joint=Revolute(), inertia=ROD)
    assert [x.name for x in b.build().bodies] == ["arm", "hand"]


def massless():
    b = Builder("r")
    b.body("a", joint=Revolute())
    return b


def test_a_doubt_is_warned_of_at_the_callers_line():
    with pytest.warns(ModelWarning, match="joint 'a_joint'") as caught:
        massless().build()
    assert caught[0].filename == __file__


def test_strictness_is_the_callers():
    with pytest.raises(ModelError, match="joint 'a_joint'"):
        massless().build(strict=True)
    assert massless().build(strict=None).nv == 1


def test_building_twice_gives_two_equal_robots():
    b = pendulum()
    one, two = b.build(), b.build()
    assert one is not two and repr(one) == repr(two)
