import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge.robots import random_inertia
from hinge.spatial import ArticulatedInertia, Inertia, dot, force, matvec, skew, transpose

SHAPES = [(), (5,), (3, 4)]


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


@pytest.fixture
def mass_com_central(shape):
    rng = np.random.default_rng(1)
    a = rng.standard_normal((*shape, 3, 3))
    return rng.uniform(0.5, 2, shape), rng.standard_normal((*shape, 3)), a @ transpose(a)


@pytest.fixture
def v(shape):
    return np.random.default_rng(2).standard_normal((*shape, 6))


def test_com_and_central_invert_from_com(mass_com_central):
    mass, com, central = mass_com_central
    body = Inertia.from_com(mass, com, central)
    assert_allclose(body.m, mass)
    assert_allclose(body.com, com)
    assert_allclose(body.central, central, atol=1e-13)


def test_parallel_axes(mass_com_central):
    mass, com, central = mass_com_central
    c = skew(com)
    expected = central - mass[..., None, None] * c @ c
    assert_allclose(Inertia.from_com(mass, com, central).I, expected, atol=1e-13)


def test_matrix_has_the_blocks_of_the_book(mass_com_central):
    mass, com, central = mass_com_central
    body = Inertia.from_com(mass, com, central)
    m = body.matrix()
    assert_allclose(m[..., :3, :3], body.I)
    assert_allclose(m[..., :3, 3:], skew(body.h))
    assert_allclose(m[..., 3:, :3], -skew(body.h))
    assert_allclose(m[..., 3:, 3:], mass[..., None, None] * np.eye(3))


def test_matrix_is_symmetric_and_positive(mass_com_central):
    m = Inertia.from_com(*mass_com_central).matrix()
    assert_allclose(m, transpose(m))
    assert (np.linalg.eigvalsh(m) > 0).all()


def test_apply_is_the_matrix_in_both_forms(mass_com_central, v):
    body = Inertia.from_com(*mass_com_central)
    assert_allclose(body.apply(v), matvec(body.matrix(), v), atol=1e-13)
    assert_allclose(body.articulated().apply(v), body.apply(v), atol=1e-13)


def test_apply_of_one_inertia_takes_a_batch_of_velocities(v):
    body = random_inertia(np.random.default_rng(3))
    assert_allclose(body.apply(v), matvec(body.matrix(), v), atol=1e-14)


def test_momentum_is_that_of_the_centre_of_mass(mass_com_central, v):
    mass, com, central = mass_com_central
    w, speed = v[..., :3], v[..., 3:] + np.cross(v[..., :3], com)
    p = mass[..., None] * speed
    expected = force(matvec(central, w) + np.cross(com, p), p)
    assert_allclose(Inertia.from_com(mass, com, central).apply(v), expected, atol=1e-12)


def test_points_add_up_to_the_body():
    rng = np.random.default_rng(4)
    masses, points, v = rng.uniform(0.1, 1, 7), rng.standard_normal((7, 3)), rng.standard_normal(6)
    total = Inertia.zero()
    for m, p in zip(masses, points, strict=True):
        total = total + Inertia.from_com(m, p, np.zeros((3, 3)))
    velocity = v[3:] + np.cross(v[:3], points)
    assert_allclose(0.5 * dot(v, total.apply(v)), 0.5 * (masses * (velocity**2).sum(axis=-1)).sum())
    assert_allclose(total.com, masses @ points / masses.sum())


def test_the_massless_body_has_its_centre_at_the_origin():
    none = Inertia.zero()
    assert not none.com.any() and not none.central.any() and not none.matrix().any()


def test_com_of_a_batch_with_massless_bodies_is_finite():
    body = Inertia(np.array([0.0, 2.0]), np.array([[0.0, 0, 0], [2.0, 4, 6]]), np.zeros((2, 3, 3)))
    assert_allclose(body.com, [[0, 0, 0], [1, 2, 3]])


def test_sum_of_inertias_is_the_sum_of_matrices():
    rng = np.random.default_rng(5)
    a, b = random_inertia(rng), random_inertia(rng)
    assert_allclose((a + b).matrix(), a.matrix() + b.matrix())
    assert_allclose((a.articulated() + b.articulated()).matrix(), a.matrix() + b.matrix())
    assert_allclose((a.articulated() - b.articulated()).matrix(), a.matrix() - b.matrix())


def test_articulated_from_matrix_inverts_matrix(shape):
    a = np.random.default_rng(6).standard_normal((*shape, 6, 6))
    a = a + transpose(a)
    assert_allclose(ArticulatedInertia.from_matrix(a).matrix(), a)


def test_inertia_cannot_be_changed():
    with pytest.raises(AttributeError):
        Inertia.zero().m = np.ones(())
