from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.linalg import block_diag, null_space

from hinge.algebra import (
    SERIAL_ONLY,
    Ac,
    Active,
    Adjoint,
    Body,
    Constraint,
    Identity,
    Inverse,
    Joint,
    Leaf,
    Link,
    Node,
    One,
    Passive,
    Product,
    Sum,
    World,
    Zero,
    gamma,
    leaves,
    s_c,
    x_c,
)
from hinge.errors import SpaceError
from hinge.rules.identities import (
    APPENDIX_A,
    CLOSED_CHAINS,
    DERIVATIVE_FORMS,
    IDENTITIES,
    PAPERS,
    SLIDES,
    closed,
)
from hinge.rules.proof import decide
from hinge.targets import random_system
from hinge.targets.random_systems import ONE_WIDTH
from tests.folding import folded
from tests.rules.false_identities import FALSE, UNTYPED

ALL = IDENTITIES
#: Those that hold for blocks of any size; `test_graded` has the others in numbers.
ANY_SIZE = [i for i in ALL if i not in DERIVATIVE_FORMS]


def by_name(identities):
    return pytest.mark.parametrize("identity", identities, ids=lambda i: i.name)


@by_name(IDENTITIES)
def test_an_identity_is_proved(identity):
    decision = decide(identity.left, identity.right, axioms=identity.given)
    assert decision, str(decision)
    assert decision.check()


@by_name([i for i in CLOSED_CHAINS if i.given])
def test_an_identity_that_is_guarded_needs_its_guard(identity):
    assert not decide(identity.left, identity.right)
    unguarded = random_system(FOREST[:6], 1, [6, 2, 3, 1, 2, 3])
    left, right = unguarded.matrix(identity.left), unguarded.matrix(identity.right)
    assert np.linalg.norm(left - right) > 1e-3 * np.linalg.norm(left)


def test_a_proof_with_a_closure_says_what_it_takes_for_granted():
    found = next(i for i in CLOSED_CHAINS if i.name == "closures hold")
    assert "provided that (" in str(decide(found.left, found.right))


@pytest.mark.parametrize("name", UNTYPED)
def test_a_misprint_whose_factors_do_not_fit_is_refused(name):
    with pytest.raises(SpaceError):
        UNTYPED[name]()


@by_name(FALSE)
def test_a_false_identity_is_refused(identity):
    decision = decide(identity.left, identity.right)
    assert not decision
    assert "not a consequence of the axioms" in str(decision)


def test_every_number_of_appendix_a_is_there():
    found = {int(n) for i in APPENDIX_A for n in re.findall(r"\(a\.(\d+)\)$", i.source)}
    assert found >= set(range(6, 52))


def test_the_numbers_of_sections_4_and_5_are_there():
    found = {n for i in PAPERS if i.source.startswith("JPL") for n in re.findall(r"\((\d\.\d+)\)", i.source)}
    wanted = {"3.20", *(f"4.{n}" for n in range(11, 17)), *(f"5.{n}" for n in range(4, 16))}
    assert found >= wanted


def test_sources_are_those_of_their_tuples():
    assert all(i.source.startswith("JPL 88-11 ") for i in APPENDIX_A)
    assert all(i.source.startswith(("JPL 88-11 ", "Rodriguez, Kreutz & Jain ")) for i in PAPERS)
    assert all(re.fullmatch(r"SOA slides, p\. \d+", i.source) for i in SLIDES)
    authors = ("Carpentier & Mansard 2018", "Singh, Russell & Wensing 2022", "Jain & Rodriguez 2000")
    assert {i.source for i in DERIVATIVE_FORMS} == set(authors)
    assert IDENTITIES == APPENDIX_A + PAPERS + SLIDES + CLOSED_CHAINS + DERIVATIVE_FORMS


def test_the_numbers_of_part_ii_are_there():
    found = {n for i in CLOSED_CHAINS for n in re.findall(r"\(([\db]\.\d+)[a-h]?\)", i.source)}
    assert found >= {"3.2", "3.3", "3.5", "3.6", "4.8", "5.14", "5.17", "9.27"}
    assert found >= {f"6.{n}" for n in (2, 3, 4, 6, 7, *range(11, 19), 20, 21, 22)}
    assert found >= {f"b.{n}" for n in (1, 4, 5, 6, 7, 9, 10, 11, 12, 13)}


def test_names_are_unique():
    names = [i.name for i in ALL]
    assert sorted(set(names)) == sorted(names)


@folded(identity=ALL + FALSE)
def test_the_sides_share_their_spaces_and_differ(identity):
    assert (identity.left.range, identity.left.domain) == (identity.right.range, identity.right.domain)
    assert identity.left is not identity.right


