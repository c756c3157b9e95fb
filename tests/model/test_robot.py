import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge.errors import HingeError, ModelError, UnknownNameError
from hinge.model import STANDARD_GRAVITY, Body, Coupling, Frame, Joint, describe, make_robot
from hinge.model.joints import Fixed, Free, Planar, Revolute, Spherical
from hinge.robots import chain, panda, puma560, quadruped, random_tree, spacecraft

ROBOTS = {
    "chain": lambda: chain(4),
    "panda": panda,
    "puma560": puma560,
    "quadruped": quadruped,
    "spacecraft": spacecraft,
    "random": lambda: random_tree(12, 3),
}


@pytest.fixture(params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]()


def bodies(*names):
    return [Body(n) for n in names]


def joint(name, parent, child, type_=None):
    return Joint(name, type_ or Revolute(), parent, child)


#: What is wrong, the parts, and what the message must say.
WRONG = {
    "body twice": (bodies("a", "a"), [joint("j", None, "a")], {}, "'a' is used twice"),
    "joint twice": (
        bodies("a", "b"),
        [joint("j", None, "a"), joint("j", "a", "b")],
        {},
        "joint name 'j' is used twice",
    ),
    "frame twice": (
        bodies("a"),
        [joint("j", None, "a")],
        {"frames": [Frame("f", "a"), Frame("f", "a")]},
        "'f' is used twice",
    ),
    "frame named as a body": (
        bodies("a"),
        [joint("j", None, "a")],
        {"frames": [Frame("a", "a")]},
        "'a' is used twice",
    ),
    "unknown parent": (bodies("a"), [joint("j", "ghost", "a")], {}, "joint 'j': its parent body 'ghost'"),
    "unknown child": (bodies("a"), [joint("j", None, "ghost")], {}, "joint 'j': its child body 'ghost'"),
    "unknown body of a frame": (
        bodies("a"),
        [joint("j", None, "a")],
        {"frames": [Frame("f", "ghost")]},
        "frame 'f': its body 'ghost'",
    ),
    "two joints on one child": (
        bodies("a", "b"),
        [joint("j", None, "a"), joint("k", "a", "b"), joint("l", None, "b")],
        {},
        "body 'b' is the child of two joints, 'k' and 'l'",
    ),
    "not connected": (bodies("a", "b"), [joint("j", None, "a")], {}, "body 'b' is not connected"),
    "loop": (
        bodies("a", "b", "c"),
        [joint("j", None, "a"), joint("k", "c", "b"), joint("l", "b", "c")],
        {},
        "loop that is not connected to the world, through the bodies 'b', 'c'",
    ),
    "own parent": (bodies("a"), [joint("j", "a", "a")], {}, "loop"),
    "coupled to three coordinates": (
        bodies("a", "b"),
        [joint("j", None, "a"), joint("k", "a", "b", Spherical())],
        {"couplings": [Coupling("j", "k")]},
        "coupling of joint 'j' to 'k': expected joints with one coordinate, got 'k'",
    ),
    "a fixed joint coupled": (
        bodies("a", "b"),
        [joint("j", None, "a", Fixed()), joint("k", "a", "b")],
        {"couplings": [Coupling("j", "k")]},
        "coupling of joint 'j' to 'k': expected joints with one coordinate, got 'j'",
    ),
}


@pytest.mark.parametrize(("parts", "joints", "more", "message"), WRONG.values(), ids=WRONG)
def test_a_robot_that_is_none_is_refused_by_name(parts, joints, more, message):
    with pytest.raises(ModelError, match=re.escape(message)):
        make_robot("wrong", parts, joints, **more)


def test_a_coupling_to_an_unknown_joint_is_refused_by_name():
    with pytest.raises(HingeError, match="'ghost'"):
        make_robot("wrong", bodies("a"), [joint("j", None, "a")], couplings=[Coupling("j", "ghost")])


