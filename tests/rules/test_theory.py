from __future__ import annotations

from dataclasses import replace
from importlib import resources

import pytest

from hinge.algebra import (
    B,
    Body,
    D,
    Di,
    Dr,
    Dri,
    E,
    G,
    H,
    Hp,
    Joint,
    K,
    M,
    Mi,
    P,
    R,
    Structure,
    Ups,
    appendix,
    b,
    identity,
    kappa,
    leaf,
    leaves,
    loaded,
    no_inverse,
    passive,
    phi,
    polynomial,
    psi,
    psip,
    tau,
    whole,
    zero,
)
from hinge.rules import (
    APPENDIX,
    HYBRID,
    LOADED,
    ROOTS,
    SERIAL,
    THEORIES,
    TREE,
    Axiom,
    CompletionError,
    decide,
    equation,
    theory_of,
)
from hinge.rules.tables_on_disk import dump_rules, load_rules
from hinge.targets import counterexample
from tests.expressions import JACOBIAN

theories = pytest.mark.parametrize("theory", THEORIES, ids=lambda t: t.name)
one, joint = identity(Body), identity(Joint)
compliance = JACOBIAN @ Mi @ JACOBIAN.T


def as_set(rules):
    return {(r.lhs, frozenset(r.rhs.items())) for r in rules}


@theories
def test_completion_gives_the_frozen_table(theory):
    fresh = theory.complete()
    assert as_set(fresh.table.rules) == as_set(theory.table.rules)
    assert len(fresh.table.rules) == len(theory.table.rules)


@theories
def test_the_file_of_a_table_is_what_completion_writes(theory):
    file = resources.files("hinge.rules") / "tables" / f"{theory.name}.json"
    written = dump_rules(theory.axioms, theory.complete().table.rules)
    assert written == file.read_text(encoding="utf-8"), "run python -m hinge.rules.freeze"


@theories
def test_what_is_loaded_writes_the_same_file(theory):
    loaded = load_rules(theory.name, theory.axioms)
    assert dump_rules(theory.axioms, loaded) == dump_rules(theory.axioms, theory.complete().table.rules)


def test_a_frozen_table_of_other_axioms_is_not_taken():
    assert load_rules("tree", TREE.axioms[:-1]) is None
    assert load_rules("no such theory", TREE.axioms) is None
    changed = replace(TREE, axioms=TREE.axioms[:-2])
    assert len(changed.table.rules) > 30
    assert as_set(changed.table.rules) != as_set(TREE.table.rules)


def test_axioms_come_with_their_adjoints():
    for theory in THEORIES:
        keys = {a.difference.key for a in theory.axioms}
        assert {a.difference.T.key for a in theory.axioms} <= keys
    pair = equation("shift", E @ M, P, "made up")
    assert [a.name for a in pair] == ["shift", "adjoint of shift"]
    assert str(pair[0]) == "shift [made up]"
    assert len(equation("symmetric", M + P, P, "made up")) == 1


def test_theories_by_letters():
    assert theory_of(whole.mass, tau) is TREE
    assert theory_of(H, appendix.Phi) is APPENDIX
    assert theory_of(Hp @ psip) is HYBRID
    assert theory_of(Ups @ psi) is SERIAL
    assert theory_of(Dr @ Dr.T) is theory_of(Dri) is ROOTS
    assert [t.holds_on for t in THEORIES] == [*["trees"] * 5, "serial chains", "trees", "trees"]
    assert theory_of(whole.mass + kappa) is theory_of(loaded.psi) is LOADED
    for theory in THEORIES:
        assert theory.letters == {x for a in theory.axioms for x in leaves(a.difference.expression())}


@theories
def test_the_inverses_of_a_theory_are_consequences(theory):
    for x, y in theory.inverses:
        square = identity(x.range)
        for left, right in ((x, y), (y, x)):
            p = polynomial(left @ right, no_inverse) - polynomial(square, no_inverse)
            assert not theory.normal(p), f"{left} {right} = I"


