"""Code that is pushed and pulled, next to differences, for dense solves of each kind."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from hinge.kernels import Graph, finish
from hinge.sweeps import Call, Code, DenseCall, ForceLaw, Result, Slot, pulled_code, pushed_code
from hinge.targets import NumpyProgram


def solving(n, right, slots, **kind):
    """Return a solve of matrix and right sides that are slots."""
    blocks = [np.empty(shape, dtype=object) for shape in ((n, n), (n, right), (n, right))]
    for block in blocks:
        block.flat[:] = [Slot(next(slots)) for _ in range(block.size)]
    return DenseCall(*blocks, 0, **kind)


def taken(c):
    return tuple(x.index for x in c.matrix.flat), tuple(x.index for x in c.right.flat)


def run(code, given):
    return NumpyProgram(code)({n: np.asarray(x, float).ravel() for n, x in given.items()})


def check(code, given, directions, bound=1e-7):
    """Compare with differences along directions, and the two modes with each other."""
    names, results = list(directions), [r.name for r in code.results]
    rng = np.random.default_rng(1)
    c = {r.name: rng.standard_normal(r.values.size) for r in code.results}
    pushed = run(pushed_code(code, names, results), {**given, **{f"d_{n}": x for n, x in directions.items()}})
    pulled = run(pulled_code(code, names, results), {**given, **{f"c_{n}": x for n, x in c.items()}})
    h = 1e-5
    near = [run(code, {n: x + e * h * directions.get(n, 0 * x) for n, x in given.items()}) for e in (1, -1)]
    for n in results:
        assert np.allclose(pushed[n], (near[0][n] - near[1][n]) / (2 * h), atol=bound)
    forth = sum(c[n] @ np.ravel(pushed[n]) for n in results)
    back = sum(pulled[f"by_{n}"] @ np.ravel(directions[n]) for n in names)
    assert abs(forth - back) <= 1e-12 * max(1.0, abs(forth))


@pytest.mark.parametrize("kind", [{}, {"positive": True}, {"floored": True}])
def test_dense_solves(kind):
    rng, slots, n = np.random.default_rng(0), count(), 4
    c = solving(n, 2, slots, **kind)
    A, b = taken(c)
    code = Code((c,), {"A": A, "b": b}, (Result("x", c.result),), next(slots))
    matrix, change = rng.standard_normal((2, n, n))
    if kind:  # symmetric ones stay so
        matrix, change = matrix @ matrix.T + np.eye(n), change + change.T
    given = {"A": matrix, "b": rng.standard_normal((n, 2))}
    check(code, given, {"A": change, "b": rng.standard_normal((n, 2))})


def test_a_solve_that_drops_an_unknown():
    slots, n = count(), 3
    c = solving(n, 1, slots, floored=True)
    A, b = taken(c)
    code = Code((c,), {"A": A, "b": b}, (Result("x", c.result),), next(slots))
    low = np.array([[1.0, 0.0], [0.5, 1.0], [1.5, 1.0]])  # the third row is the sum of the others
    given = {"A": low @ low.T, "b": low @ [1.0, 2.0]}
    check(code, given, {"b": low @ [0.3, -0.4]})


def test_signs_constants_and_what_does_not_vary():
    graph = Graph()
    x, y, p = (graph.input(k) for k in "xyp")
    kernel = finish(graph, {"a": x * y + p, "b": x * 3.0, "c": y})
    calls = (
        Call(kernel, (0, 0), (2.0,), (2, 3, 4), 0, 0),
        Call(kernel, (2, 1), (5.0,), (5, 6, 7), 1, 1),
    )
    values = np.array([Slot(5, True), Slot(6), 4.0, Slot(3, True), Slot(1), Slot(5)], dtype=object)
    code = Code(calls, {"u": (0,), "v": (1,)}, (Result("r", values),), 8)
    given = {"u": np.array([0.7]), "v": np.array([-1.3])}
    check(code, given, {"u": np.array([1.0]), "v": np.array([0.4])})
    check(code, given, {"v": np.array([0.4])})
    pulled = pulled_code(code, ["u"], ["r"])
    kernels = {c.kernel for c in pulled.calls}
    assert len(kernels) <= len(pulled.calls)
    # a result without weights, and an input without influence
    alone = Code(code.calls, {**code.inputs, "w": (8,)}, code.results, 9)
    found = run(pulled_code(alone, ["w"], ["r"]), {**given, "w": np.ones(1), "c_r": np.ones(6)})
    assert found["by_w"] == 0.0


def test_calls_of_equal_kernels_share_their_derivatives():
    graph = Graph()
    x, p = graph.input("x"), graph.input("p")
    kernel = finish(graph, {"y": x.sin() * p})
    calls = tuple(Call(kernel, (k,), (float(k + 1),), (k + 1,), k, k) for k in range(6))
    code = Code(calls, {"x": (0,)}, (Result("y", np.array([Slot(6)], dtype=object)),), 7)
    for made in (pulled_code(code, ["x"], ["y"]), pushed_code(code, ["x"], ["y"])):
        assert len({c.kernel for c in made.calls}) == 2  # one forth and one for derivatives
    check(code, {"x": np.array([0.3])}, {"x": np.array([1.0])})


def test_laws_are_refused():
    slots = count()
    c = solving(2, 2, slots)
    law = DenseCall(c.matrix, c.right, c.result, 0, law=object.__new__(ForceLaw))
    A, b = taken(c)
    code = Code((law,), {"A": A, "b": b}, (Result("x", c.result),), next(slots))
    for make in (pulled_code, pushed_code):
        with pytest.raises(NotImplementedError, match="law of contact"):
            make(code, ["b"], ["x"])