@pytest.mark.parametrize(
    "gravity",
    [(0, 0), (0, 0, 0, 0), 9.81, (0, 0, np.nan), (0, 0, -np.inf), np.zeros((1, 3)), "down", [[1], [1, 2], 3]],
    ids=repr,
)
def test_bad_gravity_is_refused(gravity):
    with pytest.raises(ModelError, match=r"^gravity: "):
        make_robot("wrong", [], [], gravity=gravity)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "lower",
            (1, 2),
            "joint 'j': lower: expected one number or shape (1,) for a revolute joint, got shape (2,)",
        ),
        (
            "damping",
            [[1.0]],
            "joint 'j': damping: expected one number or shape (1,) for a revolute joint, got shape (1, 1)",
        ),
        (
            "rest",
            (1, 2, 3),
            "joint 'j': rest: expected one number or shape (1,) for a revolute joint, got shape (3,)",
        ),
        (
            "effort_subspace",
            np.zeros((6, 2)),
            "joint 'j': effort_subspace: expected shape (6, 1), got (6, 2)",
        ),
        ("upper", "high", "joint 'j': upper"),
        ("effort", [[1], [1, 2]], "joint 'j': effort"),
        ("effort_subspace", "all", "joint 'j': effort_subspace"),
    ],
)
def test_a_joints_numbers_must_fit_it(field, value, message):
    with pytest.raises(ModelError, match=re.escape(message)):
        Joint("j", Revolute(), None, "a", **{field: value})


def test_one_number_is_spread_over_a_joint():
    j = Joint("j", Planar(), None, "a", damping=0.5, lower=-1, upper=2)
    assert_allclose(j.damping, [0.5] * 3)
    assert_allclose(j.lower, [-1] * 3)
    assert_allclose(j.upper, [2] * 3)


def test_missing_numbers_follow_from_the_type():
    j = Joint("j", Free(), None, "a")
    assert_allclose(j.rest, Free().neutral())
    assert_allclose(j.upper, Free().limits()[1])
    assert np.isinf(j.velocity).all() and np.isinf(j.effort).all()
    assert not (j.damping.any() or j.friction.any() or j.stiffness.any() or j.rotor_inertia.any())


def test_the_order_is_base_first(robot):
    place = {b.name: i for i, b in enumerate(robot.bodies)}
    assert all(j.child == b.name for j, b in zip(robot.joints, robot.bodies, strict=True))
    for i, j in enumerate(robot.joints):
        assert robot.tree.parents[i] == (-1 if j.parent is None else place[j.parent])
        assert robot.tree.parents[i] < i


def test_the_order_is_depth_first(robot):
    for i in range(len(robot.bodies)):
        below = robot.tree.subtree(i)
        assert below == tuple(range(i, i + len(below)))


def test_siblings_keep_the_order_of_their_joints():
    made = make_robot(
        "shuffled",
        bodies("c", "b", "a", "tip"),
        [joint("4", "a", "tip"), joint("3", "a", "c"), joint("1", None, "a"), joint("2", "a", "b")],
    )
    assert [b.name for b in made.bodies] == ["a", "tip", "c", "b"]


def test_slices_follow_one_another(robot):
    q = np.concatenate([np.arange(j.q_slice.start, j.q_slice.stop) for j in robot.joints])
    v = np.concatenate([np.arange(j.qd_slice.start, j.qd_slice.stop) for j in robot.joints])
    assert (q == np.arange(robot.nq)).all() and (v == np.arange(robot.nv)).all()
    assert robot.nq == sum(j.nq for j in robot.joints) and robot.nv == sum(j.nv for j in robot.joints)


def test_everything_is_found_by_its_name(robot):
    for i, (b, j) in enumerate(zip(robot.bodies, robot.joints, strict=True)):
        assert robot.body(b.name) is b
        assert robot.body_index(b.name) == i
        assert robot.joint(j.name) is j
        assert robot.joint_of(b.name) is j
        assert robot.frame(b.name).body == b.name
        assert_allclose(robot.frame(b.name).placement.matrix(), np.eye(6))
    for f in robot.frames:
        assert robot.frame(f.name) is f


def test_mass_is_the_sum_of_the_bodies(robot):
    assert robot.mass == pytest.approx(sum(float(b.inertia.m) for b in robot.bodies))


