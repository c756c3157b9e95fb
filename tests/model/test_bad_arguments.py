"""Arguments that are no robots, no sizes, no seeds: each is named."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.errors import ArgumentError

PANDA = robots.panda()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hinge.load(None), "path: expected the path of a URDF or MJCF file, got NoneType"),
        (lambda: robots.chain(2.5), "n: expected an integer ≥ 1, got 2.5"),
        (lambda: robots.random_tree(2.5), "n: expected an integer ≥ 1, got 2.5"),
        (lambda: hinge.random_configuration("panda"), "robot: expected a Robot, got str"),
        (
            lambda: hinge.random_configuration(PANDA, size=2.5),
            "size: expected an integer or a tuple of integers, got 2.5",
        ),
        (lambda: hinge.random_configuration(PANDA, size=-1), "size: expected no negative numbers, got -1"),
        (
            lambda: hinge.random_configuration(PANDA, seed=-1),
            "seed: expected an integer ≥ 0 or a Generator, got -1",
        ),
        (lambda: hinge.describe(None), "robot: expected a Robot, got NoneType"),
        (lambda: hinge.integrate(None, [0], [0]), "robot: expected a Robot, got NoneType"),
    ],
)
def test_what_was_given_is_named(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()


def test_numbers_of_numpy_are_numbers():
    assert robots.chain(np.int64(2)).nv == 2
    assert hinge.random_configuration(PANDA, size=np.int64(2)).shape == (2, 7)
    assert hinge.lock(PANDA, {"joint4": 0}).nv == 6
