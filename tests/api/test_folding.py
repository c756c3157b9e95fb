from __future__ import annotations

import inspect

import pytest

from tests.folding import folded


def test_every_combination_is_run_as_one_test():
    seen = []

    @folded(one=[1, 2], two="ab")
    def test(fixture, one, two):
        seen.append((fixture, one, two))

    test(fixture=0)
    assert seen == [(0, 1, "a"), (0, 1, "b"), (0, 2, "a"), (0, 2, "b")]
    assert list(inspect.signature(test).parameters) == ["fixture"] and test.__name__ == "test"


@pytest.mark.parametrize("wrong", [AssertionError, pytest.fail.Exception])
def test_the_case_that_fails_is_named(wrong):
    @folded(one=[1, 2], two="ab")
    def test(one, two):
        if (one, two) == (2, "a"):
            raise wrong("wrong")

    with pytest.raises(wrong) as caught:
        test()
    assert caught.value.__notes__ == ["case: one = 2, two = a"]
