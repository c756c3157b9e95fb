import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge import spatial
from hinge.spatial import Transform

SHAPES = [(), (5,), (3, 4)]


@pytest.fixture(params=SHAPES, ids=str)
def vmf(request):
    return np.random.default_rng(1).standard_normal((3, *request.param, 6))


def test_force_is_couple_then_force(vmf):
    f = vmf[2]
    assert_allclose(spatial.force(f[..., :3], f[..., 3:]), f)


def test_cross_is_its_matrix(vmf):
    v, _, f = vmf
    assert_allclose(spatial.force_cross(v, f), spatial.matvec(spatial.force_cross_matrix(v), f), atol=1e-14)


def test_the_two_crosses_keep_the_power(vmf):
    v, m, f = vmf
    change = spatial.dot(spatial.motion_cross(v, m), f) + spatial.dot(m, spatial.force_cross(v, f))
    assert_allclose(change, 0, atol=1e-13)


def test_cross_matrix_is_minus_the_transposed_motion_cross(vmf):
    v = vmf[0]
    expected = -np.swapaxes(spatial.motion_cross_matrix(v), -1, -2)
    assert_allclose(spatial.force_cross_matrix(v), expected)


def test_shift_is_a_transform_without_rotation(vmf):
    r, _, f = vmf
    r = r[..., :3]
    assert_allclose(spatial.shift_force(f, r), Transform.place(position=r).force(f), atol=1e-14)


def test_shifting_motion_and_force_keeps_the_power(vmf):
    r, m, f = vmf
    r = r[..., :3]
    power = spatial.dot(spatial.shift_motion(m, r), spatial.shift_force(f, r))
    assert_allclose(power, spatial.dot(m, f), atol=1e-13)


def test_force_at_has_no_couple_about_its_point(vmf):
    p, _, f = vmf
    p, g = p[..., :3], f[..., 3:]
    shifted = spatial.shift_force(spatial.force_at(p, g), p)
    assert_allclose(shifted, spatial.force(np.zeros_like(g), g), atol=1e-14)


def test_force_at_gives_the_power_of_the_point(vmf):
    p, m, f = vmf
    p, g = p[..., :3], f[..., 3:]
    velocity = m[..., 3:] + np.cross(m[..., :3], p)
    assert_allclose(spatial.dot(m, spatial.force_at(p, g)), spatial.dot(velocity, g), atol=1e-13)
