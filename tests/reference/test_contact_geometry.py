"""Where contacts touch, against samples of the surfaces, differences and closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import reference
from hinge.model import Builder, Capsule, Contact, HeightField, Plane, Sphere
from hinge.model.joints import Free
from hinge.reference.height_fields import height_and_slopes
from hinge.robots import panda, random_inertia
from hinge.spatial import Transform, rotation

RNG = np.random.default_rng(5)
HILLS = HeightField(RNG.uniform(-0.2, 0.2, (5, 4)), (2.0, 1.5))
SLOPE = HeightField([[0.0, 0.3], [0.2, 0.5]], (2.0, 3.0))
IDENTITY = Transform.identity()


def placed(rng) -> Transform:
    axis = rng.standard_normal(3)
    turn = rotation.about(axis / np.linalg.norm(axis), rng.uniform(-3, 3))
    return Transform.place(turn, rng.uniform(-1.5, 1.5, 3))


def core(reach, count=401):
    """Return points of a segment along z."""
    return np.linspace(-reach, reach, count)[:, None] * np.array([0.0, 0.0, 1.0])


def in_world(x: Transform, points):
    return x.position + points @ x.rotation.T


PAIRS = {
    "ball on sphere": (0.0, Sphere(0.4)),
    "ball on capsule": (0.0, Capsule(0.3, 0.9)),
    "capsule on sphere": (0.7, Sphere(0.4)),
    "capsule on capsule": (0.7, Capsule(0.3, 0.9)),
}


@pytest.mark.parametrize("what", PAIRS)
def test_round_shapes_are_as_far_apart_as_their_samples(what):
    length, surface = PAIRS[what]
    reach = surface.length / 2 if isinstance(surface, Capsule) else 0.0
    rng = np.random.default_rng(1)
    for _ in range(40):
        a, b = placed(rng), placed(rng)
        t = reference.touch(Contact("a", "b", radius=0.1, length=length, surface=surface), a, b)
        one, two = in_world(a, core(length / 2)), in_world(b, core(reach))
        apart = np.linalg.norm(one[:, None] - two[None], axis=-1)
        least = apart.min()
        assert least - 2e-3 * (1.0 + least) < t.gap + 0.1 + surface.radius <= least + 1e-12
        assert_allclose(np.linalg.norm(t.s - two, axis=-1).min(), surface.radius, atol=1e-4)
        assert np.linalg.norm(t.c - one, axis=-1).min() < 1e-3
        well_shaped(t, 0.1)


def well_shaped(t, radius):
    """Check what holds for every contact."""
    basis = np.stack([t.t1, t.t2, t.n])
    assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(basis) > 0
    assert_allclose(t.gap, t.n @ (t.c - t.s) - radius, atol=1e-14)
    assert_allclose(t.x, t.c - radius * t.n, atol=1e-14)
    assert_allclose(np.linalg.norm(np.cross(t.c - t.s, t.n)), 0.0, atol=1e-12)


def test_parallel_capsules_have_the_distance_of_their_axes():
    contact = Contact("a", "b", radius=0.1, length=1.0, surface=Capsule(0.2, 2.0))
    t = reference.touch(contact, Transform.place(None, (0.5, 0, 0.3)), IDENTITY)
    assert_allclose(t.gap, 0.2, atol=1e-15)
    assert_allclose(t.n, (1, 0, 0), atol=1e-15)
    t = reference.touch(contact, Transform.place(None, (0, 0, 2.0)), IDENTITY)
    assert_allclose((t.gap, *t.n), (0.2, 0, 0, 1), atol=1e-15)
    concentric = Contact("a", "b", radius=0.1, surface=Sphere(0.2))
    t = reference.touch(concentric, IDENTITY, IDENTITY)
    assert_allclose((t.gap, *t.n), (-0.3, 0, 0, 1), atol=1e-15)


def test_a_plane_has_the_axes_of_its_frame():
    rng = np.random.default_rng(2)
    for _ in range(10):
        a, b = placed(rng), placed(rng)
        t = reference.touch(Contact("a", "b", radius=0.1), a, b)
        assert_allclose(np.stack([t.t1, t.t2, t.n]), b.E, atol=1e-14)
        assert_allclose(t.gap, (b.E @ (a.position - b.position))[2] - 0.1, atol=1e-14)
        assert_allclose((b.E @ (t.s - b.position))[2], 0.0, atol=1e-14)
        well_shaped(t, 0.1)


def nodes(field):
    x, y = (np.linspace(-s / 2, s / 2, n) for s, n in zip(field.size, field.heights.shape, strict=True))
    return np.stack([*np.meshgrid(x, y, indexing="ij"), field.heights], axis=-1)


def test_a_height_field_goes_through_its_heights_and_is_linear_on_triangles():
    p, rng = nodes(HILLS), np.random.default_rng(3)
    for i, j in np.ndindex(4, 3):
        for corners in (
            (p[i, j], p[i + 1, j], p[i + 1, j + 1]),
            (p[i, j], p[i + 1, j + 1], p[i, j + 1]),
        ):
            share = rng.dirichlet((1, 1, 1))
            x, y, z = share @ np.stack(corners)
            height, along_x, along_y = height_and_slopes(HILLS, x, y)
            assert_allclose(height, z, atol=1e-14)
            for corner in corners:
                assert_allclose(z + (corner - (x, y, z)) @ (along_x, along_y, 0.0), corner[2], atol=1e-13)


@pytest.mark.parametrize("at", [(-3.0, 0.2), (5.0, -0.6), (0.3, 4.0), (-0.9, -1.0), (7.0, 8.0), (-7.0, -8.0)])
def test_beyond_the_edge_the_nearest_height_goes_on(at):
    x, y = at
    inside = np.clip(x, -1.0, 1.0), np.clip(y, -0.75, 0.75)
    height, *slopes = height_and_slopes(HILLS, x, y)
    assert_allclose(height, height_and_slopes(HILLS, *inside)[0], atol=1e-14)
    more = [height_and_slopes(HILLS, x + dx, y + dy)[0] for dx, dy in ((1e-6, 0), (0, 1e-6))]
    assert_allclose(slopes, (np.array(more) - height) / 1e-6, atol=1e-8)


@pytest.mark.parametrize("outside", [True, False])
def test_the_nearest_point_of_a_height_field_is_that_of_its_samples(outside):
    rng, step = np.random.default_rng(4), 0.02
    x, y = np.meshgrid(np.arange(-2, 2, step), np.arange(-2, 2, step), indexing="ij")
    z = np.vectorize(lambda a, b: height_and_slopes(HILLS, a, b)[0])(x, y)
    samples = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    for _ in range(30):
        point = np.array([*rng.uniform(-1.4, 1.4, 2), 0.0])
        point[2] = height_and_slopes(HILLS, *point[:2])[0] + rng.uniform(0.01, 0.4) * (1 if outside else -1)
        frame = placed(rng)
        t = reference.touch(
            Contact("a", "b", surface=HILLS), Transform.place(None, in_world(frame, point)), frame, exact=True
        )
        least = np.linalg.norm(samples - point, axis=-1).min()
        assert (t.gap > 0) == outside
        assert least - 1.2 * step < abs(t.gap) <= least + 1e-12
        well_shaped(t, 0.0)
        assert abs(t.t1 @ np.cross(frame.rotation[:, 0], t.n)) < 1e-12


def test_the_plane_below_is_the_nearest_where_the_foot_is_on_the_triangle():
    rng, seen = np.random.default_rng(6), 0
    for _ in range(60):
        point = np.array([*rng.uniform(-0.9, 0.9, 2) * (1.0, 0.75), 0.0])
        point[2] = height_and_slopes(HILLS, *point[:2])[0] + rng.uniform(-0.02, 0.02)
        c = Contact("a", "b", surface=HILLS, radius=0.05)
        below, exact = (
            reference.touch(c, Transform.place(None, point), IDENTITY, exact=e) for e in (False, True)
        )
        well_shaped(below, 0.05)
        assert abs(below.gap + 0.05) <= abs(point[2] - height_and_slopes(HILLS, *point[:2])[0]) + 1e-15
        if np.allclose(below.n, exact.n, atol=1e-9):
            seen += 1
            assert_allclose(below.gap, exact.gap, atol=1e-12)
    assert seen > 30


def test_an_even_slope_is_a_plane():
    turn = np.array([0.1, 0.1, 0.0])  # its slopes along x and y
    n = np.array([-0.1, -0.1, 1.0]) / np.sqrt(1.02)
    point = np.array([0.3, -0.4, 1.0])
    t = reference.touch(Contact("a", "b", surface=SLOPE, radius=0.1), Transform.place(None, point), IDENTITY)
    assert_allclose(t.n, n, atol=1e-15)
    assert_allclose(t.gap, n[2] * (1.0 - 0.25 - point @ turn) - 0.1, atol=1e-15)


def robot_with_contacts():
    """Return an arm beside a loose body, with every pair of shapes between them and with the world."""
    b = Builder("loose")
    b.body("loose", joint=Free(), inertia=random_inertia(RNG))
    robot, rng = hinge.merge(panda(), b.build()), np.random.default_rng(7)
    surfaces = [Plane(), HILLS, *(s for _, s in PAIRS.values())]
    lengths = [0.0, 0.0, *(length for length, _ in PAIRS.values())]
    made = [
        Contact(f"{k}_{on}", "tool", on, 0.1, radius=0.1, length=length, surface=s, placement=placed(rng))
        for k, (s, length) in enumerate(zip(surfaces, lengths, strict=True))
        for on in (None, "loose", "link2")
    ]
    return hinge.with_contacts(robot, [replace(c, surface_placement=placed(rng)) for c in made])


def test_the_gap_grows_with_the_normal_velocity_and_the_jacobian_is_linear():
    robot = robot_with_contacts()
    rng = np.random.default_rng(8)
    for seed in range(3):
        q, qd, h = hinge.random_configuration(robot, seed), rng.standard_normal(robot.nv), 1e-6
        ahead, back = (reference.gap(robot, hinge.integrate(robot, q, s * h * qd)) for s in (1, -1))
        u = reference.contact_velocity(robot, q, qd)
        assert_allclose(u[:, 0], (ahead - back) / (2 * h), atol=1e-7)
        assert_allclose(reference.contact_jacobian(robot, q) @ qd, u, atol=1e-12)


def test_the_tangents_are_velocities_of_the_touching_point():
    """A ball that rolls on the ground: its lowest point rests, its centre moves with ω r."""
    b = Builder("ball")
    b.body("ball", joint=Free(), inertia=random_inertia(RNG))
    b.contact("ground", "ball", radius=0.5)
    robot = b.build()
    q = hinge.configuration(robot, {"ball_joint": [1, 0, 0, 0, 0.3, 0.2, 0.5]})
    rolling = np.array([0, 2.0, 0, 1.0, 0, 0])
    assert_allclose(reference.gap(robot, q), 0.0, atol=1e-15)
    assert_allclose(reference.contact_velocity(robot, q, rolling), 0.0, atol=1e-15)
    sliding = reference.contact_velocity(robot, q, [0, 0, 3.0, 1.0, 2.0, 4.0])
    assert_allclose(sliding, [[4.0, 1.0, 2.0]], atol=1e-15)
