"""Coulomb's law in both targets: its conditions, and the slow oracle of `hinge.reference`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hinge import reference
from hinge.targets import NumpyProgram
from tests.targets.contact_problems import given, law_of, problems, program_of
from tests.targets.llvm.running import native

BLOCKS = {
    "cones": {"cones": 4},
    "all kinds": {"cones": 3, "half": 4, "free": 2, "boxes": 2},
    "singular": {"cones": 4, "singular": True},
}


def coulomb(law):
    return native(program_of(replace(law_of(law), coulomb=True)))


def conditions(problem, found, bound):
    """What has a force does not part, what slides does so against its force, and nothing approaches."""
    among, u = problem.among, problem.omega @ found + problem.b
    assert_allclose(found, among.project(found), atol=bound)
    for mu, i in zip(among.mu, among.normals, strict=True):
        n, t, slip = found[i], found[i + 1 : i + 3], u[i + 1 : i + 3]
        assert u[i] > -bound and abs(u[i] * n) < bound
        assert abs(t @ slip + mu * n * np.hypot(*slip)) < bound
    half = slice(among.free, among.free + among.half)
    assert np.abs(u[: among.free]).max(initial=0) < bound
    assert u[half].min(initial=0) > -bound and np.abs(u[half] * found[half]).max(initial=0) < bound


@pytest.mark.parametrize("what", BLOCKS)
def test_what_slides_does_not_rise(what):
    several, omega, right = problems(12, seed=3, **BLOCKS[what])
    found = coulomb(several[0].among)(given(omega, right))["answer"]
    law = replace(law_of(several[0].among), coulomb=True)
    by_numpy = NumpyProgram(program_of(law))(given(omega[:3], right[:3]))["answer"]
    solved = found[..., 1].max(axis=-1) < 1e-9
    assert solved.mean() > 0.9
    for problem, x in zip(np.array(several)[solved], found[solved, :, 0], strict=True):
        conditions(problem, x, 3e-8)
    for problem, x, y in zip(several[:3], found[:3], by_numpy, strict=True):
        assert y[:, 1].max() < 1e-9 or x[:, 1].max() > 1e-9
        assert_allclose(problem.omega @ (y - x)[:, 0], 0, atol=1e-8)


def test_answers_are_those_of_the_oracle():
    several, omega, right = problems(6, seed=5, **BLOCKS["cones"])
    found = coulomb(several[0].among)(given(omega, right))["answer"]
    for problem, x in zip(several, found, strict=True):
        wanted, residual = reference.coulomb(problem.omega, problem.b, problem.among)
        assert residual < 1e-12 and x[:, 1].max() < 1e-9
        assert_allclose(problem.omega @ x[:, 0], problem.omega @ wanted, atol=1e-8)


def test_the_answer_is_a_start_that_takes_one_round_at_most():
    """Sticking, sliding and open contacts are known by the forces that they had."""
    several, omega, right = problems(40, seed=7, **BLOCKS["cones"])
    run = coulomb(several[0].among)
    first = run(given(omega, right))["answer"]
    again = run(given(omega, np.stack([right[..., 0], first[..., 0], right[..., 2]], axis=-1)))["answer"]
    solved = first[..., 1].max(axis=-1) < 1e-9
    assert np.mean(again[solved, 0, 2] <= 1) > 0.9
    assert first[solved, 0, 2].mean() > 8
    assert_allclose(again[solved, :, 0], first[solved, :, 0], atol=1e-7)


def test_a_state_has_the_same_bits_in_any_batch():
    several, omega, right = problems(19, seed=9, **BLOCKS["all kinds"])
    run = coulomb(several[0].among)
    whole = run(given(omega, right))["answer"]
    for size in (1, 3, 8):
        assert_array_equal(run(given(omega[:size], right[:size]))["answer"], whole[:size])
    spoiled = right.copy()
    spoiled[4, 0, 0] = np.nan
    rest = np.arange(19) != 4
    found = run(given(omega, spoiled))["answer"]
    assert_array_equal(found[rest], whole[rest])
    assert not found[4, :, 1].max() < 1


def test_single_precision():
    several, omega, right = problems(30, seed=11, **BLOCKS["cones"])
    run = coulomb(several[0].among)
    single = run(given(omega.astype(np.float32), right.astype(np.float32)))["answer"]
    wanted = run(given(omega, right))["answer"]
    solved = single[..., 1].max(axis=-1) < 1e-4
    assert single.dtype == np.float32 and solved.mean() > 0.85
    moved = np.einsum("kij,kj->ki", omega, single[..., 0] - wanted[..., 0])
    assert np.abs(moved[solved]).max() < 2e-2
