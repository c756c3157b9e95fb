from __future__ import annotations

import pytest

from hinge.algebra import (
    Di,
    G,
    H,
    Joint,
    M,
    Polynomial,
    identity,
    leaf,
    leaf_of,
    no_inverse,
    phi,
    polynomial,
    psi,
    whole,
)
from hinge.rules import MOVES, TREE, Move, decide, search
from hinge.rules.searching import NORMAL_FORM

r, s, t, u = (leaf(name, Joint, Joint) for name in "rstu")
one = identity(Joint)


def state(*expressions):
    return tuple(polynomial(e, no_inverse) for e in expressions)


def move(left, right):
    return Move(f"{left} to {right}", left, right, "made up")


def letters(weights):
    """Return a cost: the sum of the weights of all letters."""
    return lambda st: sum(weights.get(leaf_of(x).name, 1) for p in st for w in p.terms for x in w)


def texts(found):
    return [str(step.state[0].expression()) for step in found.steps]


def test_nothing_cheaper_leaves_what_is_given():
    found = search(state(s), [move(s, t @ t)], letters({}))
    assert texts(found) == ["s"] and found.best is found.steps[0]
    assert found.best.name == "given" and found.best.cost == 1
    assert found.weighed == 2


def test_the_cheapest_form_is_found_with_the_way_to_it():
    found = search(state(r), [move(r, s), move(s, t), move(t, u)], letters({"r": 9, "s": 5, "t": 3, "u": 1}))
    assert texts(found) == ["r", "s", "t", "u"]
    assert [step.cost for step in found.steps] == [9, 5, 3, 1]
    assert [step.name for step in found.steps[1:]] == ["r to s: r = s", "s to t: s = t", "t to u: t = u"]
    assert {step.source for step in found.steps[1:]} == {"made up"}


def test_the_cost_may_go_up_before_it_comes_down():
    found = search(
        state(r), [move(r, s), move(s, t), move(t, u)], letters({"r": 5, "s": 20, "t": 30, "u": 1})
    )
    assert texts(found) == ["r", "s", "t", "u"]
    assert [step.cost for step in found.steps] == [5, 20, 30, 1]


def test_the_first_of_equals_is_kept():
    found = search(state(r), [move(r, s), move(r, t)], letters({"r": 2}))
    assert texts(found) == ["r", "s"]


def test_the_limit_bounds_the_forms_that_are_expanded():
    chain = [move(r, s), move(s, t), move(t, u)]
    costs = letters({"r": 9, "s": 5, "t": 3, "u": 1})
    assert [texts(search(state(r), chain, costs, limit=n))[-1] for n in range(4)] == ["r", "s", "t", "u"]
    assert search(state(r), chain, costs, limit=0).weighed == 1


def test_a_search_ends_when_there_is_nothing_new():
    found = search(state(s @ t), [move(s @ t, t @ s)], letters({}), limit=10**6)
    assert found.weighed == 2


def test_a_move_is_made_in_all_outputs_at_once():
    found = search(state(r, r @ t + u, t), [move(r, s)], letters({"r": 5}))
    assert [p.terms for p in found.best.state] == [{(s,): 1}, {(s, t): 1, (u,): 1}, {(t,): 1}]
    assert found.best.state[2] is found.steps[0].state[2]


def test_moves_go_both_ways_of_the_adjoint():
    found = search(state(t @ r.T), [move(r, s)], letters({"r": 5}))
    assert texts(found)[-1] == "t sᵀ"


def test_the_normal_form_serves_as_a_move():
    start = state(psi @ G, phi @ (identity(M.range) - TREE.inverses[2][0]))
    found = search(start, [], letters({"psi": 3}), normal=TREE.normal, limit=1)
    assert found.best.name == NORMAL_FORM
    assert str(found.best.state[0].expression()) == "G"
    assert search(start, [], letters({}), limit=1).best.name == "given"


@pytest.mark.parametrize("limit", [1, 5, 40])
def test_every_form_on_the_way_is_equal_to_the_first(limit):
    start = state(whole.Mi @ H @ phi @ M @ phi.T)
    found = search(start, MOVES, letters({"Mi": 100, "M": 20}), limit=limit)
    assert len(found.steps) > 1
    for step in found.steps:
        (p,) = step.state
        assert decide(start[0].expression(), p.expression())
        assert isinstance(p, Polynomial)
    costs = [step.cost for step in found.steps]
    assert min(costs) == costs[-1] < costs[0]
    assert Di in {x for w in found.best.state[0].terms for x in w} or limit > 1
