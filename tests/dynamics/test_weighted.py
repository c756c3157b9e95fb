"""Weighted trees: against explicit matrices, Gaussian conditioning, a textbook smoother, and circuits."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

import hinge
from hinge import reference
from hinge.algebra import (
    E0,
    B,
    Body,
    D,
    E,
    G,
    H,
    Joint,
    M,
    One,
    P,
    Q,
    Space,
    Structure,
    Ups,
    a,
    b,
    g,
    identity,
    leaf,
    logdet,
    phi,
    psi,
    q,
    tau,
    x,
)
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.model import WeightedTree
from tests.dynamics.smoothing import TOWARDS_ROOT, chain, chain_tree, mass, positive, random_model

TARGETS = ["llvm", "numpy"]
TREE = (-1, 0, 1, 0, 3, 3, -1, 6)
z = leaf("z", Body, One)


def random_tree(parents=TREE, seed=1):
    """Return a tree with random matrices and blocks of 1 to 6 numbers."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, len(parents))
    hinges = [int(rng.integers(0 if n > 1 else 1, n + 1)) for n in sizes]
    e = [
        None if p < 0 else 0.5 * rng.standard_normal((sizes[p], n))
        for p, n in zip(parents, sizes, strict=True)
    ]
    h = [rng.standard_normal((m, n)) for m, n in zip(hinges, sizes, strict=True)]
    return WeightedTree(parents, e, h, [positive(rng, n) for n in sizes])


def whole(tree):
    """Return E, H, M and φ as matrices."""
    rows = np.cumsum([0, *(len(m) for m in tree.M)])
    e = np.zeros((tree.size, tree.size))
    for i, p in enumerate(tree.parents):
        if p >= 0:
            e[rows[p] : rows[p + 1], rows[i] : rows[i + 1]] = tree.E[i]
    h = np.zeros((tree.nv, tree.size))
    m = np.zeros((tree.size, tree.size))
    for i in range(len(tree)):
        h[tree.joint_slice(i), tree.body_slice(i)] = tree.H[i]
        m[tree.body_slice(i), tree.body_slice(i)] = tree.M[i]
    return e, h, m, np.linalg.inv(np.eye(tree.size) - e)


def close(found, wanted, bound=1e-11):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0.0) <= bound * max(1.0, np.abs(wanted).max(initial=0.0))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_expressions_are_those_of_explicit_matrices(target, seed):
    tree, rng = random_tree(seed=seed), np.random.default_rng(seed)
    _, h, m, gather = whole(tree)
    dense = h @ gather @ m @ gather.T @ h.T
    t, u, w = rng.standard_normal(tree.nv), rng.standard_normal(tree.nv), rng.standard_normal(tree.size)
    wanted = {
        "mass": dense,
        "inverse": np.linalg.inv(dense),
        "solve": np.linalg.solve(dense, t),
        "form": t @ np.linalg.solve(dense, u),
        "gathered": gather @ w,
        "scattered": gather.T @ h.T @ u,
        "covariance": gather @ m @ gather.T,
        "log_determinant": np.linalg.slogdet(dense)[1],
    }
    given = {
        "mass": mass,
        "inverse": mass.inv(),
        "solve": mass.inv() @ tau,
        "form": tau.T @ mass.inv() @ x,
        "gathered": phi @ z,
        "scattered": phi.T @ H.T @ x,
        "covariance": phi @ M @ phi.T,
        "log_determinant": logdet(mass),
    }
    f = hinge.compile(given, tree, target=target)
    found = f(tau=t, x=u, z=w)
    for name, value in wanted.items():
        close(found[name], value, 1e-10)


def test_blocks_are_as_wide_as_the_widest():
    tree = random_tree()
    f = hinge.compile(mass.inv() @ tau, tree, blocks={"P": P, "D": D, "gain": G})
    found = f(tau=np.zeros(tree.nv))
    width = max(len(m) for m in tree.M)
    assert found["P"].shape == (len(tree), width, width)
    assert found["gain"].shape == (width, tree.nv) and found["D"].shape == (tree.nv, tree.nv)
    tip = len(tree) - 1
    n = len(tree.M[tip])
    close(found["P"][tip, :n, :n], tree.M[tip])
    assert not found["P"][tip, n:].any() and not found["P"][tip, :, n:].any()


