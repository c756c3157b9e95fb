from __future__ import annotations

import pytest

from hinge.algebra import (
    Body,
    Di,
    G,
    H,
    Joint,
    K,
    M,
    P,
    R,
    a,
    b,
    identity,
    phi,
    psi,
    qd,
    tau,
)
from hinge.pipeline import as_given, derive
from hinge.sweeps import Cost, cost, lower
from tests.sweeps.expressions import SHAPES, compliance, forward, mass, w

one = identity(Body)
free = tau - H @ phi @ (M @ phi.T @ a + b)
FD1 = w.T @ Di @ w @ free
FD3 = w.T @ Di @ (tau - H @ psi @ (K @ tau + M @ phi.T @ a + b))
FD4 = w.T @ (Di @ w @ tau - Di @ H @ (psi - one) @ P @ a - Di @ H @ psi @ b) - (
    K.T @ psi.T @ (one - G @ H).T @ a + G.T @ a
)


def test_the_algorithms_of_the_paper_become_cheaper_one_by_one():
    given, first, third, fourth = (as_given(e).cost for e in (mass.inv() @ free, FD1, FD3, FD4))
    assert given > first > third > fourth >= derive(FD1).cost
    assert given.solves == 1 and first.solves == 0
    assert first.passes == third.passes == fourth.passes == 3
    assert first.recursions > third.recursions > fourth.recursions


def test_costs_are_compared_one_after_the_other():
    order = [
        Cost(0, 0, 0, 0, 0),
        Cost(0, 0, 0, 0, 99),
        Cost(0, 0, 0, 1, 0),
        Cost(0, 0, 1, 0, 0),
        Cost(0, 0, 1, 9, 9),
        Cost(0, 1, 0, 0, 0),
        Cost(1, 0, 0, 0, 0),
    ]
    assert sorted(order[k] for k in (3, 0, 6, 2, 5, 1, 4)) == order
    assert Cost(1, 2, 3, 4, 5) == Cost(1, 2, 3, 4, 5)


def test_a_dense_solve_is_dearer_than_any_sweep():
    assert as_given(mass.inv() @ tau).cost > as_given(FD1).cost
    assert as_given(mass.inv() @ tau).cost.solves == 1
    assert derive(compliance.inv()).cost.solves == 1


def test_columns_that_go_up_and_down_are_of_quadratic_cost():
    assert as_given(mass).cost.quadratic == 1
    assert derive(mass).cost.quadratic == 0
    assert derive(mass.inv()).cost.quadratic == 1
    split = lower({"y": H @ phi @ R @ H.T + H @ R @ phi.T @ H.T - H @ R @ H.T})
    assert cost(split).quadratic == 0


def test_recursions_and_passes_are_counted():
    velocity = lower({"y": phi.T @ H.T @ qd})
    assert (cost(velocity).passes, cost(velocity).recursions) == (1, 1)
    local = lower({"y": H @ M @ H.T @ qd})
    assert (cost(local).passes, cost(local).recursions) == (0, 0)
    assert cost(local).operations > 0
    step = lower({"y": H @ K @ tau})
    assert cost(step).passes == 1


@pytest.mark.parametrize("name", list(SHAPES)[::2])
def test_a_derivation_is_not_dearer_than_what_is_given(name):
    e, shape = SHAPES[name]
    found = derive(e)
    assert found.cost.solves == shape.count("X")
    assert found.cost.passes <= shape.count("G") + shape.count("S")
    if not name.startswith("log"):
        assert found.cost <= as_given(e).cost
        assert found.lines[-1].cost == found.cost


def test_more_letters_cost_more():
    costs = [cost(lower({"y": e})).operations for e in (H @ b, H @ M @ a, H @ (M + P) @ a)]
    assert costs == sorted(set(costs))


def test_words():
    assert str(derive(forward).cost).startswith("3 sweeps, 4 recursions, ")
    assert str(Cost(1, 0, 2, 5, 10)).startswith("1 dense solve")
    assert "quadratic" in str(derive(mass.inv()).cost)
    assert identity(Joint).range is Joint