# In numbers: random blocks on a forest (on a chain for Υ), no algebra but the definitions.

FOREST, CHAIN = (-1, 0, 0, 1, 1, -1, 5, 3, 7, 8), (-1, 0, 1, 2, 3, 4, 5)
NODES = [4, 6]  # the bodies that carry a node
SIZE = 4


@folded(identity=ANY_SIZE)
def test_an_identity_holds_in_numbers(identity):
    assert distance(identity) < 1e-9


def test_identities_hold_with_blocks_of_unequal_sizes():
    for identity in ANY_SIZE:
        left, right = identity.left, identity.right
        used = leaves(left) | leaves(right)
        x = system(bool(used & SERIAL_ONLY), bool(used & ONE_WIDTH))
        x = guarded(x) if identity in CLOSED_CHAINS else x
        one, other = x.matrix(left), x.matrix(right)
        assert np.linalg.norm(one - other) < 1e-9 * max(1.0, np.linalg.norm(one)), identity.name


@cache
def system(serial, one_width):
    """Return random matrices on a chain or a forest, on a base of six coordinates."""
    parents = CHAIN[:5] if serial else FOREST[:6]
    dofs = [6, *(1 + k % 3 for k in range(1, len(parents)))]
    return random_system(parents, 1, dofs, [6] * len(parents) if one_width else None)


@cache
def guarded(x):
    """Return a system on which what closed chains are given holds."""
    rng = np.random.default_rng(5)
    rest = {y: v for y, v in x.values.items() if Constraint not in (y.range, y.domain)}
    x = replace(x, sizes={**x.sizes, Constraint: (4,)}, values=rest)
    nodes, bodies, rows = x.length(Node), x.length(Body), x.length(Constraint)
    own = {closed.Contact: 2, closed.Held: nodes - 2, closed.Tip: 3, closed.Object: 4, closed.Touch: 2}
    tree, other = slice(*x.bounds(Body)[4:6]), slice(*x.bounds(Body)[-2:])
    values = guards(rng, nodes, bodies, tree, other, x.matrix(Ac), x.matrix(closed.Jc))
    values |= {closed.Sw: np.diag(np.arange(rows) % 2.0)}
    own[closed.Independent] = x.length(Joint) - rows
    return replace(x, sizes={**x.sizes, **{s: (k,) for s, k in own.items()}}, values={**x.values, **values})


def guards(rng, nodes, bodies, tree, other, ac, jc):
    """Return values of the letters that something is given about: bases, two arms, two ends."""
    basis = np.linalg.qr(rng.normal(size=(nodes, nodes)))[0]
    tips = np.zeros((3, bodies, 3))
    last = slice(bodies - 4, bodies)
    for tip, at in zip(tips, (tree, other, last), strict=True):
        tip[at] = rng.normal(size=(at.stop - at.start, 3))
    free = null_space(jc)
    outer = rng.normal(size=ac.shape)
    return {
        closed.h: basis[:, :2].T,
        closed.R_h: basis[:, 2:],
        closed.B1: tips[0],
        closed.B2: tips[1],
        closed.B_t: tips[2],
        closed.A_s: outer,
        closed.A_p: outer - ac,
        closed.G_i: free,
        closed.X_i: free.T,
        closed.U_c: np.linalg.pinv(jc),
    }


@folded(identity=FALSE)
def test_a_false_identity_is_false_in_numbers(identity):
    assert distance(identity) > 1e-3


def distance(identity):
    """Return how far left is from right, relative to left."""
    serial = leaves(identity.left) | leaves(identity.right)
    x = numbers(CHAIN if serial & SERIAL_ONLY else FOREST)
    left, right = value(identity.left, x), value(identity.right, x)
    return np.linalg.norm(left - right) / max(1.0, np.linalg.norm(left))


def value(e, x):  # noqa: PLR0911
    """Return an expression in numbers."""
    match e:
        case Leaf():
            return x[e.name]
        case Adjoint():
            return x[e.leaf.name].T
        case Identity():
            return np.eye(x[e.range])
        case Zero():
            return np.zeros((x[e.range], x[e.domain]))
        case Product():
            return np.linalg.multi_dot([value(f, x) for f in e.factors])
        case Sum():
            return sum(float(c) * value(t, x) for c, t in e.terms)
        case Inverse():
            return np.linalg.inv(value(e.argument, x))
        case _:
            raise AssertionError(e)


