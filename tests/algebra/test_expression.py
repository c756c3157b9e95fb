from __future__ import annotations

import copy
import gc
import operator
import pickle
import weakref
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hinge import algebra
from hinge.algebra import (
    E0,
    STANDARD,
    Adjoint,
    B,
    Body,
    Constraint,
    D,
    E,
    G,
    H,
    Inverse,
    Joint,
    Leaf,
    LogDet,
    M,
    Mi,
    Node,
    One,
    P,
    Product,
    Space,
    Structure,
    Sum,
    World,
    a,
    b,
    identity,
    leaf,
    linear,
    logdet,
    phi,
    product,
    psi,
    qd,
    tau,
    whole,
    zero,
)
from hinge.errors import ArgumentError, HingeError, SpaceError
from tests.algebra.expressions import OWN, SPACES, random_expression

one, joint = identity(Body), identity(Joint)
#: Where repr evaluates: the letters of appendix A live in a module of their own.
NAMES = {**vars(algebra.appendix), **vars(algebra), "Fraction": Fraction}


def pieces(e):
    """Yield an expression and everything in it."""
    yield e
    match e:
        case Sum():
            inner = [t for _, t in e.terms]
        case Product():
            inner = e.factors
        case Inverse() | LogDet():
            inner = [e.argument]
        case Adjoint():
            inner = [e.leaf]
        case _:
            inner = []
    for x in inner:
        yield from pieces(x)


def randoms(count, depth=4):
    rng = np.random.default_rng(1)
    return [
        random_expression(rng, *(SPACES[k] for k in rng.integers(4, size=2)), depth) for _ in range(count)
    ]


# One object for each expression.


def test_the_same_expression_is_the_same_object():
    assert H @ phi @ M is H @ (phi @ M) is product(H, phi, M)
    assert M + P is M + P
    assert whole.mass.inv() is (H @ phi @ M @ phi.T @ H.T).inv()
    assert logdet(D) is logdet(D)
    assert identity(Body) is one
    assert zero(Joint, Body) is zero(Joint, Body)
    assert leaf("W", Body, Body, Structure.DIAGONAL) is leaf("W", Body, Body, Structure.DIAGONAL)


def test_what_differs_is_another_object():
    plain = leaf("W", Body, Body)
    others = [
        leaf("V", Body, Body),
        leaf("W", Joint, Body),
        leaf("W", Body, Body, Structure.DIAGONAL),
        leaf("W", Body, Body, self_adjoint=True),
        leaf("W", Body, Body, unicode="ω"),
        leaf("W", Body, Body, latex="w"),
        leaf("W", Body, Body, meaning="a weight"),
        leaf("W", Body, Body, needs=(b,)),
    ]
    assert len({plain, *others}) == 1 + len(others)
    assert M + P is not P + M
    assert phi @ M is not M @ phi


def test_equality_is_identity():
    assert M + P == M + P
    assert phi @ M != M @ phi
    assert H != "H"
    assert len({phi @ M, phi @ M, M @ phi}) == 2
    assert {H @ phi: "here"}[product(H, phi)] == "here"


def test_expressions_that_nobody_holds_are_forgotten():
    made = [weakref.ref(leaf(f"temporary_{k}", Body, Body) @ phi) for k in range(5)]
    held = leaf("held", Body, Body) @ phi
    gc.collect()
    assert [r() for r in made] == [None] * 5
    assert held is leaf("held", Body, Body) @ phi


# Canonical forms.

