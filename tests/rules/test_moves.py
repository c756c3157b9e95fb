from __future__ import annotations

import numpy as np
import pytest

from hinge.algebra import (
    Di,
    H,
    K,
    M,
    P,
    Polynomial,
    adjoint_word,
    no_inverse,
    passive,
    phi,
    polynomial,
    psi,
    tau,
    whole,
    word_expression,
)
from hinge.rules import MOVES, decide, moves_for
from hinge.rules.moves import HYBRID_MOVES, LOADED_MOVES, SERIAL_MOVES
from hinge.targets import random_system

ALL = dict.fromkeys((*HYBRID_MOVES, *LOADED_MOVES, *SERIAL_MOVES))
moves = pytest.mark.parametrize("move", ALL, ids=lambda m: f"{m.name}, {m.left}")
TREES = [
    random_system((-1, 0, 0, 1, 1, -1, 5), 1, (2, 1, 0, 3, 1, 2, 1)),
    random_system((-1, 0, 1, 1, 0), 2, (6, 1, 1, 2, 3)),
]
CHAINS = [random_system((-1, 0, 1, 2, 3), 3, (2, 1, 0, 3, 1))]


@moves
def test_a_move_is_proved(move):
    decision = decide(move.left, move.right)
    assert decision and decision.check(), str(decision)
    assert decision.theory.holds_on == move.holds_on
    assert decide(move.left.T, move.right.T)


@moves
def test_a_move_holds_in_numbers(move):
    rules = move.table.rules
    left = polynomial(move.left, no_inverse)
    assert len(rules) == (1 if left.T.key == left.key else 2)
    assert {adjoint_word(r.lhs) for r in rules} == {r.lhs for r in rules}
    for system in CHAINS if move.holds_on == "serial chains" else TREES:
        for rule in rules:
            first, last = rule.lhs[0], rule.lhs[-1]
            one = system.matrix(word_expression(rule.lhs, first.range))
            other = system.matrix(Polynomial(first.range, last.domain, rule.rhs).expression())
            np.testing.assert_allclose(one, other, atol=1e-9 * max(1.0, np.abs(one).max(initial=0)))


@moves
def test_a_move_rewrites_its_word_wherever_it_stands(move):
    left, right = polynomial(move.left, no_inverse), polynomial(move.right, no_inverse)
    assert Polynomial(left.range, left.domain, move.apply(left.terms)).key == move_again(move, right).key
    assert Polynomial(left.domain, left.range, move.apply(left.T.terms)).key == move_again(move, right.T).key
    assert move.apply({}) is None
    assert str(move) == f"{move.name}: {move.left} = {move.right}  [{move.source}]"


def move_again(move, p):
    """Return what a move makes of a polynomial, itself where it has no place."""
    found = move.apply(p.terms)
    return p if found is None else Polynomial(p.range, p.domain, found)


@moves
def test_a_move_comes_to_an_end(move):
    done = move_again(move, polynomial(move.left, no_inverse))
    assert move.apply(done.terms) is None


def test_a_move_that_has_no_place_says_so():
    (gain,) = [m for m in MOVES if m.name == "definition of the gain"]
    assert gain.apply(polynomial(H @ phi @ M, no_inverse).terms) is None
    p = polynomial(psi @ P @ H.T @ Di @ tau + K @ tau, no_inverse)
    assert str(Polynomial(p.range, p.domain, gain.apply(p.terms)).expression()) in (
        "ψ G τ + K τ",
        "K τ + ψ G τ",
    )


def test_hybrid_moves_are_offered_where_their_letters_are():
    assert moves_for({H, phi, M}) == MOVES
    assert moves_for({passive.H, phi, M}) == HYBRID_MOVES
    assert moves_for(set()) == MOVES
    assert moves_for({H, phi, M}, "serial chains") == SERIAL_MOVES
    assert [m.holds_on for m in SERIAL_MOVES if m not in MOVES] == ["serial chains"]
    assert set(MOVES) < set(HYBRID_MOVES)


def test_names_are_unique_within_a_family():
    names = [m.name for m in MOVES]
    assert len(set(names)) == len(names)
    assert all(m.source for m in HYBRID_MOVES)
    assert whole.Mi is MOVES[0].left
