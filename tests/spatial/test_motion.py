import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

from hinge import spatial
from hinge.spatial import Transform, rotation

SHAPES = [(), (5,), (3, 4)]


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


@pytest.fixture
def uvw(shape):
    return np.random.default_rng(1).standard_normal((3, *shape, 6))


def unit(v):
    return v / np.linalg.norm(v)


def test_motion_is_angular_then_linear(uvw):
    v = uvw[0]
    assert_allclose(spatial.motion(v[..., :3], v[..., 3:]), v)


def test_motion_broadcasts_its_halves(shape):
    w = np.ones((*shape, 3))
    assert spatial.motion(w, (1, 2, 3)).shape == (*shape, 6)
    assert spatial.motion((1, 2, 3), w).shape == (*shape, 6)


def test_cross_is_its_matrix(uvw):
    v, m, _ = uvw
    assert_allclose(spatial.motion_cross(v, m), spatial.matvec(spatial.motion_cross_matrix(v), m), atol=1e-14)


def test_cross_is_antisymmetric_and_kills_itself(uvw):
    v, m, _ = uvw
    assert_allclose(spatial.motion_cross(v, m), -spatial.motion_cross(m, v), atol=1e-14)
    assert_allclose(spatial.motion_cross(v, v), 0, atol=1e-15)


def test_jacobi_identity(uvw):
    u, v, w = uvw
    x = spatial.motion_cross
    assert_allclose(x(u, x(v, w)) + x(v, x(w, u)) + x(w, x(u, v)), 0, atol=1e-13)


def test_cross_matrix_of_a_cross_product_is_the_commutator(uvw):
    v, m, _ = uvw
    a, b = spatial.motion_cross_matrix(v), spatial.motion_cross_matrix(m)
    product = spatial.motion_cross_matrix(spatial.motion_cross(v, m))
    assert_allclose(product, a @ b - b @ a, atol=1e-13)


def test_cross_is_the_rate_of_a_vector_carried_along():
    rng = np.random.default_rng(2)
    v, m = rng.standard_normal((2, 6))
    h = 1e-5

    def carried(t):
        turn = rotation.exp(t * v[:3])
        place = Transform.place(turn, t * rotation.left_jacobian(t * v[:3]) @ v[3:])
        return place.inv().motion(m)

    assert_allclose(spatial.motion_cross(v, m), (carried(h) - carried(-h)) / (2 * h), atol=1e-9)


def test_exponential_of_the_cross_matrix_carries_a_motion_vector():
    v, m = np.random.default_rng(3).standard_normal((2, 6))
    place = Transform.place(rotation.exp(v[:3]), rotation.left_jacobian(v[:3]) @ v[3:])
    assert_allclose(expm(spatial.motion_cross_matrix(v)) @ m, place.inv().motion(m), atol=1e-12)


def test_shift_is_a_transform_without_rotation(uvw):
    v, r = uvw[0], uvw[1][..., :3]
    assert_allclose(spatial.shift_motion(v, r), Transform.place(position=r).motion(v), atol=1e-14)


def test_shift_gives_the_velocity_of_the_point(uvw):
    v, r = uvw[0], uvw[1][..., :3]
    moved = v[..., 3:] + np.cross(v[..., :3], r)
    assert_allclose(spatial.shift_motion(v, r)[..., 3:], moved, atol=1e-14)


def test_screw_leaves_its_axis_in_place_but_for_the_pitch():
    rng = np.random.default_rng(4)
    n, p = unit(rng.standard_normal(3)), rng.standard_normal(3)
    s = spatial.screw(n, p, 0.7)
    assert_allclose(spatial.shift_motion(s, p + 2.5 * n), [*n, *(0.7 * n)], atol=1e-14)


def test_screw_of_infinite_pitch_is_a_translation():
    assert_allclose(spatial.screw((0, 0.6, 0.8), (1, 2, 3), np.inf), [0, 0, 0, 0, 0.6, 0.8])


@pytest.mark.parametrize("pitch", [0.0, 0.3, -2.0, 1e6, np.inf])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_screw_parameters_invert_screw(pitch, size):
    rng = np.random.default_rng(5)
    n = unit(rng.standard_normal(3))
    p = np.cross(n, rng.standard_normal(3)) if np.isfinite(pitch) else np.zeros(3)
    axis, point, found, magnitude = spatial.screw_parameters(size * spatial.screw(n, p, pitch))
    assert_allclose(axis, n, rtol=1e-12)
    assert_allclose(point, p, atol=1e-9 * max(1, abs(pitch) if np.isfinite(pitch) else 1))
    assert found == pytest.approx(pitch, rel=1e-12, abs=1e-12)
    assert magnitude == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_screw_inverts_screw_parameters(seed):
    s = np.random.default_rng(seed).standard_normal(6)
    axis, point, pitch, size = spatial.screw_parameters(s)
    assert_allclose(size * spatial.screw(axis, point, pitch), s, atol=1e-14)
    assert_allclose(axis @ point, 0, atol=1e-14)


def test_the_zero_vector_is_a_screw_of_no_size():
    axis, point, pitch, size = spatial.screw_parameters(np.zeros(6))
    assert size == 0 and pitch == 0 and np.linalg.norm(axis) == 1 and not point.any()