CANONICAL = {
    "products are flat": ((H @ phi) @ (M @ phi.T), product(H, phi, M, phi.T)),
    "sums are flat": ((M + P) + (P + one), M + 2 * P + one),
    "like terms are collected": (M + P - M, P),
    "nothing is left": (M - M, zero(Body, Body)),
    "a scalar goes to the front": (H @ (2 * phi) @ (M * 3), 6 * (H @ phi @ M)),
    "scalars multiply out": (2 * (3 * M), 6 * M),
    "scalars cancel": (Fraction(1, 3) * (3 * M), M),
    "scalars go into sums": (2 * (M + P), 2 * M + 2 * P),
    "a factor of zero": (0 * M, zero(Body, Body)),
    "a factor of one": (1 * M, M),
    "a float is exact": (0.5 * M, M / 2),
    "a tenth is the float's own fraction": (0.1 * M, Fraction(0.1) * M),
    "signs": (operator.neg(-M), M),
    "signs in products": ((-H) @ (-phi), H @ phi),
    "adjoint of an adjoint": (phi.T.T, phi),
    "adjoint of a product": ((H @ phi @ M).T, M @ phi.T @ H.T),
    "adjoint of a sum": ((2 * phi - M).T, 2 * phi.T - M),
    "adjoint of an inverse": (E.inv().T, E.T.inv()),
    "a self-adjoint leaf": (M.T, M),
    "a self-adjoint product": (whole.mass.T, whole.mass),
    "a self-adjoint inverse": (whole.mass.inv().T, whole.mass.inv()),
    "adjoint of the identity": (one.T, one),
    "adjoint of zero": (zero(Joint, Body).T, zero(Body, Joint)),
    "adjoint of a scalar": (logdet(D).T, logdet(D)),
    "inverse of an inverse": (phi.inv().inv(), phi),
    "inverse of the identity": (one.inv(), one),
    "inverse of a multiple": ((2 * phi).inv(), phi.inv() / 2),
    "inverse of a negative": ((-phi).inv(), -phi.inv()),
    "the identity vanishes in products": (one @ phi @ one @ M, phi @ M),
    "identities only": (one @ one, one),
    "multiples of the identity": ((2 * one) @ (3 * one), 6 * one),
    "a multiple of the identity in a product": (phi @ (2 * one) @ M, 2 * (phi @ M)),
    "zero swallows products": (H @ zero(Body, Node) @ B.T, zero(Joint, Body)),
    "zero vanishes in sums": (M + zero(Body, Body), M),
    "zeros only": (zero(Body, One) - zero(Body, One), zero(Body, One)),
    "subtraction": (M - P, M + -1 * P),
    "division": (M / 4, Fraction(1, 4) * M),
    "linear": (linear((1, M), (-2, P), (1, P)), M - P),
}


@pytest.mark.parametrize("name", CANONICAL)
def test_canonical(name):
    made, wanted = CANONICAL[name]
    assert made is wanted


def test_nothing_but_canonical_forms_is_made():
    for e in randoms(300):
        for x in pieces(e):
            match x:
                case Product():
                    assert len(x.factors) > 1
                    assert not any(isinstance(f, Product) or f is identity(f.range) for f in x.factors)
                    assert not any(isinstance(f, Sum) and len(f.terms) == 1 for f in x.factors)
                    assert all(p.domain is q.range for p, q in zip(x.factors, x.factors[1:], strict=False))
                    assert (x.range, x.domain) == (x.factors[0].range, x.factors[-1].domain)
                case Sum():
                    assert not any(isinstance(t, Sum) or t is zero(t.range, t.domain) for _, t in x.terms)
                    assert len({t for _, t in x.terms}) == len(x.terms)
                    assert {(t.range, t.domain) for _, t in x.terms} == {(x.range, x.domain)}
                    assert all(type(c) in (int, Fraction) and c != 0 for c, _ in x.terms)
                    assert not any(isinstance(c, Fraction) and c.denominator == 1 for c, _ in x.terms)
                    assert len(x.terms) > 1 or x.terms[0][0] != 1
                case Adjoint():
                    assert not x.leaf.self_adjoint
                case Inverse():
                    assert x.range is x.domain
                    assert not isinstance(x.argument, Inverse)


def test_adjoints_and_negatives_undo_themselves():
    for e in randoms(200):
        assert e.T.T is e
        assert (e.T.range, e.T.domain) == (e.domain, e.range)
        assert operator.neg(-e) is e
        assert e - e is zero(e.range, e.domain)
        assert identity(e.range) @ e is e is e @ identity(e.domain)


