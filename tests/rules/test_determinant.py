from __future__ import annotations

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
    Joint,
    K,
    M,
    Mi,
    One,
    P,
    R,
    Structure,
    appendix,
    identity,
    leaf,
    logdet,
    passive,
    phi,
    psi,
    qd,
    tau,
    whole,
    zero,
)
from hinge.errors import ArgumentError
from hinge.pipeline import derive, prove
from hinge.rules import determinant_steps, has_determinant
from hinge.targets import counterexample, random_system

one, joint = identity(Body), identity(Joint)
nothing = zero(One, One)
w = joint - H @ psi @ K
SYSTEM = random_system((-1, 0, 0, 1, 3), 4, (2, 1, 0, 3, 1))

#: (expression, what it becomes)
REACHED = {
    "the mass matrix": (logdet(whole.mass), logdet(D)),
    "the passive mass matrix": (logdet(passive.mass), logdet(passive.D)),
    "the mass matrix in other words": (logdet(H @ (phi @ R + R @ phi.T - R) @ H.T), logdet(D)),
    "its inverse": (logdet(whole.mass.inv()), -logdet(D)),
    "the inverse as a letter": (logdet(Di @ Mi.inv()), None),
    "a product": (logdet(D @ Di @ D), 2 * logdet(D) + logdet(Di)),
    "a product of inverses": (logdet(D.inv() @ D.inv()), -2 * logdet(D)),
    "innovations": (logdet(joint + H @ phi @ K), nothing),
    "whitening": (logdet(w), nothing),
    "whitening, adjoint": (logdet(w.T), nothing),
    "the factors of the inverse": (logdet(w.T @ Di @ w), logdet(Di)),
    "propagation": (logdet(phi), nothing),
    "articulated propagation": (logdet(psi @ phi), nothing),
    "inverse of a propagation": (logdet(phi.inv()), nothing),
    "a step": (logdet(one - E), nothing),
    "two steps": (logdet(one - E + 3 * E @ M @ Es), nothing),
    "the identity": (logdet(joint), nothing),
    "a sum": (3 * logdet(whole.mass) - logdet(M), 3 * logdet(D) - logdet(M)),
    "a leaf": (logdet(P), logdet(P)),
}  # fmt: skip


def last(e):
    steps = list(determinant_steps(e))
    return steps[-1][2] if steps else e


@pytest.mark.parametrize("name", [n for n, (_, wanted) in REACHED.items() if wanted is not None])
def test_a_determinant_is_reduced(name):
    e, wanted = REACHED[name]
    assert last(e) is wanted
    assert SYSTEM.evaluate(e) == pytest.approx(SYSTEM.evaluate(wanted), abs=1e-10)
    for label, source, form in determinant_steps(e):
        assert label and source
        assert SYSTEM.evaluate(form) == pytest.approx(SYSTEM.evaluate(e), abs=1e-10)


#: Nothing is known of these, so they stay.
STAY = [
    logdet(M + P),
    logdet(H @ H.T),
    logdet(2 * D),
    logdet(one + M),
    logdet(one + E + E.T),
    logdet(one - E @ E.T),
    logdet(2 * one - E),
    logdet(phi + psi),
    logdet(one + phi @ M),
    logdet(leaf("W", Joint, Joint)),
]


@pytest.mark.parametrize("e", STAY, ids=str)
def test_what_is_not_known_stays(e):
    assert last(e) is e
    assert not prove(e, nothing)


def test_what_stays_has_no_program():
    with pytest.raises(NotImplementedError, match="only log det of a self-adjoint block-diagonal letter"):
        _ = derive(logdet(H @ H.T)).program


#: Strictly triangular by its steps, but for a letter that has blocks everywhere.
FALSE = [
    logdet(one + E @ leaf("W", Body, Body)),
    logdet(joint + H @ E @ P @ H.T @ Mi),
    logdet(leaf("Y", Body, Body, Structure.RESOLVENT)),
]


@pytest.mark.parametrize("e", FALSE, ids=str)
def test_only_what_is_triangular_has_determinant_one(e):
    assert counterexample(e, nothing) is not None
    assert not prove(e, nothing)


def test_leaves_of_one_name_are_refused():
    with pytest.raises(ArgumentError, match="W: two different letters"):
        prove(logdet(leaf("W", Body, Body)), logdet(leaf("W", Joint, Joint)))


def test_what_could_be_known_but_is_not_stays_true():
    equal = random_system(SYSTEM.parents, 4, SYSTEM.sizes[Joint], [6] * len(SYSTEM.parents))
    for e in (logdet(phi.T), logdet(appendix.Phi @ appendix.S + one)):
        assert last(e) in (e, nothing)
        assert equal.evaluate(e) == pytest.approx(0, abs=1e-10)


def test_has_determinant():
    assert has_determinant(logdet(D))
    assert has_determinant(2 * logdet(D) - logdet(M))
    assert has_determinant(qd.T @ tau + logdet(D))
    assert not has_determinant(qd.T @ tau)
    assert not has_determinant(whole.mass)


def test_scalars_beside_a_determinant_are_kept():
    e = logdet(whole.mass) + qd.T @ tau / 2
    assert last(e) is logdet(D) + qd.T @ tau / 2
    assert list(determinant_steps(qd.T @ tau)) == []


def test_the_steps_name_the_identities():
    names = [name for name, _, _ in determinant_steps(logdet(whole.mass))]
    assert [n.split(":")[0] for n in names] == [
        "innovations factorisation of the mass matrix",
        "the determinant of a product is the product of determinants",
        "I plus a strictly triangular operator has determinant 1",
    ]


def test_the_mass_matrix_in_numbers():
    for seed in range(3):
        system = random_system((-1, 0, 0, 1, -1, 4), seed)
        mass = system.matrix(whole.mass)
        assert system.evaluate(logdet(D)) == pytest.approx(np.linalg.slogdet(mass)[1], abs=1e-9)
    assert G.domain is Joint