@pytest.mark.parametrize("sections", [1, 2, 6, 20])
def test_a_ladder_of_resistors_has_ratios_of_fibonacci(sections):
    f = hinge.compile(mass.inv() @ tau, ladder(sections), blocks={"P": P})
    found = f(tau=np.zeros(sections))["P"][0, 0, 0]
    fibonacci = [0, 1]
    while len(fibonacci) <= 2 * sections + 1:
        fibonacci.append(sum(fibonacci[-2:]))
    # the tip has its series resistance alone beside its shunt: one more step through both
    assert abs(found - Fraction(fibonacci[2 * sections], fibonacci[2 * sections - 1])) < 1e-14


def ladder(sections):
    """Return n sections of unit resistors in series and in shunt; the shunt of a section is its hinge's."""
    carry = np.array([[1.0, 0.0], [0.0, 0.0]])
    one = [np.ones((1, 2))] * sections
    return WeightedTree(
        range(-1, sections - 1), [None, *[carry] * (sections - 1)], one, [np.eye(2)] * sections
    )


@pytest.mark.parametrize("target", TARGETS)
def test_smoothing_towards_the_root_is_conditioning(target):
    model = random_model(TREE, 4)
    tree, y = model.towards_root(), np.random.default_rng(5).standard_normal((3, 40))
    y = y[:, : sum(len(r) for r in model.R)]
    f = hinge.compile(TOWARDS_ROOT, tree, target=target)
    found = f(tau=y)
    for k in range(3):
        states, _, (quadratic, log_determinant) = model.dense(y[k], branching=False)
        ours = [found["state"][k][tree.body_slice(i)][: model.sizes[i]] for i in range(len(tree))]
        close(np.concatenate(ours), states)
        close(found["quadratic"][k], quadratic)
        close(found["log_determinant"][k], log_determinant)


@pytest.mark.parametrize("target", TARGETS)
def test_smoothing_from_the_root_is_conditioning(target):
    model = random_model(TREE, 6, branching=True)
    tree, y = model.from_root(), np.random.default_rng(7).standard_normal(sum(len(r) for r in model.R))
    f = hinge.compile(
        {"state": phi.T @ H.T @ mass.inv() @ H @ phi @ z, "log_determinant": logdet(mass)},
        tree,
        target=target,
    )
    given, at = np.zeros(tree.size), 0
    for i, (c, r) in enumerate(zip(model.C, model.R, strict=True)):
        given[tree.body_slice(i)][: model.sizes[i]] = c.T @ np.linalg.solve(r, y[at : at + len(r)])
        at += len(r)
    found = f(z=given)
    states, _, (quadratic, log_determinant) = model.dense(y, branching=True)
    ours = [found["state"][tree.body_slice(i)][: model.sizes[i]] for i in range(len(tree))]
    close(np.concatenate(ours), states)
    noise = sum(np.linalg.slogdet(v)[1] for v in (*model.Q, *model.R))
    close(found["log_determinant"] + noise, log_determinant)
    weighed = sum(
        v @ np.linalg.solve(r, v)
        for v, r in zip(np.split(y, np.cumsum([len(r) for r in model.R])[:-1]), model.R, strict=True)
    )
    close(weighed - given @ found["state"], quadratic)


def test_a_chain_of_time_steps_is_the_smoother_of_the_textbook():
    steps = 300
    system, rng = chain(steps, 1)
    model, y = chain_tree(steps, *system), rng.standard_normal((steps, 2))
    tree = model.towards_root()
    book = reference.smoother(y, *system)
    found = hinge.compile(TOWARDS_ROOT, tree)(tau=y[::-1].ravel())
    close(found["state"].reshape(steps, 6)[::-1, :4], book.states, 1e-11)
    log_likelihood = -0.5 * (found["quadratic"] + found["log_determinant"] + y.size * np.log(2 * np.pi))
    close(log_likelihood, book.log_likelihood, 1e-12)
    spread = hinge.compile(mass.inv() @ tau, tree, blocks={"S": P - P @ Ups @ P})
    covariances = spread(tau=y[::-1].ravel())["S"][::-1, :4, :4]
    close(covariances, book.covariances, 1e-10)


