"""Adjoints of kernels: against dual numbers, on random programs and on every operation."""

from __future__ import annotations

import numpy as np
import pytest

from hinge.kernels import OPS, Graph, adjoint_of, apply, duals, finish, fresh_level, on_duals, rates, verify

from .expressions import program

NAMES = "abcd"


def traced(f):
    graph = Graph()
    results = f(*(graph.input(n) for n in NAMES))
    return finish(graph, dict(enumerate(results)))


def gradients(kernel, at, weights):
    given = dict(at.items()) | {("weight", k): c for k, c in enumerate(weights)}
    return adjoint_of(kernel, NAMES).evaluate(given)


@pytest.mark.parametrize("seed", range(12))
def test_adjoints_of_random_programs_are_their_differences(seed):
    kernel = traced(program(seed))
    rng = np.random.default_rng(seed)
    at = dict(zip(NAMES, rng.standard_normal(4), strict=True))
    weights = rng.standard_normal(len(kernel.outputs))
    verify(adjoint_of(kernel))
    found = gradients(kernel, at, weights)
    assert list(found) == list(NAMES)

    def total(**moved):
        values = kernel.evaluate({**at, **moved})
        return sum(c * values[o.key] for c, o in zip(weights, kernel.outputs, strict=True))

    h = 1e-3
    for n in NAMES:
        ways = {k: total(**{n: at[n] + k * h}) for k in (-3, -2, -1, 1, 2, 3)}
        slope = sum(w * (ways[k] - ways[-k]) for k, w in ((1, 45), (2, -9), (3, 1))) / (60 * h)
        assert abs(found[n] - slope) < 1e-9 * (1 + abs(slope)), (n, found[n], slope)


@pytest.mark.parametrize("name", [n for n in OPS if not n.startswith("table")])
def test_every_operation_has_the_adjoint_of_its_rate(name):
    op = OPS[name]
    rng = np.random.default_rng(3)
    for _ in range(5):
        at, along = rng.uniform(0.2, 2.0, (2, op.arity))
        graph = Graph()
        kernel = finish(graph, {"out": apply(name, *(graph.input(k) for k in range(op.arity)))})
        found = adjoint_of(kernel, range(op.arity)).evaluate({**dict(enumerate(at)), ("weight", "out"): 1.7})
        level = fresh_level()
        args = duals(np.array(at, dtype=object), along, level)
        value = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
                 "div": lambda x, y: x / y}.get(name, lambda *x: on_duals(name, *x))(*args)  # fmt: skip
        rate = rates(np.array([value], dtype=object), level)[0]
        assert np.isclose(sum(found[k] * d for k, d in enumerate(along)), 1.7 * rate, rtol=1e-13, atol=1e-14)


def test_what_an_output_ignores_has_no_gradient():
    graph = Graph()
    a, b = graph.input("a"), graph.input("b")
    kernel = finish(graph, {"x": a * 2.0, "one": 1.0, "floor": apply("floor", b)})
    found = adjoint_of(kernel, ["a", "b", "none"]).evaluate(
        {"a": 0.3, "b": 0.4, ("weight", "x"): 3.0, ("weight", "floor"): 5.0}
    )
    assert found == {"a": 6.0, "b": 0.0, "none": 0.0}
