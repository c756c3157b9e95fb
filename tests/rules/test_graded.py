"""Theories of derivatives: their axioms in numbers, proofs of closed forms, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.linalg import expm

from hinge.algebra import (
    A0,
    E0,
    V0,
    B,
    Body,
    CovariantDynamics,
    E,
    H,
    Joint,
    M,
    Polynomial,
    R,
    Structure,
    World,
    ad,
    composite,
    definition_of,
    derivative,
    f_ext,
    identity,
    leaf,
    leaves,
    letters_of,
    phi,
    q,
    qd,
    zero,
)
from hinge.errors import ArgumentError
from hinge.pipeline import prove
from hinge.rules import DERIVATIVES, TREE, DegreeError, decide, deciding_theory
from hinge.rules.graded import ACCELERATION, FORCE, MOMENTUM, VELOCITY
from hinge.rules.identities import DERIVATIVE_FORMS
from hinge.rules.identities.derivatives import constant_hinges
from hinge.targets import random_system
from tests.folding import folded
from tests.rules.false_derivatives import FALSE_DERIVATIVES

FOREST = (-1, 0, 0, 1, 1, -1, 5)
c = CovariantDynamics()
one = identity(Body)
PATTERN = {
    VELOCITY.own: c.V_hat,
    VELOCITY.parent: c.V_parent,
    ACCELERATION.own: c.A_hat,
    ACCELERATION.parent: c.A_parent,
    ACCELERATION.start: ad(E0.T @ c.gravity, context=c.context),
    FORCE.own: c.f_bar,
    FORCE.total: c.F_bar,
    MOMENTUM: c._bar(M @ c.V),
}


@cache
def system(seed):
    return random_system(FOREST, seed, [6, 1, 2, 3, 0, 1, 2], spatial=True)


def still_hinges(x, expressions):
    """Return a system whose hinge maps are constant: rates and derivatives of these are zero."""
    rates = [y for y in letters_of(expressions) if y.origin and y.origin.kind in ("partial", "along")]
    zeros = {y: np.zeros((x.length(y.range), x.length(y.domain))) for y in rates}
    return replace(x, values={**x.values, **zeros})


# The axioms.


@folded(theory=DERIVATIVES, seed=(0,))
def test_axioms_and_rules_hold_in_numbers(theory, seed):
    x = system(seed)
    x = replace(x, values={**x.values, **{y: x.matrix(z) for y, z in PATTERN.items()}})
    rules = [Polynomial(r.lhs[0].range, r.lhs[-1].domain, r.difference()) for r in theory.table.rules]
    for p in (*(axiom.difference for axiom in theory.axioms), *rules):
        e = p.expression()
        assert np.linalg.norm(x.matrix(e)) <= 1e-12 * np.linalg.norm(x.magnitude(e)), str(e)


def test_an_axiom_of_other_numbers_fails():
    x = system(0)
    swapped = {**PATTERN, VELOCITY.parent: c.V_hat, FORCE.total: c.f_bar}
    x = replace(x, values={**x.values, **{y: x.matrix(z) for y, z in swapped.items()}})
    off = [np.linalg.norm(x.matrix(a.difference.expression())) for a in (*VELOCITY.axioms(), *FORCE.axioms())]
    assert sum(gap > 1e-3 for gap in off) >= 4


def moved(x, d, size):
    """Return a system displaced along joint rates d: frames of children turn by exp(−ad(Hᵀ d))."""
    across = x.matrix(H).T @ d * size
    at, turns = x.bounds(Body), np.zeros((x.length(Body),) * 2)
    whole = replace(x, values={**x.values, TURN: across}).matrix(ad(TURN))
    for i in range(len(x.parents)):
        here = slice(at[i], at[i + 1])
        turns[here, here] = expm(-whole[here, here])
    changed = {E: x.matrix(E) @ turns.T, E0: x.matrix(E0) @ turns.T}
    return replace(x, values={**x.values, **changed})


TURN = leaf("turn", Body, c.V.domain)


def change(e, x, d, size=1e-3):
    """Return the change of an expression along joint rates, by differences of the fourth order."""
    at = {k: moved(x, d, k * size).matrix(e) for k in (-2, -1, 1, 2)}
    return (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * size)


@folded(letter=(phi.T, E, E0), seed=(1,))
def test_propagation_changes_as_the_rule_says(letter, seed):
    x = system(seed)
    d = np.random.default_rng(seed).standard_normal(x.length(Joint))
    rates = leaf("d", Joint, c.V.domain)
    wanted = change(letter, x, d)
    found = replace(x, values={**x.values, rates: d}).matrix(derivative(letter, q, along=rates))
    assert np.linalg.norm(found - wanted) < 1e-8 * np.linalg.norm(wanted)


MOVING = CovariantDynamics(velocity=V0, gravity=A0, load=B @ f_ext)


@folded(on=(c, MOVING), seed=(0,))
def test_closed_forms_are_the_changes_of_inverse_dynamics(on, seed):
    forms = [on.by_q, on.by_qd, derivative(on.tau, q), derivative(on.tau, qd)]
    x = still_hinges(system(seed), forms)
    by_q = x.matrix(on.by_q)
    assert np.linalg.norm(by_q - x.matrix(derivative(on.tau, q))) < 1e-11 * np.linalg.norm(by_q)
    for k in (0, 4, x.length(Joint) - 1):
        d = np.eye(x.length(Joint))[k]
        wanted = change(on.tau, x, d)[:, 0]
        assert np.linalg.norm(by_q @ d - wanted) < 1e-8 * max(1, np.linalg.norm(wanted))
    by_qd, rates = x.matrix(on.by_qd), x.values[qd]
    for k in (0, 5):
        d = np.eye(len(rates))[k]
        up, down = (replace(x, values={**x.values, qd: rates + s * d}).matrix(on.tau) for s in (1, -1))
        wanted = (up - down)[:, 0] / 2  # quadratic in the rates, so exact
        assert np.linalg.norm(by_qd @ d - wanted) < 1e-11 * max(1, np.linalg.norm(wanted))


# Closed forms.


@folded(identity=DERIVATIVE_FORMS, seed=(2,))
def test_a_closed_form_holds_in_numbers(identity, seed):
    x = still_hinges(system(seed), (identity.left, identity.right)) if identity.given else system(seed)
    left, right = x.matrix(identity.left), x.matrix(identity.right)
    assert np.linalg.norm(left - right) < 1e-9 * np.linalg.norm(left)


@folded(identity=[i for i in DERIVATIVE_FORMS if i.given][::3])
def test_a_form_of_constant_hinge_maps_needs_that(identity):
    assert not decide(identity.left, identity.right)


@folded(identity=FALSE_DERIVATIVES)
def test_a_false_form_is_refuted(identity):
    proof = prove(identity.left, identity.right)
    assert not proof
    found = proof.counterexample
    assert found is not None and found.spatial is not identity.name.startswith("composite")
    assert ("frames in space" in str(proof)) is found.spatial
    again = random_system(found.parents, found.seed, found.dofs, found.widths, spatial=found.spatial)
    gap = np.abs(again.matrix(identity.left) - again.matrix(identity.right)).max()
    assert gap == pytest.approx(abs(found.left - found.right), rel=1e-9)


def test_a_proof_of_a_closed_form_unfolds_to_axioms():
    decision = decide(derivative(c.tau, q), c.by_q)
    names = {a.name for _, a, _ in decision.certificate}
    assert {"covariance of ad", "accumulated force", "linearity of cross products"} <= names
    assert not any("hinge map" in name for name in names)
    assert constant_hinges(c.tau)


# The theories.


def test_a_theory_is_that_of_the_letters():
    assert deciding_theory(H @ phi @ M) is TREE
    assert [t.degree for t in DERIVATIVES] == [1, 2]
    first = deciding_theory(c.V_hat @ phi.T)
    assert first.degree == 1 and c.V_hat in first.letters and VELOCITY.own not in first.letters
    assert ACCELERATION.own in first.letters
    assert deciding_theory(c.V_hat @ phi.T @ c.V_hat).degree == 2


def test_a_renamed_theory_has_the_rules_of_the_pattern():
    theory = DERIVATIVES[0].renamed({VELOCITY.own: c.V_hat, VELOCITY.parent: c.V_parent})
    assert len(theory.table.rules) == len(DERIVATIVES[0].table.rules)
    decision = decide(c.V_parent @ E.T, E.T @ c.V_hat, theory=theory)
    assert decision and decision.check()
    assert not decide(c.V_parent @ E.T, E.T @ c.V_hat, theory=DERIVATIVES[0])


def test_words_above_the_degree_are_refused():
    word = c.V_hat @ c.V_hat @ c.V_hat
    with pytest.raises(DegreeError, match="words of degree 3: expected at most 2"):
        decide(word, c.V_hat)
    with pytest.raises(DegreeError, match="degree 2: expected at most 1"):
        decide(c.V_hat @ c.V_hat, c.V_hat, theory=DERIVATIVES[0])
    # What the rules lead to zero is equal at any degree.
    assert decide(c.V_parent @ c.V_parent @ c.V_parent @ E.T, E.T @ word)
    assert decide(word @ phi @ E, word @ (phi - one))


def test_letters_of_several_motions_are_told_apart():
    other = CovariantDynamics(gravity=zero(c.gravity.range, c.gravity.domain))
    assert decide(other.A_parent @ E.T, E.T @ other.A_hat)
    assert not decide(other.A_parent @ E.T, E.T @ c.A_hat)
    both = other.A_hat @ phi.T @ c.V_hat
    assert decide(both - both + c.V_parent @ E.T, E.T @ c.V_hat)
    merged, own = c.V_hat, CovariantDynamics(context="own frames").V_hat
    assert not decide(merged, own)


def test_gravity_stays_at_the_roots():
    start = ad(E0.T @ c.gravity, context=c.context)
    assert decide(start @ phi.T, start)
    assert decide(c.A_parent @ E0.T, start @ E0.T)
    assert decide(c.V_parent @ E0.T, zero(Body, World))
    assert decide(phi @ R @ c.V_hat @ E0.T, R @ c.V_hat @ E0.T)


# Composites.


def test_a_composite_is_defined_by_its_recursion():
    Z = leaf("Z", Body, Body, Structure.DIAGONAL)
    C = composite(Z)
    assert definition_of(C) is Z + E @ C @ E.T
    assert composite(M) is R and composite(Z) is C and not C.self_adjoint
    assert composite(Z + Z.T).self_adjoint
    x = system(0)
    assert np.allclose(x.matrix(C), x.matrix(Z + E @ C @ E.T))
    assert np.allclose(x.matrix(composite(c.f_bar, context=c.context)), x.matrix(c.F_bar))
    assert leaves(c.f) <= letters_of([composite(c.f_bar)])


@pytest.mark.parametrize("blocks", [E, H.T @ H @ phi, H, c.V])
def test_a_composite_of_something_else_is_refused(blocks):
    with pytest.raises(ArgumentError, match="Z: expected a block-diagonal operator Body ← Body"):
        composite(blocks)


def test_a_composite_has_no_derivative():
    with pytest.raises(ArgumentError, match="stands for the result of a recursion"):
        derivative(composite(M + M @ M) @ c.V, q)
