"""Impact by Poisson's law: energy, closures, two free bodies; and Newton's law, which gains energy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge import reference
from hinge.errors import ArgumentError
from hinge.reference import ForceSet
from hinge.robots import solid_box
from hinge.testing import random_contact

CASES = 30


def newton(omega, v, e):
    """Return the velocities after an impact by Newton's law, v⁺ ≥ −e v⁻ where it approaches."""
    aim = np.where(v < 0, e * v, 0.0)
    return v + omega @ reference.figure_9_6(omega, v + aim)


def change(omega, v, after):
    """Return the change of energy for a definite Ω: ½ (v⁺ + v)ᵀ Ω⁻¹ (v⁺ − v)."""
    return 0.5 * (after + v) @ np.linalg.solve(omega, after - v)


def drawn(seed, **blocks):
    rng = np.random.default_rng([seed, 3])
    problem = random_contact(rng, **blocks)
    k = blocks.get("cones", 0) + blocks.get("half", 0)
    return problem, rng.uniform(0, 1, k)


@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize("singular", [False, True])
def test_energy_is_never_gained(friction, singular):
    for seed in range(CASES):
        blocks = {"cones": 1 + seed % 4} if friction else {"cones": 0, "half": 1 + seed % 6}
        problem, e = drawn(seed, free=seed % 3, singular=singular, **blocks)
        mu = problem.among.mu if friction else None
        hit = reference.poisson(problem.omega, problem.b, e, mu, free=seed % 3)
        assert hit.residual < 1e-14 * (100 + np.abs(problem.omega * hit.impulses).max())
        assert hit.lost >= -1e-12
        qd = problem.velocity + np.linalg.solve(problem.mass, problem.jacobian.T @ hit.impulses)
        assert problem.energy - 0.5 * qd @ problem.mass @ qd == pytest.approx(hit.lost, abs=1e-10)
        assert_allclose(problem.jacobian @ qd, hit.velocity, atol=1e-10)
        assert_allclose(hit.velocity[: seed % 3], 0, atol=1e-11)
        assert hit.velocity[problem.among.normals if friction else slice(seed % 3, None)].min() > -1e-11


def test_newtons_law_gains_energy_where_poissons_does_not():
    gained = []
    for seed in range(120):
        problem, e = drawn(seed, cones=0, half=2 + seed % 4)
        omega, v = problem.omega, problem.b
        gained.append(change(omega, v, newton(omega, v, e)) / problem.energy)
        hit = reference.poisson(omega, v, e)
        assert hit.lost == pytest.approx(-change(omega, v, hit.velocity), abs=1e-9)
    gained = np.array(gained)
    assert np.mean(gained > 1e-9) > 0.01 and gained.max() > 0.05


def test_one_contact_is_the_same_by_both_laws():
    omega, v = np.array([[0.5]]), np.array([-3.0])
    for e in (0.0, 0.3, 1.0):
        hit = reference.poisson(omega, v, e)
        assert_allclose(hit.velocity, newton(omega, v, e), atol=1e-13)
        assert_allclose(hit.velocity, 3 * e, atol=1e-13)
        assert hit.lost == pytest.approx(9.0 * (1 - e**2), abs=1e-12)


def test_equal_coefficients_need_no_extra_impulse_where_all_contacts_approach():
    """The book's remark after (9.83) needs that none was opening: see the next test."""
    for seed in range(20):
        problem, _ = drawn(seed, cones=0, half=4)
        jacobian = -problem.jacobian * np.sign(problem.b)[:, None]
        omega = jacobian @ np.linalg.solve(problem.mass, jacobian.T)
        hit = reference.poisson(omega, -np.abs(problem.b), 0.7)
        assert_allclose(hit.extra, 0, atol=1e-12)
        assert_allclose(hit.decompression, 0.7 * hit.compression, atol=1e-12)
        assert hit.lost == pytest.approx(
            0.5 * (1 - 0.49) * hit.compression @ omega @ hit.compression, abs=1e-11
        )


