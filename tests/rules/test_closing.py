"""The route from derivatives, as the rules of differentiation give them, to their closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hinge.algebra import (
    A0,
    V0,
    B,
    CovariantDynamics,
    H,
    M,
    R,
    composite,
    coriolis,
    derivative,
    f_ext,
    leaf_of,
    no_inverse,
    phi,
    polynomial,
    q,
    qd,
    value,
    x,
)
from hinge.dynamics.derivatives import derivative_parts
from hinge.dynamics.expressions import CATALOGUE, mass
from hinge.pipeline import derive
from hinge.rules import closing_steps, decide
from tests.folding import folded
from tests.rules.test_graded import still_hinges, system

PLAIN, MOVING = CovariantDynamics(), CovariantDynamics(velocity=V0, gravity=A0, load=B @ f_ext)


def steps(*expressions):
    """Return the names of the steps, and the forms after each, the first one first."""
    start = tuple(polynomial(e, no_inverse) for e in expressions)
    found = list(closing_steps(start))
    return [name for name, _, _ in found], [start, *(state for _, _, state in found)]


@pytest.mark.parametrize("on", [PLAIN, MOVING], ids=["still", "moving"])
def test_the_closed_form_is_what_the_papers_have(on):
    names, forms = steps(derivative(on.tau, q), derivative(on.tau, qd))
    assert names == [
        "covariance of ad", "accumulated force", "2B of a motion", "forces by B V", "composite bodies",
        "blocks at hinges",
    ]  # fmt: skip
    assert [p.key for p in forms[2]] == [polynomial(e, no_inverse).key for e in (on.by_q, on.by_qd)]
    assert [len(p.terms) for p in forms[-1]] == [9, 6]
    made = {leaf_of(y) for p in forms[-1] for w in p.terms for y in w}
    assert {R, composite(coriolis(on.V, context="merged"), context="merged")} <= made


def test_every_step_is_proved():
    _, forms = steps(derivative(PLAIN.tau, qd), derivative(PLAIN.V_hat @ H.T @ x, q))
    for one, other in pairwise(forms):
        for left, right in zip(one, other, strict=True):
            decision = decide(left.expression(), right.expression())
            assert decision and decision.check()


@folded(seed=(0, 1))
def test_every_step_holds_in_numbers(seed):
    along = derivative(mass, q, along=x)
    _, forms = steps(derivative(MOVING.tau, q), derivative(CATALOGUE["gravity_force"], q), along)
    on = still_hinges(system(seed), (p.expression() for form in forms for p in form))
    values = [[on.matrix(p.expression()) for p in form] for form in forms]
    for one, other in pairwise(values):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_allclose(left, right, atol=1e-9 * np.abs(left).max())


def test_words_go_one_way_in_a_closed_form():
    for name in ("gravity_force", "momentum"):
        _, forms = steps(derivative(CATALOGUE[name], q))
        for word in forms[-1][0].terms:
            assert not (phi in word and phi.T in word), name


def test_what_is_no_derivative_stays():
    assert steps(mass, CATALOGUE["inverse_dynamics"])[0] == []


def test_derive_finds_the_closed_form():
    found = derive(derivative(PLAIN.tau, q))
    assert [line.name for line in found.lines][1:3] == ["covariance of ad", "accumulated force"]
    assert "Singh, Russell & Wensing 2022" in str(found)
    assert found.cost < found.lines[0].cost
    assert len(derive(derivative(PLAIN.tau, q) @ x).lines) == 1  # a change along x is cheaper as it is


def test_the_verbs_derive_their_form():
    form = derivative_parts("inverse_dynamics", ("q", "qd")).form
    assert form is not None
    names = [line.name for line in form.lines]
    assert names[0] == "given" and names[1].startswith("motions written covariantly")
    assert names[2:] == steps(derivative(PLAIN.tau, q), derivative(PLAIN.tau, qd))[0]


def test_a_letter_that_is_held_is_a_constant():
    y = value(M.T @ M @ PLAIN.V, context="merged")
    assert derivative(H @ y, qd, held=[y]).range is H.range
    assert derivative(H @ y, qd) is not derivative(H @ y, qd, held=[y])
