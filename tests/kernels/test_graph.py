from __future__ import annotations

import operator

import numpy as np
import pytest

from hinge.errors import ArgumentError
from hinge.kernels import Graph, Scalar, count, finish
from tests.kernels.expressions import NAMES, program, same


@pytest.fixture
def y(graph):
    return graph.input("y")


def node(a):
    """Return op and arguments of a scalar, constants as floats."""
    op, *args = a.graph.nodes[a.index]
    return op, *(a.graph.nodes[i][1] if a.graph.nodes[i][0] == "const" else i for i in args)


def test_an_input_is_made_once(graph, x):
    assert graph.input("x") is x
    assert not same(graph.input("y"), x)
    assert len(graph.nodes) == 2


#: Each rule: what is written, and what it becomes.
RULES = {
    "x * 0": (lambda x, y: x * 0, lambda x, y: 0.0),
    "x * 0.0": (lambda x, y: -0.0 * x, lambda x, y: 0.0),
    "x * 1": (lambda x, y: x * 1, lambda x, y: x),
    "x * -1": (lambda x, y: x * -1.0, lambda x, y: -x),
    "x + 0": (lambda x, y: 0 + x, lambda x, y: x),
    "x - 0": (lambda x, y: x - 0.0, lambda x, y: x),
    "0 - x": (lambda x, y: 0 - x, lambda x, y: -x),
    "x - x": (lambda x, y: x - x, lambda x, y: 0.0),
    "-x + x": (lambda x, y: -x + x, lambda x, y: 0.0),
    "xy - yx": (lambda x, y: x * y - y * x, lambda x, y: 0.0),
    "0 / x": (lambda x, y: 0 / x, lambda x, y: 0.0),
    "x / 1": (lambda x, y: x / 1, lambda x, y: x),
    "x / -1": (lambda x, y: x / -1.0, lambda x, y: -x),
    "x / c": (lambda x, y: x / 8.0, lambda x, y: x * 0.125),
    "x / -c": (lambda x, y: x / -8.0, lambda x, y: -(x * 0.125)),
    "x c c": (lambda x, y: (x * 3.0) * 0.7, lambda x, y: x * (3.0 * 0.7)),
    "x c c = x": (lambda x, y: -4.0 * (x * 0.25), lambda x, y: -x),
    "x c / c": (lambda x, y: (x * 49.0) / 49.0, lambda x, y: x),
    "(1/x) x": (lambda x, y: (1.0 / x) * x, lambda x, y: 1.0),
    "x (2/x)": (lambda x, y: -x * (2.0 / x), lambda x, y: -2.0),
    "(y/x) x": (lambda x, y: (y / x) * x, lambda x, y: y),
    "(y (1/x)) x": (lambda x, y: (y * (1.0 / x)) * -x, lambda x, y: -y),
    "((y/x) y) x": (lambda x, y: x * ((y / x) * y), lambda x, y: y * y),
    "--x": (lambda x, y: operator.neg(-x), lambda x, y: x),
    "+x": (lambda x, y: +x, lambda x, y: x),
    "x + y": (lambda x, y: y + x, lambda x, y: x + y),
    "x y": (lambda x, y: y * x, lambda x, y: x * y),
    "-x y": (lambda x, y: (-x) * y, lambda x, y: -(x * y)),
    "x -y": (lambda x, y: y * (-x), lambda x, y: -(x * y)),
    "-x -y": (lambda x, y: (-x) * (-y), lambda x, y: x * y),
    "x + -y": (lambda x, y: x + (-y), lambda x, y: x - y),
    "-x + y": (lambda x, y: -x + y, lambda x, y: y - x),
    "-x + -y": (lambda x, y: -x + -y, lambda x, y: -(x + y)),
    "x - -y": (lambda x, y: x - (-y), lambda x, y: x + y),
    "-x - y": (lambda x, y: -x - y, lambda x, y: -(x + y)),
    "-x - -y": (lambda x, y: -x - (-y), lambda x, y: y - x),
    "y - x": (lambda x, y: y - x, lambda x, y: -(x - y)),
    "x + -c": (lambda x, y: x + -2.0, lambda x, y: x - 2.0),
    "x - -c": (lambda x, y: x - -2.0, lambda x, y: x + 2.0),
    "c - x": (lambda x, y: 2.0 - x, lambda x, y: -(x - 2.0)),
    "-c - x": (lambda x, y: -2.0 - x, lambda x, y: -(x + 2.0)),
    "x * -c": (lambda x, y: x * -2.0, lambda x, y: -(x * 2.0)),
    "-x / y": (lambda x, y: -x / y, lambda x, y: -(x / y)),
    "-x / -y": (lambda x, y: -x / -y, lambda x, y: x / y),
    "-c / x": (lambda x, y: -2.0 / x, lambda x, y: -(2.0 / x)),
    "c / -x": (lambda x, y: 2.0 / -x, lambda x, y: -(2.0 / x)),
    "sin -x": (lambda x, y: (-x).sin(), lambda x, y: -(x.sin())),
    "cos -x": (lambda x, y: (-x).cos(), lambda x, y: x.cos()),
    "x ** 1": (lambda x, y: x**1, lambda x, y: x),
    "x ** 2": (lambda x, y: x**2, lambda x, y: x * x),
    "x ** 3": (lambda x, y: x**3, lambda x, y: x * x * x),
    "x ** 4": (lambda x, y: x**4, lambda x, y: (x * x) * (x * x)),
    "-x ** 2": (lambda x, y: (-x) ** 2, lambda x, y: x * x),
    "-x ** 3.0": (lambda x, y: (-x) ** 3.0, lambda x, y: -(x * x * x)),
}


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule, x, y):
    written, becomes = RULES[rule]
    assert same(written(x, y), becomes(x, y))


