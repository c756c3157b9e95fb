"""Contact forces: one oracle against another, against SciPy, and by the conditions that define them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, nnls

from hinge import reference
from hinge.errors import ArgumentError
from hinge.reference import ForceSet
from hinge.testing import random_contact, random_contacts

SEEDS = range(20)
MIXED = list(random_contacts(24))


def normals_only(seed: int, singular: bool = False):
    problem = random_contact(seed, cones=0, half=3 + seed % 5, singular=singular)
    return problem.omega, problem.b


def one(mu: float, mass: float = 2.0):
    """Return Ω of a point mass on the ground, and the set of its forces."""
    return np.eye(3) / mass, ForceSet([mu])


# Without friction -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_definite_problem_has_one_solution_and_figure_9_6_finds_it(seed):
    omega, b = normals_only(seed)
    (forces,) = reference.frictionless(omega, b)
    v = omega @ forces + b
    assert forces.min() >= 0 and v.min() > -1e-12 and abs(forces @ v) < 1e-12
    assert_allclose(reference.figure_9_6(omega, b), forces, atol=1e-12 * (1 + forces.max()))
    assert_allclose(reference.cones(omega, b, ForceSet(half=len(b)))[0], forces, atol=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_of_a_singular_problem_are_unique(seed):
    problem = random_contact(seed, cones=0, half=4 + seed % 5, singular=True)
    omega, b = problem.omega, problem.b
    found = reference.frictionless(omega, b)
    assert len(found)
    v = found @ omega + b
    assert v.min() > -1e-9 and np.abs(found * v).max() < 1e-9
    assert_allclose(v, np.broadcast_to(v[0], v.shape), atol=1e-9)
    by_cones, _ = reference.cones(omega, b, ForceSet(half=len(b)))
    assert_allclose(omega @ by_cones + b, v[0], atol=1e-9)
    # ½ λᵀ Ω λ + λᵀ b is ½ |L⁻¹ Jᵀ λ + Lᵀ q̇|² and a constant
    root = np.linalg.cholesky(problem.mass)
    theirs, _ = nnls(np.linalg.solve(root, problem.jacobian.T), -root.T @ problem.velocity)
    assert_allclose(omega @ theirs + b, v[0], atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_solution_is_the_least(seed):
    """Forces of a block on coplanar points: a polyhedron, whose point nearest to zero SciPy finds too."""
    rng = np.random.default_rng(seed)
    k = 4 + seed % 3
    points = np.c_[np.ones(k), rng.standard_normal((k, 2))]
    held = points.T @ rng.uniform(0.5, 1.0, k)
    omega, b = points @ points.T, -points @ held
    found = reference.frictionless(omega, b)
    sizes = np.linalg.norm(found, axis=1)
    assert len(found) > 1 and np.all(np.diff(sizes) >= 0)
    least = minimize(
        lambda x: 0.5 * x @ x,
        found.mean(0),
        jac=lambda x: x,
        bounds=[(0, None)] * k,
        constraints={"type": "eq", "fun": lambda x: points.T @ x - held, "jac": lambda _: points.T},
        options={"ftol": 1e-14},
    )
    assert_allclose(found[0], least.x, atol=1e-6)


def test_a_second_order_collision_has_no_solution():
    """Figure 9-8: both sides of a slot turn inwards; no forces stop the block."""
    omega = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert reference.frictionless(omega, [-1.0, -1.0]).shape == (0, 2)
    assert reference.cones(omega, [-1.0, -1.0], ForceSet(half=2))[1] > 0.1


def test_a_slot_that_fits_has_a_ray_of_forces():
    found = reference.frictionless([[1.0, -1.0], [-1.0, 1.0]], [-1.0, 1.0])
    assert_allclose(found, [[1.0, 0.0]], atol=1e-12)


def test_nothing_in_contact():
    assert reference.frictionless(np.zeros((0, 0)), np.zeros(0)).shape == (1, 0)
    assert reference.figure_9_6(np.zeros((0, 0)), np.zeros(0)).shape == (0,)
    forces, residual = reference.cones(np.zeros((0, 0)), np.zeros(0), ())
    assert forces.shape == (0,) and residual == 0


# The sets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", MIXED[:8])
def test_the_projection_is_the_nearest_point(problem):
    among, rng = problem.among, np.random.default_rng(3)
    for _ in range(20):
        x, other = 2 * rng.standard_normal((2, among.rows))
        near, inside = among.project(x), among.project(other)
        assert_allclose(among.project(near), near, atol=1e-14)
        assert (x - near) @ (inside - near) <= 1e-12
        step = 1e-6 * rng.standard_normal(among.rows)
        change = (among.project(x + step) - among.project(x - step)) / 2
        assert_allclose(among.derivative(x) @ step, change, atol=1e-10)


def test_the_set_of_scaled_forces():
    among = ForceSet([0.5, 0.0], free=1, half=1, boxes=[2.0, 0.0])
    d = np.array([3.0, 2.0, 4.0, 5.0, 2.0, 0.5, 0.5, 3.0, 7.0, 7.0])
    rng = np.random.default_rng(0)
    for x in rng.standard_normal((20, 10)):
        inside = among.project(4 * x)
        assert_allclose(among.scaled(d).project(inside / d), inside / d, atol=1e-14)


@pytest.mark.parametrize("bad", [{"friction": [-0.1]}, {"friction": [np.nan]}, {"boxes": [[1.0]]}])
def test_sets_that_make_no_sense_are_refused(bad):
    with pytest.raises(ArgumentError, match=f"{next(iter(bad))}: expected a list of numbers, zero or more"):
        ForceSet(**bad)


# Cones ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(len(MIXED)))
def test_residuals_of_mixed_problems(k):
    problem = MIXED[k]
    omega, b, among = problem.omega, problem.b, problem.among
    forces, residual = reference.cones(omega, b, among)
    assert residual <= 1e-12 * np.abs(b).max()
    assert_allclose(among.project(forces), forces, atol=1e-13 * (1 + np.abs(forces).max()))
    v = omega @ forces + b
    values, rng = 0.5 * forces @ (v + b), np.random.default_rng(k)
    for size in (1e-3, 1e-1, 1.0):
        other = among.project(forces + size * rng.standard_normal(len(b)))
        assert 0.5 * other @ (omega @ other + 2 * b) >= values - 1e-12
    # the energy that is left is the value above: no forces of the set leave less
    qd = problem.velocity + np.linalg.solve(problem.mass, problem.jacobian.T @ forces)
    assert 0.5 * qd @ problem.mass @ qd == pytest.approx(problem.energy + values, abs=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_cones_of_many_edges_lead_to_the_same_velocities(seed):
    """SciPy's non-negative least squares over edges of the cones, with new edges where the forces are."""
    problem = random_contact(seed, cones=1 + seed % 4, free=1, half=2, singular=seed % 2 == 1)
    among, root = problem.among, np.linalg.cholesky(problem.mass)
    a, c = np.linalg.solve(root, problem.jacobian.T), root.T @ problem.velocity
    angles = [np.linspace(0, 2 * np.pi, 17)[1:] for _ in among.mu]
    forces = np.zeros(among.rows)
    for turn in 0.2 * 0.5 ** np.arange(24):
        edges = [np.eye(among.rows)[0], -np.eye(among.rows)[0], *np.eye(among.rows)[1:3]]
        for mu, i, known in zip(among.mu, among.normals, angles, strict=True):
            for angle in known:
                edges.append(np.zeros(among.rows))
                edges[-1][i : i + 3] = 1.0, mu * np.cos(angle), mu * np.sin(angle)
        weights, _ = nnls(a @ np.transpose(edges), -c, maxiter=10000)
        forces = weights @ np.array(edges)
        for k, i in enumerate(among.normals):
            here = np.arctan2(forces[i + 2], forces[i + 1])
            near = angles[k][np.abs(np.sin((angles[k] - here) / 2)) < 4 * turn]
            angles[k] = np.unique([*near, here - turn, here, here + turn, *np.linspace(0, 2 * np.pi, 17)[1:]])
    ours, residual = reference.cones(problem.omega, problem.b, among)
    assert residual < 1e-12
    assert_allclose(problem.omega @ forces, problem.omega @ ours, atol=1e-6)