def test_a_contact_that_was_opening_may_be_hit_by_the_return():
    omega, v = np.array([[1.0, -0.8], [-0.8, 1.0]]), np.array([-1.0, 1.0])
    hit = reference.poisson(omega, v, 1.0)
    assert_allclose(hit.compression, [1.0, 0.0], atol=1e-13)
    assert_allclose(hit.extra, [0.0, 0.6], atol=1e-13)
    assert hit.velocity[1] == pytest.approx(0.0, abs=1e-13) and hit.lost > 0


def test_closures_hold_as_if_they_were_eliminated():
    problem, e = drawn(1, cones=0, half=3, free=2)
    omega, v = problem.omega, problem.b
    hit = reference.poisson(omega, v, e, free=2)
    onto = omega[2:, :2] @ np.linalg.inv(omega[:2, :2])
    left = reference.poisson(omega[2:, 2:] - onto @ omega[:2, 2:], v[2:] - onto @ v[:2], e)
    assert_allclose(left.velocity, hit.velocity[2:], atol=1e-11)
    assert_allclose(left.impulses, hit.impulses[2:], atol=1e-11)


def test_two_free_bodies_as_in_9_69():
    rng = np.random.default_rng(4)
    bodies = [
        solid_box(m, s, rng.standard_normal(3)).matrix() for m, s in ((2.0, (1, 2, 3)), (5.0, (0.3, 1, 1)))
    ]
    n = np.concatenate([np.cross(rng.standard_normal(3), (0, 0, 1.0)), (0, 0, 1.0)])
    v = rng.standard_normal((2, 6))
    if n @ (v[1] - v[0]) > 0:
        v = -v
    omega = np.array([[sum(n @ np.linalg.solve(i, n) for i in bodies)]])
    for e in (0.0, 0.4, 1.0):
        impulse = reference.two_body_impulse(bodies, v, n, e)
        hit = reference.poisson(omega, [n @ (v[1] - v[0])], e)
        assert_allclose(hit.impulses, impulse, rtol=1e-12)
        after = [
            v[0] - np.linalg.solve(bodies[0], n) * impulse,
            v[1] + np.linalg.solve(bodies[1], n) * impulse,
        ]
        assert n @ (after[1] - after[0]) == pytest.approx(-e * n @ (v[1] - v[0]))
        energy = [0.5 * sum(x @ i @ x for i, x in zip(bodies, xs, strict=True)) for xs in (v, after)]
        assert energy[0] - energy[1] == pytest.approx(hit.lost, abs=1e-11)
        momentum = [sum(i @ x for i, x in zip(bodies, xs, strict=True)) for xs in (v, after)]
        assert_allclose(momentum[1], momentum[0], atol=1e-12)
    assert reference.two_body_impulse(bodies, -v, n, 1.0) == 0.0


def test_a_share_of_friction_returns_with_the_normal_impulse():
    """A ball of Ω = diag(1, 7/2, 7/2) / m with backspin: superball for e = 1 and enough friction."""
    omega = np.diag([1.0, 3.5, 3.5])
    hit = reference.poisson(omega, [-2.0, 1.0, 0.0], 1.0, [2.0])
    assert_allclose(hit.velocity, [2.0, -1.0, 0.0], atol=1e-12)
    assert hit.lost == pytest.approx(0.0, abs=1e-12)
    hit = reference.poisson(omega, [-2.0, 1.0, 0.0], 0.0, [2.0])
    assert_allclose(hit.velocity, 0, atol=1e-12)
    assert_allclose(ForceSet([2.0]).project(hit.impulses), hit.impulses, atol=1e-13)


@pytest.mark.parametrize("e", [-0.1, 1.1, np.nan, [0.5, 0.5]])
def test_restitution_outside_its_range_is_refused(e):
    with pytest.raises(ArgumentError, match="restitution: expected 1 numbers from 0 to 1 or one for all"):
        reference.poisson(np.eye(1), [-1.0], e)
