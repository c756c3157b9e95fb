import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from hinge.spatial import matvec, quaternion, rotation, skew

SHAPES = [(), (5,), (3, 4)]


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


@pytest.fixture
def vectors(shape):
    return np.random.default_rng(1).standard_normal((*shape, 3))


def unit_vectors(n, seed=2):
    v = np.random.default_rng(seed).standard_normal((n, 3))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def scipy_matrix(r, shape):
    return r.as_matrix().reshape(*shape, 3, 3)


def test_about_is_the_exponential_of_the_axis(shape):
    angle = np.random.default_rng(3).uniform(-4, 4, shape)
    n = unit_vectors(1)[0]
    expected = scipy_matrix(Rotation.from_rotvec(angle.reshape(-1, 1) * n), shape)
    assert_allclose(rotation.about(n, angle), expected, atol=1e-15)


def test_about_takes_a_batch_of_axes():
    n, angle = unit_vectors(5), np.linspace(-3, 3, 5)
    assert_allclose(
        rotation.about(n, angle), Rotation.from_rotvec(angle[:, None] * n).as_matrix(), atol=1e-15
    )


def test_about_a_coordinate_axis_keeps_exact_zeros_and_ones():
    r = rotation.about((0, 0, 1), 0.3)
    assert (r[2] == [0, 0, 1]).all() and (r[:, 2] == [0, 0, 1]).all()


def test_from_quaternion_is_scipys_and_turns_new_coordinates_into_old(shape):
    p = quaternion.random(np.random.default_rng(4), shape)
    expected = scipy_matrix(Rotation.from_quat(p.reshape(-1, 4)[:, [1, 2, 3, 0]]), shape)
    assert_allclose(rotation.from_quaternion(p), expected, atol=1e-15)
    x = np.array([0.3, -1, 2])
    assert_allclose(matvec(rotation.from_quaternion(p), x), quaternion.rotate(p, x), atol=1e-14)


def test_from_rpy_is_about_the_fixed_axes(shape, vectors):
    expected = scipy_matrix(Rotation.from_euler("xyz", vectors.reshape(-1, 3)), shape)
    assert_allclose(rotation.from_rpy(vectors), expected, atol=1e-15)


def test_to_rpy_inverts_from_rpy(vectors):
    rpy = np.clip(vectors, -1.5, 1.5)
    assert_allclose(rotation.to_rpy(rotation.from_rpy(rpy)), rpy, atol=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("off", [0, 1e-14, 1e-11, 1e-9, 1e-6, 1e-3])
def test_rpy_at_the_pole_gives_back_the_rotation(sign, off):
    rng = np.random.default_rng(5)
    roll, yaw = rng.uniform(-3, 3, (2, 20))
    r = rotation.from_rpy(np.stack([roll, np.full(20, sign * (np.pi / 2 - off)), yaw], axis=-1))
    rpy = rotation.to_rpy(r)
    assert_allclose(rotation.from_rpy(rpy), r, atol=3e-10)
    assert_allclose(np.abs(rpy[:, 1]), np.pi / 2 - off, atol=1e-10)


@pytest.mark.parametrize("sign", [1, -1])
def test_roll_is_zero_at_the_pole(sign):
    assert rotation.to_rpy(rotation.from_rpy((0.4, sign * np.pi / 2, 0.9)))[0] == 0


def test_exp_is_scipys_and_log_inverts_it(shape, vectors):
    expected = scipy_matrix(Rotation.from_rotvec(vectors.reshape(-1, 3)), shape)
    assert_allclose(rotation.exp(vectors), expected, atol=1e-14)
    short = vectors / (1 + np.linalg.norm(vectors, axis=-1, keepdims=True))
    assert_allclose(rotation.log(rotation.exp(short)), short, atol=1e-14)


@pytest.mark.parametrize("angle", [1e-12, 1e-6, np.pi - 1e-3, np.pi - 1e-7])
def test_log_is_scipys_near_rest_and_near_a_half_turn(angle):
    r = Rotation.from_rotvec(angle * unit_vectors(20))
    assert_allclose(rotation.log(r.as_matrix()), r.as_rotvec(), atol=1e-13)


def integral_of_exp(phi):
    """The block of a larger exponential: exp [[φ×, 1], [0, 0]] = [[exp φ×, ∫₀¹ exp(s φ×) ds], [0, 1]]."""
    m = np.zeros((6, 6))
    m[:3, :3], m[:3, 3:] = skew(phi), np.eye(3)
    return expm(m)[:3, 3:]


@pytest.mark.parametrize(
    "theta",
    [0, 1e-12, 1e-8, 1e-3, 0.049, 0.05 - 1e-12, 0.05, 0.05 + 1e-12, 0.051, 0.5, 2, np.pi, 6, 2 * np.pi, 9],
)
def test_left_jacobian_is_the_integral_of_the_rotation(theta):
    for n in unit_vectors(3):
        assert_allclose(rotation.left_jacobian(theta * n), integral_of_exp(theta * n), atol=1e-14)


def test_left_jacobian_takes_batches(shape, vectors):
    expected = np.reshape([integral_of_exp(v) for v in vectors.reshape(-1, 3)], (*shape, 3, 3))
    assert_allclose(rotation.left_jacobian(vectors), expected, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_aligning_turns_a_into_b_by_the_smallest_angle(seed):
    a, b = unit_vectors(2, seed)
    r = rotation.aligning(a, b)
    assert_allclose(r @ a, b, atol=1e-14)
    assert_allclose(r @ r.T, np.eye(3), atol=1e-14)
    assert_allclose(np.linalg.norm(rotation.log(r)), np.arccos(a @ b))


@pytest.mark.parametrize("a", [*np.eye(3), *unit_vectors(3)])
@pytest.mark.parametrize("off", [0, 1e-16, 1e-12, 1e-8])
@pytest.mark.parametrize("sign", [1, -1])
def test_aligning_holds_for_equal_and_opposite_vectors(a, off, sign):
    side = np.cross(a, (0.5, -0.3, 0.9))
    b = sign * a + off * side / np.linalg.norm(side)
    b /= np.linalg.norm(b)
    r = rotation.aligning(a, b)
    assert_allclose(r @ a, b, atol=1e-14)
    assert_allclose(r @ r.T, np.eye(3), atol=1e-14)
    assert_allclose(np.linalg.det(r), 1)
