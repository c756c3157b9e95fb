from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hinge.algebra import (
    STANDARD,
    Adjoint,
    Body,
    D,
    Di,
    E,
    G,
    H,
    Inverse,
    Joint,
    K,
    Leaf,
    M,
    P,
    Polynomial,
    Product,
    Sum,
    Ups,
    identity,
    leaf,
    linear,
    phi,
    product,
    psi,
    tau,
    whole,
    zero,
)
from hinge.errors import SpaceError
from hinge.rules import TREE, Axiom, decide
from hinge.rules.identities import APPENDIX_A, PAPERS, SLIDES
from hinge.targets import SingularError, counterexample
from tests.rules.rewriting import add

one, joint = identity(Body), identity(Joint)
mass_inverse = (joint - H @ psi @ K).T @ Di @ (joint - H @ psi @ K)
OPEN = APPENDIX_A + PAPERS + SLIDES
SHUFFLED = [OPEN[k] for k in np.random.default_rng(7).permutation(len(OPEN))]
SOME = [i for i in SHUFFLED if "active" not in i.name][:50]  # the proofs of active forces are long


def by_name(identities):
    return pytest.mark.parametrize("identity_", identities, ids=lambda i: i.name)


@by_name(SOME)
def test_a_certificate_multiplies_out_to_the_claim(identity_):
    decision = decide(identity_.left, identity_.right)
    total = {}
    for (left, axiom, right), c in decision.certificate.items():
        assert axiom in decision.theory.axioms
        for w, d in axiom.difference.terms.items():
            add(total, left + w + right, Fraction(c) * d)
    p, theory = decision.theory.multiplied_out(identity_.left)
    q, _ = theory.multiplied_out(identity_.right)
    assert total == (p - q).terms
    assert not decision.uses or "definition of" in str(decision)


def test_a_wrong_certificate_is_found_out():
    decision = decide(whole.mass.inv(), mass_inverse)
    assert decision.check()
    assert not replace(decision, uses=decision.uses[1:]).check()
    assert not replace(decision, right=2 * mass_inverse).check()
    use = replace(decision.uses[0], coefficient=decision.uses[0].coefficient + 1)
    assert not replace(decision, uses=(use, *decision.uses[1:])).check()
    rest = Polynomial(Joint, Joint, {(D,): 1})
    assert not replace(decision, difference=rest).check()


def test_a_refusal_is_certified_too():
    decision = decide(whole.mass.inv(), Di)
    assert not decision and decision.check()
    assert str(decision).startswith(
        "(H φ M φᵀ Hᵀ)⁻¹ = D⁻¹\n  not a consequence of the axioms: left − right leaves "
    )


def test_a_proof_reads_down_to_the_axioms():
    decision = decide(psi @ K @ H @ phi, phi - psi)
    text = str(decision)
    assert text.startswith("ψ K H φ = φ − ψ\n  proved on trees, by\n    rule ")
    assert "which unfolds to" in text and "definition of" in text
    names = {a.name for _, a, _ in decision.certificate}
    assert all(f"{name} [" in text for name in names)
    lemmas = decision.unfolded().splitlines()
    assert lemmas[-1].startswith("  ψ K H φ = φ − ψ   from rule ")
    assert any("definition of" in line for line in lemmas)
    known = set()
    for line in lemmas[:-1]:
        rule, rest = line.strip().split(": ", 1)
        sources = rest.split("   from ")[1]
        assert {s for s in sources.split(", ") if s.startswith("rule ")} <= known
        known.add(rule)
    assert {f"rule {r.number}" for r in decision.rules} <= known


@by_name(SOME[::6])
def test_the_unfolded_proof_mentions_axioms(identity_):
    decision = decide(identity_.left, identity_.right)
    text = decision.unfolded()
    assert not decision.rules or "definition of" in text or "nothing lies beyond the base" in text
    assert text.splitlines()[-1].startswith(f"  {identity_.left} = {identity_.right}   from ")


def test_what_multiplies_out_to_the_same_needs_no_rule():
    decision = decide(H @ (M + P), H @ P + H @ M)
    assert decision and not decision.uses and decision.check()
    claim, proof = str(decision).split("\n")
    assert claim == "H (M + P) = H P + H M"
    assert proof == "  proved: both sides multiply out to the same, inverses as they are defined"


def test_where_it_holds_is_said():
    split = decide(psi.T @ H.T @ Di @ H @ psi, Ups @ psi + psi.T @ Ups - Ups)
    assert split and "proved on serial chains" in str(split)
    assert "proved on trees" in str(decide(phi @ E, phi - one))


def test_both_sides_share_their_spaces():
    with pytest.raises(
        SpaceError, match="H is Joint ← Body, but M is Body ← Body; equal operators share both"
    ):
        decide(H, M)


def test_a_theory_may_be_given():
    weak = replace(TREE, name="only φ", axioms=TREE.axioms[:4])
    assert decide(phi @ E, phi - one, theory=weak)
    assert not decide(psi @ G, G, theory=weak)
    assert decide(psi @ G, G)


def test_axioms_alone_decide_leaves_of_your_own():
    u = leaf("u", Joint, Joint)
    assert not decide(u @ tau, tau)
    axiom = Axiom("u does nothing", Polynomial(Joint, Joint, {(u,): 1, (): -1}), "made up")
    assert decide(u @ tau, tau, axioms=[axiom])
    assert not decide(u.T @ D, D, axioms=[axiom])  # the adjoint was not stated


# Equations that a random change has made false.


def changed(e, rng):
    """Return an expression with one letter, one sign or one term changed at random."""
    match e:
        case Leaf() | Adjoint():
            same = [
                x for s in STANDARD.values() for x in (s, s.T) if (x.range, x.domain) == (e.range, e.domain)
            ]
            others = [x for x in same if x is not e] or [2 * e]
            return others[rng.integers(len(others))]
        case Sum():
            k, kind = rng.integers(len(e.terms)), rng.integers(4)
            terms = list(e.terms)
            c, t = terms[k]
            if kind == 0:
                terms[k] = (-c, t)
            elif kind == 1 and len(terms) > 1:
                del terms[k]
            else:
                terms[k] = (c, changed(t, rng))
            return linear(*terms)
        case Product():
            k = rng.integers(len(e.factors))
            return product(*e.factors[:k], changed(e.factors[k], rng), *e.factors[k + 1 :])
        case Inverse():
            inner = changed(e.argument, rng)
            return 2 * e if inner is zero(e.range, e.domain) else inner.inv()
        case _:
            return linear((2, e))


def numbers_differ(left, right):
    """Tell whether random trees refute an equation; None when none of them can judge."""
    serial = any(x is Ups for e in (left, right) for x in letters(e))
    try:
        return counterexample(left, right, seeds=range(4), serial=serial) is not None
    except SingularError:
        return None


def letters(e):
    match e:
        case Sum():
            return [x for _, t in e.terms for x in letters(t)]
        case Product():
            return [x for f in e.factors for x in letters(f)]
        case Inverse():
            return letters(e.argument)
        case Adjoint():
            return [e.leaf]
        case _:
            return [e]


HALF = SHUFFLED[: len(SHUFFLED) // 2]


def test_equations_that_were_made_false_are_refused():
    rng = np.random.default_rng(3)
    refuted = 0
    for i in HALF:
        wrong = changed(i.right, rng)
        verdict = numbers_differ(i.left, wrong)
        if verdict:
            assert not decide(i.left, wrong), f"{i.left} = {wrong} is false"
            refuted += 1
    assert refuted > 0.8 * len(HALF)
