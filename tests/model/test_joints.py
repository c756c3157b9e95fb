import inspect
from dataclasses import fields, replace
from functools import wraps

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge.errors import ArgumentError, ModelError
from hinge.kernels import Graph, finish
from hinge.model import joints
from hinge.model.joints import JOINT_TYPES, Flexure, Modes
from hinge.spatial import Transform, matvec, motion, quaternion, rotation, unskew
from tests.folding import folded

SHAPES = [(), (5,), (3, 4)]
AXIAL = ["revolute", "continuous", "prismatic", "screw", "cylindrical", "planar", "wheeled"]
QUATERNION = ["spherical", "free", "rolling_ball"]
#: All types, those of flexible bodies too.
EVERY = JOINT_TYPES | {t.kind: t for t in (Modes, Flexure)}
STENCIL = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
STEP = 1e-3


def each(test):
    """Run a test for three joints of a kind, at states of every shape if it asks for them, as one case."""
    wanted = inspect.signature(test).parameters
    shapes = SHAPES if {"shape", "state"} & set(wanted) else [()]

    @folded(seed=range(3), shape=shapes)
    def over(kind, seed, shape):
        joint, rng = EVERY[kind].random_type(np.random.default_rng(seed)), np.random.default_rng(7)
        state = joint.random(rng, shape, *joint.limits()), rng.standard_normal((*shape, joint.nv))
        known = {"joint": joint, "shape": shape, "state": state}
        test(**{name: known[name] for name in wanted})

    # Modes move no frame, and the parts of flexible bodies have one side.
    kinds = JOINT_TYPES if {"reversed", "reversing", "independent"} & {*test.__name__.split("_")} else EVERY

    @pytest.mark.parametrize("kind", kinds)
    @wraps(test)
    def run(kind):
        over(kind=kind)

    run.__signature__ = inspect.signature(over)
    return run


def derivative(f):
    """Return df/dt at 0 by a six-point central difference."""
    return sum(w * (f(k * STEP) - f(-k * STEP)) for k, w in STENCIL.items()) / STEP


def same_transform(a, b, atol=1e-13):
    assert_allclose(*np.broadcast_arrays(a.matrix(), b.matrix()), atol=atol)


def test_every_kind_is_listed_under_its_own_name():
    assert all(t.kind == kind for kind, t in JOINT_TYPES.items())
    assert all(len(t.q_names) >= len(t.qd_names) for t in JOINT_TYPES.values())


@each
def test_shapes_follow_the_batch(joint, state, shape):
    q, qd = state
    assert q.shape == (*shape, joint.nq)
    assert joint.subspace(q).shape == (*shape, 6, joint.nv)
    assert joint.bias(q, qd).shape == (*shape, 6)
    assert joint.integrate(q, qd).shape == (*shape, joint.nq)
    assert joint.difference(q, q).shape == (*shape, joint.nv)
    assert joint.neutral().shape == (joint.nq,)
    x = joint.placement(q)
    assert np.broadcast_shapes(x.E.shape[:-2], x.r.shape[:-1], shape) == shape


@each
def test_batches_of_q_and_qd_broadcast(joint):
    rng = np.random.default_rng(8)
    q, qd = joint.random(rng, (3, 1), *joint.limits()), rng.standard_normal((4, joint.nv))
    assert joint.bias(q, qd).shape == (3, 4, 6)
    assert joint.integrate(q, qd).shape == (3, 4, joint.nq)
    row = joint.integrate(q[1], qd[2:3])
    assert_allclose(joint.integrate(q, qd)[1, 2], row[0])


@each
def test_a_batch_is_its_members(joint, state, shape):
    q, qd = state
    whole = joint.placement(q)
    matrix = np.broadcast_to(whole.matrix(), (*shape, 6, 6))
    for i in np.ndindex(shape):
        assert_allclose(matrix[i], joint.placement(q[i]).matrix())
        assert_allclose(joint.subspace(q)[i], joint.subspace(q[i]))
        assert_allclose(joint.bias(q, qd)[i], joint.bias(q[i], qd[i]))


@each
def test_velocity_across_the_joint_is_s_qd(joint, state):
    q, qd = state

    def placement(t):
        return joint.placement(joint.integrate(q, t * qd))

    back = placement(0).E
    angular = unskew(back @ derivative(lambda t: placement(t).rotation))
    linear = matvec(back, derivative(lambda t: placement(t).position))
    expected = matvec(joint.subspace(q), qd)
    assert_allclose(np.broadcast_to(motion(angular, linear), expected.shape), expected, atol=1e-9)


