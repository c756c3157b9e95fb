from __future__ import annotations

import numpy as np
import pytest

from hinge.kernels import BOUND, RUN, Graph, Uniform, count, finish, split, verify
from tests.kernels.expressions import NAMES, program, same


@pytest.fixture
def u(graph):
    return graph.param("u")


@pytest.fixture
def w(graph):
    return graph.param("w")


#: Each rule: what is written, and what it becomes.
RULES = {
    "(x u) w": (lambda x, u, w: (x * u) * w, lambda x, u, w: x * (u * w)),
    "u (w x)": (lambda x, u, w: u * (w * x), lambda x, u, w: x * (u * w)),
    "(x u) c": (lambda x, u, w: (x * u) * 3.0, lambda x, u, w: x * (u * 3.0)),
    "(x c) u": (lambda x, u, w: (x * 3.0) * u, lambda x, u, w: x * (u * 3.0)),
    "(x u) / c": (lambda x, u, w: (x * u) / 4.0, lambda x, u, w: x * (u * 0.25)),
    "x / u": (lambda x, u, w: x / u, lambda x, u, w: x * (1.0 / u)),
    "-x / u": (lambda x, u, w: -x / u, lambda x, u, w: -(x * (1.0 / u))),
    "x / -u": (lambda x, u, w: x / -u, lambda x, u, w: -(x * (1.0 / u))),
    "x u - u x": (lambda x, u, w: x * u - u * x, lambda x, u, w: 0.0),
    "u 0": (lambda x, u, w: u * 0.0 + x, lambda x, u, w: x),
    "u (1/u)": (lambda x, u, w: u * (1.0 / u), lambda x, u, w: 1.0),
    "-u (1/u)": (lambda x, u, w: -u * (1.0 / u), lambda x, u, w: -1.0),
    "(u (1/w)) w": (lambda x, u, w: (u * (1.0 / w)) * w, lambda x, u, w: u),
    "(2 (1/w)) w": (lambda x, u, w: (2.0 * (1.0 / w)) * w, lambda x, u, w: 2.0),
    "x u / u": (lambda x, u, w: (x * u) * (1.0 / u), lambda x, u, w: x),
    "x (2/u) u": (lambda x, u, w: x * (2.0 * (1.0 / u)) * u, lambda x, u, w: x * 2.0),
}


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule, x, u, w):
    written, becomes = RULES[rule]
    assert same(written(x, u, w), becomes(x, u, w))


def test_a_param_is_made_once_and_is_no_input(graph, u):
    assert same(graph.param("u"), u)
    assert not same(graph.input("u"), u)


def test_a_value_is_known_with_the_last_of_its_operands(graph, x, u, w):
    known = graph.known
    assert {known[v.index] for v in (u, u * w, u / w, u.sin(), u + 2.0, 1.0 / u)} == {BOUND}
    assert {known[v.index] for v in (x, x * u, u / x, x + u, u - x)} == {RUN}


def test_uniform_arithmetic_is_not_part_of_the_kernel(graph, x, u, w):
    before, kernel = split(graph, {"y": (x * u / w + (u * u - w).cos()) * w, "z": u * w})
    for k in (before, kernel):
        verify(k)
    assert str(count(kernel)) == "2 mul, 1 add"
    assert before.inputs == ("u", "w")
    assert kernel.inputs[0] == "x" and all(isinstance(k, Uniform) for k in kernel.inputs[1:])
    assert tuple(o.key for o in before.outputs) == kernel.inputs[1:]
    got = kernel.evaluate({"x": 3.0} | before.evaluate({"u": 0.5, "w": 2.0}))
    assert got["y"] == pytest.approx((3.0 * 0.5 / 2.0 + np.cos(0.25 - 2.0)) * 2.0)
    assert got["z"] == 1.0


def test_loads_come_before_parameters(graph, u, x):
    y = graph.input("y")
    kernel = finish(graph, {"z": (y + u) * x})
    assert kernel.inputs == ("x", "y", Uniform(u.index))


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_of_inputs_and_params_equal_their_floats(seed):
    run, rng = program(seed), np.random.default_rng(seed)
    lifted = rng.random(len(NAMES)) < 0.6
    graph = Graph()
    scalars = [graph.param(n) if up else graph.input(n) for n, up in zip(NAMES, lifted, strict=True)]
    before, kernel = split(graph, dict(enumerate(run(*scalars))))
    verify(before)
    verify(kernel)
    for numbers in rng.uniform(-2, 2, (5, len(NAMES))):
        values = dict(zip(NAMES, numbers, strict=True))
        got = kernel.evaluate(values | before.evaluate(values))
        np.testing.assert_allclose(list(got.values()), run(*numbers), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_params_never_cost_more_than_inputs(seed):
    def operations(make):
        graph = Graph()
        scalars = [graph.input("a"), graph.input("b"), make(graph, "c"), make(graph, "d")]
        return count(finish(graph, dict(enumerate(program(seed)(*scalars))))).total

    assert operations(Graph.param) <= operations(Graph.input)
