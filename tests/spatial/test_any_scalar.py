"""The formulas hold for any scalar: here dual numbers, whose slope is the exact derivative."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge import spatial
from hinge.model.joints import JOINT_TYPES, VectorJoint
from hinge.robots import random_inertia
from hinge.spatial import Inertia, Transform, quaternion, rotation

SHAPES = [(), (2,), (2, 3)]


class Traced:
    """value + slope ε with ε² = 0."""

    def __init__(self, value: float, slope: float = 0.0) -> None:
        self.value, self.slope = value, slope

    @staticmethod
    def of(x: Traced | float) -> Traced:
        return x if isinstance(x, Traced) else Traced(float(x))

    def __add__(self, other):
        other = Traced.of(other)
        return Traced(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        other = Traced.of(other)
        return Traced(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __truediv__(self, other):
        other = Traced.of(other)
        ratio = self.value / other.value
        return Traced(ratio, (self.slope - ratio * other.slope) / other.value)

    def __neg__(self):
        return Traced(-self.value, -self.slope)

    def __sub__(self, other):
        return self + -Traced.of(other)

    def __rsub__(self, other):
        return Traced.of(other) - self

    def __rtruediv__(self, other):
        return Traced.of(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def sin(self):
        return Traced(math.sin(self.value), math.cos(self.value) * self.slope)

    def cos(self):
        return Traced(math.cos(self.value), -math.sin(self.value) * self.slope)

    def sqrt(self):
        root = math.sqrt(self.value)
        return Traced(root, self.slope / (2 * root))


def traced(value, slope=0.0):
    value, slope = np.broadcast_arrays(value, slope)
    out = np.empty(value.shape, dtype=object)
    for i in np.ndindex(value.shape):
        out[i] = Traced(float(value[i]), float(slope[i]))
    return out


def values(x):
    return np.vectorize(lambda e: Traced.of(e).value, otypes=[float])(x)


def slopes(x):
    return np.vectorize(lambda e: Traced.of(e).slope, otypes=[float])(x)


def parts(x):
    """Return the arrays that a result is made of."""
    if isinstance(x, Transform):
        return [x.E, x.r]
    return [x.m, x.h, x.I] if isinstance(x, Inertia) else [x]


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


def random_quaternion(shape, seed=0):
    return quaternion.random(np.random.default_rng(seed), shape)


def _transform(a):
    return Transform.place(rotation.from_quaternion(a[..., :4]), a[..., 4:7])


def _inertia(a):
    body = random_inertia(np.random.default_rng(0))
    mass = np.asarray(body.m * (1 + a[..., 0] * a[..., 0]))
    return Inertia(mass, body.h + a[..., 1:4], body.I)


#: Each formula of one array a (…, 13), whose first four components are a unit quaternion.
FORMULAS = {
    "cross": lambda a: spatial.cross(a[..., :3], a[..., 3:6]),
    "skew": lambda a: spatial.skew(a[..., :3]),
    "unskew": lambda a: spatial.unskew(spatial.skew(a[..., :3])),
    "dot": lambda a: spatial.dot(a[..., :3], a[..., 3:6]),
    "outer": lambda a: spatial.outer(a[..., :3], a[..., 3:6]),
    "quaternion product": lambda a: quaternion.multiply(a[..., :4], a[..., 4:8]),
    "quaternion rotate": lambda a: quaternion.rotate(a[..., :4], a[..., 4:7]),
    "quaternion rate": lambda a: quaternion.rate(a[..., :4], a[..., 4:7]),
    "quaternion normalize": lambda a: quaternion.normalize(a[..., 4:8]),
    "rotation about": lambda a: rotation.about((0.6, 0, 0.8), a[..., 4]),
    "rotation from quaternion": lambda a: rotation.from_quaternion(a[..., :4]),
    "rotation from rpy": lambda a: rotation.from_rpy(a[..., 4:7]),
    "compose": lambda a: _transform(a) @ _transform(a),
    "inverse": lambda a: _transform(a).inv(),
    "transform matrix": lambda a: _transform(a).matrix(),
    "force matrix": lambda a: _transform(a).force_matrix(),
    "transform of a point": lambda a: _transform(a).point(a[..., 7:10]),
    "transform of motion": lambda a: _transform(a).motion(a[..., 7:13]),
    "transform of force": lambda a: _transform(a).force(a[..., 7:13]),
    "transform of inertia": lambda a: _transform(a).inertia(_inertia(a)),
    "inertia apply": lambda a: _inertia(a).apply(a[..., 7:13]),
    "inertia matrix": lambda a: _inertia(a).matrix(),
    "motion cross": lambda a: spatial.motion_cross(a[..., 1:7], a[..., 7:13]),
    "motion cross matrix": lambda a: spatial.motion_cross_matrix(a[..., 1:7]),
    "force cross": lambda a: spatial.force_cross(a[..., 1:7], a[..., 7:13]),
    "shift motion": lambda a: spatial.shift_motion(a[..., 7:13], a[..., :3]),
    "shift force": lambda a: spatial.shift_force(a[..., 7:13], a[..., :3]),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_value_and_slope_are_those_of_the_float_formula(name, shape):
    rng = np.random.default_rng(1)
    a = np.concatenate([random_quaternion(shape), rng.standard_normal((*shape, 9))], axis=-1)
    direction, h, formula = rng.standard_normal(a.shape), 1e-6, FORMULAS[name]
    plain, ahead, behind = (parts(formula(x)) for x in (a, a + h * direction, a - h * direction))
    for got, v, up, down in zip(parts(formula(traced(a, direction))), plain, ahead, behind, strict=True):
        assert np.shape(got) == np.shape(v)
        assert_allclose(values(got), v, atol=1e-13)
        assert_allclose(slopes(got), (up - down) / (2 * h), rtol=1e-6, atol=1e-7)


@pytest.fixture(params=JOINT_TYPES)
def joint(request):
    return JOINT_TYPES[request.param].random_type(np.random.default_rng(5))


@pytest.fixture
def state(joint, shape):
    rng = np.random.default_rng(6)
    return joint.random(rng, shape, *joint.limits()), rng.standard_normal((*shape, joint.nv))


def rate_of(joint, q, qd):
    """Return dq/dt for qd."""
    if joint.kind == "spherical":
        return quaternion.rate(q, qd)
    if joint.kind == "free":
        return np.concatenate(
            [quaternion.rate(q[..., :4], qd[..., :3]), quaternion.rotate(q[..., :4], qd[..., 3:])], axis=-1
        )
    if joint.kind == "rolling_ball":
        plane, w = joint.plane, quaternion.rotate(q[..., :4], qd)
        step = spatial.matvec(plane.T, joint.radius * spatial.cross(w, np.array(joint.axis)))
        return np.concatenate([quaternion.rate(q[..., :4], qd), step], axis=-1)
    if joint.kind == "wheeled":
        step = qd[..., 1:] * rotation.about((0, 0, 1), q[..., 0])[..., :2, 0]
        return np.concatenate([qd[..., :1], step], axis=-1)
    if joint.kind == "planar":
        step = spatial.matvec(rotation.about((0, 0, 1), q[..., 0])[..., :2, :2], qd[..., 1:])
        return np.concatenate([qd[..., :1], step], axis=-1)
    assert isinstance(joint, VectorJoint)
    return qd


def velocity_of(moving):
    """Return the velocity of the outer frame, in its own coordinates, of a traced placement."""
    r = values(moving.rotation)
    angular = spatial.unskew(np.swapaxes(r, -1, -2) @ slopes(moving.rotation))
    return spatial.motion(angular, spatial.matvec(np.swapaxes(r, -1, -2), slopes(moving.position)))


def test_joints_answer_as_for_floats(joint, state):
    q, qd = state
    tq, tqd = traced(q), traced(qd)
    for got, plain in [
        *zip(parts(joint.placement(tq)), parts(joint.placement(q)), strict=True),
        (joint.subspace(tq), joint.subspace(q)),
        (joint.bias(tq, tqd), joint.bias(q, qd)),
    ]:
        assert got.shape == plain.shape
        assert_allclose(values(got), plain, atol=1e-14)


def test_slope_of_the_placement_along_qd_is_the_velocity_s_qd(joint, state):
    q, qd = state
    moving = joint.placement(traced(q, rate_of(joint, q, qd)))
    expected = spatial.matvec(joint.subspace(q), qd)
    assert_allclose(np.broadcast_to(velocity_of(moving), expected.shape), expected, atol=1e-13)


def test_slope_of_the_velocity_along_qd_is_the_bias(joint, state):
    q, qd = state
    s = joint.subspace(traced(q, rate_of(joint, q, qd)))
    assert_allclose(spatial.matvec(slopes(s), qd), joint.bias(q, qd), atol=1e-13)


def test_slope_of_a_joints_whole_chain_is_exact_through_its_frames(joint, state):
    q, qd = state
    fixed = Transform.place(rotation.from_rpy((0.1, 0.2, 0.3)), (1.0, 2.0, 3.0))
    moving = fixed @ joint.placement(traced(q, rate_of(joint, q, qd))) @ fixed
    expected = fixed.motion(spatial.matvec(joint.subspace(q), qd))
    assert_allclose(np.broadcast_to(velocity_of(moving), expected.shape), expected, atol=1e-12)