def test_a_scalar_over_itself_stays_a_division(x):
    assert node(x / x) == ("div", x.index, x.index)


def test_instructions_have_one_form_whatever_is_made_first(graph):
    y, x = graph.input("y"), graph.input("x")
    x + 2.0  # the constant is older than what comes now
    z = x * y
    assert node(z * 2.0) == ("mul", z.index, 2.0)
    assert node(z - 2.0) == node(2.0 - z) == ("sub", z.index, 2.0)
    assert node(x - y) == node(y - x) == ("sub", y.index, x.index)


def test_equal_subexpressions_are_one(graph, x, y):
    a = (x + y) * (x - y).sin() / 3.0
    size = len(graph.nodes)
    b = -((y - x).sin()) * (y + x) / 3.0
    assert same(a, b)
    assert len(graph.nodes) == size


def test_a_sign_reaches_root_and_logarithm_without_an_instruction_of_its_own(x, y):
    root = (1.0 - x * x).sqrt()
    kernel = finish(x.graph, {"r": root, "s": (-y).log()})
    assert str(count(kernel)) == "1 mul, 2 add, 2 functions"
    assert kernel.evaluate({"x": 0.6, "y": -2.0}) == {"r": 0.8, "s": np.log(2.0)}


def test_extreme_constants_keep_their_digits(x):
    values = {
        "small": (x * 1e-200) * 1e-200,
        "large": (x * 1e200) * 1e200,
        "over": x / 1e-310,
        "under": x / 1e305,
    }
    got = finish(x.graph, values).evaluate({"x": 1e300})
    assert got["small"] == (1e300 * 1e-200) * 1e-200
    assert got["under"] == 1e300 / 1e305
    got = finish(x.graph, values).evaluate({"x": 1e-200})
    assert got["large"] == (1e-200 * 1e200) * 1e200
    assert got["over"] == 1e-200 / 1e-310


@pytest.mark.parametrize("number", [float, int, np.float64, np.float32, np.int64])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
def test_numbers_of_every_kind_on_both_sides(x, name, number):
    op = getattr(operator, name)
    left, right = op(number(3), x), op(x, number(3))
    assert type(left) is type(right) is Scalar
    assert same(left, op(3.0, x)) and same(right, op(x, 3.0))
    assert {type(n[1]) for n in x.graph.nodes if n[0] == "const"} == {float}
    kernel = finish(x.graph, {"left": left, "right": right})
    assert kernel.evaluate({"x": 4.0}) == {"left": op(3.0, 4.0), "right": pytest.approx(op(4.0, 3.0))}


def test_scalars_live_in_object_arrays(x, y):
    a = np.array([x, y])
    assert a.dtype == object
    for name in ("sin", "cos", "sqrt", "log"):
        assert all(map(same, getattr(np, name)(a), (getattr(e, name)() for e in a)))
    assert all(map(same, np.square(a), (x * x, y * y)))
    assert all(map(same, a**2, (x * x, y * y)))
    assert all(map(same, x * np.array([0.0, 2.0]), (0.0, x * 2.0)))
    assert all(map(same, np.array([0.0, 2.0]) - x, (-x, 2.0 - x)))
    assert all(map(same, np.diag([2.0, 3.0]) @ a, (x * 2.0, y * 3.0)))
    assert all(map(same, a @ np.diag([2.0, 3.0]), (x * 2.0, y * 3.0)))
    assert same(a.sum(), x + y)
    assert same((a - a).sum(), 0.0)
    assert same(np.sin(x), x.sin()) and same(np.array(2.0) * x, x * np.array(2.0))


ORDER = (operator.lt, operator.le, operator.gt, operator.ge)


@pytest.mark.parametrize("decide", [bool, float, int, *(lambda x, f=f: f(x, 1.0) for f in ORDER)])
def test_a_scalar_decides_nothing(x, decide):
    with pytest.raises(TypeError, match="without `if`"):
        decide(x)


def test_equality_is_identity(x):
    assert x == x.graph.input("x")
    assert x * 2.0 != x * 2.0
    assert x != 0.0
    assert len({x, x, -x}) == 2


def test_scalars_of_two_graphs_do_not_mix(x):
    other = Graph().input("x")
    for op in (operator.add, operator.sub, operator.mul, operator.truediv):
        with pytest.raises(AssertionError, match="different graphs"):
            op(x, other)


@pytest.mark.parametrize("c", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_constants_must_be_finite(x, op, c):
    for pair in ((x, c), (c, x), (x * 2.0, c)):
        with pytest.raises(ArgumentError, match="not finite"):
            op(*pair)


def test_what_makes_no_sense_is_refused(x):
    with pytest.raises(ZeroDivisionError, match="constant 0"):
        x / 0
    for exponent in (0, -1, 0.5, 65, float("nan")):
        with pytest.raises(TypeError, match="power"):
            x**exponent
    for other in (1j, None, "1"):
        with pytest.raises(TypeError):
            x + other


def test_repr_shows_sign_and_op(x):
    assert repr(-(x.sin())) == "-sin(0)"
    assert repr(x) == "input(x)"


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_equal_their_floats(seed):
    run, graph = program(seed), Graph()
    kernel = finish(graph, dict(enumerate(run(*map(graph.input, NAMES)))))
    for numbers in np.random.default_rng(seed).uniform(-2, 2, (5, len(NAMES))):
        got = kernel.evaluate(dict(zip(NAMES, numbers, strict=True)))
        np.testing.assert_allclose(list(got.values()), run(*numbers), rtol=1e-12, atol=1e-12)