@each
def test_bias_is_the_rate_of_s_qd_with_qd_held(joint, state):
    q, qd = state
    rate = derivative(lambda t: matvec(joint.subspace(joint.integrate(q, t * qd)), qd))
    assert_allclose(joint.bias(q, qd), rate, atol=1e-9)


@each
def test_columns_of_the_subspace_are_independent(joint):
    q = joint.random(np.random.default_rng(9), (20,), *joint.limits())
    assert (np.linalg.matrix_rank(joint.subspace(q)) == joint.nv).all()


@each
def test_frames_coincide_at_neutral(joint):
    same_transform(joint.placement(joint.neutral()), Transform.identity())


@each
def test_difference_inverts_integrate(joint, state):
    q, v = state
    assert_allclose(joint.difference(q, joint.integrate(q, 0.5 * v)), 0.5 * v, atol=1e-12)


@each
def test_integrate_inverts_difference(joint, shape):
    rng = np.random.default_rng(10)
    a, b = (joint.random(rng, shape, *joint.limits()) for _ in range(2))
    if isinstance(joint, joints.Nonholonomic):
        with pytest.raises(ArgumentError, match=r"q1: no constant velocity of a .* leads from q0 to q1"):
            joint.difference(a, b)
        return
    there = joint.integrate(a, joint.difference(a, b))
    same_transform(joint.placement(there), joint.placement(b), atol=1e-10)


@each
@folded(size=[0, 1e-300, 1e-12, 1e-7, 0.049999, 0.050001, 3.0])
def test_difference_inverts_integrate_for_steps_of_any_size(joint, size):
    rng = np.random.default_rng(11)
    q, v = joint.random(rng, (), *joint.limits()), rng.standard_normal(joint.nv)
    v = size * v / max(np.linalg.norm(v), 1e-9)
    assert_allclose(joint.difference(q, joint.integrate(q, v)), v, atol=1e-12)


@each
def test_two_steps_of_one_velocity_are_a_step_of_twice_the_velocity(joint, state):
    q, v = state
    twice = joint.integrate(joint.integrate(q, v), v)
    same_transform(joint.placement(twice), joint.placement(joint.integrate(q, 2 * v)), atol=1e-12)


@each
def test_integrate_keeps_quaternions_of_unit_length(joint, state):
    q, v = state
    if joint.kind in QUATERNION:
        assert_allclose(np.linalg.norm(joint.integrate(q, v)[..., :4], axis=-1), 1, rtol=1e-15)


@each
def test_limits_are_ordered_and_hold_neutral(joint):
    low, high = joint.limits()
    assert low.shape == high.shape == (joint.nq,)
    assert (low < high).all()
    assert (low <= joint.neutral()).all() and (joint.neutral() <= high).all()


@each
@folded(
    limits=[(-0.2, 0.3), (7.0, 8.0), (7.0, np.inf), (-np.inf, -7.0), (-np.inf, np.inf), (0.1, 0.1)],
)
def test_random_keeps_within_limits(joint, limits):
    low, high = limits
    free = slice(4 if joint.kind in QUATERNION else 0, None)
    lower, upper = (x.copy() for x in joint.limits())
    lower[free], upper[free] = low, high
    q = joint.random(np.random.default_rng(12), (20,), lower, upper)
    assert q.shape == (20, joint.nq)
    assert np.isfinite(q).all()
    assert (q >= lower).all() and (q <= upper).all()


@each
def test_random_repeats_for_the_same_seed(joint):
    a, b = (joint.random(np.random.default_rng(3), (4,), *joint.limits()) for _ in range(2))
    assert (a == b).all()


@each
def test_reversed_placement_is_the_inverse(joint, state):
    back, _ = joint.reverse_state(*state)
    same_transform(joint.reversed().placement(back), joint.placement(state[0]).inv())


@each
def test_reversed_velocity_is_the_opposite_seen_from_the_other_side(joint, state):
    q, qd = state
    back, back_qd = joint.reverse_state(q, qd)
    there = matvec(joint.reversed().subspace(back), back_qd)
    here = -joint.placement(q).inv().motion(matvec(joint.subspace(q), qd))
    assert_allclose(*np.broadcast_arrays(there, here), atol=1e-13)


