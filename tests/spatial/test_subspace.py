import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge.errors import ArgumentError
from hinge.spatial import coordinates, dual_basis, matvec, reciprocal, resolve, transpose

SHAPES = [(), (5,), (3, 4)]
RANKS = range(7)


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


@pytest.fixture(params=RANKS)
def s(request, shape):
    return np.random.default_rng(request.param).standard_normal((*shape, 6, request.param))


def eye_like(m):
    return np.broadcast_to(np.eye(m.shape[-1]), m.shape)


def test_reciprocal_does_no_work_on_s_and_completes_it(s):
    t = reciprocal(s)
    assert t.shape == (*s.shape[:-1], 6 - s.shape[-1])
    assert_allclose(transpose(s) @ t, 0, atol=1e-14)
    assert (np.linalg.matrix_rank(np.concatenate([s, t], axis=-1)) == 6).all()


def test_reciprocal_is_orthonormal(s):
    t = reciprocal(s)
    assert_allclose(transpose(t) @ t, eye_like(transpose(t) @ t), atol=1e-14)


def test_reciprocal_of_the_reciprocal_spans_s(s):
    both = np.concatenate([reciprocal(reciprocal(s)), s], axis=-1)
    assert (np.linalg.matrix_rank(both) == s.shape[-1]).all()


@pytest.mark.parametrize("columns", [[[0] * 6], [[1, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0]]])
def test_reciprocal_of_dependent_columns_is_refused(columns):
    with pytest.raises(ArgumentError, match=r"^s: .*dependent"):
        reciprocal(np.array(columns, dtype=float).T)


def test_reciprocal_sees_a_dependent_member_of_a_batch():
    s = np.stack([np.eye(6)[:, :2], np.ones((6, 2))])
    with pytest.raises(ArgumentError, match="dependent"):
        reciprocal(s)


def test_dual_basis_pairs_to_one_and_stays_in_the_span(s):
    f = dual_basis(s)
    assert_allclose(transpose(s) @ f, eye_like(transpose(s) @ f), atol=1e-10)
    assert (np.linalg.matrix_rank(np.concatenate([s, f], axis=-1), tol=1e-8) == s.shape[-1]).all()


def test_dual_of_six_columns_is_the_inverse_transpose(shape):
    s = np.random.default_rng(8).standard_normal((*shape, 6, 6))
    assert_allclose(dual_basis(s), transpose(np.linalg.inv(s)), rtol=1e-6, atol=1e-6)


def test_coordinates_of_a_combination_are_its_coefficients(s):
    rng = np.random.default_rng(9)
    alpha = rng.standard_normal((*s.shape[:-2], s.shape[-1]))
    t = s + 0.1 * rng.standard_normal(s.shape)
    assert_allclose(coordinates(s, t, matvec(s, alpha)), alpha, atol=1e-9)


def test_coordinates_ignore_what_t_does_not_see(s):
    rng = np.random.default_rng(10)
    t = s + 0.1 * rng.standard_normal(s.shape)
    unseen = matvec(reciprocal(t), rng.standard_normal((*s.shape[:-2], 6 - s.shape[-1])))
    assert_allclose(coordinates(s, t, unseen), 0, atol=1e-9)


def test_resolve_splits_into_a_driven_part_and_one_without_work(s):
    rng = np.random.default_rng(11)
    f = dual_basis(s) + 0.01 * rng.standard_normal(s.shape)
    a = rng.standard_normal((*s.shape[:-2], 6))
    driven, rest = resolve(s, f, a)
    assert_allclose(driven + rest, a)
    assert_allclose(matvec(transpose(s), rest), 0, atol=1e-9)
    assert_allclose(driven, matvec(f, coordinates(f, s, a)), atol=1e-12)
