import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from hinge.spatial import quaternion, rotation

SHAPES = [(), (5,), (3, 4)]
ANGLES = [0.0, 1e-300, 1e-12, 0.9e-9, 1.1e-9, 1e-8, 1e-4, 1.0, np.pi - 1e-4, np.pi - 1e-8, np.pi - 1e-12]


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


@pytest.fixture
def pq(shape):
    return quaternion.random(np.random.default_rng(1), (2, *shape))


def scipy_of(p):
    return Rotation.from_quat(p.reshape(-1, 4)[:, [1, 2, 3, 0]])


def same_rotation(p, q, atol=1e-14):
    assert_allclose(np.abs((p * q).sum(axis=-1)), 1, atol=atol)


def unit_vectors(n):
    v = np.random.default_rng(2).standard_normal((n, 3))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def test_random_is_of_unit_length_and_asked_shape(shape, pq):
    assert pq.shape == (2, *shape, 4)
    assert_allclose(np.linalg.norm(pq, axis=-1), 1)


def test_product_is_scipys(pq):
    p, q = pq
    expected = (scipy_of(p) * scipy_of(q)).as_matrix().reshape(*p.shape[:-1], 3, 3)
    assert_allclose(rotation.from_quaternion(quaternion.multiply(p, q)), expected, atol=1e-14)


def test_product_is_associative_and_has_the_identity(pq):
    p, q = pq
    left = quaternion.multiply(quaternion.multiply(p, q), p)
    right = quaternion.multiply(p, quaternion.multiply(q, p))
    assert_allclose(left, right, atol=1e-14)
    assert_allclose(quaternion.multiply(p, quaternion.identity()), p)


def test_conjugate_is_the_inverse(pq):
    p, _ = pq
    product = quaternion.multiply(p, quaternion.conjugate(p))
    assert_allclose(product, np.broadcast_to(quaternion.identity(), p.shape), atol=1e-15)


def test_rotate_is_multiplication_by_the_matrix(pq):
    p, q = pq
    x = q[..., 1:]
    expected = scipy_of(p).apply(x.reshape(-1, 3)).reshape(x.shape)
    assert_allclose(quaternion.rotate(p, x), expected, atol=1e-14)


def test_normalize_gives_unit_length_in_the_same_direction(pq):
    p, _ = pq
    assert_allclose(quaternion.normalize(3.7 * p), p)


def test_rate_is_the_derivative_of_a_rotation_in_the_rotated_frame(pq):
    p, q = pq
    omega, h = q[..., 1:], 1e-5
    ahead, behind = (quaternion.multiply(p, quaternion.exp(s * h * omega)) for s in (1, -1))
    assert_allclose(quaternion.rate(p, omega), (ahead - behind) / (2 * h), atol=1e-9)


def test_rate_keeps_the_length(pq):
    p, q = pq
    assert_allclose((p * quaternion.rate(p, q[..., 1:])).sum(axis=-1), 0, atol=1e-15)


def test_exp_is_scipys(pq):
    phi = 3 * pq[..., 1:]
    expected = Rotation.from_rotvec(phi.reshape(-1, 3)).as_quat()[:, [3, 0, 1, 2]].reshape(pq.shape)
    same_rotation(quaternion.exp(phi), expected)


def test_log_is_scipys(pq):
    assert_allclose(quaternion.log(pq).reshape(-1, 3), scipy_of(pq).as_rotvec(), atol=1e-13)


@pytest.mark.parametrize("angle", ANGLES)
def test_log_inverts_exp_at_any_angle_below_pi(angle):
    phi = angle * unit_vectors(20)
    assert_allclose(quaternion.log(quaternion.exp(phi)), phi, rtol=1e-14, atol=4e-15 * angle)


@pytest.mark.parametrize("angle", ANGLES)
def test_log_does_not_see_the_sign(angle):
    p = quaternion.exp(angle * unit_vectors(20))
    assert_allclose(quaternion.log(-p), quaternion.log(p))


def test_log_of_a_half_turn_has_length_pi():
    phi = quaternion.log(quaternion.exp(np.pi * unit_vectors(20)))
    assert_allclose(np.linalg.norm(phi, axis=-1), np.pi)


def test_log_is_never_longer_than_pi():
    phi = quaternion.log(quaternion.exp(np.linspace(0, 20, 200)[:, None] * unit_vectors(200)))
    assert (np.linalg.norm(phi, axis=-1) <= np.pi * (1 + 1e-15)).all()


def test_from_matrix_inverts_from_quaternion_with_scalar_part_not_negative(pq):
    back = quaternion.from_matrix(rotation.from_quaternion(pq))
    same_rotation(back, pq)
    assert (back[..., 0] >= 0).all()


@pytest.mark.parametrize("axis", [*np.eye(3), (0.6, 0.8, 0), (1e-9, 1, 0)])
@pytest.mark.parametrize("angle", [0, 1e-10, np.pi - 1e-10, np.pi, np.pi + 1e-10])
def test_from_matrix_holds_at_half_turns_and_at_rest(axis, angle):
    axis = np.array(axis) / np.linalg.norm(axis)
    p = quaternion.exp(angle * axis)
    same_rotation(quaternion.from_matrix(Rotation.from_rotvec(angle * axis).as_matrix()), p)