def test_the_textbook_smoother_is_conditioning():
    system, rng = chain(7, 2)
    y = rng.standard_normal((7, 2))
    book = reference.smoother(y, *system)
    states, spread, (quadratic, log_determinant) = chain_tree(7, *system).dense(
        y[::-1].ravel(), branching=False
    )
    close(book.states[::-1].ravel(), states)
    close(book.covariances[0], spread[-4:, -4:])
    close(book.log_likelihood, -0.5 * (quadratic + log_determinant + 14 * np.log(2 * np.pi)))


# Matrices with each call.


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("given", [True, ("M",), ["E", "H"]], ids=str)
def test_matrices_come_with_each_call(target, given):
    trees = [random_tree(seed=3)]
    rng = np.random.default_rng(3)
    for _ in range(3):
        trees.append(with_numbers(trees[0], rng))
    names = ("E", "H", "M") if given is True else tuple(given)
    f = hinge.compile({"solve": mass.inv() @ tau, "det": logdet(mass)}, trees[0], given=given, target=target)
    t = rng.standard_normal((4, trees[0].nv))
    matrices = {n: batched([getattr(tree, n) for tree in trees], trees[0], n) for n in names}
    found = f(tau=t, **matrices)
    for k, tree in enumerate(trees):
        mixed = WeightedTree(
            trees[0].parents,
            *(getattr(tree if n in names else trees[0], n) for n in "EHM"),
        )
        _, h, m, gather = whole(mixed)
        dense = h @ gather @ m @ gather.T @ h.T
        close(found["solve"][k], np.linalg.solve(dense, t[k]), 1e-9)
        close(found["det"][k], np.linalg.slogdet(dense)[1], 1e-10)
    flat = f.weights(**matrices)
    again = f(tau=t, weights=flat)
    assert np.array_equal(again["solve"], found["solve"])


def with_numbers(tree, rng):
    """Return a tree of the same sizes with other numbers."""
    return WeightedTree(
        tree.parents,
        [rng.standard_normal(e.shape) if e.size else None for e in tree.E],
        [rng.standard_normal(h.shape) for h in tree.H],
        [positive(rng, len(m)) for m in tree.M],
    )


def batched(values, tree, name):
    """Return a list with an array (trees, n, m) for each node."""
    return [
        None if name == "E" and tree.parents[i] < 0 else np.stack([v[i] for v in values])
        for i in range(len(tree))
    ]


def test_a_thousand_models_are_a_batch():
    models, steps = 1000, 50
    rng = np.random.default_rng(1)
    systems = [chain(steps, k)[0] for k in range(20)]
    trees = [chain_tree(steps, *s).towards_root() for s in systems]
    f = hinge.compile(TOWARDS_ROOT, trees[0], given=True)
    chosen = rng.integers(0, len(systems), models)
    e = np.stack([[np.zeros((6, 6)), *t.E[1:]] for t in trees])[chosen]
    y = rng.standard_normal((models, steps, 2))
    found = f(
        E=e, H=np.stack([t.H for t in trees])[chosen], M=np.stack([t.M for t in trees])[chosen],
        tau=y[:, ::-1].reshape(models, -1),
    )  # fmt: skip
    for k in range(0, models, 100):
        book = reference.smoother(y[k], *systems[chosen[k]])
        close(found["state"][k].reshape(steps, 6)[::-1, :4], book.states, 1e-10)


