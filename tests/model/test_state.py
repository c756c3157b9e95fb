import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge.errors import ArgumentError, UnknownNameError
from hinge.model import (
    as_configuration,
    as_tangent,
    as_vector,
    carry_state,
    configuration,
    difference,
    embed_couplings,
    integrate,
    make_robot,
    neutral,
    random_configuration,
    velocity,
)
from hinge.reference import forward_kinematics
from hinge.robots import chain, panda, quadruped, random_tree

ROBOTS = [
    chain(3),
    panda(),
    quadruped(),
    random_tree(10, 0),
    random_tree(10, 1),
    random_tree(1, joints=["fixed"]),
    make_robot("none", [], []),
]
R = random_tree(6, 1)
BAD = {
    "too short": (lambda n: np.zeros(n - 1), r"expected shape \(…, \d+\), got"),
    "too long": (lambda n: np.zeros((2, n + 1)), r"expected shape \(…, \d+\), got"),
    "a scalar": (lambda n: 1.0, r"expected shape \(…, \d+\), got"),
    "complex": (lambda n: np.zeros(n, complex), "expected real numbers .*, got dtype complex128"),
    "strings": (lambda n: ["1"] * n, "expected real numbers .*, got dtype"),
    "booleans": (lambda n: np.zeros(n, bool), "expected real numbers .*, got dtype bool"),
    "objects": (lambda n: np.array([None] * n), "expected real numbers .*, got dtype object"),
    "ragged": (lambda n: [[0.0] * n, [0.0]], "expected an array .*, but conversion failed"),
    "nothing": (lambda n: None, "expected real numbers .*, got dtype object"),
}


@pytest.fixture(params=ROBOTS, ids=repr)
def robot(request):
    return request.param


@pytest.fixture(params=BAD.values(), ids=BAD)
def bad(request):
    return request.param


def message(name, text):
    return rf"^{name}: .*{text}"


def test_neutral_places_every_joint_at_its_neutral(robot):
    q = neutral(robot)
    assert q.shape == (robot.nq,)
    for j in robot.joints:
        assert_allclose(q[j.q_slice], j.type.neutral())


def test_a_state_by_names_has_the_rest_neutral_and_at_rest(robot):
    q, qd = random_configuration(robot, 3), np.arange(1.0, robot.nv + 1)
    for j in robot.joints:
        moved, moving = (
            configuration(robot, {j.name: q[j.q_slice]}),
            velocity(robot, {j.name: qd[j.qd_slice]}),
        )
        for other in robot.joints:
            same = other is j
            assert_allclose(moved[other.q_slice], q[j.q_slice] if same else other.type.neutral())
            assert_allclose(moving[other.qd_slice], qd[j.qd_slice] if same else 0.0)
    assert_allclose(configuration(robot, {j.name: q[j.q_slice] for j in robot.joints}), q)
    assert_allclose(configuration(robot, {}), neutral(robot))


def test_a_state_by_names_takes_numbers_and_batches():
    robot = panda()
    assert configuration(robot, {"joint4": -1.5})[3] == -1.5 and velocity(robot, {"joint4": 2})[3] == 2
    found = configuration(
        robot, {"joint1": np.linspace(0, 1, 5)[:, None], "joint2": 3, "joint3": [[[1]], [[2]]]}
    )
    assert found.shape == (2, 5, 7)
    assert_allclose(found[1, :, :3], np.stack([np.linspace(0, 1, 5), [3.0] * 5, [2.0] * 5], -1))


def test_a_state_by_wrong_names_or_values_is_refused():
    robot = panda()
    for wrong, error, words in (
        (
            {"joint44": 1},
            UnknownNameError,
            "joints: robot 'panda' has no joint 'joint44'; did you mean 'joint4'",
        ),
        (
            {"joint1": [1, 2]},
            ArgumentError,
            r"joints\['joint1'\]: expected shape \(…, 1\), got \(2,\); a rev",
        ),
        ({"joint1": "a"}, ArgumentError, r"joints\['joint1'\]: expected real numbers"),
        ([1.0], ArgumentError, "joints: expected {joint name: value}, got list"),
        (
            {"joint1": np.zeros((2, 1)), "joint2": np.zeros((3, 1))},
            ArgumentError,
            r"joints\['joint1'\], joints\['joint2'\]: batch shapes do not broadcast",
        ),
    ):
        for f in (configuration, velocity):
            with pytest.raises(error, match=words):
                f(robot, wrong)
    robot = quadruped()
    base = robot.joint_names[0]
    with pytest.raises(ArgumentError, match=r"\]: expected a quaternion .*, got length 2; normalise it"):
        configuration(robot, {base: [2, 0, 0, 0, 0, 0, 0]})


def test_a_follower_has_no_coordinate_to_be_given():
    from hinge.model import Coupling

    r = chain(2)
    robot = embed_couplings(make_robot("c", r.bodies, r.joints, couplings=[Coupling(*r.joint_names[::-1])]))
    with pytest.raises(
        ArgumentError, match=f"got '{r.joint_names[1]}', which follows another joint; give its"
    ):
        configuration(robot, {r.joint_names[1]: 1.0})


def test_integers_are_numbers():
    assert as_configuration(R, np.zeros(R.nq, np.int64)).dtype == np.float64
    assert as_tangent(R, np.ones(R.nv, np.uint8), "qd").dtype == np.float64


