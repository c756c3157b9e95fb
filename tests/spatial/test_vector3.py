import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge import spatial

SHAPES = [(), (5,), (3, 4)]


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


@pytest.fixture
def ab(shape):
    return np.random.default_rng(1).standard_normal((2, *shape, 3))


def test_cross_is_numpys(ab):
    assert_allclose(spatial.cross(*ab), np.cross(*ab), atol=1e-15)


def test_skew_of_a_times_b_is_a_cross_b(ab):
    a, b = ab
    assert_allclose(spatial.matvec(spatial.skew(a), b), np.cross(a, b), atol=1e-15)


def test_skew_is_antisymmetric(ab):
    assert_allclose(spatial.skew(ab) + spatial.transpose(spatial.skew(ab)), 0)


def test_unskew_inverts_skew(ab):
    assert_allclose(spatial.unskew(spatial.skew(ab)), ab)


def test_unskew_ignores_the_symmetric_part(ab):
    a, b = ab
    symmetric = spatial.outer(b, b)
    assert_allclose(spatial.unskew(spatial.skew(a) + symmetric), a, atol=1e-15)


def test_skew_of_a_cross_product_is_the_commutator(ab):
    a, b = map(spatial.skew, ab)
    assert_allclose(spatial.skew(np.cross(*ab)), a @ b - b @ a, atol=1e-14)


def test_dot_outer_and_matvec_are_einsums(ab):
    a, b = ab
    assert_allclose(spatial.dot(a, b), np.einsum("...i,...i", a, b))
    assert_allclose(spatial.outer(a, b), np.einsum("...i,...j->...ij", a, b))
    m = spatial.outer(a, b) + np.eye(3)
    assert_allclose(spatial.matvec(m, b), np.einsum("...ij,...j->...i", m, b))


def test_stack_puts_components_on_a_new_last_axis_and_broadcasts(shape):
    x = np.random.default_rng(2).standard_normal(shape)
    s = spatial.stack(x, 0.0, 2 * x)
    assert s.shape == (*shape, 3)
    assert_allclose(s[..., 2], 2 * x)


@pytest.mark.parametrize(("left", "right"), [((), (5,)), ((5,), ()), ((3, 1), (4,))])
def test_products_broadcast_leading_dimensions(left, right):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((*left, 3)), rng.standard_normal((*right, 3))
    assert_allclose(spatial.cross(a, b), np.cross(a, b))
    assert_allclose(spatial.matvec(spatial.skew(a), b), np.cross(a, b), atol=1e-15)


@pytest.mark.parametrize("given", [1, [1, 2], np.arange(3, dtype=np.int8), [True]])
def test_as_array_makes_whole_numbers_float64(given):
    assert spatial.as_array(given).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_as_array_keeps_the_precision_that_is_given(dtype):
    assert spatial.as_array(np.ones(3, dtype=dtype)).dtype == dtype


def test_as_array_leaves_objects_and_floats_uncopied():
    objects, floats = np.array([object()], dtype=object), np.zeros(3)
    assert spatial.as_array(objects) is objects
    assert spatial.as_array(floats) is floats