def test_velocities_do_not_depend_on_units():
    """The same contacts in other units of mass and length: residuals are relative to b."""
    problem = random_contact(5, cones=5, half=2, free=2, singular=True)
    omega, b, among = problem.omega, problem.b, problem.among
    v = omega @ reference.cones(omega, b, among)[0] + b
    for mass in (1e-6, 1e6):
        forces, residual = reference.cones(omega / mass, b, among)
        assert residual < 1e-12 and np.abs(omega @ forces / mass + b - v).max() < 1e-10


@pytest.mark.parametrize(
    ("speed", "slip"), [(0.4, 0.0), (0.499, 0.0), (0.5, 0.0), (0.501, 0.001), (2.0, 1.5)]
)
def test_a_point_mass_sticks_or_slides(speed, slip):
    """Coulomb: a point that comes with vn = −1 loses μ of its tangential velocity."""
    omega, among = one(0.5)
    b = np.array([-1.0, 0.6 * speed, 0.8 * speed])
    forces, residual = reference.coulomb(omega, b, among)
    v = omega @ forces + b
    assert residual < 1e-11
    assert_allclose(v, [0.0, 0.6 * slip, 0.8 * slip], atol=1e-11)
    assert forces[0] == pytest.approx(2.0, abs=1e-11)


def test_what_slides_rises_by_the_associated_law():
    omega, among = one(0.5)
    b = np.array([-1.0, 2.0, 0.0])
    forces, residual = reference.cones(omega, b, among)
    v = omega @ forces + b
    assert residual < 1e-13 and v[0] == pytest.approx(0.5 * np.hypot(*v[1:]), abs=1e-12)
    assert v[0] > 0.5