def test_zeros_of_the_tree_stay_zero_and_cost_nothing():
    tree = ladder(5)
    own = hinge.compile(mass.inv() @ tau, tree, given=True)
    full = WeightedTree(
        tree.parents, [None, *[np.ones((2, 2))] * 4], tree.H, [np.full((2, 2), 0.1) + np.eye(2)] * 5
    )
    every = hinge.compile(mass.inv() @ tau, full, given=True)
    assert own.weights(E=tree_E(tree), H=tree.H, M=tree.M).shape == (4 + 10 + 10,)
    count = [f.code.operations().multiplications for f in (own, every)]
    assert count[0] < count[1] / 2
    with pytest.raises(
        ArgumentError, match=r"E\['node1'\]: expected zeros where the tree has them.* \[0, 1\]"
    ):
        own(tau=np.ones(5), E=[None, *[np.ones((2, 2))] * 4], H=tree.H, M=tree.M)


def tree_E(tree):
    return [e if e.size else None for e in tree.E]


# Calls.


def test_batches_places_for_results_and_single_precision():
    tree, rng = random_tree(), np.random.default_rng(1)
    f = hinge.compile({"y": mass.inv() @ tau, "n": tau.T @ tau}, tree)
    t = rng.standard_normal((2, 3, tree.nv))
    found = f(tau=t)
    assert found["y"].shape == t.shape and found["n"].shape == (2, 3)
    out = {"y": np.empty(t.shape), "n": np.empty((2, 3))}
    assert f(tau=t, out=out)["y"] is out["y"] and np.array_equal(out["y"], found["y"])
    one = hinge.compile(mass.inv() @ tau, tree)
    place = np.empty(tree.nv)
    assert one(tau=t[0, 0], out=place) is place
    close(place, found["y"][0, 0], 1e-13)
    single = f(tau=t.astype(np.float32))["y"]
    assert single.dtype == np.float32
    close(single, found["y"], 2e-3)
    assert one(tau=list(t[0, 0])).dtype == np.float64
    empty = one(tau=np.zeros((0, tree.nv)))
    assert empty.shape == (0, tree.nv)
    fixed = hinge.compile(mass, tree)()
    assert fixed.shape == (tree.nv, tree.nv) and fixed.dtype == np.float64


def test_matrices_in_single_precision_give_single_precision():
    tree = ladder(3)
    f = hinge.compile(mass.inv() @ tau, tree, given=True)
    e = np.zeros((3, 2, 2), np.float32)
    e[1:, 0, 0] = 1
    ones = [np.float32(1) * h for h in tree.H], [np.float32(1) * m for m in tree.M]
    found = f(tau=np.ones(3, np.float32), E=e, H=[h.astype(np.float32) for h in ones[0]],
              M=[m.astype(np.float32) for m in ones[1]])  # fmt: skip
    assert found.dtype == np.float32
    close(found, hinge.compile(mass.inv() @ tau, tree)(tau=np.ones(3)), 1e-6)


def test_derivatives_by_vectors_are_there():
    tree, rng = random_tree(), np.random.default_rng(2)
    _, h, m, gather = whole(tree)
    inverse = np.linalg.inv(h @ gather @ m @ gather.T @ h.T)
    t = rng.standard_normal(tree.nv)
    slope = hinge.compile(hinge.derivative(mass.inv() @ tau, tau), tree)
    close(slope(), inverse, 1e-9)
    form = hinge.compile(hinge.derivative(tau.T @ mass.inv() @ tau, tau), tree)
    close(form(tau=t), 2 * inverse @ t, 1e-9)


def test_the_gradient_of_a_likelihood_by_M_is_an_expression():
    """∂(τᵀ 𝓜⁻¹ τ)/∂M(i) = −α(i) α(i)ᵀ and ∂ log det 𝓜 / ∂M(i) = Υ(i), α = φᵀ Hᵀ 𝓜⁻¹ τ."""
    parents = (-1, 0, 1, 2)
    tree, rng = random_tree(parents, 5), np.random.default_rng(2)
    t, step = rng.standard_normal(tree.nv), 1e-6
    alpha = hinge.compile(phi.T @ H.T @ mass.inv() @ tau, tree)(tau=t)
    spread = hinge.compile(mass.inv() @ tau, tree, blocks={"Ups": Ups})(tau=t)["Ups"]
    f = hinge.compile({"form": tau.T @ mass.inv() @ tau, "det": logdet(mass)}, tree, given=("M",))
    for i in range(len(tree)):
        n, own = len(tree.M[i]), alpha[tree.body_slice(i)]
        change = positive(rng, n)
        values = []
        for sign in (1, -1):
            m = [x + sign * step * change if k == i else x for k, x in enumerate(tree.M)]
            values.append(f(tau=t, M=m))
        slope = {k: (values[0][k] - values[1][k]) / (2 * step) for k in values[0]}
        close(slope["form"], -own @ change @ own, 1e-6)
        close(slope["det"], np.trace(spread[i, :n, :n] @ change), 1e-6)