@each
def test_reversing_twice_changes_nothing(joint, state):
    q, qd = state
    other = joint.reversed()
    assert other.reversed() == joint
    again, again_qd = other.reverse_state(*joint.reverse_state(q, qd))
    same_transform(joint.placement(again), joint.placement(q))
    assert_allclose(again_qd, qd, atol=1e-13)


@pytest.mark.parametrize("kind", [Modes(2), Flexure()])
def test_parts_of_flexible_bodies_have_one_side(kind):
    with pytest.raises(ModelError, match="cannot be reversed"):
        kind.reversed()


@each
def test_reversed_keeps_the_kind(joint):
    assert joint.reversed().kind == joint.kind


@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_joint_types_are_values(kind):
    one, two = (JOINT_TYPES[kind].random_type(np.random.default_rng(1)) for _ in range(2))
    assert one == two and hash(one) == hash(two)
    assert JOINT_TYPES[kind]() == JOINT_TYPES[kind]()


def with_axis(kind, axis):
    return JOINT_TYPES[kind](axis)


@folded(kind=AXIAL)
@pytest.mark.parametrize("axis", [(3, 0, 4), (1e-6, 1e-6, 0), (1e6, 2e6, 3e6), (1e200, 0, 1e200)])
def test_axes_are_made_unit_vectors(kind, axis):
    made = np.array(with_axis(kind, axis).axis)
    assert_allclose(np.linalg.norm(made), 1)
    assert_allclose(np.cross(made, np.array(axis) / max(axis)), 0, atol=1e-15)


BAD = {
    "zero": (0, 0, 0),
    "tiny": (1e-13, 0, 0),
    "nan": (np.nan, 0, 1),
    "infinite": (np.inf, 0, 0),
    "two numbers": (1, 0),
    "four numbers": (1, 0, 0, 0),
    "one number": 1.0,
    "letters": "xyz",
    "ragged": ((1, 2), 3, 4),
    "nothing": None,
}


@folded(kind=AXIAL)
@pytest.mark.parametrize("axis", BAD.values(), ids=BAD)
def test_a_bad_axis_is_refused_by_name(kind, axis):
    with pytest.raises(ModelError, match=r"^axis: "):
        with_axis(kind, axis)


@pytest.mark.parametrize("axis", BAD.values(), ids=BAD)
def test_a_bad_axis_of_several_is_refused_by_its_name(axis):
    with pytest.raises(ModelError, match=r"^first: "):
        joints.Universal(axis, (0, 0, 1))
    with pytest.raises(ModelError, match=r"^second: "):
        joints.Universal((0, 0, 1), axis)
    with pytest.raises(ModelError, match=r"^axes\[2\]: "):
        joints.SphericalAngles(((1, 0, 0), (0, 1, 0), axis))


@pytest.mark.parametrize("sign", [1, -2])
def test_parallel_axes_are_refused(sign):
    a, b = (0.6, 0.8, 0), (0.6 * sign, 0.8 * sign, 1e-9)
    with pytest.raises(ModelError, match=r"first, second: .*parallel"):
        joints.Universal(a, b)
    with pytest.raises(ModelError, match=r"axes\[0\], axes\[1\]: .*parallel"):
        joints.SphericalAngles((a, b, (0, 0, 1)))
    with pytest.raises(ModelError, match=r"axes\[1\], axes\[2\]: .*parallel"):
        joints.SphericalAngles(((0, 0, 1), a, b))


def test_first_and_third_angle_may_share_an_axis():
    assert joints.SphericalAngles(((0, 0, 1), (1, 0, 0), (0, 0, 1))).nv == 3


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_three_angles_need_three_axes(count):
    axes = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0))[:count]
    with pytest.raises(ModelError, match=r"^axes: "):
        joints.SphericalAngles(axes)


@pytest.mark.parametrize("pitch", [np.inf, -np.inf, np.nan])
def test_an_infinite_pitch_is_refused(pitch):
    with pytest.raises(ModelError, match=r"^pitch: .*Prismatic"):
        joints.Screw((0, 0, 1), pitch)


def test_screw_without_pitch_is_revolute():
    q = np.array([0.7])
    same_transform(joints.Screw((0, 0, 1), 0.0).placement(q), joints.Revolute((0, 0, 1)).placement(q))


def test_three_angles_about_x_y_z_are_scipys_moving_axes():
    from scipy.spatial.transform import Rotation

    q = np.random.default_rng(13).uniform(-3, 3, (6, 3))
    expected = Rotation.from_euler("XYZ", q).as_matrix()
    assert_allclose(joints.SphericalAngles().placement(q).rotation, expected, atol=1e-14)