@pytest.mark.parametrize(
    ("look", "name", "hint"),
    [
        ("body", "link_2", "body 'link_2'; did you mean .*'link2'"),
        ("body_index", "lnk3", "body 'lnk3'; did you mean .*'link3'"),
        ("joint_of", "Link1", "body 'Link1'; did you mean .*'link1'"),
        ("joint", "jiont1", "joint 'jiont1'; did you mean .*'joint1'"),
        ("frame", "tipp", "frame 'tipp'; did you mean 'tip'"),
        ("frame", "link22", "frame 'link22'; did you mean .*'link2'"),
        ("body", "xyz", "body 'xyz'; it has 'link1', 'link2', 'link3'"),
        ("joint", 3, "joint 3; it has"),
    ],
)
def test_an_unknown_name_is_refused_with_a_suggestion(look, name, hint):
    with pytest.raises(UnknownNameError, match=f"robot 'chain.3.' has no {hint}"):
        getattr(chain(3), look)(name)


def test_a_long_list_of_names_is_cut():
    with pytest.raises(UnknownNameError, match=r"…$"):
        chain(20).body("qqq")


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (chain(3), "<Robot 'chain(3)': 3 bodies, nq=3, nv=3, fixed base>"),
        (chain(3, floating=True), "<Robot 'chain(3)': 3 bodies, nq=9, nv=8, floating base>"),
        (make_robot("none", [], []), "<Robot 'none': 0 bodies, nq=0, nv=0, fixed base>"),
    ],
)
def test_repr_says_size_and_base(made, text):
    assert repr(made) == text


def test_a_free_joint_inside_does_not_make_a_robot_floating():
    made = make_robot("r", bodies("a", "b"), [joint("j", None, "a"), joint("k", "a", "b", Free())])
    assert not made.is_floating


def test_describe_lists_every_body_with_its_joint_indented_by_depth(robot):
    title, _, head, _, *rows = describe(robot).split("\n")
    assert title.startswith(f"{robot.name}: {len(robot.bodies)} bodies, nq = {robot.nq}, nv = {robot.nv}")
    assert head.split()[:3] == ["body", "joint", "type"]
    for row, b, j, depth in zip(rows, robot.bodies, robot.joints, robot.tree.depth, strict=True):
        assert row.startswith("  " * (depth - 1) + b.name)
        assert row.split()[1:3] == [j.name, j.type.kind]


def test_describe_shows_spans_of_coordinates():
    text = describe(chain(2, floating=True))
    assert "0…6" in text and "0…5" in text
    assert re.search(r"link2 +joint2 +revolute +7 +6 +1$", text, re.MULTILINE)


def test_a_notebook_shows_a_table_of_every_body(robot):
    text = robot._repr_html_()
    assert text.count("<tr>") == len(robot.bodies) + 1 and f"nq = {robot.nq}" in text
    for part in (*robot.bodies, *robot.joints):
        assert part.name in text


def test_a_notebook_shows_names_of_files_as_text_and_no_end_of_bodies():
    name = "<script>alert('&')</script>"
    text = make_robot(name, bodies(name), [Joint(name, Fixed(), None, name)])._repr_html_()
    assert "<script" not in text and text.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;") == 3
    text = chain(300)._repr_html_()
    assert text.count("<tr>") == 101 and "… and 200 more" in text


def test_describe_takes_a_robot_without_bodies():
    assert describe(make_robot("none", [], [])).startswith("none: 0 bodies")


def test_a_robot_cannot_be_changed():
    r = chain(2)
    with pytest.raises(AttributeError):
        r.name = "other"
    with pytest.raises(AttributeError):
        r.joints[0].lower = np.zeros(1)


def test_gravity_is_standard_unless_given():
    assert_allclose(chain(1).gravity, STANDARD_GRAVITY)
    assert_allclose(make_robot("moon", [], [], gravity=(0, 0, -1.62)).gravity, (0, 0, -1.62))


@pytest.mark.parametrize(
    "pairs, words",
    [
        ([("joint1", "joint9", 1.0)], "joint 'joint9' does not exist"),
        ([("joint1", "joint1", 1.0)], "couplings form a cycle"),
        ([("joint1", "joint2", 1.0), ("joint2", "joint1", 1.0)], "couplings form a cycle"),
        ([("joint1", "joint2", 1.0), ("joint1", "joint3", 1.0)], "already coupled to 'joint2'"),
        ([("joint1", "joint2", float("nan"))], "expected finite numbers"),
    ],
)
def test_couplings_that_cannot_be_are_refused(pairs, words):
    robot = chain(3)
    with pytest.raises(ModelError, match=words):
        make_robot("r", robot.bodies, robot.joints, couplings=[Coupling(a, b, r) for a, b, r in pairs])
