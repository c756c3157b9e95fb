import inspect
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from hinge.errors import ArgumentError, ModelError, ModelWarning
from hinge.model import Body, Builder, Frame, Joint, Problem, check, enforce, joints, make_robot
from hinge.model.joints import Planar, Revolute, SphericalAngles
from hinge.robots import chain, double_pendulum, panda, puma560, quadruped, random_tree, spacecraft
from hinge.spatial import Inertia, Transform

SOUND = Inertia.from_com(1.0, (0.1, 0.2, 0.3), np.diag([1.0, 1.0, 1.5]))
NAN = float("nan")


def robot(inertia=SOUND, type_=None, **joint):
    """Return a robot of two bodies, "arm" the outer one on joint "elbow"."""
    return make_robot(
        "r",
        [Body("base", SOUND), Body("arm", inertia)],
        [
            Joint("shoulder", Revolute(), None, "base"),
            Joint("elbow", type_ or Revolute(), "base", "arm", **joint),
        ],
    )


def bent(i, j, value):
    matrix = SOUND.I.copy()
    matrix[i, j] += value
    return replace(SOUND, I=matrix)


def at(**placement):
    return Transform.place(**placement)


def with_moments(*moments):
    return Inertia.from_com(1.0, (0, 0, 0), np.diag(moments))


#: condition: (robot, where, whether always an error)
WRONG = {
    "negative mass": (robot(replace(SOUND, m=np.array(-1.0))), "body 'arm'", "mass ≥ 0", True),
    "mass not a number": (robot(replace(SOUND, m=np.array(NAN))), "body 'arm'", "inertia finite", True),
    "mass infinite": (robot(replace(SOUND, m=np.array(np.inf))), "body 'arm'", "inertia finite", True),
    "moment not a number": (robot(replace(SOUND, h=np.full(3, NAN))), "body 'arm'", "inertia finite", True),
    "inertia not a number": (robot(bent(0, 1, NAN)), "body 'arm'", "inertia finite", True),
    "inner not a number": (
        robot(inner=at(position=(NAN, 0, 0))),
        "joint 'elbow'",
        "placement finite",
        True,
    ),
    "outer not a number": (
        robot(outer=at(rotation=np.full((3, 3), NAN))),
        "joint 'elbow'",
        "placement finite",
        True,
    ),
    "limit not a number": (robot(lower=NAN), "joint 'elbow'", "limits are numbers", True),
    "damping not a number": (robot(damping=NAN), "joint 'elbow'", "damping finite", True),
    "gear ratio not finite": (robot(gear_ratio=np.inf), "joint 'elbow'", "gear_ratio finite", True),
    "friction without a speed": (
        robot(friction=1.0, friction_speed=0.0),
        "joint 'elbow'",
        "friction_speed > 0",
        True,
    ),
    "asymmetric": (robot(bent(0, 1, 0.01)), "body 'arm'", "inertia symmetric", False),
    "indefinite": (robot(with_moments(-0.1, 1, 1)), "body 'arm'", "inertia positive", False),
    "triangle": (robot(with_moments(1, 1, 2.1)), "body 'arm'", "triangle inequality", False),
    "massless with a moment": (
        robot(replace(Inertia.zero(), h=np.array([0.0, 0.0, 1.0]), I=np.eye(3))),
        "body 'arm'",
        "massless has no moment",
        False,
    ),
    "limits reversed": (robot(lower=1, upper=-1), "joint 'elbow'", "limits ordered", False),
    "massless leaf": (robot(Inertia.zero()), "joint 'elbow'", "carries inertia", False),
    **{
        f"negative {name}": (robot(**{name: -0.1}), "joint 'elbow'", f"{name} ≥ 0", False)
        for name in ("velocity", "effort", "rotor_inertia", "damping", "friction", "stiffness")
    },
}
DOUBTS = {k: v for k, v in WRONG.items() if not v[3]}
ERRORS = {k: v for k, v in WRONG.items() if v[3]}


@pytest.mark.parametrize(("r", "where", "condition", "fatal"), WRONG.values(), ids=WRONG)
def test_each_condition_is_found_alone_and_in_its_place(r, where, condition, fatal):
    (problem,) = check(r)
    assert (problem.where, problem.condition, problem.fatal) == (where, condition, fatal)
    assert str(problem) == f"{where}: {problem.message} [{condition}]"


@pytest.mark.parametrize("strict", [True, False, None])
@pytest.mark.parametrize(("r", "where", "condition", "fatal"), ERRORS.values(), ids=ERRORS)
def test_an_error_is_raised_however_strict(r, where, condition, fatal, strict):
    with pytest.raises(ModelError, match=re.escape(f"robot 'r': {where}: ") + f".*{condition}"):
        enforce(r, strict=strict)


