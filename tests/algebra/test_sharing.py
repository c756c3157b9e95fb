from __future__ import annotations

from hinge.algebra import (
    Body,
    Di,
    H,
    Joint,
    K,
    M,
    One,
    P,
    a,
    b,
    common_terms,
    depth,
    identity,
    leaf,
    phi,
    psi,
    subterms,
    tau,
    with_names,
    zero,
)

force = phi @ (M @ a + b)
x = leaf("x", Body, One)
y = leaf("y", Joint, One)


def test_subterms():
    assert subterms(M @ a + b - P @ a) == [M @ a, b, P @ a]
    assert subterms(H @ phi @ b) == [phi @ b]
    assert subterms(H @ b) == [b]
    assert subterms(tau) == subterms(identity(Joint)) == subterms(phi.T) == subterms(M.inv()) == []


def test_depth():
    assert depth(b) == 1
    assert depth(M @ a) == 2
    assert depth(M @ a + b) == 3
    assert depth(H @ force) == 5


def test_terms_that_stand_in_several_places_are_found_small_ones_first():
    expressions = [H @ force - H @ psi @ K @ (tau - H @ force), P @ (M @ a)]
    found = common_terms(expressions)
    assert found == [M @ a, H @ force]
    assert sorted(map(depth, found)) == [depth(e) for e in found]


def test_a_term_inside_a_common_term_counts_once():
    assert common_terms([H @ force, H @ force + tau]) == [H @ force]
    assert common_terms([H @ force, tau]) == []


def test_leaves_and_the_identity_are_not_common_terms():
    assert common_terms([M @ b, P @ b]) == []
    assert common_terms([identity(Body), identity(Body) + M]) == []


def test_only_what_is_worth_it():
    assert common_terms([H @ force, tau - H @ force], lambda e: e.range is Body) == []
    assert common_terms([H @ force, tau - H @ force], lambda e: e.range is Joint) == [H @ force]


def test_with_names():
    e = Di @ (tau - H @ force) - K.T @ phi.T @ force
    assert with_names(e, {force: x}) is Di @ (tau - H @ x) - K.T @ phi.T @ x
    assert with_names(e, {tau - H @ force: y}) is Di @ y - K.T @ phi.T @ force
    assert with_names(e, {}) is e
    assert with_names(b, {b: x}) is x
    assert with_names(zero(Body, One), {b: x}) is zero(Body, One)


def test_with_names_keeps_the_whole_when_asked():
    assert with_names(force, {force: x}) is x
    assert with_names(force, {force: x}, top=True) is force
    assert with_names(force, {force: x, M @ a + b: x}, top=True) is phi @ x