@pytest.mark.parametrize(("size", "shape"), [((), ()), (3, (3,)), ((2, 4), (2, 4)), (0, (0,))])
def test_random_configurations_have_the_asked_shape_and_keep_to_the_limits(robot, size, shape):
    q = random_configuration(robot, 0, size)
    assert q.shape == (*shape, robot.nq)
    for j in robot.joints:
        assert (q[..., j.q_slice] >= j.lower).all() and (q[..., j.q_slice] <= j.upper).all()


def test_random_configurations_repeat_for_a_seed_and_go_on_for_a_generator(robot):
    assert (random_configuration(robot, 5) == random_configuration(robot, 5)).all()
    rng = np.random.default_rng(5)
    one, two = random_configuration(robot, rng), random_configuration(robot, rng)
    assert (one == random_configuration(robot, 5)).all()
    assert robot.nq == 0 or (one != two).any()


@pytest.mark.parametrize("shape", [(), (5,), (3, 4)], ids=str)
def test_difference_inverts_integrate(robot, shape):
    rng = np.random.default_rng(1)
    q, v = random_configuration(robot, rng, shape), 0.5 * rng.standard_normal((*shape, robot.nv))
    there = integrate(robot, q, v)
    assert there.shape == q.shape
    assert_allclose(difference(robot, q, there), v, atol=1e-12)
    assert_allclose(difference(robot, there, q), -v, atol=1e-12)


def test_integrate_works_joint_by_joint(robot):
    q, v = random_configuration(robot, 1), np.linspace(-1, 1, robot.nv)
    there = integrate(robot, q, v)
    for j in robot.joints:
        assert_allclose(there[j.q_slice], j.type.integrate(q[j.q_slice], v[j.qd_slice]))


def test_batches_broadcast(robot):
    q, v = random_configuration(robot, 1, (3, 1)), np.random.default_rng(2).standard_normal((4, robot.nv))
    assert integrate(robot, q, v).shape == (3, 4, robot.nq)
    near = integrate(robot, q, 0.1 * v)
    assert difference(robot, q, near).shape == (3, 4, robot.nv)
    assert [x.shape[:-1] for x in carry_state(robot, robot, q, v)] == [(3, 4)] * 2


def test_lists_and_integers_are_taken_as_numbers():
    r = chain(2)
    assert_allclose(integrate(r, [0, 1], [1, 1]), [1, 2])
    assert as_configuration(r, np.zeros(2, np.float32)).dtype == np.float64


def test_carrying_a_state_to_the_same_robot_keeps_it(robot):
    q, qd = random_configuration(robot, 1, 3), np.random.default_rng(2).standard_normal((3, robot.nv))
    for got, given in zip(carry_state(robot, robot, q, qd), (q, qd), strict=True):
        assert_allclose(got, given, atol=1e-13)


def test_carrying_to_the_same_robot_keeps_poses(robot):
    q, qd = random_configuration(robot, 4), np.zeros(robot.nv)
    again, _ = carry_state(robot, robot, q, qd)
    for a, b in zip(forward_kinematics(robot, q), forward_kinematics(robot, again), strict=True):
        assert_allclose(a.matrix(), b.matrix(), atol=1e-13)


def test_a_bad_configuration_is_refused_by_name(bad):
    make, text = bad
    with pytest.raises(ArgumentError, match=message("q", text)):
        integrate(R, make(R.nq), np.zeros(R.nv))
    with pytest.raises(ArgumentError, match=message("q0", text)):
        difference(R, make(R.nq), neutral(R))
    with pytest.raises(ArgumentError, match=message("q1", text)):
        difference(R, neutral(R), make(R.nq))
    with pytest.raises(ArgumentError, match=message("q", text)):
        carry_state(R, R, make(R.nq), np.zeros(R.nv))
    with pytest.raises(ArgumentError, match=message("q", text)):
        as_configuration(R, make(R.nq))


def test_a_bad_tangent_is_refused_by_name(bad):
    make, text = bad
    with pytest.raises(ArgumentError, match=message("v", text)):
        integrate(R, neutral(R), make(R.nv))
    with pytest.raises(ArgumentError, match=message("qd", text)):
        carry_state(R, R, neutral(R), make(R.nv))
    with pytest.raises(ArgumentError, match=message("speed", text)):
        as_tangent(R, make(R.nv), "speed")


def test_a_bad_vector_is_refused_with_what_was_expected(bad):
    make, text = bad
    with pytest.raises(ArgumentError, match=r"(?=.*\(…, 3\))" + message("gravity", text)):
        as_vector(make(3), "gravity", 3, "it is an acceleration")


def test_a_wrong_shape_says_the_robots_own():
    with pytest.raises(ArgumentError, match=rf"nq = {R.nq} of robot 'random_tree"):
        as_configuration(R, np.zeros(R.nq + 1))


@pytest.mark.parametrize(
    ("verb", "names", "width"),
    [
        (lambda a, b: integrate(R, a, b), "q, v", R.nv),
        (lambda a, b: difference(R, a, b), "q0, q1", R.nq),
        (lambda a, b: carry_state(R, R, a, b), "q, qd", R.nv),
    ],
    ids=["integrate", "difference", "carry_state"],
)
def test_batches_that_do_not_broadcast_are_refused_by_name(verb, names, width):
    with pytest.raises(ArgumentError, match=rf"^{names}: .*\(2,\).*\(5,\)"):
        verb(np.zeros((2, R.nq)), np.zeros((5, width)))