@pytest.mark.parametrize(("r", "where", "condition", "fatal"), DOUBTS.values(), ids=DOUBTS)
def test_a_doubt_is_a_warning_or_with_strict_an_error_or_with_none_silent(r, where, condition, fatal):
    with pytest.warns(ModelWarning, match=re.escape(f"robot 'r': {where}: ")):
        assert enforce(r) is r
    with pytest.raises(ModelError, match=condition):
        enforce(r, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert enforce(r, strict=None) is r


def test_a_frame_placed_nowhere_is_an_error():
    r = make_robot(
        "r",
        [Body("arm", SOUND)],
        [Joint("j", Revolute(), None, "arm")],
        frames=[Frame("tip", "arm", at(position=(NAN, 0, 0)))],
    )
    (problem,) = check(r)
    assert problem.where == "frame 'tip'" and problem.fatal


@pytest.mark.parametrize(
    "sound",
    [
        robot(),
        robot(with_moments(1, 1, 2)),
        robot(with_moments(0, 0, 0)),
        robot(Inertia.zero(), rotor_inertia=0.1),
        robot(lower=-np.inf, upper=np.inf, velocity=np.inf),
        robot(lower=0.5, upper=0.5),
        chain(4),
        double_pendulum(),
        panda(),
        spacecraft(),
        random_tree(10, 4),
        make_robot("none", [], []),
    ],
    ids=repr,
)
def test_a_sound_robot_has_no_problem_however_strict(sound):
    assert check(sound) == []
    assert enforce(sound, strict=True) is sound


def test_a_massless_body_may_carry_one_with_mass():
    r = make_robot(
        "r",
        [Body("base"), Body("arm", SOUND)],
        [Joint("a", Revolute(), None, "base"), Joint("b", Revolute(), "base", "arm")],
    )
    assert check(r) == []


def test_reversed_limits_are_named_by_coordinate():
    found = check(robot(type_=Planar(), lower=(0, 1, 2), upper=(1, 0, 0)))
    assert ["for x," in p.message for p in found] == [True, False]
    assert ["for y," in p.message for p in found] == [False, True]


def test_rounding_in_a_file_is_no_problem():
    assert check(robot(bent(0, 1, 1e-8))) == []
    assert check(robot(with_moments(1, 1, 2 + 1e-7))) == []


def test_all_problems_are_counted_in_the_order_of_bodies():
    r = robot(bent(0, 1, 0.01), damping=-1, lower=1, upper=-1)
    assert [p.condition for p in check(r)] == ["inertia symmetric", "limits ordered", "damping ≥ 0"]
    with pytest.raises(ModelError, match=r"inertia symmetric\] \(and 2 more\)"):
        enforce(r, strict=True)


def test_problems_met_by_the_caller_come_first():
    met = Problem("joint 'elbow'", "axis of unit length", "its axis was normalised")
    with pytest.warns(ModelWarning, match="normalised"):
        enforce(robot(), found=[met])
    with pytest.raises(ModelError, match="normalised"):
        enforce(robot(), strict=True, found=[met])


def test_a_published_robot_with_a_known_flaw_is_still_told_of():
    assert {p.condition for p in check(puma560())} == {"triangle inequality"}
    assert check(quadruped()) == []


def limited(*spans):
    """Return a robot with a revolute joint for each pair of limits."""
    b = Builder("limited")
    for k, (low, high) in enumerate(spans):
        inertia = Inertia.from_com(1, (0, 0, 0), np.eye(3))
        b.body(f"b{k}", joint=Revolute((0, 0, 1)), inertia=inertia, lower=low, upper=high, joint_name=f"j{k}")
    return b.build(strict=None)


def test_limits_that_look_like_degrees_are_one_problem():
    found = check(limited((-90, 90), (-1, 1), (0, 135.5)))
    assert [str(p) for p in found] == [
        "joints 'j0', 'j2': limits such as -90 … 90 rad look like degrees; convert them to radians "
        "[limits in radians]"
    ]
    assert check(limited((-2 * np.pi, 2 * np.pi), (-12.56, 12.56), (-1e5, 1e5), (-20.123, 20.123))) == []


def test_a_configuration_near_a_lock_is_told():
    b = Builder("turning")
    b.body("top", joint=SphericalAngles(), inertia=Inertia.from_com(1, (0, 0, 0), np.eye(3)))
    robot = b.build()
    assert check(robot, [0.3, 1.0, 0.2]) == []
    (found,) = check(robot, [0.3, np.pi / 2 - 1e-5, 0.2])
    assert found.condition == "axes independent" and not found.fatal


def test_a_warning_points_at_the_line_that_called():
    here = inspect.currentframe().f_lineno
    with pytest.warns(ModelWarning) as said:
        enforce(limited((-90, 90)))
    assert [(w.filename, w.lineno) for w in said] == [(__file__, here + 2)]


def test_a_note_is_never_an_error():
    met = Problem("contact", "left out", "contacts are left out", note=True)
    with pytest.warns(ModelWarning, match="contacts are left out"):
        enforce(robot(), strict=True, found=[met])


@pytest.mark.parametrize(
    "q, condition, fatal",
    [
        ([np.nan, 1, 0, 0, 0], "q finite", True),
        ([0, 2, 0, 0, 0], "quaternion unit", True),
        ([0, 0, 0, 0, 0], "quaternion unit", True),
        ([9, 1, 0, 0, 0], "q within limits", False),
    ],
)
def test_a_configuration_is_checked_with_the_robot(q, condition, fatal):
    b = Builder("r")
    ball = Inertia.from_com(1.0, (0, 0, 0), np.eye(3))
    b.body("a", joint=joints.Revolute(), inertia=ball, lower=-1, upper=1)
    b.body("b", parent="a", joint=joints.Spherical(), inertia=ball)
    robot = b.build()
    assert check(robot) == check(robot, [0, 1, 0, 0, 0]) == []
    problems = {p.condition: p.fatal for p in check(robot, q)}
    assert problems[condition] == fatal


@pytest.mark.parametrize("rotation", [2 * np.eye(3), np.diag([1.0, 1.0, -1.0])])
def test_a_placement_that_is_no_rotation_is_an_error(rotation):
    b = Builder("r")
    b.body("a", inertia=Inertia.from_com(1.0, (0, 0, 0), np.eye(3)), rotation=rotation)
    with pytest.raises(ModelError, match=r"joint 'a_joint'.*not orthogonal"):
        b.build()


def test_a_batch_of_configurations_is_refused():
    with pytest.raises(
        ArgumentError, match=r"q: expected one configuration of shape \(7,\), got shape \(7, 7\)"
    ):
        check(panda(), np.zeros((7, 7)))
