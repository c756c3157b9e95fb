from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hinge.campaign import Attitude, Choice, Given, LogUniform, Normal, Uniform
from hinge.campaign.distributions import distribution
from hinge.errors import ArgumentError

U = (np.arange(20000) + 0.5) / 20000


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (Uniform(-1, 3), stats.uniform(-1, 4)),
        (LogUniform(0.1, 10), stats.loguniform(0.1, 10)),
        (Normal(2, 0.5), stats.norm(2, 0.5)),
        (Normal(0, 1, low=-1, high=2), stats.truncnorm(-1, 2)),
    ],
    ids=["uniform", "log uniform", "normal", "cut off"],
)
def test_quantiles_are_those_of_scipy(mine, theirs):
    found = mine.at(U[:, None], np.arange(len(U)), ())
    assert np.abs(found - theirs.ppf(U)).max() < 1e-9
    assert np.allclose(distribution(mine.data(), "x").at(U[:, None], np.arange(len(U)), ()), found, atol=0)


def test_choices_have_their_shares():
    found = Choice([(1, 2), (3, 4), (5, 6)], weights=[1, 0, 3]).at(U[:, None], np.arange(len(U)), (2,))
    assert set(map(tuple, found)) == {(1, 2), (5, 6)}
    assert (found[:, 0] == 1).mean() == 0.25


def test_attitudes_are_even_on_the_sphere():
    u = np.random.default_rng(0).random((100_000, 3))
    q = Attitude().at(u, np.arange(len(u)), (4,))
    assert np.allclose((q**2).sum(-1), 1)
    assert np.abs(np.einsum("ni,nj->ij", q, q) / len(q) - np.eye(4) / 4).max() < 3e-3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"normal": [0.0]}, r"x: expected normal = \[mean, sd\]"),
        ({"normal": [0.0, 0.0]}, "standard deviation sd > 0, got 0"),
        ({"uniform": [2, 1]}, "expected low ≤ high"),
        ({"log_uniform": [0, 1]}, "expected low > 0"),
        ({"unifrom": [0, 1]}, "did you mean 'uniform'"),
        ({"choice": [1, 2], "weights": [1]}, "a weight ≥ 0 for each of 2 values"),
        ({"uniform": [0, float("nan")]}, "expected finite numbers"),
        ({"uniform": [0, 1], "normal": [0, 1]}, "expected one distribution"),
        ("wide", "expected a distribution such as"),
    ],
)
def test_what_is_no_distribution_is_refused(given, said):
    with pytest.raises(ArgumentError, match=said):
        distribution(given, "x")


def test_given_arrays_are_rows_of_samples():
    assert np.array_equal(
        Given(np.arange(12.0).reshape(6, 2)).at(np.zeros((2, 0)), np.array([1, 4]), (2,)), [[2, 3], [8, 9]]
    )