def test_own_spaces_and_dense_operators():
    tree, rng = random_tree(), np.random.default_rng(1)
    data = Space("Data", "three numbers")
    c = leaf("C", data, Joint, Structure.DENSE)
    f = hinge.compile(c @ mass.inv() @ tau, tree, sizes={data: 3})
    matrix, t = rng.standard_normal((3, tree.nv)), rng.standard_normal(tree.nv)
    wanted = matrix @ hinge.compile(mass.inv() @ tau, tree)(tau=t)
    close(f(C=matrix, tau=t), wanted, 1e-10)


def test_verbs_that_are_expressions_of_the_tree_have_their_names():
    tree = random_tree()
    _, h, m, gather = whole(tree)
    close(hinge.compile("mass_matrix", tree)(), h @ gather @ m @ gather.T @ h.T)
    assert "a tree of 8 nodes" in repr(hinge.compile("mass_matrix", tree))
    text = hinge.compile(mass.inv() @ tau, tree).explain()
    assert "for a tree of 8 nodes" in text


def test_there_are_no_pages_of_trees_but_text():
    with pytest.raises(NotImplementedError, match=r"page: expected a function for a robot, .* explain\(\)"):
        hinge.explain.page(hinge.compile(mass, random_tree()))


# The cache.


def test_code_is_known_by_sizes_and_numbers():
    tree = random_tree()
    f = [hinge.compile(mass, t).compilation().identity for t in (tree, random_tree(), random_tree(seed=2))]
    assert f[0] == f[1] != f[2]
    other = with_numbers(tree, np.random.default_rng(1))
    f = [hinge.compile(mass, t, given=True).compilation().identity for t in (tree, other)]
    assert f[0] == f[1] != hinge.compile(mass, tree).compilation().identity
    f = [hinge.compile(mass, t, given=("H",)).compilation().identity for t in (tree, other)]
    assert f[0] != f[1]


def test_trees_are_frozen_and_can_be_pickled():
    tree = random_tree()
    assert not any(block.flags.writeable for block in (*tree.E, *tree.H, *tree.M))
    with pytest.raises(AttributeError):
        tree.E = ()
    again = pickle.loads(pickle.dumps(tree))
    assert again.names == tree.names and all(
        np.array_equal(a, b) for a, b in zip(again.M, tree.M, strict=True)
    )
    found = hinge.compile("mass_matrix", again)()
    assert np.array_equal(found, hinge.compile("mass_matrix", tree)())


# What is refused.


@pytest.mark.parametrize(
    ("e", "letter"),
    [
        (H @ phi @ b, "b"),
        (H @ phi @ M @ phi.T @ a, "a"),
        (E0 @ phi @ M @ phi.T @ H.T @ tau, "E₀"),
        (M @ phi.T @ E0.T @ g, "E₀|g"),
        (B.T @ phi.T @ H.T @ tau, "B"),
        (Q @ B.T @ phi.T @ H.T @ tau, "Q|B"),
        (hinge.derivative(mass.inv() @ tau, q), "∂|a"),
        (hinge.dynamics.CATALOGUE["forward_dynamics"], "a|b|B|E₀|g|fₓ"),
    ],
    ids=["b", "a", "E0", "g", "B", "Q", "by q", "forward dynamics"],
)
def test_letters_of_mechanics_are_refused_by_name(e, letter):
    with pytest.raises(UnboundLeafError, match=rf"^.*({letter}).*: expected letters of a weighted tree"):
        hinge.compile(e, random_tree())


