"""Formulas of outputs, traced behind the last pass."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.dynamics.expressions import VERBS, Parts
from hinge.sweeps import verify_code

ROBOT = hinge.robots.double_pendulum()
Q = np.array([0.3, -0.7])


def compiled(readout, verb="mass_matrix", **more):
    return hinge.compile(Parts(VERBS[verb].expressions, readout=readout), ROBOT, **more)


def halves(found):
    """Show both triangles of a matrix apart, one of them twice as large."""
    m = found["mass_matrix"]
    return {"upper": m[0] * 2.0, "lower": m[1, :1], "known": np.array([1.0, m[1, 1]])}


def one_entry(found):
    return {"entry": found["mass_matrix"][1, 1]}


def nothing(found):
    return {"none": np.zeros(3)}


@pytest.mark.parametrize("target", ["llvm", "numpy"])
def test_results_are_what_the_formula_makes_of_the_outputs(target):
    f, m = compiled(halves, target=target), hinge.mass_matrix(ROBOT, Q)
    found = f(Q)
    assert list(found) == ["upper", "lower", "known"]
    np.testing.assert_allclose(found["upper"], 2 * m[0], rtol=1e-14)
    np.testing.assert_allclose(found["lower"], m[1, :1], rtol=1e-14)
    np.testing.assert_allclose(found["known"], [1.0, m[1, 1]], rtol=1e-14)
    many = np.linspace(-1, 1, 40).reshape(20, 2)
    np.testing.assert_allclose(f(many)["upper"], 2 * hinge.mass_matrix(ROBOT, many)[:, 0], rtol=1e-14)


def test_the_code_is_legal_and_what_is_not_read_is_not_computed():
    whole, part = hinge.compile("mass_matrix", ROBOT).code, compiled(one_entry).code
    for code in (compiled(halves).code, part, compiled(nothing).code):
        verify_code(code)
    assert part.operations().total < whole.operations().total
    assert compiled(nothing).code.calls == ()


def test_one_result_is_an_array_and_takes_out():
    f, to = compiled(one_entry), np.zeros(())
    assert f(Q, out=to) is to and to == f(Q) == hinge.mass_matrix(ROBOT, Q)[1, 1]


def test_readouts_have_code_of_their_own_in_the_cache():
    found = {compiled(r).compilation().identity for r in (halves, one_entry, None)}
    assert len(found) == 3
