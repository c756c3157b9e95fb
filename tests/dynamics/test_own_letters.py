"""Letters of the user's own: dense operators between any spaces, as arguments of a call."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.algebra import (
    E0,
    Active,
    B,
    Body,
    Constraint,
    H,
    Ha,
    Hp,
    Joint,
    M,
    Node,
    One,
    Passive,
    Space,
    Structure,
    World,
    b,
    f_ext,
    g,
    identity,
    leaf,
    passive,
    phi,
    qd,
    tau,
    tau_p,
    whole,
)
from hinge.binding import Needs, bind
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.targets import system_of
from tests.dynamics.coupled import random_coupled
from tests.sweeps.models import NODES, PRESCRIBED, every_joint_type, in_order

MASS = whole.mass
Tendon = Space("Tendon", "ropes")
A = leaf("A_c", Constraint, Joint)
b_c = leaf("b_c", Constraint, One)
R = leaf("R_c", Constraint, Constraint, self_adjoint=True)
W = leaf("W", Joint, Joint)
S = leaf("S_own", Joint, Joint, self_adjoint=True)
BODY = leaf("BODY", Body, Body)
PULL = leaf("PULL", Tendon, Body)
NODE = leaf("NODE", Node, Joint)
REACH = leaf("REACH", Constraint, Node)
FROM = leaf("FROM", Node, Constraint)
DOWN = leaf("DOWN", World, Constraint)
SPLIT = leaf("SPLIT", Passive, Active)
BLOCK = leaf("BLOCK", Constraint, Constraint, Structure.DIAGONAL)
OWN = (A, b_c, R, W, S, BODY, PULL, NODE, REACH, FROM, DOWN, SPLIT, BLOCK)
SIZES = {Constraint: 3, Tendon: 2}

#: The multipliers of constraints A q̈ = b: Ω = A 𝓜⁻¹ Aᵀ.
OMEGA = A @ MASS.inv() @ A.T
MULTIPLIERS = OMEGA.inv() @ (A @ MASS.inv() @ tau - b_c)
EXPRESSIONS = {
    "a product": A @ tau,
    "an adjoint": A.T @ b_c,
    "the matrix": A,
    "the transpose": A.T,
    "the Gram operator": OMEGA,
    "multipliers": MULTIPLIERS,
    "constrained accelerations": MASS.inv() @ (tau - A.T @ MULTIPLIERS),
    "columns": MASS.inv() @ A.T,
    "columns beside a matrix": A @ H @ phi @ H.T + A,
    "columns of nodes beside a matrix": A @ H @ phi @ B + REACH,
    "columns of nodes beside another's adjoint": A @ H @ phi @ B + FROM.T,
    "rows": A @ MASS.inv(),
    "an inverse": W.inv() @ tau,
    "an inverse of the adjoint": W.T.inv() @ qd,
    "the inverse itself": W.inv(),
    "a symmetric inverse": (MASS + S).inv() @ tau,
    "a sum before it": (OMEGA + R).inv() @ b_c,
    "regularised": (OMEGA + identity(Constraint)).inv() @ A @ qd,
    "a power": qd.T @ W @ qd,
    "a quadratic form": b_c.T @ R @ b_c + b_c.T @ b_c,
    "two in a row": W @ S @ W.T @ tau,
    "between bodies": H @ phi @ BODY @ phi.T @ H.T @ qd,
    "between bodies, adjoint": BODY.T @ phi.T @ H.T @ qd,
    "from bodies": PULL @ phi.T @ H.T @ qd,
    "to bodies": H @ phi @ PULL.T @ PULL @ phi.T @ H.T @ qd,
    "from nodes": NODE.T @ f_ext,
    "to nodes": H @ phi @ B @ NODE @ qd,
    "the world": E0.T @ DOWN @ b_c,
    "from the world": DOWN.T @ g,
    "passive and active": SPLIT.T @ passive.mass.inv() @ tau_p,
    "passive and active, columns": Ha @ phi @ M @ phi.T @ Hp.T @ SPLIT,
    "blocks at the world": (BLOCK @ OMEGA @ BLOCK.T).inv() @ BLOCK @ b_c,
    "beside forces": W @ (tau - H @ phi @ b),
}


@pytest.fixture(scope="module")
def robot():
    return every_joint_type(3).robot


def options(e):
    used = hinge.algebra.leaves(e)
    nodes = NODES if {Node} & {s for x in used for s in (x.range, x.domain)} else ()
    return {"nodes": nodes, "prescribed": PRESCRIBED, "sizes": SIZES}


def values(binding, letters, rng, batch=()):
    """Return a random value for each letter, symmetric where it is self-adjoint."""
    found = {}
    for x in letters:
        shape = [binding.length(s) for s in (x.range, x.domain) if s is not One]
        found[x.name] = rng.normal(size=(*batch, *shape))
        if x.self_adjoint:
            found[x.name] = found[x.name] @ np.swapaxes(found[x.name], -1, -2)
    return found


def wanted(robot, e, q, given):
    """Return the value of an expression by explicit matrices in the frames of the user."""
    binding = bind(robot, Needs(own_frames=True), **options(e))
    system = system_of(binding, {"q": q, "g": -np.pad(robot.gravity, (3, 0)), **given}, OWN)
    return in_order(binding, system, e)


def shown(e, x):
    """Return rows of nodes or bodies as a flat vector."""
    return x.reshape(-1) if One in (e.range, e.domain) and np.ndim(x) == 2 else x


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_every_joint_type_against_matrices(robot, name):
    e = EXPRESSIONS[name]
    f, rng = hinge.compile(e, robot, **options(e)), np.random.default_rng(1)
    q = hinge.random_configuration(robot, rng)
    letters = [x for x in f.inputs.values() if x is not g]
    flat = values(f.binding, letters, rng)
    given = {n: x.reshape(-1, 6) if n == "f_ext" else x for n, x in flat.items()}
    expected = wanted(robot, e, q, flat)
    found = shown(e, f(q, **given))
    assert found.shape == np.shape(expected)
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * scale)


SIDE_BY_SIDE = {
    "force": MULTIPLIERS,
    "qdd": MASS.inv() @ (tau - A.T @ MULTIPLIERS),
    "omega": OMEGA,
    "mass": MASS,
    "power": qd.T @ S @ qd,
}


def by_numpy(robot, q, given):
    """Return the same from the mass matrix of one state."""
    mass, a = hinge.mass_matrix(robot, q), given["A_c"]
    omega = a @ np.linalg.inv(mass) @ a.T
    force = np.linalg.solve(omega, a @ np.linalg.solve(mass, given["tau"]) - given["b_c"])
    return {
        "force": force,
        "qdd": np.linalg.solve(mass, given["tau"] - a.T @ force),
        "omega": omega,
        "mass": mass,
        "power": given["qd"] @ given["S_own"] @ given["qd"],
    }


@pytest.mark.parametrize("target", ["numpy", "llvm"])
def test_outputs_side_by_side_in_batches(target):
    robot = robots.panda()
    f = hinge.compile(SIDE_BY_SIDE, robot, sizes=SIZES, target=target)
    rng = np.random.default_rng(2)
    q = rng.normal(size=(4, 7))
    for each in ((), ("A_c",), ("S_own", "b_c"), ("A_c", "S_own", "tau", "qd", "b_c")):
        given = {
            n: x
            for batch, names in (((4,), each), ((), set(f.inputs) - set(each)))
            for n, x in values(f.binding, [f.inputs[k] for k in names], rng, batch).items()
        }
        found = f(q, **given)
        for k in range(4):
            at = {n: x[k] if n in each else x for n, x in given.items()}
            for name, x in by_numpy(robot, q[k], at).items():
                np.testing.assert_allclose(found[name][k], x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", ["U", "H", "R"])
def test_every_shape_of_native_code(shape):
    robot = robots.quadruped()
    f = hinge.compile(SIDE_BY_SIDE, robot, sizes=SIZES, target="llvm", shape=shape)
    rng = np.random.default_rng(3)
    q, given = hinge.random_configuration(robot, rng), values(f.binding, f.inputs.values(), rng)
    for name, x in by_numpy(robot, q, given).items():
        np.testing.assert_allclose(f(q, **given)[name], x, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("target", ["numpy", "llvm"])
def test_single_precision(target):
    robot = robots.panda()
    f = hinge.compile(SIDE_BY_SIDE, robot, sizes=SIZES, target=target)
    rng = np.random.default_rng(4)
    q, given = rng.normal(size=7), values(f.binding, f.inputs.values(), rng)
    single = f(q.astype(np.float32), **{n: x.astype(np.float32) for n, x in given.items()})
    for name, x in f(q, **given).items():
        assert single[name].dtype == np.float32
        np.testing.assert_allclose(single[name], x, rtol=1e-2, atol=1e-2 * np.abs(x).max())


def test_a_matrix_changes_from_call_to_call_and_results_go_where_they_are_wanted():
    robot = robots.panda()
    f, rng = hinge.compile(A @ tau, robot, sizes={Constraint: 2}), np.random.default_rng(5)
    out, q, x = np.empty((3, 2)), rng.normal(size=(3, 7)), rng.normal(size=7)
    for _ in range(2):
        a = rng.normal(size=(2, 7))
        assert f(q, A_c=a, tau=x, out=out) is out
        np.testing.assert_allclose(out, np.tile(a @ x, (3, 1)))


def test_a_space_may_be_empty():
    robot = robots.panda()
    f = hinge.compile({"y": MASS.inv() @ (tau - A.T @ b_c), "A": A @ qd}, robot, sizes={Constraint: 0})
    q, x = np.zeros(7), np.ones(7)
    found = f(q, x, tau=x, A_c=np.zeros((0, 7)), b_c=np.zeros(0))
    np.testing.assert_allclose(found["y"], np.linalg.solve(hinge.mass_matrix(robot, q), x))
    assert found["A"].shape == (0,)


def test_coupled_joints_take_dense_letters():
    robot = hinge.embed_couplings(random_coupled(6, 1, kinds=("revolute",)))
    assert len(robot.independent) < len(robot.joints)
    f, rng = hinge.compile(OMEGA, robot, sizes={Constraint: 2}), np.random.default_rng(6)
    a, q = rng.normal(size=(2, robot.nv)), hinge.random_configuration(robot, rng)
    mass = hinge.mass_matrix(robot, q)
    np.testing.assert_allclose(f(q, A_c=a), a @ np.linalg.solve(mass, a.T), rtol=1e-9)


def test_programs_of_other_sizes_are_other_programs():
    robot, q, x = robots.panda(), np.zeros(7), np.ones(7)
    for n in (2, 4):
        f = hinge.compile(A @ tau, robot, sizes={Constraint: n})
        np.testing.assert_allclose(f(q, A_c=np.ones((n, 7)), tau=x), np.full(n, 7.0))


# Errors.


def test_a_symmetric_letter_takes_no_other_matrix():
    f = hinge.compile((MASS + S).inv() @ tau, robots.double_pendulum())
    with pytest.raises(ArgumentError, match="S_own: expected a symmetric matrix"):
        f(np.zeros(2), S_own=np.triu(np.ones((2, 2))), tau=np.ones(2))


def test_wrong_shapes_are_named():
    f = hinge.compile(A @ tau, robots.double_pendulum(), sizes=SIZES)
    with pytest.raises(ArgumentError, match=r"A_c: expected shape \(…, 3, 2\), got \(2, 2\)"):
        f(np.zeros(2), A_c=np.ones((2, 2)), tau=np.ones(2))
    with pytest.raises(UnboundLeafError, match="A_c: expected a value"):
        f(np.zeros(2), tau=np.ones(2))


def test_a_space_without_a_length_is_named():
    with pytest.raises(UnboundLeafError, match=r"space Constraint: .* sizes=\{Constraint: n\}"):
        hinge.compile(A @ tau, robots.double_pendulum())
    with pytest.raises(UnboundLeafError, match="space Tendon"):
        hinge.compile(PULL @ phi.T @ H.T @ qd, robots.double_pendulum(), sizes={Constraint: 3})


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (3, "expected a dict of lengths by space"),
        ({"Constraint": 3}, "expected a space of hinge.algebra as key, got 'Constraint'"),
        ({Joint: 3}, "whose length the model gives"),
        ({World: 6}, "whose length the model gives"),
        ({Constraint: -1}, "expected an integer ≥ 0, got -1"),
        ({Constraint: 2.5}, "expected an integer ≥ 0, got 2.5"),
        ({Constraint: True}, "expected an integer ≥ 0, got True"),
    ],
)
def test_wrong_sizes_are_named(sizes, words):
    with pytest.raises(ArgumentError, match=words):
        hinge.compile(A @ tau, robots.double_pendulum(), sizes=sizes)


def test_a_letter_from_a_space_at_the_world_to_bodies_is_not_block_diagonal():
    own = leaf("A", Joint, Constraint, Structure.DIAGONAL)
    with pytest.raises(UnboundLeafError, match=r"A: is Joint ← Constraint, block-diagonal.*expected a dense"):
        hinge.compile(own @ b_c, robots.double_pendulum(), sizes=SIZES)


def test_a_row_is_the_adjoint_of_a_vector():
    with pytest.raises(UnboundLeafError, match=r"c: is One ← Joint.*leaf\('c', Joint, One\).T"):
        hinge.compile(leaf("c", One, Joint) @ tau, robots.double_pendulum())