KNOWN = {
    "mass matrix": (whole.mass.inv(), Mi),
    "inverse of the inverse": (Mi.inv(), whole.mass),
    "passive mass matrix": (passive.mass.inv(), passive.Mi),
    "D": (D.inv(), Di),
    "Dᵢ": (Di.inv(), D),
    "φ": (phi.inv(), one - E),
    "I − E": ((one - E).inv(), phi),
    "I − Eᵀ": ((one - E.T).inv(), phi.T),
    "ψ": (psi.inv(), one - E + K @ H),
    "the innovations operator": ((joint + H @ phi @ K).inv(), joint - H @ psi @ K),
    "a product of square factors": ((D @ Mi @ D).inv(), Di @ whole.mass @ Di),
    "a multiple": ((2 * D).inv(), Di / 2),
    "in other words": ((H @ P @ H.T).inv(), Di),
    "the mass matrix by composite bodies": ((H @ (phi @ R + R @ phi.T - R) @ H.T).inv(), Mi),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_inverses_get_no_letter(name):
    e, wanted = KNOWN[name]
    p, theory = theory_of(e).multiplied_out(e)
    assert not theory.unknown
    assert not theory.normal(p - polynomial(wanted, no_inverse))


def test_an_unknown_inverse_gets_a_letter():
    p, theory = TREE.multiplied_out(compliance.inv())
    ((letter, argument),) = theory.unknown.items()
    assert p.terms == {(letter,): 1}
    assert letter.name == "inverse_1" and letter.self_adjoint
    assert str(letter) == "(Bᵀ φᵀ Hᵀ 𝓜⁻¹ H φ B)⁻¹"
    assert not theory.normal(polynomial(argument, no_inverse) - polynomial(compliance, no_inverse))
    again, same = theory.multiplied_out(2 * compliance.inv() @ compliance)
    assert same is theory
    assert str(theory.normal(again).expression()) == "2 I"
    other, more = theory.multiplied_out((compliance + identity(B.domain)).inv())
    assert len(more.unknown) == 2 and set(other.terms) != set(p.terms)
    assert TREE.unknown == {}


def test_an_inverse_that_got_a_letter_is_still_decided():
    assert decide((D @ whole.mass @ D).inv(), Di @ Mi @ Di)
    assert not decide((D @ whole.mass @ D).inv(), Mi @ Di @ Di)
    assert not decide((H @ (phi @ P + P @ phi.T - P) @ H.T).inv(), Mi)


def test_an_unknown_inverse_is_recognised_in_other_words():
    kernel = psi.T @ H.T @ Di @ H @ psi
    p, theory = TREE.multiplied_out(compliance.inv())
    q, same = theory.multiplied_out((B.T @ kernel @ B).inv())
    assert same is theory and p.key == q.key
    skewed = (E @ M + one).inv()
    (x,) = TREE.multiplied_out(skewed)[1].unknown
    assert not x.self_adjoint
    assert decide(skewed.T, (M @ E.T + one).inv())


# Axioms of your own.

X = leaf("X", Body, Body, Structure.DIAGONAL, self_adjoint=True)
reflection = equation("X is a reflection", X @ X, one, "made up")


def test_a_reflection_of_your_own():
    assert not decide(X @ X @ X, X)
    proof = decide(X @ X @ X, X, axioms=reflection)
    assert proof and proof.check()
    assert "X is a reflection [made up]" in str(proof)
    assert decide(X.inv(), X, axioms=reflection)
    assert decide(H @ X @ phi @ X @ X @ E, H @ X @ (phi - one), axioms=reflection)
    assert not decide(X, one, axioms=reflection)


def test_axioms_of_your_own_work_together_with_the_others():
    light = equation("nothing moves the base", H @ E @ X, zero(Joint, Body), "made up")
    assert decide(H @ E @ X @ phi, zero(Joint, Body), axioms=light)
    assert decide(X @ E.T @ H.T, zero(Body, Joint), axioms=light)
    twin = equation("X carries the gain", X @ G, G, "made up")
    assert decide(X @ P @ H.T, P @ H.T, axioms=twin)
    assert decide(G.T @ X @ b, G.T @ b, axioms=twin)
    assert counterexample(X @ P @ H.T, P @ H.T) is not None


def test_an_extended_theory_keeps_the_one_that_it_came_from():
    theory = TREE.extended(reflection, "with X")
    assert theory.name == "with X" and theory.base is TREE and X in theory.letters
    assert theory.axioms == TREE.axioms + reflection
    assert len(theory.table.rules) == len(TREE.table.rules) + 1
    assert X not in TREE.letters
    assert TREE.extended(()) is TREE


def test_axioms_that_contradict_the_theory_are_refused():
    still = equation("E is the identity", E, one, "made up")
    with pytest.raises(CompletionError, match="contradict"):
        decide(phi, psi, axioms=still)
    with pytest.raises(CompletionError, match="contradict"):
        decide(phi, psi, axioms=[Axiom("nothing", polynomial(joint, no_inverse), "made up")])