def test_free_in_the_plane_is_planar():
    q, v = np.array([0.4, 0.1, -0.2]), np.array([0.3, 0.5, -0.7])
    free_q = np.concatenate([quaternion.exp(np.array([0, 0, q[0]])), [*q[1:], 0]])
    free_v = np.array([0, 0, v[0], v[1], v[2], 0])
    there = joints.Free().integrate(free_q, free_v)
    same_transform(joints.Free().placement(there), joints.Planar().placement(joints.Planar().integrate(q, v)))


@pytest.mark.parametrize("off", [0, 1e-15, 1e-12, 1e-9, 1e-4])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_plane_is_across_the_axis_however_near_the_axis_is_to_z(off, sign):
    p = joints.Planar((0.6 * off, 0.8 * off, sign))
    assert_allclose(p.plane.T @ p.plane, np.eye(2), atol=1e-14)
    assert_allclose(p.plane.T @ p.axis, 0, atol=1e-14)


def test_planar_directions_are_x_and_y_for_z():
    assert_allclose(joints.Planar().plane, np.eye(3)[:, :2])
    assert_allclose(joints.Planar((0, 0, 1)).placement(np.array([np.pi / 2, 1, 2])).position, (1, 2, 0))


def test_continuous_does_not_wrap():
    c = joints.Continuous()
    assert_allclose(c.difference(np.array([0.0]), c.integrate(np.array([0.0]), np.array([9.0]))), [9.0])


def test_a_quaternion_and_its_opposite_are_no_step_apart():
    p = quaternion.random(np.random.default_rng(14))
    assert_allclose(joints.Spherical().difference(p, -p), 0, atol=1e-15)
    r = joints.Spherical().placement(-p).rotation
    assert_allclose(r, rotation.from_quaternion(p))


@each
def test_rate_is_the_derivative_of_following_a_velocity(joint, state):
    q, qd = state
    assert_allclose(derivative(lambda t: joint.integrate(q, t * qd)), joint.rate(q, qd), atol=1e-9)


@each
def test_a_state_is_reversed_also_where_velocities_have_a_batch_and_q_has_none(joint):
    rng = np.random.default_rng(2)
    q, qd = joint.random(rng, (), *joint.limits()), rng.standard_normal((4, joint.nv))
    _, found = joint.reverse_state(q, qd)
    assert_allclose(found, [joint.reverse_state(q, v)[1] for v in qd], rtol=1e-13, atol=1e-13)


# Facts that the compiler uses.


@each
def test_an_axial_type_moves_as_it_states(joint, state):
    q, _ = state
    if joint.axial is None:
        assert joint.upright() is joint
        return
    same_transform(joint.axial.placement(q), joint.placement(q), atol=0)
    assert_allclose(joint.axial.subspace(q), joint.subspace(q), atol=0)
    assert isinstance(joint, joints.VectorJoint)
    upright = joint.upright()
    assert upright.axial == replace(joint.axial, axis=(0.0, 0.0, 1.0))
    assert upright.upright() == upright


def test_which_types_are_axial():
    found = {kind for kind, t in JOINT_TYPES.items() if t().axial is not None}
    assert found == {"revolute", "continuous", "prismatic", "screw", "cylindrical"}


def test_types_that_move_alike_are_one_upright():
    assert joints.Continuous((1, 0, 0)).upright() == joints.Revolute((0, 1, 0)).upright() == joints.Revolute()
    assert joints.Screw((1, 0, 0), 0.2).upright() != joints.Screw((1, 0, 0), 0.3).upright()


@each
def test_units_and_quaternions(joint):
    assert len(joint.q_units) == joint.nq and len(joint.qd_units) == joint.nv
    assert joint.has_quaternion == (joint.kind in QUATERNION) == ("" in joint.q_units)
    assert set(joint.qd_units) <= {"rad", "m"}


@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_a_random_type_has_random_geometry(kind):
    one, other = (JOINT_TYPES[kind].random_type(np.random.default_rng(seed)) for seed in (0, 1))
    assert (one == other) == (not fields(one) or {f.name for f in fields(one)} == {"turned"})


# The difference without branches.

#: Angles of a turn, near none and near half of it, and ordinary ones.
TURNS = (0.0, 1e-12, 1e-9, 1e-7, 1e-3, 0.5, 2.0, 3.0, 3.1415)


