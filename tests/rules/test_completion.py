from __future__ import annotations

import pytest

from hinge.algebra import Body, E, H, Joint, identity, leaf, no_inverse, phi, polynomial, zero
from hinge.errors import HingeError
from hinge.rules import THEORIES, Axiom, CompletionError, Rule, complete
from hinge.rules.completion import Order, Table, words
from tests.rules.rewriting import normal_form, overlaps, unfolded

s, t, u = (leaf(name, Joint, Joint) for name in "stu")
one = identity(Joint)
PLAIN = Order(lambda letter: 1)


def axiom(left, right, name="toy"):
    return Axiom(name, polynomial(left, no_inverse) - polynomial(right, no_inverse), "made up")


def power(x, n):
    return x if n == 1 else x @ power(x, n - 1)


def pairs(table):
    return [(r.lhs, r.rhs) for r in table.rules]


def irreducible(table, letters, longest=12):
    """Return the words that no rule rewrites: a basis of the algebra."""
    found, last = [()], [()]
    while last and len(last[0]) < longest:
        last = [
            (*w, x) for w in last for x in letters if normal_form({(*w, x): 1}, pairs(table)) == {(*w, x): 1}
        ]
        found += last
    return found


#: Axioms, and the dimension of the algebra that they define.
FINITE = {
    "the group of three permutations": ([(s @ s, one), (power(t, 3), one), (power(s @ t, 2), one)], 6),
    "the group of the square": ([(s @ s, one), (power(t, 4), one), (power(s @ t, 2), one)], 8),
    "quaternions as a group": ([(power(s, 4), one), (t @ t, s @ s), (t @ s, power(s, 3) @ t)], 8),
    "quaternions as an algebra": ([(s @ s, -one), (t @ t, -one), (s @ t, -(t @ s))], 4),
    "the group of the tetrahedron": ([(s @ s, one), (power(t, 3), one), (power(s @ t, 3), one)], 12),
    "the group of four permutations": ([(s @ s, one), (power(t, 3), one), (power(s @ t, 4), one)], 24),
    "Temperley and Lieb's algebra": (
        [(s @ s, 2 * s), (t @ t, 2 * t), (s @ t @ s, s), (t @ s @ t, t)], 5,
    ),
    "the same on four strands": (
        [
            *((x @ x, 2 * x) for x in (s, t, u)),
            *((x @ y @ x, x) for x, y in ((s, t), (t, s), (t, u), (u, t))),
            (s @ u, u @ s),
        ],
        14,
    ),
    "two projections that add up": ([(s @ s, s), (t, one - s)], 2),
    "a nilpotent shift and its resolvent": ([(power(s, 3), zero(Joint, Joint)), (t @ (one - s), one)], 3),
    "nothing but zero": ([(s, zero(Joint, Joint)), (t, s)], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FINITE)
def test_a_finite_algebra_has_its_dimension(name):
    given, dimension = FINITE[name]
    axioms = [axiom(left, right) for left, right in given]
    done = complete(axioms, PLAIN)
    letters = sorted({x for a in axioms for w in a.difference.terms for x in w}, key=str)
    assert len(irreducible(done.table, letters)) == dimension
    for a in axioms:
        assert normal_form(a.difference.terms, pairs(done.table)) == {}
        assert done.table.normal_form(a.difference.terms)[0] == {}
    confluent(done.table)
    provenance(done.table)


def test_consequences_are_found():
    table = complete([axiom(power(s, 3), one), axiom(power(s, 5), one)], PLAIN).table
    assert [str(r) for r in table.rules] == ["s → 1"]
    weyl = complete([axiom(s @ t - t @ s, one)], PLAIN).table
    assert [str(r) for r in weyl.rules] == ["t s → -1 + s t"]
    assert normal_form({(t, s, s): 1}, pairs(weyl)) == {(s, s, t): 1, (s,): -2}


def test_what_weighs_more_is_eliminated():
    rows = [axiom(s, t @ t), axiom(power(t, 4), one)]
    heavy = complete(rows, Order(lambda letter: {"s": 9}.get(letter.name, 1))).table
    light = complete(rows, PLAIN).table
    assert {str(r) for r in heavy.rules} == {"s → t t", "t t t t → 1"}
    assert {str(r) for r in light.rules} == {"t t → s", "s s → 1", "t s → s t"}


def test_an_order_compares_weight_then_length_then_names():
    order = Order(lambda letter: {"s": 3}.get(letter.name, 1))
    ranked = sorted([(s,), (t, t, t), (t, u), (u, t), (), (t,)], key=order.key)
    assert ranked == [(), (t,), (t, u), (u, t), (s,), (t, t, t)]
    assert order.leading({(s,): 1, (t, t): 5}) == (s,)


@pytest.mark.parametrize(
    "given",
    [
        [(s, one), (s, 2 * one)],
        [(s @ s, s), (s, 2 * one)],
        [(s @ t, one), (t @ s, zero(Joint, Joint))],
        [(one, zero(Joint, Joint))],
        [(s @ t - t @ s, one), (s @ s, zero(Joint, Joint)), (t @ t, t)],
    ],
    ids=str,
)
def test_axioms_that_contradict_each_other_are_refused(given):
    with pytest.raises(CompletionError, match=r"the axioms contradict each other: they give .* I = 0"):
        complete([axiom(left, right) for left, right in given], PLAIN)


def test_a_completion_that_does_not_end_is_stopped():
    braid = [axiom(s @ t @ s, t @ s @ t)]  # its table by length has no end
    with pytest.raises(
        CompletionError, match=r"no confluent table within 0.05 s: \d+ rules, \d+ overlaps open"
    ):
        complete(braid, PLAIN, seconds=0.05)
    assert issubclass(CompletionError, HingeError)


def test_a_table_is_extended_without_starting_again():
    group = [axiom(s @ s, one), axiom(power(t, 3), one), axiom(power(s @ t, 2), one)]
    first = complete(group[:2], PLAIN)
    second = complete(group[2:], PLAIN, start=first.table.rules)
    whole = complete(group, PLAIN)
    assert {str(r) for r in second.table.rules} == {str(r) for r in whole.table.rules}
    assert {r.number for r in first.table.rules}.isdisjoint(
        r.number for r in second.table.rules if r not in first.table.rules
    )
    again = complete(group, PLAIN, start=whole.table.rules)
    assert again.table.rules == whole.table.rules and again.overlaps == 0


def test_a_completion_tells_what_it_did():
    done = complete([axiom(s @ s, one), axiom(power(t, 3), one), axiom(power(s @ t, 2), one)], PLAIN)
    assert str(done).startswith(
        f"{len(done.table.rules)} rules, {done.overlaps} overlaps examined, none unresolved"
    )
    assert complete([], PLAIN).table.rules == []


def test_tables_match_and_rewrite():
    rules = [Rule(1, (s, s), {(): 1}, ()), Rule(2, (t,), {(s,): 2, (): -1}, ())]
    table = Table.of(rules)
    assert table.match((u, s, s)) == (1, rules[0])
    assert table.match((u, s, u)) is None
    terms, uses = table.normal_form({(t, s): 1})
    assert terms == {(): 2, (s,): -1}
    assert [x.source for x in uses] == [rules[1], rules[0]]
    table.drop(rules[1])
    assert table.normal_form({(t, s): 1}) == ({(t, s): 1}, [])
    assert rules[1].difference() == {(t,): 1, (s,): -2, (): 1}


def test_words_are_written():
    assert words({}) == "0"
    assert words({(): -1, (s, t): 2, (t.T,): 1}) == "-1 + t' + 2 s t"


# The tables of the theories, judged by other code.

theories = pytest.mark.parametrize("theory", THEORIES, ids=lambda t: t.name)


def confluent(table):
    rules = pairs(table)
    for word, left, right in overlaps(rules):
        assert normal_form(left, rules) == normal_form(right, rules), words({word: 1})


def provenance(table):
    memo = {}
    for rule in table.rules:
        assert unfolded(rule, memo) == rule.difference(), str(rule)


@theories
def test_every_overlap_of_a_table_is_resolved(theory):
    count = sum(1 for _ in overlaps(pairs(theory.table)))
    assert count > 80
    confluent(theory.table)


@theories
def test_a_table_is_reduced(theory):
    rules = pairs(theory.table)
    for lhs, rhs in rules:
        others = [r for r in rules if r[0] != lhs]
        assert len(others) == len(rules) - 1
        assert normal_form({lhs: 1}, others) == {lhs: 1}
        assert normal_form(rhs, rules) == rhs


@theories
def test_every_rule_unfolds_to_axioms(theory):
    provenance(theory.table)


@theories
def test_every_axiom_follows_from_the_table(theory):
    for a in theory.axioms:
        assert normal_form(a.difference.terms, pairs(theory.table)) == {}


@theories
def test_the_table_holds_the_adjoint_of_every_rule(theory):
    rules = pairs(theory.table)
    for lhs, rhs in rules:
        turned = {tuple(x.T for x in reversed(w)): c for w, c in rhs.items()}
        left = tuple(x.T for x in reversed(lhs))
        assert normal_form({left: 1}, rules) == normal_form(turned, rules)


def test_rewriting_keeps_the_spaces():
    for theory in THEORIES:
        for rule in theory.table.rules:
            for w in rule.rhs:
                assert not w or (w[0].range, w[-1].domain) == (rule.lhs[0].range, rule.lhs[-1].domain)
    assert H.domain is Body and phi @ E is not E @ phi
