import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge.robots import random_inertia
from hinge.spatial import ArticulatedInertia, Inertia, Transform, dot, matvec, quaternion, rotation, transpose

SHAPES = [(), (5,), (3, 4)]


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


def random_transform(shape, seed):
    rng = np.random.default_rng(seed)
    return Transform.place(
        rotation.from_quaternion(quaternion.random(rng, shape)), rng.standard_normal((*shape, 3))
    )


@pytest.fixture
def x(shape):
    return random_transform(shape, 1)


@pytest.fixture
def y(shape):
    return random_transform(shape, 2)


@pytest.fixture
def mf(shape):
    return np.random.default_rng(3).standard_normal((2, *shape, 6))


def same(a, b):
    assert_allclose(a.E, b.E, atol=1e-14)
    assert_allclose(a.r, b.r, atol=1e-14)


def test_place_without_arguments_is_the_identity():
    same(Transform.place(), Transform.identity())


def test_place_gives_back_rotation_and_position():
    r = rotation.from_rpy((0.1, 0.2, 0.3))
    x = Transform.place(r, (1, 2, 3))
    assert_allclose(x.rotation, r)
    assert_allclose(x.position, (1, 2, 3))


def test_the_origin_of_b_has_coordinates_zero_in_b(x):
    assert_allclose(x.point(x.position), 0)


def test_point_is_the_inverse_of_the_homogeneous_matrix(x, mf):
    p = mf[0][..., :3]
    one = np.ones((*p.shape[:-1], 1))
    back = matvec(x.homogeneous(), np.concatenate([x.point(p), one], axis=-1))
    assert_allclose(back[..., :3], p, atol=1e-14)


def test_homogeneous_takes_a_batch_of_positions_alone(shape):
    position = np.random.default_rng(4).standard_normal((*shape, 3))
    assert_allclose(Transform.place(position=position).homogeneous()[..., :3, 3], position)


def test_homogeneous_takes_a_batch_of_rotations_alone(shape):
    x = Transform(random_transform(shape, 5).E, np.array([1.0, 2.0, 3.0]))
    assert_allclose(x.homogeneous()[..., :3, 3], np.broadcast_to([1, 2, 3], (*shape, 3)))


def test_inverse_undoes(x):
    assert_allclose((x.inv() @ x).matrix(), np.broadcast_to(np.eye(6), (*x.r.shape[:-1], 6, 6)), atol=1e-14)
    assert_allclose(x.inv().matrix(), np.linalg.inv(x.matrix()), atol=1e-14)


def test_composition_is_the_product_of_matrices(x, y):
    assert_allclose((x @ y).matrix(), x.matrix() @ y.matrix(), atol=1e-14)
    assert_allclose((x @ y).force_matrix(), x.force_matrix() @ y.force_matrix(), atol=1e-14)
    assert_allclose((x @ y).homogeneous(), y.homogeneous() @ x.homogeneous(), atol=1e-14)


def test_composition_broadcasts(x):
    one = random_transform((), 6)
    assert_allclose((x @ one).matrix(), x.matrix() @ one.matrix(), atol=1e-14)
    assert_allclose((one @ x).matrix(), one.matrix() @ x.matrix(), atol=1e-14)


def test_motion_and_force_are_their_matrices(x, mf):
    m, f = mf
    assert_allclose(x.motion(m), matvec(x.matrix(), m), atol=1e-14)
    assert_allclose(x.force(f), matvec(x.force_matrix(), f), atol=1e-14)


def test_columns_are_taken_one_by_one(x, mf):
    columns = np.stack(list(mf), axis=-1)
    for k in range(2):
        assert_allclose(x.motions(columns)[..., k], x.motion(columns[..., k]), atol=1e-14)
        assert_allclose(x.forces(columns)[..., k], x.force(columns[..., k]), atol=1e-14)


def test_power_is_the_same_in_every_frame(x, mf):
    m, f = mf
    assert_allclose(dot(x.motion(m), x.force(f)), dot(m, f), atol=1e-13)


def test_force_matrix_is_the_inverse_transpose(x):
    assert_allclose(x.force_matrix(), transpose(np.linalg.inv(x.matrix())), atol=1e-13)


def test_rigid_inertia_is_taken_by_congruence(x):
    body = random_inertia(np.random.default_rng(7))
    expected = x.force_matrix() @ body.matrix() @ x.inv().matrix()
    assert_allclose(x.inertia(body).matrix(), expected, atol=1e-13)


def test_articulated_inertia_is_taken_by_congruence(x):
    a = np.random.default_rng(8).standard_normal((*x.r.shape[:-1], 6, 6))
    body = ArticulatedInertia.from_matrix(a + transpose(a))
    expected = x.force_matrix() @ body.matrix() @ x.inv().matrix()
    assert_allclose(x.articulated(body).matrix(), expected, atol=1e-12)


def test_the_two_forms_of_inertia_are_taken_alike(x):
    body = random_inertia(np.random.default_rng(9))
    assert_allclose(x.articulated(body.articulated()).matrix(), x.inertia(body).matrix(), atol=1e-13)


def test_kinetic_energy_is_the_same_in_every_frame(x, mf):
    body, v = random_inertia(np.random.default_rng(10)), mf[0]
    here = dot(v, body.apply(v))
    there = dot(x.motion(v), x.inertia(body).apply(x.motion(v)))
    assert_allclose(there, here, rtol=1e-12)


def test_the_centre_of_mass_is_taken_as_a_point(x):
    body = Inertia.from_com(2.0, (0.1, -0.2, 0.5), np.diag([1.0, 2.0, 2.5]))
    assert_allclose(x.inertia(body).com, x.point(body.com), atol=1e-14)