def apart(joint, size, rng, shape=()):
    """Return configurations, and the velocities to others with turns of this size."""
    q = joint.random(rng, shape, *joint.limits())
    v = rng.normal(size=(*shape, joint.nv))
    for turn in [k for k in (slice(0, 1), slice(0, 3)) if joint.qd_units[k] == ("rad",) * (k.stop)][-1:]:
        v[..., turn] *= size / np.linalg.norm(v[..., turn], axis=-1, keepdims=True)
    return q, v


@each
def test_the_smooth_difference_is_the_difference(joint, shape):
    rng = np.random.default_rng(6)
    for size in TURNS:
        q, v = apart(joint, size, rng, shape)
        if joint.smooth_difference(q, q) is None:
            assert isinstance(joint, joints.Nonholonomic)
            continue
        other = joint.integrate(q, v)
        found = joint.smooth_difference(q, other)
        assert_allclose(found, joint.difference(q, other), rtol=1e-9, atol=1e-14)
        assert_allclose(found, v, rtol=1e-9, atol=1e-14)
        if joint.has_quaternion:
            opposite = np.concatenate([-other[..., :4], other[..., 4:]], axis=-1)
            assert_allclose(joint.smooth_difference(q, opposite), v, rtol=1e-9, atol=1e-14)


@each
def test_the_smooth_difference_of_traced_numbers_is_that_of_floats(joint):
    rng, graph = np.random.default_rng(8), Graph()
    rows = [np.array([graph.input((name, k)) for k in range(joint.nq)], dtype=object) for name in "pq"]
    traced = joint.smooth_difference(*rows)
    kernel = None if traced is None else finish(graph, dict(enumerate(traced)))
    for size in TURNS:
        q, v = apart(joint, size, rng)
        other = joint.integrate(q, v)
        expected = joint.smooth_difference(q, other)
        assert (kernel is None) == (expected is None)
        if kernel is not None:
            values = {("p", k): float(x) for k, x in enumerate(q)}
            values |= {("q", k): float(x) for k, x in enumerate(other)}
            found = kernel.evaluate({key: values[key] for key in kernel.inputs})
            assert_allclose([found[k] for k in range(joint.nv)], expected, rtol=1e-13, atol=1e-15)
            boxed = joint.smooth_difference(q.astype(object), other.astype(object))
            assert_allclose(boxed.astype(float), expected, rtol=1e-13, atol=1e-15)


def test_the_smooth_difference_is_finite_at_half_a_turn():
    for joint in (joints.Spherical(), joints.Free()):
        half = joint.neutral()
        half[:2] = 0.0, 1.0
        assert np.isfinite(joint.smooth_difference(joint.neutral(), half)).all()


@each
def test_the_smooth_integrate_is_integrate(joint, shape):
    rng, graph = np.random.default_rng(7), Graph()
    for size in (*TURNS, 1.0, 4.0, 7.0, 30.0):
        q, v = apart(joint, size, rng, shape)
        found = joint.smooth_integrate(q, v)
        if found is None:
            assert isinstance(joint, joints.Nonholonomic)
            return
        assert_allclose(found, joint.integrate(q, v), rtol=1e-12, atol=1e-14)
    row = np.array([graph.input(k) for k in range(joint.nq + joint.nv)], dtype=object)
    kernel = finish(graph, dict(enumerate(joint.smooth_integrate(row[: joint.nq], row[joint.nq :]))))
    q, v = apart(joint, 1e-9, rng)
    values = dict(enumerate(map(float, [*q, *v])))
    traced = kernel.evaluate({key: values[key] for key in kernel.inputs})
    assert_allclose([traced[k] for k in range(joint.nq)], joint.integrate(q, v), rtol=1e-13, atol=1e-14)


@each
def test_unrate_takes_rates_back(joint, state):
    q, qd = state
    found = joint.unrate(q, joint.rate(q, qd))
    if joint.kind in ("rolling_ball", "wheeled"):
        assert found is None
        return
    assert_allclose(found, qd, atol=1e-13)
    if joint.nv:  # the default, which joint types of a user have
        assert_allclose(joints.JointType.unrate(joint, q, joint.rate(q, qd)), qd, atol=1e-12)
    if joint.has_quaternion:
        along = np.concatenate([q[..., :4], 0 * q[..., 4:]], axis=-1)
        assert_allclose(joint.unrate(q, along)[..., :3], 0 * qd[..., :3], atol=1e-13)
