"""Answers to laws of contact, in both targets, against the slow oracle of `hinge.reference`."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge import reference
from hinge.sweeps import ForceLaw
from hinge.targets import NumpyProgram
from hinge.targets.answers import answered
from hinge.testing import random_contacts
from tests.targets.contact_problems import columns, given, law_of, problems, program_of, root
from tests.targets.llvm.running import native

#: Blocks of problems, each compiled once.
BLOCKS = {
    "cones": {"cones": 4},
    "cones, singular": {"cones": 4, "singular": True},
    "half lines": {"cones": 0, "half": 5},
    "all kinds": {"cones": 3, "half": 4, "free": 2, "boxes": 2},
    "all kinds, singular": {"cones": 3, "half": 4, "free": 2, "boxes": 2, "singular": True},
}


@cache
def compiled(law):
    return native(program_of(law))


def answer(law, omega, right):
    return compiled(law)(given(omega, right))["answer"]


def conditions(problem, found, bound):
    """Check that forces are in their sets, velocities in the duals, and both complementary."""
    among, u = problem.among, problem.omega @ found + problem.b
    assert_allclose(found, among.project(found), atol=bound)
    assert np.abs(u[: among.free]).max(initial=0) < bound
    half = slice(among.free, among.free + among.half)
    assert u[half].min(initial=0) > -bound and np.abs(u[half] * found[half]).max(initial=0) < bound
    for mu, i in zip(among.mu, among.normals, strict=True):
        assert u[i] - mu * np.hypot(u[i + 1], u[i + 2]) > -bound
        assert abs(u[i : i + 3] @ found[i : i + 3]) < bound


@pytest.mark.parametrize("what", BLOCKS)
def test_native_code_and_numpy_find_what_the_oracle_finds(what):
    """Velocities are unique; forces are where Ω is regular."""
    several, omega, right = problems(12, **BLOCKS[what])
    law = law_of(several[0].among)
    found = answer(law, omega, right)
    by_numpy = NumpyProgram(program_of(law))(given(omega, right))["answer"]
    assert found[..., 1].max() < 1e-9 and by_numpy[..., 1].max() < 1e-9
    for problem, ours, theirs in zip(several, found[..., 0], by_numpy[..., 0], strict=True):
        wanted, _ = reference.cones(problem.omega, problem.b, problem.among)
        for x in (ours, theirs):
            assert_allclose(problem.omega @ x, problem.omega @ wanted, atol=3e-9)
            conditions(problem, x, 3e-9)
            if "singular" not in what:
                assert_allclose(x, wanted, atol=1e-9)


def test_problems_of_every_size_and_kind():
    for problem in random_contacts(4, first_seed=40):
        law = law_of(problem.among)
        found = answered(law, root(problem.omega), columns(problem))
        assert found[:, 1].max() < 1e-9, law
        conditions(problem, found[:, 0], 1e-8)


def test_float32_finds_it_to_its_own_precision():
    several, omega, right = problems(30, cones=4)
    law = law_of(several[0].among)
    found = answer(law, omega.astype(np.float32), right.astype(np.float32))
    assert found.dtype == np.float32
    wanted = answer(law, omega, right)
    solved = found[..., 1].max(axis=-1) < 1e-4
    assert solved.mean() > 0.9
    moved = np.einsum("kij,kj->ki", omega, found[..., 0] - wanted[..., 0])
    assert np.abs(moved[solved]).max() < 2e-2


def test_a_start_at_the_solution_takes_no_round():
    several, omega, right = problems(10, **BLOCKS["all kinds"])
    law = law_of(several[0].among)
    first = answer(law, omega, right)
    again = answer(law, omega, np.stack([right[..., 0], first[..., 0], right[..., 2]], axis=-1))
    assert again[..., 2].max() == 0 < first[..., 2].min()
    assert_allclose(again[..., 0], first[..., 0], atol=1e-12)


def test_nothing_to_do_is_zero():
    """Contacts that part have no force; neither have rows that nothing moves."""
    law = ForceLaw(half=2, cone=2)
    omega = np.zeros((3, 8, 8))
    omega[1:] = np.eye(8)
    omega[2, 2:5] = omega[2, :, 2:5] = 0.0
    right = np.zeros((3, 8, 3))
    right[..., 0] = np.array([1.0, 2.0, 1.0, 0.1, 0.0, 1.0, 0.0, 0.0])
    right[..., 2] = 0.5
    found = answer(law, omega, right)
    assert_array_equal(found[..., 0], 0.0)
    assert_array_equal(found[..., 1], 0.0)


# Lanes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["cones, singular", "all kinds"])
def test_a_state_is_the_same_alone_and_in_any_batch(what):
    """Bit for bit, for all batch sizes around the width of lanes, at every place, on one and two threads."""
    several, omega, right = problems(9, **BLOCKS[what])
    law = law_of(several[0].among)
    alone = np.stack([answer(law, a, b) for a, b in zip(omega, right, strict=True)])
    assert len(np.unique(alone[:, 0, 2])) > 1, "states that take different numbers of rounds"
    for size in range(1, 10):
        assert_array_equal(answer(law, omega[:size], right[:size]), alone[:size])
        assert_array_equal(answer(law, omega[-size:], right[-size:]), alone[-size:])
    many = [np.tile(x, (200, 1, 1)) for x in (omega, right)]
    try:
        for threads in (1, 2):
            hinge.set_threads(threads)
            assert_array_equal(answer(law, *many), np.tile(alone, (200, 1, 1)))
    finally:
        hinge.set_threads(None)


@pytest.mark.parametrize("where", ["omega", "diagonal", "b", "start", "bounds"])
def test_a_state_that_is_not_a_number_says_so_and_disturbs_no_other(where):
    several, omega, right = problems(6, **BLOCKS["all kinds"])
    law = law_of(several[0].among)
    clean = answer(law, omega, right)
    omega, right, row = omega.copy(), right.copy(), law.rows - 3
    match where:
        case "omega":
            omega[2] = np.nan
        case "diagonal":
            omega[2, row, row] = np.nan
        case "b" | "start" | "bounds":
            right[2, row, ("b", "start", "bounds").index(where)] = np.nan
    for found in (answer(law, omega, right), NumpyProgram(program_of(law))(given(omega, right))["answer"]):
        assert_allclose(np.delete(found, 2, axis=0)[..., 0], np.delete(clean, 2, axis=0)[..., 0], atol=1e-10)
        solved = found[2, :, 1].max() < 1e-9
        if where == "start" and solved:
            assert_allclose(found[2, :, 0], clean[2, :, 0], atol=1e-9)
        else:
            assert np.isinf(found[2, :, 1]).any() or np.isnan(found[2, :, 1]).any()
    assert_array_equal(np.delete(answer(law, omega, right), 2, axis=0), np.delete(clean, 2, axis=0))


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_units_do_not_matter(size):
    """Problems in other units of force and velocity are as easy: relative bounds hold."""
    several, omega, right = problems(8, **BLOCKS["cones"])
    law = law_of(several[0].among)
    first = answer(law, omega, right)
    other = answer(law, omega * size, right * [1.0, 1.0, 1.0])
    assert other[..., 1].max() < 1e-9
    assert_allclose(other[..., 0] * size, first[..., 0], atol=1e-9)