def test_nothing_is_simplified_by_identities_of_operators():
    assert (phi @ phi.inv()) is not one
    assert isinstance((phi @ M).inv(), Inverse)
    assert (M + P) @ phi is not M @ phi + P @ phi


# repr.


def test_repr_evaluates_to_the_same_object():
    written = [e for e in randoms(600, depth=5) if not any(map(begins_with_a_bracket, pieces(e)))]
    assert len(written) > 400
    for e in written:
        assert eval(repr(e), NAMES) is e


def begins_with_a_bracket(e):
    """Tell whether a multiple of a product of which the first factor is a sum stands in a sum."""
    terms = e.terms if isinstance(e, Sum) else ()
    return any(c != 1 and isinstance(t, Product) and isinstance(t.factors[0], Sum) for c, t in terms)


@pytest.mark.parametrize("c", [2, -1, Fraction(1, 2)], ids=str)
def test_repr_of_a_multiple_of_a_product_that_begins_with_a_bracket(c):
    e = c * ((M + P) @ phi)
    assert eval(repr(e), NAMES) is e


@pytest.mark.parametrize("x", [*STANDARD.values(), *OWN], ids=lambda x: x.name)
def test_repr_of_a_leaf_evaluates_to_the_same_object(x):
    assert eval(repr(x), NAMES) is x


def test_repr_of_a_leaf_of_a_space_of_your_own():
    tendon = leaf("Z", Space("Tendon", "lengths of tendons"), Joint)
    assert eval(repr(tendon), NAMES) is tendon


def test_equal_spaces_fit():
    square = leaf("Z", space := Space("Tendon"), space, self_adjoint=True)
    assert eval(repr(square), NAMES) is square
    assert square @ leaf("Y", Space("Tendon"), Joint)


def test_a_leaf_that_shares_a_name_is_written_out():
    assert repr(leaf("H", Node, Joint)) == "leaf('H', Node, Joint, Structure.DENSE)"
    assert repr(H) == "H"


def test_expressions_are_not_pickled_but_written():
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="keep their repr"):
            copied(H @ phi)


# Frozen.


@pytest.mark.parametrize("e", [H, H.T, one, zero(Joint, Body), H @ phi, M + P, phi.inv(), logdet(D)], ids=str)
def test_expressions_are_frozen(e):
    for name in ("range", "domain", "name", "factors", "anything"):
        with pytest.raises(AttributeError, match="frozen"):
            setattr(e, name, None)
    assert not hasattr(e, "__dict__")


def test_attributes_cannot_be_deleted():
    x = leaf("deleted", Body, Body)
    with pytest.raises(AttributeError, match="frozen"):
        del x.name


# Spaces.


def test_spaces_of_results():
    assert (H @ phi).range is Joint and (H @ phi).domain is Body
    assert (B.T @ phi.T @ H.T).range is Node
    assert (qd.T @ whole.mass @ qd).range is One
    assert tau.is_vector and (H @ b).is_vector and logdet(D).is_vector
    assert not H.is_vector and not tau.T.is_vector
    assert leaf("x", Body, One).structure is Structure.VECTOR
    assert leaf("x", Body, Joint).structure is Structure.DENSE


def test_a_product_of_wrong_spaces_names_both():
    with pytest.raises(SpaceError) as error:
        H @ tau
    text = str(error.value)
    assert text == "H @ τ: H is Joint ← Body; expected Body ← … on its right, got τ: Joint ← One"
    assert isinstance(error.value, TypeError) and isinstance(error.value, HingeError)
    with pytest.raises(
        SpaceError, match=r"φ M @ H: φ M is Body ← Body; expected Body ← .*, got H: Joint ← Body"
    ):
        (phi @ M) @ H
    with pytest.raises(SpaceError, match=r"zero|0"):
        zero(Body, Joint) @ M


