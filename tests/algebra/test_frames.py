from __future__ import annotations

import pytest

from hinge.algebra import (
    E0,
    A,
    B,
    Body,
    D,
    Di,
    E,
    G,
    H,
    K,
    M,
    One,
    P,
    Q,
    R,
    Structure,
    Ups,
    World,
    a,
    a_n,
    appendix,
    b,
    f_ext,
    g,
    identity,
    is_frame_free,
    leaf,
    logdet,
    phi,
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
    H @ phi @ (P @ H.T @ Di - G),
    H @ (identity(Body) - E).inv() @ B,
    H @ phi @ M.inv().inv() @ phi.T @ H.T,
    H @ P.T @ P.inv() @ phi @ B,
    logdet(whole.mass),
    E0.T.T @ phi @ M @ E0.T @ leaf("w", World, One),
)
OWN = leaf("own", Body, Body, Structure.DIAGONAL, self_adjoint=True)
BOUND = (
    H @ H.T, b.T @ b, H @ phi @ H.T, E0 @ E @ H.T @ D, H @ phi @ a, E0 @ M @ b, E0 @ E0.T,
    E0 @ phi @ phi.T @ H.T, A.T @ A, H @ phi @ leaf("load", Body, One), H @ OWN @ H.T, H @ OWN.inv() @ B,
    H @ (identity(Body) + M) @ B,
    H @ (M + E) @ phi.T @ H.T, H @ phi @ M.inv() @ b, (H @ H.T).inv(), logdet(H @ H.T), logdet(P),
    H @ appendix.S @ B, H @ appendix.L,
)  # fmt: skip


@pytest.mark.parametrize("e", FREE, ids=str)
def test_what_means_the_same_in_all_frames(e):
    assert is_frame_free(e)


@pytest.mark.parametrize("e", BOUND, ids=str)
def test_what_depends_on_frames(e):
    assert not is_frame_free(e)


@pytest.mark.parametrize("verb", CATALOGUE)
def test_the_verbs_are_frame_free_as_given_and_as_derived(verb):
    assert is_frame_free(CATALOGUE[verb])
    for e in derive(CATALOGUE[verb]).expressions.values():
        assert is_frame_free(e)


def test_what_shows_bodies_is_in_their_own_frames():
    assert not any(map(is_frame_free, (b, phi, M, phi.T @ H.T @ qd)))
