from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from hinge.algebra import (
    Body,
    D,
    Di,
    E,
    Es,
    G,
    H,
    Inverse,
    Joint,
    K,
    M,
    Node,
    One,
    P,
    Polynomial,
    Product,
    R,
    Sum,
    Zero,
    adjoint_word,
    combined,
    factored,
    identity,
    leaf_of,
    leaves,
    letter_name,
    logdet,
    no_inverse,
    phi,
    polynomial,
    psi,
    substituted,
    tau,
    whole,
    word_expression,
    word_order,
    wrapped,
    zero,
)
from hinge.targets import random_system
from tests.algebra.expressions import SPACES, random_expression

SYSTEM = random_system((-1, 0, 0, 1, 3), 3, (2, 1, 1, 3, 1), (6,) * 5)
one, joint = identity(Body), identity(Joint)


def opened(e):
    """Return an expression with the argument of each inverse in its place, so that none is left."""
    match e:
        case Sum():
            return sum_of(c * opened(t) for c, t in e.terms)
        case Product():
            return product_of(map(opened, e.factors))
        case Inverse():
            return opened(e.argument)
        case _:
            return e


def sum_of(parts):
    total = None
    for p in parts:
        total = p if total is None else total + p
    return total


def product_of(parts):
    total = None
    for p in parts:
        total = p if total is None else total @ p
    return total


def randoms(count, depth=4):
    rng = np.random.default_rng(5)
    spaces = SPACES[:3]
    made = (
        random_expression(rng, *(spaces[k] for k in rng.integers(3, size=2)), depth) for _ in range(count)
    )
    return [opened(e) for e in made]


EXPRESSIONS = randoms(120)


def same(p, q):
    return (p.range, p.domain, p.key) == (q.range, q.domain, q.key)


def out(e):
    return polynomial(e, no_inverse)


def test_multiplied_out_is_the_expression_in_numbers():
    for e in EXPRESSIONS:
        p = out(e)
        assert (p.range, p.domain) == (e.range, e.domain)
        assert all(p.terms.values())
        value, scale = SYSTEM.matrix(e), np.linalg.norm(SYSTEM.magnitude(p.expression()))
        assert np.linalg.norm(SYSTEM.matrix(p.expression()) - value) <= 1e-12 * scale


def test_a_sum_of_words_is_flat():
    for e in EXPRESSIONS:
        flat = out(e).expression()
        for _, t in flat.terms if isinstance(flat, Sum) else ((1, flat),):
            assert not any(isinstance(f, Sum) for f in (t.factors if isinstance(t, Product) else ()))


def test_factored_expands_back():
    for e in EXPRESSIONS:
        p = out(e)
        assert same(out(factored(p)), p)


def test_adjoint():
    for e in EXPRESSIONS:
        assert same(out(e.T), out(e).T)
        assert same(out(e).T.T, out(e))


def test_sums_and_products_of_polynomials():
    for e, f in pairwise(EXPRESSIONS):
        if (e.range, e.domain) == (f.range, f.domain):
            assert same(out(e + f), out(e) + out(f))
            assert same(out(e - f), out(e) - out(f))
        if e.domain is f.range:
            assert same(out(e @ f), out(e) @ out(f))
        assert not out(e) - out(e)


def test_small_ones_by_hand():
    p = out((one - K @ H) @ (one + K @ H))
    assert p.terms == {(): 1, (K, H, K, H): -1}
    assert out(M / 2 + M / 2).terms == {(M,): 1}
    assert out(2 * one).terms == {(): 2}
    assert out(zero(Joint, Body)).terms == {}
    assert str(Polynomial(Body, Body, {(): 1, (M,): Fraction(-1, 2)}).expression()) == "I − 1/2 M"
    assert Polynomial(Joint, Node, {}).expression() is zero(Joint, Node)