@pytest.mark.parametrize("seed", [0, 1, 2, 5, 9, 16])
def test_coulomb_by_its_own_conditions(seed):
    """Forces in the cones, no penetration, and what slides does so against a force on the boundary."""
    problem = random_contact(seed, cones=1 + seed % 4, free=seed % 3, half=seed % 2)
    omega, b, among = problem.omega, problem.b, problem.among
    forces, residual = reference.coulomb(omega, b, among)
    assert residual < 1e-11
    v = omega @ forces + b
    for mu, i in zip(among.mu, among.normals, strict=True):
        slip, push = v[i + 1 : i + 3], forces[i + 1 : i + 3]
        assert v[i] > -1e-9 and abs(v[i] * forces[i]) < 1e-9
        assert np.hypot(*push) <= mu * forces[i] + 1e-9
        assert_allclose(push * np.hypot(*slip), -mu * forces[i] * slip, atol=1e-8)


def test_arguments_that_do_not_fit():
    with pytest.raises(ArgumentError, match=r"among: expected 3 rows as b has, got 6; a cone has three"):
        reference.cones(np.eye(3), np.zeros(3), [0.5, 0.5])
    with pytest.raises(ArgumentError, match=r"omega: expected \(m, m\) for b \(m,\)"):
        reference.cones(np.eye(2), np.zeros(3), [0.5])
    with pytest.raises(ArgumentError, match="at most 14 contacts"):
        reference.frictionless(np.eye(15), np.zeros(15))
    with pytest.raises(ArgumentError, match="positive definite"):
        reference.figure_9_6(np.zeros((2, 2)), -np.ones(2))
