from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

import hinge
from hinge import dynamics, robots
from hinge.algebra import E0, B, Body, Constraint, H, Joint, M, One, Structure, f_ext, g, leaf, phi, qd, tau
from hinge.errors import ArgumentError, HingeError, UnboundLeafError, UnknownNameError
from hinge.model import Builder, joints
from tests.dynamics.zoo import CASES
from tests.expressions import MASS

INTEGERS = np.array([0, 1])
PENDULUM = robots.double_pendulum()
Q, ZERO, UP = [0.3, -0.2], [0.0, 0.0], np.zeros(6)


def compiled(e, **more):
    return hinge.compile(e, PENDULUM, **more)


def fails(call, error, *words):
    """Check that a call fails with this error, and that its message holds every one of the words."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    missing = [w for w in words if w not in message]
    assert isinstance(caught.value, HingeError) and not missing, f"{message!r} lacks {missing}"


def given(verb):
    """Return arguments of a verb that are right."""
    takes = CASES[verb][0].takes
    return [Q, *[ZERO] * (len(takes) - 1), *(["tip"] if "jacobian" in verb else [])]


# Frames.


def test_no_frames_and_frames_that_are_no_names_are_named():
    for call in (hinge.jacobian, hinge.operational_inverse_inertia, hinge.forward_kinematics):
        fails(
            lambda call=call: call(PENDULUM, Q, []),
            ArgumentError,
            "frame: expected at least one name, got none",
        )
        fails(
            lambda call=call: call(PENDULUM, Q, ["tip", 3]), ArgumentError, "a list of names, got 3 in a list"
        )


# Robots and vectors, for every verb.


@pytest.mark.parametrize("verb", CASES)
def test_a_robot_of_another_type_is_named(verb):
    call = getattr(dynamics, verb)
    fails(
        lambda: call("arm.urdf", *given(verb)),
        ArgumentError,
        "robot: expected a Robot, got str",
        "hinge.load",
    )
    fails(lambda: call(None, *given(verb)), ArgumentError, "robot: expected a Robot, got NoneType")


def test_compile_names_a_robot_of_another_type():
    fails(lambda: hinge.compile(MASS, "arm.urdf"), ArgumentError, "robot: expected a Robot, got str")


@pytest.mark.parametrize("verb", CASES)
def test_a_wrong_last_dimension_is_named(verb):
    call, right = getattr(dynamics, verb), given(verb)
    for k, name in enumerate(CASES[verb][0].takes):
        wrong = [*right[:k], [0.0, 0.0, 0.0], *right[k + 1 :]]
        words = f"{name}: expected shape (…, 2), got (3,)", "'double_pendulum'"
        fails(partial(call, PENDULUM, *wrong), ArgumentError, *words)


@pytest.mark.parametrize("verb", CASES)
def test_a_number_is_no_vector(verb):
    call, right = getattr(dynamics, verb), given(verb)
    fails(lambda: call(PENDULUM, 0.5, *right[1:]), ArgumentError, "q: expected shape (…, 2), got ()")


@pytest.mark.parametrize("verb", CASES)
def test_complex_numbers_are_named(verb):
    call, right = getattr(dynamics, verb), given(verb)
    for k, name in enumerate(CASES[verb][0].takes):
        wrong = [*right[:k], np.array([0, 1j]), *right[k + 1 :]]
        fails(
            partial(call, PENDULUM, *wrong),
            ArgumentError,
            f"{name}: expected real numbers",
            "got dtype complex128",
        )


@pytest.mark.parametrize("verb", CASES)
def test_arrays_of_integers_are_taken_as_lists_of_them_are(verb):
    call, right = getattr(dynamics, verb), given(verb)
    for k in range(len(CASES[verb][0].takes)):
        for integers in (INTEGERS, np.stack([INTEGERS] * 3)):
            found, wanted = (
                call(PENDULUM, *right[:k], x, *right[k + 1 :]) for x in (integers, integers.astype(float))
            )
            if verb == "forward_kinematics":
                found, wanted = ([t.position for t in np.atleast_1d(x)] for x in (found, wanted))
            assert np.array_equal(found, wanted) and np.asarray(found).dtype == np.float64
        call(PENDULUM, *right[:k], INTEGERS.tolist(), *right[k + 1 :])


@pytest.mark.parametrize("verb", [v for v in CASES if len(CASES[v][0].takes) > 1])
def test_batches_that_do_not_broadcast_are_named(verb):
    call, right = getattr(dynamics, verb), given(verb)
    wrong = [np.zeros((4, 2)), np.zeros((3, 2)), *right[2:]]
    fails(
        partial(call, PENDULUM, *wrong), ArgumentError, "batch shapes do not broadcast", "q (4,)", "qd (3,)"
    )


LOADED = ["inverse_dynamics", "forward_dynamics", "bias_force"]
WEIGHED = [*LOADED, "gravity_force", "potential_energy"]


@pytest.mark.parametrize("verb", WEIGHED)
def test_a_wrong_gravity_is_named(verb):
    call, right = getattr(dynamics, verb), given(verb)
    for gravity, words in (
        ([-9.81], ("gravity: expected shape (…, 3), got (1,)",)),
        (np.array([False] * 3), ("gravity: expected real numbers", "got dtype bool")),
        ([0, 0, 1j], ("gravity: expected real numbers", "got dtype complex128")),
    ):
        fails(partial(call, PENDULUM, *right, gravity=gravity), ArgumentError, *words)


@pytest.mark.parametrize("verb", WEIGHED)
def test_a_gravity_that_does_not_broadcast_is_named(verb):
    call, right = getattr(dynamics, verb), [np.zeros((4, 2)), *given(verb)[1:]]
    words = "batch shapes do not broadcast", "q (4,)", "gravity (3,)"
    fails(lambda: call(PENDULUM, *right, gravity=np.zeros((3, 3))), ArgumentError, *words)


# Forces at frames.


@pytest.mark.parametrize("verb", LOADED)
def test_wrong_external_forces_are_named(verb):
    call, right = getattr(dynamics, verb), given(verb)
    two = {"tip": np.zeros((3, 6)), "upper": np.zeros((4, 6))}
    for external, error, words in (
        ({"tpi": UP}, UnknownNameError, ("'double_pendulum' has no frame 'tpi'", "did you mean 'tip'?")),
        ([UP], ArgumentError, ("external: expected {frame name: [n; f]}, got list",)),
        ({"tip": [1.0, 2.0]}, ArgumentError, ("external['tip']: expected shape (…, 6), got (2,)",)),
        ({"tip": UP * 1j}, ArgumentError, ("external['tip']: expected real numbers", "got dtype complex128")),
        (two, ArgumentError, ("external: batch shapes do not broadcast", "'tip' (3,)", "'upper' (4,)")),
    ):
        fails(partial(call, PENDULUM, *right, external=external), error, *words)


@pytest.mark.parametrize("verb", LOADED)
def test_external_forces_that_do_not_broadcast_are_named(verb):
    call, right = getattr(dynamics, verb), [np.zeros((4, 2)), *given(verb)[1:]]
    words = "batch shapes do not broadcast", "q (4,)", "external (3,)"
    fails(lambda: call(PENDULUM, *right, external={"tip": np.zeros((3, 6))}), ArgumentError, *words)


# Frames and axes.

AT_FRAMES = ["forward_kinematics", "velocities", "accelerations", "classical_accelerations"]
AT_A_FRAME = ["jacobian", "jacobian_bias", "classical_jacobian_bias"]


@pytest.mark.parametrize("verb", [*AT_FRAMES, *AT_A_FRAME])
def test_unknown_frames_are_named(verb):
    call, right = getattr(dynamics, verb), given(verb)[: len(CASES[verb][0].takes)]
    words = "'double_pendulum' has no frame 'tpi'", "did you mean 'tip'?"
    fails(lambda: call(PENDULUM, *right, "tpi"), UnknownNameError, *words)
    if verb in AT_FRAMES:
        fails(lambda: call(PENDULUM, *right, ["tip", "tpi"]), UnknownNameError, *words)


@pytest.mark.parametrize("verb", [*AT_FRAMES, *AT_A_FRAME])
def test_a_number_is_no_frame(verb):
    call, right = getattr(dynamics, verb), given(verb)[: len(CASES[verb][0].takes)]
    fails(lambda: call(PENDULUM, *right, 3), ArgumentError, "frame: expected the name of", "got int")


@pytest.mark.parametrize("verb", AT_A_FRAME)
def test_several_frames_are_one_below_the_other(verb):
    call, right = getattr(dynamics, verb), given(verb)[:-1]
    axis = -2 if verb == "jacobian" else 0
    for names, frames in ((["tip", "upper"], ["tip", "upper"]), (None, PENDULUM.body_names)):
        alone = [np.atleast_2d(call(PENDULUM, *right, frame)) for frame in frames]
        assert np.allclose(call(PENDULUM, *right, names), np.concatenate(alone, axis))


@pytest.mark.parametrize("verb", [*AT_FRAMES[1:], *AT_A_FRAME])
def test_unknown_axes_are_named(verb):
    call, right = getattr(dynamics, verb), given(verb)
    words = "expressed: expected 'body', 'world' or 'world-aligned'", "got 'local'"
    fails(lambda: call(PENDULUM, *right, expressed="local"), ArgumentError, *words)


@pytest.mark.parametrize("verb", ["classical_accelerations", "classical_jacobian_bias"])
def test_classical_accelerations_are_not_moved_to_the_world(verb):
    call, right = getattr(dynamics, verb), given(verb)
    words = "expressed: expected 'body' or 'world-aligned'", "got 'world', which moves the origin"
    fails(lambda: call(PENDULUM, *right, expressed="world"), ArgumentError, *words)


# Compiling.


@pytest.mark.parametrize(
    "options, error, words",
    [
        ({"nodes": "tip"}, ArgumentError, ["nodes: expected a list", "got the string 'tip'", "['tip']"]),
        ({"nodes": ["tpi"]}, UnknownNameError, ["has no frame 'tpi'", "did you mean 'tip'?"]),
        ({"prescribed": "elbow"}, ArgumentError, ["prescribed: expected a list", "got the string 'elbow'"]),
        ({"prescribed": ["elbo"]}, UnknownNameError, ["has no joint 'elbo'", "did you mean 'elbow'?"]),
        (
            {"expressed": "local"},
            ArgumentError,
            ["expressed: expected 'body', 'world' or 'world-aligned', got 'local'"],
        ),
        ({"target": "fortran"}, ArgumentError, ["target: expected 'llvm' or 'numpy'", "got 'fortran'"]),
    ],
)
def test_wrong_options_of_compile_are_named(options, error, words):
    fails(lambda: compiled(MASS, **options), error, *words)


def test_what_is_no_expression_is_named():
    fails(lambda: compiled({"m": 3}), ArgumentError, "m: expected an expression of hinge.algebra, got int")
    fails(
        lambda: compiled([MASS, np.eye(2)]),
        ArgumentError,
        "y2: expected an expression of hinge.algebra, got ndarray",
    )
    fails(lambda: compiled({}), ArgumentError, "expressions: expected at least one, got none")
    fails(lambda: compiled({"1m": MASS}), ArgumentError, "name: expected a Python identifier", "got '1m'")


def test_a_number_is_no_expression():
    fails(lambda: compiled(3), ArgumentError, "expressions: expected an expression", "got int")


def test_an_unknown_verb_is_named():
    words = "verb: expected the name of a verb, got 'fly'; use one of inverse_dynamics, ", "momentum"
    fails(lambda: dynamics.compiled(PENDULUM, "fly"), ArgumentError, *words)
    words = "got 'forward_dynamic'", "did you mean 'forward_dynamics'"
    for call in (partial(dynamics.compiled, PENDULUM), lambda verb: dynamics.compile(verb, PENDULUM)):
        fails(partial(call, "forward_dynamic"), ArgumentError, *words)


@pytest.mark.parametrize("structure", [Structure.STEP])
def test_an_operator_without_a_meaning_is_named(structure):
    w = leaf("W", Body, Body, structure)
    words = "W: is Body ← Body", "no value", "expected", "block-diagonal"
    fails(lambda: compiled(H @ phi @ w @ phi.T @ H.T), UnboundLeafError, *words)


def test_a_space_without_a_meaning_is_named():
    gather = leaf("A", Joint, Constraint)
    words = "Constraint", "'double_pendulum'", "no meaning", "sizes={Constraint: n}"
    fails(lambda: compiled(gather @ leaf("lam", Constraint, One)), UnboundLeafError, *words)


def test_a_vector_without_a_value_is_named():
    u = leaf("u", Joint, One, meaning="what the motors do")
    fails(lambda: compiled(MASS @ u)(Q), UnboundLeafError, "u: expected a value", "what the motors do", "u=…")
    fails(
        lambda: compiled(MASS @ qd)(Q), UnboundLeafError, "qd: expected a value", "hinge velocities", "qd=…"
    )
    pushed = compiled(H @ phi @ B @ f_ext, nodes=["tip"])
    fails(lambda: pushed(Q), UnboundLeafError, "f_ext: expected a value", "f_ext=…")


def test_a_vector_that_does_not_occur_is_named():
    f = compiled(MASS @ tau)
    fails(
        lambda: f(Q, tau=ZERO, force=ZERO),
        ArgumentError,
        "force: not in the expression",
        "expected the arguments q, tau",
    )
    fails(
        lambda: f(Q, ZERO, tau=ZERO),
        ArgumentError,
        "qd: not in the expression",
        "expected the arguments q, tau",
    )
    fails(
        lambda: f(Q, tau=ZERO, gravity=[0, 0, 0]),
        ArgumentError,
        "gravity: not in the expression",
        "expected the arguments q, tau",
    )
    weight = compiled(H @ phi @ M @ phi.T @ E0.T @ g)
    fails(
        lambda: weight(Q, g=UP),
        ArgumentError,
        "g: not in the expression",
        "expected the arguments q, gravity",
    )


def test_a_letter_may_not_hide_the_configuration():
    fails(lambda: compiled(MASS @ leaf("q", Joint, One))(Q), ArgumentError, "q")


def test_a_letter_called_g_is_gravity_in_the_world_only():
    own = leaf("g", Joint, One, meaning="gear ratios")
    assert compiled(MASS @ own)(Q, g=[1.0, 0.0]).shape == (2,)


def test_a_wrong_operator_is_named():
    w = leaf("W", Joint, Joint, Structure.DIAGONAL)
    f = compiled(MASS @ w @ tau)
    fails(lambda: f(Q, tau=ZERO), UnboundLeafError, "W: expected a value", "W=…")
    words = "W: expected shape (…, 2, 2)", "got (3, 2)"
    fails(lambda: f(Q, tau=ZERO, W=np.zeros((3, 2))), ArgumentError, *words)
    fails(lambda: f(Q, tau=ZERO, W=ZERO), ArgumentError, "W: expected shape (…, 2, 2)", "got (2,)")
    assert np.array_equal(f(Q, tau=[1, 2], W=np.eye(2, dtype=int)), f(Q, tau=np.array([1, 2]), W=np.eye(2)))
    words = "W: expected a block-diagonal", "got entries beside blocks"
    fails(lambda: f(Q, tau=ZERO, W=np.ones((2, 2))), ArgumentError, *words)


@pytest.mark.parametrize("shape", [(6,), (2, 6), (1, 5)])
def test_forces_on_nodes_of_a_wrong_shape_are_named(shape):
    f = compiled(H @ phi @ B @ f_ext, nodes=["tip"])
    fails(
        lambda: f(Q, f_ext=np.zeros(shape)), ArgumentError, "f_ext: expected shape (…, ", f"6), got {shape}"
    )
    assert f(Q, f_ext=np.zeros((1, 6))).shape == (2,)


# Robots that cannot be solved.


def ghost(*, parents=1):
    b = Builder("door")
    parent = None
    for k in range(parents):
        inertia = robots.solid_rod(1.0, 0.2, 0.02, (0, 0, 0.1))
        parent = b.body(f"post{k}", joint=joints.Revolute((1, 0, 0)), parent=parent, inertia=inertia)
    b.body("handle", joint=joints.Revolute(), parent=parent, joint_name="latch")
    return b.build(strict=None)


@pytest.mark.parametrize("parents", [0, 2])
def test_a_joint_that_moves_no_inertia_is_named(parents):
    robot = ghost(parents=parents)
    zero = np.zeros(robot.nv)
    where = re.compile("'handle'|'latch'")
    for call in (
        lambda: dynamics.forward_dynamics(robot, zero, zero, zero),
        lambda: dynamics.mass_matrix_inverse(robot, zero),
    ):
        with pytest.raises(HingeError, match="inertia") as caught:
            call()
        assert where.search(str(caught.value)), caught.value
        assert re.search("mass|rotor|lock|fixed", str(caught.value)), caught.value


def test_the_rest_of_such_a_robot_works():
    robot = ghost(parents=2)
    zero = np.zeros(robot.nv)
    assert dynamics.mass_matrix(robot, zero)[-1, -1] == 0
    assert dynamics.inverse_dynamics(robot, zero, zero, zero)[-1] == 0
    b = Builder("empty")
    b.body("handle", joint=joints.Revolute())
    fails(
        lambda: dynamics.center_of_mass(b.build(strict=None), [0.0]),
        ArgumentError,
        "robot: expected a mass above zero, got 0 for 'empty'",
        "give its bodies mass",
    )


# Calls after the first, which go straight into the code.


@pytest.mark.parametrize("verb, name", [("force_correction", "force"), ("jacobian_solve", "velocity")])
@pytest.mark.parametrize("odd", [None, {}, 1.0, "much", [[1.0], [2.0, 3.0]], np.zeros(5), [0] * 7, object()])
def test_what_is_no_vector_at_a_frame_is_named_in_every_call(verb, name, odd):
    call, robot = getattr(hinge, verb), robots.panda()
    for _ in range(2):
        fails(lambda: call(robot, np.zeros(7), odd, "link7"), ArgumentError, f"{name}: expected")
        call(robot, np.zeros(7), np.zeros(6), "link7")


def test_what_an_array_like_raises_is_told():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("broken")

    robot = robots.panda()
    hinge.jacobian_solve(robot, np.zeros(7), np.zeros(6), "link7")
    call = partial(hinge.jacobian_solve, robot, np.zeros(7), Broken(), "link7")
    fails(call, ArgumentError, "velocity: expected", "broken")


def test_an_unknown_argument_is_named_before_a_missing_one():
    f = compiled(H @ phi @ M @ phi.T @ H.T @ qd)
    fails(lambda: f(Q, qdd=ZERO), ArgumentError, "qdd: not in the expression; expected the arguments q, qd")
    fails(lambda: f(Q, x_typo=ZERO), ArgumentError, "x_typo: not in the expression")


def test_a_batch_beyond_all_memory_is_refused():
    q = np.broadcast_to(np.zeros(2), (2**58, 2))
    call = partial(hinge.mass_matrix, PENDULUM, q)
    fails(call, ArgumentError, "q: expected a batch whose results fit into memory, got one of shape")


def test_a_batch_without_coordinates_has_nothing_to_do():
    b = Builder("rock")
    b.body("stone", inertia=robots.solid_rod(1.0, 0.2, 0.02, (0, 0, 0.1)))
    robot = b.build()
    assert robot.nv == 0
    for threads in (1, None):
        hinge.set_threads(threads)
        found = hinge.mass_matrix(robot, np.zeros((2**40, 0)))
        assert found.shape == (2**40, 0, 0)
        out = np.empty((2**40, 0, 0))
        assert hinge.mass_matrix(robot, np.zeros((2**40, 0)), out=out) is out
    hinge.set_threads(None)
