"""Expressions beside the catalogue, compiled, against explicit matrices in the user's frames."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.algebra import (
    E0,
    A,
    Body,
    D,
    E,
    G,
    H,
    Joint,
    M,
    Mi,
    P,
    R,
    Structure,
    appendix,
    b,
    identity,
    inertias,
    leaf,
    leaves,
    logdet,
    phi,
    placements,
    psi,
    qd,
    tau,
    whole,
)
from hinge.binding import Needs, bind
from hinge.dynamics import CATALOGUE
from hinge.errors import ArgumentError
from hinge.model import Builder
from hinge.model.joints import Revolute
from hinge.targets import system_of

ONE, MASS = identity(Joint), whole.mass
UP = H @ phi @ H.T
X = (ONE + MASS).inv()
SQUARES = (ONE + MASS @ MASS).inv()
EXPRESSIONS = (
    X @ UP.T + UP @ X,
    Mi @ UP.T + UP @ Mi,
    E0 @ G @ H @ E0.T,
    E0 @ E0.T,
    2 * E0 @ E0.T - E0 @ P @ psi.T @ R @ E0.T,
    E0 @ M @ E0.T @ E0 @ M @ E0.T,
    H @ H.T,
    UP,
    b.T @ b,
    H @ E @ E @ H.T,
    SQUARES @ tau,
    logdet(M),
    H @ appendix.Phi @ appendix.L @ tau,
    (M + H.T @ H).inv() @ H.T @ tau,
)


@pytest.mark.parametrize("e", EXPRESSIONS, ids=str)
@pytest.mark.parametrize("seed", [2, 3])
def test_compiled_expressions_are_the_matrices(e, seed):
    robot = robots.random_tree(5, seed, ["revolute", "spherical", "prismatic"], rotors=False)
    rng = np.random.default_rng(seed)
    q = hinge.random_configuration(robot, rng)
    given = {"q": q, "qd": rng.normal(size=robot.nv), "tau": rng.normal(size=robot.nv)}
    wanted = system_of(bind(robot, Needs(own_frames=True)), given).evaluate(e)
    f = hinge.compile(e, robot)
    found = f(q, **{name: given[name] for name in f.inputs})
    assert np.allclose(np.reshape(found, np.shape(wanted)), wanted, rtol=1e-9, atol=1e-9)


def test_outputs_do_not_depend_on_what_is_asked_beside_them():
    robot = robots.random_tree(5, 2, ["revolute"])
    q, v = hinge.random_configuration(robot, seed=1), np.ones(robot.nv)
    alone = hinge.compile(H @ H.T, robot)(q)
    beside = hinge.compile({"y": H @ H.T, "V": phi.T @ H.T @ qd}, robot)(q, v)
    assert np.allclose(beside["y"], alone)


def test_a_robot_that_cannot_move_has_empty_inverses():
    robot = robots.random_tree(3, 0, joints=["fixed"])
    assert hinge.compile(X @ tau, robot)(np.zeros(0), tau=np.zeros(0)).shape == (0,)
    assert hinge.compile(X, robot)(np.zeros(0)).shape == (0, 0)


def test_a_singular_state_gets_nan_and_no_other():
    own = leaf("A", Joint, Joint, Structure.DIAGONAL, self_adjoint=True)
    robot = robots.double_pendulum()
    f = hinge.compile(own.inv() @ tau, robot)
    found = f(np.zeros(2), A=np.stack([np.eye(2), np.zeros((2, 2))]), tau=np.ones(2))
    assert np.array_equal(found[0], [1, 1])
    assert np.isnan(found[1]).all()


def test_a_symmetric_letter_takes_no_other_matrix():
    own = leaf("A", Body, Body, Structure.DIAGONAL, self_adjoint=True)
    f = hinge.compile(H @ phi @ own @ phi.T @ H.T, robots.double_pendulum())
    with pytest.raises(ArgumentError, match="A: expected a symmetric matrix"):
        f(np.zeros(2), A=np.stack([np.triu(np.ones((6, 6)))] * 2))
    blocks = np.stack([x.inertia.matrix() for x in robots.double_pendulum().bodies])
    robot = robots.double_pendulum()
    assert np.allclose(
        hinge.compile(H @ phi @ own @ phi.T @ H.T, robot)(np.ones(2), A=blocks),
        hinge.mass_matrix(robot, np.ones(2)),
    )


def test_axes_and_nodes_that_nothing_shows_are_refused():
    robot = robots.panda()
    with pytest.raises(ArgumentError, match="which nothing in the expression shows"):
        hinge.compile(MASS, robot, expressed="world")
    with pytest.raises(ArgumentError, match="nodes: expected"):
        hinge.compile(hinge.algebra.B.T @ phi.T @ H.T, robot)


def test_a_singular_inverse_is_not_taken_for_granted():
    proof = hinge.prove((G @ H).inv(), identity(Body))
    assert "provided that" in str(proof)
    both = hinge.compile({"y": (H.T @ H).inv() @ b, "z": Mi @ tau}, robots.panda())
    q, v = hinge.neutral(robots.panda()), np.ones(7)
    alone = hinge.compile(Mi @ tau, robots.panda())(q, tau=v)
    assert np.allclose(both(q, v, tau=v)["z"], alone)


def test_letters_of_one_name_are_refused():
    other = leaf("qd", Joint, tau.domain, meaning="mine")
    with pytest.raises(ArgumentError, match="qd: two different letters"):
        hinge.derive(H @ phi @ b + other)
    assert leaves(other) == {other}


@pytest.mark.parametrize("name", ["panda", "quadruped"])
def test_parameters_are_vectors_like_others(name):
    robot = getattr(hinge.robots, name)()
    n, rng = len(robot.bodies), np.random.default_rng(0)
    q = hinge.random_configuration(robot, 1)
    for letter, width in ((inertias, 10), (placements, 7)):
        x = rng.standard_normal((n, width))
        f = hinge.compile(letter.T @ letter, robot, target="numpy")
        assert np.allclose(f(q, **{letter.name: x}), (x**2).sum())


def test_a_regressor_stands_beside_other_results():
    robot = hinge.robots.panda()
    q, rng = hinge.random_configuration(robot, 2), np.random.default_rng(1)
    qd, qdd = rng.standard_normal((2, robot.nv))
    e = {"mass": H @ phi @ M @ phi.T @ H.T, "tau": CATALOGUE["inverse_dynamics"], "Y": H @ phi @ A}
    for target in ("numpy", "llvm"):
        found = hinge.compile(e, robot, target=target)(q, qd, qdd=qdd)
        assert np.allclose(found["mass"], hinge.mass_matrix(robot, q))
        assert np.allclose(found["tau"], hinge.inverse_dynamics(robot, q, qd, qdd))
        whole = found["Y"] @ hinge.inertial_parameters(robot).ravel() + robot.reflected_inertia * qdd
        assert np.allclose(whole, found["tau"])


def test_what_depends_on_frames_is_in_the_bodies_own():
    robot, rng = hinge.robots.random_tree(5, 3), np.random.default_rng(2)
    q = hinge.random_configuration(robot, 3)
    qd, qdd = rng.standard_normal((2, robot.nv))
    given = {"q": q, "qd": qd, "qdd": qdd, "g": np.r_[0, 0, 0, -robot.gravity]}
    wanted = system_of(bind(robot, Needs(own_frames=True)), given).matrix(A.T @ A)
    for target in ("numpy", "llvm"):
        found = hinge.compile(A.T @ A, robot, target=target)(q, qd, qdd=qdd)
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("beside", [X @ tau, H @ appendix.Phi @ appendix.L @ tau], ids=str)
def test_a_log_determinant_may_stand_beside_what_is_cheapest_as_it_is(beside):
    robot = robots.double_pendulum()
    found = hinge.compile({"l": logdet(D), "y": beside}, robot)(np.ones(2), tau=np.ones(2))
    assert np.allclose(found["l"], hinge.compile(logdet(D), robot)(np.ones(2)))
    assert np.allclose(found["y"], hinge.compile(beside, robot)(np.ones(2), tau=np.ones(2)))


@pytest.mark.parametrize("target", ["numpy", "llvm"])
def test_a_body_without_inertia_has_no_log_determinant(target):
    b = Builder("massless")
    b.body("arm", joint=Revolute((1, 0, 0)), inertia=robots.solid_rod(1.0, 0.2, 0.02, (0, 0, 0.1)))
    b.body("mark", parent="arm")
    with pytest.raises(ArgumentError, match=r"log det M: .* singular one at joint 'mark_joint'"):
        hinge.compile(logdet(M), b.build(), target=target)


def test_blocks_that_siblings_mix_are_refused():
    robot = hinge.robots.quadruped()
    for e in (E.T @ R @ E @ P @ E.T @ P @ E, whole.K.T @ P @ whole.K @ whole.K.T @ R @ whole.K):
        with pytest.raises(ArgumentError, match="expected at most one Eᵀ X E in a product, got several"):
            hinge.compile(qd, robot, blocks={"x": e}, target="numpy")


def test_blocks_of_zero_are_refused():
    with pytest.raises(ArgumentError, match="is zero; there are no blocks to compute"):
        hinge.compile(qd, hinge.robots.panda(), blocks={"x": P - P}, target="numpy")
