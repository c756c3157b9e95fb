from __future__ import annotations

import pytest

from hinge.algebra import (
    E0,
    B,
    D,
    Di,
    E,
    G,
    H,
    K,
    M,
    Mi,
    P,
    Q,
    R,
    Ups,
    a,
    a_n,
    b,
    f_ext,
    g,
    is_frame_free,
    no_inverse,
    phi,
    polynomial,
    psi,
    qd,
    tau,
    v_n,
    whole,
)
from hinge.dynamics import CATALOGUE
from hinge.pipeline import derive

FREE = (
    whole.mass,
    H @ phi @ (M @ phi.T @ (a + E0.T @ g) + b - B @ f_ext),
    E0 @ R @ E0.T,
    B.T @ psi.T @ H.T @ Di @ H @ psi @ B,
    K.T @ psi.T @ (a + H.T @ Di @ tau),
    B.T @ Ups @ psi @ B,
    Q @ (B.T @ phi.T @ H.T @ qd + a_n - v_n),
    P @ H.T @ Di - G,
)
BOUND = (H @ H.T, b.T @ b, H @ phi @ H.T, E @ H.T @ D, H @ phi @ a, M @ b, E0 @ E0.T, phi @ phi.T)


@pytest.mark.parametrize("e", FREE, ids=str)
def test_what_means_the_same_in_all_frames(e):
    assert is_frame_free(polynomial(e, no_inverse), {})


@pytest.mark.parametrize("e", BOUND, ids=str)
def test_what_depends_on_frames(e):
    assert not is_frame_free(polynomial(e, no_inverse), {})


@pytest.mark.parametrize("verb", CATALOGUE)
def test_the_verbs_are_frame_free(verb):
    for e in derive(CATALOGUE[verb]).expressions.values():
        assert is_frame_free(polynomial(e, no_inverse), {})


def test_an_inverse_gives_what_its_operator_takes():
    inverses = {Mi: polynomial(M, no_inverse)}  # as if Mi were the inverse of M: motion ← force
    assert is_frame_free(polynomial(Mi, no_inverse), inverses)