def test_factored_takes_left_factors_out():
    assert str(factored(out(H @ phi @ M + H @ phi @ P - H @ psi))) == "−H (ψ − φ (M + P))"
    assert factored(out(H @ phi @ M @ tau_body() + H @ phi @ P @ tau_body())) is H @ phi @ (
        M @ tau_body() + P @ tau_body()
    )
    assert factored(Polynomial(Joint, Body, {})) is zero(Joint, Body)
    assert factored(out(-M)) is -M
    assert isinstance(factored(out(M - M)), Zero)


def tau_body():
    return H.T @ tau


def test_factored_brackets_begin_with_plus():
    for e in EXPRESSIONS:
        todo = [factored(out(e))]
        while todo:
            x = todo.pop()
            if isinstance(x, Product):
                for f in x.factors:
                    assert not isinstance(f, Sum) or f.terms[0][0] > 0
                    todo.append(f)


def test_equal_subterms_of_factored_expressions_are_one_object():
    e = factored(out(H @ (phi @ (M + P)) @ H.T + D @ H @ (phi @ (M + P)) @ H.T))
    inner = phi @ (M @ H.T + P @ H.T)
    assert sum(inner is tail(t) for _, t in e.terms) >= 1


def tail(t):
    return product_of(t.factors[1:]) if isinstance(t, Product) and len(t.factors) > 1 else t


def test_words():
    word = (H, phi, M)
    assert adjoint_word(word) == (M, phi.T, H.T)
    assert adjoint_word(adjoint_word(word)) == word
    assert word_expression(word, Joint) is H @ phi @ M
    assert word_expression((), Joint) is joint
    assert letter_name(phi.T) == "phi'" and letter_name(phi) == "phi"
    assert leaf_of(phi.T) is leaf_of(phi) is phi
    assert sorted([(H, phi), (M,), (), (E,)], key=word_order) == [(), (E,), (M,), (H, phi)]


def test_combined_and_wrapped():
    assert combined([(2, {(M,): 1, (P,): 1}), (-1, {(M,): 2})]) == {(P,): 2}
    assert wrapped((H,), {(M,): 3, (): 1}, (phi,), -2) == {(H, M, phi): -6, (H, phi): -2}


def test_leaves():
    assert leaves(whole.mass.inv() @ (tau - H @ phi.T @ G @ tau)) == {H, phi, M, tau, G}
    assert leaves(logdet(D + joint)) == {D}
    assert leaves(joint) == leaves(zero(Joint, One)) == set()


def test_substituted_until_no_letter_has_a_meaning():
    meanings = {Es: E - K @ H, K: E @ G}

    def meaning(letter):
        found = meanings.get(leaf_of(letter))
        p = None if found is None else out(found)
        return p if p is None or letter is leaf_of(letter) else p.T

    p = substituted(out(Es @ P @ Es.T), meaning)
    assert not {x for w in p.terms for x in map(leaf_of, w)} & set(meanings)
    direct = (E - E @ G @ H) @ P @ (E - E @ G @ H).T
    assert same(p, out(direct))
    np.testing.assert_allclose(SYSTEM.matrix(p.expression()), SYSTEM.matrix(Es @ P @ Es.T), atol=1e-11)
    assert same(substituted(out(R), meaning), out(R))


def test_inverses_are_given_by_the_caller():
    asked = []

    def inverse_of(argument):
        asked.append(argument)
        return out(Di)

    p = polynomial(H.T @ D.inv() @ H, inverse_of)
    assert p.terms == {(H.T, Di, H): 1}
    assert asked == [D]
    with pytest.raises(AssertionError, match="inverse of D where none is expected"):
        out(D.inv())


def test_a_log_determinant_is_a_letter():
    p = out(2 * logdet(D) - logdet(whole.mass))
    assert (p.range, p.domain) == (One, One)
    assert sorted(p.terms.values()) == [-1, 2]
    assert str(p.expression()) == "2 log det D − log det (H φ M φᵀ Hᵀ)"
