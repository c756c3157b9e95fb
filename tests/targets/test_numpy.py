"""The NumPy target runs kernels step by step before it makes functions of them: the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.dynamics import CATALOGUE
from hinge.robots import random_tree
from hinge.targets import numpy as target
from hinge.testing import random_state


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("verb", ["forward_dynamics", "mass_matrix", "inverse_dynamics"])
def test_a_kernel_gives_the_same_bits_as_steps_and_as_a_function(verb, batch, monkeypatch):
    robot = random_tree(8, 1)
    s = random_state(robot, 1, batch)
    given = {"qd": s.qd, "qdd": s.qdd, "tau": s.tau}
    found, functions = [], []
    for patience in (0, 10**9):
        monkeypatch.setattr(target, "PATIENCE", patience)
        f = hinge.compile(CATALOGUE[verb], robot, target="numpy")
        found.append(f(s.q, **{n: given[n] for n in f.inputs if n in given}))
        steps = [step.floats if batch == () else step.arrays for step in f.program().steps]
        functions.append({"_function" in vars(step) for step in steps})
    assert functions == [{True}, {False}]
    assert found[0].tobytes() == found[1].tobytes()


def test_a_kernel_that_runs_often_becomes_a_function():
    robot = random_tree(3, 2)
    f = hinge.compile(CATALOGUE["mass_matrix"], robot, target="numpy")
    q = random_state(robot, 1).q
    found = [f(q) for _ in range(target.PATIENCE + 2)]
    assert all("_function" in vars(step.floats) for step in f.program().steps)
    assert not any("_function" in vars(step.arrays) for step in f.program().steps)
    assert all(np.array_equal(x, found[0]) for x in found)


def test_a_division_by_zero_is_not_a_number_however_it_runs(monkeypatch):
    robot = hinge.robots.double_pendulum()
    for patience in (0, 10**9):
        monkeypatch.setattr(target, "PATIENCE", patience)
        f = hinge.compile(CATALOGUE["mass_matrix_inverse"], robot, target="numpy")
        assert np.isnan(f(np.full(2, np.inf))).any()