@cache
def numbers(parents):
    """Return the letters and the sizes of the spaces for random bodies with these parents."""
    rng = np.random.default_rng(len(parents))
    count, eye = len(parents), np.eye(SIZE)
    whole_eye = np.eye(SIZE * count)
    steps = 0.6 * rng.normal(size=(count, SIZE, SIZE))
    to_parent = np.zeros((count, count))
    for child, parent in enumerate(parents):
        to_parent[parent, child] = parent >= 0
    S = np.kron(to_parent, eye)
    Dphi = block_diag(*steps)
    e = S @ Dphi
    E0_ = np.hstack([s * (p < 0) for s, p in zip(steps, parents, strict=True)])
    roots = rng.normal(size=(count, SIZE, 2 * SIZE))
    M = block_diag(*(m @ m.T for m in roots))
    H = block_diag(*(rng.normal(size=(1 + (k + 2) % 3, SIZE)) for k in range(count)))
    is_passive = np.arange(len(H)) % 5 < 3
    x = {"E": e, "E0": E0_, "S": S, "Dphi": Dphi, "M": M, "H": H, "Hp": H[is_passive], "Ha": H[~is_passive]}
    x["phi"] = np.linalg.inv(whole_eye - e)
    for mark in ("", "p"):
        x |= {name + mark: matrix for name, matrix in articulated(x["H" + mark], x, count).items()}
    x["R"] = swept(lambda r: M + e @ r @ e.T, M, count)
    x["r"] = swept(lambda r: M + x["Es"] @ r @ e.T, M, count)
    local = H.T @ x["Di"] @ H
    x["Ups"] = swept(lambda u: local + x["Es"].T @ u @ x["Es"], local, count)
    x |= {
        "L": Dphi @ x["G"],
        "Dpsi": Dphi @ (whole_eye - x["G"] @ H),
        "Phi": x["phi"] @ S,
        "Psi": x["psi"] @ S,
    }
    x["B"] = np.kron(np.eye(count)[:, NODES], eye) @ block_diag(*rng.normal(size=(2, SIZE, SIZE)))
    x |= {Body: SIZE * count, Joint: len(H), Passive: len(x["Hp"]), Active: len(x["Ha"])}
    x |= {Node: 2 * SIZE, World: SIZE, One: 1}
    spaces = {"tau": Joint, "qd": Joint, "qdd": Joint, "tau_p": Passive, "qdd_a": Active, "g": World}
    for name, space in (spaces | {"f_ext": Node, "a": Body, "b": Body, "a_n": Node}).items():
        x[name] = rng.normal(size=(x[space], 1))
    return x | closures(x, rng)


def closures(x, rng):
    """Return the letters of closures, grasps and contacts, where two trees are there."""
    x |= {Link: 2 * SIZE, Constraint: 3, closed.Object: SIZE, closed.Contact: 2, closed.Held: 2 * SIZE - 2}
    x |= {closed.Tip: 3, closed.Touch: 2}
    ends = np.kron(np.eye(x[Body] // SIZE)[:, [1, 3]], np.eye(SIZE))
    x["Bc"] = ends @ block_diag(*rng.normal(size=(2, SIZE, SIZE)))
    for y in (Ac, closed.A_o, closed.A_t):
        x[y.name] = rng.normal(size=(x[y.range], x[y.domain]))
    for y in (closed.M_o, closed.N):
        root = rng.normal(size=(x[y.range], 2 * x[y.range]))
        x[y.name] = root @ root.T
    for y in (s_c, gamma, x_c, closed.b_o, closed.a_o, closed.w, closed.a1, closed.a2):
        x[y.name] = rng.normal(size=(x[y.range], 1))
    x["Sw"] = np.diag([1.0, 0.0, 1.0])
    one, other = slice(4 * SIZE, 5 * SIZE), slice(6 * SIZE, 7 * SIZE)
    jc = x["Ac"] @ x["Bc"].T @ x["phi"].T @ x["H"].T
    x[closed.Independent] = x[Joint] - x[Constraint]
    return x | {y.name: v for y, v in guards(rng, 2 * SIZE, x[Body], one, other, x["Ac"], jc).items()}


def articulated(H, x, count):
    """Return the letters of the articulated-body family of a hinge map, by their definitions."""
    e, M = x["E"], x["M"]
    P_ = swept(lambda p: M + e @ (p - p @ H.T @ np.linalg.inv(H @ p @ H.T) @ H @ p) @ e.T, M, count)
    D = H @ P_ @ H.T
    G = P_ @ H.T @ np.linalg.inv(D)
    K = e @ G
    psi = np.linalg.inv(np.eye(len(e)) - e + K @ H)
    Mi = np.linalg.inv(H @ x["phi"] @ M @ x["phi"].T @ H.T)
    return {"P": P_, "D": D, "Di": np.linalg.inv(D), "G": G, "K": K, "Es": e - K @ H, "psi": psi, "Mi": Mi}


def swept(step, start, count):
    """Return what a recursion over the bodies comes to: after as many steps as bodies nothing changes."""
    for _ in range(count):
        start = step(start)
    return start
