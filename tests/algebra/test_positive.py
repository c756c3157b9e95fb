from __future__ import annotations

from hinge.algebra import (
    B,
    Body,
    Di,
    E,
    H,
    Joint,
    K,
    M,
    P,
    Structure,
    identity,
    is_positive,
    leaf,
    no_inverse,
    phi,
    polynomial,
    psi,
)


def shown(e):
    return is_positive(polynomial(e, no_inverse))


def test_what_is_built_symmetrically_around_something_positive_is_positive():
    one = identity(Joint)
    J = B.T @ phi.T @ H.T
    assert shown(H @ phi @ M @ phi.T @ H.T)
    assert shown(B.T @ psi.T @ H.T @ Di @ H @ psi @ B)
    assert shown(J @ J.T) and shown(J.T @ J)
    assert shown(one) and shown(one + 2 * H @ P @ H.T)


def test_what_is_not_is_not():
    one, own = identity(Body), leaf("own", Body, Body, Structure.DIAGONAL, self_adjoint=True)
    assert not shown(M - P)
    assert not shown(E + E.T)
    assert not shown(H @ own @ H.T)  # a letter of the user's may be anything
    assert not shown(H @ psi @ K)
    assert not shown(one - M)