def test_options_of_robots_are_refused():
    tree = random_tree()
    for name, value in {
        "nodes": ["tip"], "parameters": ["inertias"], "expressed": "world", "prescribed": ["a"],
    }.items():  # fmt: skip
        with pytest.raises(ArgumentError, match=rf"{name}: expected none for a WeightedTree"):
            hinge.compile(mass, tree, **{name: value})
    with pytest.raises(ArgumentError, match=r"given: expected False for a Robot.* parameters="):
        hinge.compile("mass_matrix", hinge.robots.panda(), given=True)
    with pytest.raises(ArgumentError, match=r"given: expected True or names among E, H, M, got 'Q'"):
        hinge.compile(mass, tree, given=["Q"])
    with pytest.raises(ArgumentError, match=r"target"):
        hinge.compile(mass, tree, target="cray")
    for name in ("weights", "out"):
        with pytest.raises(ArgumentError, match=f"{name}: is .* give your letter another name"):
            hinge.compile(leaf(name, Joint, One).T @ mass.inv() @ tau, tree, given=True)
    with pytest.raises(ArgumentError, match=r"robot: expected a Robot"):
        hinge.mass_matrix(tree, [])


def test_arguments_of_calls_are_checked_by_name():
    tree = random_tree()
    f = hinge.compile(mass.inv() @ tau, tree, given=("M",))
    t = np.zeros(tree.nv)
    with pytest.raises(
        ArgumentError, match=r"M: expected a matrix for each node, got none; .*given=\('M',\)"
    ):
        f(tau=t)
    with pytest.raises(ArgumentError, match=r"M: expected a list of 8 matrices, one a node, got 1"):
        f(tau=t, M=[np.eye(2)])
    with pytest.raises(ArgumentError, match=r"M\['node0'\]: expected shape"):
        f(tau=t, M=[np.eye(9)] * 8)
    bad = [m.copy() for m in tree.M]
    wide = next(i for i, m in enumerate(bad) if len(m) > 1)
    bad[wide][0, 1] += 1
    with pytest.raises(ArgumentError, match=r"M\['node\d'\]: expected a symmetric matrix"):
        f(tau=t, M=bad)
    with pytest.raises(ArgumentError, match=r"y: not in the expression; expected the arguments M, tau"):
        f(tau=t, M=tree.M, y=t)
    with pytest.raises(ArgumentError, match=r"q: not in the expression"):
        f(tau=t, M=tree.M, q=t)
    with pytest.raises(
        ArgumentError, match=r"tau: expected shape \(…, \d+\), got \(1,\); a tree of 8 nodes has"
    ):
        f(tau=[1.0], M=tree.M)
    with pytest.raises(ArgumentError, match=r"batch shapes do not broadcast"):
        f(tau=t, M=[np.stack([m] * (2 + k % 2)) for k, m in enumerate(tree.M)])
    with pytest.raises(ArgumentError, match=r"E: expected the matrices that a call gives, M, got E"):
        f.weights(E=tree.E)


@pytest.mark.parametrize("target", TARGETS)
def test_a_hinge_without_weight_is_named(target):
    tree = WeightedTree([-1], [None], [np.eye(2)], [np.zeros((2, 2))], names=["leak"])
    with pytest.raises(ArgumentError, match=r"node 'leak': expected D = H P Hᵀ with an inverse"):
        hinge.compile(mass.inv() @ tau, tree, target=target)(tau=np.ones(2))
    with pytest.raises(ArgumentError, match=r"node 'leak'.* positive definite block"):
        hinge.compile(logdet(mass), tree, target=target)()


def test_an_identity_and_a_sum_of_operators():
    tree = random_tree()
    e, _, _, gather = whole(tree)
    found = hinge.compile({"a": identity(Body) + E, "b": psi @ M @ psi.T}, tree)()
    close(found["a"], np.eye(tree.size) + e)
    assert found["b"].shape == gather.shape
