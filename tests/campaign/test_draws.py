from __future__ import annotations

import numpy as np
import pytest

from hinge.campaign.draws import DESIGNS, design, permuted
from hinge.errors import ArgumentError

NAMES = {"mass:a": 1, "offset:b": 3, "attitude:c": 3}


@pytest.mark.parametrize("kind", DESIGNS)
def test_numbers_of_a_sample_do_not_depend_on_the_stretch_it_is_drawn_in(kind):
    whole = design(kind, 3, NAMES, 1000, 0, 1000)
    for first, count in ((0, 1), (999, 1), (130, 257), (512, 100), (7, 3)):
        part = design(kind, 3, NAMES, 1000, first, count)
        for name, x in part.items():
            assert np.array_equal(x, whole[name][first : first + count]), (first, name)


@pytest.mark.parametrize("kind", DESIGNS)
def test_numbers_are_even_and_independent(kind):
    found = np.concatenate(list(design(kind, 1, NAMES, 4096, 0, 4096).values()), axis=1)
    assert ((found > 0) & (found < 1)).all()
    assert np.abs(found.mean(0) - 0.5).max() < 4 / np.sqrt(12 * 4096)
    assert np.abs(np.corrcoef(found.T) - np.eye(7)).max() < 5 / np.sqrt(4096)


def test_another_quantity_does_not_change_the_numbers_of_those_that_were_there():
    before, after = (design("random", 5, n, 10, 0, 10) for n in (NAMES, {"new": 2, **NAMES}))
    assert all(np.array_equal(before[n], after[n]) for n in NAMES)
    assert not np.array_equal(before["mass:a"], design("random", 6, NAMES, 10, 0, 10)["mass:a"])


def test_a_latin_hypercube_has_one_sample_in_each_stratum():
    found = design("latin", 2, NAMES, 1000, 0, 1000)
    for x in found.values():
        assert all(sorted((1000 * column).astype(int)) == list(range(1000)) for column in x.T)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000, 1025])
def test_strata_are_dealt_out_by_permutations(size):
    key = np.array([1, 2], np.uint64)
    assert sorted(permuted(np.arange(size, dtype=np.uint64), size, key)) == list(range(size))


def test_sobol_refuses_more_samples_than_it_has():
    with pytest.raises(ArgumentError, match=r"design: expected at most .* 'sobol'.*take 'random' or 'latin'"):
        design("sobol", 0, NAMES, 1 << 31, 0, 1)