def test_a_sum_of_wrong_spaces_names_both():
    for op, second in ((operator.add, "H"), (operator.sub, "H")):
        with pytest.raises(SpaceError, match=rf"M \+ {second}: M is Body ← Body, but H is Joint ← Body"):
            op(M, H)
    with pytest.raises(SpaceError, match="τ is Joint ← One, but b is Body ← One"):
        tau + b
    with pytest.raises(SpaceError):
        M + zero(Body, Joint)


def test_only_square_operators_have_inverses_and_determinants():
    with pytest.raises(SpaceError, match=r"H: is Joint ← Body; only a square operator has an? inverse"):
        H.inv()
    with pytest.raises(SpaceError, match="E₀ φ: is World ← Body; only a square operator has"):
        (E0 @ phi).inv()
    with pytest.raises(SpaceError, match="determinant"):
        logdet(tau)
    with pytest.raises(SpaceError, match="zero operator Body ← Body has no inverse"):
        zero(Body, Body).inv()
    with pytest.raises(
        SpaceError, match="W: expected the same space twice for a self-adjoint letter, got Body ← Joint"
    ):
        leaf("W", Body, Joint, self_adjoint=True)


def test_a_leaf_wants_a_name_that_python_can_read():
    for name in ("", "2x", "a b", "x'", "a.b"):
        with pytest.raises(ArgumentError, match="identifier"):
            leaf(name, Body, Body)
    assert isinstance(leaf("φ", Body, Body), Leaf)


# Operands that are none.

ARRAYS = [np.eye(3), np.zeros(6), np.float64(2.0), np.array(2.0), np.array([H], dtype=object)]


@pytest.mark.parametrize("other", [*ARRAYS, 2, 2.0, Fraction(1, 2), "H", None, [1.0], Joint], ids=repr)
def test_operators_compose_with_operators_only(other):
    for left, right in ((H, other), (other, H)):
        with pytest.raises(TypeError):
            left @ right
    for op in (operator.add, operator.sub):
        for left, right in ((H, other), (other, H)):
            with pytest.raises(TypeError):
                op(left, right)


def test_a_wrong_operand_is_named():
    with pytest.raises(
        TypeError, match=r"H @ …: expected an expression, got ndarray\. Numbers scale with \*"
    ):
        H @ np.eye(6)
    with pytest.raises(TypeError, match=r"H @ …: expected an expression, got ndarray"):
        np.eye(6) @ H
    with pytest.raises(TypeError, match=r"H \+ …: expected an expression, got int"):
        H + 1
    with pytest.raises(TypeError, match=r"H - …: expected an expression, got float"):
        H - 1.0


@pytest.mark.parametrize(
    "factor", [np.eye(3), np.zeros(6), True, "2", None, 1j, Decimal(2), H, [2]], ids=repr
)
def test_operators_scale_with_numbers_only(factor):
    for scale in (lambda: M * factor, lambda: factor * M, lambda: M / factor):
        with pytest.raises(TypeError):
            scale()


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), -float("inf"), np.float64("nan")], ids=str)
def test_operators_scale_with_finite_numbers_only(factor):
    for scale in (lambda: M * factor, lambda: factor * M, lambda: M / factor):
        with pytest.raises(ArgumentError, match=rf"factor: expected a finite number, got {factor}"):
            scale()


def test_division_by_zero_is_refused():
    for nothing in (0, 0.0, Fraction(0)):
        with pytest.raises(ArgumentError, match="M: divided by zero"):
            M / nothing


def test_numpy_floats_are_numbers():
    assert np.float64(0.5) * M is M / 2
    assert M * np.float64(2) is 2 * M


@pytest.mark.parametrize("factor", [np.int64(2), np.float32(2)], ids=repr)
def test_numpy_integers_are_numbers(factor):
    assert factor * M is 2 * M


def test_every_space_is_met():
    assert Constraint.name == "Constraint" and World.meaning
    assert repr(Space("Tendon", "x")) == "Space('Tendon', 'x')"
    assert (repr(One), str(Body)) == ("One", "Body")
    assert a.needs[0].range is Body and G.domain is Joint and psi.range is Body and Mi.self_adjoint
